"""``tf.TensorArray`` as it is eagerly: an object that writes change.

    ta.write(i, v)    -->   `ta` itself, with another TensorList; branches and loops carry that like an attribute
    ta.stack()        -->   one tensor of all elements, with zeros where eager gives zeros

What eager refuses is refused by the run with eager's own error: an eager array of the same kind is asked.
"""
from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over, raise_error
from imp2tf.arithmetic import as_number, as_tensor, number_tensor, run_operation
from imp2tf.arrays import CLEARED, UNWRITTEN, WRITTEN, Dims, Elements, Settings, TracedArray, dims_of
from imp2tf.calls import callback, replace_call
from imp2tf.effects import changed_something
from imp2tf.errors import ForeignCall, GraphRefused, NeedsValue, fall_back
from imp2tf.foreign import call_foreign, lowered
from imp2tf.join import relaxed_shape
from imp2tf.region import stop_if
from imp2tf.session import current, suspended
from imp2tf.values import PyNumber, Union, is_runtime

Place = int | tf.Tensor  # an index or a size: a Python int, or an int32 scalar that only the run knows
Truth = bool | tf.Tensor
MAX_UNROLLED = 64
OUT_OF_RANGE = tf.errors.OutOfRangeError(None, None, "index out of range")


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
    status = reserved(tf.int32, 0) if settings.clear or settings.keeps_status else None
    made: TracedArray = current().born(TracedArray(settings, elements, reserved(kind, count), status))
    return made


replace_call(TracedArray.mark_used)(TracedArray.mark_used)


# ------------------------------------------------------------------------------------------------ elements
@method
def write(array: TracedArray, index: Any, value: Any, name: Any = None) -> TracedArray:
    """``array.write(index, value)``."""
    del name
    settings, place, size = array.settings, position(index), size_of(array)
    refuse(outside(place, size, settings.dynamic), OUT_OF_RANGE, ask, settings, "write", size, place, 0)
    put_element(array, place, element(settings, value))
    return array


def put_element(array: TracedArray, place: Place, value: tf.Tensor) -> None:
    """Write a tensor at an index that is in range."""
    settings = array.settings
    if value.dtype != settings.dtype:
        raise_error(eager_error(ask, settings, "write", 1, 0, _zeros([], value.dtype)))
    elements = after_write(array, value.shape, place)
    put = tf.raw_ops.TensorListSetItem
    array.put(elements=elements, items=put(
        input_handle=array._items, index=place, item=value, resize_if_index_out_of_bounds=settings.dynamic))
    if settings.keeps_status or array._was_read is not False:
        array.put(status=marked(array, place, WRITTEN))


@method
def read(array: TracedArray, index: Any, name: Any = None) -> tf.Tensor:
    """``array.read(index)``."""
    del name
    settings, place, size = array.settings, position(index), size_of(array)
    missing = either(outside(place, size), is_blank(array))
    refuse(missing, OUT_OF_RANGE, ask, settings, "read", size, place)
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
    get = tf.raw_ops.TensorListGetItem
    status = get(input_handle=_long_status(array, size), index=place, element_shape=[], element_dtype=tf.int32)
    if array.settings.keeps_status:
        refuse(tf.equal(status, UNWRITTEN), OUT_OF_RANGE, ask, array.settings, "read", size, place)
    if array._was_read is not False:
        refuse(tf.equal(status, CLEARED), OUT_OF_RANGE, ask_twice, array.settings, size, place)


# ------------------------------------------------------------------------------------------------ all elements
@method
def stack(array: TracedArray, name: Any = None) -> tf.Tensor:
    """``array.stack()``."""
    del name
    return whole(array, "stack")


