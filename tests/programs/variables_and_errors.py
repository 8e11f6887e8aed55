"""What a call has done to variables when an operation fails: what stands before it in the program, and no more."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


@program("variables_and_errors", graph=True)
def assigned_after_what_fails() -> World:
    kept = tf.Variable(1.0)

    def fn(x, n):
        found = tf.range(n)
        kept.assign(0.0)
        return x * tf.cast(tf.size(found), tf.float32)
    return fn, [call(f32(1.0), i32(3)), call(f32(1.0), i32(-1)), call(f32(2.0), i32(2))], lambda: kept


@program("variables_and_errors", graph=True)
def assigned_before_what_fails() -> World:
    kept = tf.Variable(1.0)

    def fn(x, i):
        kept.assign_add(tf.reduce_sum(x))
        found = tf.gather(x, i)
        kept.assign_add(1.0)
        return found
    return fn, [call(f32([1.0, 2.0]), i32(1)), call(f32([1.0, 2.0]), i32(5)), call(f32([1.0, 2.0]), i32(0))], lambda: kept


@program("variables_and_errors")
def loop_over_a_range_that_is_refused() -> World:
    kept = tf.Variable(1.0)

    def fn(x, n):
        for c in tf.range(n):
            x += tf.cast(c, tf.float32)
        else:
            kept.assign(0.0)
            x = x + tf.cast(c, tf.float32)
        return x
    return fn, [call(f32(1.0), i32(-3)), call(f32(1.0), i32(0)), call(f32(1.0), i32(2))], lambda: kept


@program("variables_and_errors", graph=True)
def in_a_loop_one_turn_fails() -> World:
    total, turns = tf.Variable(0.0), tf.Variable(0)

    def fn(x, places):
        for i in places:
            turns.assign_add(1)
            total.assign_add(tf.gather(x, i))
            x = x * 2.0
        return x
    given = (([1.0, 2.0], [0, 1]), ([1.0, 2.0], [0, 3, 1]), ([1.0], [0]))
    return fn, [call(f32(x), i32(places)) for x, places in given], lambda: (total, turns)


@program("variables_and_errors", graph=True)
def in_a_branch_and_after_it() -> World:
    first, second = tf.Variable(0.0), tf.Variable(0.0)

    def fn(x, i):
        if x[0] > 0.0:
            y = tf.gather(x, i)
            first.assign_add(1.0)
        else:
            first.assign_sub(1.0)
            y = tf.gather(x, i + 1)
        second.assign_add(1.0)
        return y
    given = ((1.0, 1), (1.0, 7), (-1.0, 7), (-1.0, 0))
    return fn, [call(f32([x, 2.0]), i32(i)) for x, i in given], lambda: (first, second)


@program("variables_and_errors", graph=True)
def loop_that_fails_before_a_change() -> World:
    kept = tf.Variable(0.0)

    def fn(x, n):
        while n > 0:
            n -= 1
            x = x + tf.gather(x, n)
        kept.assign_add(1.0)
        return x
    return fn, [call(f32([1.0, 2.0]), i32(2)), call(f32([1.0, 2.0]), i32(4))], lambda: kept


@program("variables_and_errors", graph=True)
def divisor_of_zero_in_a_method() -> World:
    class Counter:
        def __init__(self):
            self.seen = tf.Variable(0)

        def step(self, n):
            share = 12 // n
            self.seen.assign_add(share)
            return share

    counter = Counter()

    def fn(a, b):
        return counter.step(a) + counter.step(b)
    return fn, [call(i32(2), i32(3)), call(i32(2), i32(0)), call(i32(0), i32(2)), call(i32(1), i32(1))], lambda: counter.seen


@program("variables_and_errors", graph=True)
def step_of_an_own_tape() -> World:
    weight, steps = tf.Variable(f32([1.0, 2.0])), tf.Variable(0)

    def fn(i):
        steps.assign_add(1)
        with tf.GradientTape() as tape:
            loss = tf.gather(weight, i) ** 2
        weight.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(loss, weight)))
        return loss
    return fn, each(i32(0), i32(4), i32(1)), lambda: (weight, steps)


@program("variables_and_errors")
def shapes_that_do_not_fit() -> World:
    kept = tf.Variable(0.0)

    def fn(x, y):
        z = x + y
        kept.assign_add(1.0)
        w = z * y
        kept.assign_add(tf.reduce_sum(w))
        return w
    vectors = [f32([1.0] * n) for n in (2, 3, 4)]
    return fn, [call(one, other) for one, other in zip(vectors, [vectors[0], vectors[1], vectors[2]])] + [call(vectors[0], vectors[2])], \
        lambda: kept
