"""Iterations and texts of the run that library code is given, and operations that give nothing."""
from __future__ import annotations

import math

import tensorflow as tf

from tests.programs import World, each, f32, program


class Lines:
    def __init__(self):
        self.n, self.lines = 0, []

    def note(self, x):
        self.n += 1
        if x > 1:
            self.lines.append(" ".join(map(str, ("step", self.n))))
        return x


@program("given_to_libraries", graph=True)
def joined_texts_of_the_run_in_a_branch() -> World:
    log = Lines()
    return log.note, each(f32(0.0), f32(2.0), f32(3.0)), lambda: log.lines


@program("given_to_libraries", graph=True)
def joined_texts_of_the_run() -> World:
    def fn(x):
        n = int(tf.reduce_sum(x))
        counts = {"a": n, "b": 2}
        parts = [str(n), "end"]
        return (x * 2.0, ", ".join(str(one) for one in (n, 2)), "-".join(parts), "|".join(f"{k}={v}" for k, v in counts.items()),
                "/".join(map("{:03d}".format, [1, n])), "".join(reversed(parts)), "+".join(["%d" % one for one in counts.values()]))
    return fn, each(f32(1.0), f32(2.0))


@program("given_to_libraries", graph=True)
def library_functions_of_iterations() -> World:
    def fn(x):
        n = int(tf.reduce_sum(x))
        rest = iter([n, 2, 3])
        next(rest)
        return x + 1.0, math.fsum(map(float, [n, 2])), math.prod({"a": n, "b": 2}.values()), math.fsum(rest), list(rest)
    return fn, each(f32(1.0), f32(2.0))


@program("given_to_libraries", graph=True)
def operations_that_give_none() -> World:
    v = tf.Variable([1.0, 2.0])

    def fn(x):
        found = v.assign_add(x, read_value=False), v.assign(x * 2.0, read_value=False), v.assign_sub(x, read_value=False)
        if tf.reduce_sum(x) > 2.0:
            found = *found, v.assign(x, read_value=False)
        return found, tf.group(), tf.debugging.assert_equal(x, x)
    return fn, each(f32([1.0, 1.0]), f32([2.0, 3.0])), lambda: v
