"""The front door: `convert`, and what it returns."""
from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

import tensorflow as tf

import imp2tf.converters  # noqa: F401  (registers the converters)
from imp2tf import calls, conversion
from imp2tf.dispatch import Dispatcher
from imp2tf.embedding import call_in_graph
from imp2tf.errors import Fallback
from imp2tf.guards import describe_guard
from imp2tf.options import Options
from imp2tf.report import Report
from imp2tf.session import active
from imp2tf.tf_compat import in_eager_mode

__all__ = ["ConvertedFunction", "convert", "explain"]

P = ParamSpec("P")
R = TypeVar("R")


class ConvertedFunction(Generic[P, R]):
    """A function that runs as a graph where it can, and always does what the plain function does."""

    def __init__(self, function: Callable[P, R], options: Options) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__imp2tf_function__ = function
        self._qualname: str = getattr(function, "__qualname__", type(function).__qualname__)
        self._options = options
        self._dispatcher = Dispatcher(function, options)
        self._bound: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if active() is not None:
            return calls.call(self.__imp2tf_function__, *args, **kwargs)
        if not in_eager_mode():
            return call_in_graph(self.__imp2tf_function__, args, kwargs)
        return self._dispatcher(args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<imp2tf.convert {self.__imp2tf_function__!r}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> ConvertedFunction[P, R]:
        return ConvertedFunction(self.__imp2tf_function__, self._options)

    def __reduce__(self) -> str:
        return self._qualname

    # -------------------------------------------------------------------------------------- as tf.function
    @property
    def python_function(self) -> Callable[P, R]:
        """The plain function."""
        return self.__imp2tf_function__

    @property
    def input_signature(self) -> Any:
        """The signature that was given to `convert`."""
        return self._options.input_signature

    def experimental_get_tracing_count(self) -> int:
        """Number of graphs traced so far."""
        return self._dispatcher.counts["traces"]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """A TensorFlow ConcreteFunction for arguments of these kinds; `tf.TypeSpec`s stand for tensors."""
        return tf.function(self.__call__, autograph=False, input_signature=self.input_signature).get_concrete_function(*args, **kwargs)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The graphs there are, as text."""
        del verbose
        return "\n\n".join("\n".join(self._guards_of(graph)) for graph in self._dispatcher.graphs)

    # -------------------------------------------------------------------------------------- what happened
    def stats(self) -> dict[str, Any]:
        """Counts of calls, graph calls, eager calls, host calls, traces, guard misses, and why calls ran as Python."""
        counts = self._dispatcher.counts
        names = ("calls", "graph_calls", "eager_calls", "host_calls", "traces", "guard_misses", "speculation_failures")
        found: dict[str, Any] = {name: counts[name] for name in names}
        found["fallbacks"] = [record.to_dict() for record in self._dispatcher.fallbacks.values()]
        return found

    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Call the function (if arguments are given) and report what runs as a graph, what as Python, and why."""
        if args or kwargs or not inspect.signature(self).parameters:
            self(*args, **kwargs)
        return Report(self._qualname, self.stats(), self.guards(), list(self._dispatcher.misses))

    def guards(self) -> list[str]:
        """What the newest graph assumes."""
        graphs = self._dispatcher.graphs
        return self._guards_of(graphs[0]) if graphs else []

    def _guards_of(self, graph: Any) -> list[str]:
        return [describe_guard(guard) for guard in graph.guards]

    def source(self) -> str:
        """The rewritten code, for people."""
        function = inspect.unwrap(self.__imp2tf_function__)
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType):
            function = type(function).__call__
        try:
            return conversion.convert_code(function).text
        except Fallback as fallback:
            raise fallback.error from fallback

    def reset(self) -> None:
        """Forget all graphs and everything learned."""
        self._dispatcher.reset()


@overload
def convert(func: Callable[P, R], /, **options: Any) -> ConvertedFunction[P, R]: ...


@overload
def convert(func: None = None, /, **options: Any) -> Callable[[Callable[P, R]], ConvertedFunction[P, R]]: ...


def convert(func: Any = None, /, *, input_signature: Any = None, jit_compile: bool | None = None, reduce_retracing: bool = True,
            fullgraph: bool = False, profile_runs: int = 1, speculate: bool = True, recompile_limit: int = 8, rewrite: str = "off",
            name: str | None = None) -> Any:
    """Turn an imperative function into dataflow graphs; the plain function stays the specification.

    Args:
      func: a function, method, class- or staticmethod, lambda, partial or callable object; None to use `convert` as a decorator
        with options.
      input_signature: sequence of `tf.TypeSpec`: one graph for these kinds of tensors.
      jit_compile: True compiles with XLA, False never does, None leaves it to imp2tf.
      reduce_retracing: generalise shapes and Python numbers that vary.
      fullgraph: raise `ConversionError` where the call would run as Python.
      profile_runs: number of first calls that run as plain Python.
      speculate: allow assumptions that are checked in the graph.
      recompile_limit: number of traces after which ever-new values run as Python.
      rewrite: "off", "safe" or "fast" rewriting of numerically fragile expressions.
      name: name of the graph function.

    Raises:
      TypeError: `func` is not callable, or an option has the wrong type.
      ValueError: an option has a value that is not allowed, or options contradict each other.
    """
    options = Options(input_signature, jit_compile, reduce_retracing, fullgraph, profile_runs, speculate, recompile_limit, rewrite, name)
    if func is None:
        return lambda function: _converted(function, options)
    return _converted(func, options)


def _converted(function: Any, options: Options) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_converted(function.__func__, options))
    if isinstance(function, ConvertedFunction):
        function = function.python_function
    if isinstance(function, tf.types.experimental.PolymorphicFunction):
        function = function.python_function
    if not callable(function):
        raise TypeError(f"func must be callable, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"func must not be async: {getattr(function, '__qualname__', function)}")
    return ConvertedFunction(function, options)


def explain(function: Any) -> Callable[..., Report]:
    """``explain(f)(*args)``: call `f` converted and report what runs as a graph, what as Python, and why."""
    converted = function if isinstance(function, ConvertedFunction) else convert(function, profile_runs=0)
    return converted.explain


