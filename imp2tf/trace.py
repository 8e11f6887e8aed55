"""From a call to a graph: trace the converted function once, and keep what is needed to run it again."""
from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf import calls
from imp2tf.collecting import rarely
from imp2tf.effects import commits, has_effects_so_far
from imp2tf.errors import (
    Fallback,
    ForeignCall,
    GraphRefused,
    Location,
    RaisesUnderTry,
    TraceFailed,
    VariableCreated,
    fall_back,
    first_line,
    user_location,
)
from imp2tf.exceptions import TRACE_BOUNDARIES, ProgramRaise
from imp2tf.graph import Graph
from imp2tf.guards import compile_guards
from imp2tf.heap import contents
from imp2tf.inspection import has_state, may_inline
from imp2tf.junctions import UNTOLD, junctions_of, results_vary
from imp2tf.lifting import guard_distinct, lift
from imp2tf.options import Options
from imp2tf.ordering import order_effects
from imp2tf.parameters import Parameters, name_of
from imp2tf.paths import scope
from imp2tf.placement import guard_placement
from imp2tf.places import Contents, Tail
from imp2tf.plan import Recorder
from imp2tf.quick_graphs import lines_kept, make_quick
from imp2tf.quick_operations import operations_quick
from imp2tf.random_ops import draw_eagerly
from imp2tf.relaxations import Relaxations
from imp2tf.runs import Run
from imp2tf.seed_stream import draws_can_be_inputs
from imp2tf.session import Session, active, resumed
from imp2tf.sources import Argument, Item, Source
from imp2tf.taped import Taped
from imp2tf.tf_compat import captures_of, in_eager_mode, tape_may_record
from imp2tf.values import PyNumber, Sentinel, Union
from imp2tf.xla.compiler import Compiler, may_compile

__all__ = ["OTHER", "AlwaysRaises", "definition", "graph_name", "kinds_of", "refuse_variable", "trace_call", "traced"]

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


class AlwaysRaises(BaseException):
    """The program raises for certain, whatever the tensors are: there is nothing to put in a graph."""


OTHER = Sentinel("OTHER")  # an argument that is neither a tensor nor a literal


def trace_call(function: Any, parameters: Parameters, args: Sequence[Any], relaxations: Relaxations, options: Options) -> Graph:
    """Trace ``function`` for the kind of arguments given. Raises `Fallback` or `AlwaysRaises` where there is no graph."""
    run, recorded = Run(), tape_may_record()
    parts: dict[str, Any] = {}

    def body() -> list[tf.Tensor]:
        session = Session(tf.compat.v1.get_default_graph(), relaxations)
        session.run, session.tells_ways = run, recorded
        session.draws_inside = not (relaxations.seeded or relaxations.drawn_by_host or options.jit_compile) and draws_can_be_inputs()
        draw_eagerly(session, make_quick(session.graph))
        parts["session"] = session
        with resumed(session), scope(), tf.variable_creator_scope(refuse_variable):
            lifted = [lift(session, value, Argument(i, name)) for i, (name, value) in enumerate(zip(parameters.names, args, strict=True))]
            positional, keywords = parameters.unbind(lifted, contents)
            result = calls.call_in_text(function, *positional, **keywords)
            if options.reduce_retracing:
                _note_state(session)
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
        parts["calls_python"] = order_effects(session, session.graph, outputs)
        return outputs

    TRACE_BOUNDARIES.add((__file__, body.__code__.co_name))
    body.__name__ = graph_name(options.name or name_of(function))
    with run.of(args):
        concrete = traced(body, options, function)
    return _ready_to_run(concrete, run, parts, options, kinds_of(relaxations, parameters, args))


def _ready_to_run(concrete: Any, run: Run, parts: dict[str, Any], options: Options, kinds: list[Any]) -> Graph:
    """A traced function with what its runs need: guards, captured inputs, how tapes see it, and which ways to run it may be tried."""
    session = parts["session"]
    captures = captures_of(concrete)
    session.outside.forget()
    session.outside.calls_program = bool(session.opaque)
    xla = bool(options.jit_compile)
    may_switch = not xla and not has_state(session.graph)
    compiler = Compiler(session.graph) if may_switch and may_compile(options) else None
    taped = Taped(concrete, captures, parts["junctions"], lambda: not xla and may_inline(concrete), may_switch, compiler)
    graph = Graph(concrete, captures, parts["result"], parts["writes"], session.guards, compile_guards(session.guards, captures), run,
                 parts["calls_python"], session.python_calls, xla, session.callbacks, taped, session.outside,
                 session.assumptions, kinds, untold=bool(session.counts[UNTOLD]))
    _refuse_unrepeatable(graph, session.relaxations)
    return graph


