"""Programs that return early: from branches, loops, nested loops, under `with`, values of different kinds."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("return_anywhere", grad=1, graph=True, golden=True)
def from_one_branch() -> World:
    def fn(x):
        if x < 0.0:
            return x * x
        y = x * 3.0
        return y * y
    return fn, each(f32(2.0), f32(-2.0))


@program("return_anywhere", graph=True, golden=True)
def from_both_branches() -> World:
    def fn(x):
        if x > 0:
            return x
        else:
            return -x
    return fn, each(i32(2), i32(-2))


@program("return_anywhere", graph=True, golden=True)
def from_a_for_loop() -> World:
    def fn(xs):
        for x in xs:
            if x > 2:
                return x
        return i32(-1)
    return fn, each(i32([1, 3, 5]), i32([1, 2]), tf.zeros([0], tf.int32))


@program("return_anywhere", graph=True)
def from_a_while_loop() -> World:
    def fn(x):
        n = 0
        while x < 1000:
            if x % 5 == 0:
                return n
            x = x * 2 + 1
            n += 1
        return -1
    return fn, each(i64(2), i64(5), i64(4))


@program("return_anywhere", graph=True)
def from_nested_loops() -> World:
    def fn(m):
        steps = 0
        for row in m:
            for v in row:
                steps += 1
                if v < 0:
                    return steps, v
            steps += 100
        return steps, i32(0)
    return fn, each(i32([[1, 2], [3, -4]]), i32([[-1, 2], [3, 4]]), i32([[1, 2]]))


@program("return_anywhere", graph=True)
def none_without_a_value() -> World:
    def fn(x):
        if x > 0:
            return
        return x * 2
    return fn, each(f32(1.0), f32(-1.0))


@program("return_anywhere", graph=True)
def falls_off_the_end() -> World:
    def fn(x):
        if x > 0:
            return x
    return fn, each(f32(1.0), f32(-1.0))


@program("return_anywhere", graph=True)
def tensors_or_python_values() -> World:
    def fn(x):
        if x > 10:
            return "large"
        if x > 5:
            return 7
        if x > 0:
            return x
        return None
    return fn, each(f32(20.0), f32(6.0), f32(1.0), f32(-1.0))


@program("return_anywhere", graph=True)
def tuples_of_different_length() -> World:
    def fn(x):
        if x > 0:
            return x, x + 1
        return (x,)
    return fn, each(i32(1), i32(-1))


@program("return_anywhere", graph=True)
def dicts_with_different_keys() -> World:
    def fn(x):
        if x > 0:
            return {"positive": x}
        return {"negative": -x, "zero": x == 0}
    return fn, each(f64(1.0), f64(-1.0))


@program("return_anywhere", graph=True)
def effects_before_but_not_after() -> World:
    log = []

    def fn(x):
        log.append("start")
        if x > 0:
            log.append("early")
            return x
        log.append("late")
        return -x
    return fn, each(i32(1), i32(-1), i32(3)), lambda: log


@program("return_anywhere", graph=True)
def under_with() -> World:
    def fn(x):
        with tf.name_scope("block"):
            if x > 0:
                return x * 2
            y = x * 3
        return y
    return fn, each(f32(1.0), f32(-1.0))


@program("return_anywhere", graph=True)
def guards_at_the_top() -> World:
    def fn(x, low, high):
        if x is None:
            return low
        if x < low:
            return low
        if x > high:
            return high
        return x
    return fn, [call(f32(5.0), f32(0.0), f32(1.0)), call(f32(-5.0), f32(0.0), f32(1.0)),
                call(f32(0.5), f32(0.0), f32(1.0)), call(None, f32(0.0), f32(1.0))]


@program("return_anywhere", graph=True)
def in_a_helper_of_a_loop() -> World:
    def grade(v):
        if v > 8:
            return i32(1)
        if v > 5:
            return i32(2)
        return i32(3)

    def fn(xs):
        grades = []
        for v in xs:
            grades.append(grade(v))
        return grades
    return fn, each(i32([9, 6, 1]), i32([3]))


@program("return_anywhere", graph=True)
def in_a_method() -> World:
    class Cache:
        def __init__(self):
            self.value = None
            self.misses = 0

        def get(self, x):
            if self.value is not None:
                return self.value
            self.misses += 1
            self.value = x * 10
            return self.value

    cache = Cache()
    return cache.get, each(f32(1.0), f32(2.0)), lambda: cache


@program("return_anywhere", grad=2, graph=True)
def loop_then_more_with_gradient() -> World:
    def fn(x):
        for _ in tf.range(5):
            x = x * x
            if x > 50.0:
                return x * 2.0
        y = x + x * x
        return y
    return fn, each(f32(2.0), f32(0.9))


@program("return_anywhere", graph=True)
def shapes_differ() -> World:
    def fn(x):
        if tf.reduce_sum(x) > 0:
            return x
        return tf.reduce_sum(x)
    return fn, each(i32([1, 2]), i32([-1, -2]))


@program("return_anywhere", graph=True)
def unreachable_statements_follow() -> World:
    def fn(x):
        if x > 0:
            y = x + 1
            return y
        else:
            return x
        return x / 0
    return fn, each(i32(1), i32(-1))


@program("return_anywhere", graph=True)
def same_container_either_way() -> World:
    kept = [1, 2]

    def fn(x):
        if x > 0:
            kept.append(3)
            return kept
        return kept
    return fn, each(f32(1.0), f32(-1.0)), lambda: kept
