"""`in`, `not in`, `is`, `is not`: containers of tensors and Python values, None, identity."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program, text


@program("in_is", graph=True, golden=True)
def tensor_in_a_tuple() -> World:
    def fn(x):
        if x in (1, 3, 5):
            return x * 10
        return x
    return fn, each(i32(3), i32(4))


@program("in_is", graph=True)
def tensor_not_in_a_list() -> World:
    def fn(x, known):
        if x not in known:
            known = [*known, x]
        return known
    return fn, [call(i64(3), [i64(1), i64(3)]), call(i64(4), [i64(1), i64(3)])]


@program("in_is")
def tensor_in_a_tensor() -> World:
    def fn(x, xs):
        return x in xs
    return fn, [call(i32(2), i32([1, 2])), call(i32(7), i32([1, 2]))]


@program("in_is", graph=True)
def python_in_a_list() -> World:
    def fn(x, mode):
        if mode in ["add", "plus"]:
            return x + 1
        if mode not in {"sub": 1}:
            return x
        return x - 1
    return fn, [call(f32(1.0), "add"), call(f32(1.0), "sub"), call(f32(1.0), "other")]


@program("in_is", graph=True)
def string_in_a_string() -> World:
    def fn(x, name):
        return x * 2.0 if "conv" in name else x
    return fn, [call(f32(1.0), "conv_1"), call(f32(1.0), "dense")]


@program("in_is", graph=True)
def key_in_a_dict() -> World:
    def fn(table, key):
        if key in table:
            table[key] = table[key] + 1.0
        else:
            table[key] = f32(0.0)
        return table[key]
    table = {"a": f32(1.0)}
    return fn, [call(table, "a"), call(table, "b"), call(table, "b")], lambda: table


@program("in_is", graph=True, golden=True)
def is_none() -> World:
    def fn(x, bias=None):
        if bias is None:
            return x
        return x + bias
    return fn, [call(f32(1.0)), call(f32(1.0), f32(2.0)), call(f32(1.0), None)]


@program("in_is", graph=True)
def is_not_none_after_a_branch() -> World:
    def fn(x):
        y = None
        if x > 0:
            y = x * 2
        if y is not None:
            return y
        return "no y"
    return fn, each(f32(1.0), f32(-1.0))


@program("in_is", graph=True)
def is_none_in_a_loop() -> World:
    def fn(xs):
        previous = None
        total = f64(0.0)
        for x in xs:
            if previous is not None:
                total += tf.abs(x - previous)
            previous = x
        return total
    return fn, each(f64([1.0, 4.0, 2.0]), f64([1.0]))


@program("in_is", graph=True)
def is_true_of_a_python_flag() -> World:
    def fn(x, on):
        return x + 1 if on is True else x - 1
    return fn, [call(i32(1), True), call(i32(1), False), call(i32(1), 1)]


@program("in_is", graph=True)
def is_the_same_object() -> World:
    first, second = [1], [1]

    def fn(x, items):
        if items is first:
            return x
        return -x, items is second
    return fn, [call(f32(1.0), first), call(f32(1.0), second), call(f32(1.0), [1])]


@program("in_is", graph=True)
def tensor_is_itself() -> World:
    def fn(x, y):
        z = x
        return z is x, x is y, x is not z
    return fn, [call(f32(1.0), f32(1.0))]


@program("in_is", graph=True)
def is_a_sentinel() -> World:
    missing = object()

    def fn(x, default=missing):
        if x > 0:
            return x
        if default is missing:
            return None
        return default
    return fn, [call(f32(1.0)), call(f32(-1.0)), call(f32(-1.0), f32(9.0))]


@program("in_is", graph=True)
def in_a_range() -> World:
    def fn(x, n):
        if n in range(2, 6):
            return x * n
        return x
    return fn, [call(f32(2.0), 3), call(f32(2.0), 9)]


@program("in_is", graph=True)
def membership_in_a_set_built_here() -> World:
    def fn(x, names):
        seen = set()
        for name in names:
            if name in seen:
                x = x * 10
            seen.add(name)
        return x
    return fn, [call(i32(1), ["a", "b", "a"]), call(i32(1), ["a"])]


@program("in_is", graph=True)
def loop_test_by_membership() -> World:
    def fn(x):
        while x not in (8, 16, 32):
            x = x + 1
        return x
    return fn, each(i32(5), i32(8), i32(30))


@program("in_is")
def own_contains() -> World:
    class Interval:
        def __init__(self, low, high):
            self.low, self.high = low, high

        def __contains__(self, x):
            return bool(self.low <= x) and bool(x <= self.high)

    interval = Interval(f32(0.0), f32(5.0))

    def fn(x):
        return x + 1.0 if x in interval else x
    return fn, each(f32(3.0), f32(7.0))


@program("in_is", graph=True)
def string_tensor_in_a_tuple() -> World:
    def fn(s):
        if s in ("yes", "y"):
            return i32(1)
        return i32(0)
    return fn, each(text("y"), text("no"))


@program("in_is", graph=True)
def kind_chosen_by_a_branch_is_a_function() -> World:
    def fn(x):
        f = tf.sin if x > 0 else tf.cos
        return f(x), f is tf.sin
    return fn, each(f32(1.0), f32(-1.0))


@program("in_is", graph=True)
def in_ranges_that_the_run_knows() -> World:
    def fn(t):
        k, v, hits = int(t), float(t), 0
        for i in range(k):
            if i in range(1, 7, 2):
                hits += 1
        return (k in range(0, 10, 2), k not in range(5), k in range(9, 0, -3), v in range(7), v + 0.5 in range(7), 3 in range(k),
                k in range(k), t in range(5), t in range(0), hits, True in range(k))
    return fn, each(i32(4), i32(6), i32(0), i32(-2), i32(9))
