"""Branches that only choose between small values: both are computed, and one is selected, instead of an If of the graph.

    if norm > 1.0:
        count += 1       -->   count = select(norm > 1.0, count + 1, count)

An If takes as long as a dozen such operations, in every run and when it is made. What may fail, has an effect or is not small stays in
its branch. So does what a gradient may flow through where a tape may record: where the other branch was taken, there is none.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import is_differentiable
from imp2tf.junctions import UNTOLD, ways_are_told
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, copied_operation, is_symbolic_tensor

__all__ = ["chosen"]

MOST_COMPUTED = 12  # operations of one branch, each on a scalar
MOST_ELEMENTS = 256  # of a tensor that is chosen: a branch hands on a large one without copying it
MOST_OPERATIONS = 80  # that are looked at
PLAIN = frozenset({"Const", "Identity", "Placeholder"})
COMPUTED = frozenset({
    "Abs", "AddV2", "Cast", "Equal", "Greater", "GreaterEqual", "IsFinite", "IsNan", "Less", "LessEqual", "LogicalAnd", "LogicalNot",
    "LogicalOr", "Maximum", "Minimum", "Mul", "Neg", "NotEqual", "Select", "SelectV2", "StopGradient", "Sub", "ZerosLike",
})
OF_FLOATS = frozenset({"Pow", "RealDiv", "Sqrt"})  # others refuse some numbers
WITHOUT_KERNEL = (tf.variant, tf.resource, tf.string)


def chosen(session: Session, pred: tf.Tensor, branches: Sequence[FuncGraph]) -> list[tf.Tensor] | None:
    """The results of two finished branches, in the graph that is being built; None where there has to be an If."""
    pairs = list(zip(branches[0].outputs, branches[1].outputs, strict=True))
    flows = any(is_differentiable(one) for pair in pairs for one in pair)
    if pred.shape.rank != 0 or not all(map(_only_chooses, branches)) or (flows and ways_are_told(session)):
        return None
    sides = [_Side(graph) for graph in branches]
    if not all(sides[0].outer(a) is sides[1].outer(b) is not None or _can_be_selected(a, b) for a, b in pairs):
        return None
    session.counts[UNTOLD] += flows
    return [_selected(session, pred, sides, a, b) for a, b in pairs]


def _only_chooses(graph: FuncGraph) -> bool:
    operations = graph.get_operations()
    if graph.control_outputs or len(operations) > MOST_OPERATIONS or any(op.control_inputs for op in operations):
        return False
    computed = [op for op in operations if op.type not in PLAIN]
    return len(computed) <= MOST_COMPUTED and all(map(_is_cheap, computed))


def _is_cheap(op: tf.Operation) -> bool:
    """Whether an operation computes a number, and cannot fail."""
    tensors = (*op.inputs, *op.outputs)
    known = op.type in COMPUTED or (op.type in OF_FLOATS and op.outputs[0].dtype.is_floating)
    return known and all(one.shape.rank == 0 and (one.dtype.is_floating or one.dtype.is_integer or one.dtype.is_bool) for one in tensors)


def _can_be_selected(a: tf.Tensor, b: tf.Tensor) -> bool:
    same = a.dtype == b.dtype and a.shape.is_fully_defined() and a.shape == b.shape
    return same and a.dtype not in WITHOUT_KERNEL and a.shape.num_elements() <= MOST_ELEMENTS


class _Side:
    """A branch, and what of it has been computed outside."""

    def __init__(self, graph: FuncGraph) -> None:
        around: FuncGraph = tf.compat.v1.get_default_graph()
        self._outside: dict[int, tf.Tensor] = {id(inner): around.capture(outer) for outer, inner in graph.captures}  # eager ones, too

    def outer(self, tensor: tf.Tensor) -> tf.Tensor | None:
        """The tensor of the outer graph that a result is."""
        while tensor.op.type == "Identity":
            tensor = tensor.op.inputs[0]
        return self._outside.get(id(tensor))

    def computed(self, tensor: tf.Tensor) -> tf.Tensor:
        """A tensor of the branch, outside of it."""
        found = self._outside.get(id(tensor))
        if found is None:
            if tensor.op.type == "Identity":
                found = self.computed(tensor.op.inputs[0])
            else:
                found = copied_operation(tensor.op, [self.computed(one) for one in tensor.op.inputs]).outputs[tensor.value_index]
            self._outside[id(tensor)] = found
        return found


def _selected(session: Session, pred: tf.Tensor, sides: Sequence[Any], a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    first, second = sides[0].computed(a), sides[1].computed(b)
    if first is second and is_symbolic_tensor(first):
        return first
    selected = tf.raw_ops.SelectV2(condition=pred, t=first, e=second)
    session.selected.add(selected.op)
    return selected
