"""The items of a traced tf.TensorArray: what is known of them, and the TensorLists that hold them and their status."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.arrays import UNWRITTEN, WRITTEN, Dims, Elements, Settings, TracedArray, dims_of
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.join import relaxed_shape
from imp2tf.lowering import lowered
from imp2tf.python_numbers import as_number, as_tensor, number_tensor
from imp2tf.refusals import Place, Truth, eager_error
from imp2tf.stacked_lists import StackedList
from imp2tf.values import PyNumber, Union

__all__ = [
    "after_write", "ask", "ask_scalars", "ask_twice", "common_shape", "is_blank", "known_dims", "listed", "marked", "position",
    "put_element", "reserved", "shaped", "size_of", "status_at", "statuses", "tensor_of", "untouched", "zeros_of",
]


def position(index: Any) -> Place:
    """An index or size, as a Python int where it is static."""
    if isinstance(index, PyNumber) and index.kind != "float":
        index = as_number(index, "int")
    if isinstance(index, (int, np.integer)):
        return int(index)
    if not isinstance(index, (tf.Tensor, tf.Variable)) or index.shape.rank != 0 or not index.dtype.is_integer:
        return fall_back(NeedsValue, f"a TensorArray is given {index!r} as an index or size")
    index = tf.convert_to_tensor(index)
    static = tf.get_static_value(index)
    if static is not None:
        return int(static)
    low, high = tf.int32.min, tf.int32.max
    return index if index.dtype == tf.int32 else tf.cast(tf.clip_by_value(index, low, high), tf.int32)


def size_of(array: TracedArray) -> Place:
    """The number of elements."""
    counts = {one.count for one in array.alternatives}
    known = counts.pop() if len(counts) == 1 else None
    return known if known is not None else tf.raw_ops.TensorListLength(input_handle=array._items)


def is_blank(array: TracedArray) -> Truth:
    """Whether nothing was written to an array that infers shapes."""
    if array.settings.keeps_status:
        return False
    blank = [one.blank for one in array.alternatives]
    if isinstance(array._elements, Union) and len(set(blank)) == 2:
        return tf.gather(tf.constant(blank), array._elements.tag)
    return blank[0]


def common_shape(array: TracedArray) -> tf.TensorShape:
    """The static shape that covers all elements that may be there."""
    keeps = array.settings.keeps_status
    shapes = [one.shape for one in array.alternatives if (one.loaded if keeps else not one.blank)]
    return functools.reduce(relaxed_shape, shapes) if shapes else tf.TensorShape(None)


def known_dims(shape: tf.TensorShape) -> Any:
    """A shape as TensorList operations take it."""
    return shape.as_list() if shape.is_fully_defined() else -1


# ------------------------------------------------------------------------------------------------ writing
def tensor_of(value: Any, dtype: tf.DType | None = None) -> tf.Tensor:
    """A value as the tensor that eager makes of it; one of `dtype` if there is a choice."""
    plain = lowered(value)
    if isinstance(plain, StackedList):
        return plain.stack()
    if isinstance(plain, PyNumber):
        return as_tensor(plain) if dtype is None or not _takes(dtype, plain.kind) else number_tensor(plain, dtype)
    return run_operation(tf.convert_to_tensor, plain, dtype_hint=dtype)


def _takes(dtype: tf.DType, kind: str) -> bool:
    """Whether TensorFlow makes a tensor of `dtype` from a Python number of a kind."""
    if kind == "bool":
        return dtype == tf.bool
    return dtype.is_floating or dtype.is_complex or (kind == "int" and dtype.is_integer)


def put_element(array: TracedArray, place: Place, value: tf.Tensor) -> None:
    """Write a tensor at an index that is in range."""
    settings = array.settings
    if value.dtype != settings.dtype:
        raise_error(eager_error(ask, settings, "write", 1, 0, zeros_of([], value.dtype)))
    elements = after_write(array, value.shape, place)
    put = tf.raw_ops.TensorListSetItem
    array.put(elements=elements, items=put(
        input_handle=array._items, index=place, item=value, resize_if_index_out_of_bounds=settings.dynamic))
    if settings.keeps_status or array._was_read is not False:
        array.put(status=marked(array, place, WRITTEN))


def after_write(array: TracedArray, shape: tf.TensorShape, place: Place | None) -> Elements | Union:
    """What is known of the elements when one of a shape was written; refuses the shape as eager does."""
    written = [_written(array.settings, one, shape, place) for one in array.alternatives]
    if all(one is None for one in written):
        base = array.alternatives[0]
        settings = shaped(array.settings, array.settings.declared if base.loaded else base.dims)
        raise_error(eager_error(ask, settings, "write", 1, 0, zeros_of(shape, array.dtype)))
    if any(one is None for one in written):
        fall_back(NeedsValue, "a TensorArray of one of several element shapes is written")
    found = array._elements
    return Union(found.tag, written) if isinstance(found, Union) and len(set(written)) > 1 else written[0]  # type: ignore[return-value]


def _written(settings: Settings, elements: Elements, shape: tf.TensorShape, place: Place | None) -> Elements | None:
    """The elements after a write; None if the shape is refused."""
    count = elements.count
    if settings.dynamic and count is not None:
        count = max(count, place + 1) if isinstance(place, int) else None
    expected = settings.shape if elements.loaded or not settings.infer else elements.shape
    if not expected.is_compatible_with(shape):
        return None
    if not settings.infer:
        if not shape.is_fully_defined() and expected.rank is not None:
            fall_back(NeedsValue, "the shape of an element is checked that only the run knows")
        if not settings.keeps_status:
            return Elements(settings.declared, count)
        return Elements(dims_of(relaxed_shape(elements.shape, shape) if elements.loaded else shape), count, loaded=True)
    if not shape.is_fully_defined() or (elements.loaded and elements.dims != dims_of(shape)):
        fall_back(NeedsValue, "a TensorArray infers the shape of its elements from one whose shape only the run knows")
    return Elements(dims_of(shape), count)


# ------------------------------------------------------------------------------------------------ TensorLists
def reserved(dtype: tf.DType, count: Place) -> tf.Tensor:
    """A list of so many elements that are not there yet."""
    return tf.raw_ops.TensorListReserve(element_shape=-1, num_elements=count, element_dtype=dtype)


def listed(values: tf.Tensor) -> tf.Tensor:
    """The list of a tensor's rows."""
    shape = values.shape[1:]
    dims = shape.as_list() if shape.is_fully_defined() else tf.shape(values)[1:]
    return tf.raw_ops.TensorListFromTensor(tensor=values, element_shape=tf.cast(dims, tf.int32))


