"""Programs for gradients: first and second order, tapes outside, inside and both, in loops, by variables."""
from __future__ import annotations

import math

import tensorflow as tf

from tests.programs import World, after, call, each, f16, f32, f64, i32, program


@program("gradients", grad=2, graph=True)
def polynomial_in_a_branch() -> World:
    def fn(x):
        if x > 1.0:
            return x ** 4
        return x ** 3
    return fn, each(f64(2.0), f64(0.5), f64(-1.0))


@program("gradients", grad=2, graph=True)
def while_loop_of_unknown_length() -> World:
    def fn(x):
        y = x * x
        while tf.abs(y) < 20.0:
            y = y * y + x
        return y
    return fn, each(f32(1.5), f32(2.0), f32(30.0))


@program("gradients", grad=2, graph=True)
def for_loop_with_a_branch() -> World:
    def fn(x, n):
        y = x
        for i in tf.range(n):
            if i % 2 == 0:
                y = tf.sin(y) * x
            else:
                y = y * y
        return y
    return fn, [call(f32(1.2), i32(4)), call(f32(0.7), i32(1))]


@program("gradients", grad=1, graph=True)
def no_turns_at_all() -> World:
    def fn(x, n):
        y = x * x
        for _ in tf.range(n):
            y = y * 2.0
        return y
    return fn, [call(f32(3.0), i32(0)), call(f32(3.0), i32(2))]


@program("gradients", grad=1)
def branch_that_does_not_depend_on_the_input() -> World:
    def fn(x, y):
        if x > 0.0:
            return x * x
        return y * y
    return fn, [call(f32(2.0), f32(3.0)), call(f32(-2.0), f32(3.0))]


@program("gradients", grad=1, graph=True)
def input_that_is_never_used() -> World:
    def fn(x, unused):
        if x > 0.0:
            x = x * x
        return x
    return fn, [call(f32(2.0), f32(3.0)), call(f32(-2.0), f32(3.0))]


@program("gradients", grad=1, graph=True)
def variables_of_the_state() -> World:
    w, b = tf.Variable(2.0), tf.Variable(0.5)

    def fn(x):
        y = w * x + b
        if y > 0.0:
            return y * y
        return y * b * w
    return fn, each(f32(1.0), f32(-3.0)), lambda: (w, b)


@program("gradients", graph=True, golden=True)
def tape_inside() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            if x > 1.0:
                y = y * 2.0
        return tape.gradient(y, x)
    return fn, each(f32(2.0), f32(0.5))


