"""From a call to a graph: trace the converted function once, and keep what is needed to run it again."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import logging
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf import calls, tf_compat
from imp2tf.arithmetic import OVERFLOW, UNUSUAL_POWER
from imp2tf.containers import concatenated, detached, grow
from imp2tf.effects import commits, has_effects_so_far, order_effects
from imp2tf.elements import check_uses
from imp2tf.errors import (
    Fallback,
    GraphRefused,
    Location,
    NeedsValue,
    RaisesUnderTry,
    TraceFailed,
    UnexpectedResult,
    VariableCreated,
    fall_back,
    first_line,
    user_location,
)
from imp2tf.exceptions import TRACE_BOUNDARIES, Frame, ProgramRaise, StopRun, located, raise_from_user_code, without_own_frames
from imp2tf.guards import compile_guards, held_weakly
from imp2tf.heap import Fetch, contents, guard_distinct, lift
from imp2tf.inspection import has_state, may_inline, nodes_of
from imp2tf.iterables import each
from imp2tf.junctions import junctions_of, results_vary
from imp2tf.operations import compare_operation
from imp2tf.options import Options
from imp2tf.parameters import Parameters, name_of
from imp2tf.placement import guard_placement
from imp2tf.places import Place
from imp2tf.plan import Build, Recipe, Recorder
from imp2tf.random_ops import RANDOM_OPS, draw_eagerly
from imp2tf.region import scope
from imp2tf.results import Raised
from imp2tf.session import Guard, Outside, Relaxations, Session, active, resumed
from imp2tf.sources import Argument, Item, Source
from imp2tf.taped import Taped
from imp2tf.tf_compat import captures_of, in_eager_mode, is_stateful_op
from imp2tf.values import Growable, Sentinel
from imp2tf.xla.compiler import Compiler, may_compile

__all__ = ["OTHER", "WITHOUT_EFFECT", "AlwaysRaises", "CannotGoOn", "Graph", "OperationFailed", "Rehearsal", "Run", "definition",
           "graph_name", "kinds_of", "refuse_variable", "refused_by_xla", "trace_call", "traced"]


class Run:
    """What one graph and its calls share: the arguments of the call that runs, and what host calls leave behind.

    `embedded` graphs are run by somebody else, who is told what a host call raises by TensorFlow.
    """

    def __init__(self, embedded: bool = False) -> None:
        self.embedded = embedded
        self.args: Sequence[Any] = ()
        self.error: BaseException | None = None
        self.commit: list[tuple[Any, Any]] = []
        self.results: list[Any] = []
        self.history: list[tuple[Any, Any]] = []  # the calls of Python so far, and what they returned
        self.count_host_call: Callable[[], object] = lambda: None
        self.lock = threading.RLock()

    @contextlib.contextmanager
    def of(self, args: Sequence[Any]) -> Iterator[None]:
        """A trace or run with these arguments; afterwards nothing of it is kept, and one that it interrupted goes on."""
        before = self.args, self.error, self.commit, self.results, self.history
        self.args, self.error, self.commit, self.results, self.history = args, None, [], [], []
        try:
            yield
        finally:
            self.args, self.error, self.commit, self.results, self.history = before

    @contextlib.contextmanager
    def stopping(self, frames: list[Frame], written: Callable[[], list[tuple[Any, Any]]]) -> Iterator[None]:
        """What a host call raises ends the run, and is raised by the dispatcher as if from the user's lines.

        What the call had written to the heap by then is committed first.
        """
        try:
            yield
        except BaseException as error:
            if self.embedded:
                raise
            self.commit = written()
            inside = without_own_frames(error.__traceback__)
            self.error = located(error, frames).with_traceback(inside)
            raise StopRun from None

    def keep(self, result: Any) -> int:
        """Keep what a host call returned until the run has ended; its number."""
        self.results.append(result)
        return len(self.results) - 1

    def kept(self, number: int) -> Any:
        """What a host call returned."""
        return self.results[number]

    call = staticmethod(calls.call)
    each = staticmethod(each)
    check_uses = staticmethod(check_uses)
    detached = staticmethod(detached)
    equal = staticmethod(functools.partial(compare_operation, "=="))

    @staticmethod
    def prepend(items: list[Any], tail: Growable) -> Growable:
        """The elements of a static list followed by those of a growable one."""
        return concatenated(grow(items), tail) if items else tail


VARIABLE_ARGUMENTS = ("initial_value", "trainable", "validate_shape", "caching_device", "name", "dtype", "constraint", "synchronization",
                      "aggregation", "shape")


def _asked_by_keras() -> bool:
    """Whether the nearest caller outside of TensorFlow is Keras."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tensorflow."):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).startswith(("keras.", "tf_keras."))