def marked(array: TracedArray, place: Place, status: int) -> tf.Tensor:
    """The statuses with another one for an element."""
    return tf.raw_ops.TensorListSetItem(
        input_handle=array._status, index=place, item=tf.constant(status), resize_if_index_out_of_bounds=True)


def untouched() -> tf.Tensor:
    """Statuses of elements that were neither read nor written. The list is never empty, so that it can be asked anywhere."""
    return reserved(tf.int32, 1)


def status_at(array: TracedArray, place: Place) -> tf.Tensor:
    """The status of an element; those beyond the end of the list were never touched."""
    length = tf.raw_ops.TensorListLength(input_handle=array._status)
    inside = tf.minimum(place, length - 1)
    found = tf.raw_ops.TensorListGetItem(input_handle=array._status, index=inside, element_shape=[], element_dtype=tf.int32)
    return tf.where(tf.less(place, length), found, UNWRITTEN)


def statuses(array: TracedArray, size: Place) -> tf.Tensor:
    """The status of each element."""
    found = tf.raw_ops.TensorListStack(input_handle=array._status, element_shape=[], element_dtype=tf.int32)
    missing = tf.maximum(size - tf.size(found), 0)
    return tf.concat([found, tf.fill([missing], UNWRITTEN)], 0)[:size]


# ------------------------------------------------------------------------------------------------ what eager says
def ask(settings: Settings, name: str, size: Any, *args: Any) -> Any:
    """Call a method of an eager array of some size to which nothing was written."""
    return getattr(settings.empty(int(size)), name)(*args)


def ask_twice(settings: Settings, size: Any, index: Any) -> Any:
    """Read an element of an eager array twice."""
    array = shaped(settings, ()).empty(int(size))
    array.read(index)
    return array.read(index)


def ask_scalars(settings: Settings, size: Any) -> Any:
    """Concat the scalars of an eager array."""
    return shaped(settings, ()).empty(int(size)).concat()


def shaped(settings: Settings, dims: Dims) -> Settings:
    """The settings with another declared shape; where a dimension is not known, any will do."""
    return dataclasses.replace(settings, declared=None if dims is None else tuple(1 if dim is None else dim for dim in dims))


def zeros_of(shape: Any, dtype: tf.DType) -> tf.Tensor:
    """An eager tensor of a static shape."""
    with tf.init_scope():
        return tf.zeros([dim or 0 for dim in tf.TensorShape(shape)], dtype)
