"""Calls: helpers, recursion, methods of every sort, callables, TensorFlow's own higher-order functions."""
from __future__ import annotations

import functools
import math

import keras
import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


def _clip(v, limit=3):
    if v > limit:
        return v - limit
    return v


@program("calls", grad=1, graph=True, golden=True)
def helper_at_module_level() -> World:
    def fn(x):
        return _clip(x) * _clip(x, limit=1.0)
    return fn, each(f32(5.0), f32(2.0), f32(0.5))


@program("calls", graph=True)
def helper_calls_a_helper_in_a_loop() -> World:
    def twice(v):
        return _clip(v) + _clip(v + 2)

    def fn(xs):
        total = i32(0)
        for x in xs:
            total += twice(x)
        return total
    return fn, each(i32([1, 5]), i32([9]))


@program("calls", graph=True)
def recursion_on_a_python_number() -> World:
    def power(x, n):
        if n == 0:
            return tf.ones_like(x)
        if n % 2:
            return x * power(x, n - 1)
        half = power(x, n // 2)
        return half * half

    return power, [call(f64(2.0), 5), call(f64(2.0), 0), call(f64(3.0), 4)]


@program("calls", graph=True)
def recursion_over_a_python_tree() -> World:
    def total(tree):
        if isinstance(tree, (list, tuple)):
            result = f32(0.0)
            for part in tree:
                result += total(part)
            return result
        if tree > 0.0:
            return tree
        return tf.zeros([])

    return total, each([f32(1.0), (f32(-5.0), [f32(2.0)])], f32(3.0))


@program("calls")
def recursion_on_a_tensor() -> World:
    def gcd(a, b):
        if b == 0:
            return a
        return gcd(b, a % b)

    return gcd, [call(i32(12), i32(18)), call(i32(7), i32(0))]


@program("calls", graph=True)
def mutual_recursion() -> World:
    def even(x, n):
        return x if n == 0 else odd(x + 1, n - 1)

    def odd(x, n):
        return -x if n == 0 else even(x * 2, n - 1)

    return even, [call(i32(1), 3), call(i32(1), 4)]


@program("calls", graph=True)
def methods_and_super() -> World:
    class Base:
        def __init__(self):
            self.calls = 0

        def scale(self, x):
            self.calls += 1
            return x * 2.0

    class Derived(Base):
        def scale(self, x):
            y = super().scale(x)
            if y > 10.0:
                return y / 10.0
            return y

        def run(self, x):
            return self.scale(x) + super().scale(x)

    derived = Derived()
    return derived.run, each(f32(1.0), f32(7.0)), lambda: derived.calls


@program("calls", graph=True)
def classmethods_and_staticmethods() -> World:
    class Unit:
        factor = 3.0

        @classmethod
        def convert(cls, x):
            if x > 1.0:
                return x * cls.factor
            return x

        @staticmethod
        def shift(x, by=1.0):
            return x + by

        def run(self, x):
            return self.convert(x) + Unit.shift(x) + self.shift(x, by=2.0)

    return Unit().run, each(f32(2.0), f32(0.5))


@program("calls", graph=True)
def a_classmethod_is_the_function_under_test() -> World:
    class Unit:
        factor = 3

        @classmethod
        def convert(cls, x):
            while x < 20:
                x = x * cls.factor
            return x

    return Unit.convert, each(i64(1), i64(50))


@program("calls", graph=True)
def callable_object() -> World:
    class Affine:
        def __init__(self, w, b):
            self.w, self.b = w, b

        def __call__(self, x):
            y = x * self.w + self.b
            return y if y > 0.0 else tf.zeros_like(y)

    layers = [Affine(2.0, 1.0), Affine(-1.0, 20.0)]

    def fn(x):
        for layer in layers:
            x = layer(x)
        return x
    return fn, each(f32(1.0), f32(50.0))


@program("calls", graph=True)
def callable_object_is_the_function_under_test() -> World:
    class Accumulator:
        def __init__(self):
            self.value = f32(0.0)

        def __call__(self, x):
            self.value += x
            return self.value

    accumulator = Accumulator()
    return accumulator, each(f32(1.0), f32(2.0)), lambda: accumulator


@program("calls", graph=True)
def properties() -> World:
    class Ball:
        def __init__(self):
            self.speed = f32(1.0)

        @property
        def energy(self):
            if self.speed > 2.0:
                return self.speed * 10.0
            return self.speed * self.speed

        @energy.setter
        def energy(self, value):
            self.speed = tf.sqrt(value)

    ball = Ball()

    def fn(x):
        before = ball.energy
        ball.energy = x
        return before, ball.energy
    return fn, each(f32(4.0), f32(9.0)), lambda: ball.speed


@program("calls", graph=True)
def partial_objects() -> World:
    clip_at_one = functools.partial(_clip, limit=1)

    def fn(x):
        return clip_at_one(x), functools.partial(_clip, x)(2)
    return fn, each(i32(5), i32(0))


@program("calls", graph=True)
def partial_is_the_function_under_test() -> World:
    return functools.partial(_clip, limit=f16(2.0)), each(f16(5.0), f16(1.0))


@program("calls", graph=True)
def function_as_an_argument() -> World:
    def apply(f, *args):
        return f(*args)

    def fn(f, x):
        return apply(f, x)
    return fn, [call(tf.sin, f32(1.0)), call(_clip, f32(5.0)), call(tf.sin, f32(2.0))]


@program("calls", graph=True)
def tf_cond_with_user_functions() -> World:
    def fn(x):
        return tf.cond(x > 0, lambda: _clip(x), lambda: -x)
    return fn, each(i32(5), i32(2), i32(-2))


@program("calls", graph=True)
def tf_while_loop_with_user_functions() -> World:
    def fn(n):
        def body(i, total):
            if i % 2 == 0:
                total = total + i
            return i + 1, total
        return tf.while_loop(lambda i, total: i < n, body, [i32(0), i32(0)])
    return fn, each(i32(5), i32(0))


@program("calls", grad=1, graph=True)
def tf_map_fn_with_a_user_function() -> World:
    def fn(xs):
        return tf.map_fn(lambda v: v * v if v > 1.0 else v, xs)
    return fn, each(f32([0.5, 2.0, 3.0]))


@program("calls", graph=True)
def tf_vectorized_map_and_scan() -> World:
    def fn(xs):
        return tf.vectorized_map(lambda v: v * 2.0, xs), tf.scan(lambda a, v: a + v, xs)
    return fn, each(f32([1.0, 2.0, 3.0]))


@program("calls", graph=True)
def dataset_map_with_a_user_function() -> World:
    def fn(n):
        total = i64(0)
        for v in tf.data.Dataset.range(n).map(lambda v: v * 2 if v > 1 else v):
            total += v
        return total
    return fn, each(i64(4), i64(0))


@program("calls", graph=True)
def inner_tf_function() -> World:
    @tf.function
    def square(v):
        return v * v

    def fn(x):
        if x > 1.0:
            return square(x)
        return square(x + 1.0)
    return fn, each(f32(2.0), f32(0.5))


@program("calls")
def numpy_and_math() -> World:
    def fn(x, n):
        y = np.float32(math.sqrt(n)) * x
        return y, np.sum([n, n])
    return fn, [call(f32(1.0), 4), call(f32(1.0), 9)]


@program("calls")
def numpy_of_a_tensor() -> World:
    def fn(x):
        a = x.numpy()
        return x * float(a.max()), a
    return fn, each(f32([1.0, 5.0]), f32([2.0, 3.0]))


@program("calls", graph=True)
def keras_layer_with_python_in_call() -> World:
    class Gate(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, kernel_initializer="ones")

        def call(self, x):
            y = self.dense(x)
            if tf.reduce_sum(y) > 5.0:
                y = y / 2.0
            return y

    gate = Gate()
    gate(tf.zeros([1, 2]))
    return gate, each(f32([[1.0, 1.0]]), f32([[3.0, 3.0]])), lambda: gate.trainable_variables


@program("calls", graph=True)
def keras_model_in_a_loop() -> World:
    class Steps(keras.Model):
        def __init__(self):
            super().__init__()
            self.cell = keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)
            self.turns = 0

        def call(self, x, limit):
            while tf.reduce_max(x) < limit:
                x = self.cell(x) * 2.0
                self.turns += 1
            return x

    model = Steps()
    model.cell.build((1, 1))
    return model, [call(f32([[1.0]]), f32(7.0)), call(f32([[9.0]]), f32(7.0))], lambda: model.turns


@program("calls")
def wrong_arguments_of_a_helper() -> World:
    def fn(x, y):
        return _clip(x, y, x) if y else _clip()
    return fn, [call(f32(1.0), 0), call(f32(1.0), 2)]


@program("calls", graph=True)
def helper_returns_several_kinds() -> World:
    def lookup(x):
        if x > 10:
            return None
        if x > 5:
            return x, "middle"
        return x

    def fn(x):
        found = lookup(x)
        if found is None:
            return "none"
        if isinstance(found, tuple):
            return found[1]
        return found
    return fn, each(i32(20), i32(7), i32(1))
