"""``range``, ``zip``, ``enumerate``, ``map``, ``filter``, ``reversed``, ``iter``, ``next`` and the constructors of containers.

    for i, v in enumerate(xs)   -->   a cursor over a cursor, carried by the loop
"""
from __future__ import annotations

import functools
import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over, raise_error, stripped
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, invoke, replace_call
from imp2tf.container_cursors import ListCursor
from imp2tf.containers import append, listed, new, new_list, static, tuple_of
from imp2tf.cursors import Cursor, EnumerateCursor, IteratorCursor, MapCursor, RunRange, StaticIterator, ZipCursor
from imp2tf.dict_views import DictView
from imp2tf.effects import has_effects_so_far
from imp2tf.endless import Endless, EndlessCursor
from imp2tf.errors import ForeignCall, NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.first_items import first_item
from imp2tf.forcing import tensor_of
from imp2tf.generators import Pushed, PushedEnumerate, PushedMap, as_pushed
from imp2tf.growable import picked, stacked_column
from imp2tf.heap import contents, set_contents
from imp2tf.iterables import cursor, each, is_lazy, known_items
from imp2tf.iteration import GeneratorValue, drained, items_of_array, reversed_cursor
from imp2tf.kinds import is_container, is_user_function
from imp2tf.namespace import rt
from imp2tf.object_fields import FieldsOf
from imp2tf.object_keys import check_keys
from imp2tf.opaque import call_library
from imp2tf.operations import truth_of
from imp2tf.picking import permuted
from imp2tf.python_numbers import as_number
from imp2tf.refusals import refuse
from imp2tf.region import leave_to_python_if, select, stop_if
from imp2tf.session import current
from imp2tf.specs import Dense, Number
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import (
    SKIP,
    UNBOUND,
    Deferred,
    GeneratorCall,
    Growable,
    PyNumber,
    StandIn,
    Table,
    Union,
    is_runtime,
    number_kind,
    numpy_value,
)


@replace_call(range)
def range_(*bounds: Any) -> Any:
    """``range(...)``, which may end where only the run knows."""
    if any(isinstance(bound, Union) for bound in bounds):
        place = next(i for i, bound in enumerate(bounds) if isinstance(bound, Union))
        return over(bounds[place], lambda one: range_(*bounds[:place], one, *bounds[place + 1:]))
    if not any(is_runtime(bound) for bound in bounds):
        return run_operation(range, *bounds)
    numbers = [_index_number(bound) for bound in bounds]
    start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if not isinstance(step, int):
        fall_back(NeedsValue, "a range with a run-time step")
    return RunRange(start, stop, step)


def _index_number(bound: Any) -> Any:
    if is_symbolic_tensor(bound):
        if not bound.dtype.is_integer:
            refuse(tf.constant(True), python.index, bound)
        return call(int, bound)
    if isinstance(bound, PyNumber) and bound.kind == "float":
        return raise_error(TypeError("'float' object cannot be interpreted as an integer"))
    return bound


