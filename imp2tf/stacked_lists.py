"""Lists of run-time length given to TensorFlow functions that take a list or the tensor of its elements alike."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf.arithmetic import run_operation
from imp2tf.errors import Contents, fall_back
from imp2tf.growable import compact, growable_length
from imp2tf.purity import (
    library_name,
)
from imp2tf.python_numbers import number_tensor
from imp2tf.region import leave_to_python_if, stop_if
from imp2tf.specs import Dense, Number
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import Growable, PyNumber

__all__ = ["StackedList", "as_stacked", "call_with_list"]


def as_stacked(found: Growable, inside: bool) -> Any:
    """A list of run-time length, for functions that take a list or the tensor of its elements alike."""
    element = found.element
    if not isinstance(element, (Dense, Number)):
        fall_back(Contents, "TensorFlow is given a list of run-time length whose elements are no tensors of one dtype")
    if inside:
        fall_back(Contents, "TensorFlow is given a list of run-time length inside another container")
    return StackedList(found)


class StackedList:
    """Marks a growable list among the lowered arguments; only functions that know it may take it."""

    def __init__(self, found: Growable) -> None:
        self.found = found

    def stack(self, dtype_of_numbers: tf.DType | None = None) -> tf.Tensor:
        """All elements as one tensor; Python numbers get the dtype that TensorFlow gives them, unless another is wanted."""
        (dtype, shape), = self.found.element.components()
        known = shape.as_list() if shape.is_fully_defined() else -1
        handle = compact(self.found).handles[1]
        stacked = tf.raw_ops.TensorListStack(input_handle=handle, element_shape=known, element_dtype=dtype)
        if shape.rank is not None:
            stacked.set_shape([None, *shape.as_list()])
        element = self.found.element
        return number_tensor(PyNumber(element.kind, stacked), dtype_of_numbers) if isinstance(element, Number) else stacked


TAKES_STACKED = (tf.convert_to_tensor, tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod, tf.cast, tf.shape,
                 tf.reduce_any, tf.reduce_all, tf.identity, tf.sort, tf.argmax, tf.argmin, tf.cumsum, tf.reverse, tf.squeeze, tf.size,
                 tf.one_hot, tf.reshape, tf.expand_dims, tf.abs, tf.square, tf.sqrt, tf.exp, tf.unique, tf.norm, tf.nn.softmax,
                 tf.math.reduce_std, tf.math.reduce_variance, tf.math.log, tf.math.bincount, tf.gather, tf.boolean_mask,
                 tf.clip_by_value, tf.argsort, tf.tile, tf.strings.reduce_join)


def call_with_list(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a TensorFlow function on a list of run-time length, by the tensor of its elements."""
    if function is tf.gather and len(args) > 1 and isinstance(args[1], StackedList) and not isinstance(args[0], StackedList):
        leave_to_python_if(tf.equal(growable_length(args[1].found), 0), "tf.gather of a list of indices that is empty at run time")
        return run_operation(function, args[0], args[1].stack(), *args[2:], **kwargs)
    grown = next((value for value in args[:1] if isinstance(value, StackedList)), None)
    rest = (*args[1:], *kwargs.values())
    if grown is None or any(isinstance(value, StackedList) for value in rest):
        fall_back(Contents, f"{library_name(function)} is given a list of run-time length")
    if not _is_same_empty(function, grown, args[1:], kwargs):
        _stop_if_refused_empty(function, grown, args[1:], kwargs)
    if function is tf.ragged.stack and not rest:
        return _ragged(grown)
    if function is tf.concat and rest:
        return run_operation(_concat, grown, *args[1:], **kwargs)
    if function is tf.convert_to_tensor:
        return run_operation(grown.stack, *args[1:2], **{"dtype_of_numbers": kwargs["dtype"]} if "dtype" in kwargs else {})
    stacked = grown.stack()
    if function is tf.add_n and not rest:
        return tf.reduce_sum(stacked, 0)
    if function is tf.stack:
        return _stack(stacked, *args[1:], **kwargs)
    if function in TAKES_STACKED:
        return run_operation(function, stacked, *args[1:], **kwargs)
    return fall_back(Contents, f"{library_name(function)} is given a list of run-time length")


