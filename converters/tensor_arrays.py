"""``tf.TensorArray`` as it is eagerly: an object that writes change.

    ta.write(i, v)    -->   `ta` itself, with another TensorList; branches and loops carry that like an attribute
    ta.stack()        -->   one tensor of all elements, with zeros where eager gives zeros

What eager refuses is refused by the run with eager's own error: an eager array of the same kind is asked.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.array_items import (
    after_write,
    ask,
    ask_scalars,
    ask_twice,
    common_shape,
    is_blank,
    known_dims,
    listed,
    marked,
    position,
    put_element,
    reserved,
    shaped,
    size_of,
    status_at,
    statuses,
    tensor_of,
    untouched,
    zeros_of,
)
from imp2tf.arrays import CLEARED, UNWRITTEN, WRITTEN, Dims, Elements, Settings, TracedArray, dims_of
from imp2tf.calls import callback, replace_call
from imp2tf.effects import has_effects_so_far
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.foreign import call_foreign
from imp2tf.lowering import lowered
from imp2tf.refusals import Place, eager_error, either, equal, exceeds, not_equal, outside, refuse
from imp2tf.region import leave_to_python_if
from imp2tf.session import current
from imp2tf.values import Union, is_runtime

MAX_UNROLLED = 64


def method(run: Callable[..., Any]) -> Callable[..., Any]:
    """Let `run` stand for the method of tf.TensorArray that has its name."""
    original = getattr(tf.TensorArray, run.__name__)

    @replace_call(original)
    def replaced(array: tf.TensorArray, *args: Any, **kwargs: Any) -> Any:
        if isinstance(array, TracedArray):
            return run(array, *args, **kwargs)
        if current().embedded:
            return call_foreign(types.MethodType(original, array), args, kwargs, callback)
        return fall_back(ForeignCall, "a TensorArray that was made outside of the call is used")

    return run


@replace_call(tf.TensorArray)
def tensor_array(dtype: Any, size: Any = None, dynamic_size: Any = None, clear_after_read: Any = None, tensor_array_name: Any = None,
                 handle: Any = None, flow: Any = None, infer_shape: Any = True, element_shape: Any = None,
                 colocate_with_first_write_call: Any = True, name: Any = None) -> TracedArray:
    """``tf.TensorArray(...)``."""
    del tensor_array_name, flow, colocate_with_first_write_call, name
    if handle is not None or size is None:
        raise_error(eager_error(tf.TensorArray, dtype, size, handle=handle))
    flags = (dynamic_size, clear_after_read, infer_shape)
    if any(map(is_runtime, (*flags, dtype))) or is_runtime(element_shape):
        fall_back(NeedsValue, "the settings of a TensorArray")
    kind = run_operation(tf.as_dtype, dtype).base_dtype
    declared = dims_of(run_operation(tf.TensorShape, lowered(element_shape)))
    settings = Settings(kind, bool(dynamic_size), clear_after_read is None or bool(clear_after_read), bool(infer_shape), declared)
    count = position(size)
    count = max(count, 0) if isinstance(count, int) else tf.maximum(count, 0)
    elements = Elements(declared, count if isinstance(count, int) else None)
    status = untouched() if settings.clear or settings.keeps_status else None
    made: TracedArray = current().born(TracedArray(settings, elements, reserved(kind, count), status))
    return made


replace_call(TracedArray.mark_used)(TracedArray.mark_used)


# ------------------------------------------------------------------------------------------------ elements
@method
def write(array: TracedArray, index: Any, value: Any, name: Any = None) -> TracedArray:
    """``array.write(index, value)``."""
    del name
    settings, place, size = array.settings, position(index), size_of(array)
    refuse(outside(place, size, settings.dynamic), ask, settings, "write", size, place, 0)
    put_element(array, place, tensor_of(value, settings.dtype))
    return array


@method
def read(array: TracedArray, index: Any, name: Any = None) -> tf.Tensor:
    """``array.read(index)``."""
    del name
    settings, place, size = array.settings, position(index), size_of(array)
    missing = either(outside(place, size), is_blank(array))
    refuse(missing, ask, settings, "read", size, place)
    _refuse_missing(array, place, size)
    shape = common_shape(array)
    value = tf.raw_ops.TensorListGetItem(
        input_handle=array._items, index=place, element_shape=known_dims(shape), element_dtype=settings.dtype)
    value.set_shape(shape)
    if settings.clear:
        array.put(status=marked(array, place, CLEARED), was_read=True)
    return value


def _refuse_missing(array: TracedArray, place: Place, size: Place) -> None:
    """Refuse to read an element that is not there, or no more."""
    if array._was_read is False and not array.settings.keeps_status:
        return
    status = status_at(array, place)
    if array.settings.keeps_status:
        refuse(tf.equal(status, UNWRITTEN), ask, array.settings, "read", size, place)
    if array._was_read is not False:
        refuse(tf.equal(status, CLEARED), ask_twice, array.settings, size, place)


# ------------------------------------------------------------------------------------------------ all elements
@method
def stack(array: TracedArray, name: Any = None) -> tf.Tensor:
    """``array.stack()``."""
    del name
    return whole(array, "stack")


def whole(array: TracedArray, asked: str) -> tf.Tensor:
    """All elements as one tensor. Missing ones are zeros, as in eager."""
    elements = array._elements
    if not isinstance(elements, Union) or is_blank(array) is False:
        return _whole(array, asked)
    if not has_effects_so_far(current()):
        _settle_blank(array, elements, asked)
        return _whole(array, asked)

    def whole_of(one: Elements) -> tf.Tensor:
        array.put(elements=one)
        return _whole(array, asked)

    return over(elements, whole_of)


def _whole(array: TracedArray, asked: str) -> tf.Tensor:
    settings, size = array.settings, size_of(array)
    if is_blank(array):
        refuse(not_equal(size, 0), ask, settings, asked, size)
        return tf.zeros([0], settings.dtype)
    if isinstance(size, int) and not size and all(one.loaded for one in array.alternatives):
        return tf.zeros([0], settings.dtype)
    _refuse_absent(array, asked, size)
    shape = common_shape(array)
    value = tf.raw_ops.TensorListStack(
        input_handle=array._items, element_shape=known_dims(shape), element_dtype=settings.dtype,
        num_elements=size if isinstance(size, int) else -1)
    value.set_shape(tf.TensorShape([size if isinstance(size, int) else None]).concatenate(shape))
    return value if array._was_read is False or settings.keeps_status else _with_cleared(array, value, size)


def _settle_blank(array: TracedArray, elements: Union, asked: str) -> None:
    """Go on with the alternatives in which something was written; an empty tensor, of another shape, is left to Python."""
    blank, size = is_blank(array), size_of(array)
    if isinstance(size, int) and size:
        refuse(blank, ask, array.settings, asked, size)
    else:
        leave_to_python_if(blank, "a TensorArray to which nothing was written is stacked")
    rest = [one for one in elements.alternatives if not one.blank]
    moved = [0 if one.blank else rest.index(one) for one in elements.alternatives]
    array.put(elements=rest[0] if len(set(rest)) == 1 else Union(tf.gather(tf.constant(moved), elements.tag), rest))


def _refuse_absent(array: TracedArray, asked: str, size: Place) -> None:
    """Refuse to give all elements where eager would have to make one of unknown shape."""
    settings = array.settings
    loaded = any(one.loaded for one in array.alternatives)
    if settings.keeps_status:
        absent = tf.reduce_any(tf.not_equal(statuses(array, size), WRITTEN))
        refuse(absent, ask, settings, asked, size)
    elif loaded and array._was_read is not False:
        refuse(tf.reduce_any(tf.equal(statuses(array, size), CLEARED)), ask, settings, asked, size)
    if loaded and not settings.shape.is_fully_defined() and not (isinstance(size, int) and size):
        leave_to_python_if(tf.equal(size, 0), "an empty TensorArray is stacked")


def _with_cleared(array: TracedArray, value: tf.Tensor, size: Place) -> tf.Tensor:
    """Elements that were cleared by reading are zeros from now on."""
    cleared = tf.equal(statuses(array, size), CLEARED)
    filled = tf.where(tf.reshape(cleared, [-1] + [1] * (value.shape.rank - 1)), tf.zeros_like(value), value)
    array.put(items=listed(filled), status=untouched(), was_read=False)
    return filled


@method
def concat(array: TracedArray, name: Any = None) -> tf.Tensor:
    """``array.concat()``."""
    del name
    settings, size = array.settings, size_of(array)
    refuse(equal(size, 0), ask, settings, "concat", size)
    shape = common_shape(array)
    if shape.rank == 0 or (shape.is_fully_defined() and not settings.keeps_status):
        value = whole(array, "concat")
        return tf.reshape(value, [-1, *shape[1:].as_list()]) if shape.rank else _only_scalar(settings, value, size)
    if is_blank(array) is not False or shape.rank is None:
        fall_back(NeedsValue, "concat of a TensorArray whose elements are of unknown rank")
    _refuse_absent(array, "concat", size)
    value, _ = tf.raw_ops.TensorListConcatV2(
        input_handle=array._items, element_shape=[-1, *(-1 if dim is None else dim for dim in shape[1:])],
        leading_dims=tf.zeros([0], tf.int64), element_dtype=settings.dtype)
    value.set_shape(tf.TensorShape([None]).concatenate(shape[1:]))
    return value


def _only_scalar(settings: Settings, value: tf.Tensor, size: Place) -> tf.Tensor:
    """Scalars cannot be concatenated, but for a single one."""
    refuse(not_equal(size, 1), ask_scalars, settings, size)
    return tf.reshape(value, [])


@method
def gather(array: TracedArray, indices: Any, name: Any = None) -> tf.Tensor:
    """``array.gather(indices)``."""
    del name
    places = tf.cast(tensor_of(indices), tf.int32)
    if array._was_read is not False or places.shape.rank != 1 or places.shape[0] == 0:
        fall_back(NeedsValue, "gather of a TensorArray after reading, or of no elements")
    if places.shape[0] is None:
        leave_to_python_if(tf.equal(tf.size(places), 0), "gather of no elements of a TensorArray")
    settings, size = array.settings, size_of(array)
    refuse(is_blank(array), ask, settings, "gather", size, places)
    counted = tf.where(places < 0, places + size, places)
    wrong = tf.reduce_any(tf.logical_or(counted < 0, counted >= size))
    refuse(wrong, ask, shaped(settings, dims_of(common_shape(array))), "gather", size, places)
    items = whole(array, "stack")
    return tf.gather(items, counted)


@method
def size(array: TracedArray, name: Any = None) -> tf.Tensor:
    """``array.size()``."""
    del name
    return tf.convert_to_tensor(size_of(array), tf.int32)


# ------------------------------------------------------------------------------------------------ many writes
@method
def scatter(array: TracedArray, indices: Any, value: Any, name: Any = None) -> TracedArray:
    """``array.scatter(indices, value)``."""
    del name
    places = tf.cast(tensor_of(indices), tf.int32)
    values = tensor_of(value)
    if places.shape.rank != 1 or values.shape.rank in (None, 0):
        fall_back(NeedsValue, "scatter into a TensorArray by other than a vector of indices")
    static = tf.get_static_value(places)
    if static is not None and len(static) <= MAX_UNROLLED and values.shape[0] is not None:
        for place, row in zip(static.tolist(), tf.unstack(values)):
            write(array, place, row)
        return array
    _scatter(array, places, values)
    return array


def _scatter(array: TracedArray, places: tf.Tensor, values: tf.Tensor) -> None:
    settings, size = array.settings, size_of(array)
    if places.shape[0] is None or places.shape[0] != values.shape[0] or values.dtype != settings.dtype:
        fall_back(NeedsValue, "scatter into a TensorArray where the numbers of indices and values may differ")
    wrong = tf.reduce_any(places < 0 if settings.dynamic else tf.logical_or(places < 0, places >= size))
    refuse(wrong, ask, settings, "scatter", size, places, values)
    elements = after_write(array, values.shape[1:], None)
    put = tf.raw_ops.TensorListScatterIntoExistingList
    array.put(elements=elements, items=put(input_handle=array._items, tensor=values, indices=places))
    if settings.keeps_status or array._was_read is not False:
        array.put(status=put(input_handle=array._status, tensor=tf.fill(tf.shape(places), WRITTEN), indices=places))


@method
def unstack(array: TracedArray, value: Any, name: Any = None) -> TracedArray:
    """``array.unstack(value)``."""
    del name
    values, settings, size = tensor_of(value), array.settings, size_of(array)
    if values.shape.rank is None or values.dtype != settings.dtype:
        fall_back(NeedsValue, "a tensor of unknown rank or another dtype is unstacked into a TensorArray")
    if values.shape.rank == 0:
        run_operation(tf.unstack, values)
    count: Place = values.shape[0] if values.shape[0] is not None else tf.shape(values)[0]
    if not settings.dynamic:
        refuse(exceeds(count, size), ask, settings, "unstack", size, values)
    load(array, listed(values), dims_of(values.shape[1:]), count)
    return array


def load(array: TracedArray, items: tf.Tensor, dims: Dims, count: Place) -> None:
    """Replace all elements."""
    settings = array.settings
    closed = settings.shape.is_fully_defined()
    if closed and dims != settings.declared:
        fall_back(NeedsValue, "a TensorArray gets elements of another shape than it declares")
    array.put(elements=Elements(dims, count if isinstance(count, int) else None, loaded=not closed), items=items, was_read=False)
    if settings.keeps_status:
        array.put(status=listed(tf.fill([count], WRITTEN)))
    elif settings.clear:
        array.put(status=untouched())


@method
def split(array: TracedArray, value: Any, lengths: Any, name: Any = None) -> TracedArray:
    """``array.split(value, lengths)``."""
    del name
    settings, size = array.settings, size_of(array)
    values = tensor_of(value, settings.dtype)
    parts = tf.get_static_value(tensor_of(lengths))
    if parts is None or values.shape.rank is None or not values.shape[:1].is_fully_defined() or values.dtype != settings.dtype:
        fall_back(NeedsValue, "split into a TensorArray by lengths that only the run knows")
    if parts.ndim != 1 or values.shape.rank == 0 or parts.sum() != values.shape[0]:
        raise_error(eager_error(ask, settings, "split", 0, zeros_of(values.shape, values.dtype), parts))
    if not settings.dynamic:
        refuse(not_equal(size, len(parts)), ask, settings, "split", size, values, parts)
    items = tf.raw_ops.TensorListSplit(tensor=values, element_shape=-1, lengths=tf.constant(parts, tf.int64))
    first = int(parts[0]) if len(set(parts.tolist())) == 1 else None
    load(array, items, dims_of(tf.TensorShape([first]).concatenate(values.shape[1:])), len(parts))
    return array


@method
def identity(array: TracedArray) -> TracedArray:
    """``array.identity()``."""
    return array


@method
def close(array: TracedArray, name: Any = None) -> None:
    """``array.close()``: no element is left."""
    del name
    settings = array.settings
    if settings.dynamic and array._was_read is not False:
        fall_back(NeedsValue, "a TensorArray is closed after reading")
    emptied = {Elements(settings.declared if one.loaded else one.dims, 0) for one in array.alternatives}
    if len(emptied) > 1:
        fall_back(NeedsValue, "a TensorArray is closed that may have been written")
    array.put(elements=emptied.pop(), items=reserved(settings.dtype, 0))
    if array._status is not None:
        array.put(status=untouched())
