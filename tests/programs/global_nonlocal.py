"""Globals and cells read and written: in branches, loops and helpers, unbound, shared by functions."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program

counter = 0
total = None
scale = 1.0
registry: dict = {}


def _count_one_more() -> None:
    global counter
    counter += 1


def _reset() -> None:
    global counter, total, scale
    counter, total, scale = 0, f32(0.0), 1.0
    registry.clear()
    globals().pop("late_name", None)


@program("global_nonlocal", graph=True, golden=True)
def global_counter() -> World:
    _reset()

    def fn(x):
        global counter
        counter += 1
        return x * counter
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: counter


@program("global_nonlocal", graph=True)
def global_in_a_branch() -> World:
    _reset()

    def fn(x):
        global counter
        if x > 0:
            counter += 10
        else:
            counter -= 1
        return counter
    return fn, each(f32(1.0), f32(-1.0)), lambda: counter


@program("global_nonlocal", graph=True)
def global_tensor_in_a_loop() -> World:
    _reset()

    def fn(xs):
        global total
        for x in xs:
            total = total + x
        return total
    return fn, each(f32([1.0, 2.0]), f32([3.0])), lambda: total


@program("global_nonlocal", graph=True)
def global_written_by_a_helper() -> World:
    _reset()

    def fn(xs):
        for x in xs:
            if x > 0:
                _count_one_more()
        return counter
    return fn, each(i32([1, -1, 2]), i32([-1])), lambda: counter


@program("global_nonlocal", graph=True)
def global_changed_between_calls() -> World:
    _reset()

    def fn(x):
        return x * scale

    def drive(x):
        global scale
        result = fn(x)
        scale += 1.0
        return result
    return drive, each(f32(1.0), f32(1.0), f32(1.0)), lambda: scale


@program("global_nonlocal", graph=True)
def global_dict() -> World:
    _reset()

    def fn(x, name):
        registry[name] = registry.get(name, 0) + 1
        return x + len(registry)
    return fn, [call(i32(0), "a"), call(i32(0), "b"), call(i32(0), "a")], lambda: registry


@program("global_nonlocal")
def global_that_is_not_there() -> World:
    _reset()

    def fn(x):
        if x > 0:
            return late_name
        return x
    return fn, each(f32(-1.0), f32(1.0))


@program("global_nonlocal", graph=True)
def global_made_by_the_call() -> World:
    _reset()

    def fn(x):
        global late_name
        late_name = x * 2
        return late_name + 1
    return fn, each(f64(1.0), f64(2.0)), lambda: globals().get("late_name")


@program("global_nonlocal", graph=True, golden=True)
def nonlocal_counter() -> World:
    count = 0

    def fn(x):
        nonlocal count
        count += 1
        return x + count
    return fn, each(i32(1), i32(1)), lambda: count


@program("global_nonlocal", graph=True)
def nonlocal_in_a_while_loop() -> World:
    steps = 0
    last = None

    def fn(x):
        nonlocal steps, last
        while x > 1.0:
            x = x / 2.0
            steps += 1
            last = x
        return steps
    return fn, each(f32(8.0), f32(0.5), f32(3.0)), lambda: (steps, last)


@program("global_nonlocal", graph=True)
def nonlocal_of_the_converted_function() -> World:
    def fn(xs):
        best = f32(-1.0)

        def see(v):
            nonlocal best
            if v > best:
                best = v

        for x in xs:
            see(x)
        return best
    return fn, each(f32([1.0, 5.0, 2.0]), f32([-3.0]))


@program("global_nonlocal", graph=True)
def two_closures_share_a_cell() -> World:
    def make():
        value = 0

        def add(n):
            nonlocal value
            value += n

        def read():
            return value
        return add, read

    add, read = make()

    def fn(x):
        if x > 0:
            add(5)
        return x * read()
    return fn, each(f16(1.0), f16(-1.0), f16(1.0)), lambda: read()


@program("global_nonlocal")
def cell_that_is_unbound() -> World:
    def fn(x):
        if x > 10:
            return later * x  # noqa: F821 (deleted below)
        return x

    drop = []

    def drive(x):
        nonlocal later
        if drop:
            later = 3.0
        drop.append(1)
        return fn(x)
    later = None
    del later
    return drive, each(f32(11.0), f32(11.0), f32(1.0)), lambda: len(drop)


@program("global_nonlocal", graph=True)
def raise_keeps_the_writes_before_it() -> World:
    _reset()
    seen = 0

    def fn(x):
        global counter
        nonlocal seen
        counter += 1
        if x < 0:
            raise ValueError("negative")
        seen += 1
        return x
    return fn, each(i32(1), i32(-1), i32(2)), lambda: (counter, seen)


@program("global_nonlocal", graph=True)
def global_of_several_kinds() -> World:
    _reset()

    def fn(x):
        global total
        if x > 0:
            total = None
        else:
            total = x
        return "none" if total is None else total
    return fn, each(f32(1.0), f32(-1.0)), lambda: total


@program("global_nonlocal", graph=True)
def local_shadows_the_global() -> World:
    _reset()

    def fn(x):
        counter = x + 1
        for _ in tf.range(2):
            counter += 1
        return counter
    return fn, each(i64(1)), lambda: counter