def whole(array: TracedArray, asked: str) -> tf.Tensor:
    """All elements as one tensor; what eager does not have by now it makes zeros."""
    elements = array._elements
    if isinstance(elements, Union) and is_blank(array) is not False:
        if changed_something(current()):
            return over(elements, lambda one: (array.put(elements=one), whole(array, asked))[1])
        _settle_blank(array, elements)
    settings, size = array.settings, size_of(array)
    if is_blank(array):
        refuse(not_equal(size, 0), OUT_OF_RANGE, ask, settings, asked, size)
        return tf.zeros([0], settings.dtype)
    _refuse_absent(array, asked, size)
    shape = common_shape(array)
    value = tf.raw_ops.TensorListStack(
        input_handle=array._items, element_shape=known_dims(shape), element_dtype=settings.dtype,
        num_elements=size if isinstance(size, int) else -1)
    value.set_shape(tf.TensorShape([size if isinstance(size, int) else None]).concatenate(shape))
    return value if array._was_read is False or settings.keeps_status else _with_cleared(array, value, size)


def _settle_blank(array: TracedArray, elements: Union) -> None:
    """Go on with the alternatives in which something was written; the other is left to Python, since its shape is another."""
    blank = [one.blank for one in elements.alternatives]
    stop_if(tf.gather(tf.constant(blank), elements.tag), GraphRefused("a TensorArray to which nothing was written is stacked"))
    rest = [one for one in elements.alternatives if not one.blank]
    moved = [0 if one.blank else rest.index(one) for one in elements.alternatives]
    array.put(elements=rest[0] if len(set(rest)) == 1 else Union(tf.gather(tf.constant(moved), elements.tag), rest))


def _refuse_absent(array: TracedArray, asked: str, size: Place) -> None:
    settings = array.settings
    loaded = any(one.loaded for one in array.alternatives)
    if settings.keeps_status:
        absent = tf.reduce_any(tf.not_equal(statuses(array, size), WRITTEN))
        refuse(absent, OUT_OF_RANGE, ask, settings, asked, size)
    elif loaded and array._was_read is not False:
        refuse(tf.reduce_any(tf.equal(statuses(array, size), CLEARED)), OUT_OF_RANGE, ask, settings, asked, size)
    if loaded and not settings.shape.is_fully_defined() and not (isinstance(size, int) and size):
        stop_if(tf.equal(size, 0), GraphRefused("an empty TensorArray is stacked"))


def _with_cleared(array: TracedArray, value: tf.Tensor, size: Place) -> tf.Tensor:
    """Elements that were cleared by reading are zeros from now on."""
    cleared = tf.equal(statuses(array, size), CLEARED)
    filled = tf.where(tf.reshape(cleared, [-1] + [1] * (value.shape.rank - 1)), tf.zeros_like(value), value)
    array.put(items=listed(filled), status=reserved(tf.int32, 0), was_read=False)
    return filled


@method
def concat(array: TracedArray, name: Any = None) -> tf.Tensor:
    """``array.concat()``."""
    del name
    settings, size = array.settings, size_of(array)
    refuse(equal(size, 0), OUT_OF_RANGE, ask, settings, "concat", size)
    shape = common_shape(array)
    if shape.rank == 0:
        raise_error(eager_error(ask, settings, "concat", 1) if settings.shape.rank == 0 else eager_error(_ask_scalars, settings))
    if shape.is_fully_defined():
        return tf.reshape(whole(array, "concat"), [-1, *shape[1:].as_list()])
    if is_blank(array) is not False and not settings.keeps_status:
        fall_back(NeedsValue, "concat of a TensorArray to which nothing may have been written")
    _refuse_absent(array, "concat", size)
    rest = shape[1:] if shape.rank is not None else shape
    value, _ = tf.raw_ops.TensorListConcatV2(
        input_handle=array._items, element_shape=-1 if rest.rank is None else [-1, *(-1 if dim is None else dim for dim in rest)],
        leading_dims=tf.zeros([0], tf.int64), element_dtype=settings.dtype)
    value.set_shape(tf.TensorShape([None]).concatenate(rest))
    return value


