"""The `if` statement: what the branches assign, leave unbound, and do on either side."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("if_else", grad=2, graph=True, golden=True)
def both_branches_assign() -> World:
    def fn(x):
        if x > 0.0:
            y = x * x * x
        else:
            y = -2.0 * x * x
        return y
    return fn, each(f32(3.0), f32(-2.0), f32(0.5))


@program("if_else", grad=1, graph=True, golden=True)
def without_else() -> World:
    def fn(x):
        y = x * 2.0
        if tf.reduce_sum(x) > 1.0:
            y = y + x * x
        return y
    return fn, each(f32([1.0, 2.0]), f32([-1.0, 0.5]))


@program("if_else", grad=1, graph=True, golden=True)
def elif_chain() -> World:
    def fn(x):
        if x < -1.0:
            y = x * 10.0
        elif x < 0.0:
            y = x * 100.0
        elif x < 1.0:
            y = x * 1000.0
        else:
            y = x
        return y
    return fn, each(f32(-2.0), f32(-0.5), f32(0.5), f32(4.0))


@program("if_else", graph=True)
def nested_two_deep() -> World:
    def fn(a, b):
        r = i32(0)
        if a > 0:
            r += 1
            if b > 0:
                r += 10
            else:
                r += 20
        else:
            if b > 0:
                r += 100
            r += 1000
        return r
    return fn, [call(i32(1), i32(1)), call(i32(1), i32(-1)), call(i32(-1), i32(1)), call(i32(-1), i32(-1))]


@program("if_else", graph=True, golden=True)
def unbound_after_one_branch_is_not_read() -> World:
    def fn(x):
        total = x + 1
        if x > 0:
            scratch = x * 3
            total += scratch
        return total
    return fn, each(i32(2), i32(-2))


@program("if_else")
def unbound_after_one_branch_is_read() -> World:
    def fn(x):
        if x > 0:
            y = x * 3
        return y
    return fn, each(i32(2), i32(-2), i32(1))


@program("if_else", graph=True)
def python_number_chosen_by_tensor() -> World:
    def fn(x):
        n = 1
        if x > 0:
            n = 5
        return n
    return fn, each(f32(2.0), f32(-2.0))


@program("if_else", graph=True)
def dtype_differs_between_branches() -> World:
    def fn(x):
        if x > 0:
            y = tf.cast(x, tf.int32)
        else:
            y = x
        return y
    return fn, each(f32(2.5), f32(-2.5))


@program("if_else", graph=True)
def shape_differs_between_branches() -> World:
    def fn(x):
        if tf.reduce_all(x > 0.0):
            y = x
        else:
            y = x[:1]
        return y, tf.size(y)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([1.0, -2.0, 3.0]))


@program("if_else", graph=True)
def tuple_structure_in_both() -> World:
    def fn(x):
        if x > 0:
            pair = (x, {"half": x / 2})
        else:
            pair = (-x, {"half": x / 4})
        return pair
    return fn, each(f64(2.0), f64(-2.0))


@program("if_else", graph=True)
def swap_of_two_names() -> World:
    def fn(a, b):
        if a > b:
            a, b = b, a
        return a, b
    return fn, [call(f16(3.0), f16(1.0)), call(f16(1.0), f16(3.0))]


@program("if_else", graph=True)
def test_is_a_bool_tensor() -> World:
    def fn(on, x):
        if on:
            x = x + 1
        if not on:
            x = x * 10
        return x
    return fn, [call(flag(True), i64(3)), call(flag(False), i64(3))]


@program("if_else", graph=True)
def test_is_a_number_tensor() -> World:
    def fn(x):
        if x:
            return "something"
        return "nothing"
    return fn, each(i32(3), i32(0), f32(0.0), f32(-1.0))


@program("if_else", graph=True)
def string_tensors() -> World:
    def fn(s):
        if s == "yes":
            r = tf.strings.join([s, "!"])
        else:
            r = tf.strings.upper(s)
        return r
    return fn, each(text("yes"), text("no"))


@program("if_else")
def test_of_several_elements_is_refused() -> World:
    def fn(x):
        if x > 0:
            return x
        return -x
    return fn, each(f32([1.0, -2.0]), f32([1.0]), f32(1.0))


@program("if_else", graph=True)
def python_test_stays_python() -> World:
    def fn(x, mode):
        if mode == "double":
            y = x * 2.0
        elif mode:
            y = x + 1.0
        else:
            y = None
        return y
    return fn, [call(f32(1.0), "double"), call(f32(1.0), ""), call(f32(1.0), "other")]


@program("if_else", graph=True)
def in_a_method_with_attributes() -> World:
    class Gate:
        def __init__(self):
            self.opened = 0
            self.last = f32(0.0)

        def step(self, x):
            if x > self.last:
                self.opened += 1
                self.last = x
            return self.last

    gate = Gate()
    return gate.step, each(f32(1.0), f32(0.5), f32(2.0)), lambda: gate


@program("if_else", graph=True)
def in_a_helper_called_from_a_loop() -> World:
    def clip(v):
        if v > 3:
            return i32(3)
        return v

    def fn(xs):
        total = i32(0)
        for v in xs:
            total += clip(v)
        return total
    return fn, each(i32([1, 5, 9]), i32([2]), i32([7, 1]))


@program("if_else", graph=True)
def pass_and_empty_branches() -> World:
    def fn(x):
        if x > 0:
            pass
        else:
            x = -x
        if x > 100:
            pass
        return x
    return fn, each(f32(4.0), f32(-4.0))


@program("if_else", graph=True)
def test_with_an_effect() -> World:
    seen = []

    def positive(x):
        seen.append(1)
        return x > 0

    def fn(x):
        if positive(x):
            return x * 2
        elif positive(-x):
            return x * 3
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(0.0)), lambda: seen
