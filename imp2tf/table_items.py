"""Dicts and sets under keys that only the run knows: entries found, put in, taken out; their methods."""
from __future__ import annotations

import collections
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.compound_specs import Items
from imp2tf.containers import copied, covering, grow, new, new_list
from imp2tf.elements import element_of
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.growable import compact, empty_growable, picked, pushed, replaced
from imp2tf.growable_items import position_of
from imp2tf.heap import contents, set_contents
from imp2tf.join import describe
from imp2tf.kinds import is_container
from imp2tf.refusals import eager_error
from imp2tf.region import cond, leave_to_python_if, select, stop_if
from imp2tf.session import current
from imp2tf.specs import BOTTOM
from imp2tf.states import NO_STATE
from imp2tf.tables import key_form, key_kind, key_of, keys_as_list, keys_tensor, table_length
from imp2tf.values import NUMBER_DTYPES, Growable, PyNumber, Table, Union, is_runtime

__all__ = ["as_table_under", "delete_entry", "entry", "has_key", "is_table_key", "listed_view", "put_entry", "shown_entry", "table_method"]

Found = Any  # the position of an entry (an int32 scalar, -1 if there is none), or None where no key can be equal


def is_table_key(value: Any) -> bool:
    """Whether a key is known only to the run, and of a kind that a table can hold."""
    return is_runtime(value) and not isinstance(value, Union) and key_form(value) is not None


def as_table_under(owner: Any, found: Any, key: Any) -> Table:
    """The contents of a dict or set as a table under keys of the kind of `key`."""
    form = key_form(key)
    if isinstance(found, Table):
        return found
    if form is None or not all(key_kind(one) == form[0] for one in found) or type(owner) not in PLAIN:
        fall_back(NeedsValue, f"a {type(owner).__name__} has keys of several kinds, and one that only the run knows")
    if isinstance(found, set):
        return Table(form[0], keys_tensor(form[0], list(found)), None)
    values = grow(list(found.values())) if found else empty_growable(BOTTOM)
    return Table(form[0], keys_tensor(form[0], list(found)), values)


PLAIN = (dict, collections.defaultdict, collections.OrderedDict, collections.Counter, set)


def _is_number(kind: Any) -> bool:
    return kind in NUMBER_DTYPES or isinstance(kind, tf.DType)


def find(table: Table, key: Any) -> Found:
    """Where the entry of a key is."""
    form = key_form(key)
    if form is None:
        if is_runtime(key):
            return fall_back(NeedsValue, "a dict is asked for a key that only the run knows")
        run_operation(hash, key)
        return fall_back(NeedsValue, "a dict is asked for a key of an unusual kind") if isinstance(key, (float, int, complex)) else None
    kind, scalar = form
    if kind != table.kind and not (_is_number(kind) and _is_number(table.kind)):
        return None
    keys = table.keys
    if kind != table.kind:
        keys, scalar = _comparable(keys, scalar)
    if scalar.dtype.is_floating and is_runtime(key):
        leave_to_python_if(tf.math.is_nan(scalar), "NaN is a key of a dict, where it is found by identity")
    hits = tf.equal(keys, scalar)
    return tf.maximum(tf.reduce_max(tf.where(hits, tf.range(tf.size(hits)), -1)), -1)