@method
def gather(array: TracedArray, indices: Any, name: Any = None) -> tf.Tensor:
    """``array.gather(indices)``."""
    del name
    places = tf.cast(run_operation(tf.convert_to_tensor, lowered(indices)), tf.int32)
    if array._was_read is not False or places.shape.rank != 1 or places.shape[0] == 0:
        fall_back(NeedsValue, "gather of a TensorArray after reading, or of no elements")
    if places.shape[0] is None:
        stop_if(tf.equal(tf.size(places), 0), GraphRefused("gather of no elements of a TensorArray"))
    items = whole(array, "gather")
    size = size_of(array)
    counted = tf.where(places < 0, places + size, places)
    wrong = tf.reduce_any(tf.logical_or(counted < 0, counted >= size))
    refuse(wrong, IndexError(), ask, shaped(array.settings, dims_of(items.shape[1:])), "gather", size, places)
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
    places = tf.cast(run_operation(tf.convert_to_tensor, lowered(indices)), tf.int32)
    values = run_operation(tf.convert_to_tensor, lowered(value))
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
    refuse(wrong, OUT_OF_RANGE, ask, settings, "scatter", size, places, values)
    elements = after_write(array, values.shape[1:], None)
    put = tf.raw_ops.TensorListScatterIntoExistingList
    array.put(elements=elements, items=put(input_handle=array._items, tensor=values, indices=places))
    if settings.keeps_status or array._was_read is not False:
        array.put(status=put(input_handle=array._status, tensor=tf.fill(tf.shape(places), WRITTEN), indices=places))


@method
def unstack(array: TracedArray, value: Any, name: Any = None) -> TracedArray:
    """``array.unstack(value)``."""
    del name
    values, settings, size = run_operation(tf.convert_to_tensor, lowered(value)), array.settings, size_of(array)
    if values.shape.rank is None or values.dtype != settings.dtype:
        fall_back(NeedsValue, "a tensor of unknown rank or another dtype is unstacked into a TensorArray")
    if values.shape.rank == 0:
        run_operation(tf.unstack, values)
    count: Place = values.shape[0] if values.shape[0] is not None else tf.shape(values)[0]
    if not settings.dynamic:
        refuse(exceeds(count, size), ValueError(), ask, settings, "unstack", size, values)
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
        array.put(status=reserved(tf.int32, 0))


@method
def split(array: TracedArray, value: Any, lengths: Any, name: Any = None) -> TracedArray:
    """``array.split(value, lengths)``."""
    del name
    settings, size = array.settings, size_of(array)
    values = element(settings, value)
    parts = tf.get_static_value(run_operation(tf.convert_to_tensor, lowered(lengths)))
    if parts is None or values.shape.rank is None or not values.shape[:1].is_fully_defined() or values.dtype != settings.dtype:
        fall_back(NeedsValue, "split into a TensorArray by lengths that only the run knows")
    if parts.ndim != 1 or values.shape.rank == 0 or parts.sum() != values.shape[0]:
        raise_error(eager_error(ask, settings, "split", 0, _zeros(values.shape, values.dtype), parts))
    if not settings.dynamic:
        refuse(not_equal(size, len(parts)), OUT_OF_RANGE, ask, settings, "split", size, values, parts)
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
        array.put(status=reserved(tf.int32, 0))


# ------------------------------------------------------------------------------------------------ what is known
def position(index: Any) -> Place:
    """An index or size, as a Python int where it is static."""
    if isinstance(index, PyNumber) and index.kind != "float":
        index = as_number(index, "int")
    if isinstance(index, (int, np.integer)):
        return int(index)
    if not isinstance(index, (tf.Tensor, tf.Variable, np.ndarray)) or index.shape.rank != 0 or not index.dtype.is_integer:
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
    shapes = [one.shape for one in array.alternatives if keeps or not one.blank]
    return functools.reduce(relaxed_shape, shapes) if shapes else tf.TensorShape(None)


def known_dims(shape: tf.TensorShape) -> Any:
    """A shape as TensorList operations take it."""
    return shape.as_list() if shape.is_fully_defined() else -1


