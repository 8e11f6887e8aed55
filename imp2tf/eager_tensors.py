"""Eager tensors of numbers and arrays, made without running an operation.

TensorFlow makes a tensor of an array by an operation, which takes longer than most things that a call does beside its graph. Memory
that is passed on by DLPack becomes a tensor at once. It has to be aligned as TensorFlow's own is, and nobody else may write to it.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import eager_array, eager_scalar, from_dlpack, made_on_host

__all__ = ["scalar", "tensor_of"]

ALIGNMENT = 64  # in bytes: TensorFlow's kernels rely on no larger one
KINDS = frozenset("biufc")  # the kinds of dtypes that NumPy, DLPack and TensorFlow share; TensorFlow's own dtypes are of kind "V"
MOST_BYTES = 1 << 12  # a large array takes as long to copy as an operation to run
SLOTS, SMALL = 16, 4 * ALIGNMENT  # small tensors share a piece of memory, which is kept as long as one of them is

Slot = tuple[Any, int]  # a piece of memory, and an offset in it


def tensor_of(value: Any) -> tf.Tensor:
    """A tensor of what an array, or scalar, of NumPy holds by now."""
    dtype, size = value.dtype, value.nbytes
    if dtype.kind not in KINDS or size > MOST_BYTES or not made_on_host():
        return eager_array(value)
    return _passed_on(value, dtype, value.shape, size)


def scalar(value: float, dtype: tf.DType) -> tf.Tensor:
    """``tf.constant`` of a Python number, without its checks."""
    found = _NUMPY_DTYPES.get(dtype)
    if found is None or not made_on_host():
        return eager_scalar(value, dtype)
    return _passed_on(value, found, (), 8)


def _passed_on(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...], size: int) -> tf.Tensor:
    memory, start = _small_slot(size) if 0 < size <= SMALL else _slots(size, 1)[0]
    array: Any = np.ndarray(shape, dtype, memory, start)
    array[...] = value
    return from_dlpack(array.__dlpack__())


def _small_slot(size: int) -> Slot:
    free = _free[(size - 1) // ALIGNMENT]
    try:
        return free.pop()
    except IndexError:  # also where another thread was faster
        first, *others = _slots(size, SLOTS)
        free.extend(others)
        return first


def _slots(size: int, count: int) -> list[Slot]:
    """Aligned places in a new piece of memory."""
    stride = -(-size // ALIGNMENT) * ALIGNMENT
    memory = np.empty(stride * count + ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    return [(memory, start + stride * number) for number in range(count)]


_free: list[list[Slot]] = [[] for _ in range(SMALL // ALIGNMENT)]
_NUMPY_DTYPES = {dtype: np.dtype(dtype.as_numpy_dtype) for dtype in (tf.bool, tf.int32, tf.int64, tf.float64)}
