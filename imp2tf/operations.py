"""Binary operators and comparisons on any values: users' own methods, containers, numbers, tensors."""
from __future__ import annotations

import collections
import enum
import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import number_of, over, raise_error, truth, truth_number
from imp2tf.arithmetic import SWAPPED, binary, compare, holds_runtime, run_operation
from imp2tf.calls import call, invoke
from imp2tf.container_methods import ContainerMethod, container_method
from imp2tf.containers import any_equal, concatenated, grow, has_element, listed, new, new_list, note_shared, static
from imp2tf.copies import copied
from imp2tf.cursors import RunRange
from imp2tf.dict_views import DictView
from imp2tf.errors import Contents, ForeignCall, NeedsValue, fall_back
from imp2tf.forcing import forced
from imp2tf.growable_items import repeated
from imp2tf.heap import contents
from imp2tf.kinds import is_container, is_user_function, is_users_iterable
from imp2tf.lifting import is_same_input
from imp2tf.object_fields import FieldsOf
from imp2tf.operator_methods import ARRAYS, binary_by_methods, compared_by_methods, has_comparison, has_operator, method_of, refused
from imp2tf.python_numbers import BINARY, COMPARE
from imp2tf.region import select
from imp2tf.results import Kept
from imp2tf.searches import equal_growables, equals_items, in_range
from imp2tf.table_items import has_key
from imp2tf.texts import operand
from imp2tf.values import (
    Deferred,
    Growable,
    PyNumber,
    StandIn,
    Table,
    Union,
    is_runtime,
    negated_bool,
    number_kind,
    numpy_value,
    python_bool,
)

__all__ = ["binary_operation", "compare_operation", "contains", "is_same", "repeated_list", "truth_as_number", "truth_of"]


# ------------------------------------------------------------------------------------------------ binary
def binary_operation(op: str, a: Any, b: Any, function: Callable[[Any, Any], Any] | None = None) -> Any:
    """``a op b``; `function` may be the in-place one, which words its errors otherwise."""
    if isinstance(a, Union):
        return over(a, lambda one: binary_operation(op, one, b, function))
    if isinstance(b, Union):
        return over(b, lambda one: binary_operation(op, a, one, function))
    if op == "%" and isinstance(a, (str, bytes)):
        return binary(op, a, operand(b), function)
    if op in ("&", "|", "-", "^"):
        a, b = _keys_as_set(a), _keys_as_set(b)
    _refuse_stand_ins(a, b)
    found = binary_by_methods(op, a, b)
    if found is not NotImplemented:
        return found
    if has_operator(op, a, b):
        return refused(op, a, b, binary, function)
    if is_container(a) or is_container(b):
        return _container_operation(op, a, b)
    return binary(op, a, b, function)


def _keys_as_set(value: Any) -> Any:
    """The known keys that a view shows, as a set; any other value."""
    if not isinstance(value, DictView) or value.name != "keys" or not isinstance(value.found(), dict):
        return value
    return new(set(value.found()))


def _refuse_stand_ins(*operands: Any) -> None:
    for one in operands:
        if isinstance(one, StandIn):
            one.refuse()


def _container_operation(op: str, a: Any, b: Any) -> Any:
    if op == "+" and isinstance(a, list) and isinstance(b, list):
        return _concatenated(a, b)
    if op == "*" and (isinstance(a, int) or isinstance(b, int)) and not isinstance(a, dict):
        return repeated_list(*((b, a) if isinstance(a, int) else (a, b)))
    if op == "*" and any(isinstance(one, PyNumber) for one in (a, b)) and not isinstance(a, (dict, set)):
        return repeated_list(*((b, a) if isinstance(a, PyNumber) else (a, b)))
    if isinstance(a, list) or isinstance(b, list):
        return binary(op, _as_operand(a), _as_operand(b))
    if op in ("+", "-", "|", "&") and isinstance(a, collections.Counter) and isinstance(b, collections.Counter):
        return invoke(_counted, (op, a, b), {})
    if op == "|" and isinstance(a, dict) and isinstance(b, dict) and not isinstance(contents(a), Table):
        made = copied(a, deep=False)
        container_method(ContainerMethod(made, "update"), (b,), {})
        return made
    if op in ("-", "&") and isinstance(b, set) and isinstance(contents(b), Table) and isinstance(a, (set, frozenset)):
        return invoke(_difference if op == "-" else _intersection, (static(a, op) if is_container(a) else a, b), {})
    if isinstance(a, (dict, set, frozenset)) and isinstance(b, (dict, set, frozenset)):
        x, y = (static(one, op) if is_container(one) else one for one in (a, b))
        made = BINARY[op](x, y)
        return new(made) if is_container(made) else made
    return fall_back(ForeignCall, f"{op} on a {type(a).__name__} and a {type(b).__name__}")