def _stack(stacked: tf.Tensor, axis: int = 0, name: str | None = None) -> tf.Tensor:
    del name
    if axis == 0:
        return stacked
    rank = stacked.shape.rank
    if rank is None:
        fall_back(Contents, "tf.stack of a list of run-time length along another axis")
    moved = list(range(1, rank))
    moved.insert(axis if axis >= 0 else axis + rank, 0)
    return tf.transpose(stacked, moved)


def _concat(grown: StackedList, axis: Any, name: str | None = None) -> tf.Tensor:
    """``tf.concat`` along the first axis, of elements that may differ in their size there."""
    del name
    (dtype, shape), = grown.found.element.components()
    if shape.rank in (None, 0) or axis not in (0, -shape.rank) or not shape[1:].is_fully_defined():
        fall_back(Contents, "tf.concat of a list of run-time length, of elements of unknown shape or along another axis")
    elements = [-1, *shape[1:].as_list()]
    joined = tf.raw_ops.TensorListConcatV2(
        input_handle=compact(grown.found).handles[1], element_shape=elements, leading_dims=tf.constant([], tf.int64), element_dtype=dtype)
    tensor = joined.tensor
    tensor.set_shape([None, *shape[1:].as_list()])
    return tensor


def _ragged(grown: StackedList) -> Any:
    """``tf.ragged.stack`` of vectors that may differ in length."""
    (dtype, shape), = grown.found.element.components()
    if shape.rank != 1:
        fall_back(Contents, "tf.ragged.stack of a list of run-time length whose elements are no vectors")
    with tf.init_scope():
        like = tf.ragged.stack([tf.zeros([1], dtype) if dtype != tf.string else tf.constant([""])] * 2)
    handle = compact(grown.found).handles[1]
    joined = tf.raw_ops.TensorListConcatV2(
        input_handle=handle, element_shape=[-1], leading_dims=tf.constant([], tf.int64), element_dtype=dtype)
    joined.tensor.set_shape([None])
    splits = tf.cast(tf.concat([[0], tf.cumsum(joined.lengths)], 0), like.row_splits.dtype)
    return tf.RaggedTensor.from_row_splits(joined.tensor, splits, validate=False)


def _is_same_empty(function: Any, grown: StackedList, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the function gives for no elements what it gives for the empty list, which TensorFlow takes for a vector of float32."""
    (dtype, shape), = grown.found.element.components()
    runtime = any(map(is_symbolic_tensor, tf.nest.flatten((args, kwargs))))
    if dtype != tf.float32 or not shape.is_fully_defined() or function not in TAKES_STACKED or runtime:
        return False
    with tf.init_scope():
        try:
            of_list, of_none = function([], *args, **kwargs), function(tf.zeros([0, *shape.as_list()]), *args, **kwargs)
        except (ValueError, TypeError, IndexError, tf.errors.OpError):
            return False
        same = of_list.dtype == of_none.dtype and of_list.shape == of_none.shape
        return bool(same and of_list.numpy().tobytes() == of_none.numpy().tobytes())


def _stop_if_refused_empty(function: Any, grown: StackedList, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Where the list is empty, the run raises what the function raises eagerly on an empty list."""
    with tf.init_scope():
        try:
            function([], *args, **kwargs)
        except (ValueError, TypeError, IndexError, tf.errors.OpError) as error:
            refusal: Exception | None = error
        else:
            refusal = None
    empty = tf.equal(growable_length(grown.found), 0)
    if refusal is not None:
        stop_if(empty, refusal)
    elif function not in (tf.stack, tf.add_n):
        leave_to_python_if(empty, f"{library_name(function)} of a list that is empty at run time")
