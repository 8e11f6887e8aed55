"""Text of records and objects, made in the call or given to it, alone and in containers."""
from __future__ import annotations

import dataclasses
import types
from typing import Any

from tests.programs import World, call, each, f32, i32, program


@dataclasses.dataclass
class Point:
    """A record with a generated text."""

    name: str
    value: Any
    hidden: Any = dataclasses.field(default=0, repr=False)


class Named:
    """An object with two texts of its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Named({self.value!r})"

    def __str__(self) -> str:
        return f"the {self.value}"


@program("texts_of_objects", graph=True)
def records_made_in_the_call() -> World:
    def fn(x):
        point = Point("w", x * 2.0, x)
        return repr(point), str(point), f"{point}", f"{point!r:>90}", "%s and %r" % (point, point), "{} {p}".format(point, p=point)
    return fn, each(f32(1.0), f32([2.0, 3.0]))


@program("texts_of_objects", graph=True)
def records_given_to_the_call() -> World:
    def fn(point, x):
        if x > 1.0:
            print("seen", point, [point])
        return repr([point, {"key": point}]), f"{point}"
    return fn, [call(Point("a", f32(1.0)), f32(1.0)), call(Point("b", f32(2.0)), f32(2.0)), call(Point("b", 3), f32(0.0))]


@program("texts_of_objects", graph=True)
def text_before_and_after_a_change() -> World:
    def fn(x):
        point = Point("early", [x])
        before = repr([point])
        point.value.append(x + 1.0)
        point.name = "late"
        return before, repr([point])
    return fn, each(f32(1.0), f32(2.0))


@program("texts_of_objects", graph=True)
def texts_of_the_user_in_containers() -> World:
    def fn(x):
        one, other = Named(x), Named(x + 1)
        print([one, (other,)], {"k": one})
        return repr([one, other]), f"{(one,)}", str({"k": one}), "%s %r" % (one, other), "{} {!r}".format(one, other), f"{one}"
    return fn, each(i32(1), i32(2))


@program("texts_of_objects")
def namespaces_and_slots() -> World:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Slotted:
        a: Any
        b: Any = 3

    def fn(x):
        return str(types.SimpleNamespace(a=x, b=2)), repr(Slotted(x, Slotted(x + 1.0)))
    return fn, each(f32(1.0), f32(2.0))


@program("texts_of_objects", graph=True)
def exceptions_in_containers() -> World:
    def fn(x):
        try:
            if x > 1.0:
                raise ValueError("too big", x)
        except ValueError as error:
            return repr([error]), f"{(error,)}"
        return "fine"
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("texts_of_objects")
def attribute_that_text_does_not_have() -> World:
    seen = []

    def fn(x, n):
        while n > 0:
            n -= 1
            note = f"{float(x)}"
            if x > 2.0:
                note.step()
            seen.append(note.upper())
            x = x + 1.0
        return f"{float(x)}".upper()
    return fn, [call(f32(0.0), i32(2)), call(f32(1.0), i32(3)), call(f32(1.0), i32(0))], lambda: list(seen)
