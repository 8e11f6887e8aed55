"""Items of lists, dicts and deques: read, assigned, deleted, at positions that may be known to the run only."""
from __future__ import annotations

import collections
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import as_number, compare, run_operation
from imp2tf.containers import by_alternative, copied, new, static
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.growable import element_at, growable_length, replaced
from imp2tf.heap import contents, is_container, set_contents
from imp2tf.join import join
from imp2tf.picking import item_at
from imp2tf.region import select, stop_if
from imp2tf.session import current
from imp2tf.specs import Constant
from imp2tf.values import Deferred, Growable, PyNumber, Union, is_runtime

__all__ = ["delete_item", "dict_item_at", "get_item", "set_item"]


def get_item(container: Any, key: Any) -> Any:
    """``container[key]`` for a list, tuple, deque or dict."""
    if isinstance(container, dict):
        return _dict_item(container, key)
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: get_item(tuple(one), key))
    if isinstance(found, Growable):
        return _growable_item(found, key)
    if isinstance(key, slice):
        items = run_operation(lambda: found[_static_slice(key)])
        return new(items) if isinstance(container, list) else items
    if is_runtime(key):
        return _item_at(list(found), key, f"{_kind(container)} index out of range")
    return run_operation(lambda: found[key])


def _kind(container: Any) -> str:
    return "tuple" if isinstance(container, tuple) else type(container).__name__


def _static_slice(key: slice) -> slice:
    if any(is_runtime(part) for part in (key.start, key.stop, key.step)):
        fall_back(NeedsValue, "a slice with run-time bounds of a Python sequence")
    return key


def _position(key: Any, count: Any) -> tf.Tensor:
    """A run-time index as int64, counted from the front."""
    index = as_number(key, "int") if isinstance(key, PyNumber) else tf.cast(key, tf.int64)
    return tf.where(index < 0, index + count, index)


def _checked_position(key: Any, count: Any, message: str) -> tf.Tensor:
    position = _position(key, count)
    stop_if(tf.logical_or(position >= count, position < 0), IndexError(message))
    return position


def _item_at(items: list[Any], key: Any, message: str) -> Any:
    if isinstance(key, Deferred):
        fall_back(NeedsValue, "an index that is known after the run")
    position = _checked_position(key, len(items), message)
    return item_at(items, position) if items else raise_error(IndexError(message))


def _growable_item(found: Growable, key: Any) -> Any:
    if isinstance(key, slice):
        fall_back(ContentsError, "a slice of a list of run-time length")
    count = tf.cast(growable_length(found), tf.int64)
    position = _checked_position(key, count, "list index out of range")
    return element_at(found, tf.cast(position, tf.int32))


def _dict_item(container: Any, key: Any) -> Any:
    found = contents(container)
    if isinstance(found, Union):
        return by_alternative(container, found, lambda: _dict_item(container, key))
    if is_runtime(key):
        return dict_item_at(found, key)
    if run_operation(lambda: key in found):
        return found[key]
    if isinstance(container, collections.Counter):
        return 0
    if hasattr(type(container), "__missing__") and not isinstance(container, collections.defaultdict):
        fall_back(ContentsError, f"a missing key of a {type(container).__name__}")
    factory = getattr(container, "default_factory", None)
    if factory is not None:
        value = current().run.call(factory)
        set_contents(container, {**contents(container), key: value})
        return value
    return raise_error(KeyError(key))


def dict_item_at(found: dict[Any, Any], key: Any) -> Any:
    """The value under a run-time key: each entry is asked for in turn."""
    if not isinstance(key, PyNumber):
        fall_back(NeedsValue, "a dict is asked for a key that only the run knows")
    numbers = [(name, value) for name, value in found.items() if isinstance(name, (int, float))]

    def at(index: int) -> Any:
        if index == len(numbers):
            return raise_error(KeyError(key))
        name, value = numbers[index]
        return select(truth(compare("==", key, name)), lambda: value, lambda: at(index + 1))

    return at(0)


def set_item(container: Any, key: Any, value: Any) -> None:
    """``container[key] = value``."""
    found = contents(container)
    if isinstance(found, Union):
        by_alternative(container, found, lambda: set_item(container, key, value))
    elif isinstance(found, Growable):
        set_contents(container, _growable_set(found, key, value))
    elif isinstance(found, dict):
        _dict_set(container, found, key, value)
    elif is_runtime(key):
        _set_item_at(container, list(found), key, value)
    else:
        items = list(found)
        if isinstance(key, slice):
            value = list(static(value, "a slice assignment")) if is_container(value) else list(value)
            key = _static_slice(key)
        run_operation(items.__setitem__, key, value) if isinstance(key, slice) else _put(items, key, value)
        set_contents(container, items)


def _put(items: list[Any], key: Any, value: Any) -> None:
    try:
        items[key] = value
    except (IndexError, TypeError) as error:
        raise_error(error)


def _dict_set(container: Any, found: dict[Any, Any], key: Any, value: Any) -> None:
    if is_runtime(key):
        fall_back(NeedsValue, "a dict is written under a key that only the run knows")
    items = dict(found)
    run_operation(hash, key)
    items[key] = value
    set_contents(container, items)


def _set_item_at(container: Any, items: list[Any], key: Any, value: Any) -> None:
    position = _checked_position(key, len(items), "list assignment index out of range")
    changed = [
        select(tf.equal(position, index), lambda: value, lambda item=item: item)  # type: ignore[misc]
        for index, item in enumerate(items)
    ]
    set_contents(container, changed)


def _growable_set(found: Growable, key: Any, value: Any) -> Growable:
    if isinstance(key, slice):
        fall_back(ContentsError, "a slice of a list of run-time length is assigned")
    count = tf.cast(growable_length(found), tf.int64)
    position = tf.cast(_checked_position(key, count, "list assignment index out of range"), tf.int32)
    frozen = copied(value)
    if join(found.element, Constant(frozen)) != found.element:
        # the gradient of a replaced element has the shape of the new one
        fall_back(ContentsError, "an element of a list of run-time length is replaced by one of another kind or shape")
    return replaced(found, position, found.element.pack(frozen))


def delete_item(container: Any, key: Any) -> None:
    """``del container[key]``."""
    found = contents(container)
    if isinstance(found, Union):
        by_alternative(container, found, lambda: delete_item(container, key))
        return
    if isinstance(found, Growable) or is_runtime(key):
        fall_back(ContentsError, "del of an element that only the run knows")
    items = found.copy()
    try:
        del items[_static_slice(key) if isinstance(key, slice) else key]
    except (KeyError, IndexError, TypeError) as error:
        raise_error(error)
    set_contents(container, items)
