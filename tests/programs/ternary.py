"""The conditional expression: values of one or several kinds, nesting, evaluation of one side only."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("ternary", grad=2, graph=True, golden=True)
def plain() -> World:
    def fn(x):
        return x * x if x > 0.0 else x * x * x
    return fn, each(f32(3.0), f32(-2.0))


@program("ternary", graph=True, golden=True)
def chained() -> World:
    def fn(x):
        return i32(1) if x > 10 else i32(2) if x > 0 else i32(3)
    return fn, each(i32(20), i32(5), i32(-5))


@program("ternary", graph=True)
def only_one_side_runs() -> World:
    log = []

    def note(name, value):
        log.append(name)
        return value

    def fn(x):
        return note("positive", x + 1) if x > 0 else note("other", x - 1)
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: log


@program("ternary", graph=True)
def none_or_tensor() -> World:
    def fn(x):
        y = x if x > 0 else None
        return "nothing" if y is None else y
    return fn, each(f32(1.0), f32(-1.0))


@program("ternary", graph=True)
def python_numbers() -> World:
    def fn(x):
        n = 3 if x > 0 else 4
        return n * 2, n / 2
    return fn, each(f32(1.0), f32(-1.0))


@program("ternary", graph=True)
def int_or_float() -> World:
    def fn(x):
        return 3 if x > 0 else 2.5
    return fn, each(f32(1.0), f32(-1.0))


@program("ternary", graph=True)
def strings() -> World:
    def fn(x):
        word = "up" if x > 0 else "down"
        return word
    return fn, each(i64(1), i64(-1))


@program("ternary", graph=True)
def functions_chosen() -> World:
    def fn(x):
        f = tf.sin if x > 0 else tf.cos
        return f(x)
    return fn, each(f64(1.0), f64(-1.0))


@program("ternary", graph=True)
def as_an_argument() -> World:
    def fn(x, on):
        return tf.add(x if on else -x, f32(10.0) if on else f32(20.0))
    return fn, [call(f32(1.0), flag(True)), call(f32(1.0), flag(False))]


@program("ternary", graph=True)
def in_a_subscript() -> World:
    def fn(xs, on):
        return xs[0 if on else 2]
    return fn, [call(f32([1.0, 2.0, 3.0]), flag(True)), call(f32([1.0, 2.0, 3.0]), flag(False))]


@program("ternary", graph=True)
def tuples_of_equal_length() -> World:
    def fn(a, b):
        low, high = (a, b) if a < b else (b, a)
        return low, high
    return fn, [call(f32(1.0), f32(2.0)), call(f32(2.0), f32(1.0))]


@program("ternary", graph=True)
def shapes_differ() -> World:
    def fn(x):
        y = x[:2] if tf.reduce_sum(x) > 0.0 else x
        return y, tf.shape(y)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([-1.0, -2.0, -3.0]))


@program("ternary", graph=True)
def dtypes_differ() -> World:
    def fn(x):
        y = tf.cast(x, tf.float16) if x > 0 else x
        return y + 1
    return fn, each(f32(1.5), f32(-1.5))


@program("ternary", grad=1, graph=True)
def inside_a_loop() -> World:
    def fn(xs):
        total = f32(0.0)
        for v in xs:
            total += v * v if v > 0.0 else -v
        return total
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]), f32([4.0, 5.0]))


@program("ternary", graph=True)
def in_a_comprehension() -> World:
    def fn(xs):
        return [v if v > 0 else -v for v in xs]
    return fn, each(i32([1, -2, 3]), i32([-5, 6, -7]))


@program("ternary", graph=True)
def test_by_and_or() -> World:
    def fn(x):
        return text("inside") if x > 0 and x < 10 else text("outside")
    return fn, each(f16(5.0), f16(50.0), f16(-5.0))


@program("ternary", graph=True)
def attribute_of_the_chosen_object() -> World:
    class Unit:
        def __init__(self, rate):
            self.rate = rate

    slow, fast = Unit(f32(0.1)), Unit(f32(10.0))

    def fn(x):
        unit = fast if x > 1.0 else slow
        return x * unit.rate
    return fn, each(f32(0.5), f32(2.0))


@program("ternary", graph=True)
def python_condition() -> World:
    def fn(x, scale=None):
        return x if scale is None else x * scale
    return fn, [call(f32(2.0)), call(f32(2.0), 3.0), call(f32(2.0), scale=f32(4.0))]


@program("ternary")
def the_side_not_taken_would_fail() -> World:
    def fn(x):
        return x if x > 0 else 1 // 0
    return fn, each(i32(1), i32(-1), i32(2))
