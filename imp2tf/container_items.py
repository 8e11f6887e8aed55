"""Items of lists, dicts and deques: read, assigned, deleted, at positions that may be known to the run only."""
from __future__ import annotations

import collections
import operator
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import compare, run_operation
from imp2tf.containers import by_alternative, grow, holding, new, new_list, tuple_of
from imp2tf.elements import element_of
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.foreknown import chosen
from imp2tf.growable_items import checked_index, checked_position, deleted, item_of, position_of, set_at, spliced
from imp2tf.heap import contents, is_unread, read, set_contents
from imp2tf.kinds import is_container
from imp2tf.object_keys import check_keys
from imp2tf.picking import item_at
from imp2tf.places import FromEnd, Tail
from imp2tf.region import select
from imp2tf.session import NOT_STORED, current
from imp2tf.table_items import as_table_under, delete_entry, entry, put_entry
from imp2tf.tables import key_form, key_kind
from imp2tf.tf_compat import EagerTensor
from imp2tf.values import Growable, Table, Union, is_runtime

__all__ = ["delete_item", "dict_item_at", "get_item", "item_within", "set_item", "with_item", "without"]

KEPT_BY_VALUE = (EagerTensor, bool, int, float, str, type(None))


def get_item(container: Any, key: Any, kind: str | None = None) -> Any:
    """``container[key]`` for a list, tuple, deque or dict; `kind` is what errors call it."""
    if isinstance(container, dict):
        return _dict_item(container, key)
    if type(container) in (list, collections.deque) and type(key) is int and key < 0 and is_unread(container):
        item = _from_end(container, key)
        if item is not NOT_STORED:
            return item
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: get_item(holding(container, one), key))
    if isinstance(key, slice):
        return _slice(container, found, key)
    if isinstance(found, Growable):
        return element_of(container, found, checked_index(found, key, f"{kind or _kind(container)} index out of range"))
    if is_runtime(key):
        place = chosen(found, key)
        if place is None:
            return _item_at(list(found), key, f"{_kind(container)} index out of range")
        key = place
    elements = collections.deque(found) if isinstance(container, collections.deque) else found
    return run_operation(lambda: elements[key])


def item_within(container: Any, index: Any) -> Any:
    """``container[index]`` of a list or tuple, at an index that is known to be in range."""
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: item_within(holding(container, one), index))
    if isinstance(found, Growable):
        return element_of(container, found, tf.cast(position_of(index), tf.int32))
    return item_at(list(found), position_of(index)) if is_runtime(index) and found else get_item(container, index)


def _from_end(container: Any, key: int) -> Any:
    """An element counted from the end of a list or deque whose elements nobody has read, without reading the others.

    What the trace appended is at the end. So one graph serves every length. NOT_STORED where all elements have to be read.
    """
    tail = current().raw(Tail(container))
    appended = [] if tail is NOT_STORED else tail
    if not isinstance(appended, list):
        return NOT_STORED
    if -key <= len(appended):
        return appended[key]
    before, limit = key + len(appended), getattr(container, "maxlen", None)
    known = limit is None or -key <= limit
    if not known or len(container) < -before or not isinstance(container[before], KEPT_BY_VALUE):
        return NOT_STORED
    return read(FromEnd(container, before))


def _kind(container: Any) -> str:
    return "tuple" if isinstance(container, tuple) else type(container).__name__


def _slice(container: Any, found: Any, key: slice) -> Any:
    if isinstance(container, collections.deque):
        return run_operation(operator.getitem, collections.deque(), key)
    if isinstance(found, Growable):
        return new_list(item_of(found, key))
    if not _is_at_run_time(key):
        items = run_operation(lambda: found[key])
        return new(items) if isinstance(container, list) else items
    made = new_list(item_of(grow(list(found)), key))
    return made if isinstance(container, list) else tuple_of(made)


def _is_at_run_time(key: Any) -> bool:
    return any(map(is_runtime, (key.start, key.stop, key.step))) if isinstance(key, slice) else is_runtime(key)


def _item_at(items: list[Any], key: Any, message: str) -> Any:
    position = checked_position(key, len(items), message)
    return item_at(items, position) if items else raise_error(IndexError(message))


