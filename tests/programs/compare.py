"""Comparisons: chains, evaluation once, arrays, Python operands, every operator and many dtypes."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("compare", graph=True, golden=True)
def chain() -> World:
    def fn(x):
        return 0 < x < 10
    return fn, each(i32(5), i32(0), i32(10), i32(-3))


@program("compare", graph=True)
def chain_of_three() -> World:
    def fn(a, b, c):
        return a < b <= c != a
    rows = [[1.0, 2.0, 2.0], [3.0, 2.0, 9.0], [1.0, 3.0, 2.0]]
    return fn, [call(*map(f32, row)) for row in rows]


@program("compare", graph=True, golden=True)
def chain_in_a_test() -> World:
    def fn(x, low, high):
        if low <= x < high:
            return x - low
        return x
    return fn, [call(i64(5), i64(3), i64(9)), call(i64(1), i64(3), i64(9)), call(i64(9), i64(3), i64(9))]


@program("compare", graph=True)
def middle_is_evaluated_once() -> World:
    count = []

    def middle(x):
        count.append(1)
        return x * 2

    def fn(x):
        return 0 < middle(x) < 10
    return fn, each(i32(3), i32(-3), i32(30)), lambda: len(count)


@program("compare", graph=True)
def right_end_is_skipped() -> World:
    log = []

    def end():
        log.append("end")
        return 10

    def fn(x):
        return 0 < x < end()
    return fn, each(i32(3), i32(-3)), lambda: log


@program("compare", graph=True)
def each_operator() -> World:
    def fn(a, b):
        return a < b, a <= b, a == b, a != b, a >= b, a > b
    return fn, [call(f16(1.0), f16(2.0)), call(f16(2.0), f16(2.0)), call(f16(3.0), f16(2.0))]


@program("compare", graph=True)
def elementwise() -> World:
    def fn(a, b):
        return a == b, a != b, a > b
    return fn, [call(f32([1.0, 2.0]), f32([1.0, 3.0])), call(f32([[1.0], [2.0]]), f32([1.0, 2.0]))]


@program("compare", graph=True)
def python_on_the_left() -> World:
    def fn(x):
        return 3 > x, 3 == x, 3.5 >= tf.cast(x, tf.float32)
    return fn, each(i32(2), i32(3), i32(4))


@program("compare", graph=True)
def bools() -> World:
    def fn(a, b):
        return a == b, a != b
    return fn, [call(flag(True), flag(False)), call(flag(True), flag(True))]


@program("compare", graph=True)
def strings() -> World:
    def fn(s):
        return s == "abc", s != text("abc")
    return fn, each(text("abc"), text("x"))


@program("compare")
def with_none_and_strings() -> World:
    def fn(x, other):
        return x == other, x != other
    return fn, [call(f32(1.0), None), call(f32(1.0), 1.0), call(None, None), call("a", None)]


@program("compare", graph=True)
def shapes() -> World:
    def fn(x):
        if x.shape == (2,) and x.shape != [3]:
            return x * 2
        return x, x.shape.rank == 1, len(x.shape) > 1
    return fn, each(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]), f32([[1.0]]))


@program("compare", graph=True)
def dtypes() -> World:
    def fn(x):
        if x.dtype == tf.float32:
            return x + 0.5
        return x + 1
    return fn, each(f32(1.0), i32(1), f64(1.0))


@program("compare", graph=True)
def structures_of_python_numbers() -> World:
    def fn(x, pair):
        if pair == (1, 2) and [pair[0]] == [1]:
            return x
        return -x, pair < (1, 3)
    return fn, [call(f32(1.0), (1, 2)), call(f32(1.0), (1, 3)), call(f32(1.0), (0, 9))]


@program("compare", graph=True)
def number_made_by_a_loop() -> World:
    def fn(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        return n == 3, 1 < n <= 3, n != 0
    return fn, each(f32(8.0), f32(1.0), f32(40.0))


@program("compare", graph=True)
def none_tests_in_a_loop() -> World:
    def fn(xs):
        best = None
        for x in xs:
            if best is None or x > best:
                best = x
        return best
    return fn, each(f64([1.0, 5.0, 2.0]), f64([-1.0]), tf.zeros([0], tf.float64))


@program("compare", graph=True)
def own_operators_of_a_class() -> World:
    class Version:
        def __init__(self, major):
            self.major = major

        def __lt__(self, other):
            return self.major < other.major

        def __eq__(self, other):
            return self.major == other.major

    def fn(a, b):
        old, new = Version(a), Version(b)
        if old < new:
            return "older"
        return "same" if old == new else "newer"
    return fn, [call(i32(1), i32(2)), call(i32(2), i32(2)), call(i32(3), i32(2))]


@program("compare")
def dtypes_that_do_not_match_are_refused() -> World:
    def fn(a, b):
        return a < b
    return fn, [call(f32(1.0), i32(2)), call(f32(1.0), f32(2.0))]


@program("compare", graph=True)
def nan() -> World:
    def fn(x):
        if x != x:
            return "nan"
        return x == x, x < 0.0, x >= 0.0
    return fn, each(f32(float("nan")), f32(1.0))