def _difference(known: Any, other: Any) -> Any:
    return {one for one in tuple(known) if one not in other}


def _intersection(known: Any, other: Any) -> Any:
    return {one for one in tuple(known) if one in other}


def _counted(op: str, a: Any, b: Any) -> Any:
    made: Any = collections.Counter()
    for key in [*a, *[one for one in b if one not in a]]:
        x, y = a[key], b[key]
        if op in ("+", "-"):
            count = x + y if op == "+" else x - y
        else:
            count = x if (x > y) == (op == "|") else y
        if count > 0:
            made[key] = count
    return made


def _as_operand(value: Any) -> Any:
    """A list beside a tensor or array: what TensorFlow and NumPy see of it."""
    if not isinstance(value, list):
        return value
    items = static(value, "an operator")
    if any(isinstance(item, PyNumber) for item in items):
        fall_back(NeedsValue, "a list of run-time numbers as an operand")
    return [_as_operand(item) for item in items]


def _concatenated(a: list[Any], b: list[Any]) -> list[Any]:
    x, y = contents(a), contents(b)
    if isinstance(x, Union) or isinstance(y, Union):
        fall_back(Contents, "+ on a list of unknown contents")
    if isinstance(x, Growable) or isinstance(y, Growable):
        return new_list(concatenated(*(one if isinstance(one, Growable) else grow(one) for one in (x, y))))
    return new_list([*x, *y])


def repeated_list(items: Any, times: Any) -> Any:
    """``items * times`` for a list or deque."""
    found = contents(items)
    if isinstance(found, Union):
        fall_back(Contents, "* on a list of unknown contents")
    if isinstance(times, PyNumber) and times.kind == "float":
        raise_error(TypeError("can't multiply sequence by non-int of type 'float'"))
    if isinstance(items, collections.deque) and (isinstance(found, Growable) or not isinstance(times, int)):
        fall_back(Contents, "* on a deque of run-time length")
    if isinstance(found, list) and isinstance(times, int):
        return new_list(found * times) if isinstance(items, list) else new(items.__class__(found * times, items.maxlen))
    grown = found if isinstance(found, Growable) else grow(found)
    note_shared(grown, level=2)
    return new_list(repeated(grown, times))


# ------------------------------------------------------------------------------------------------ comparison
def compare_operation(op: str, a: Any, b: Any) -> Any:
    """``a op b`` for an ordering or equality."""
    if isinstance(a, Union):
        return over(a, lambda one: compare_operation(op, one, b))
    if isinstance(b, Union):
        return over(b, lambda one: compare_operation(op, a, one))
    a, b = _keys_as_set(a), _keys_as_set(b)
    _refuse_stand_ins(a, b)
    found = compared_by_methods(op, a, b, compare_operation)
    if found is not NotImplemented:
        return found
    if has_comparison(a, op) or has_comparison(b, SWAPPED[op]):
        return _unanswered(op, a, b)
    if is_container(a) and is_container(b):
        return _compare_containers(op, a, b)
    if isinstance(a, tuple) and isinstance(b, tuple) and op in ("==", "!="):
        return _negated(op, _equal_items(list(a), list(b)))
    if isinstance(a, tuple) and isinstance(b, tuple) and holds_runtime((a, b)):
        return _ordered(op, list(a), list(b))
    return compare(op, _as_operand(a), _as_operand(b))


def _unanswered(op: str, a: Any, b: Any) -> Any:
    """Objects whose methods do not compare them are equal if they are the same, and have no order."""
    if any(isinstance(one, (*ARRAYS, np.generic, Deferred)) for one in (a, b)):
        return fall_back(NeedsValue, f"{op} of a {type(a).__name__} and a {type(b).__name__}")
    return _negated(op, truth(is_same(a, b))) if op in ("==", "!=") else refused(op, a, b, compare)


