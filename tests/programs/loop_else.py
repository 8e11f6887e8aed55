"""`else` on loops: run when no break happened, skipped otherwise, nested, with returns and state."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("loop_else", graph=True, golden=True)
def for_else() -> World:
    def fn(xs, limit):
        for x in xs:
            if x > limit:
                r = x
                break
        else:
            r = f32(-1.0)
        return r
    return fn, [call(f32(xs), f32(3.0)) for xs in ([1.0, 5.0], [1.0, 2.0], [])]


@program("loop_else", graph=True, golden=True)
def while_else() -> World:
    def fn(x):
        while x < 100:
            x = x * 3
            if x % 7 == 0:
                break
        else:
            x = -x
        return x
    return fn, each(i32(1), i32(7), i32(200))


@program("loop_else", graph=True)
def else_without_break() -> World:
    def fn(n):
        total = i32(0)
        for i in tf.range(n):
            total += i
        else:
            total += 1000
        return total
    return fn, each(i32(3), i32(0))


@program("loop_else", graph=True)
def while_else_without_break() -> World:
    def fn(x):
        while x > 2.0:
            x = x / 2.0
        else:
            x = x + 10.0
        return x
    return fn, each(f64(16.0), f64(1.0))


@program("loop_else", graph=True)
def return_in_the_else() -> World:
    def fn(xs):
        for x in xs:
            if x == 0:
                break
        else:
            return "no zero"
        return "zero"
    return fn, each(i32([1, 0, 2]), i32([1, 2]))


@program("loop_else", graph=True)
def return_in_the_body_skips_else() -> World:
    def fn(xs):
        for x in xs:
            if x < 0:
                return x
        else:
            found = i64(0)
        return found + 1
    return fn, each(i64([1, -5]), i64([1, 2]))


@program("loop_else", graph=True)
def continue_does_not_skip_else() -> World:
    def fn(xs):
        total = i32(0)
        for x in xs:
            if x < 0:
                continue
            total += x
        else:
            total += 100
        return total
    return fn, each(i32([1, -1, 2]), i32([-1]))


@program("loop_else", graph=True)
def inner_break_outer_else() -> World:
    def fn(m):
        broken = 0
        for row in m:
            for v in row:
                if v == 0:
                    broken += 1
                    break
            else:
                broken += 10
        else:
            broken += 100
        return broken
    return fn, each(i32([[1, 0], [1, 1]]), i32([[0, 0]]))


@program("loop_else", graph=True)
def break_in_the_else_of_the_inner() -> World:
    def fn(m):
        rows = i32(0)
        for row in m:
            rows += 1
            for v in row:
                if v < 0:
                    break
            else:
                break
        else:
            rows = -rows
        return rows
    return fn, each(i32([[-1, 1], [1, 1], [1, 1]]), i32([[-1, 0], [2, -2]]))


@program("loop_else", graph=True)
def is_prime() -> World:
    def fn(n):
        for d in tf.range(2, n):
            if n % d == 0:
                prime = False
                break
        else:
            prime = True
        return prime
    return fn, each(i32(7), i32(9), i32(2))


@program("loop_else", graph=True)
def state_in_both_ways_out() -> World:
    log = []

    def fn(x):
        while x > 0:
            x -= 2
            if x == 1:
                log.append("break")
                break
        else:
            log.append("else")
        return x
    return fn, each(i32(5), i32(4), i32(0)), lambda: log


@program("loop_else", graph=True)
def python_loop_tensor_break() -> World:
    def fn(x):
        for step in (1.0, 2.0, 4.0):
            x = x - step
            if x < 0.0:
                break
        else:
            step = 0.0
        return x, step
    return fn, each(f32(2.0), f32(100.0), f32(0.5))


@program("loop_else", graph=True)
def python_loop_python_break() -> World:
    def fn(x, names):
        for name in names:
            if name == "stop":
                break
            x = x + 1
        else:
            x = x * 10
        return x
    return fn, [call(i32(1), ["a", "stop", "b"]), call(i32(1), ["a", "b"])]


@program("loop_else", graph=True)
def in_a_helper_called_from_a_loop() -> World:
    def first_above(xs, limit):
        for x in xs:
            if x > limit:
                break
        else:
            x = f32(0.0)
        return x

    def fn(xs):
        total = f32(0.0)
        for limit in f32([0.0, 2.0, 9.0]):
            total += first_above(xs, limit)
        return total
    return fn, each(f32([1.0, 3.0]), f32([5.0, 10.0]))


@program("loop_else", grad=1, graph=True)
def with_gradient() -> World:
    def fn(x):
        n = i32(0)
        while n < 4:
            x = x * x
            n += 1
            if x > 100.0:
                break
        else:
            x = x * 3.0
        return x
    return fn, each(f32(1.1), f32(3.0))


@program("loop_else", graph=True)
def unbound_unless_else() -> World:
    def fn(xs):
        for x in xs:
            if x > 0:
                break
        else:
            message = "none positive"
        if x > 0:
            message = "positive"
        return message
    return fn, each(i32([-1, 2]), i32([-1, -2]))
