"""Tracing a function so that its graph can be served: without guards, without Python, with its state in variables.

What Python would do while the graph runs is a reason not to serve it. Tracing goes on after such a reason where it can, so that
the user learns all of them at once.
"""
from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf import calls
from imp2tf.embedding import assert_instead
from imp2tf.errors import ConversionError, Fallback, ForeignCall, Location, LostValue, TraceFailed
from imp2tf.exceptions import TRACE_BOUNDARIES, ProgramRaise
from imp2tf.export_state import State, Widened
from imp2tf.export_values import Lowering
from imp2tf.options import Options
from imp2tf.ordering import order_effects
from imp2tf.parameters import Parameters, name_of
from imp2tf.paths import scope
from imp2tf.relaxations import Relaxations
from imp2tf.runs import Run
from imp2tf.session import Session, resumed
from imp2tf.trace import AlwaysRaises, definition, graph_name, refuse_variable, traced

__all__ = ["Endpoint", "Served", "serve"]


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A function to be saved, and what it is called with: for each parameter a TypeSpec, a structure of them, or a constant."""

    function: Callable[..., Any]
    parameters: Parameters
    values: tuple[Any, ...]
    name: str
    signature: str | None  # under which clients call it
    attribute: str | None  # under which the loaded object has it

    def specs(self) -> list[tf.TypeSpec]:
        """All inputs, components of ragged and sparse tensors apart."""
        return [part for part in tf.nest.flatten(self.values, expand_composites=True) if isinstance(part, tf.TypeSpec)]

    def filled(self, tensors: Sequence[tf.Tensor]) -> list[Any]:
        """The values of a call with these inputs."""
        given = iter(tensors)
        flat = tf.nest.flatten(self.values, expand_composites=True)
        filled = [next(given) if isinstance(part, tf.TypeSpec) else part for part in flat]
        return list(tf.nest.pack_sequence_as(self.values, filled, expand_composites=True))


@dataclasses.dataclass(frozen=True)
class Served:
    """A traced endpoint: a concrete function of flat tensors, the structure of its result, and what was translated in it."""

    endpoint: Endpoint
    concrete: Any
    result: Any  # with TypeSpecs in the places of tensors
    notes: dict[str, str]
    referenced: list[Any]  # objects that the trace met: among them what owns tables and iterators


class _Refused(BaseException):
    """Ends the trace of a function that cannot be served."""

    def __init__(self, reasons: list[ConversionError]) -> None:
        super().__init__()
        self.reasons = reasons


def serve(endpoints: Sequence[Endpoint]) -> tuple[list[Served], State, list[ConversionError]]:
    """Trace all endpoints over one state. There is nothing to save if there are reasons against it."""
    state = State()
    refused: dict[int, list[ConversionError]] = {}
    served: dict[int, Served] = {}
    while True:
        before = state.widenings
        for number, endpoint in enumerate(endpoints):
            if number in refused:
                continue
            try:
                served[number] = _settled(endpoint, state)
            except _Refused as error:
                refused[number] = error.reasons
        if state.widenings == before:
            return list(served.values()), state, [reason for reasons in refused.values() for reason in reasons]


def _settled(endpoint: Endpoint, state: State) -> Served:
    while True:
        try:
            return _served(endpoint, state)
        except Widened:
            continue


def _served(endpoint: Endpoint, state: State) -> Served:
    parts: dict[str, Any] = {}

    def body(*tensors: tf.Tensor) -> list[tf.Tensor]:
        session = parts["session"] = _session()
        lowering = parts["lowering"] = Lowering()
        with resumed(session), scope(), tf.variable_creator_scope(refuse_variable), session.log(), scope():
            write_back = state.enter(session)
            session.stop = _stop(session, write_back)
            positional, keywords = endpoint.parameters.unbind([_owned(session, value) for value in endpoint.filled(tensors)])
            result = lowering.result(calls.call(endpoint.function, *positional, **keywords))
            write_back()
            flat = tf.nest.flatten(result, expand_composites=True)
            parts["result"] = result
            outputs = [tf.identity(tensor) for tensor in flat if tensor is not None]
        order_effects(session, session.graph, outputs)
        return outputs

    TRACE_BOUNDARIES.add((__file__, body.__code__.co_name))
    body.__name__ = graph_name(endpoint.name)
    try:
        concrete = traced(body, Options(), endpoint.function, endpoint.specs())
    except Fallback as fallback:
        fallback.error.__cause__ = fallback.__cause__
        raise _Refused(_reasons(endpoint, parts, fallback.error)) from fallback
    except AlwaysRaises as always:
        raised = always.__cause__
        text = raised.told if isinstance(raised, ProgramRaise) else "an exception"
        raise _Refused(_reasons(endpoint, parts, TraceFailed(f"every call raises {text}"))) from always
    found = _reasons(endpoint, parts, None)
    if found:
        raise _Refused(found)
    result = tf.nest.map_structure(lambda one: None if one is None else tf.type_spec_from_value(one), parts["result"])
    return Served(endpoint, concrete, result, parts["lowering"].notes, parts["session"].kept)


def _session() -> Session:
    session = Session(tf.compat.v1.get_default_graph(), Relaxations())
    session.embedded = True
    session.seeded = False
    session.run = Run(embedded=True)
    session.refused = []
    return session


def _owned(session: Session, value: Any) -> Any:
    """Treat containers among the arguments as made by the call, since nobody sees what happens to them."""
    if isinstance(value, (list, dict)):
        session.born(value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _owned(session, part)
    return value


# ------------------------------------------------------------------------------------------------ exceptions
def _stop(session: Session, write_back: Callable[[], list[tf.Operation]]) -> Callable[[ProgramRaise], None]:
    """A function that ends a served call by an assertion with the exception's class and text. What was written before it is kept."""

    def stop(raised: ProgramRaise) -> None:
        with tf.control_dependencies(write_back()):
            session.counts["stops"] += 1
            assert_instead(raised)

    return stop


# ------------------------------------------------------------------------------------------------ reasons
def _reasons(endpoint: Endpoint, parts: dict[str, Any], last: ConversionError | None) -> list[ConversionError]:
    """All that is known to be against serving an endpoint, each line once."""
    session: Session | None = parts.get("session")
    found: list[ConversionError] = []
    if session is not None:
        found.extend(session.refused or ())
        found.extend(ForeignCall(f"{what} while the graph runs: {_line(where)}", location=where) for what, where in session.python_calls)
        found.extend(parts["lowering"].refused)
    if last is not None and not (session is not None and session.refused and _may_follow(last)):
        found.append(last)
    for one in found:
        one.location = one.location or definition(endpoint.function)
    unique = {(one.reason, one.location): one for one in reversed(found)}
    return sorted(unique.values(), key=lambda one: (one.location.filename, one.location.line) if one.location else ("", 0))


def _may_follow(error: ConversionError) -> bool:
    """Whether a failure may come from the result of a call that was refused before."""
    return isinstance(error, (LostValue, TraceFailed)) or "LOST" in error.reason


def _line(where: Location | None) -> str:
    return linecache.getline(where.filename, where.line).strip() if where is not None else name_of(None)
