"""Looking for a value in lists of run-time length, and comparing them: loops of the graph that end at a hit."""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import truth
from imp2tf.compound_specs import holds_objects
from imp2tf.errors import Contents, fall_back
from imp2tf.growable import element_at, growable_length, stacked_column
from imp2tf.kinds import is_container
from imp2tf.looping import loop
from imp2tf.python_numbers import as_number
from imp2tf.region import leave_to_python_if, select
from imp2tf.session import current
from imp2tf.states import NO_STATE, Box
from imp2tf.values import Growable, PyNumber, is_runtime, number_kind

__all__ = ["compares_as_python", "count_of", "equal_growables", "equals_items", "in_range", "is_equal", "place_of"]


def is_equal(a: Any, b: Any) -> Any:
    """Whether two values are one object or equal: a bool, or a scalar bool tensor."""
    return True if a is b else truth(current().run.equal(a, b))


def compares_as_python(value: Any) -> bool:
    """Whether Python's own comparison of a value is known to be that of the program: it reads nothing that only the trace knows."""
    if isinstance(value, tuple):
        return all(map(compares_as_python, value))
    return not is_runtime(value) and not is_container(value) and type(value).__eq__ in _PLAIN_EQ


_COMPARED_BY_C: tuple[type, ...] = (object, bool, int, float, complex, str, bytes, type(None), range, slice, frozenset, type,
                                    types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_PLAIN_EQ: frozenset[Any] = frozenset(cls.__eq__ for cls in _COMPARED_BY_C)


def no_nan(found: Growable) -> None:
    """Equality has to decide, not identity: objects fall back; where a number is NaN the run ends and Python makes the call."""
    element = found.element
    if holds_objects(element):
        fall_back(Contents, "an object is looked for in a list of run-time length, where it is found by identity")
    for place, (dtype, shape) in enumerate(element.components()):
        if dtype.is_floating and shape.rank == 0:
            column = stacked_column(found, place)
            leave_to_python_if(tf.reduce_any(tf.math.is_nan(column)), "a list of run-time length holds NaN, which is found by identity")


def first_place(found: Growable, holds: Callable[[Any, tf.Tensor], Any], start: Any = 0) -> tf.Tensor:
    """The position of the first element for which `holds` (of the element and its position), the length if there is none."""
    count = growable_length(found)
    index, met = Box(tf.convert_to_tensor(start, tf.int32)), Box(tf.constant(False))

    def goes_on() -> tf.Tensor:
        return tf.logical_and(index.value < count, tf.logical_not(met.value))

    def step() -> tf.Tensor:
        place = index.value
        met.value = tf.convert_to_tensor(holds(element_at(found, place), place))
        index.value = tf.where(met.value, place, place + 1)
        return goes_on()

    loop(goes_on(), step, NO_STATE.plus(index).plus(met), holds.__code__)
    return index.value


def count_of(found: Growable, value: Any) -> PyNumber:
    """The number of elements that equal a value."""
    no_nan(found)
    count, total, index = growable_length(found), Box(tf.constant(0, tf.int64)), Box(tf.constant(0))

    def step() -> tf.Tensor:
        total.value = total.value + tf.cast(tf.convert_to_tensor(is_equal(element_at(found, index.value), value)), tf.int64)
        index.value = index.value + 1
        return index.value < count

    loop(count > 0, step, NO_STATE.plus(index).plus(total), step.__code__)
    return PyNumber("int", total.value)


def place_of(found: Growable, value: Any) -> tf.Tensor:
    """The position of the first element that equals a value, the length if there is none."""
    no_nan(found)
    return first_place(found, lambda item, place: is_equal(item, value))


def equal_growables(a: Growable, b: Growable) -> Any:
    """Whether two lists of run-time length hold equal elements, in order."""
    no_nan(a)
    same = tf.equal(growable_length(a), growable_length(b))

    def differs(item: Any, place: tf.Tensor) -> Any:
        return tf.logical_not(tf.convert_to_tensor(is_equal(item, element_at(b, place))))

    def all_equal() -> Any:
        return PyNumber("bool", tf.equal(first_place(a, differs), growable_length(a)))

    return truth(select(same, all_equal, lambda: PyNumber("bool", tf.constant(False))))


def equals_items(a: Growable, items: list[Any]) -> Any:
    """Whether a list of run-time length holds elements equal to these, in order."""
    no_nan(a)

    def at(index: int) -> Any:
        if index == len(items):
            return PyNumber("bool", tf.constant(True))
        equal = tf.convert_to_tensor(is_equal(element_at(a, tf.constant(index)), items[index]))
        return select(equal, lambda: at(index + 1), lambda: PyNumber("bool", tf.constant(False)))

    same = tf.equal(growable_length(a), len(items))
    return truth(select(same, lambda: at(0), lambda: PyNumber("bool", tf.constant(False))))


def in_range(bounds: Any, value: Any) -> Any:
    """Whether a number is in a range, either of which only the run may know."""
    parts = (bounds.start, bounds.stop, bounds.step, value)
    if not any(isinstance(one, PyNumber) for one in parts):
        return value in bounds
    kind = "float" if number_kind(value) == "float" else "int"
    start, stop, step, number = (as_number(one, kind) for one in parts)
    inside = (number >= start) & (number < stop) if bounds.step > 0 else (number <= start) & (number > stop)
    return PyNumber("bool", inside & tf.equal(tf.math.floormod(number - start, step), 0))
