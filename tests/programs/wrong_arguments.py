"""Calls of functions and classes of the program with arguments that they do not take, where the run may not come by."""
from __future__ import annotations

import dataclasses

from tests.programs import World, each, f32, program

VECTORS = each(f32([1.0, 2.0]), f32([-1.0, 2.0]), f32([]))


@dataclasses.dataclass
class Field:
    """One field."""

    value: object


class Made:
    """Takes one argument."""

    def __init__(self, value: object) -> None:
        self.value = value


def taking_one(value: object) -> object:
    """The value."""
    return value


@program("wrong_arguments", graph=True)
def of_a_function_after_a_loop() -> World:
    def fn(v):
        for e in v:
            return e
        return taking_one()
    return fn, VECTORS


@program("wrong_arguments", graph=True)
def of_classes_in_branches() -> World:
    def fn(v):
        if len(v) < 2:
            return v
        if v[0] > 1.0:
            return Field()
        if v[0] > 0.5:
            return Field(1, 2).value
        if v[0] < -0.5:
            return Made(1, other=v).value
        return v * 2.0
    return fn, each(f32([0.0, 1.0]), f32([2.0, 1.0]), f32([0.7, 1.0]), f32([-1.0, 1.0]))


@program("wrong_arguments", graph=True)
def under_try() -> World:
    def fn(v):
        try:
            if v[0] > 0.0:
                return taking_one(v, 2)
            return taking_one(v)
        except TypeError:
            return v * 2.0
    return fn, each(f32([1.0, 2.0]), f32([-1.0, 2.0]))


@program("wrong_arguments", graph=True)
def of_a_method_and_a_lambda() -> World:
    class Owner:
        def method(self, one, *, two):
            return one + two

    owner = Owner()

    def fn(v):
        if v[0] > 1.0:
            return owner.method(v)
        if v[0] > 0.0:
            return (lambda a, b: a)(v)
        return owner.method(v, two=v)
    return fn, each(f32([2.0]), f32([0.5]), f32([-1.0]))
