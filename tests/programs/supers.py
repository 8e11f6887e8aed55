"""Attributes that are read through `super()`."""
from __future__ import annotations

import functools

import tensorflow as tf

from tests.programs import World, each, f32, program


class Level:
    def __init__(self):
        self._level = tf.constant(1.0)

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, new):
        self._level = new

    @functools.cached_property
    def once(self):
        return self._level * 10.0

    @classmethod
    def named(cls, k):
        return cls.__name__, k


class Doubled(Level):
    @property
    def level(self):
        return super().level * 2.0

    @level.setter
    def level(self, new):
        super(Doubled, type(self)).level.fset(self, new)

    @functools.cached_property
    def once(self):
        return super().once + 1.0

    @classmethod
    def named(cls, k):
        return super().named(k + 1)


@program("supers", graph=True)
def property_of_super_sees_what_the_call_wrote() -> World:
    meter = Doubled()

    def fn(x):
        meter.level = x
        return meter.level, meter.named(1)
    return fn, each(f32(5.0), f32(-2.0)), lambda: vars(meter)


@program("supers", graph=True, grad=True)
def property_of_super_in_branches_and_loops() -> World:
    meter = Doubled()

    def fn(x):
        if tf.reduce_sum(x) > 0:
            meter.level = x
        for _ in tf.range(2):
            meter.level = meter.level + 1.0
        return meter.level
    return fn, each(f32(5.0), f32(-2.0)), lambda: vars(meter)


@program("supers", graph=True)
def cached_property_of_super() -> World:
    def fn(x):
        meter = Doubled()
        meter.level = x
        return meter.once, meter.once
    return fn, each(f32(5.0), f32(-2.0))


class Slotted:
    __slots__ = ("_a", "__dict__", "a")

    def __init__(self):
        self.a = tf.constant(1.0)


class Plain(Slotted):
    def read(self):
        return super().a, sorted(super().__dict__)


class Hiding(Slotted):
    @property
    def a(self):
        return super().a * 2.0

    @a.setter
    def a(self, new):
        Slotted.a.__set__(self, new)


@program("supers")
def slots_and_fields_of_super() -> World:
    def fn(x):
        plain, hiding = Plain(), Hiding()
        plain.a = hiding.a = x
        plain.z = 3
        return plain.read(), hiding.a
    return fn, each(f32(5.0), f32(-2.0))
