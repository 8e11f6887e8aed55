"""The `match` statement: literals, guards on tensors, captures, classes, mappings, sequences."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@dataclass
class Circle:
    """A shape with one number."""

    radius: Any


@dataclass
class Box:
    """A shape with two numbers."""

    width: Any
    height: Any


@program("match", graph=True, golden=True)
def python_strings() -> World:
    def fn(x, mode):
        match mode:
            case "double":
                return x * 2.0
            case "square" | "sq":
                return x * x
            case _:
                return x
    return fn, [call(f32(3.0), "double"), call(f32(3.0), "sq"), call(f32(3.0), "?")]


@program("match", graph=True, golden=True)
def guards_on_tensors() -> World:
    def fn(x):
        match x:
            case v if v > 10:
                return v - 10
            case v if v > 0:
                return v
            case _:
                return -x
    return fn, each(i32(20), i32(5), i32(-5))


@program("match", graph=True)
def tensor_against_literals() -> World:
    def fn(x):
        match x:
            case 0:
                y = x + 100
            case 1 | 2:
                y = x + 200
            case _:
                y = x
        return y
    return fn, each(i64(0), i64(2), i64(9))


@program("match", graph=True)
def sequences_by_length() -> World:
    def fn(items):
        match items:
            case []:
                return f32(0.0)
            case [x]:
                return x
            case [x, y]:
                return x + y
            case [first, *rest]:
                return first * len(rest)
    return fn, each([], [f32(1.0)], [f32(1.0), f32(2.0)], [f32(1.0), f32(2.0), f32(3.0)])


@program("match", graph=True)
def classes_with_attributes() -> World:
    def fn(shape):
        match shape:
            case Circle(radius=r):
                return r * r * 3.0
            case Box(width=w, height=h):
                return w * h
            case None:
                return None
    return fn, each(Circle(f32(2.0)), Box(f32(2.0), f32(3.0)), None)


@program("match", graph=True)
def positional_class_pattern() -> World:
    def fn(shape, scale):
        match shape:
            case Box(w, h) if w > h:
                area = w * h * scale
            case Box(w, h):
                area = w * h
        return area
    return fn, [call(Box(f32(3.0), f32(2.0)), 10.0), call(Box(f32(2.0), f32(3.0)), 10.0)]


@program("match", graph=True)
def mappings() -> World:
    def fn(step, x):
        match step:
            case {"op": "add", "by": amount}:
                return x + amount
            case {"op": "scale", **rest}:
                return x * rest["by"], len(rest)
            case {}:
                return x
    return fn, [call({"op": "add", "by": 2.0}, f32(1.0)), call({"op": "scale", "by": 3.0}, f32(1.0)),
                call({"other": 1}, f32(1.0))]


@program("match", graph=True)
def nested_patterns() -> World:
    def fn(event):
        match event:
            case ("move", (x, y)) if x > y:
                return x - y
            case ("move", (x, y)):
                return y - x
            case ("stop", *_):
                return "stop"
    return fn, each(("move", (f64(3.0), f64(1.0))), ("move", (f64(1.0), f64(3.0))), ("stop", 1, 2))


@program("match", graph=True)
def as_pattern() -> World:
    def fn(pair):
        match pair:
            case (a, b) as both if a == b:
                return both
            case (a, (b as c)):
                return a + c
    return fn, each((i32(1), i32(1)), (i32(1), i32(2)))


@program("match", graph=True)
def no_case_fits() -> World:
    def fn(x, mode):
        y = x
        match mode:
            case 1:
                y = x * 10
        return y
    return fn, [call(f16(1.0), 1), call(f16(1.0), 2)]


@program("match", graph=True)
def class_names_as_types() -> World:
    def fn(x):
        match x:
            case bool():
                return "bool"
            case int() | float():
                return x + 1
            case str():
                return x.upper()
            case tf.Tensor():
                return x * 2
    return fn, each(True, 3, 2.5, "a", f32(1.0))


@program("match", graph=True)
def dotted_names() -> World:
    class Mode:
        FAST = 1
        SLOW = 2

    def fn(x, mode):
        match mode:
            case Mode.FAST:
                return x * 100
            case Mode.SLOW:
                return x
    return fn, [call(i32(1), 1), call(i32(1), 2), call(i32(1), 3)]


@program("match", graph=True)
def in_a_loop_with_break() -> World:
    def fn(xs, commands):
        total = f32(0.0)
        for command in commands:
            match command:
                case "stop":
                    break
                case "skip":
                    continue
                case factor:
                    total += tf.reduce_sum(xs) * factor
        return total
    return fn, [call(f32([1.0, 2.0]), [1.0, "skip", 2.0]), call(f32([1.0, 2.0]), [3.0, "stop", 5.0])]


@program("match", graph=True)
def guard_in_a_tensor_loop() -> World:
    def fn(xs):
        low, high, rest = 0, 0, 0
        for x in xs:
            match x:
                case v if v < 0:
                    low += 1
                case v if v > 10:
                    high += 1
                case _:
                    rest += 1
        return low, high, rest
    return fn, each(i32([-1, 20, 5, 6]), i32([1]))


@program("match", graph=True)
def guard_with_an_effect() -> World:
    log = []

    def asked(name, answer):
        log.append(name)
        return answer

    def fn(x):
        match x:
            case v if asked("first", v > 5):
                return 1
            case v if asked("second", v > 2):
                return 2
            case _:
                return 3
    return fn, each(f32(9.0), f32(3.0), f32(0.0)), lambda: log


@program("match", graph=True)
def captures_stay_bound() -> World:
    def fn(pair):
        match pair:
            case (a, b) if a > 100:
                pass
            case _:
                pass
        return a, b
    return fn, each((i32(1), i32(2)), (i32(200), i32(2)))


@program("match")
def lists_that_tensors_become() -> World:
    def fn(x):
        match x.numpy().tolist():
            case []:
                return "empty"
            case [only]:
                return only
            case [first, *rest]:
                rest.append(first)
                return first, rest

    return fn, each(f32([1.0, 2.0]), f32([3.0]), f32([]), i32([4, 5, 6]))


@program("match")
def text_by_its_class() -> World:
    def fn(x):
        found = []
        for subject in (f"{float(x):.1f}", str(int(x)), [int(x)], {"n": int(x)}, int(x), float(x), x):
            match subject:
                case [_]:
                    found.append("sequence")
                case {"n": n}:
                    found.append(("mapping", n))
                case str(word):
                    found.append("text " + word)
                case int() | bool():
                    found.append("int")
                case float(number):
                    found.append(number)
                case _:
                    found.append("other")
        return found

    return fn, each(f32(2.0), f32(-1.5))


@program("match")
def parts_of_several_kinds() -> World:
    def fn(x):
        key = None if x > 0 else 3
        match (key, x):
            case (int(), y):
                return "int", y
            case (None, y):
                return "none", y

    return fn, each(f32(2.0), f32(-1.5))


@program("match", graph=True)
def items_of_arrays_by_class() -> World:
    def fn(x):
        found = []
        for item in (x.numpy(), x.numpy()[0], x):
            match item:
                case [*_]:
                    found.append("sequence")
                case np.ndarray():
                    found.append("array")
                case float():
                    found.append("float")
                case np.floating() | np.integer():
                    found.append("scalar")
                case tf.Tensor(dtype=kind):
                    found.append(kind.name)
        return found, tf.reduce_sum(x)

    return fn, each(f32([1.0]), i32([2, 3]))


@program("match")
def tuples_of_run_time_length() -> World:
    def fn(xs):
        kept = []
        for x in xs:
            if x > 0:
                kept.append(x)
        match tuple(kept):
            case ():
                return "none"
            case (first, *others):
                return first, others

    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]))


@program("match", graph=True)
def rest_is_new_on_every_call() -> World:
    def fn(x):
        match [1, 2, 3]:
            case [_, *rest]:
                rest.append(int(x))
        match {"a": 1, "b": 2}:
            case {"a": _, **others}:
                others["c"] = int(x)
        return rest, others

    return fn, each(f32(2.0), f32(3.0), f32(2.0))


@program("match")
def ranges_of_run_time_length() -> World:
    def fn(n):
        match range(int(n)):
            case [0, *rest]:
                return rest
            case _:
                return "none"

    return fn, each(i32(3), i32(0), i32(1))
