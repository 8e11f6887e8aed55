"""Assignment expressions: in tests, loops, comprehensions, calls, with names that stay unbound."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("walrus", graph=True, golden=True)
def in_an_if_test() -> World:
    def fn(x):
        if (y := x * 2) > 10:
            return y
        return y - 100
    return fn, each(i32(6), i32(1))


@program("walrus", graph=True, golden=True)
def in_a_while_test() -> World:
    def fn(x):
        turns = i32(0)
        while (x := x // 2) > 0:
            turns += 1
        return turns, x
    return fn, each(i32(20), i32(1))


@program("walrus", graph=True)
def in_a_comprehension_filter() -> World:
    def fn(xs):
        return [y for x in xs if (y := x * x) > 4]
    return fn, each(i64([1, 3, 5]), i64([0, 1, 2]))


@program("walrus", graph=True)
def leaks_from_a_comprehension() -> World:
    def fn(xs):
        parts = [last := x * 2 for x in xs]
        return parts, last
    return fn, each(f32([1.0, 2.0]), f32([5.0, 6.0]))


@program("walrus", graph=True)
def in_the_second_operand_of_and() -> World:
    def fn(x):
        y = f32(0.0)
        if x > 0 and (y := x * 3) > 10:
            return y, "large"
        return y, "small"
    return fn, each(f32(1.0), f32(5.0), f32(-1.0))


@program("walrus")
def unbound_by_short_circuit() -> World:
    def fn(x):
        if x > 0 and (y := x * 3) > 10:
            return y
        return y
    return fn, each(f32(1.0), f32(5.0), f32(-1.0))


@program("walrus", graph=True)
def in_an_argument() -> World:
    def fn(x):
        z = tf.add(y := x + 1.0, y * 2.0)
        return y, z
    return fn, each(f64(1.0))


@program("walrus", graph=True)
def in_a_subscript() -> World:
    def fn(xs, n):
        v = xs[(i := n % 3)]
        return v, i
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(4)), call(f32([1.0, 2.0, 3.0]), i32(2))]


@program("walrus", graph=True)
def none_test() -> World:
    def find(xs, limit):
        for x in xs:
            if x > limit:
                return x
        return None

    def fn(xs, limit):
        if (found := find(xs, limit)) is not None:
            return found * 10
        return found
    return fn, [call(i32([1, 5]), i32(3)), call(i32([1, 5]), i32(9))]


@program("walrus", graph=True)
def with_break() -> World:
    def fn(x):
        n = 0
        while True:
            if (x := x * 3.0) > 100.0:
                break
            n += 1
        return x, n
    return fn, each(f16(1.0), f16(50.0))


@program("walrus", graph=True)
def nested_in_another() -> World:
    def fn(x):
        y = (a := (b := x + 1) * 2)
        return a, b, y
    return fn, each(i32(3))


@program("walrus", graph=True)
def in_a_conditional_expression() -> World:
    def fn(x):
        return y if (y := x - 2) > 0 else -y
    return fn, each(f32(5.0), f32(1.0))


@program("walrus", graph=True)
def in_a_chain_of_elifs() -> World:
    def fn(x):
        if (r := x % 5) == 0:
            return "five", r
        elif (r := x % 3) == 0:
            return "three", r
        return "neither", r
    return fn, each(i32(10), i32(9), i32(7))


@program("walrus", grad=1, graph=True)
def with_gradient() -> World:
    def fn(x):
        total = f32(0.0)
        while (x := x * 0.5) > 0.1:
            total += x * x
        return total + x
    return fn, each(f32(2.0), f32(0.1))


@program("walrus", graph=True)
def of_a_python_value() -> World:
    def fn(x, table):
        if scale := table.get("scale"):
            x = x * scale
        return x, scale
    return fn, [call(f32(1.0), {"scale": 2.0}), call(f32(1.0), {})]


@program("walrus")
def in_the_message_of_an_assertion() -> World:
    def fn(x, n):
        total = x * 2.0
        assert n > 0, (n := -1)
        assert x > 0, f"{(total := x - 1.0)} and {(n := 7)}"
        for i in range(n):
            assert total > i, (total := x)
            total += 1.0
        return total, n
    return fn, [call(f32(1.0), 3), call(f32(2.0), 2), call(f32(-1.0), 1), call(f32(1.0), 0), call(f32(3.0), 1)]


@program("walrus", graph=True)
def in_a_chain_of_comparisons() -> World:
    def fn(x):
        n = 1.0
        holds = 0.0 < x < (n := 5.0) < (x := x + 4.0)
        return holds, n, x
    return fn, each(f32(1.0), f32(-1.0), f32(7.0), f32(2.0))


@program("walrus", graph=True)
def in_a_chain_that_a_loop_asks() -> World:
    def fn(x):
        n = 1.0
        while 0.0 < x < (n := n + 1.0):
            x -= 1.0
        return x, n
    return fn, each(f32(1.0), f32(-1.0), f32(7.0), f32(1.5))
