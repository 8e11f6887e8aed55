"""What surrounds a program changes between calls: attributes, globals, methods, lists, branches that flip."""
from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.programs import World, after, call, each, f16, f32, f64, i32, i64, program

rate = 1.0


def _helper(v):
    return v + 1


def _set_rate(value: float) -> None:
    global rate
    rate = value


class _Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def _setting(target: object, name: str, value: object) -> Callable[[], None]:
    """A step that sets an attribute."""
    return lambda: setattr(target, name, value)


@program("late_changes", graph=True)
def attribute_number() -> World:
    node = _Plain(scale=2.0)

    def fn(x):
        return x * node.scale
    steps = [after(_setting(node, "scale", value), f32(1.0)) for value in (3.0, 3.5, 4)]
    return fn, [call(f32(1.0)), *steps]


@program("late_changes", graph=True)
def attribute_flag() -> World:
    node = _Plain(training=True)

    def fn(x):
        if node.training:
            return x * 2.0
        return x
    return fn, [after(_setting(node, "training", value), f16(1.0)) for value in (True, False, True)]


@program("late_changes", graph=True)
def attribute_tensor_replaced() -> World:
    node = _Plain(w=f32([1.0, 2.0]))

    def fn(x):
        return x * node.w
    return fn, [call(f32(1.0)), after(_setting(node, "w", f32([5.0, 6.0])), f32(1.0)),
                after(_setting(node, "w", f32([7.0])), f32(1.0))]


@program("late_changes", graph=True)
def attribute_none_then_tensor_then_string() -> World:
    node = _Plain(bias=None)

    def fn(x):
        if node.bias is None:
            return x
        if isinstance(node.bias, str):
            return node.bias
        return x + node.bias
    return fn, [after(_setting(node, "bias", value), f32(1.0)) for value in (None, f32(2.0), "text")]


@program("late_changes", graph=True)
def attribute_of_another_dtype() -> World:
    node = _Plain(last=i32(1))

    def fn(x):
        node.last = node.last + 1
        return node.last
    return fn, [call(0), after(_setting(node, "last", f64(0.5)), 0), call(0)], lambda: node


@program("late_changes", graph=True)
def method_replaced_on_the_instance() -> World:
    class Layer:
        def apply(self, x):
            return x * 2.0

    layer = Layer()

    def fn(x):
        return layer.apply(x)

    def replace():
        layer.apply = lambda x: x - 1.0
    return fn, [call(f32(1.0)), after(replace, f32(1.0))]


@program("late_changes", graph=True)
def method_replaced_on_the_class() -> World:
    class Layer:
        def apply(self, x):
            return x * 2.0

    def other(self, x):
        return x - 10.0

    layer = Layer()

    def fn(x):
        if x > 0.0:
            return layer.apply(x)
        return x
    return fn, [call(f32(1.0)), after(_setting(Layer, "apply", other), f32(1.0))]


@program("late_changes", graph=True)
def class_attribute() -> World:
    class Config:
        scale = 2.0

    config = Config()

    def fn(x):
        return x * config.scale
    return fn, [call(f32(1.0)), after(_setting(Config, "scale", 5.0), f32(1.0)),
                after(_setting(config, "scale", 7.0), f32(1.0))]


@program("late_changes", graph=True)
def object_becomes_another_class() -> World:
    class First:
        def apply(self, x):
            return x + 1

    class Second(First):
        def apply(self, x):
            return super().apply(x) * 100

    thing = First()

    def fn(x):
        return thing.apply(x)
    return fn, [call(i64(1)), after(_setting(thing, "__class__", Second), i64(1))]


@program("late_changes", graph=True)
def global_number() -> World:
    _set_rate(1.0)

    def fn(x):
        return x * rate
    return fn, [after(lambda value=value: _set_rate(value), f32(1.0)) for value in (1.0, 2.0, 2.5)]


@program("late_changes", graph=True)
def helper_of_the_module_replaced() -> World:
    original = _helper

    def fn(x):
        return _helper(x)

    def replace(helper):
        globals()["_helper"] = helper
    return fn, [call(i32(1)), after(lambda: replace(lambda v: v * 50), i32(1)),
                after(lambda: replace(original), i32(1))]


