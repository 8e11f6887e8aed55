"""Gradients that are None: by what other turns, other branches and other results use."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.programs import World, call, f32, program


class Total:
    """An object that keeps a tensor."""

    def __init__(self) -> None:
        self.value: Any = f32(0.0)


@program("none_gradients", graph=True, grad=True)
def overwritten_in_a_loop() -> World:
    def fn(x, y):
        k = tf.constant(0)
        while k < 4:
            k += 1
            y = tf.cast(0, tf.float32)
        return y + x
    return fn, [call(f32(1), f32(2))]


@program("none_gradients", graph=True, grad=True)
def overwritten_in_no_turn() -> World:
    def fn(x, y, n):
        while n > 0:
            n -= 1
            y = x * 2.0
        return y
    return fn, [call(f32(1), f32(2), tf.constant(n)) for n in (0, 2)]


@program("none_gradients", graph=True, grad=True)
def a_branch_in_a_loop_that_no_turn_takes() -> World:
    def fn(x, w, v):
        for e in v:
            if e > 0:
                x = x + w * e
            else:
                x = x + e
        return x
    return fn, [call(f32(1), f32(2), tf.constant(v)) for v in ([1.0, -1.0], [-1.0, -2.0], [3.0, 1.0])]


@program("none_gradients", graph=True, grad=True)
def a_branch_in_a_loop_in_a_loop() -> World:
    def fn(x, w, n):
        for i in tf.range(n):
            for j in tf.range(i):
                if j > 1:
                    x = x + w
        return x
    return fn, [call(f32(1), f32(2), tf.constant(n)) for n in (0, 2, 5)]


@program("none_gradients", graph=True)
def inner_tape_and_a_branch() -> World:
    def fn(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = w * x if x > 0 else x * 2.0
        return tape.gradient(y, w)
    return fn, [call(f32(value), f32(2)) for value in (1, -1, 3)]


@program("none_gradients", graph=True)
def inner_tape_and_two_branches() -> World:
    def fn(x, a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = x
            if x > 0:
                y = y * a
            if x < 2:
                y = y * b
        da, db = tape.gradient(y, [a, b])
        if da is None:
            return "no a", db
        return da, "no b" if db is None else db
    return fn, [call(f32(value), f32(2), f32(3)) for value in (1, -1, 3)]


@program("none_gradients", graph=True)
def inner_tape_and_a_loop() -> World:
    def fn(x, w, n):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            for i in tf.range(n):
                if i > 1:
                    x = x * w
        return tape.gradient(x, w)
    return fn, [call(f32(1), f32(2), tf.constant(n)) for n in (0, 2, 5)]


@program("none_gradients", graph=True, grad=True)
def each_result_has_its_own() -> World:
    def fn(x, y):
        total = Total()
        total.value = y * 2.0
        if x > 0:
            return x * 2.0
        return x
    return fn, [call(f32(value), f32(2)) for value in (1, -1)]


@program("none_gradients", graph=True, grad=True)
def what_is_kept_is_no_result() -> World:
    total = Total()

    def fn(x, y):
        total.value = y * 2.0
        return x * 3.0
    return fn, [call(f32(value), f32(2)) for value in (1, -1)], lambda: total


@program("none_gradients", graph=True)
def steps_by_gradients_of_a_loop() -> World:
    weights = [tf.Variable(1.0), tf.Variable(2.0)]

    def fn(v, rate):
        with tf.GradientTape() as tape:
            y = weights[0] * 1.0
            for e in v:
                y = y * weights[1] + e * weights[0]
        for weight, g in zip(weights, tape.gradient(y, weights)):
            weight.assign_sub(rate * g)
        return y
    return fn, [call(f32(v), f32(0.1)) for v in ([1.0, 2.0], [1.0, -1.0, 0.5])], lambda: weights


@program("none_gradients", graph=True)
def nothing_times_a_rate() -> World:
    def fn(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = w * x if x > 0 else x * 2.0
        print("stepping")
        return w - x * tape.gradient(y, w)
    return fn, [call(f32(value), f32(2)) for value in (1, -1)]


@program("none_gradients", graph=True)
def second_order_through_a_loop() -> World:
    def fn(x, n):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f32(1.0)
                for _ in tf.range(n):
                    y = y * x
            g = inner.gradient(y, x)
        return y, g, None if g is None else outer.gradient(g, x)
    return fn, [call(f32(2), tf.constant(n)) for n in (3, 2)]
