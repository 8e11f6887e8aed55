"""Which way a run goes at the branches and loops of its graph: bool tensors that leave the graph beside its results.

They say which inputs the results of a run depend on, so that gradients can be None where eager's are (`imp2tf.taped`).
There are two for each junction: whether the run took the first branch, or entered the loop, and whether it took the other
way. Of a junction within a loop they tell which ways some turn took.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BOTH, CALLS, LOOPS, Connections, Junction, Ways, Wiring, is_differentiable
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, function_graph, tape_may_record

__all__ = ["UNTOLD", "BranchFlags", "Junctions", "Outcomes", "decided", "junctions_of", "note_junction", "results_vary", "ways_told",
           "where_loops_turn"]

UNTOLD = "untold"  # how many junctions a graph does not tell of, since no tape recorded what stands there


class Junctions:
    """The junctions of a graph and of the regions in it, and the ways that a run takes there."""

    def __init__(self, keys: Iterable[Junction] = (), flags: Iterable[tf.Tensor] = ()) -> None:
        self.keys = list(keys)
        self.loops: set[Junction] = set()
        self._flags = list(flags)

    def copy(self) -> Junctions:
        """The junctions so far."""
        made = Junctions(self.keys, self._flags)
        made.loops |= self.loops
        return made

    def add(self, keys: Sequence[Junction], flags: tf.Tensor) -> None:
        """Add junctions, with a bool vector of twice as many elements."""
        self.keys.extend(keys)
        self._flags.append(flags)

    def vector(self) -> tf.Tensor:
        """Two bools for each key, in the graph that is being built."""
        if len(self._flags) == 1:
            return self._flags[0]
        return tf.concat(self._flags, 0) if self._flags else tf.zeros([0], tf.bool)


class BranchFlags:
    """What the branches of an If tell, beside their results, of the junctions inside them."""

    def __init__(self, session: Session, branches: Sequence[FuncGraph]) -> None:
        self._branches = branches
        self._junctions = [junctions_of(session, branch).copy() for branch in branches]
        self.keys = [key for one in self._junctions for key in one.keys]

    def told_by(self, taken: FuncGraph) -> list[tf.Tensor]:
        """What one branch returns: False for the junctions of the others, nothing if there are none."""
        parts = [one.vector() if branch is taken else tf.zeros([2 * len(one.keys)], tf.bool)
                 for branch, one in zip(self._branches, self._junctions)]
        return [tf.concat(parts, 0)] if self.keys else []


def junctions_of(session: Session, graph: FuncGraph) -> Junctions:
    """The junctions of a graph, as far as it is built."""
    found: Junctions = session.junctions.setdefault(graph, Junctions())
    return found


def note_junction(session: Session, graph: FuncGraph, op: tf.Operation, way: tf.Tensor, inner: Sequence[Junction] = (),
                  told: Iterable[tf.Tensor] = ()) -> None:
    """Note an If or While just built: `way` is its predicate, or whether it is entered; `told` is of the `inner` junctions."""
    if not any(map(is_differentiable, op.outputs)):
        return
    if not session.tells_ways and not tape_may_record():
        session.counts[UNTOLD] += 1
        return
    found = junctions_of(session, graph)
    key, kind = _key(graph, op)
    if kind in LOOPS:
        found.loops.add(key)
    way = way if way.shape.rank == 0 else tf.reshape(way, [])
    found.add([key], tf.stack([way, tf.logical_not(way)]))
    for flags in told:
        found.add(inner, flags)


def _key(graph: FuncGraph, op: tf.Operation) -> tuple[Junction, str]:
    """The key of an If or While, also where TensorFlow wrapped it in a function, and its type."""
    inner = function_graph(graph, op.get_attr("f").name) if op.type.endswith("PartitionedCall") else None
    if inner is None:
        return (id(graph), op.name), op.type
    wrapped = next(one for one in reversed(inner.get_operations()) if one.type in CALLS)
    return (id(inner), wrapped.name), wrapped.type


def results_vary(graph: FuncGraph, results: Sequence[tf.Tensor]) -> bool:
    """Whether it depends on the way of the run which of the graph's inputs its results depend on."""
    sources = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder" and is_differentiable(op.outputs[0])]
    wiring = Wiring()
    possible, certain = (Connections(certain=one, wiring=wiring).reached(graph, sources, results) for one in (False, True))
    return possible != certain


def ways_told(keys: Sequence[Junction], flags: Sequence[bool]) -> dict[Junction, Ways]:
    """The ways of a run, from what its graph returned."""
    return {key: (flags[2 * place], flags[2 * place + 1]) for place, key in enumerate(keys)}


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
    keys = [key for one in junctions for key in one.keys]
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
                        flags.append(tf.concat([one.vector() for one in junctions], 0))
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
