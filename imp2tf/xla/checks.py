"""What must hold for XLA to compute an operation as TensorFlow's kernel does, as graph operations beside it.

XLA takes the nearest element where an index is out of range, drops failed assertions, and lets comparisons lose NaN. A run whose
checks do not all hold is not used: TensorFlow's kernels run the call.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

__all__ = ["CHECKS"]

Tensors = Sequence[tf.Tensor]
Check = Callable[[tf.Operation, Tensors, Tensors], list[tf.Tensor]]


def _within(index: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """All of some indices are in range; a negative one may mean another thing to XLA."""
    return tf.reduce_all((index >= 0) & (index < tf.cast(size, index.dtype)))


def _no_nan(*tensors: tf.Tensor) -> list[tf.Tensor]:
    return [~tf.reduce_any(tf.math.is_nan(one)) for one in tensors if one.dtype.is_floating]


def _gather(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    axis = tf.get_static_value(op.inputs[2])
    size = None if axis is None else inputs[0].shape[int(axis)]
    return [tf.constant(False) if size is None else _within(inputs[1], size)]


def _gather_rows(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [_within(inputs[1], tf.raw_ops.VariableShape(input=inputs[0])[0])]


def _gather_nd(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    depth = inputs[1].shape[-1]
    return [_within(inputs[1][..., axis], inputs[0].shape[axis]) for axis in range(depth)]


def _labels(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [_within(inputs[1], inputs[0].shape[-1]), *_no_nan(inputs[0])]


def _slice(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    """Picked items are in range."""
    if all(tf.get_static_value(one) is not None for one in op.inputs[1:]):
        return []
    picked = op.get_attr("shrink_axis_mask")
    return [_within(inputs[1][i], inputs[0].shape[i]) for i in range(inputs[1].shape[0]) if picked >> i & 1]


def _divisor(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    known = tf.get_static_value(op.inputs[1])
    if inputs[1].dtype.is_floating or (known is not None and (known > 0).all()):
        return []
    return [tf.reduce_all(inputs[1] > 0)]


def _cast(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    """Numbers that an int cannot hold become others."""
    given, target = inputs[0], outputs[0].dtype
    if not given.dtype.is_floating or not target.is_integer:
        return []
    most = tf.cast(2.0 ** (8 * target.size - 2), given.dtype) if target.size > 2 else tf.cast(target.max, given.dtype)
    least = tf.cast(max(target.min, -(2 ** 62)), given.dtype)
    return [tf.reduce_all((given <= most) & (given >= least))]


def _power(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [] if inputs[1].dtype.is_floating else [tf.reduce_all(inputs[1] >= 0)]


def _operands_no_nan(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return _no_nan(*inputs)


def _result_no_nan(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return _no_nan(*outputs)


def _finite_gradient(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    """A kernel multiplies it by zero."""
    return [tf.reduce_all(tf.math.is_finite(inputs[0])), *_no_nan(inputs[1])]


def _top(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    """To XLA, -0.0 is less than 0.0."""
    given = inputs[0]
    return [*_no_nan(given), ~tf.reduce_any(tf.math.reciprocal(given) == -float("inf"))] if given.dtype.is_floating else []


def _segments(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [tf.reduce_all(inputs[1] < tf.cast(inputs[2], inputs[1].dtype))]


def _asserted(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [inputs[0]]


def _item(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [_within(inputs[1], tf.raw_ops.TensorListLength(input_handle=inputs[0]))]


def _popped(op: tf.Operation, inputs: Tensors, outputs: Tensors) -> list[tf.Tensor]:
    return [tf.raw_ops.TensorListLength(input_handle=inputs[0]) > 0]


CHECKS: dict[str, Check] = {
    "Assert": _asserted, "Cast": _cast, "GatherNd": _gather_nd, "GatherV2": _gather, "Pow": _power, "ResourceGather": _gather_rows,
    "SparseSoftmaxCrossEntropyWithLogits": _labels, "StridedSlice": _slice, "TensorListGetItem": _item, "TensorListSetItem": _item,
    "TensorListPopBack": _popped, "TopKV2": _top, "UnsortedSegmentSum": _segments,
    **dict.fromkeys(("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"), _divisor),
    **dict.fromkeys(("ArgMax", "ArgMin", "ClipByValue", "EluGrad", "Max", "Maximum", "Min", "Minimum", "Relu6"), _operands_no_nan),
    **dict.fromkeys(("ReciprocalGrad", "RsqrtGrad", "Softmax", "SqrtGrad"), _result_no_nan),
    **dict.fromkeys(("LeakyReluGrad", "Relu6Grad", "ReluGrad"), _finite_gradient),
}
