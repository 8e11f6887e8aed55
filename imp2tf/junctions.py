"""Which way a run goes at the branches and loops of its graph: bool tensors that leave the graph beside its results.

They say which inputs the results of a run depend on, so that gradients can be None where eager's are (`imp2tf.taped`).
There are two for each junction: whether the run took the first branch, or entered the loop, and whether it took the other
way. A junction within a loop has these for each of the last turns, and once for all turns before.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BOTH, CALLS, Connections, Junction, Turns, Ways, Wiring, is_differentiable
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, function_graph, tape_may_record, turn_count

__all__ = ["UNTOLD", "BranchFlags", "Junctions", "Outcomes", "Told", "decided", "junctions_of", "note_branch", "note_loop", "results_vary",
           "turns_told", "ways_are_told", "ways_told", "where_loops_turn", "width_of"]


# Of how many turns flags tell: of a loop, of one inside it, and so on. The first of these turns stands for all before it.
EXACT = (9, 5, 2)
MOST_FLAGS = 4000  # one loop carries no more


@dataclasses.dataclass(frozen=True)
class Told:
    """What flags say of a junction: its ways; for a loop whose turns count, also how many turns it had, and what the last ones did.

    There are two flags for the ways, one for each of the `turns`, and for each of these those of the junctions `inside`.
    """

    key: Junction
    turns: int = 0
    inside: tuple[Told, ...] = ()

    @property
    def size(self) -> int:
        """The number of flags."""
        return 2 + self.turns * (1 + width_of(self.inside))


def width_of(told: Iterable[Told]) -> int:
    """The number of flags that tell of some junctions."""
    return sum(one.size for one in told)

UNTOLD = "untold"  # how many junctions a graph does not tell of, since no tape recorded what stands there


class Junctions:
    """The junctions of a graph and of the regions in it, and the ways that a run takes there."""

    def __init__(self, told: Iterable[Told] = (), flags: Iterable[tf.Tensor] = ()) -> None:
        self.told = list(told)
        self.loops: set[Junction] = set()
        self._flags = list(flags)

    def copy(self) -> Junctions:
        """The junctions so far."""
        made = Junctions(self.told, self._flags)
        made.loops |= self.loops
        return made

    def add(self, told: Iterable[Told], *flags: tf.Tensor) -> None:
        """Add junctions, with bool vectors of their flags."""
        self.told.extend(told)
        self._flags.extend(flags)

    def vector(self, *before: tf.Tensor) -> tf.Tensor:
        """All flags, in the graph that is being built, after those of some other vectors."""
        parts = [*before, *self._flags]
        if len(parts) == 1:
            return parts[0]
        return tf.concat(parts, 0) if parts else tf.zeros([0], tf.bool)

    def turned(self, before: tf.Tensor, turns: int) -> tf.Tensor:
        """What the last turns did, at the end of another one."""
        if turns == 1:
            return tf.logical_or(before, self.vector())
        width = width_of(self.told)
        first, second, rest = tf.split(before, [width, width, (turns - 2) * width])
        return self.vector(tf.logical_or(first, second), *([rest] if turns > 2 else []))


class BranchFlags:
    """What the branches of an If tell, beside their results, of the junctions inside them."""

    def __init__(self, session: Session, branches: Sequence[FuncGraph]) -> None:
        self._branches = branches
        self._junctions = [junctions_of(session, branch).copy() for branch in branches]
        self.told = [one for junctions in self._junctions for one in junctions.told]

    def told_by(self, taken: FuncGraph) -> list[tf.Tensor]:
        """What one branch returns: False for the junctions of the others, nothing if there are none."""
        if not self.told:
            return []
        parts = [one.vector() if branch is taken else tf.zeros([width_of(one.told)], tf.bool)
                 for branch, one in zip(self._branches, self._junctions)]
        return [tf.concat(parts, 0)]


def junctions_of(session: Session, graph: FuncGraph) -> Junctions:
    """The junctions of a graph, as far as it is built."""
    found: Junctions = session.junctions.setdefault(graph, Junctions())
    return found


def note_branch(session: Session, graph: FuncGraph, op: tf.Operation, pred: tf.Tensor, inside: Sequence[Told],
                flags: Iterable[tf.Tensor]) -> None:
    """Note an If just built, by its predicate; `flags` are those of the junctions in its branches."""
    if _is_told(session, op):
        junctions_of(session, graph).add([Told(_key(graph, op)[0]), *inside], _ways(pred), *(flags if inside else ()))


def note_loop(session: Session, graph: FuncGraph, op: tf.Operation, entered: tf.Tensor, turns: int, inside: Sequence[Told],
              flags: Sequence[tf.Tensor]) -> None:
    """Note a While just built, and whether it is entered; of how many `turns` the `flags` tell, those of the junctions in it."""
    if not _is_told(session, op):
        return
    found = junctions_of(session, graph)
    key, _ = _key(graph, op)
    found.loops.add(key)
    count = [tf.constant([*range(1, turns + 1)], tf.int32) <= turn_count(op)] if turns else []
    found.add([Told(key, turns, tuple(inside))], _ways(entered), *count, *flags)


def ways_are_told(session: Session) -> bool:
    """Whether junctions made now are told of: a tape records, or the graph is for calls that one may record."""
    return session.tells_ways or tape_may_record()


def _is_told(session: Session, op: tf.Operation) -> bool:
    if not any(map(is_differentiable, op.outputs)):
        return False
    told = ways_are_told(session)
    session.counts[UNTOLD] += not told
    return told


def turns_told(session: Session, junctions: Junctions) -> int:
    """Of how many turns the flags of a loop tell that is being built."""
    width = max(width_of(junctions.told), 1)
    exact = EXACT[session.loops - 1] if session.loops <= len(EXACT) else 1
    return max(1, min(exact, MOST_FLAGS // width))


def _ways(way: tf.Tensor) -> tf.Tensor:
    way = way if way.shape.rank == 0 else tf.reshape(way, [])
    return tf.stack([way, tf.logical_not(way)])


def _key(graph: FuncGraph, op: tf.Operation) -> tuple[Junction, str]:
    """The key of an If or While, also where TensorFlow wrapped it in a function, and its type."""
    inner = function_graph(graph, op.get_attr("f").name) if op.type.endswith("PartitionedCall") else None
    if inner is None:
        return (id(graph), op.name), op.type
    wrapped = next(one for one in reversed(inner.get_operations()) if one.type in CALLS)
    return (id(inner), wrapped.name), wrapped.type


def results_vary(graph: FuncGraph, results: Sequence[tf.Tensor]) -> bool:
    """Whether the inputs on which the results depend differ from one way of the run to another."""
    sources = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder" and is_differentiable(op.outputs[0])]
    wiring = Wiring()
    possible, certain = (Connections(certain=one, wiring=wiring).reached(graph, sources, results) for one in (False, True))
    return possible != certain


def ways_told(told: Sequence[Told], flags: Sequence[bool]) -> dict[Junction, Ways | Turns]:
    """The ways that a run took, decoded from the flags that its graph returned."""
    found: dict[Junction, Ways | Turns] = {}
    at = 0
    for one in told:
        ways, rest = (flags[at], flags[at + 1]), flags[at + 2: at + one.size]
        found[one.key] = _turns_told(one, ways, rest) if one.turns else ways
        at += one.size
    return found


def _turns_told(told: Told, ways: Ways, flags: Sequence[bool]) -> Turns:
    count, width = sum(flags[: told.turns]), width_of(told.inside)
    rows = [flags[at: at + width] for at in range(told.turns, len(flags), width)] if width else [()] * told.turns
    last = rows[1 + max(0, told.turns - 1 - count):]
    before = tuple(_some(told.inside, rows[0])) if count == told.turns else None
    return Turns(ways, before, tuple(tuple(ways_told(told.inside, row).items()) for row in last))


def _some(told: Sequence[Told], flags: Sequence[bool]) -> Iterator[tuple[Junction, Ways]]:
    """Which ways some turn took, where the flags of several are united."""
    at = 0
    for one in told:
        yield one.key, (flags[at], flags[at + 1])
        width = width_of(one.inside)
        if one.turns and width:
            rows = flags[at + 2 + one.turns: at + one.size]
            yield from _some(one.inside, [any(rows[place::width]) for place in range(width)])
        at += one.size


def _keys(told: Iterable[Told]) -> list[Junction]:
    return [key for one in told for key in (one.key, *_keys(one.inside))]


def _united(told: Sequence[Told], flags: tf.Tensor) -> tf.Tensor:
    """In the graph: two flags for each junction, also of those in loops, whose turns are taken together."""
    if not any(one.turns for one in told):
        return flags
    parts = []
    pieces = tf.split(flags, [one.size for one in told]) if len(told) > 1 else [flags]
    for one, piece in zip(told, pieces, strict=True):
        parts.append(piece[:2])
        if one.turns and one.inside:
            rows = tf.reshape(piece[2 + one.turns:], [one.turns, width_of(one.inside)])
            parts.append(_united(one.inside, tf.reduce_any(rows, 0)))
    return tf.concat(parts, 0)


# ------------------------------------------------------------------------------------------------ decisions in the graph
MAX_SEARCH = 300
WAYS: tuple[Ways, ...] = ((True, False), (False, True), BOTH)


class _TooMany(Exception):
    """There are too many junctions to tell their ways apart."""


@dataclasses.dataclass
class Outcomes:
    """The masks that runs find, and which of them this run does."""

    masks: list[int]
    number: tf.Tensor

    def holds(self, bit: int) -> tf.Tensor:
        """Whether a bit is set in the mask of this run."""
        return tf.gather(tf.constant([bool(mask >> bit & 1) for mask in self.masks]), self.number)


def decided(reached: Callable[[Connections], int], junctions: Sequence[Junctions]) -> int | Outcomes:
    """A mask that may depend on the way of the run so far."""
    keys = [key for one in junctions for key in _keys(one.told)]
    flags: list[tf.Tensor] = []
    masks: list[int] = []
    searched = 0
    wiring = Wiring()

    def bounds(known: dict[Junction, Ways]) -> tuple[int, int]:
        nonlocal searched
        searched += 1
        if searched > MAX_SEARCH:
            raise _TooMany
        return reached(Connections(known, wiring=wiring)), reached(Connections(known, True, wiring))

    def number_of(mask: int) -> int:
        if mask not in masks:
            masks.append(mask)
        return masks.index(mask)

    def decide(known: dict[Junction, Ways], found: tuple[int, int]) -> int | tf.Tensor:
        if found[0] == found[1]:
            return number_of(found[0])
        for place, key in enumerate(keys):
            if key not in known:
                sides = [{**known, key: way} for way in WAYS]
                narrowed = [bounds(side) for side in sides]
                if any(one != found for one in narrowed):
                    first, second, both = (decide(side, one) for side, one in zip(sides, narrowed))
                    if not flags:
                        flags.append(tf.concat([_united(one.told, one.vector()) for one in junctions], 0))
                    return _chosen(flags[0][2 * place], flags[0][2 * place + 1], first, second, both)
        return number_of(found[0])

    found = bounds({})
    try:
        number = decide({}, found)
    except _TooMany:
        return found[0]
    return masks[number] if isinstance(number, int) else Outcomes(masks, number)


def where_loops_turn(reached: Callable[[Connections], int], junctions: Sequence[Junctions]) -> int:
    """The mask of what is connected on every way of a run that enters all its loops."""
    known = {key: (True, False) for one in junctions for key in one.loops}
    return reached(Connections(known, certain=True))


def _chosen(is_first: tf.Tensor, is_second: tf.Tensor, first: Any, second: Any, both: Any) -> int | tf.Tensor:
    if isinstance(first, int) and isinstance(second, int) and isinstance(both, int) and first == second == both:
        return first
    return tf.where(tf.logical_and(is_first, is_second), both, tf.where(is_first, first, second))