@program("late_changes", graph=True)
def cell_changed_by_another_closure() -> World:
    scale = 1.0

    def fn(x):
        return x * scale

    def change(value):
        nonlocal scale
        scale = value
    return fn, [after(lambda value=value: change(value), f32(1.0)) for value in (1.0, 4.0, f32(6.0))]


@program("late_changes", graph=True)
def default_argument_replaced() -> World:
    def fn(x, scale=2.0):
        return x * scale
    return fn, [call(f32(1.0)), after(_setting(fn, "__defaults__", (9.0,)), f32(1.0))]


@program("late_changes", graph=True)
def list_grows_from_outside() -> World:
    weights = [1.0]

    def fn(x):
        for weight in weights:
            x = x * weight + 1.0
        return x
    return fn, [call(f32(1.0)), after(lambda: weights.append(3.0), f32(1.0)), after(weights.clear, f32(1.0))]


@program("late_changes", graph=True)
def list_element_replaced_from_outside() -> World:
    layers = [_Plain(w=f32(1.0)), _Plain(w=f32(2.0))]

    def fn(x):
        for layer in layers:
            x = x * layer.w
        return x

    def replace():
        layers[1] = _Plain(w=f32(50.0))
    first = _setting(layers[0], "w", f32(-1.0))
    return fn, [call(f32(1.0)), after(replace, f32(1.0)), after(first, f32(1.0))]


@program("late_changes", graph=True)
def dict_changed_from_outside() -> World:
    options = {"scale": 2.0}

    def fn(x):
        return x * options.get("scale", 1.0) + options.get("shift", 0.0)
    return fn, [call(f32(1.0)), after(lambda: options.update(shift=5.0), f32(1.0)),
                after(lambda: options.pop("scale", None), f32(1.0))]


@program("late_changes", graph=True)
def argument_list_changed_by_the_caller() -> World:
    items = [f32(1.0)]

    def fn(values):
        total = f32(0.0)
        for value in values:
            total += value
        return total
    return fn, [call(items), after(lambda: items.append(f32(5.0)), items), after(items.clear, items)]


@program("late_changes", graph=True)
def variable_assigned_from_outside() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        if v > 5.0:
            v.assign_sub(5.0)
        return x * v
    return fn, [call(f32(1.0)), after(lambda: v.assign(9.0), f32(1.0)), call(f32(1.0))], lambda: v


@program("late_changes", graph=True)
def variable_replaced_by_another() -> World:
    node = _Plain(v=tf.Variable(1.0))

    def fn(x):
        node.v.assign_add(x)
        return node.v.read_value()
    return fn, [call(f32(1.0)), after(_setting(node, "v", tf.Variable(100.0)), f32(1.0))], lambda: node.v


@program("late_changes")
def numpy_array_changed_in_place() -> World:
    table = np.array([1.0, 2.0], np.float32)

    def fn(x):
        return x * table
    return fn, [call(f32(1.0)), after(lambda: table.__setitem__(0, 50.0), f32(1.0))]


@program("late_changes")
def attribute_deleted_from_outside() -> World:
    node = _Plain(scale=2.0)

    def fn(x):
        return x * node.scale

    def change():
        if hasattr(node, "scale"):
            del node.scale
        else:
            node.scale = 3.0
    return fn, [call(f32(1.0)), after(change, f32(1.0)), after(change, f32(1.0))]


@program("late_changes", graph=True)
def aliases_become_two_objects() -> World:
    shared = _Plain(value=1)
    pair = _Plain(left=shared, right=shared)

    def fn(x):
        pair.left.value += 1
        return x * pair.right.value
    return fn, [call(f32(1.0)), after(_setting(pair, "right", _Plain(value=50)), f32(1.0))], lambda: pair


@program("late_changes", graph=True, repeat=1)
def branch_flips_after_many_calls() -> World:
    log = []

    def fn(x):
        if x > 0.0:
            log.append("usual")
            return x * 2.0
        log.append("rare")
        return x - 1.0
    return fn, [*each(*[f32(float(i + 1)) for i in range(6)]), call(f32(-1.0)), call(f32(1.0))], lambda: log


