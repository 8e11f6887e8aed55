"""Python is called by a function of the library, an operator or a property, and an operation fails after that: no call is made twice."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys

import tensorflow as tf

from tests.programs import World, call, f32, i32, program

PLACES = (0, 1, 5, 0, 7, 1)  # into two elements
THERE = (0, 1, 0, 1)


def show(value):
    print("shown", value)
    return value


class Speaking:
    """Prints whatever it does."""

    @property
    def scale(self):
        print("scale")
        return 2.0

    def __add__(self, other):
        print("add", other)
        return other

    def __getitem__(self, key):
        print("item", key)
        return 1.0

    def __bool__(self):
        print("bool")
        return True

    def __str__(self):
        print("str")
        return "speaking"

    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, *told):
        print("exit", *told)
        return False

    def __iter__(self):
        for i in range(2):
            print("yield", i)
            yield i


@dataclasses.dataclass
class Checked:
    """Prints when it has been made."""

    value: float

    def __post_init__(self):
        print("made", self.value)


@contextlib.contextmanager
def announced():
    print("begin")
    yield 1.0
    print("end")


def _world(before, places=PLACES):
    """A program that does `before`, writes, and takes an element that may not be there."""
    weights, seen, speaking = tf.Variable([1.0, 2.0]), [], Speaking()

    def step(i):
        scale = before(speaking)
        weights.assign_add([1.0, 1.0])
        seen.append(scale)
        return tf.gather(weights, i) * scale

    return step, [call(i32(place)) for place in places], lambda: (weights, seen)


@program("unseen_calls")
def by_map() -> World:
    return _world(lambda speaking: float(sum(map(show, [1, 2]))))


@program("unseen_calls")
def by_map_between_calls() -> World:
    def before(speaking):
        show(1)
        found = list(map(show, [1, 2]))
        show(1)
        return float(found[0])
    return _world(before)


@program("unseen_calls")
def print_itself_by_map() -> World:
    return _world(lambda speaking: float(len(list(map(print, ["a", "b"])))))


@program("unseen_calls")
def by_the_key_of_max() -> World:
    return _world(lambda speaking: float(max((3, 1, 2), key=show)))


@program("unseen_calls")
def by_reduce() -> World:
    return _world(lambda speaking: functools.reduce(lambda a, b: show(a + b), [1.0, 2.0, 3.0]))


@program("unseen_calls")
def by_a_property() -> World:
    return _world(lambda speaking: speaking.scale)


@program("unseen_calls")
def by_operators() -> World:
    return _world(lambda speaking: (speaking + 2.0) * speaking[0])


@program("unseen_calls")
def by_a_condition_and_a_text() -> World:
    return _world(lambda speaking: float(len(f"{speaking}")) if speaking else 0.0)


@program("unseen_calls")
def by_unpacking() -> World:
    def before(speaking):
        first, second = speaking
        return float(first + second)
    return _world(before)


@program("unseen_calls")
def by_an_exit_stack() -> World:
    def before(speaking):
        with contextlib.ExitStack() as stack:
            stack.enter_context(speaking)
            stack.callback(show, 5)
        return 1.0
    return _world(before)


@program("unseen_calls")
def by_a_manager_that_decorates() -> World:
    @announced()
    def inside(value):
        print("inside")
        return value
    return _world(lambda speaking: inside(2.0))


@program("unseen_calls")
def by_what_a_dataclass_makes() -> World:
    return _world(lambda speaking: Checked(3.0).value)


@program("unseen_calls")
def tf_print_by_map() -> World:
    def before(speaking):
        list(map(lambda value: tf.print("shown", value, output_stream=sys.stdout), [1, 2]))
        return 1.0
    return _world(before)


@program("unseen_calls")
def items_of_a_property() -> World:
    class Source:
        @property
        def items(self):
            return (show(i) for i in (1, 2))
    source = Source()

    def before(speaking):
        total = 0.0
        for item in source.items:
            total += item
        return total
    return _world(before)


# ------------------------------------------------------------------------------------------------ seen, and so repeated
def _by_statements(speaking):
    total = 0.0
    with speaking, announced() as one:
        for i, item in enumerate(speaking):
            total += show(i + item) * one
    return total + sum(show(i) for i in (1, 2))


def _by_a_decorator_and_a_default(speaking):
    def decorated(function):
        print("decorated", function.__name__)
        return function

    @decorated
    def inside(value=show(2.0)):  # noqa: B008
        return value

    return inside()


@program("unseen_calls")
def by_statements() -> World:
    return _world(_by_statements)


@program("unseen_calls", graph=True)
def by_statements_where_all_is_there() -> World:
    return _world(_by_statements, THERE)


@program("unseen_calls")
def by_a_decorator_and_a_default() -> World:
    return _world(_by_a_decorator_and_a_default)


@program("unseen_calls", graph=True)
def by_a_decorator_and_a_default_where_all_is_there() -> World:
    return _world(_by_a_decorator_and_a_default, THERE)


@program("unseen_calls", graph=True)
def where_nothing_fails() -> World:
    seen, speaking = [], Speaking()

    def step(x):
        seen.append(speaking.scale)
        return x * sum(map(show, [1.0, 2.0]))
    return step, [call(f32(1.0)), call(f32(2.0))], lambda: seen
