"""Python values that vary as arguments: numbers, bools, strings, None, containers, objects, functions."""
from __future__ import annotations

import dataclasses
import enum

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, program


class Mode(enum.Enum):
    """How a program combines its arguments."""

    ADD = 1
    SCALE = 2


@dataclasses.dataclass(frozen=True)
class Setting:
    """Options handed over as one frozen record."""

    scale: float = 1.0
    steps: int = 2


@program("python_args", graph=True)
def int_that_counts_up() -> World:
    def fn(x, n):
        return x * n + n // 2
    return fn, [call(f32(1.0), n) for n in range(6)]


@program("python_args", graph=True)
def float_that_varies() -> World:
    def fn(x, rate):
        if x > rate:
            return x - rate
        return x + rate
    return fn, [call(f32(1.0), rate) for rate in (0.5, 1.5, 0.25, 2.0, 0.75)]


@program("python_args", graph=True)
def int_that_steers_structure() -> World:
    def fn(x, n):
        parts = []
        for i in range(n):
            parts.append(x * i)
        return parts
    return fn, [call(f32(2.0), n) for n in (0, 1, 3, 1)]


@program("python_args", graph=True)
def int_or_float_or_bool_alternating() -> World:
    def fn(x, n):
        return n, n + 1, x * tf.cast(n, x.dtype)
    return fn, [call(f64(2.0), n) for n in (1, 1.0, True, 2, False, 0)]


@program("python_args", graph=True)
def bool_flag() -> World:
    def fn(x, training=False):
        if training:
            x = x * 2.0
        return x
    return fn, [call(f32(1.0)), call(f32(1.0), training=True), call(f32(1.0), False), call(f32(1.0), True)]


@program("python_args", graph=True)
def string_that_selects() -> World:
    def fn(x, activation):
        return getattr(tf.nn, activation)(x)
    return fn, [call(f32([-1.0, 2.0]), name) for name in ("relu", "tanh", "relu", "sigmoid")]


@program("python_args", graph=True)
def none_or_value() -> World:
    def fn(x, mask=None):
        if mask is not None:
            x = x * mask
        return x
    return fn, [call(f16([1.0, 2.0])), call(f16([1.0, 2.0]), f16([0.0, 1.0])), call(f16([1.0, 2.0]), None)]


@program("python_args", graph=True)
def list_of_varying_length() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            if x > 0.0:
                total += x
        return total
    return fn, each([f32(1.0)], [f32(1.0), f32(-2.0), f32(3.0)], [], [f32(5.0)])


@program("python_args", graph=True)
def list_of_python_numbers() -> World:
    def fn(x, weights):
        for weight in weights:
            x = x * weight + len(weights)
        return x, weights
    return fn, [call(f32(1.0), [2.0, 3.0]), call(f32(1.0), [2.0, 4.0]), call(f32(1.0), [1])]


@program("python_args", graph=True)
def dict_with_varying_keys() -> World:
    def fn(features):
        return {name: value * 2 for name, value in features.items()}
    return fn, each({"a": f32(1.0)}, {"b": i32(1), "a": 3}, {})


@program("python_args", graph=True)
def tuple_nested() -> World:
    def fn(tree):
        (a, b), options = tree
        if options["on"]:
            return a + b
        return a - b
    return fn, each(((f32(1.0), f32(2.0)), {"on": True}), ((f32(1.0), 2.0), {"on": False}))


@program("python_args", graph=True)
def enum_member() -> World:
    def fn(x, mode):
        if mode is Mode.ADD:
            return x + mode.value
        return x * mode.value, mode.name
    return fn, [call(i32(3), Mode.ADD), call(i32(3), Mode.SCALE), call(i32(3), Mode.ADD)]


@program("python_args", graph=True)
def frozen_dataclass() -> World:
    def fn(x, setting):
        for _ in range(setting.steps):
            x = x * setting.scale
        return x
    return fn, [call(f32(1.0), Setting()), call(f32(1.0), Setting(3.0, 1)), call(f32(1.0), Setting())]