@program("late_changes", graph=True, repeat=1)
def number_of_turns_changes_after_many_calls() -> World:
    def fn(n, x):
        for _ in tf.range(n):
            x = x * 2.0
        return x
    return fn, [*[call(i32(3), f32(1.0))] * 5, call(i32(7), f32(1.0)), call(i32(0), f32(1.0))]


@program("late_changes", graph=True, repeat=1)
def shape_changes_after_many_calls() -> World:
    def fn(x):
        y = tf.reduce_sum(x, axis=0)
        if tf.size(y) > 2:
            return y[:2]
        return y
    return fn, each(*[tf.ones([n, 2]) for n in (1, 1, 1, 2, 3)], tf.ones([1, 4]), tf.ones([2, 3, 2]))


@program("late_changes", graph=True, repeat=1)
def raise_after_many_calls() -> World:
    state = _Plain(calls=0, total=f32(0.0))

    def fn(x):
        state.calls += 1
        if x < 0.0:
            raise ValueError("negative at last")
        state.total += x
        return state.total
    return fn, [*[call(f32(1.0))] * 5, call(f32(-1.0)), call(f32(2.0))], lambda: state


@program("late_changes", graph=True, repeat=4)
def counters_that_rarely_change_beside_a_list_of_few_lengths() -> World:
    class Window:
        def __init__(self):
            self.items, self.calls, self.full, self.resets, self.large = [], 0, 0, 0, 0

        def step(self, x):
            self.calls += 1
            total = x
            for item in self.items:
                total += item
            if len(self.items) == 4:
                self.full += 1
                self.items = self.items[1:]
            self.items.append(x)
            if self.calls % 7 == 0:
                self.resets += 1
                self.items = []
            if x > 3.0:
                self.large += 1
            return total, self.full, self.resets, self.large
    window = Window()
    return window.step, each(*(f32(float(value)) for value in (1, 2, 3, 2, 5, 6, 7))), lambda: vars(window)


@program("late_changes", graph=True)
def variable_of_a_module() -> World:
    settings = types.ModuleType("settings_of_a_program")
    settings.rate = 2.0
    settings.scaled = 0.0
    sys.modules[settings.__name__] = settings

    def raise_rate():
        settings.rate += 1.0

    def fn(x):
        from settings_of_a_program import rate as found
        if x * settings.rate > 4.0:
            settings.scaled = x
            settings.rate += 1.0
        return x * settings.rate, found, settings.scaled
    calls = [call(f32(1.0)), call(f32(3.0)), call(f32(1.0)), after(raise_rate, f32(1.0)), call(f32(3.0))]
    return fn, calls, lambda: (settings.rate, settings.scaled)


@program("late_changes")
def exception_kept_from_an_earlier_call() -> World:
    kept = {"last": None}

    def fn(x):
        try:
            if x > 1.0:
                raise ValueError(f"bad {float(x)}")
            return str(kept["last"])
        except ValueError as error:
            kept["last"] = error
            return "stored"
    return fn, [call(f32(value)) for value in (0.0, 3.0, 0.0, 2.0, 0.0)]


@program("late_changes")
def presence_of_a_variable_of_a_module() -> World:
    settings = types.ModuleType("optional_settings_of_a_program")
    settings.rate = 2.0

    def add():
        settings.extra = 3.0

    def remove():
        del settings.extra

    def fn(x):
        if x > 1.0:
            settings.debug = x
        return hasattr(settings, "extra"), hasattr(settings, "debug"), getattr(settings, "debug", -1.0), hasattr(settings, "__name__")
    calls = [call(f32(0.0)), after(add, f32(0.0)), call(f32(2.0)), after(remove, f32(0.0)), call(f32(3.0))]
    return fn, calls, lambda: [name for name in vars(settings) if not name.startswith("_")]


@program("late_changes", graph=True, repeat=4)
def ring_that_fills() -> World:
    class Ring:
        def __init__(self):
            self.items, self.count = [None] * 3, 0

        def put(self, value):
            self.items[self.count % 3] = value
            self.count += 1
            return [item for item in self.items if item is not None]

    ring = Ring()

    def fn(x):
        held = ring.put(x)
        return tf.add_n(held) / len(held)
    return fn, [call(f32(value)) for value in (0.0, 3.0, 1.0, 2.0)], lambda: (ring.items, ring.count)
