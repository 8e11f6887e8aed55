"""Which way a run goes at the branches and loops of its graph: bool tensors that leave the graph beside its results.

They say which inputs the results of a run depend on, so that gradients can be None where eager's are (`imp2tf.taped`).
What happens within the turns of a loop is not told.
"""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import CALLS, Connections, Junction, connected_sources, enclosing_graphs, is_differentiable
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, function_graph

__all__ = ["BranchFlags", "Ways", "junctions_of", "note_junction", "results_vary", "ways_of"]


class Junctions:
    """The junctions of a graph and of the branches in it, and whether the run takes the first branch or enters the loop."""

    def __init__(self, keys: Iterable[Junction] = (), flags: Iterable[tf.Tensor] = ()) -> None:
        self.keys = list(keys)
        self._flags = list(flags)

    def copy(self) -> Junctions:
        """The junctions so far."""
        return Junctions(self.keys, self._flags)

    def add(self, keys: Sequence[Junction], flags: tf.Tensor) -> None:
        """Add junctions, with a bool tensor of as many elements."""
        self.keys.extend(keys)
        self._flags.append(flags)

    def vector(self) -> tf.Tensor:
        """One bool for each key, in the graph that is being built."""
        return tf.concat([tf.zeros([0], tf.bool), *(tf.reshape(one, [-1]) for one in self._flags)], 0)


class BranchFlags:
    """What the branches of an If tell, beside their results, of the junctions inside them."""

    def __init__(self, session: Session, branches: Sequence[FuncGraph]) -> None:
        self._branches = branches
        self._junctions = [junctions_of(session, branch).copy() for branch in branches]
        self.keys = [key for one in self._junctions for key in one.keys]

    def told_by(self, taken: FuncGraph) -> list[tf.Tensor]:
        """What one branch returns: False for the junctions of the others, nothing if there are none."""
        parts = [one.vector() if branch is taken else tf.zeros([len(one.keys)], tf.bool)
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
    found = junctions_of(session, graph)
    found.add([_key(graph, op)], way)
    for flags in told:
        found.add(inner, flags)


MAX_TOLD = 5  # junctions on whose ways a gradient may depend: each doubles the number of ways


@dataclasses.dataclass
class Ways:
    """The ways a run may go that differ in which sources some targets depend on."""

    number: tf.Tensor  # which way this run goes
    connected: list[tuple[bool, ...]]  # for each way, whether the targets depend on each source


def ways_of(session: Session, targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> Ways | None:
    """Which sources some targets depend on, where only the run knows; None if it is the same on every way."""
    made = frozenset(_key(op.graph, op) for op in session.region_ops if op.graph is not None)
    if not made or connected_sources(targets, sources) == connected_sources(targets, sources, Connections(certain=True, among=made)):
        return None
    told = [junctions_of(session, graph) for graph in enclosing_graphs(targets)]
    keys = [key for one in told for key in one.keys]
    if len(keys) > MAX_TOLD:
        fall_back(NeedsValue, f"whether a gradient is None depends on {len(keys)} branches and loops")
    found = []
    for taken in itertools.product((False, True), repeat=len(keys)):
        way = dict(zip(keys, taken, strict=True))
        found.append(tuple(connected_sources(targets, sources, Connections(way))))
        if found[-1] != tuple(connected_sources(targets, sources, Connections(way, certain=True, among=made))):
            fall_back(NeedsValue, "whether a gradient is None depends on what happens within a loop")
    distinct = list(dict.fromkeys(found))
    flags = tf.cast(tf.concat([one.vector() for one in told], 0), tf.int32)
    place = tf.reduce_sum(flags * [2**i for i in reversed(range(len(keys)))])
    return Ways(tf.gather(tf.constant([distinct.index(one) for one in found]), place), distinct)


def _key(graph: FuncGraph, op: tf.Operation) -> Junction:
    """The key of an If or While, also where TensorFlow wrapped it in a function."""
    inner = function_graph(graph, op.get_attr("f").name) if op.type.endswith("PartitionedCall") else None
    if inner is None:
        return id(graph), op.name
    wrapped = next(one for one in reversed(inner.get_operations()) if one.type in CALLS)
    return id(inner), wrapped.name


def results_vary(graph: FuncGraph, results: Sequence[tf.Tensor]) -> bool:
    """Whether it depends on the way of the run which of the graph's inputs its results depend on."""
    sources = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder" and is_differentiable(op.outputs[0])]
    return Connections().reached(graph, sources, results) != Connections(certain=True).reached(graph, sources, results)
