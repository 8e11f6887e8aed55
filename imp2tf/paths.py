"""The paths of a branch: what each leaves behind, joined by `imp2tf.join`, packed into tensors, and built into a functional If."""
from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.choices import chosen
from imp2tf.heap import contents, contents_without_tail, old_value, with_tail
from imp2tf.join import join
from imp2tf.junctions import BranchFlags, note_branch
from imp2tf.kinds import LITERALS
from imp2tf.ordering import order_effects
from imp2tf.places import Contents, Place, Tail
from imp2tf.quick_graphs import make_quick
from imp2tf.random_ops import draw_eagerly
from imp2tf.recording_tapes import has_first_order_only
from imp2tf.session import Log, Session, current
from imp2tf.sharing import patched, untouched, with_aliases, with_untouched
from imp2tf.snapshots import Snapshot, freeze, frozen_elements
from imp2tf.specs import Constant, Spec
from imp2tf.states import State
from imp2tf.tf_compat import AutomaticControlDependencies, branch_graph, build_cond
from imp2tf.values import DEAD

__all__ = [
    "Path", "Side", "arrive", "build_if", "check", "frozen_place", "last_call", "note_cells", "open_branch", "scope", "unpacked",
    "what_is_left",
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
class Path:
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


def what_is_left(session: Session, state: State, log: Log) -> Path:
    """What a path leaves, frozen."""
    depth = session.depth
    values, writes = [freeze(value, depth) for value in state.get()], _outliving(session, log, depth)
    slots = [*range(len(values)), *writes]
    marked = with_aliases(slots, [*values, *writes.values()])
    return Path(marked[: len(values)], dict(zip(writes, marked[len(values):], strict=True)), dead=False)


def _outliving(session: Session, log: Log, depth: int) -> dict[Place, Any]:
    return {place: frozen_place(place, depth) for place in list(log) if session.outlives(place)}


Side = tuple[Any, Any, Path]  # the graph of a branch, its automatic control dependencies, what it leaves


def open_branch(session: Session, name: str, outer: Any) -> tuple[Any, Any]:
    graph = make_quick(branch_graph(name, outer))
    draw_eagerly(session, graph)
    return graph, AutomaticControlDependencies()


def build_if(session: Session, outer: Any, pred: tf.Tensor, sides: Sequence[Side], state: State) -> None:
    """Join two traced branches, and go on with the joined values."""
    _settle_appends(session, [(graph, path) for graph, _, path in sides])
    places, specs = _join_paths(sides[0][2], sides[1][2])
    graphs = [graph for graph, _, _ in sides]
    flags = BranchFlags(session, graphs)
    hosts = [_close_branch(session, graph, deps, _outputs(path, places), specs, flags) for graph, deps, path in sides]
    session.regions -= 1
    selected = None if any(hosts) or any(path.dead for _, _, path in sides) else chosen(session, pred, graphs)
    if selected is not None:
        arrive(session, state, places, specs, iter(selected), _carried_through(sides, places))
        return
    read = [pred, *(one for graph in graphs for one in graph.external_captures)]
    outputs = iter(build_cond(pred, graphs[0], graphs[1], has_first_order_only(read)))
    op = last_call(session, outer)
    if any(hosts):
        session.host_ops.add((id(outer), op.name))
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


def _settle_appends(session: Session, paths: list[tuple[Any, Path]]) -> None:
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


def _join_paths(a: Path, b: Path) -> tuple[list[Place], list[Spec]]:
    places = list(dict.fromkeys([*a.writes, *b.writes]))
    depth = current().depth + 1
    for place in places:
        for path in (a, b):
            if place not in path.writes:
                path.writes[place] = DEAD if path.dead else frozen_place(place, depth)
    pairs = [*zip(a.values, b.values, strict=True), *((a.writes[place], b.writes[place]) for place in places)]
    return places, [join(Constant(x), Constant(y)) for x, y in pairs]


def _outputs(path: Path, places: list[Place]) -> list[Any]:
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