def refuse_variable(make: Callable[..., Any], **kwargs: Any) -> Any:
    """A variable that the function makes is made by Python, as in eager; later calls find it.

    What Keras makes when it builds a layer or an optimizer is made once, by eager code; it remembers that itself.
    """
    if in_eager_mode():
        return make(**kwargs)
    if _asked_by_keras():
        with tf.init_scope():
            return tf.Variable(**{name: kwargs[name] for name in VARIABLE_ARGUMENTS if name in kwargs})
    return fall_back(VariableCreated, "a tf.Variable is created")


class _QuietWhileTracing(logging.Filter):
    """What TensorFlow logs while a trace of this thread tries something out is not for the user."""

    def filter(self, record: logging.LogRecord) -> bool:
        return active() is None


tf.get_logger().addFilter(_QuietWhileTracing())


class OperationFailed(BaseException):
    """An operation failed while the graph ran: `error` is what TensorFlow says, not an exception that the program raised.

    `effects` tells whether the run may have done something by then that cannot be done again.
    """

    def __init__(self, error: tf.errors.OpError, effects: bool) -> None:
        super().__init__(error)
        self.error = error
        self.effects = effects


class CannotGoOn(BaseException):
    """A call of Python gave the run what it cannot use: `history` are the calls made so far, `writes` what was written by then."""

    def __init__(self, error: UnexpectedResult, history: list[tuple[Any, Any]], writes: Writes) -> None:
        super().__init__(error)
        self.error = error
        self.history = history
        self.writes = writes

    @property
    def raised(self) -> bool:
        """Whether the last call raised, under try."""
        return bool(self.history) and isinstance(self.history[-1][1], Raised)

    def give_up(self) -> NoReturn:
        """Raise the error: effects of the run, which nobody can repeat, have happened."""
        _commit(self.writes)
        raise self.error


class AlwaysRaises(BaseException):
    """The program raises for certain, whatever the tensors are: there is nothing to put in a graph."""


OTHER = Sentinel("OTHER")  # an argument that is neither a tensor nor a literal


Writes = Sequence[tuple[Place, Any]]
Commit = Callable[[Writes], object]


