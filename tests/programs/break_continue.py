"""`break` and `continue`: in either loop, nested, under `with` and `try`, with state before and after."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, i32, i64, program


@program("break_continue", graph=True, golden=True)
def break_in_for() -> World:
    def fn(xs):
        total = i32(0)
        for x in xs:
            if x < 0:
                break
            total += x
        return total
    return fn, each(i32([1, 2, -1, 9]), i32([-1, 5]), i32([1, 2]))


@program("break_continue", graph=True, golden=True)
def continue_in_for() -> World:
    def fn(xs):
        total = i32(0)
        for x in xs:
            if x % 2 == 0:
                continue
            total += x
        return total
    return fn, each(i32([1, 2, 3]), i32([2, 4]))


@program("break_continue", graph=True)
def break_in_while() -> World:
    def fn(x, limit):
        while x > 0:
            x -= 3
            if x < limit:
                break
            x += 1
        return x
    return fn, [call(i64(10), i64(4)), call(i64(10), i64(-10)), call(i64(-1), i64(0))]


@program("break_continue", graph=True)
def continue_in_while() -> World:
    def fn(n):
        total = i32(0)
        while n > 0:
            n -= 1
            if n % 3 == 0:
                continue
            total += n
        return total
    return fn, each(i32(9), i32(0))


@program("break_continue", graph=True, golden=True)
def both_in_one_loop() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            if x == 0.0:
                continue
            if x > 10.0:
                break
            total += 1.0 / x
        return total
    return fn, each(f32([1.0, 0.0, 2.0, 20.0, 4.0]), f32([0.0, 0.0]))


@program("break_continue", graph=True)
def break_of_the_inner_loop_only() -> World:
    def fn(m):
        total = i32(0)
        for row in m:
            for v in row:
                if v < 0:
                    break
                total += v
            total += 100
        return total
    return fn, each(i32([[1, -1, 5], [2, 3, 4]]), i32([[-1, 2, 3]]))


@program("break_continue", graph=True)
def break_of_both_loops_by_a_name() -> World:
    def fn(m):
        done = False
        seen = 0
        for row in m:
            for v in row:
                seen += 1
                if v == 0:
                    done = True
                    break
            if done:
                break
        return seen, done
    return fn, each(i32([[1, 0, 5], [2, 3, 4]]), i32([[1, 2, 3]]))


@program("break_continue", graph=True)
def break_on_the_first_turn() -> World:
    def fn(n):
        i = i32(-1)
        for i in tf.range(n):
            break
        return i
    return fn, each(i32(5), i32(0))


@program("break_continue", graph=True)
def statements_after_the_break_have_effects() -> World:
    log = []

    def fn(xs):
        for x in xs:
            log.append("in")
            if x > 2:
                log.append("break")
                break
            log.append("out")
        log.append("end")
        return x
    return fn, each(i32([1, 3, 5]), i32([1, 2])), lambda: log


@program("break_continue", graph=True)
def under_with() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            with tf.name_scope("turn"):
                if x < 0.0:
                    continue
                if x > 9.0:
                    break
                total += x
        return total
    return fn, each(f32([1.0, -1.0, 2.0, 10.0, 5.0]), f32([3.0]))


@program("break_continue", graph=True)
def under_try_finally() -> World:
    log = []

    def fn(xs):
        total = f32(0.0)
        for x in xs:
            try:
                if x < 0.0:
                    continue
                if x > 9.0:
                    break
                total += x
            finally:
                log.append(1)
        return total
    return fn, each(f32([1.0, -1.0, 10.0, 5.0]), f32([3.0])), lambda: log


@program("break_continue", graph=True)
def in_a_python_loop() -> World:
    def fn(x):
        for factor in (2.0, 3.0, 5.0):
            if x > 20.0:
                break
            if x < 0.0:
                continue
            x = x * factor
        return x, factor
    return fn, each(f16(1.0), f16(9.0), f16(-1.0))


@program("break_continue", graph=True)
def break_leaves_the_target() -> World:
    def fn(xs):
        for i, x in enumerate(xs):
            if x > 3:
                break
        return i, x
    return fn, each(i32([1, 5, 9]), i32([1, 2]))


@program("break_continue", graph=True)
def in_an_elif() -> World:
    def fn(xs):
        a, b = i32(0), i32(0)
        for x in xs:
            if x < 0:
                a += 1
            elif x == 0:
                continue
            elif x > 100:
                break
            else:
                b += x
            b += 1000
        return a, b
    return fn, each(i32([-1, 0, 5, 200, 7]), i32([0, 0]))


@program("break_continue", graph=True)
def break_of_a_dataset() -> World:
    def fn(n):
        seen = i64(0)
        for v in tf.data.Dataset.range(1000000):
            if v >= n:
                break
            seen += 1
        return seen
    return fn, each(i64(3), i64(0))


@program("break_continue", grad=2, graph=True)
def with_gradient() -> World:
    def fn(xs):
        y = f32(1.0)
        for x in xs:
            if x < 0.0:
                continue
            y = y * x * x
            if y > 50.0:
                break
        return y
    return fn, each(f32([2.0, -1.0, 3.0]), f32([2.0, 4.0, 5.0]))


@program("break_continue", graph=True)
def append_then_break() -> World:
    def fn(x):
        path = []
        while True:
            path.append(x)
            if x <= 1:
                break
            if x % 2 == 0:
                x = x // 2
                continue
            x = x * 3 + 1
        return path
    return fn, each(i32(6), i32(1), i32(3))


@program("break_continue", graph=True)
def in_a_method_nested_two_deep() -> World:
    class Search:
        def __init__(self):
            self.visits = 0

        def find(self, m, wanted):
            for r in tf.range(tf.shape(m)[0]):
                for c in tf.range(tf.shape(m)[1]):
                    self.visits += 1
                    if m[r, c] == wanted:
                        break
                else:
                    continue
                break
            return r, c

    search = Search()
    grid = i32([[1, 2], [3, 4], [5, 6]])
    return search.find, [call(grid, i32(3)), call(grid, i32(6)), call(grid, i32(9))], lambda: search