@program("gradients", graph=True)
def tape_inside_around_a_loop() -> World:
    def fn(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(n):
                y = y * x
        return tape.gradient(y, x)
    return fn, [call(f32(2.0), i32(3)), call(f32(2.0), i32(0))]


@program("gradients", graph=True)
def tape_inside_a_loop() -> World:
    def fn(x):
        for _ in tf.range(3):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = (x - 5.0) * (x - 5.0)
            x = x - 0.1 * tape.gradient(loss, x)
        return x
    return fn, each(f32(0.0), f32(5.0))


@program("gradients", graph=True)
def nested_tapes_inside() -> World:
    def fn(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x if x > 0.0 else x * x
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)
    return fn, each(f64(2.0), f64(-2.0))


@program("gradients", grad=1, graph=True)
def tape_inside_and_outside() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(x) * x
            while y < 10.0:
                y = y * y
        return tape.gradient(y, x)
    return fn, each(f32(1.0), f32(3.0))


@program("gradients", graph=True)
def training_step_with_assign() -> World:
    w = tf.Variable([1.0, -1.0])

    def fn(x, y):
        with tf.GradientTape() as tape:
            error = tf.reduce_sum(w * x) - y
            loss = error * error
            if loss > 10.0:
                loss = tf.sqrt(loss)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss
    return fn, [call(f32([1.0, 2.0]), f32(0.5)), call(f32([3.0, -1.0]), f32(-9.0))], lambda: w


@program("gradients", grad=1, graph=True)
def stop_gradient_in_a_loop() -> World:
    def fn(xs):
        total = f32(1.0)
        for x in xs:
            if x > 1.0:
                x = tf.stop_gradient(x)
            total = total * x
        return total
    return fn, each(f32([0.5, 2.0]), f32([3.0, 0.5]))


@program("gradients", grad=1, graph=True)
def custom_gradient_function() -> World:
    @tf.custom_gradient
    def clipped(v):
        def backward(g):
            return tf.clip_by_value(g, -0.5, 0.5)
        return v * 3.0, backward

    def fn(x):
        if x > 0.0:
            return clipped(x)
        return clipped(x * x)
    return fn, each(f32(2.0), f32(-2.0))


@program("gradients", grad=1, graph=True)
def gather_and_sparse_gradient() -> World:
    def fn(table, i):
        total = f32(0.0)
        for k in i:
            row = tf.gather(table, k)
            total += tf.reduce_sum(row * row)
        return total
    return fn, [call(f32([[1.0, 2.0], [3.0, 4.0]]), i32([0, 1, 1])), call(f32([[1.0, 2.0]]), i32([0]))]


@program("gradients", grad=1, graph=True)
def several_outputs_of_structure() -> World:
    def fn(x):
        out = {"square": x * x, "parts": [x, x * 3.0]}
        if x > 1.0:
            out["parts"].append(x * x * x)
        return out
    return fn, each(f32(2.0), f32(0.5))


@program("gradients", grad=1, graph=True)
def half_precision_loop() -> World:
    def fn(x):
        y = x
        for _ in tf.range(3):
            y = y * x + x
        return y
    return fn, each(f16(1.5), f16(-0.5))


@program("gradients", grad=1, graph=True)
def attribute_written_on_the_way() -> World:
    class Model:
        def __init__(self):
            self.hidden = f32(0.0)

        def run(self, x):
            h = f32(0.0)
            for _ in tf.range(2):
                h = tf.tanh(h + x)
            self.hidden = h
            return h * h

    model = Model()
    return model.run, each(f32(0.3), f32(-0.2)), lambda: model.hidden


@program("gradients", grad=1, graph=True)
def state_of_the_earlier_call_is_a_constant() -> World:
    class Memory:
        def __init__(self):
            self.last = f32(1.0)

        def run(self, x):
            y = x * self.last * x
            if y > 4.0:
                y = y / 2.0
            self.last = x
            return y

    memory = Memory()
    return memory.run, each(f32(2.0), f32(3.0)), lambda: memory.last


@program("gradients", grad=2, graph=True)
def matrix_function() -> World:
    def fn(w):
        h = tf.ones([2, 1], tf.float64)
        for _ in tf.range(2):
            h = tf.tanh(w @ h)
        if tf.reduce_sum(h) > 0.0:
            return tf.reduce_sum(h * h)
        return tf.reduce_sum(h * h * h)
    return fn, each(f64([[0.5, 0.2], [0.1, 0.4]]), f64([[-0.5, 0.2], [0.1, -0.4]]))


@program("gradients", grad=1)
def custom_gradient_with_state() -> World:
    seen, limits = [], {"high": 1.0}

    @tf.custom_gradient
    def clipped(v):
        def backward(g):
            seen.append(len(seen))
            print("backward")
            return tf.clip_by_value(g, -limits["high"], limits["high"])
        return v * 3.0, backward

    def tighter():
        limits["high"] /= 2.0

    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x) * x
        return tape.gradient(y, x)
    return fn, [call(f32(2.0)), after(tighter, f32(2.0)), after(tighter, f32(-2.0))], lambda: seen


