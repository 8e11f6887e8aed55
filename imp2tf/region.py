"""Branches and loops of the graph: traced, joined, packed.

A region opens a log, runs a block, freezes what the block leaves behind, and rolls the heap back. Paths are joined
by `imp2tf.join`, each path's values are packed into the tensors that the join asks for, and the functional If is
built. Each branch is traced once. Loops are in `imp2tf.looping`.

Under ``try`` or ``with`` an exception that only some runs raise does not end the run. What follows it, up to the handler, goes
on in a branch of its own (`Course`): the call that raised, and all calls around it, just go on being traced.
"""
from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.effects import has_effects_so_far, stop_run
from imp2tf.errors import Fallback, GraphRefused, RaisesUnderTry, TraceFailed, fall_back
from imp2tf.exceptions import ProgramRaise, Retry, rebuilder, user_frames
from imp2tf.heap import LITERALS, contents, contents_without_tail, old_value, with_tail
from imp2tf.join import join
from imp2tf.junctions import BranchFlags, note_branch
from imp2tf.ordering import order_effects
from imp2tf.places import Contents, Place, Tail
from imp2tf.quick_graphs import make_quick
from imp2tf.random_ops import draw_eagerly
from imp2tf.records import OnItsWay, record_of, renewed, split_records
from imp2tf.session import Log, Session, current
from imp2tf.sharing import patched, untouched, with_aliases, with_untouched
from imp2tf.snapshots import Snapshot, freeze, frozen_elements
from imp2tf.specs import Constant, Spec
from imp2tf.states import NO_STATE, Box, State, Variables
from imp2tf.tf_compat import AutomaticControlDependencies, branch_graph, build_cond
from imp2tf.values import DEAD

