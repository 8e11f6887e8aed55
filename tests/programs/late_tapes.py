"""Gradients taken under a tape that has not recorded all that they go through: it began, or watched, too late."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, f32, program

CALLS = [call(f32(2.0), f32(c)) for c in (1.0, -1.0, 2.5)]


def _branch(x, c):
    if c > 0.0:
        return x * x * x
    return tf.exp(x) * x


def _loop(x, c):
    y = x
    for _ in tf.range(tf.cast(c, tf.int32) + 2):
        y = y * x
    return y


def _straight(x, c):
    return x * x * x * c


def _ended_before(body, persistent) -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=persistent) as first:
            first.watch(x)
            y = body(x, c)
        with tf.GradientTape() as second:
            second.watch(x)
            g = first.gradient(y, x)
        return g, second.gradient(g, x)
    return fn, CALLS


@program("late_tapes")
def through_a_branch() -> World:
    return _ended_before(_branch, persistent=False)


@program("late_tapes")
def through_a_branch_by_a_persistent_tape() -> World:
    return _ended_before(_branch, persistent=True)


@program("late_tapes")
def through_a_loop() -> World:
    return _ended_before(_loop, persistent=False)


@program("late_tapes")
def through_a_loop_by_a_persistent_tape() -> World:
    return _ended_before(_loop, persistent=True)


@program("late_tapes", graph=True)
def through_neither() -> World:
    return _ended_before(_straight, persistent=True)


@program("late_tapes")
def watched_too_late() -> World:
    def fn(x, c):
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = _branch(x, c)
            outer.watch(x)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x)
    return fn, CALLS


@program("late_tapes")
def not_recording_for_a_while() -> World:
    def fn(x, c):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                with outer.stop_recording():
                    y = _loop(x, c)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x)
    return fn, CALLS


@program("late_tapes")
def one_of_two_has_recorded() -> World:
    def fn(x, c):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = _loop(x, c)
            with tf.GradientTape() as late:
                late.watch(x)
                g = inner.gradient(y, x)
            h = late.gradient(g, x)
        return g, h, outer.gradient(g, x)
    return fn, CALLS


@program("late_tapes")
def asked_in_a_branch() -> World:
    def fn(x, c):
        with tf.GradientTape() as first:
            first.watch(x)
            y = _loop(x, c)
        if c < 2.0:
            with tf.GradientTape() as second:
                second.watch(x)
                g = first.gradient(y, x)
            return g, second.gradient(g, x)
        return y
    return fn, CALLS


@program("late_tapes")
def asked_in_each_turn() -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=True) as first:
            first.watch(x)
            y = _branch(x, c)
        total = tf.constant(0.0)
        for _ in tf.range(2):
            with tf.GradientTape() as second:
                second.watch(x)
                g = first.gradient(y, x)
            total = total + second.gradient(g, x)
        return total
    return fn, CALLS


@program("late_tapes")
def elements_of_a_list() -> World:
    def fn(x, c):
        items = [x]
        with tf.GradientTape(persistent=True) as first:
            first.watch(x)
            for _ in tf.range(tf.cast(c, tf.int32) + 2):
                items.append(x)
            y = tf.constant(1.0)
            for item in items:
                y = y * item
        with tf.GradientTape() as second:
            second.watch(x)
            g = first.gradient(y, x)
        return g, second.gradient(g, x)
    return fn, CALLS


@program("late_tapes")
def jacobians() -> World:
    def fn(x, c):
        rows = tf.stack([x, x + 1.0])
        with tf.GradientTape(persistent=True) as first:
            first.watch(rows)
            y = _branch(rows, c)
        with tf.GradientTape() as second:
            second.watch(rows)
            g = first.jacobian(y, rows)
        return g, second.gradient(g, rows)
    return fn, CALLS


@program("late_tapes")
def in_methods() -> World:
    class Model:
        def __init__(self):
            self.weight = tf.Variable(1.5)

        def penalised(self, x, c):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = _loop(x * self.weight, c)
            return tape, y

        def step(self, x, c):
            tape, y = self.penalised(x, c)
            with tf.GradientTape() as second:
                second.watch([x, self.weight])
                g = tape.gradient(y, x)
            return g, second.gradient(g, [x, self.weight])

    model = Model()
    return model.step, CALLS, lambda: model.weight


@program("late_tapes", graph=True)
def there_from_the_beginning() -> World:
    weight = tf.Variable(1.5)

    def fn(x, c):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = _branch(x * weight, c)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, [x, weight])
    return fn, CALLS, lambda: weight


@program("late_tapes")
def a_persistent_tape_that_is_asked_while_it_records() -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = _branch(x, c)
            g = tape.gradient(y, x)
        return g, tape.gradient(g, x)
    return fn, CALLS


@program("late_tapes", graph=True)
def two_persistent_tapes() -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = _branch(x, c)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x), inner.gradient(y, x)
    return fn, CALLS


@program("late_tapes", graph=True)
def blocks_in_blocks_under_a_persistent_tape() -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, c])
            z = x * c
            if c > 1.0:
                turn = tf.constant(0)
                while z > -1.0 and turn < 3:
                    turn += 1
                    z = z * x
                    if z > 3.0:
                        z = z - x if c < 2.0 else z * c
            elif c > 0.0:
                for _ in tf.range(2):
                    if z > 0.0:
                        z = z * z
                    else:
                        z = tf.exp(z)
        return tape.gradient(z, x), tape.gradient(z, [x, c])
    return fn, CALLS


@program("late_tapes", graph=True)
def a_check_that_leaves_nothing_under_a_persistent_tape() -> World:
    def checked(x):
        if x > 9.0:
            raise ValueError("large")
        return x * x

    def fn(x, c):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = checked(x) * c
        return tape.gradient(y, x), tape.gradient(y, x)
    return fn, [*CALLS, call(f32(10.0), f32(1.0))]
