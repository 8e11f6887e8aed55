"""The same constructs under a tape of the caller: every way through gives the gradients of plain Python."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, program


@program("under_tapes", grad=2, graph=True)
def break_and_else() -> World:
    def fn(xs):
        y = f32(1.0)
        for x in xs:
            y = y * x * x
            if y > 10.0:
                break
        else:
            y = y * y
        return y
    return fn, each(f32([2.0, 2.0, 3.0]), f32([1.0, 2.0, 1.5]))


@program("under_tapes", grad=1, graph=True)
def early_return() -> World:
    def fn(x, y):
        if x > y:
            return x * y * y
        z = x * y
        return z * z
    return fn, [call(f64(2.0), f64(1.0)), call(f64(1.0), f64(2.0))]


@program("under_tapes", grad=1, graph=True)
def list_filled_in_a_loop() -> World:
    def fn(xs):
        parts = []
        for x in xs:
            if x > 0.0:
                parts.append(x * x)
            else:
                parts.append(x * x * x)
        return tf.stack(parts)
    return fn, each(f32([1.0, -2.0]), f32([3.0, 4.0, -5.0]))


@program("under_tapes", grad=1, graph=True)
def dict_and_tuple_carried() -> World:
    def fn(x, n):
        state = {"a": x, "b": (x * x, x)}
        for _ in tf.range(n):
            state = {"a": state["b"][0], "b": (state["a"] * x, state["b"][1] * x)}
        return state
    return fn, [call(f32(2.0), i32(3)), call(f32(2.0), i32(0))]


@program("under_tapes", grad=1, graph=True)
def attribute_carried() -> World:
    class Cell:
        def __init__(self):
            self.h = f32(0.5)
            self.steps = 0

        def run(self, xs):
            h = xs[0] * 0.0 + 0.5
            for x in xs:
                h = tf.tanh(h * x)
                self.steps += 1
            self.h = h
            return h * 3.0

    cell = Cell()
    return cell.run, each(f32([1.0, 2.0]), f32([0.3])), lambda: cell


@program("under_tapes", grad=1, graph=True)
def none_or_tensor() -> World:
    def fn(x):
        y = None
        if x > 0.0:
            y = x * x
        if y is None:
            return x * x * x
        return y * x
    return fn, each(f32(2.0), f32(-2.0))


@program("under_tapes", grad=1, graph=True)
def try_and_raise() -> World:
    def fn(x):
        try:
            y = x * x
            if y > 10.0:
                raise ValueError
            y = y * 3.0
        except ValueError:
            y = x * x * x
        return y
    return fn, each(f32(2.0), f32(4.0))


@program("under_tapes", grad=1, graph=True)
def raise_for_some_inputs() -> World:
    def fn(x):
        y = x * x
        if x < 0.0:
            raise ValueError("negative")
        return y * x
    return fn, each(f32(2.0), f32(-2.0), f32(3.0))


@program("under_tapes", grad=1, graph=True)
def print_on_the_way() -> World:
    def fn(xs):
        y = f32(1.0)
        for x in xs:
            print("turn")
            y = y * x
        return y
    return fn, each(f32([2.0, 3.0]), f32([4.0]))


@program("under_tapes", grad=2, graph=True)
def comprehension_and_sum() -> World:
    def fn(xs):
        return sum([x * x * x if x > 0.0 else x * x for x in xs])
    return fn, each(f32([1.0, -2.0]), f32([3.0, 0.5]))


@program("under_tapes", grad=1, graph=True)
def closure_and_lambda() -> World:
    def fn(x, y):
        power = lambda v: v * v * y
        if x > 1.0:
            x = power(x)
        return power(x) * x
    return fn, [call(f32(2.0), f32(3.0)), call(f32(0.5), f32(3.0))]


@program("under_tapes", grad=2, graph=True)
def recursion_on_a_python_number() -> World:
    def power(x, n):
        if n == 0:
            return x * x
        return x * power(x, n - 1)
    return power, [call(f64(1.5), 3), call(f64(1.5), 0)]


@program("under_tapes", grad=1, graph=True)
def variable_read_and_written() -> World:
    w = tf.Variable([1.0, 2.0])

    def fn(x):
        y = tf.reduce_sum(w * w * x)
        if y > 3.0:
            w.assign(w * 0.5)
        return y
    return fn, each(f32(1.0), f32(0.1)), lambda: w


@program("under_tapes", grad=1, graph=True)
def python_number_made_in_a_loop() -> World:
    def fn(x):
        n = 0
        y = x
        while y < 20.0:
            y = y * x
            n += 1
        return y * n + x * x
    return fn, each(f32(2.0), f32(3.0), f32(30.0))


@program("under_tapes", grad=1, graph=True)
def shape_that_grows() -> World:
    def fn(x, n):
        y = x
        for _ in tf.range(n):
            y = tf.concat([y, y * x[0]], 0)
        return y
    return fn, [call(f32([2.0, 3.0]), i32(2)), call(f32([2.0]), i32(0))]


@program("under_tapes", grad=1, graph=True)
def integer_and_text_results_beside() -> World:
    def fn(x):
        if x > 1.0:
            return x * x, 3, "large"
        return x * x * x, 4, None
    return fn, each(f32(2.0), f32(0.5))


@program("under_tapes", grad=1, graph=True)
def match_with_guards() -> World:
    def fn(x):
        match x:
            case v if v > 2.0:
                return v * v
            case v if v > 0.0:
                return v * v * v
            case _:
                return tf.exp(x)
    return fn, each(f32(3.0), f32(1.0), f32(-1.0))
