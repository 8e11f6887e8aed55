"""A converted function: what `imp2tf.convert` returns, alone and bound to an instance.

    step = imp2tf.convert(function)    # a ConvertedFunction
    trainer.step                       # a BoundFunction, if `step` is a method

A call goes to the function's dispatcher (`imp2tf.dispatch`). Inside a trace of imp2tf it is traced inline, and inside a graph that
somebody else builds, into that graph (`imp2tf.embedding`).
"""
from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

import tensorflow as tf

from imp2tf import calls, conversion
from imp2tf.dispatch import Dispatcher
from imp2tf.embedding import call_in_graph
from imp2tf.errors import Fallback, NoSource
from imp2tf.exceptions import strip_own_frames
from imp2tf.guards import describe_guard
from imp2tf.options import Options
from imp2tf.parameters import name_of
from imp2tf.report import Report
from imp2tf.session import active
from imp2tf.stance import stance
from imp2tf.tf_compat import in_eager_mode

__all__ = ["BoundFunction", "ConvertedFunction"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class ConvertedFunction(Generic[P, R]):
    """A function that runs as a graph where it can, and always does what the plain function does.

    `imp2tf.convert` makes it. It takes the place of the function: name, documentation, signature, attributes, pickling and binding
    to instances are the function's own. Threads may call it at the same time.

        step = imp2tf.convert(plain_step)
        loss = step(x, y)             # as plain_step(x, y)
        print(step.explain(x, y))     # what ran as a graph, what as Python, and why
    """

    autograph_info__: ClassVar[dict[str, Any]] = {}  # AutoGraph calls what has this attribute as it is

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        own = isinstance(function, types.FunctionType)
        functools.update_wrapper(self, function, updated=("__dict__",) if own else ())
        self.__name__ = getattr(function, "__name__", name_of(function))
        self.__qualname__ = name_of(function)
        with contextlib.suppress(TypeError, ValueError):  # a builtin may not tell
            self.__signature__ = inspect.signature(function)
        self._function = function
        self._options = options
        self._dispatcher = Dispatcher(function, options)

    @property
    def __imp2tf_function__(self) -> Callable[P, R]:
        """What converted code calls instead."""
        return self._function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if active() is not None:
            return calls.call(self._function, *args, **kwargs)
        if not in_eager_mode():
            return self._in_graph(args, kwargs)
        try:
            return self._dispatcher(args, kwargs)
        except BaseException as error:
            strip_own_frames(error)
            raise

    @tf.autograph.experimental.do_not_convert
    def _in_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while somebody else builds a graph."""
        if stance() == "force_eager":
            return self._function(*args, **kwargs)
        try:
            return call_in_graph(self._function, args, kwargs)
        except Fallback as fallback:
            failure = fallback.error
        self._dispatcher.note(failure)
        try:
            return self._function(*args, **kwargs)
        except (TypeError, AttributeError, NotImplementedError) as error:  # what plain Python says of symbolic tensors
            cause = error
        failure.reason = f"{failure.reason}; and as plain Python in the graph of another: {str(cause).partition(chr(10))[0]}"
        raise failure from cause

    def as_tf_function(self, instance: Any = None) -> Any:
        """A `tf.function` that does the same without Python, for code that insists on one.

        A `ClusterCoordinator`, for example, ships graphs to workers that have no Python. The graphs of this `tf.function` neither change
        Python state nor call Python.

            coordinator.schedule(step.as_tf_function(), args=(batch,))

        Args:
          instance: the object whose method it is, if the function is an unbound method.

        Returns:
          A `tf.function`; the same one for the same instance.

        Raises:
          ConversionError: when the `tf.function` is traced, if the function needs Python.
        """
        cache: dict[int, Any] = self.__dict__.setdefault("_as_tf_functions", {})
        if id(instance) not in cache:
            function = self._function if instance is None else types.MethodType(self._function, instance)
            cache[id(instance)] = _tf_function(function, self._options)
        return cache[id(instance)]

    def counted_as(self, other: ConvertedFunction[..., Any]) -> ConvertedFunction[P, R]:
        """Let calls of this function count as calls of another."""
        self._dispatcher.counts, self._dispatcher.fallbacks = other._dispatcher.counts, other._dispatcher.fallbacks
        return self

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> ConvertedFunction[P, R]: ...

    @overload
    def __get__(self: ConvertedFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None) -> BoundFunction[Q, R]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundFunction(self, instance)

    def __repr__(self) -> str:
        return f"<imp2tf.convert {self._function!r}>"

    # -------------------------------------------------------------------------------------- copies
    def __copy__(self) -> ConvertedFunction[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ConvertedFunction[P, R]:
        """Functions are not copied; a method or callable object goes with the copy of its object."""
        function = copy.deepcopy(self._function, memo)
        return self if function is self._function else ConvertedFunction(function, self._options)

    def __reduce__(self) -> Any:
        """By reference, if it is found under its name; else by what it was made of."""
        return self.__qualname__ if self._is_importable() else (ConvertedFunction, (self._function, self._options))

    def _is_importable(self) -> bool:
        try:
            return operator.attrgetter(self.__qualname__)(sys.modules[self.__module__]) is self
        except (AttributeError, KeyError):
            return False

    # -------------------------------------------------------------------------------------- as tf.function
    @property
    def name(self) -> str:
        """The name of its graphs."""
        return self._options.name or self.__name__

    @property
    def python_function(self) -> Callable[P, R]:
        """The plain function."""
        return self._function

    @property
    def input_signature(self) -> Any:
        """The signature that was given to `convert`."""
        return self._options.input_signature

    @property
    def jit_compile(self) -> bool | None:
        """The option given to `convert`: True always compiles with XLA, False never, None lets imp2tf choose."""
        return self._options.jit_compile

    def experimental_get_tracing_count(self) -> int:
        """Number of graphs traced so far."""
        return self._dispatcher.counts["traces"]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """A TensorFlow ConcreteFunction for arguments of these kinds.

            step.get_concrete_function(tf.TensorSpec([None, 3], tf.float32))

        Args:
          *args, **kwargs: arguments as in a call; a `tf.TypeSpec` may stand for a tensor.
        """
        return _concrete(self, self, args, kwargs)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The graphs that exist, as text: the tensors each one is for and, if `verbose`, everything it assumes."""
        shown = [self._guards_of(graph) for graph in self._dispatcher.graphs]
        if not verbose:
            shown = [[line for line in lines if ": tensor " in line] for lines in shown]
        signature = self._dispatcher.parameters.signature
        return "\n\n".join(f"{self.name}{signature}\n  " + "\n  ".join(lines) for lines in shown)

    # -------------------------------------------------------------------------------------- what happened
    def stats(self) -> dict[str, Any]:
        """What happened in the calls so far.

            assert not step.stats()["fallbacks"]

        Returns:
          A dict with

          - ``calls``, and of these ``graph_calls`` and ``eager_calls`` (those that ran as plain Python);
          - ``host_calls``: how often graphs called Python;
          - ``traces``: how many graphs were made, and ``guard_misses``: how often no graph fitted;
          - ``speculation_failures``: calls that took a branch which their graph leaves out;
          - ``tiers``: how each graph runs, the newest first: "graph" (by TensorFlow), "inline" (on the calling thread) or "xla";
          - ``fallbacks``: a dict for each reason to run as Python, with ``code``, ``file``, ``line``, ``reason``, ``hint``, ``count``.
        """
        counts = self._dispatcher.counts
        names = ("calls", "graph_calls", "eager_calls", "host_calls", "traces", "guard_misses", "speculation_failures")
        found: dict[str, Any] = {name: counts[name] for name in names}
        found["tiers"] = [graph.tier for graph in self._dispatcher.graphs]
        found["fallbacks"] = [record.to_dict() for record in self._dispatcher.fallbacks.values()]
        return found

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Call the function and report what runs as a graph, what as Python, and why.

            print(step.explain(x, y))

        Args:
          *args, **kwargs: the arguments of the call. Without any, a function that has parameters is not called, and the report is of
            the calls so far.

        Returns:
          A `Report`: text for people with ``print``, a dict with ``to_dict()``.
        """
        if args or kwargs or not self._dispatcher.parameters.names:
            self(*args, **kwargs)
        return Report(self.__qualname__, self.stats(), self.guards(), list(self._dispatcher.misses), self._python_calls())

    def _python_calls(self) -> list[str]:
        """What Python the newest graph calls, and where."""
        graphs = self._dispatcher.graphs
        return [f"{reason} [{location}]" if location else reason for reason, location in graphs[0].python_calls] if graphs else []

    def guards(self) -> list[str]:
        """What the newest graph assumes, one line of text for each assumption; empty if there is no graph."""
        graphs = self._dispatcher.graphs
        return self._guards_of(graphs[0]) if graphs else []

    def _guards_of(self, graph: Any) -> list[str]:
        return [*map(describe_guard, graph.guards), *graph.assumptions]

    def source(self) -> str:
        """The rewritten code, as text for people.

        Raises:
          ConversionError: the function has no source, or some of its syntax is not supported.
        """
        function = getattr(self._function, "__func__", self._function)
        while isinstance(function, functools.partial):
            function = function.func
        if not isinstance(function, types.FunctionType):
            function = inspect.getattr_static(type(function), "__call__")
        if not isinstance(function, types.FunctionType):
            raise NoSource(f"{self.__qualname__} is not written in Python")
        try:
            return conversion.converted_text(function)
        except Fallback as fallback:
            failure = fallback.error
        raise failure

    def reset(self) -> None:
        """Forget all graphs, all counts and everything learned; the next call is treated as the first one."""
        self._dispatcher.reset()
        for cache in ("_as_tf_functions", "_lifted"):
            self.__dict__.pop(cache, None)


class BoundFunction(Generic[Q, R]):
    """A converted function as a method of an instance: ``trainer.step``. The instances share its graphs and counts.

    It has everything that `ConvertedFunction` has; arguments are then given without the instance.
    """

    autograph_info__: ClassVar[dict[str, Any]] = {}

    def __init__(self, function: ConvertedFunction[..., Any], instance: Any) -> None:
        self.__func__ = function
        self.__self__ = instance

    @property
    def __imp2tf_function__(self) -> types.MethodType:
        """What converted code calls instead."""
        return types.MethodType(self.__func__.python_function, self.__self__)

    python_function = __wrapped__ = __imp2tf_function__

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> R:
        return self.__func__(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__imp2tf_function__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundFunction) and self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __repr__(self) -> str:
        return f"<imp2tf.convert {self.__imp2tf_function__!r}>"

    def __reduce__(self) -> Any:
        return BoundFunction, (self.__func__, self.__self__)

    def as_tf_function(self) -> Any:
        """A `tf.function` of this instance, see `ConvertedFunction.as_tf_function`."""
        return self.__func__.as_tf_function(self.__self__)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """A TensorFlow ConcreteFunction of this instance for arguments of these kinds."""
        return _concrete(self, self.__func__, args, kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Call the method and report what runs as a graph, what as Python, and why."""
        return self.__func__.explain(self.__self__, *args, **kwargs)


def _tf_function(function: Callable[..., Any], options: Options) -> Any:
    def alone(*args: Any, **kwargs: Any) -> Any:
        try:
            return call_in_graph(function, args, kwargs, alone=True)
        except Fallback as fallback:
            failure = fallback.error
        raise failure

    alone.__name__ = options.name or name_of(function).rpartition(".")[2]
    alone.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return tf.function(alone, autograph=False, input_signature=options.input_signature, jit_compile=options.jit_compile)


def _concrete(call: Callable[..., Any], function: ConvertedFunction[..., Any], args: Any, kwargs: Any) -> Any:
    def traced(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    traced.__name__ = function.name
    traced.__signature__ = inspect.signature(call)  # type: ignore[attr-defined]
    graph = tf.function(traced, autograph=False, input_signature=function.input_signature, jit_compile=function.jit_compile)
    concrete = graph.get_concrete_function(*args, **kwargs)
    concrete.__imp2tf_call__ = call  # what `imp2tf.save` traces anew, with the state of the function lifted
    return concrete
