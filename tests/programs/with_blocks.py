"""`with`: TensorFlow's scopes, own context managers, several items, exceptions that are swallowed."""
from __future__ import annotations

import contextlib

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, program


@program("with_blocks", graph=True, golden=True)
def name_scope() -> World:
    def fn(x):
        with tf.name_scope("block"):
            if x > 0:
                x = x * 2
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("with_blocks", graph=True)
def device() -> World:
    def fn(xs):
        total = f32(0.0)
        with tf.device("CPU:0"):
            for x in xs:
                total += x
        return total
    return fn, each(f32([1.0, 2.0]), f32([3.0]))


@program("with_blocks", graph=True)
def own_manager_with_state() -> World:
    class Depth:
        def __init__(self):
            self.level = 0
            self.deepest = 0

        def __enter__(self):
            self.level += 1
            self.deepest = max(self.deepest, self.level)
            return self

        def __exit__(self, kind, error, trace):
            self.level -= 1

    depth = Depth()

    def fn(x):
        with depth as inside:
            if x > 0:
                with depth:
                    x = x * 2
        return x, inside.level
    return fn, each(f32(1.0), f32(-1.0)), lambda: depth


@program("with_blocks", graph=True)
def value_bound_by_as() -> World:
    class Scale:
        def __enter__(self):
            return 3.0

        def __exit__(self, kind, error, trace):
            return None

    def fn(x):
        with Scale() as factor:
            y = x * factor
        return y, factor
    return fn, each(f64(1.0), f64(2.0))


@program("with_blocks", graph=True)
def two_items() -> World:
    order = []

    class Note:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            order.append("enter " + self.name)

        def __exit__(self, kind, error, trace):
            order.append("exit " + self.name)

    def fn(x):
        with Note("a"), Note("b"):
            order.append("body")
            x = x + 1
        return x
    return fn, each(i32(1), i32(2)), lambda: order


@program("with_blocks")
def generator_manager() -> World:
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append("enter " + name)
        try:
            yield len(log)
        finally:
            log.append("exit " + name)

    def fn(x):
        with noted("block") as count:
            x = x * 2
        return x, count
    return fn, each(f32(1.0), f32(2.0)), lambda: log


@program("with_blocks", graph=True)
def exit_runs_when_the_body_raises() -> World:
    log = []

    class Note:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, kind, error, trace):
            log.append("exit with " + ("nothing" if kind is None else kind.__name__))

    def fn(x):
        with Note():
            if x < 0:
                raise ValueError("negative")
            x = x * 2
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: log


@program("with_blocks", graph=True)
def exit_swallows_the_exception() -> World:
    class Ignore:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            return kind is ValueError

    def fn(x):
        y = f32(0.0)
        with Ignore():
            y = y + 1.0
            if x < 0:
                raise ValueError
            if x > 10:
                raise KeyError("large")
            y = y + 10.0
        return y
    return fn, each(f32(1.0), f32(-1.0), f32(11.0))


@program("with_blocks")
def contextlib_suppress() -> World:
    def fn(x, table, key):
        with contextlib.suppress(KeyError):
            x = x * table[key]
        return x
    return fn, [call(f32(2.0), {"a": 3.0}, "a"), call(f32(2.0), {"a": 3.0}, "b")]


@program("with_blocks", graph=True)
def nullcontext() -> World:
    def fn(x, scoped):
        with tf.name_scope("s") if scoped else contextlib.nullcontext():
            y = x + 1
        return y
    return fn, [call(i32(1), True), call(i32(1), False)]


@program("with_blocks", graph=True)
def return_from_inside() -> World:
    log = []

    class Note:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, kind, error, trace):
            log.append("exit")

    def fn(xs):
        for x in xs:
            with Note():
                if x > 2:
                    return x
        return i32(-1)
    return fn, each(i32([1, 3, 5]), i32([1])), lambda: log


@program("with_blocks", graph=True)
def loop_inside_and_outside() -> World:
    def fn(n):
        total = i32(0)
        for i in tf.range(n):
            with tf.name_scope("outer"):
                for j in tf.range(i):
                    with tf.name_scope("inner"):
                        total += j
        return total
    return fn, each(i32(4), i32(0))


@program("with_blocks", graph=True)
def control_dependencies() -> World:
    v = tf.Variable(2.0)

    def fn(x):
        with tf.control_dependencies([v.assign_add(1.0)]):
            y = x * v
        return y
    return fn, each(f32(1.0), f32(2.0)), lambda: v


@program("with_blocks", grad=1, graph=True)
def tape_inside() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            if x > 0.0:
                y = x * x * x
            else:
                y = x * x
        return tape.gradient(y, x)
    return fn, each(f32(2.0), f32(-2.0))


@program("with_blocks", graph=True)
def stop_recording_inside_a_tape() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                z = y * y
        return tape.gradient(y, x), z
    return fn, each(f16(3.0), f16(-1.0))


@program("with_blocks")
def exit_stack() -> World:
    log = []

    def fn(x, names):
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.callback(log.append, name)
            x = x * len(names)
        return x
    return fn, [call(f32(1.0), ["a", "b"]), call(f32(1.0), [])], lambda: log


@program("with_blocks", graph=True)
def manager_in_an_attribute_of_self() -> World:
    class Timer:
        def __init__(self):
            self.entered = 0

        def __enter__(self):
            self.entered += 1
            return self

        def __exit__(self, kind, error, trace):
            return False

    class Model:
        def __init__(self):
            self.timer = Timer()

        def run(self, x):
            while x > 1.0:
                with self.timer:
                    x = x / 2.0
            return x

    model = Model()
    return model.run, each(f32(8.0), f32(1.0)), lambda: model.timer.entered
