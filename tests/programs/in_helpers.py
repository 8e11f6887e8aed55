"""The same constructs inside helper functions that are called from a loop over tensors."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("in_helpers", graph=True)
def break_in_the_helper() -> World:
    def first_multiple(k, xs):
        found = i32(-1)
        for x in xs:
            if x % k == 0:
                found = x
                break
        return found

    def fn(xs):
        total = i32(0)
        for k in tf.range(2, 5):
            total += first_multiple(k, xs)
        return total
    return fn, each(i32([3, 4, 6]), i32([1]))


@program("in_helpers", graph=True)
def return_from_a_loop_in_the_helper() -> World:
    def position(xs, wanted):
        for i in tf.range(tf.size(xs)):
            if xs[i] == wanted:
                return i
        return i32(-1)

    def fn(xs):
        places = []
        for wanted in i32([1, 2, 3]):
            places.append(position(xs, wanted))
        return places
    return fn, each(i32([3, 1]), i32([2, 2]))


@program("in_helpers", graph=True)
def while_in_the_helper() -> World:
    def digits(n):
        count = 0
        while n > 0:
            n = n // 10
            count += 1
        return count

    def fn(xs):
        total = 0
        for x in xs:
            total += digits(x)
        return total
    return fn, each(i64([5, 123]), i64([0]))


@program("in_helpers", graph=True)
def none_from_the_helper() -> World:
    def small(v):
        if v < 5:
            return v
        return None

    def fn(xs):
        total, missing = i32(0), 0
        for x in xs:
            y = small(x)
            if y is None:
                missing += 1
            else:
                total += y
        return total, missing
    return fn, each(i32([1, 9, 3]), i32([9]))


@program("in_helpers", graph=True)
def tuple_from_the_helper() -> World:
    def split(v):
        if v > 10:
            return v - 10, "large"
        return v, "small"

    def fn(xs):
        large = 0
        total = f32(0.0)
        for x in xs:
            rest, kind = split(x)
            total += rest
            if kind == "large":
                large += 1
        return total, large
    return fn, each(f32([1.0, 12.0]), f32([2.0]))


@program("in_helpers", graph=True)
def helper_appends_to_an_outer_list() -> World:
    log = []

    def note(v):
        if v > 0:
            log.append(v)
        return len(log)

    def fn(xs):
        n = 0
        for x in xs:
            n = note(x)
        return n
    return fn, each(f32([1.0, -1.0, 2.0]), f32([3.0])), lambda: log


@program("in_helpers", graph=True)
def helper_changes_its_argument() -> World:
    def push(stack, v):
        if v > 0:
            stack.append(v)
        else:
            stack.clear()

    def fn(xs):
        stack = []
        for x in xs:
            push(stack, x)
        return stack
    return fn, each(i32([1, 2, -1, 3]), i32([-1]))


@program("in_helpers", graph=True)
def helper_raises() -> World:
    def checked(v):
        assert v < 100, "too large"
        return v * v

    def fn(xs):
        total = i32(0)
        for x in xs:
            total += checked(x)
        return total
    return fn, each(i32([1, 2]), i32([1, 200]), i32([3]))


@program("in_helpers")
def helper_raises_and_the_loop_catches() -> World:
    def checked(v):
        if v > 100:
            raise ValueError("too large")
        return v

    def fn(xs):
        total, bad = i32(0), 0
        for x in xs:
            try:
                total += checked(x)
            except ValueError:
                bad += 1
        return total, bad
    return fn, each(i32([1, 2]), i32([1, 200, 5]))


@program("in_helpers", graph=True)
def helper_with_a_nonlocal() -> World:
    def fn(xs):
        best, changes = f64(-1e9), 0

        def offer(v):
            nonlocal best, changes
            if v > best:
                best = v
                changes += 1

        for x in xs:
            offer(x)
        return best, changes
    return fn, each(f64([1.0, 3.0, 2.0]), f64([5.0]))


@program("in_helpers", graph=True)
def helper_prints() -> World:
    def tell(v):
        if v > 0:
            print("plus")
        else:
            print("minus")

    def fn(xs):
        for x in xs:
            tell(x)
        return xs
    return fn, each(f32([1.0, -1.0]), f32([2.0]))


@program("in_helpers", graph=True)
def helper_of_a_helper_with_defaults() -> World:
    def inner(v, step=2):
        return v + step if v > 0 else v - step

    def outer(v, *, twice=False):
        if twice:
            return inner(inner(v))
        return inner(v, step=5)

    def fn(xs):
        total = i32(0)
        for x in xs:
            total += outer(x) * outer(x, twice=True)
        return total
    return fn, each(i32([1, -1]), i32([3]))


@program("in_helpers", graph=True)
def helper_chosen_in_the_loop() -> World:
    def grow(v):
        return v * 2.0

    def shrink(v):
        if v > 1.0:
            return v / 2.0
        return v

    def fn(x, n):
        for i in tf.range(n):
            f = grow if i % 2 == 0 else shrink
            x = f(x)
        return x
    return fn, [call(f32(1.0), i32(3)), call(f32(5.0), i32(0))]


@program("in_helpers", grad=2, graph=True)
def helper_with_gradient() -> World:
    def bend(v):
        if v > 1.0:
            return v * v
        return v * v * v

    def fn(xs):
        total = f32(1.0)
        for x in xs:
            total = total + bend(x) * bend(x + 0.5)
        return total
    return fn, each(f32([0.5, 2.0]), f32([3.0]))