@program("python_args", graph=True)
def object_changed_between_calls() -> World:
    class Options:
        rate = 1.0

    options = Options()

    def fn(x, options):
        return x * options.rate

    def drive(x):
        result = fn(x, options)
        options.rate += 1.0
        return result
    return drive, each(f32(1.0), f32(1.0)), lambda: options.rate


@program("python_args", graph=True)
def fresh_object_each_call() -> World:
    class Options:
        def __init__(self, rate):
            self.rate = rate

    def fn(x, options):
        if x > options.rate:
            return x - options.rate
        return x
    return fn, [call(f32(3.0), Options(rate)) for rate in (1.0, 2.0, 5.0)]


@program("python_args", graph=True)
def function_that_varies() -> World:
    def fn(x, f):
        return f(x) if x > 0.0 else x
    return fn, [call(f32(1.0), tf.sin), call(f32(1.0), lambda v: v * 10.0), call(f32(-1.0), tf.cos)]


@program("python_args", graph=True)
def tensor_or_number_alternating() -> World:
    def fn(x):
        if x > 2:
            return x * 2
        return x
    return fn, each(f32(3.0), 3, 2.5, i32(1), True, f32(1.0))


@program("python_args")
def numpy_arrays_and_scalars() -> World:
    def fn(a, k):
        return tf.constant(1.0) * a * k, a.shape, a.dtype
    return fn, [call(np.array([1.0, 2.0], np.float32), 3), call(np.array([4.0], np.float32), np.float32(2.0))]


@program("python_args", graph=True)
def shapes_and_dtypes_vary() -> World:
    def fn(x):
        if tf.reduce_sum(tf.cast(x, tf.float32)) > 3.0:
            return x * 2
        return x
    return fn, each(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]), f32([[5.0]]), i32([1]), f64([9.0]), f32([1.0]))


@program("python_args", graph=True)
def number_in_a_loop_bound() -> World:
    def fn(x, n):
        i = 0
        while i < n and x < 50.0:
            x = x * 2.0
            i += 1
        return x, i
    return fn, [call(f32(1.0), n) for n in (2, 9, 0, 4)]


@program("python_args", graph=True)
def large_and_negative_numbers() -> World:
    def fn(x, n):
        return x, n * n, -n // 7, n % 5, n > 2 ** 40
    return fn, [call(f32(1.0), n) for n in (2 ** 50, -3, 10 ** 20)]


@program("python_args", graph=True)
def complex_slice_and_dtype() -> World:
    def fn(xs, part, dtype):
        return tf.cast(xs[part], dtype)
    return fn, [call(f32([1.0, 2.0, 3.0]), slice(1, None), tf.int32),
                call(f32([1.0, 2.0, 3.0]), slice(None, 2), tf.float64)]


@program("python_args", graph=True, repeat=3)
def powers_with_a_counter() -> World:
    class Optimizer:
        def __init__(self):
            self.steps = 0

        def rate(self, x):
            self.steps += 1
            rate = 0.1 * (1.0 - 0.999**self.steps) ** 0.5 / (1.0 - 0.9**self.steps)
            return rate * x, rate, 2**self.steps, self.steps**2, self.steps**-0.5, self.steps**1.5
    optimizer = Optimizer()
    return optimizer.rate, each(f32(1.0), f32(2.0), f32(3.0)), lambda: optimizer.steps


@program("python_args")
def powers_that_are_no_floats() -> World:
    def fn(x, n, p):
        return x * 2.0, n**p, (1.0 * n) ** (p + 0.5)
    return fn, [call(f32(1.0), n, p) for n, p in ((1, 1), (2, 2), (3, 3), (-8, 1), (3, -1), (-2, -3), (5, 2))]


@program("python_args")
def powers_that_are_errors() -> World:
    def fn(x, n, p):
        return x * 2.0, float(n) ** p
    return fn, [call(f32(1.0), n, p) for n, p in ((1, 1), (2, 2), (3, 3), (0, -1), (10, 400), (0, 0), (2, -2))]


@program("python_args", repeat=3)
def powers_in_a_loop_on_a_tensor() -> World:
    def fn(xs):
        total, n = 0.0, 0
        for x in xs:
            n += 1
            if x > 0:
                total += 0.5**n
            else:
                total -= (n * 1.0) ** 0.5
        return total, 3**n
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]), tf.zeros([0]))
