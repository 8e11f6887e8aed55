"""The `while` loop: what is carried, zero trips, state, nesting, kinds that change from turn to turn."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("while_loop", graph=True, golden=True)
def countdown() -> World:
    def fn(n):
        steps = i32(0)
        while n > 0:
            n -= 1
            steps += 2
        return n, steps
    return fn, each(i32(4), i32(0), i32(-3))


@program("while_loop", grad=2, graph=True, golden=True)
def powers_with_gradient() -> World:
    def fn(x):
        y = x
        while y < 50.0:
            y = y * x
        return y * y
    return fn, each(f32(2.0), f32(3.0), f32(60.0))


@program("while_loop", graph=True)
def python_counter() -> World:
    def fn(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        return n, x
    return fn, each(f32(9.0), f32(0.5), f32(2.0))


@program("while_loop", graph=True)
def first_assigned_in_the_body() -> World:
    def fn(n):
        i = i32(0)
        while i < n:
            last = i * 10
            i += 1
        return last
    return fn, each(i32(3), i32(1))


@program("while_loop")
def first_assigned_in_a_body_that_never_runs() -> World:
    def fn(n):
        while n > 0:
            last = n
            n -= 1
        return last
    return fn, each(i32(2), i32(0), i32(1))


@program("while_loop", graph=True)
def nested() -> World:
    def fn(n):
        total = i64(0)
        i = i64(0)
        while i < n:
            j = i64(0)
            while j <= i:
                total += j
                j += 1
            i += 1
        return total
    return fn, each(i64(4), i64(0), i64(1))


@program("while_loop", graph=True)
def dtype_changes_in_the_first_turn() -> World:
    def fn(x, n):
        y = 1
        while n > 0:
            y = y * x
            n -= 1
        return y
    return fn, [call(f32(2.0), i32(3)), call(f32(2.0), i32(0))]


@program("while_loop", graph=True)
def shape_grows() -> World:
    def fn(x):
        while tf.size(x) < 6:
            x = tf.concat([x, x], 0)
        return x
    return fn, each(i32([1, 2]), i32([1, 2, 3]), i32(list(range(8))))


@program("while_loop", graph=True)
def list_grows() -> World:
    def fn(x):
        path = []
        while x > 1:
            path.append(x)
            x = x // 2
        return path, len(path)
    return fn, each(i32(20), i32(1), i32(3))


@program("while_loop", graph=True)
def none_until_found() -> World:
    def fn(n):
        found = None
        while n < 20:
            n = n * 2
            if n % 3 == 0:
                found = n
        if found is None:
            return "none"
        return found
    return fn, each(i32(3), i32(1), i32(30))


@program("while_loop", graph=True)
def attributes_of_self() -> World:
    class Walker:
        def __init__(self):
            self.position = f32(0.0)
            self.steps = 0

        def walk(self, goal):
            while self.position < goal:
                self.position += 1.5
                self.steps += 1
            return self.position

    walker = Walker()
    return walker.walk, each(f32(4.0), f32(4.0), f32(9.0)), lambda: walker


@program("while_loop", graph=True)
def variable_updated() -> World:
    total = tf.Variable(0.0)

    def fn(x):
        while x > 0.0:
            total.assign_add(x)
            x -= 1.0
        return total.read_value()
    return fn, each(f32(3.0), f32(0.0)), lambda: total


@program("while_loop", graph=True)
def test_calls_a_helper() -> World:
    def distance(a, b):
        return tf.abs(a - b)

    def fn(a, b):
        while distance(a, b) > 1.0:
            a = (a + b) / 2.0
        return a
    return fn, [call(f64(0.0), f64(10.0)), call(f64(1.0), f64(1.0))]


@program("while_loop", graph=True)
def bool_carried() -> World:
    def fn(xs):
        go = flag(True)
        i = i32(0)
        while go:
            go = xs[i] > 0
            i += 1
        return i, go
    return fn, each(i32([1, 1, 0, 1]), i32([0]))


@program("while_loop", graph=True)
def while_true_with_break() -> World:
    def fn(x):
        while True:
            x = x * 3
            if x > 100:
                break
        return x
    return fn, each(i32(1), i32(200))


@program("while_loop", graph=True)
def python_while_over_a_list() -> World:
    def fn(x):
        todo = [1.0, 2.0, 3.0]
        while todo:
            x = x * todo.pop() + 1.0
        return x, todo
    return fn, each(f16(1.0), f16(-1.0))


@program("while_loop", graph=True)
def string_built() -> World:
    def fn(n):
        s = text("")
        while n > 0:
            s = s + text("ab")
            n -= 1
        return s
    return fn, each(i32(3), i32(0))


@program("while_loop", graph=True)
def tuple_carried_and_rotated() -> World:
    def fn(n):
        state = (i32(0), i32(1))
        while n > 0:
            state = (state[1], state[0] + state[1])
            n -= 1
        return state
    return fn, each(i32(10), i32(0))


@program("while_loop", grad=1, graph=True)
def nested_in_a_for_with_an_if() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            while x > 1.0:
                if x > 4.0:
                    x = x / 4.0
                else:
                    x = x - 1.0
            total += x * x
        return total
    return fn, each(f32([5.0, 0.5, 2.5]), f32([0.25]))


@program("while_loop", graph=True)
def condition_of_two_tests() -> World:
    def fn(x, limit):
        n = i32(0)
        while x < 100.0 and n < limit:
            x = x * 2.0
            n += 1
        return x, n
    return fn, [call(f32(1.0), i32(3)), call(f32(40.0), i32(9)), call(f32(400.0), i32(9))]