def _negated(op: str, equal: Any) -> Any:
    if op == "==":
        return truth_number(equal)
    return negated_bool(equal)


def _compare_containers(op: str, a: Any, b: Any) -> Any:
    x, y = contents(a), contents(b)
    if op in ("==", "!=") and type(a) is type(b) and (isinstance(x, Growable) or isinstance(y, Growable)) and not (
            isinstance(x, Union) or isinstance(y, Union)):
        return _negated(op, _equal_growing(x, y))
    if isinstance(a, collections.deque) is not isinstance(b, collections.deque):
        return compare(op, type(a)(), type(b)())  # never equal, and in no order
    x, y = static(a, op), static(b, op)
    if op in ("==", "!=") and isinstance(x, list) and isinstance(y, list):
        return _negated(op, _equal_items(x, y))
    if op in ("==", "!=") and isinstance(x, dict) and isinstance(y, dict):
        return _negated(op, _equal_entries(a, x, b, y))
    if isinstance(x, list) and isinstance(y, list) and isinstance(a, list) and isinstance(b, list):
        return _ordered(op, x, y)
    if any(is_runtime(item) for item in (*x, *y)):
        fall_back(NeedsValue, f"{op} on containers of run-time values")
    return compare(op, x, y)


def _equal_entries(a: dict[Any, Any], x: dict[Any, Any], b: dict[Any, Any], y: dict[Any, Any]) -> Any:
    """Whether two dicts hold equal entries: two with an order also in the same order, two counters also zeros that are not there."""
    if isinstance(a, collections.Counter) and isinstance(b, collections.Counter):
        x, y = ({**dict.fromkeys([*x, *y], 0), **one} for one in (x, y))
    if isinstance(a, collections.OrderedDict) and isinstance(b, collections.OrderedDict) and list(x) != list(y):
        return False
    return set(x) == set(y) and _equal_items(list(x.values()), [y[key] for key in x])


def _ordered(op: str, x: list[Any], y: list[Any]) -> Any:
    """The ordering of two sequences: that of the first items which are not equal, else that of their lengths."""
    if not x or not y:
        return COMPARE[op](len(x), len(y))
    same = True if x[0] is y[0] else truth(compare_operation("==", x[0], y[0]))
    if isinstance(same, bool):
        return _ordered(op, x[1:], y[1:]) if same else compare_operation(op, x[0], y[0])
    return select(same, lambda: _ordered(op, x[1:], y[1:]), lambda: compare_operation(op, x[0], y[0]))


def _equal_growing(x: Any, y: Any) -> Any:
    """Whether two lists, at least one of run-time length, hold equal items."""
    if isinstance(x, Growable) and isinstance(y, Growable):
        return equal_growables(x, y)
    return equals_items(x, y) if isinstance(x, Growable) else equals_items(y, x)


def _equal_items(x: list[Any], y: list[Any]) -> Any:
    """Whether two sequences hold the same or equal items: a bool or a scalar bool tensor."""
    if len(x) != len(y):
        return False
    if not x:
        return True
    first = True if x[0] is y[0] else truth(compare_operation("==", x[0], y[0]))
    if isinstance(first, bool):
        return first and _equal_items(x[1:], y[1:])
    return truth(select(first, lambda: truth_number(_equal_items(x[1:], y[1:])), lambda: False))


def is_same(a: Any, b: Any) -> Any:
    """``a is b``."""
    if isinstance(b, Union):
        a, b = b, a
    if isinstance(a, Union):
        return _union_is(a, b)
    for number, literal in ((a, b), (b, a)):
        if isinstance(number, PyNumber) and number.kind == "bool" and isinstance(literal, bool):
            return number if literal else PyNumber("bool", tf.logical_not(number.tensor))
    if isinstance(a, PyNumber) and isinstance(b, PyNumber) and a is not b:
        fall_back(NeedsValue, "`is` on run-time numbers")
    if (isinstance(a, PyNumber) and isinstance(b, (int, float))) or (isinstance(b, PyNumber) and isinstance(a, (int, float))):
        fall_back(NeedsValue, "`is` on a run-time number")
    if a is not b and (isinstance(a, Deferred) or isinstance(b, Deferred)):
        return _deferred_is(a, b)
    return is_same_input(a, b)