def _comparable(keys: tf.Tensor, scalar: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    dtype = tf.float64 if keys.dtype.is_floating or scalar.dtype.is_floating else tf.int64
    return tf.cast(keys, dtype), tf.cast(scalar, dtype)


def has_key(table: Table, key: Any) -> Any:
    """``key in owner``."""
    place = find(table, key)
    return False if place is None else PyNumber("bool", place >= 0)


def _values(table: Table) -> Growable:
    assert table.values is not None
    return table.values


# ------------------------------------------------------------------------------------------------ entries
def entry(owner: Any, table: Table, key: Any) -> Any:
    """``owner[key]``."""
    place = find(table, key)
    factory = getattr(owner, "default_factory", None)
    if factory is not None:
        return _entry_or_new(owner, table, key, lambda: current().run.call(factory))
    if isinstance(owner, collections.Counter):
        return 0 if place is None else select(place >= 0, lambda: element_of(owner, _values(table), place), lambda: 0)
    if place is None:
        return raise_error(KeyError(key))
    stop_if(place < 0, KeyError(key))
    return element_of(owner, _values(table), place)


def _entry_or_new(owner: Any, table: Table, key: Any, make: Callable[[], Any]) -> Any:
    """The value of a key; where there is none, one is made and put in."""
    place = find(table, key)
    if place is None:
        fall_back(NeedsValue, "a dict gets keys of several kinds, some of which only the run knows")
    if contents(owner) is not table:
        current().put_contents(owner, table)
    cond(place < 0, lambda: put_entry(owner, contents(owner), key, make()), lambda: None, NO_STATE)
    after = contents(owner)
    return element_of(owner, _values(after), tf.where(place < 0, table_length(table), place))


def entry_or(owner: Any, table: Table, key: Any, default: Any) -> Any:
    """``owner.get(key, default)``."""
    place = find(table, key)
    if place is None:
        return default
    return select(place >= 0, lambda: element_of(owner, _values(table), place), lambda: default)


def put_entry(owner: Any, table: Table, key: Any, value: Any) -> None:
    """``owner[key] = value``, or ``owner.add(key)``."""
    place, form = find(table, key), key_form(key)
    if form is None or form[0] != table.kind or place is None:
        fall_back(NeedsValue, "a dict gets keys of several kinds, some of which only the run knows")
    scalar = tf.reshape(form[1], [1])
    if table.values is None:
        keys = tf.cond(place < 0, lambda: tf.concat([table.keys, scalar], 0), lambda: tf.identity(table.keys))
        return set_contents(owner, Table(table.kind, _vector(keys), None))
    frozen = copied(value)
    values = compact(covering(table.values, describe(frozen)))
    tensors = values.element.pack(frozen)
    keys, *handles = tf.cond(
        place < 0, lambda: [tf.concat([table.keys, scalar], 0), *pushed(values, tensors).handles],
        lambda: [tf.identity(table.keys), *replaced(values, place, tensors).handles])
    return set_contents(owner, Table(table.kind, _vector(keys), values.over(handles)))


def _vector(keys: tf.Tensor) -> tf.Tensor:
    keys.set_shape([None])
    return keys


def without_entry(table: Table, place: tf.Tensor) -> Table:
    """A table without one entry."""
    left = tf.range(table_length(table) - 1)
    left = tf.where(left < place, left, left + 1)
    return Table(table.kind, tf.gather(table.keys, left), None if table.values is None else picked(table.values, left))


def delete_entry(owner: Any, table: Table, key: Any) -> None:
    """``del owner[key]`` or ``owner.remove(key)``."""
    place = find(table, key)
    if place is None:
        return raise_error(KeyError(key))
    stop_if(place < 0, KeyError(key))
    return set_contents(owner, without_entry(table, place))


# ------------------------------------------------------------------------------------------------ views
def listed_view(owner: Any, name: str) -> Any:
    """A new list of the keys, values or items of a dict, of run-time length."""
    table = contents(owner)
    element = describe(key_of(table.kind, tf.zeros([], table.keys.dtype)))
    keys = keys_as_list(table, element)
    if name == "keys" or table.values is None:
        return new_list(keys)
    values = compact(table.values)
    if name == "values":
        return new_list(values)
    pair = Items((None, None), [element, values.element])
    return new_list(Growable([keys.handles[0], keys.handles[1], *values.handles[1:]], pair))


def shown_entry(owner: Any, index: Any, name: str) -> Any:
    """What a view shows of the entry at a position in range, now."""
    table = contents(owner)
    if not isinstance(table, Table):
        fall_back(ContentsError, "a dict is replaced by another while it is iterated over")
    place = tf.cast(position_of(index), tf.int32)
    key = key_of(table.kind, table.keys[place])
    if name == "keys":
        return key
    value = element_of(owner, _values(table), place)
    return value if name == "values" else (key, value)


# ------------------------------------------------------------------------------------------------ methods
def table_method(owner: Any, found: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a dict or set one of whose keys only the run knows."""
    methods = _SET_METHODS if isinstance(owner, set) else _DICT_METHODS
    method = methods.get(name)
    if method is None or type(owner) not in PLAIN or (isinstance(owner, collections.Counter) and name in ("update", "copy")):
        return fall_back(ContentsError, f"{type(owner).__name__}.{name} under keys that only the run knows")
    table = found if isinstance(found, Table) else as_table_under(owner, found, args[0])
    run_operation(inspect.signature(method).bind, owner, table, *args, **kwargs)
    return method(owner, table, *args, **kwargs)


def _get(owner: Any, table: Table, key: Any, default: Any = None) -> Any:
    return entry_or(owner, table, key, default)


def _setdefault(owner: Any, table: Table, key: Any, default: Any = None) -> Any:
    return _entry_or_new(owner, table, key, lambda: default)


def _pop(owner: Any, table: Table, key: Any, *default: Any) -> Any:
    place = find(table, key)
    if place is None:
        return default[0] if default else raise_error(KeyError(key))

    def taken() -> Any:
        value = element_of(owner, _values(table), place)
        value = new_list(contents(value)) if isinstance(value, list) else value
        set_contents(owner, without_entry(table, place))
        return value

    if default:
        return select(place >= 0, taken, lambda: default[0])
    stop_if(place < 0, KeyError(key))
    return taken()


def _popitem(owner: Any, table: Table, last: Any = ...) -> Any:
    if last is not ... and not (isinstance(owner, collections.OrderedDict) and isinstance(last, bool)):
        return fall_back(ContentsError, f"{type(owner).__name__}.popitem of an end that only the run knows")
    count = table_length(table)
    stop_if(tf.equal(count, 0), eager_error(type(owner)().popitem))
    place = count - 1 if last else tf.constant(0)
    key = key_of(table.kind, table.keys[-1 if last else 0])
    value = element_of(owner, compact(_values(table)), place)
    if is_container(value):
        fall_back(ContentsError, "dict.popitem of a container under keys that only the run knows")
    set_contents(owner, without_entry(table, place))
    return key, value


def _update(owner: Any, table: Table, *others: Any, **named: Any) -> None:
    if not isinstance(owner, set) and len(others) > 1:
        run_operation({}.update, *others)
    for other in (*others, *([new(named)] if named else [])):
        _update_by(owner, other)


def _update_by(owner: Any, other: Any) -> None:
    if isinstance(other, dict):
        whole = contents(other)
        pairs = contents(listed_view(other, "items")) if isinstance(whole, Table) else list(whole.items())
    else:
        pairs = contents(current().run.call(list, other))
    if isinstance(pairs, (Growable, Union)):
        _update_by_many(owner, pairs)
        return
    for pair in pairs:
        key, value = (pair, None) if isinstance(owner, set) else pair
        put_entry(owner, as_table_under(owner, contents(owner), key), key, value)


def _update_by_many(owner: Any, pairs: Any) -> None:
    def put(pair: Any) -> None:
        key, value = (pair, None) if isinstance(owner, set) else pair
        put_entry(owner, as_table_under(owner, contents(owner), key), key, value)

    current().run.each(new_list(pairs), put)


def _copy(owner: Any, table: Table) -> Any:
    made = new(type(owner)(owner.default_factory) if isinstance(owner, collections.defaultdict) else type(owner)())
    if table.values is not None:
        new_list(table.values)  # notes that its elements stand in two places
    set_contents(made, table)
    return made


def _clear(owner: Any, table: Table) -> None:
    set_contents(owner, set() if isinstance(owner, set) else {})


def _discard(owner: Any, table: Table, key: Any) -> None:
    place = find(table, key)
    if place is not None:
        cond(place >= 0, lambda: set_contents(owner, without_entry(table, place)), lambda: None, NO_STATE)


_DICT_METHODS: dict[str, Callable[..., Any]] = {
    "clear": _clear, "copy": _copy, "get": _get, "pop": _pop, "popitem": _popitem, "setdefault": _setdefault, "update": _update,
}
_SET_METHODS: dict[str, Callable[..., Any]] = {
    "add": lambda owner, table, key: put_entry(owner, table, key, None), "clear": _clear, "copy": _copy, "discard": _discard,
    "remove": delete_entry, "update": _update,
}
