"""Branches and loops of the graph: traced, joined, packed.

A region opens a log, runs a block, freezes what the block leaves behind, and rolls the heap back. Paths are joined
by `imp2tf.join`, each path's values are packed into the tensors that the join asks for, and the functional If is
built. Each branch is traced once. Loops are in `imp2tf.looping`.
"""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from imp2tf.effects import has_effects_so_far, order_effects, stop_run
from imp2tf.errors import GraphRefused, RaisesUnderTry, TraceFailed, fall_back
from imp2tf.exceptions import ProgramRaise, Retry, rebuilder
from imp2tf.heap import contents, contents_without_tail, old_value, with_tail
from imp2tf.join import join
from imp2tf.junctions import BranchFlags, note_junction
from imp2tf.places import Contents, Place, Tail
from imp2tf.random_ops import draw_eagerly
from imp2tf.session import Log, Session, current
from imp2tf.sharing import patched, with_aliases
from imp2tf.snapshots import Snapshot, freeze, frozen_elements
from imp2tf.specs import Constant, Spec
from imp2tf.states import NO_STATE, Box, State, Variables
from imp2tf.tf_compat import AutomaticControlDependencies, branch_graph, build_cond
from imp2tf.values import DEAD

__all__ = [
    "arrive", "check", "cond", "emit_raise", "frozen_place", "last_call", "leave_to_python_if", "note_cells",
    "scope", "select", "stop_if", "unpacked",
]

