"""Calls of user code: helpers, recursion, methods of every sort, callable objects, partials."""
from __future__ import annotations

import functools

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
