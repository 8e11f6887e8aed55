"""Operators that classes define: who is asked first, and what NotImplemented means."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, program


class Amount:
    """Adds to, and is compared with, its own kind only."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value if isinstance(other, Amount) else NotImplemented

    __hash__ = object.__hash__

    def __lt__(self, other):
        return self.value < other.value if isinstance(other, Amount) else NotImplemented

    def __add__(self, other):
        return Amount(self.value + other.value) if isinstance(other, Amount) else NotImplemented

    def __radd__(self, other):
        return Amount(self.value + other) if isinstance(other, int) else NotImplemented

    def __iadd__(self, other):
        if not isinstance(other, float):
            return NotImplemented
        self.value = self.value + other
        return self


class Special(Amount):
    """A derived class is asked first."""

    def __radd__(self, other):
        return "reflected"

    def __lt__(self, other):
        return "less"

    def __gt__(self, other):
        return "greater"


class Other:
    """Answers for what `Amount` does not know."""

    def __gt__(self, other):
        return "greater"

    def __radd__(self, other):
        return "reflected"


def told(act):
    """What is raised, as text."""
    try:
        return act()
    except TypeError as error:
        return str(error)


@program("operator_methods", graph=True)
def equality_of_unlike_values() -> World:
    def fn(x):
        a = Amount(x)
        return a == 3, a != 3, 3 == a, 3 != a, a == None, a != None, a == "a", a == a, a != Amount(x)  # noqa: E711
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods", graph=True)
def equality_in_branches_and_loops() -> World:
    def fn(x):
        n = 0
        same = Amount(x) == 3 if x > 1.5 else Amount(x) == Amount(x * 1.0)
        for i in tf.range(3):
            if Amount(x) == None:  # noqa: E711
                n += 1
            if Amount(x) != 3:
                n += 2
            if Amount(tf.cast(i, tf.float32)) == Amount(x):
                n += 10
        return same, n
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods", graph=True)
def unlike_values_among_elements() -> World:
    def fn(x):
        a = Amount(x)
        values = [1, a, 2]
        return a in values, 3 in values, values.index(a), values.count(3), (1, a) == (1, 3), [a] == [a]
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods", graph=True)
def the_other_operand_answers() -> World:
    def fn(x):
        return Amount(x) < Other(), Amount(x) + Other(), (2 + Amount(x)).value, sum([Amount(x), Amount(x)], 0).value
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods", graph=True)
def a_derived_class_is_asked_first() -> World:
    def fn(x):
        a, s = Amount(x), Special(x)
        return a + s, (s + a).value, a < s, a > s, s < a
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods")
def nobody_answers() -> World:
    def fn(x):
        return [told(lambda: Amount(x) < 3), told(lambda: 3 < Amount(x)), told(lambda: Amount(x) + "a"), told(lambda: "a" + Amount(x)),
                told(lambda: 1.5 + Amount(x)), told(lambda: [x] + Amount(x)), told(lambda: Amount(x) + [x])]
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods")
def nobody_answers_in_a_branch() -> World:
    def fn(x, n):
        if x > 0.0:
            return (n + 1.5) + Amount(x)
        return x
    return fn, [call(f32(-1.0), 1), call(f32(1.0), 2), call(f32(-1.0), 3)]


@program("operator_methods", graph=True)
def in_place_asks_the_other_methods() -> World:
    def fn(x):
        a = b = Amount(x)
        a += 1.0
        c = a
        a += Amount(x)
        return a.value, b.value, c is b, a is b
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods")
def in_place_that_nobody_answers() -> World:
    def fn(x):
        a = Amount(x)
        try:
            a += "a"
        except TypeError as error:
            return str(error), a.value
        return a
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods")
def not_comparable_with_a_tensor() -> World:
    def fn(x):
        try:
            return Amount(x) == x
        except (TypeError, ValueError) as error:
            return type(error).__name__
    return fn, each(f32(1.0), f32(2.0))


@program("operator_methods", graph=True)
def list_extended_by_an_object_that_does_not_add() -> World:
    class Items:
        def __radd__(self, other):
            return NotImplemented

        def __iter__(self):
            return iter([1.0, 2.0])

    def fn(x):
        values = [x]
        values += Items()
        return values
    return fn, each(f32(1.0), f32(2.0))