@dataclasses.dataclass
class Rehearsal:
    """What a run that wrote nothing would have returned or raised, and written."""

    result: Any = None
    error: Exception | None = None
    writes: list[tuple[Place, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Graph:
    """A traced function, ready to run."""

    concrete: Any
    captures: list[Any]
    result: Recipe
    writes: list[tuple[Recipe, Recipe]]
    guards: list[Guard]
    admit: Callable[[Sequence[Any]], list[Any] | None]  # what the graph captures, None if a guard does not hold
    run: Run
    calls_python: bool
    python_calls: list[tuple[str, Location | None]]
    xla: bool
    callbacks: list[Any]
    taped: Taped
    outside: Outside
    kinds: list[Any]  # for each parameter what it was traced for: a TypeSpec, a structure of them, a literal, or OTHER
    owners: list[Any] = dataclasses.field(default_factory=list)

    def when_useless(self, forget: Callable[[Graph], object]) -> None:
        """Call `forget` when an object has gone that the graph was made for."""
        graph = weakref.ref(self)

        def gone(_: object) -> None:
            found = graph()
            if found is not None:
                forget(found)

        self.owners = [weakref.ref(one, gone) for one in held_weakly(self.guards)]

    def __post_init__(self) -> None:
        self.fetches_more = any(callable(one) and not isinstance(one, Fetch) for one in self.captures)  # inputs that TensorFlow gives

    @property
    def tier(self) -> str:
        """How calls run: "graph", "inline" (on the calling thread), "xla"."""
        return "xla" if self.xla else self.taped.tier

    @property
    def has_effects(self) -> bool:
        """Whether a run that failed may have changed something; not cheap."""
        return bool(self.python_calls) or self._changes_state()

    def _changes_state(self) -> bool:
        return any(is_stateful_op(node.op) and node.op not in WITHOUT_EFFECT for node in nodes_of(self.concrete))

    def _has_done_something(self) -> bool:
        """Whether the run that is under way may have had an effect: it has called Python, or what it did to variables is not known."""
        calls = self.run.history or self.outside.unrepeatable  # the history does not hold calls that cannot be repeated
        return bool(self.python_calls and calls) or self._changes_state()

    @property
    def is_repeatable(self) -> bool:
        """Whether Python can go on after a run that stopped, given what Python returned to it: nothing else had an effect."""
        return self.outside.unrepeatable is None and not _has_other_effects(self.concrete)

    def __call__(self, captured: list[Any], args: Sequence[Any]) -> Any:
        """Run on the bound arguments of a call and what `admit` gave for them: run, commit."""
        return self._call(captured, args, commit=_commit)

    def inputs(self, args: Sequence[Any]) -> list[Any]:
        """What the graph captures, for arguments that are known to fit."""
        return [one.at(args) if isinstance(one, Fetch) else one for one in self.captures]

    @contextlib.contextmanager
    def locked(self, args: Sequence[Any]) -> Iterator[list[Any] | None]:
        """Hold the program's locks that a call takes; gives what the graph captures, None if another thread broke a guard meanwhile."""
        with contextlib.ExitStack() as held:
            for source in self.outside.locks:
                held.enter_context(source.fetch(args))
            yield self.admit(args)

    def rehearse(self, captured: list[Any], args: Sequence[Any]) -> Rehearsal:
        """Run, but write nothing to the Python heap."""
        rehearsal = Rehearsal()
        try:
            rehearsal.result = self._call(captured, args, commit=rehearsal.writes.extend)
        except OperationFailed as operation:
            rehearsal.error = operation.error
        except Exception as error:
            rehearsal.error = error
        return rehearsal

    def _call(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        if self.fetches_more:
            captured = tf.nest.flatten([one() if callable(one) else one for one in captured])
        if not self.calls_python and tf_compat.PRIVATE_CALLS:
            return self._ran(captured, args, commit)
        with self.run.lock, self.run.of(args):
            return self._ran(captured, args, commit)

    def _ran(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        """What is raised after a failed run is raised outside of its handler: TensorFlow's error is no part of the program."""
        try:
            outputs = self._outputs(captured)
        except tf.errors.OpError as error:
            failure = error
        else:
            return self._finish(outputs, args, commit)
        return self._stopped(failure, commit)

    def _outputs(self, captured: list[Any]) -> list[tf.Tensor]:
        try:
            return self.taped(captured)
        except LookupError as error:  # a tape is to record the run, but TensorFlow cannot differentiate all of the graph
            failure = GraphRefused(str(error))
        raise Fallback(failure)

    def _stopped(self, error: tf.errors.OpError, commit: Commit) -> NoReturn:
        """The run ended early: by the program's own exception, or by an operation that failed."""
        stored, self.run.error = self.run.error, None
        if stored is None:
            refused = self._refused(error)
            raise OperationFailed(refused, self._has_done_something()) if isinstance(refused, tf.errors.OpError) else refused
        if isinstance(stored, GraphRefused):
            raise Fallback(stored)
        if isinstance(stored, UnexpectedResult):
            raise CannotGoOn(stored, self.run.history, self.run.commit)
        commit(self.run.commit)
        raise_from_user_code(stored)

    def _refused(self, error: tf.errors.OpError) -> BaseException:
        """The error of the run, or the fallback that it stands for."""
        found = next((text for text in LEFT_PYTHON if text in error.message), None)
        if found is None:
            return error
        reason = NeedsValue(LEFT_PYTHON[found])
        return reason if self.has_effects else Fallback(reason)

    def _finish(self, outputs: list[tf.Tensor], args: Sequence[Any], commit: Commit) -> Any:
        build = Build(outputs, args)
        result = self.result(build)
        if self.writes:
            commit([(place(build), value(build)) for place, value in self.writes])
        return result


# What the run says where a Python number is not what it was taken for.
LEFT_PYTHON = {
    OVERFLOW: "a Python int left the range of 64 bits",
    UNUSUAL_POWER: "a power of Python numbers is of another kind, an error or out of range",
}


def _commit(writes: Writes) -> None:
    """Write the results of a run to the heap: all of them, or none if the user interrupts."""
    undo: list[Callable[[], None]] = []
    try:
        for place, value in writes:
            undo.append(place.saved())
            place.write(value)
    except (KeyboardInterrupt, SystemExit):
        for put_back in reversed(undo):
            put_back()
        raise


def trace_call(function: Any, parameters: Parameters, args: Sequence[Any], relaxations: Relaxations, options: Options) -> Graph:
    """Trace ``function`` for the kind of arguments given. Raises `Fallback` or `AlwaysRaises` where there is no graph."""
    run = Run()
    parts: dict[str, Any] = {}

    def body() -> list[tf.Tensor]:
        session = Session(tf.compat.v1.get_default_graph(), relaxations)
        session.run = run
        draw_eagerly(session, session.graph)
        parts["session"] = session
        with resumed(session), scope(), tf.variable_creator_scope(refuse_variable):
            lifted = [lift(session, value, Argument(i, name)) for i, (name, value) in enumerate(zip(parameters.names, args, strict=True))]
            positional, keywords = parameters.unbind(lifted, contents)
            result = calls.call(function, *positional, **keywords)
            recorder = Recorder(session)
            parts["result"] = recorder.add(result)
            parts["writes"] = commits(session, recorder)
            if parts["writes"]:
                guard_distinct(session)
            outputs = [tf.identity(tensor) for tensor in recorder.tensors]
            outputs.extend(_way(session, outputs, parts))
            guard_placement(session)
            if session.left_in_loop and has_effects_so_far(session):
                fall_back(GraphRefused, session.left_in_loop)
        parts["calls_python"] = order_effects(session, session.graph)
        return outputs

    TRACE_BOUNDARIES.add((__file__, body.__code__.co_name))
    body.__name__ = graph_name(options.name or name_of(function))
    with run.of(args):
        concrete = traced(body, options, function)
    session = parts["session"]
    _refuse_unrepeatable(session, concrete)
    captures = captures_of(concrete)
    session.outside.forget()
    xla = bool(options.jit_compile)
    may_switch = not xla and not has_state(session.graph)
    compiler = Compiler(session.graph) if may_switch and may_compile(options) else None
    taped = Taped(concrete, captures, parts["junctions"], lambda: not xla and may_inline(concrete), may_switch, compiler)
    return Graph(concrete, captures, parts["result"], parts["writes"], session.guards, compile_guards(session.guards, captures), run,
                 parts["calls_python"], session.python_calls, xla, session.callbacks, taped, session.outside,
                 kinds_of(relaxations, parameters, args))


def kinds_of(relaxations: Relaxations, parameters: Parameters, args: Sequence[Any]) -> list[Any]:
    """What each argument of a call is traced for."""
    return [_kind(relaxations, value, Argument(i, name)) for i, (name, value) in enumerate(zip(parameters.names, args, strict=True))]


def _refuse_unrepeatable(session: Session, concrete: Any) -> None:
    """Where Python may have to go on from the middle of a run, all that the run does must be repeatable."""
    outside = session.outside
    if outside.needs_replay is None:
        return
    if outside.unrepeatable is not None or not outside.sites <= session.relaxations.profile.seen or _has_other_effects(concrete):
        fall_back(RaisesUnderTry, outside.needs_replay)


def _has_other_effects(concrete: Any) -> bool:
    """Whether a graph does more than compute and call Python."""
    harmless = WITHOUT_EFFECT - RANDOM_OPS
    return any(is_stateful_op(node.op) and node.op not in harmless for node in nodes_of(concrete))


def _kind(relaxations: Relaxations, value: Any, source: Source) -> Any:
    """What an argument was traced for, without holding on to the caller's objects."""
    if isinstance(value, tf.Tensor):
        return tf.TensorSpec(relaxations.shape(source, value), value.dtype)
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        return relaxations.declared.get(source) or value._type_spec
    if isinstance(value, (tuple, list)):
        parts = [_kind(relaxations, item, Item(source, i)) for i, item in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: _kind(relaxations, item, Item(source, key)) for key, item in value.items()}
    return value if isinstance(value, (bool, int, float, str, bytes, type(None))) else OTHER


def _way(session: Session, results: list[tf.Tensor], parts: dict[str, Any]) -> list[tf.Tensor]:
    """What tells the way of a run, if gradients depend on it."""
    junctions = junctions_of(session, session.graph)
    needed = bool(junctions.keys) and results_vary(session.graph, results)
    parts["junctions"] = junctions.keys if needed else []
    return [junctions.vector()] if needed else []


def graph_name(name: str) -> str:
    """What TensorFlow allows as the name of a graph."""
    return re.sub(r"\W", "_", name.rpartition(".")[2], flags=re.ASCII).strip("_") or "function"


def definition(function: Any) -> Location | None:
    """The line where a function begins."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return Location(code.co_filename, code.co_firstlineno, code.co_name) if code is not None else None


def traced(body: Callable[..., list[tf.Tensor]], options: Options, function: Any, specs: Sequence[tf.TypeSpec] = ()) -> Any:
    """The concrete function that tracing `body` gives. Raises `Fallback` or `AlwaysRaises`."""
    try:
        return tf.function(body, autograph=False, jit_compile=options.jit_compile).get_concrete_function(*specs)
    except ProgramRaise as raised:
        if raised.retry is None:
            raise AlwaysRaises from raised
        raise Fallback(
            TraceFailed(f"an operation refuses its arguments: {raised.error}", location=user_location(raised.__traceback__))
        ) from raised
    except Fallback as fallback:
        if fallback.error.location is None:
            fallback.error.location = user_location(fallback.__traceback__) or definition(function)
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except Exception as error:  # anything else that tracing meets is not the program's: the call runs as Python, with this as the cause
        reason = f"{type(error).__name__} while tracing {name_of(function)}: {first_line(error)}"
        raise Fallback(TraceFailed(reason, location=user_location(error.__traceback__))) from error


WITHOUT_EFFECT = frozenset({
    "Placeholder", "ReadVariableOp", "VarHandleOp", "Assert", "If", "While", "Case", "StatefulPartitionedCall", "ResourceGather",
    "EagerPyFunc",
}) | RANDOM_OPS


def refused_by_xla(graph: Graph) -> str | None:
    """Why a graph must not be compiled with XLA: it has no Python, and passes failed assertions silently."""
    if graph.calls_python:
        return "XLA cannot call Python, which the graph does"
    if any(node.op == "Assert" for node in nodes_of(graph.concrete)):
        return "XLA does not check assertions"
    return None
