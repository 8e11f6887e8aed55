"""Items and slices of lists of run-time length: read, put in, taken out."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import number_of, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.containers import concatenated, copied, covering
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.forcing import example_or_none
from imp2tf.growable import (
    compact,
    element_at,
    element_ids,
    growable_length,
    picked,
    popped,
    popped_first,
    pushed,
    replaced,
    without_element,
)
from imp2tf.join import describe
from imp2tf.lengths import is_within
from imp2tf.python_numbers import as_number
from imp2tf.region import stop_if
from imp2tf.values import Deferred, Growable, PyNumber, Union, is_runtime, numpy_value

__all__ = [
    "checked_index", "checked_position", "clipped_position", "deleted", "inserted", "item_of", "position_of", "repeated", "set_at",
    "spliced", "taken",
]


def position_of(key: Any) -> tf.Tensor:
    """An index, known while tracing or not, as an int64 scalar."""
    if isinstance(key, Deferred):
        return _position_after_run(key)
    if isinstance(key, Union):
        return fall_back(NeedsValue, "an index that is known after the run")
    if isinstance(key, PyNumber):
        return as_number(key, "int") if key.kind != "float" else fall_back(NeedsValue, "a float as an index")
    if is_runtime(key):
        return tf.cast(key, tf.int64) if key.shape.rank == 0 and key.dtype.is_integer else fall_back(NeedsValue, "a tensor as an index")
    return tf.constant(run_operation(operator.index, key), tf.int64)


def _position_after_run(key: Deferred) -> tf.Tensor:
    """An index that is an integer of NumPy."""
    if key.function is numpy_value and key.args[0].shape.rank == 0 and key.args[0].dtype.is_integer:
        return tf.cast(key.args[0], tf.int64)
    if isinstance(example_or_none(key), np.integer):
        return as_number(number_of(int, key), "int")
    return fall_back(NeedsValue, "an index that is known after the run")


def checked_position(key: Any, count: Any, message: str) -> tf.Tensor:
    """An index counted from the front (int64); out of range it is an IndexError."""
    index = position_of(key)
    position = tf.where(index < 0, index + count, index)
    stop_if(tf.logical_or(position >= count, position < 0), IndexError(message))
    return position


def checked_index(found: Growable, key: Any, message: str) -> tf.Tensor:
    """The position (int32) that an index means in a list of run-time length."""
    if not is_runtime(key) and not isinstance(key, (slice, Deferred, Union)):
        _refuse_index(key, message)
    if type(key) is int and is_within(found, key):
        return tf.constant(key) if key >= 0 else growable_length(found) + key
    count = tf.cast(growable_length(found), tf.int64)
    return tf.cast(checked_position(key, count, message), tf.int32)


def _refuse_index(key: Any, message: str) -> None:
    """What Python says of a key that is no index."""
    if not hasattr(type(key), "__index__"):
        items: Any = [None]
        run_operation(operator.setitem, items, key, None) if "assignment" in message else run_operation(operator.getitem, items, key)


# ------------------------------------------------------------------------------------------------ slices
def _bound(value: Any, count: tf.Tensor, default: tf.Tensor, low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
    if value is None:
        return default
    index = tf.cast(tf.clip_by_value(position_of(value), tf.int32.min // 2, tf.int32.max // 2), tf.int32)
    return tf.clip_by_value(tf.where(index < 0, index + count, index), low, high)


def _range_of(key: slice, count: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, int]:
    """``slice.indices``."""
    if is_runtime(key.step):
        fall_back(NeedsValue, "a slice with a run-time step")
    for part in (key.start, key.stop):
        if isinstance(part, PyNumber) and part.kind == "float":
            raise_error(TypeError("slice indices must be integers or None or have an __index__ method"))
    known = slice(*(None if is_runtime(part) else part for part in (key.start, key.stop, key.step)))
    step = run_operation(known.indices, 1)[2]
    first, last = (tf.constant(0), count) if step > 0 else (tf.constant(-1), count - 1)
    start = _bound(key.start, count, first if step > 0 else last, first, last)
    stop = _bound(key.stop, count, last if step > 0 else first, first, last)
    return start, stop, step


def _positions(key: slice, count: tf.Tensor) -> tf.Tensor:
    start, stop, step = _range_of(key, count)
    return tf.range(start, stop, step) if step < 0 else tf.range(start, tf.maximum(start, stop), step)


def item_of(found: Growable, key: Any, kind: str = "list") -> Any:
    """``found[key]``: an element, or a `Growable` for a slice."""
    if isinstance(key, slice):
        return picked(found, _positions(key, growable_length(found)))
    return element_at(found, checked_index(found, key, f"{kind} index out of range"))


def deleted(found: Growable, key: Any, message: str) -> Growable:
    """`found` without an element or a slice."""
    if not isinstance(key, slice):
        return without_element(found, checked_index(found, key, message))
    count = growable_length(found)
    gone = _positions(key, count)
    kept = tf.tensor_scatter_nd_update(tf.fill([count], True), gone[:, None], tf.fill([tf.size(gone)], False))
    return picked(found, tf.boolean_mask(tf.range(count), kept))


def set_at(found: Growable, key: Any, value: Any, message: str) -> Growable:
    """`found` with another value at an index."""
    position = checked_index(found, key, message)
    frozen = copied(value)
    found = covering(found, describe(frozen))
    return replaced(found, position, found.element.pack(frozen))


def spliced(found: Growable, key: slice, more: Growable) -> Growable:
    """`found` with the elements of `more` in the place of a slice."""
    count, added = growable_length(found), growable_length(more)
    whole = compact(concatenated(found, more))
    places = tf.range(count)
    if key.step in (None, 1):
        start, stop, _ = _range_of(key, count)
        return picked(whole, tf.concat([places[:start], tf.range(count, count + added), places[tf.maximum(start, stop):]], 0))
    gone = _positions(key, count)
    text = Deferred(_sizes_differ, (_number(added), _number(tf.size(gone))))
    stop_if(tf.not_equal(tf.size(gone), added), ValueError(text))
    return picked(whole, tf.tensor_scatter_nd_update(places, gone[:, None], tf.range(count, count + added)))


def _sizes_differ(added: int, gone: int) -> str:
    return f"attempt to assign sequence of size {added} to extended slice of size {gone}"


def _number(count: tf.Tensor) -> PyNumber:
    return PyNumber("int", tf.cast(count, tf.int64))


# ------------------------------------------------------------------------------------------------ in and out
def clipped_position(key: Any, count: tf.Tensor) -> tf.Tensor:
    """The position (int32) before which ``insert`` puts a value: beyond the ends it is the ends."""
    return _bound(key, count, count, tf.constant(0), count)


def inserted(found: Growable, key: Any, value: Any) -> Growable:
    """`found` with a value before an index."""
    count = growable_length(found)
    at = clipped_position(key, count)
    frozen = copied(value)
    found = covering(found, describe(frozen))
    places = element_ids(found)
    whole = pushed(found, found.element.pack(frozen))
    return picked(whole, tf.concat([places[:at], [count], places[at:]], 0))


def taken(found: Growable, args: tuple[Any, ...], kind: str = "list") -> tuple[Growable, Any]:
    """``pop``: what is left, and what was taken."""
    if not is_within(found, 0):
        stop_if(tf.equal(growable_length(found), 0), IndexError("pop from empty list" if kind == "list" else "pop from an empty deque"))
    if not args or (type(args[0]) is int and args[0] == -1):
        return popped(found)
    if type(args[0]) is int and args[0] == 0:
        return popped_first(found)
    position = checked_index(found, args[0], "pop index out of range")
    return without_element(found, position), element_at(found, position)


def repeated(found: Growable, times: Any) -> Growable:
    """``found * times``."""
    many = tf.cast(tf.maximum(position_of(times), 0), tf.int32)
    return picked(found, tf.tile(element_ids(found), many[None]))