def after_write(array: TracedArray, shape: tf.TensorShape, place: Place | None) -> Elements | Union:
    """What is known of the elements when one of a shape was written; refuses the shape as eager does."""
    written = [_written(array.settings, one, shape, place) for one in array.alternatives]
    if all(one is None for one in written):
        base = array.alternatives[0]
        settings = shaped(array.settings, array.settings.declared if base.loaded else base.dims)
        raise_error(eager_error(ask, settings, "write", 1, 0, _zeros(shape, array.dtype)))
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
        return Elements(settings.declared, count)
    if not shape.is_fully_defined() or (elements.loaded and elements.dims != dims_of(shape)):
        fall_back(NeedsValue, "a TensorArray infers the shape of its elements from one whose shape only the run knows")
    return Elements(dims_of(shape), count)


def element(settings: Settings, value: Any) -> tf.Tensor:
    """A value as the tensor that eager makes of it."""
    plain = lowered(value)
    if isinstance(plain, PyNumber):
        number = plain.kind == "bool" or (plain.kind == "float" and not settings.dtype.is_floating) or settings.dtype == tf.string
        return as_tensor(plain) if number else number_tensor(plain, settings.dtype)
    return run_operation(tf.convert_to_tensor, plain, dtype_hint=settings.dtype)


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


def _long_status(array: TracedArray, size: Place) -> tf.Tensor:
    array.put(status=tf.raw_ops.TensorListResize(input_handle=array._status, size=size))
    return array._status


def statuses(array: TracedArray, size: Place) -> tf.Tensor:
    """The status of each element."""
    return tf.raw_ops.TensorListStack(input_handle=_long_status(array, size), element_shape=[], element_dtype=tf.int32)


# ------------------------------------------------------------------------------------------------ refusals
def refuse(pred: Truth, error: BaseException, function: Callable[..., Any], *args: Any) -> None:
    """Where `pred` holds, raise what ``function(*args)`` raises eagerly: an error like `error`."""
    if pred is False:
        return
    if pred is True and not any(map(is_runtime, args)):
        raise_error(eager_error(function, *args))
    stop_if(tf.convert_to_tensor(pred), error, retry=(function, args, {}))


def eager_error(function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException:
    """What a call raises eagerly."""
    with tf.init_scope(), suspended():
        try:
            function(*args, **kwargs)
        except Exception as error:  # whatever eager says
            return error
    raise AssertionError(f"eager does not refuse {function}")


def ask(settings: Settings, name: str, size: Any, *args: Any) -> Any:
    """Call a method of an eager array of some size to which nothing was written."""
    return getattr(settings.empty(int(size)), name)(*args)


def ask_twice(settings: Settings, size: Any, index: Any) -> Any:
    """Read an element of an eager array twice."""
    array = shaped(settings, ()).empty(int(size))
    array.read(index)
    return array.read(index)


def _ask_scalars(settings: Settings) -> Any:
    return shaped(settings, ()).empty(1).concat()


def shaped(settings: Settings, dims: Dims) -> Settings:
    """The settings with another declared shape; where a dimension is not known, any will do."""
    return dataclasses.replace(settings, declared=None if dims is None else tuple(1 if dim is None else dim for dim in dims))


def _zeros(shape: Any, dtype: tf.DType) -> tf.Tensor:
    with tf.init_scope():
        return tf.zeros([dim or 0 for dim in tf.TensorShape(shape)], dtype)


def outside(place: Place, size: Place, growing: bool = False) -> Truth:
    """Whether an index is out of range."""
    if isinstance(place, int):
        return place < 0 or (not growing and exceeds(place + 1, size))
    return place < 0 if growing else tf.logical_or(place < 0, place >= size)


def exceeds(a: Place, b: Place) -> Truth:
    """``a > b``."""
    return a > b if isinstance(a, int) and isinstance(b, int) else tf.greater(a, b)


def equal(a: Place, b: int) -> Truth:
    """``a == b``."""
    return a == b if isinstance(a, int) else tf.equal(a, b)


def not_equal(a: Place, b: int) -> Truth:
    """``a != b``."""
    return a != b if isinstance(a, int) else tf.not_equal(a, b)


def either(a: Truth, b: Truth) -> Truth:
    """``a or b``."""
    if isinstance(a, bool) or isinstance(b, bool):
        first, second = (a, b) if isinstance(a, bool) else (b, a)
        return first or second
    return tf.logical_or(a, b)