def _dict_item(container: Any, key: Any) -> Any:
    found = contents(container)
    if isinstance(found, Union):
        return by_alternative(container, found, lambda: _dict_item(container, key))
    if isinstance(found, Table):
        return entry(container, found, key)
    if is_runtime(key):
        grows = getattr(container, "default_factory", None) is not None or isinstance(container, collections.Counter)
        return entry(container, as_table_under(container, found, key), key) if grows else dict_item_at(found, key)
    check_keys((key, *found))
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
    form = key_form(key)
    if form is None:
        fall_back(NeedsValue, "a dict is asked for a key that only the run knows")
    is_text = form[0] in ("str", "bytes")
    same = [one for one in found.items() if (key_kind(one[0]) == form[0] if is_text else isinstance(one[0], (int, float)))]

    def at(index: int) -> Any:
        if index == len(same):
            return raise_error(KeyError(key))
        name, value = same[index]
        equal = tf.equal(form[1], name) if is_text else truth(compare("==", key, name))
        return select(equal, lambda: value, lambda: at(index + 1))

    return at(0)


def set_item(container: Any, key: Any, value: Any) -> None:
    """``container[key] = value``."""
    found = contents(container)
    if isinstance(found, Union):
        by_alternative(container, found, lambda: set_item(container, key, value))
    elif isinstance(container, dict):
        _dict_set(container, found, key, value)
    elif isinstance(key, slice):
        _set_slice(container, found, key, value)
    elif isinstance(found, Growable):
        set_contents(container, set_at(found, key, value, _out_of_range(container, "assignment ")))
    elif is_runtime(key):
        _set_item_at(container, list(found), key, value)
    else:
        items = list(found)
        _put(items, key, value)
        set_contents(container, items)


def _out_of_range(container: Any, action: str) -> str:
    return "deque index out of range" if isinstance(container, collections.deque) else f"list {action}index out of range"


def _set_slice(container: Any, found: Any, key: slice, value: Any) -> None:
    if isinstance(container, collections.deque):
        run_operation(collections.deque().__setitem__, key, ())
    more = contents(current().run.call(list, value))
    if isinstance(more, Union):
        fall_back(ContentsError, "a slice is assigned a list of unknown contents")
    if isinstance(found, Growable) or isinstance(more, Growable) or _is_at_run_time(key):
        held, added = (one if isinstance(one, Growable) else grow(list(one)) for one in (found, more))
        set_contents(container, spliced(held, key, added))
        return
    items = list(found)
    run_operation(items.__setitem__, key, more)
    set_contents(container, items)


def _put(items: list[Any], key: Any, value: Any) -> None:
    try:
        items[key] = value
    except (IndexError, TypeError) as error:
        raise_error(error)


def _dict_set(container: Any, found: dict[Any, Any], key: Any, value: Any) -> None:
    if isinstance(found, Table) or is_runtime(key):
        put_entry(container, as_table_under(container, found, key), key, value)
        return
    check_keys((key, *found))
    items = dict(found)
    run_operation(hash, key)
    items[key] = value
    set_contents(container, items)


def _set_item_at(container: Any, items: list[Any], key: Any, value: Any) -> None:
    position = checked_position(key, len(items), _out_of_range(container, "assignment "))
    changed = [
        select(tf.equal(position, index), lambda: value, lambda item=item: item)  # type: ignore[misc]
        for index, item in enumerate(items)
    ]
    set_contents(container, changed)


def without(items: list[Any], position: tf.Tensor) -> list[Any]:
    """The items without one, at a position that only the run knows."""
    return [_either(position <= place, items[place + 1], items[place]) for place in range(len(items) - 1)]


def with_item(items: list[Any], position: tf.Tensor, value: Any) -> list[Any]:
    """The items with one more, at a position that only the run knows."""
    made = []
    for place in range(len(items) + 1):
        item = value
        if place > 0:
            item = _either(position < place, items[place - 1], item)
        if place < len(items):
            item = _either(position > place, items[place], item)
        made.append(item)
    return made


def _either(flag: tf.Tensor, a: Any, b: Any) -> Any:
    return select(flag, lambda: a, lambda: b)


def delete_item(container: Any, key: Any) -> None:
    """``del container[key]``."""
    found = contents(container)
    if isinstance(found, Union):
        by_alternative(container, found, lambda: delete_item(container, key))
        return
    if isinstance(container, dict) and (isinstance(found, Table) or is_runtime(key)):
        delete_entry(container, as_table_under(container, found, key), key)
        return
    if isinstance(found, list) and isinstance(key, slice) and _is_at_run_time(key):
        found = grow(found)
    if isinstance(found, Growable):
        set_contents(container, deleted(found, key, _out_of_range(container, "assignment ")))
        return
    if isinstance(found, list) and is_runtime(key):
        set_contents(container, without(found, checked_position(key, len(found), _out_of_range(container, "assignment "))))
        return
    if isinstance(found, dict):
        check_keys((key, *found))
    items = found.copy()
    try:
        del items[key]
    except (KeyError, IndexError, TypeError) as error:
        raise_error(error)
    set_contents(container, items)