REGION_OPS = frozenset({"If", "StatelessIf", "While", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall"})


@contextlib.contextmanager
def scope() -> Iterator[contextlib.ExitStack]:
    """What runs inside waits for the checks made inside before it."""
    session = current()
    with contextlib.ExitStack() as stack:
        session.scopes.append(stack)
        session.region_graphs.append(tf.compat.v1.get_default_graph())
        try:
            yield stack
        finally:
            session.region_graphs.pop()
            session.scopes.pop()


def check(op: tf.Operation) -> None:
    """Everything that follows in this scope waits for `op`: an abort does not stop operations that do not depend on it."""
    current().scopes[-1].enter_context(tf.control_dependencies([op]))


# ------------------------------------------------------------------------------------------------ one path
@dataclasses.dataclass
class _Path:
    """What one traced block leaves behind."""

    values: list[Any]
    writes: dict[Place, Any]
    dead: bool


def frozen_place(place: Place, depth: int) -> Any:
    """What a place holds now; what was born at `depth` or deeper is described by its elements."""
    value = old_value(place)
    if isinstance(place, (Contents, Tail)):
        return Snapshot(_like(place), frozen_elements(value, depth), inner=True)
    return freeze(value, depth)


def _like(place: Place) -> Any:
    """An object of the class that a place's contents make, for the snapshot."""
    return [] if isinstance(place, Tail) else place.owner


def _trace_path(session: Session, block: Callable[[], Any], state: State) -> _Path:
    """Run a block in the graph being built now, and freeze what it leaves. An exception of the program ends the run."""
    with session.log() as log, scope():
        try:
            block()
        except ProgramRaise as raised:
            emit_raise(session, raised)
            return _Path([DEAD] * len(state.get()), {}, dead=True)
        depth = session.depth
        values, writes = [freeze(value, depth) for value in state.get()], _outliving(session, log, depth)
        slots = [*range(len(values)), *writes]
        marked = with_aliases(slots, [*values, *writes.values()])
        return _Path(marked[: len(values)], dict(zip(writes, marked[len(values):], strict=True)), dead=False)


def _outliving(session: Session, log: Log, depth: int) -> dict[Place, Any]:
    return {place: frozen_place(place, depth) for place in list(log) if session.outlives(place)}


def emit_raise(session: Session, raised: ProgramRaise) -> None:
    """Make the program's own exception end the run at this point of the graph."""
    if session.trying:
        fall_back(RaisesUnderTry, f"{type(raised.error).__name__} may be raised by a call or an operation under try or with")
    if session.stop is not None:
        session.stop(raised)
        return
    if raised.retry is not None and has_effects_so_far(session):
        fall_back(TraceFailed, f"an operation refuses its arguments: {raised.error}")
    make, values = rebuilder(session, raised)
    stop_run(make, *values)


# ------------------------------------------------------------------------------------------------ if
def cond(pred: tf.Tensor, then: Callable[[], Any], orelse: Callable[[], Any], state: State) -> None:
    """Run one of two blocks, by a scalar bool tensor; afterwards `state` and the heap hold the joined values."""
    session = current()
    session.counts["conds"] += 1
    session.regions += 1
    outer = tf.compat.v1.get_default_graph()
    note_cells(session, then, orelse, state.get, *(one.get for one in session.consumers))
    state = state.also(session.consumers)
    before, variables = state.get(), Variables(then, orelse)
    sides = []
    for name, block in (("then", then), ("else", orelse)):
        graph, deps = branch_graph(name, outer), AutomaticControlDependencies()
        draw_eagerly(session, graph)
        with graph.as_default():
            deps.__enter__()
            try:
                path = _trace_path(session, block, state)
            finally:
                variables.restore()
                state.set(before)
        sides.append((graph, deps, path))
    _settle_appends(session, [(graph, path) for graph, _, path in sides])
    places, specs = _join_paths(sides[0][2], sides[1][2])
    graphs = [graph for graph, _, _ in sides]
    flags = BranchFlags(session, graphs)
    hosts = [_close_branch(session, graph, deps, _outputs(path, places), specs, flags) for graph, deps, path in sides]
    outputs = iter(build_cond(pred, *graphs))
    op = last_call(session, outer)
    if any(hosts):
        session.host_ops.add((id(outer), op.name))
    session.regions -= 1
    arrive(session, state, places, specs, outputs)
    note_junction(session, outer, op, pred, flags.keys, outputs)
    if any(path.dead for _, _, path in sides):
        check(op)


def note_cells(session: Session, *functions: Callable[..., Any]) -> None:
    """The variables around a region are older than what is made in it, also where a function in it is the first to close over them."""
    for function in functions:
        for cell in getattr(function, "__closure__", None) or ():
            if not session.is_born(cell):
                session.born(cell)


def last_call(session: Session, graph: Any) -> tf.Operation:
    """The If or While just built."""
    op = next(op for op in reversed(graph.get_operations()) if op.type in REGION_OPS)
    session.region_ops.add(op)
    return op


def _settle_appends(session: Session, paths: list[tuple[Any, _Path]]) -> None:
    """Where one path has read a list, what another only appended to it becomes part of its contents there too."""
    read = {id(place.owner): place.owner for _, path in paths for place in path.writes if isinstance(place, Contents)}
    for owner in [one for one in read.values() if not session.is_born(one) and isinstance(one, list)]:
        before = contents_without_tail(owner)
        contents(owner)
        for graph, path in paths:
            tail = path.writes.get(Tail(owner))
            if tail is not None and not path.dead and Contents(owner) not in path.writes:
                with graph.as_default():
                    whole = with_tail(frozen_elements(before, session.depth + 1), tail.elements)
                path.writes[Contents(owner)] = Snapshot(owner, whole, inner=True)
                path.writes[Tail(owner)] = Snapshot([], [], inner=True)


def _join_paths(a: _Path, b: _Path) -> tuple[list[Place], list[Spec]]:
    places = list(dict.fromkeys([*a.writes, *b.writes]))
    depth = current().depth + 1
    for place in places:
        for path in (a, b):
            if place not in path.writes:
                path.writes[place] = DEAD if path.dead else frozen_place(place, depth)
    pairs = [*zip(a.values, b.values, strict=True), *((a.writes[place], b.writes[place]) for place in places)]
    return places, [join(Constant(x), Constant(y)) for x, y in pairs]


def _outputs(path: _Path, places: list[Place]) -> list[Any]:
    return [*path.values, *(path.writes[place] for place in places)]


def _close_branch(session: Session, graph: Any, deps: Any, values: list[Any], specs: list[Spec], flags: BranchFlags) -> bool:
    """Append the packed values to a branch graph and finish it; whether it calls Python."""
    with graph.as_default():
        tensors = [tensor for value, spec in zip(values, specs, strict=True) for tensor in spec.pack(value)]
        tensors.extend(flags.told_by(graph))
        returned = [deps.mark_as_return(graph.capture(tensor)) for tensor in tensors]
        graph.structured_outputs = returned
        graph.outputs.extend(returned)
        host = order_effects(session, graph)
        deps.__exit__(None, None, None)
        graph.control_outputs.extend(deps.ops_which_must_run)
    return host


def arrive(session: Session, state: State, places: list[Place], specs: list[Spec], tensors: Iterator[tf.Tensor]) -> None:
    """Go on with the joined values."""
    count = len(specs) - len(places)
    values = tuple(spec.unpack(tensors) for spec in specs[:count])
    contents = [unpacked(place, spec, tensors) for place, spec in zip(places, specs[count:], strict=True)]
    found = patched([*range(count), *places], specs, [*values, *contents])
    for place, value in zip(places, found[count:], strict=True):
        session.write(place, value)
    state.set(tuple(found[:count]))


def unpacked(place: Place, spec: Spec, tensors: Iterator[tf.Tensor]) -> Any:
    """What a place holds where `tensors` arrive."""
    return spec.unpack_elements(tensors) if isinstance(place, (Contents, Tail)) else spec.unpack(tensors)


def select(pred: tf.Tensor, a: Callable[[], Any], b: Callable[[], Any], state: State = NO_STATE) -> Any:
    """The value of one of two expressions, by a scalar bool tensor."""
    box = Box()

    def into(expression: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            box.value = expression()

        return run

    cond(pred, into(a), into(b), state.plus(box))
    return box.value


def stop_if(pred: tf.Tensor, error: BaseException, retry: Retry | None = None) -> None:
    """Raise `error` in the program where `pred` holds; or, more exactly, what the call `retry` raises when the run makes it."""

    def raising() -> None:
        raise ProgramRaise(error, retry)

    cond(tf.reshape(pred, []), raising, lambda: None, NO_STATE)


def leave_to_python_if(pred: tf.Tensor, reason: str) -> None:
    """Where `pred` holds, the run ends and Python makes the call instead; there is no graph if it could repeat an effect."""
    session = current()
    if has_effects_so_far(session):
        fall_back(GraphRefused, reason)
    if session.loops:
        session.left_in_loop = reason
    stop_if(pred, GraphRefused(reason))