__all__ = [
    "Course", "arrive", "check", "cond", "contained", "emit_raise", "frozen_place", "handled", "last_call", "leave_to_python_if",
    "leaving_in", "note_cells", "raise_pending", "scope", "select", "stop_if", "unpacked",
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


def _trace_path(session: Session, block: Callable[[], Any], state: State, pending: Box | None) -> _Path:
    """Run a block in the graph being built now, and freeze what it leaves.

    An exception of the program ends the run, unless there is a handler for it: then it is left in `pending`.
    """
    with session.log() as log, scope():
        if pending is not None:
            Course(session, state, leaving_in(state, pending)).run(block)
            return _left(session, state, log)
        try:
            block()
        except ProgramRaise as raised:
            emit_raise(session, raised)
            return _Path([DEAD] * len(state.get()), {}, dead=True)
        return _left(session, state, log)


def _left(session: Session, state: State, log: Log) -> _Path:
    """What a path leaves, frozen."""
    depth = session.depth
    values, writes = [freeze(value, depth) for value in state.get()], _outliving(session, log, depth)
    slots = [*range(len(values)), *writes]
    marked = with_aliases(slots, [*values, *writes.values()])
    return _Path(marked[: len(values)], dict(zip(writes, marked[len(values):], strict=True)), dead=False)


def _outliving(session: Session, log: Log, depth: int) -> dict[Place, Any]:
    return {place: frozen_place(place, depth) for place in list(log) if session.outlives(place)}


def emit_raise(session: Session, raised: ProgramRaise) -> None:
    """Make the program's own exception end the run at this point of the graph."""
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
    pending = Box() if session.trying else None
    if pending is not None:
        state = state.plus(pending)
    before, variables = state.get(), Variables(then, orelse, *session.consumers)
    sides = []
    for name, block in (("then", then), ("else", orelse)):
        graph, deps = _branch(session, name, outer)
        with graph.as_default():
            deps.__enter__()
            try:
                path = _trace_path(session, block, state, pending)
            except Fallback as fallback:
                fallback.block = block
                raise
            finally:
                variables.restore()
                state.set(before)
        sides.append((graph, deps, path))
    _build(session, outer, pred, sides, state)
    if pending is not None:
        raise_pending(session, pending.value)


Side = tuple[Any, Any, _Path]  # the graph of a branch, its automatic control dependencies, what it leaves


def _branch(session: Session, name: str, outer: Any) -> tuple[Any, Any]:
    graph = make_quick(branch_graph(name, outer))
    draw_eagerly(session, graph)
    return graph, AutomaticControlDependencies()


def _build(session: Session, outer: Any, pred: tf.Tensor, sides: Sequence[Side], state: State) -> None:
    """Join two traced branches, and go on with the joined values."""
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
    arrive(session, state, places, specs, outputs, _carried_through(sides, places))
    note_branch(session, outer, op, pred, flags.told, outputs)
    if any(path.dead for _, _, path in sides):
        check(op)


def _carried_through(sides: Sequence[Side], places: list[Place]) -> dict[Place, dict[Any, Any]]:
    """The elements of containers that both branches leave as they were: they stay the objects that they are."""
    alive = [(graph, path) for graph, _, path in sides if not path.dead]
    if not alive:
        return {}
    (graph, first), (_, last) = alive[0], alive[-1]
    found: dict[Place, dict[Any, Any]] = {
        place: untouched(first.writes[place].elements, last.writes[place].elements) for place in places if isinstance(place, Contents)
    }
    if len(alive) == 1:  # what is of the branch itself is no element from before
        for kept in found.values():
            for key in [key for key, one in kept.items() if not all(_is_from_before(part, graph) for part in tf.nest.flatten(one))]:
                del kept[key]
    return found


def _is_from_before(value: Any, graph: Any) -> bool:
    """Whether a value is none that `graph` computes."""
    return getattr(value, "graph", None) is not graph if isinstance(value, tf.Tensor) else isinstance(value, LITERALS)


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
    owners: list[Any] = [one for one in read.values() if not session.is_born(one) and isinstance(one, (list, collections.deque))]
    for owner in owners:
        before = contents_without_tail(owner)
        contents(owner)
        for graph, path in paths:
            tail = path.writes.get(Tail(owner))
            if tail is not None and not path.dead and Contents(owner) not in path.writes:
                with graph.as_default():
                    whole = with_tail(frozen_elements(before, session.depth + 1), tail.elements, getattr(owner, "maxlen", None))
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
        host = order_effects(session, graph, returned)
        deps.__exit__(None, None, None)
        graph.control_outputs.extend(deps.ops_which_must_run)
    return host


def arrive(session: Session, state: State, places: list[Place], specs: list[Spec], tensors: Iterator[tf.Tensor],
           carried_through: dict[Place, dict[Any, Any]] | None = None) -> None:
    """Go on with the joined values; of containers, elements that were `carried_through` are those from before."""
    count = len(specs) - len(places)
    values = tuple(spec.unpack(tensors) for spec in specs[:count])
    contents = [unpacked(place, spec, tensors) for place, spec in zip(places, specs[count:], strict=True)]
    found = patched([*range(count), *places], specs, [*values, *contents])
    for place, value in zip(places, found[count:], strict=True):
        session.write(place, with_untouched(value, carried_through.get(place, {})) if carried_through else value)
    state.set(tuple(found[:count]))


def unpacked(place: Place, spec: Spec, tensors: Iterator[tf.Tensor]) -> Any:
    """What a place holds where `tensors` arrive."""
    return spec.unpack_elements(tensors) if isinstance(place, (Contents, Tail)) else spec.unpack(tensors)


def select(pred: tf.Tensor, a: Callable[[], Any], b: Callable[[], Any], state: State = NO_STATE,
           fork: Callable[[tf.Tensor, Callable[[], Any], Callable[[], Any], State], None] = cond) -> Any:
    """The value of one of two expressions, by a scalar bool tensor."""
    box = Box()

    def into(expression: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            box.value = expression()

        return run

    fork(pred, into(a), into(b), state.plus(box))
    return box.value


def stop_if(pred: tf.Tensor, error: BaseException, retry: Retry | None = None) -> None:
    """Raise `error` in the program where `pred` holds; or, more exactly, what the call `retry` raises when the run makes it."""

    def raising() -> None:
        raise ProgramRaise(error, retry)

    cond(tf.reshape(pred, []), raising, lambda: None, NO_STATE)


def leave_to_python_if(pred: tf.Tensor, reason: str | GraphRefused) -> None:
    """Where `pred` holds, the run ends and Python makes the call instead; there is no graph if it could repeat an effect.

    No handler of the program sees it.
    """
    session = current()
    refusal = GraphRefused(reason) if isinstance(reason, str) else reason
    if has_effects_so_far(session):
        fall_back(GraphRefused, refusal.reason)
    if session.loops:
        session.left_in_loop = refusal.reason
    trying, session.trying = session.trying, 0
    try:
        stop_if(pred, refusal)
    finally:
        session.trying = trying


# ------------------------------------------------------------------------------------------------ exceptions with a handler
MAX_FORKS = 32


@dataclasses.dataclass
class _Fork:
    """A conditional under construction: one branch raises, the other is being traced."""

    pred: tf.Tensor
    outer: Any
    raising: Side
    graph: Any
    deps: Any
    log: Log
    stack: contextlib.ExitStack


class Course:
    """A stretch of the program that ends at a handler, or with a region; it may go on in branches of branches.

    `leave` puts an exception in the variables of `state`, which is what a run leaves that raises it.
    """

    def __init__(self, session: Session, state: State, leave: Callable[[Any], None], handles: bool = False) -> None:
        self.session = session
        self.state = state
        self.leave = leave
        self.handles = handles
        self.graph = tf.compat.v1.get_default_graph()
        self.forks: list[_Fork] = []

    def run(self, block: Callable[[], Any]) -> None:
        """Trace a block; afterwards the state holds what any run leaves."""
        self.session.courses.append(self)
        try:
            try:
                block()
            except ProgramRaise as raised:
                if raised.retry is not None:
                    fall_back(RaisesUnderTry, "an operation under try or with refuses its arguments", raised)
                self.leave(renewed(record_of(raised)))
            while self.forks:
                self._join(self.forks.pop())
        except BaseException:
            while self.forks:
                self.forks.pop().stack.close()
            raise
        finally:
            self.session.courses.pop()

    def fork(self, pred: tf.Tensor, record: Any) -> None:
        """Go on where `pred` does not hold; where it does, the exception leaves."""
        if len(self.forks) >= MAX_FORKS:
            fall_back(RaisesUnderTry, f"more than {MAX_FORKS} calls and operations under one try or with may raise")
        session, state, outer = self.session, self.state, self.graph
        note_cells(session, state.get, state.set)
        session.regions += 1
        raising, deps = _branch(session, "raise", outer)
        before = state.get()
        with raising.as_default():
            deps.__enter__()
            with session.log() as log:
                self.leave(renewed(record))
                side = raising, deps, _left(session, state, log)
            state.set(before)
        graph, deps = _branch(session, "onward", outer)
        stack = contextlib.ExitStack()
        stack.enter_context(graph.as_default())
        deps.__enter__()
        log = stack.enter_context(session.log())
        stack.enter_context(scope())
        self.graph = graph
        self.forks.append(_Fork(pred, outer, side, graph, deps, log, stack))

    def _join(self, fork: _Fork) -> None:
        with fork.stack:
            path = _left(self.session, self.state, fork.log)
        self.graph = fork.outer
        _build(self.session, fork.outer, fork.pred, [fork.raising, (fork.graph, fork.deps, path)], self.state)


def handled(block: Callable[[], Any], state: State, leave: Callable[[Any], None]) -> None:
    """Run a block whose exceptions have a handler; `leave` puts an exception in the variables of the state."""
    session = current()
    session.trying += 1
    session.handlers.append(len(user_frames()) - 1)
    try:
        Course(session, state.also(session.consumers), leave, handles=True).run(block)
    finally:
        session.trying -= 1
        session.handlers.pop()


def leaving_in(state: State, pending: Box, rest: tuple[Any, ...] = ()) -> Callable[[Any], None]:
    """How an exception leaves a region: it waits in `pending`; other variables are of use only to the function that handles it.

    `pending` is the last variable of the state but those that become `rest`.
    """
    session = current()
    handler = next(course for course in reversed(session.courses) if course is not None and course.handles)
    keeps = state.shares(handler.state)

    def leave(record: Any) -> None:
        values = state.get()
        count = len(values) - 1 - len(rest)
        state.set((*(values[:count] if keeps else [DEAD] * count), record, *rest))

    return leave


def raise_pending(session: Session, value: Any) -> None:
    """After a region: what it may have raised goes on to the end of the course, or is raised if it is certain."""
    records, others = split_records(value)
    if records is None:
        return
    if others is DEAD:
        raise ProgramRaise(None, fresh=False, record=records)
    course = session.courses[-1]
    if course is None or course.graph is not tf.compat.v1.get_default_graph():
        fall_back(RaisesUnderTry, "what library code calls may raise an exception under try or with")
    course.fork(tf.gather(tf.constant([isinstance(one, OnItsWay) for one in value.alternatives]), value.tag), records)


def contained(block: Callable[[], Any], state: State) -> Callable[[], None]:
    """Run a block inside a manager of a library; what is returned raises afterwards what the block raises."""
    session = current()
    if not session.trying:
        block()
        return lambda: None
    pending = Box()
    state = state.plus(pending)
    Course(session, state, leaving_in(state, pending)).run(block)
    return lambda: raise_pending(session, pending.value)
