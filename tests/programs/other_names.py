"""Gradients by a tensor that a branch or loop may have left as it was, so that it has another name as well."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, f32, i32, program

CALLS = [call(f32(2.0), f32(c)) for c in (1.0, -1.0, 2.5)]


@program("other_names")
def used_before_a_branch() -> World:
    def fn(x, c):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = 3.0 * x
            if c > 0.0:
                x = 2.0 * x
            y = a + x * x
        return tape.gradient(y, x)
    return fn, CALLS


@program("other_names")
def used_before_a_branch_for_a_jacobian() -> World:
    def fn(x, c):
        x = tf.stack([x, x + 1.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = 3.0 * x
            if c > 0.0:
                x = 2.0 * x
            y = a + x * x
        return tape.jacobian(y, x)
    return fn, CALLS


@program("other_names")
def used_before_a_branch_in_a_branch() -> World:
    def fn(x, c):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = 3.0 * x
            if c > 0.0:
                if c > 2.0:
                    x = 2.0 * x
            elif c < -2.0:
                raise ValueError("small")
            else:
                x = x - 1.0
            y = a + x * x
        return tape.gradient(y, x)
    return fn, CALLS


@program("other_names")
def used_before_a_loop() -> World:
    def fn(x, c):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = 3.0 * x
            while c > 0.0:
                x = x * 2.0
                c -= 1.0
            y = a + x * x
        return tape.gradient(y, x)
    return fn, CALLS


@program("other_names")
def used_in_the_turn_that_made_it() -> World:
    def fn(x, c):
        total = tf.constant(0.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            while c > 0.0:
                x = x * 2.0
                total = total + x
                c -= 1.0
            y = total + x * x
        return tape.gradient(y, x)
    return fn, CALLS


@program("other_names")
def used_in_the_branch_that_made_it() -> World:
    def fn(x, c):
        with tf.GradientTape() as tape:
            tape.watch(x)
            s = c
            if c > 0.0:
                x = x * 2.0
                s = x * 3.0
            y = s + x * x
        return tape.gradient(y, x)
    return fn, CALLS


@program("other_names")
def one_of_two_tensors() -> World:
    def fn(x, c):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 3.0
            z = x if c > 0.0 else y
            w = y * x
        return tape.gradient(w, z)
    return fn, CALLS


@program("other_names")
def chosen_before_the_tape() -> World:
    def fn(x, y, c):
        if c > 0.0:
            z = x
        else:
            z = y * 2.0 + tf.sin(y)
        with tf.GradientTape() as tape:
            tape.watch(z)
            w = z * x
        return tape.gradient(w, z)
    return fn, [call(f32(2.0), f32(3.0), f32(c)) for c in (1.0, -1.0)]


@program("other_names")
def chosen_of_two_before_the_tape() -> World:
    def fn(x, y, c):
        z = x if c > 0.0 else y
        with tf.GradientTape() as tape:
            tape.watch(z)
            w = z * x
        return tape.gradient(w, z)
    return fn, [call(f32(2.0), f32(3.0), f32(c)) for c in (1.0, -1.0)]


@program("other_names")
def what_a_loop_begins_with() -> World:
    def fn(x, n):
        w = x
        for _ in tf.range(n):
            with tf.GradientTape() as tape:
                tape.watch(w)
                loss = w * x
            w = w - 0.1 * tape.gradient(loss, w)
        return w
    return fn, [call(f32(2.0), i32(n)) for n in (3, 1, 0)]


@program("other_names")
def two_variables_that_begin_alike() -> World:
    def fn(x, n):
        w = last = x
        for _ in tf.range(n):
            with tf.GradientTape() as tape:
                tape.watch(w)
                loss = w * w * last
            last, w = w, w - 0.1 * tape.gradient(loss, w)
        return w, last
    return fn, [call(f32(2.0), i32(n)) for n in (3, 1, 0)]


@program("other_names", graph=True)
def no_other_name() -> World:
    def fn(x, c, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            a = 3.0 * x
            if c > 0.0:
                y = a * x
            else:
                y = tf.sin(x)
            for _ in tf.range(n):
                y = y * x
        w = x * 1.5
        for _ in tf.range(n):
            with tf.GradientTape() as inner:
                inner.watch(w)
                loss = w * w * x
            w = w - 0.1 * inner.gradient(loss, w)
        return tape.gradient(y, x), w
    return fn, [call(f32(2.0), f32(c), i32(n)) for c, n in ((1.0, 2), (-1.0, 1))]


@program("other_names")
def asked_after_a_branch_that_is_traced_again() -> World:
    def fn(x, y):
        with tf.GradientTape() as tape:
            tape.watch(y)
            if x > 0.0:
                pass
            else:
                raise "low" if x < -1.0 else "high"
            d = y * x
        return tape.gradient(d, y)
    return fn, [call(f32(c), f32(3.0)) for c in (1.0, 2.0, -0.5)]


@program("other_names")
def asked_in_a_branch_and_after_it() -> World:
    def fn(x, y):
        with tf.GradientTape() as tape:
            tape.watch(y)
            d = y * y
        g = tf.zeros([])
        if x > 0.0:
            g = tape.gradient(d, y)
        return g + tape.gradient(d, y)
    return fn, [call(f32(c), f32(3.0)) for c in (-1.0, 2.0)]


@program("other_names")
def put_in_a_list_before_the_tape() -> World:
    def fn(x, n):
        items = [x]
        for _ in tf.range(n):
            items.append(x * 2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = items[0] * x
        return tape.gradient(y, x)
    return fn, [call(f32(2.0), i32(n)) for n in (2, 0)]


@program("other_names")
def an_element_that_is_read_again() -> World:
    def fn(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            states = [x * 2.0]
            for _ in tf.range(n):
                states.append(states[-1] * x)
            loss = states[-1] ** 2
        return tape.gradient(loss, states[-1])
    return fn, [call(f32(2.0), i32(n)) for n in (2, 0)]


@program("other_names", graph=True)
def elements_one_by_one() -> World:
    def fn(x, n):
        states = [x * 2.0]
        for _ in tf.range(n):
            states.append(states[-1] * x)
        found = []
        for state in states:
            with tf.GradientTape() as tape:
                tape.watch(state)
                loss = state ** 2
            found.append(tape.gradient(loss, state))
        return found
    return fn, [call(f32(2.0), i32(n)) for n in (2, 0)]