def _note_state(session: Session) -> None:
    """Trace again at once if the call changes numbers that were constants of the trace; the next trace takes them as inputs."""
    found = set()
    for place, value in session.store.items():
        before = session.reads.get(place)
        if isinstance(before, (int, float)) and not isinstance(place, (Contents, Tail)) and _changes(before, value):
            found.add(session.source_of_place(place))
        elif isinstance(place, Contents) and isinstance(before, list) and not (isinstance(value, list) and len(value) == len(before)):
            session.relaxations.changed_lists.add(session.source_of(place.owner))
    relaxations = session.relaxations
    found -= relaxations.numbers | relaxations.constant
    if found:
        relaxations.numbers |= found
        fall_back(TraceFailed, "numbers are state of the program")


def _changes(before: float, value: Any) -> bool:
    """Whether a new value of a place is a number of the same kind, but not the same."""
    if isinstance(value, Union):
        return any(_changes(before, one) for one in value.alternatives)
    if isinstance(value, PyNumber):
        return value.kind == type(before).__name__
    return type(value) is type(before) and value != before


def kinds_of(relaxations: Relaxations, parameters: Parameters, args: Sequence[Any]) -> list[Any]:
    """What each argument of a call is traced for."""
    return [_kind(relaxations, value, Argument(i, name)) for i, (name, value) in enumerate(zip(parameters.names, args, strict=True))]


def _refuse_unrepeatable(graph: Graph, relaxations: Relaxations) -> None:
    """Fall back if Python may have to go on from the middle of a run, and the run does something that cannot be repeated."""
    outside, left_out = graph.outside, graph.outside.left_out
    can_go_on = graph.can_go_on and (outside.sites | outside.prints) <= relaxations.profile.seen  # a replay comes by these
    if left_out is not None and not can_go_on and relaxations.given_up is not None:
        relaxations.given_up.add(left_out.site)  # the next trace does with it, or there is none
        relaxations.profile.wanted |= left_out.wanted
        raise Fallback(left_out.error)
    if outside.needs_replay is not None and not can_go_on:
        fall_back(RaisesUnderTry, outside.needs_replay)
    if graph.misses_handlers:
        fall_back(RaisesUnderTry, "an operation under try or with may fail after something that cannot be undone")
    if graph.leaves_stale:
        fall_back(ForeignCall, "a property, an operator or a function of the library calls Python, and an operation may fail after that")


def _kind(relaxations: Relaxations, value: Any, source: Source, around: tuple[Any, ...] = ()) -> Any:
    """What an argument was traced for, without holding on to the caller's objects; `around` are the containers it is in."""
    if isinstance(value, tf.Tensor):
        return tf.TensorSpec(relaxations.shape(source, value), value.dtype)
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        return relaxations.declared.get(source) or value._type_spec
    if any(value is one for one in around):
        return OTHER
    if isinstance(value, (tuple, list)):
        parts = [_kind(relaxations, item, Item(source, i), (*around, value)) for i, item in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: _kind(relaxations, item, Item(source, key), (*around, value)) for key, item in value.items()}
    return value if isinstance(value, (bool, int, float, str, bytes, type(None))) else OTHER


def _way(session: Session, results: list[tf.Tensor], parts: dict[str, Any]) -> list[tf.Tensor]:
    """What tells the way of a run, if gradients depend on it."""
    junctions = junctions_of(session, session.graph)
    needed = bool(junctions.told) and results_vary(session.graph, results)
    parts["junctions"] = junctions.told if needed else []
    return [junctions.vector()] if needed else []


def graph_name(name: str) -> str:
    """A name as TensorFlow allows it for a graph."""
    return re.sub(r"\W", "_", name.rpartition(".")[2], flags=re.ASCII).strip("_") or "function"


def definition(function: Any) -> Location | None:
    """The line where a function begins."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return Location(code.co_filename, code.co_firstlineno, code.co_name) if code is not None else None


def traced(body: Callable[..., list[tf.Tensor]], options: Options, function: Any, specs: Sequence[tf.TypeSpec] = ()) -> Any:
    """The concrete function that tracing `body` gives. Raises `Fallback` or `AlwaysRaises`."""
    try:
        with rarely(), lines_kept(), operations_quick():
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