SINGLE = (type(None), bool, np.bool_, type(Ellipsis), type(NotImplemented), type, enum.Enum)
GIVE_TEXT = (format, repr, str)


def _deferred_is(a: Any, b: Any) -> Any:
    """``is`` where a value is known after the run: Python decides it, unless that value is text or an array and the other one is not."""
    value, other = (a, b) if isinstance(a, Deferred) else (b, a)
    kept = any(isinstance(one, Deferred) and isinstance(one.function, Kept) for one in (a, b))
    if kept and other is None:
        return False
    no_single = value.function is numpy_value or value.function in GIVE_TEXT  # but an array without dimensions gives np.True_, np.False_
    if not kept and no_single and isinstance(other, SINGLE) and not isinstance(other, np.bool_):
        return False
    if kept or isinstance(other, SINGLE):
        return PyNumber("bool", tf.convert_to_tensor(truth(forced(Deferred(python.is_, (a, b)), "bool")), tf.bool))
    if getattr in (value.function, getattr(other, "function", None)):
        fall_back(NeedsValue, "`is` on an attribute of a value that is known after the run")
    return is_same_input(a, b)


def _union_is(union: Union, other: Any) -> Any:
    hits = [is_same(one, other) for one in union.alternatives]
    if not any(isinstance(hit, PyNumber) for hit in hits):
        return PyNumber("bool", tf.gather(tf.constant(hits, tf.bool), union.tag))
    places = dict(enumerate(hits))
    index = Union(union.tag, list(places))
    return over(index, lambda place: places[place])


MOST_COMPARED = 64  # ints of a range, with a tensor


def contains(container: Any, value: Any) -> Any:
    """``value in container``."""
    if isinstance(container, Union):
        return over(container, lambda one: contains(one, value))
    if isinstance(value, Union):
        return over(value, lambda one: contains(container, one))
    if listed(container) is not None:
        container = listed(container)
    if isinstance(container, FieldsOf):
        return contains(container.fields(), value)
    method = method_of(container, "__contains__")
    if method is not None:
        return truth_number(call(method, container, value))
    if is_container(container) and isinstance(contents(container), Table):
        return has_key(contents(container), value)
    if is_container(container) or isinstance(container, tuple):
        return has_element(container, value)
    if isinstance(container, DictView):
        return container.over(lambda view: _view_contains(view, value))
    if is_users_iterable(container):
        return invoke(_is_among, (container, value), {})
    if isinstance(container, Deferred) or isinstance(value, Deferred):
        return number_of(python.contains, container, value)
    if isinstance(container, (range, RunRange)) and number_kind(value):
        return in_range(container, value)
    if isinstance(container, range) and is_runtime(value) and len(container) <= MOST_COMPARED:
        return any_equal(list(container), value)
    if is_runtime(value):
        fall_back(NeedsValue, f"`in` on a {type(container).__name__}")
    if hasattr(container, "__next__"):
        fall_back(ForeignCall, f"`in` on a {type(container).__name__}")
    return run_operation(python.contains, container, value)


def _is_among(container: Any, value: Any) -> Any:
    return any(item is value or item == value for item in container)


def _view_contains(view: DictView, value: Any) -> Any:
    if view.name == "keys":
        return contains(view.owner, value)
    found = view.found()
    if isinstance(found, Table):
        return contains(view.listed(), value)
    return over(found, lambda one: any_equal(list(view.of(one)), value)) if isinstance(found, Union) else any_equal(list(view), value)


def truth_of(value: Any) -> Any:
    """The truth of any value: a bool, or a scalar bool tensor; a user's ``__bool__`` and ``__len__`` are converted."""
    if isinstance(value, Union):
        return truth(over(value, truth_as_number))
    if listed(value) is not None:
        return truth(listed(value))
    for name in ("__bool__", "__len__"):
        method = getattr(type(value), name, None)
        if method is not None:
            return truth(call(method, value)) if is_user_function(method) else truth(value)
    return truth(value)


def truth_as_number(value: Any) -> Any:
    """``bool(value)``."""
    return python_bool(truth_of(value))
