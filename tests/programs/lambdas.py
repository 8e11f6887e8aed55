"""Lambdas: passed, returned, closing over what changes, with conditional expressions on tensors."""
from __future__ import annotations

import functools

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("lambdas", graph=True, golden=True)
def called_where_made() -> World:
    def fn(x):
        square = lambda v: v * v
        return square(x) + square(2.0)
    return fn, each(f32(3.0))


@program("lambdas", graph=True)
def is_the_function_under_test() -> World:
    return (lambda x: x * 2 if x > 0 else -x), each(f32(3.0), f32(-3.0))


@program("lambdas", graph=True)
def conditional_expression_inside() -> World:
    def fn(xs):
        clip = lambda v: v if v < 3 else i32(3)
        total = i32(0)
        for x in xs:
            total += clip(x)
        return total
    return fn, each(i32([1, 5, 9]), i32([2]))


@program("lambdas", graph=True)
def default_keeps_the_value() -> World:
    def fn(x):
        fs = [lambda v, k=k: v * k for k in (1.0, 2.0, 3.0)]
        return [f(x) for f in fs]
    return fn, each(f32(2.0))


@program("lambdas", graph=True)
def late_binding_of_a_loop_name() -> World:
    def fn(x):
        fs = []
        for k in (1.0, 2.0, 3.0):
            fs.append(lambda v: v * k)
        return [f(x) for f in fs]
    return fn, each(f32(2.0))


@program("lambdas", graph=True)
def sees_a_later_assignment() -> World:
    def fn(x):
        y = x
        peek = lambda: y * 2
        before = peek()
        y = x + 10
        return before, peek()
    return fn, each(i64(1))


@program("lambdas", graph=True)
def sees_an_assignment_in_a_branch() -> World:
    def fn(x):
        y = f32(0.0)
        peek = lambda: y
        if x > 0:
            y = x * 2
        return peek()
    return fn, each(f32(3.0), f32(-3.0))


@program("lambdas", graph=True)
def sees_the_turns_of_a_loop() -> World:
    def fn(n):
        top = i32(-1)
        peek = lambda: top
        total = i32(0)
        for i in tf.range(n):
            top = i
            total += peek() * 10
        return total, peek()
    return fn, each(i32(3), i32(0))


@program("lambdas", graph=True)
def passed_to_a_helper() -> World:
    def twice(f, x):
        return f(f(x))

    def fn(x):
        if x > 1.0:
            return twice(lambda v: v * v, x)
        return twice(lambda v: v + 1.0, x)
    return fn, each(f64(3.0), f64(0.0))


@program("lambdas", graph=True)
def passed_to_tensorflow() -> World:
    def fn(xs):
        return tf.map_fn(lambda v: v * 2.0 if v > 0.0 else -v, xs)
    return fn, each(f32([1.0, -2.0, 3.0]))


@program("lambdas", graph=True)
def table_of_lambdas() -> World:
    table = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}

    def fn(x, name):
        return table[name](x, 3.0)
    return fn, [call(f16(2.0), "add"), call(f16(2.0), "mul")]


@program("lambdas")
def returned() -> World:
    def fn(x):
        return lambda v: v * x

    def use(x):
        return fn(x)(10.0)
    return use, each(f32(2.0), f32(3.0))


@program("lambdas", graph=True)
def functools_reduce_and_partial() -> World:
    def fn(xs):
        total = functools.reduce(lambda a, b: a * 2 + b, xs)
        add = functools.partial(lambda a, b: a - b, total)
        return add(1), add(b=2)
    return fn, each([i32(1), i32(2), i32(3)])


@program("lambdas", graph=True)
def star_arguments() -> World:
    def fn(a, b):
        gather = lambda first, *rest, scale=1, **others: (first * scale, len(rest), sorted(others))
        return gather(a, b, b, scale=3, z=1, y=2)
    return fn, [call(f32(1.0), f32(2.0))]


@program("lambdas", graph=True)
def immediately_called() -> World:
    def fn(x):
        return (lambda a, b: a - b if a > b else b - a)(x, 2.0)
    return fn, each(f32(5.0), f32(1.0))


@program("lambdas", graph=True)
def as_a_key_of_python_values() -> World:
    def fn(x, words):
        words = sorted(words, key=lambda w: (len(w), w))
        return x, words
    return fn, [call(f32(1.0), ["ccc", "a", "bb", "aa"])]


@program("lambdas", graph=True)
def effects_inside() -> World:
    log = []

    def fn(xs):
        note = lambda v: log.append("big") if v > 2 else log.append("small")
        for x in xs:
            note(x)
        return len(log)
    return fn, each(i32([1, 5]), i32([3])), lambda: log
