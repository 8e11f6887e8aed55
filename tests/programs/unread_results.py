"""What fails in eager fails, also if nobody reads its result."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, program

PATHS = each(f32(0.0), f32(2.0), f32(3.0), f32(5.0), f32(0.0))


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
