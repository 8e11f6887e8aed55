"""Which way a run goes at the branches and loops of its graph: bool tensors that leave the graph beside its results.

They say which inputs the results of a run depend on, so that gradients can be None where eager's are (`imp2tf.taped`).
What happens within the turns of a loop is not told.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import tensorflow as tf

from imp2tf.connectivity import CALLS, Connections, Junction, is_differentiable
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, function_graph

__all__ = ["BranchFlags", "junctions_of", "note_junction", "results_vary"]


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
