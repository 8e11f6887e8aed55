"""`and`, `or`, `not`: short circuit, the value returned, several operands, tensors beside Python values."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("bool_ops", graph=True, golden=True)
def and_in_a_test() -> World:
    def fn(x):
        if x > 0 and x < 10:
            return x * 2
        return x
    return fn, each(i32(5), i32(50), i32(-5))


@program("bool_ops", graph=True, golden=True)
def or_in_a_test() -> World:
    def fn(x):
        if x < 0 or x > 10:
            x = -x
        return x
    return fn, each(f32(5.0), f32(50.0), f32(-5.0))


@program("bool_ops", graph=True, golden=True)
def not_in_a_test() -> World:
    def fn(on, x):
        if not on:
            x = x + 100
        return x, not on
    return fn, [call(flag(True), i64(1)), call(flag(False), i64(1))]


@program("bool_ops", graph=True)
def value_of_and() -> World:
    def fn(a, b):
        return a and b
    return fn, [call(i32(0), i32(5)), call(i32(3), i32(5)), call(i32(3), i32(0))]


@program("bool_ops", graph=True)
def value_of_or() -> World:
    def fn(a, b):
        return a or b
    return fn, [call(f32(0.0), f32(5.0)), call(f32(3.0), f32(5.0)), call(f32(0.0), f32(0.0))]


@program("bool_ops", graph=True)
def values_of_two_dtypes() -> World:
    def fn(a, b):
        return (a > 0) and b
    return fn, [call(f32(1.0), i32(7)), call(f32(-1.0), i32(7))]


@program("bool_ops", graph=True)
def short_circuit_skips_effects() -> World:
    log = []

    def note(name, value):
        log.append(name)
        return value

    def fn(x):
        return note("a", x > 0) and note("b", x > 10) or note("c", x < -10)
    return fn, each(f32(20.0), f32(5.0), f32(-20.0)), lambda: log


@program("bool_ops", graph=True)
def short_circuit_guards_an_index() -> World:
    def fn(xs, i):
        if i < tf.size(xs) and xs[i] > 0:
            return xs[i]
        return i32(-1)
    return fn, [call(i32([1, 2]), i32(1)), call(i32([1, 2]), i32(5)), call(i32([1, -2]), i32(1))]


@program("bool_ops", graph=True)
def short_circuit_guards_an_assert() -> World:
    def half(x):
        assert x % 2 == 0, "odd"
        return x // 2

    def fn(x):
        return x % 2 == 0 and half(x) > 3
    return fn, each(i32(3), i32(4), i32(20))


@program("bool_ops", graph=True)
def three_operands() -> World:
    def fn(a, b, c):
        return a and b and c, a or b or c
    return fn, [call(flag(True), flag(True), flag(False)), call(flag(False), flag(False), flag(True)),
                call(flag(False), flag(False), flag(False))]


@program("bool_ops", graph=True)
def python_left_tensor_right() -> World:
    def fn(x, strict):
        if strict and x > 0:
            return x + 1
        return x - 1
    return fn, [call(f32(1.0), True), call(f32(1.0), False), call(f32(-1.0), True)]


@program("bool_ops", graph=True)
def tensor_left_python_right() -> World:
    def fn(x, name):
        return x > 0 and name
    return fn, [call(f32(1.0), "yes"), call(f32(-1.0), "yes"), call(f32(1.0), "")]


@program("bool_ops", graph=True)
def none_or_default() -> World:
    def fn(x, scale):
        scale = scale or 2.0
        return x * scale
    return fn, [call(f32(3.0), None), call(f32(3.0), 5.0), call(f32(3.0), 0.0)]


@program("bool_ops", graph=True)
def not_of_numbers_and_not_twice() -> World:
    def fn(x):
        return not x, not not x
    return fn, each(i32(0), i32(3), f64(0.0), f64(0.5))


@program("bool_ops", graph=True)
def not_of_a_comparison() -> World:
    def fn(x):
        while not x > 20:
            x = x * 3
        return x
    return fn, each(i32(2), i32(30))


@program("bool_ops", graph=True)
def precedence() -> World:
    def fn(a, b, c):
        return a or b and not c
    both = (True, False)
    return fn, [call(flag(a), flag(b), flag(c)) for a in both for b in both for c in both]


@program("bool_ops", graph=True)
def logical_operators_of_tensors() -> World:
    def fn(a, b):
        return a & b, a | b, a ^ b, ~a
    return fn, [call(flag([True, False]), flag([True, True]))]


@program("bool_ops", graph=True)
def in_a_loop_test() -> World:
    def fn(x, n):
        i = 0
        while i < n and (x < 50.0 or i < 2):
            x = x * 2.0
            i += 1
        return x, i
    return fn, [call(f16(1.0), i32(10)), call(f16(100.0), i32(10)), call(f16(1.0), i32(0))]


@program("bool_ops", graph=True)
def strings() -> World:
    def fn(s, t):
        if s == "a" or t == "b":
            return tf.strings.join([s, t])
        return s
    return fn, [call(text("a"), text("x")), call(text("x"), text("b")), call(text("x"), text("y"))]


@program("bool_ops")
def several_elements_are_refused() -> World:
    def fn(xs):
        return xs > 0 and True
    return fn, each(f32([1.0, 2.0]), f32([1.0]))