@replace_call(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip(...)``."""
    if strict:
        _require_one_length(iterables)
    return new(ZipCursor([cursor(one, in_text=True) for one in iterables]))


def _require_one_length(iterables: tuple[Any, ...]) -> None:
    """Leave ``zip(strict=True)`` of differing lengths to Python, which raises once the shortest has ended."""
    if not all(isinstance(one, (tuple, range, str, bytes, DictView, tf.Tensor)) or is_container(one) for one in iterables):
        fall_back(ForeignCall, "zip(strict=True)")
    lengths = [call(len, one) for one in iterables]
    known = [one for one in lengths if isinstance(one, int)]
    if len(set(known)) > 1:
        fall_back(ForeignCall, "zip(strict=True) of different lengths")
    for one in lengths:
        if isinstance(one, PyNumber) and one is not lengths[0]:
            leave_to_python_if(tf.not_equal(one.tensor, as_number(lengths[0], "int")), "zip(strict=True) of different lengths")
        elif not isinstance(one, (int, PyNumber)):
            fall_back(NeedsValue, "zip(strict=True) of unknown lengths")
    if isinstance(lengths[0], PyNumber) and known:
        leave_to_python_if(tf.not_equal(lengths[0].tensor, as_number(known[0], "int")), "zip(strict=True) of different lengths")


@replace_call(enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate(...)``."""
    pushed = as_pushed(iterable, in_text=True)
    return new(EnumerateCursor(cursor(iterable, in_text=True), start) if pushed is None else PushedEnumerate(pushed, start))


@replace_call(map)
def map_(function: Any, *iterables: Any) -> Any:
    """``map(...)``."""
    if len(iterables) == 1:
        return new(_mapped(functools.partial(call, function), iterables[0]))
    return new(MapCursor(lambda items: call(function, *items), ZipCursor([cursor(one) for one in iterables])))


@replace_call(filter)
def filter_(function: Any, iterable: Any) -> Any:
    """``filter(...)``."""

    def kept(item: Any) -> Any:
        holds = truth_of(item if function is None else call(function, item))
        if isinstance(holds, bool):
            return item if holds else SKIP
        return select(holds, lambda: item, lambda: SKIP)

    return new(_mapped(kept, iterable, filters=True))


def _mapped(function: Callable[[Any], Any], iterable: Any, filters: bool = False) -> MapCursor | PushedMap:
    pushed = as_pushed(iterable)
    return MapCursor(function, cursor(iterable), filters) if pushed is None else PushedMap(function, pushed)


@replace_call(reversed)
def reversed_(value: Any) -> Any:
    """``reversed(...)``."""
    method = getattr(type(value), "__reversed__", None)
    return call(method, value) if is_user_function(method) else new(reversed_cursor(value))


@replace_call(list)
def list_(value: Any = ()) -> Any:
    """``list(...)``."""
    if isinstance(value, Deferred) and listed(value) is None:
        few = items_of_array(value)
        return Deferred(list, (value,)) if few is None else new_list(few)
    if isinstance(value, list) or listed(value) is not None or isinstance(contents_of(value), Growable):
        return new_list(contents(listed(value) or value))
    if isinstance(value, dict) and isinstance(contents(value), (Table, Union)):
        return DictView(value, "keys").listed()
    items = drained(value) if not is_lazy(value) and as_pushed(value) is None else None
    if items is not None:
        return new_list(items)
    made: list[Any] = new([])
    each(value, lambda item: append(made, item))
    return made


def contents_of(value: Any) -> Any:
    """The elements of a list or deque, None for anything else."""
    return contents(value) if is_container(value) and not isinstance(value, (dict, set)) else None


@replace_call(tuple)
def tuple_(value: Any = ()) -> Any:
    """``tuple(...)``."""
    if type(value) is tuple or listed(value) is not None:
        return value
    return tuple(static(value, "tuple()")) if isinstance(value, (dict, set)) else tuple_of(list_(value))


@replace_call(set)
def set_(value: Any = ()) -> Any:
    """``set(...)``."""
    if isinstance(value, list) and isinstance(contents(value), Growable):
        return rt.set_of_all(value)
    if isinstance(value, (dict, set)) and isinstance(contents(value), Table):
        made: Any = new(set())
        set_contents(made, Table(contents(value).kind, contents(value).keys, None))
        return made
    items = known_items(value, "set()")
    if any(is_runtime(item) for item in items):
        fall_back(NeedsValue, "a set of values that only the run knows")
    check_keys(items)
    return new(run_operation(set, items))


@replace_call(dict)
def dict_(*args: Any, **kwargs: Any) -> Any:
    """``dict(...)``."""
    if args and isinstance(args[0], FieldsOf):
        args = (args[0].fields(),)
    if args and isinstance(args[0], dict) and isinstance(contents(args[0]), Union):
        either: Any = new({})
        found = contents(args[0])
        set_contents(either, Union(found.tag, [{**one, **kwargs} for one in found.alternatives]))
        return either
    if args and isinstance(args[0], dict) and isinstance(contents(args[0]), Table) and not kwargs:
        made: Any = new({})
        set_contents(made, contents(args[0]))
        return made
    if args and isinstance(args[0], dict):
        items = static(args[0], "dict()")
    elif len(args) == 1 and not kwargs and _is_of_run_time_length(args[0]):
        return rt.dict_of(list_(args[0]))
    elif args and hasattr(type(args[0]), "keys") and not isinstance(args[0], StandIn):
        return invoke(_from_mapping, (args[0], new(kwargs)), {})
    else:
        items = [tuple(known_items(pair, "an item")) for pair in known_items(args[0], "dict()")] if args else []
        if any(len(pair) == 2 and is_runtime(pair[0]) for pair in items):
            return invoke(_from_pairs, (tuple(items), new(kwargs)), {})
    check_keys(items if isinstance(items, dict) else [pair[0] for pair in items if pair])
    return new(run_operation(dict, items, **kwargs))


def _from_mapping(mapping: Any, more: Any) -> Any:
    made = {key: mapping[key] for key in mapping.keys()}  # noqa: SIM118 (any object that has keys)
    made.update(more)
    return made


def _from_pairs(pairs: Any, more: Any) -> Any:
    made = {}
    for key, value in pairs:
        made[key] = value
    made.update(more)
    return made


def _is_of_run_time_length(value: Any) -> bool:
    """Whether pairs are given by lists, or iterations over lists, whose length only the run knows."""
    if isinstance(value, ZipCursor):
        return any(isinstance(one, ListCursor) and isinstance(contents(one.container), Growable) for one in value.cursors)
    return isinstance(value, list) and isinstance(contents(value), Growable)


@replace_call(sorted)
def sorted_(iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """``sorted(...)``: a stable insertion sort where the order is decided at run time."""
    made = list_(iterable)
    items = contents(made)
    if isinstance(items, Growable):
        return _sorted_growable(items, key, reverse)
    if not isinstance(items, list):
        fall_back(NeedsValue, "sorted() of a list of unknown contents")
    keys = [item if key is None else call(key, item) for item in items]
    if not any(is_runtime(one) for one in keys):
        order = run_operation(sorted, range(len(items)), key=keys.__getitem__, reverse=reverse)
        return new_list([items[place] for place in order])
    return new_list(_sorted_at_run_time(items, keys, reverse))


def _sorted_at_run_time(items: list[Any], keys: list[Any], reverse: Any) -> list[Any]:
    pairs = _number_keys(keys)
    if pairs is None or not isinstance(reverse, bool):
        return fall_back(NeedsValue, "sorted() by keys that are no numbers")
    if not pairs.dtype.is_floating:
        return permuted(items, _argsort(pairs, reverse))
    unordered = tf.reduce_any(tf.math.is_nan(pairs))
    if has_effects_so_far(current()):
        by_python = Deferred(_order_of, (Deferred(numpy_value, (pairs,)), reverse))
        return permuted(items, select(unordered, lambda: tensor_of(by_python), lambda: _argsort(pairs, reverse)))
    leave_to_python_if(unordered, "sorted() of keys that are not a number")
    return permuted(items, _argsort(pairs, reverse))


def _argsort(keys: tf.Tensor, reverse: bool) -> tf.Tensor:
    return tf.argsort(keys, stable=True, direction="DESCENDING" if reverse else "ASCENDING")


def _order_of(keys: np.ndarray, reverse: bool) -> np.ndarray:
    """The order in which Python puts keys that may be NaN: it depends on which of them are compared."""
    return np.array(sorted(range(len(keys)), key=keys.tolist().__getitem__, reverse=reverse), np.int32)


def _sorted_growable(found: Growable, key: Any, reverse: Any) -> Any:
    """The elements of a list of run-time length in order."""
    keys = found
    if key is not None:
        held: list[Any] = new([])
        each(new_list(found), lambda item: append(held, call(key, item)))
        keys = contents(held)
    element = keys.element if isinstance(keys, Growable) else None
    if not isinstance(reverse, bool) or not isinstance(element, (Dense, Number)) or not _is_sortable(element):
        fall_back(NeedsValue, "sorted() of a list of run-time length by keys that are no numbers")
    column = stacked_column(keys, 0)
    if column.dtype.is_floating:
        leave_to_python_if(tf.reduce_any(tf.math.is_nan(column)), "sorted() of keys that are not a number")
    column = tf.cast(column, tf.int32) if column.dtype == tf.bool else column
    return new_list(picked(found, _argsort(column, reverse)))


def _is_sortable(element: Dense | Number) -> bool:
    (dtype, shape), = element.components()
    return shape.rank == 0 and (dtype.is_integer or dtype.is_floating or dtype == tf.bool)


def _number_keys(keys: list[Any]) -> tf.Tensor | None:
    of_arrays = [one.args[0] if isinstance(one, Deferred) and one.function is numpy_value else None for one in keys]
    if all(one is not None and one.dtype != tf.string for one in of_arrays):
        keys = of_arrays
    if all(number_kind(one) for one in keys):
        kind = "float" if any(number_kind(one) == "float" for one in keys) else "int"
        return tf.stack([as_number(one, kind) for one in keys])
    if all(isinstance(one, tf.Tensor) and one.shape.rank == 0 and one.dtype == keys[0].dtype for one in keys):
        return tf.stack(keys)
    return None


# ------------------------------------------------------------------------------------------------ iterators
@replace_call(iter)
def iter_(value: Any, *sentinel: Any) -> Any:
    """``iter(...)``."""
    if sentinel:
        return fall_back(ForeignCall, "iter() with a sentinel")
    if isinstance(value, (tf.data.Dataset, tf.data.Iterator)):
        return iter(value)
    if isinstance(value, Cursor):
        return value
    if as_pushed(value) is not None:
        fall_back(UnsupportedSyntax, "iter() of a generator")
    items = known_items(value, "iter()")
    return new(StaticIterator(items))


@replace_call(next)
def next_(iterator: Any, *default: Any) -> Any:
    """``next(...)``."""
    method = getattr(type(iterator), "__next__", None)
    if isinstance(iterator, tf.data.Iterator):
        return _next_element(iterator, default)
    if isinstance(iterator, StaticIterator):
        return _next_static(iterator, default)
    if isinstance(iterator, Endless):
        return EndlessCursor(iterator).next()
    if is_user_function(method):
        if default:
            fall_back(ForeignCall, "next() with a default on an object with __next__")
        return call(method, iterator)
    if isinstance(iterator, (GeneratorValue, GeneratorCall, Cursor, Pushed)):
        found = first_item(iterator, default[0] if default else UNBOUND)
        return found if default else _or_stop(found)
    if isinstance(iterator, StandIn):
        return iterator.refuse()
    return call_library(next, (iterator, *default), {})


def _or_stop(found: Any) -> Any:
    """What was found; where nothing was, the run raises."""
    if found is UNBOUND:
        return raise_error(StopIteration())
    return stripped(found, UNBOUND, StopIteration()) if isinstance(found, Union) else found


def _next_static(iterator: StaticIterator, default: tuple[Any, ...]) -> Any:
    cursor = IteratorCursor(iterator)
    if not cursor.has_next():
        return default[0] if default else raise_error(StopIteration())
    return cursor.next()


def _next_element(iterator: Any, default: tuple[Any, ...]) -> Any:
    element = iterator.get_next_as_optional()
    present = element.has_value()
    if default:
        return select(present, element.get_value, lambda: default[0])
    stop_if(tf.logical_not(present), StopIteration())
    return element.get_value()