@program("gradients", grad=1)
def custom_gradient_made_in_the_call() -> World:
    limits = {"high": 1.0}

    def tighter():
        limits["high"] /= 2.0

    def fn(x):
        @tf.custom_gradient
        def straight(v):
            return tf.round(v), lambda g: g * limits["high"]
        return straight(x) * x
    return fn, [call(f32(2.6)), after(tighter, f32(2.6)), after(tighter, f32(-2.0))]


@program("gradients", grad=1)
def custom_gradient_by_a_variable() -> World:
    weight = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(v):
        def backward(g, variables=None):
            return g * weight * 10.0, [g * v]
        return v * weight, backward

    def fn(x):
        return scaled(x) * 2.0 if x > 0.0 else x * 5.0
    return fn, each(f32(2.0), f32(-2.0)), lambda: weight


@program("gradients")
def tape_reset_in_a_branch() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            if x > 1.0:
                tape.reset()
                tape.watch(x)
                y = x * 7.0
        return tape.gradient(y, x)
    return fn, each(f32(0.5), f32(2.0), f32(0.5))


@program("gradients")
def tape_that_watches_or_stops_in_a_branch() -> World:
    def fn(x, z):
        with tf.GradientTape(persistent=True) as tape:
            if x > 1.0:
                tape.watch(z)
            tape.watch(x)
            y = x * x * z
            if x > 2.0:
                with tape.stop_recording():
                    y = y * x
            w = y * 2.0
        return tape.gradient(w, x), tape.gradient(w, z)
    return fn, [call(f32(0.5), f32(3.0)), call(f32(1.5), f32(3.0)), call(f32(2.5), f32(3.0))]


@program("gradients", graph=True)
def tape_that_watches_in_a_loop() -> World:
    def fn(x):
        total = f32(0.0)
        for i in tf.range(3):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x * tf.cast(i, tf.float32)
            total += tape.gradient(y, x)
        return total
    return fn, each(f32(0.5), f32(2.0))


@program("gradients", graph=True)
def of_a_sum_that_begins_as_a_python_number() -> World:
    weight = tf.Variable(2.0)

    def fn(n):
        with tf.GradientTape() as tape:
            total, parts = 0.0, []
            for i in tf.range(n):
                parts.append(weight * tf.cast(i, tf.float32))
            for i in reversed(range(len(parts))):
                total += parts[i] * parts[i]
            loss = total / max(len(parts), 1)
        return tape.gradient(loss, weight), loss
    return fn, each(i32(3), i32(1), i32(4))


@program("gradients")
def of_a_python_number() -> World:
    weight = tf.Variable(2.0)

    def fn(n):
        with tf.GradientTape() as tape:
            total = float(n) / 3.0
            if n > 2:
                total = weight * 2.0
            elif n > 1:
                total = int(n)
        return tape.gradient(total, weight)
    return fn, each(i32(3), i32(1), i32(2), i32(4))


@program("gradients", graph=True, grad=1)
def none_through_python_numbers() -> World:
    weight = tf.Variable(2.0)

    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = float(weight * 3.0) * weight + float(x) * x
        alone = float(x) + 1.0
        return tape.gradient(y, [weight, x]), x * alone, x * math.sqrt(x)
    return fn, each(f32(4.0), f32(9.0))


@program("gradients", graph=True)
def none_through_python_numbers_in_lists() -> World:
    weight = tf.Variable(2.0)

    def fn(n):
        with tf.GradientTape() as tape:
            values, rewards = [], []
            for i in tf.range(n):
                values.append(weight * tf.cast(i + 1, tf.float32))
                rewards.append(float(i) * float(weight))
            rewards = [*rewards, float(weight * 5.0)]
            total, ahead = 0.0, rewards.pop()
            for k in reversed(range(len(rewards))):
                ahead = rewards[k] + 0.9 * ahead
                advantage = ahead - values[k]
                total += -values[k] * tf.stop_gradient(advantage) + 0.5 * advantage**2
            loss = total / len(rewards)
        return tape.gradient(loss, weight), loss
    return fn, each(i32(3), i32(1), i32(2))
