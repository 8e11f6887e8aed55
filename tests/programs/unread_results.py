"""What fails in eager fails, also if nobody reads its result."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program

PATHS = each(f32(0.0), f32(2.0), f32(3.0), f32(5.0), f32(0.0))


def _fails(x, n):
    """Something that fails for some values of x."""
    i = tf.cast(x, tf.int32)
    if n == 0:
        tf.gather([1.0, 2.0, 3.0], i)
    elif n == 1:
        tf.ensure_shape(tf.boolean_mask([1.0, 2.0, 3.0], [x > 1, x > 2, True]), [2])
    elif n == 2:
        tf.reshape(tf.range(i), [2])
    elif n == 3:
        tf.constant(1) // (i - 2)
    elif n == 4:
        tf.ones([4])[i]
    elif n == 5:
        tf.strings.to_number(tf.strings.join(["a", tf.strings.as_string(x)])) if x > 1 else 0
    elif n == 6:
        tf.slice(tf.ones([2]), [0], [i])
    else:
        _ = "abc"[int(x)]


@program("unread_results")
def as_a_statement() -> World:
    def fn(x, n):
        _fails(x, n)
        return x + 1.0
    return fn, [call(f32(value), n) for n in range(8) for value in (1.0, 2.0, 3.0, 5.0)]


@program("unread_results")
def in_a_branch() -> World:
    def fn(x, n):
        if x > 1:
            _fails(x, n)
        return x + 1.0
    return fn, [call(f32(value), n) for n in range(8) for value in (1.0, 2.0, 3.0, 5.0)]


@program("unread_results")
def in_a_loop() -> World:
    def fn(x, n):
        for k in tf.range(3):
            _fails(x + tf.cast(k, tf.float32), n)
        return x
    return fn, [call(f32(value), n) for n in range(8) for value in (0.0, 2.0, 4.0)]


@program("unread_results")
def in_a_branch_of_a_loop() -> World:
    def fn(x, turns):
        while turns > 0:
            turns -= 1
            if x > 1:
                tf.gather([1.0, 2.0, 3.0], tf.cast(x, tf.int32))
            x += 1.0
        return x
    return fn, [call(f32(value), i32(turns)) for value, turns in ((0.0, 2), (0.0, 5), (2.0, 1), (2.0, 2))]


@program("unread_results", grad=True)
def under_tapes() -> World:
    def fn(x, v):
        if x > 1:
            tf.gather(v, tf.cast(x, tf.int32))
        return x * tf.reduce_sum(v)
    return fn, [call(f32(value), f32([1.0, 2.0, 3.0])) for value in (0.0, 2.0, 0.5)]


@program("unread_results", graph=True)
def variables_before_and_after() -> World:
    kept = tf.Variable(0)

    def fn(x):
        kept.assign_add(1)
        tf.gather([1.0, 2.0, 3.0], tf.cast(x, tf.int32))
        kept.assign_add(10)
        return x
    return fn, PATHS, lambda: kept


@program("unread_results")
def always() -> World:
    def fn(x):
        if x > 1:
            tf.cast("q", tf.float32)
        return x
    return fn, PATHS


@program("unread_results", graph=True)
def formats_that_fit_no_number() -> World:
    def fn(x):
        text = "none"
        if x > 4:
            text = f"{int(x):zz}"
        elif x > 2:
            text = "{:q}".format(float(x))
        return x if text else text
    return fn, PATHS


@program("unread_results", graph=True)
def characters_of_text() -> World:
    def fn(x, i):
        c = "abc"[i]
        if x > 1:
            _ = b"abcd"[i + 1]
        return c
    return fn, [call(f32(value), i) for i in (0, 1, 2, -3) for value in (0.0, 2.0)]
