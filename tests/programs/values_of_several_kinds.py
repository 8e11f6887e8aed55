"""Names that hold values of several kinds: None or a tensor, int or float, unbound, another dtype."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("values_of_several_kinds", graph=True, golden=True)
def none_or_tensor() -> World:
    def fn(x):
        y = None
        if x > 0:
            y = x * 2
        if y is None:
            return x - 1
        return y
    return fn, each(f32(1.0), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def none_or_tensor_returned() -> World:
    def fn(x):
        y = None
        if x > 0:
            y = x
        return y, [y], {"y": y}
    return fn, each(f32(1.0), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def int_or_float() -> World:
    def fn(x):
        n = 3
        if x > 0:
            n = 2.5
        return n, n * 2, x * n
    return fn, each(f32(1.0), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def int_or_string() -> World:
    def fn(x):
        label = 0
        if x > 10:
            label = "large"
        elif x > 0:
            label = "small"
        return label
    return fn, each(i32(20), i32(1), i32(-1))


@program("values_of_several_kinds", graph=True)
def bool_or_int() -> World:
    def fn(x):
        r = x > 0
        if r:
            r = 7
        return r
    return fn, each(f32(1.0), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def python_number_or_tensor() -> World:
    def fn(x):
        n = 1
        if x > 0:
            n = x
        return n + 1, n
    return fn, each(f32(2.5), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def two_dtypes() -> World:
    def fn(x):
        y = tf.cast(x, tf.int32)
        if x > 0:
            y = tf.cast(x, tf.float16)
        return y + 1, y.dtype
    return fn, each(f32(2.5), f32(-2.5))


@program("values_of_several_kinds", graph=True)
def two_ranks() -> World:
    def fn(x):
        if tf.reduce_sum(x) > 0.0:
            y = x
        else:
            y = tf.stack([x, x])
        return y * 2.0, tf.rank(y)
    return fn, each(f32([1.0, 2.0]), f32([-1.0, -2.0]))


@program("values_of_several_kinds")
def rank_read_in_python() -> World:
    def fn(x):
        if tf.reduce_sum(x) > 0.0:
            y = x
        else:
            y = tf.reduce_sum(x)
        return len(y.shape), y.shape.rank
    return fn, each(f32([1.0, 2.0]), f32([-1.0, -2.0]))


@program("values_of_several_kinds", graph=True)
def none_until_some_turn() -> World:
    def fn(xs):
        first = None
        for x in xs:
            if x > 0 and first is None:
                first = x
        return first
    return fn, each(i32([-1, 5, 7]), i32([-1, -2]))


@program("values_of_several_kinds", graph=True)
def dtype_changes_after_some_turns() -> World:
    def fn(n):
        x = 1
        for i in tf.range(n):
            if i > 1:
                x = x / 2
            else:
                x = x + 1
        return x
    return fn, each(i32(1), i32(4), i32(0))


@program("values_of_several_kinds", graph=True)
def shape_changes_every_turn() -> World:
    def fn(n):
        x = tf.ones([1])
        for _ in tf.range(n):
            x = tf.concat([x, x * 2.0], 0)
        return x
    return fn, each(i32(0), i32(1), i32(3))


@program("values_of_several_kinds", graph=True)
def kind_alternates_between_turns() -> World:
    def fn(n):
        state = None
        turns = 0
        while turns < n:
            if state is None:
                state = turns
            else:
                state = None
            turns += 1
        return state
    return fn, each(i32(0), i32(1), i32(4))


@program("values_of_several_kinds", graph=True)
def tuple_or_none() -> World:
    def fn(x):
        pair = None
        if x > 0:
            pair = (x, 1)
        if pair is not None:
            return pair[0] * pair[1]
        return "no pair"
    return fn, each(f64(2.0), f64(-2.0))


@program("values_of_several_kinds", graph=True)
def tuples_of_two_lengths() -> World:
    def fn(x):
        t = (x,)
        if x > 0:
            t = (x, x * 2)
        return len(t), t[-1]
    return fn, each(i64(1), i64(-1))


@program("values_of_several_kinds")
def list_or_tensor() -> World:
    def fn(x):
        values = [x, x]
        if x > 0:
            values = tf.stack([x, x * 2, x * 3])
        total = f32(0.0)
        for value in values:
            total += value
        return total, len(values)
    return fn, each(f32(1.0), f32(-1.0))


@program("values_of_several_kinds", graph=True)
def one_of_two_objects() -> World:
    class Unit:
        def __init__(self, name, rate):
            self.name, self.rate, self.uses = name, rate, 0

        def apply(self, x):
            self.uses += 1
            return x * self.rate

    slow, fast = Unit("slow", 0.5), Unit("fast", f32(4.0))

    def fn(x):
        unit = slow
        if x > 1.0:
            unit = fast
        return unit.apply(x), unit.name
    return fn, each(f32(2.0), f32(0.5)), lambda: (slow.uses, fast.uses)


@program("values_of_several_kinds", graph=True)
def one_of_two_functions() -> World:
    def halve(v):
        return v / 2.0

    def fn(xs):
        total = f32(0.0)
        for x in xs:
            f = tf.square
            if x > 2.0:
                f = halve
            total += f(x)
        return total
    return fn, each(f32([1.0, 4.0]), f32([3.0]))


@program("values_of_several_kinds")
def unbound_in_one_branch_then_read_after_a_test() -> World:
    def fn(x):
        if x > 0:
            y = x * 2
        if x > 5:
            return y
        if x < -5:
            return y
        return x
    return fn, each(i32(1), i32(6), i32(-1), i32(-6))


@program("values_of_several_kinds", graph=True)
def string_tensor_or_number_tensor() -> World:
    def fn(on, x):
        r = x
        if on:
            r = text("on")
        return r
    return fn, [call(flag(True), f16(1.0)), call(flag(False), f16(1.0))]


@program("values_of_several_kinds")
def operation_on_the_wrong_kind() -> World:
    def fn(x):
        y = None
        if x > 0:
            y = x
        return y + 1
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("values_of_several_kinds", graph=True)
def none_or_tensor_in_a_list_for_tensorflow() -> World:
    def fn(xs):
        h = None
        for x in xs:
            if h is None:
                h = tf.concat([[x], [x]], 0)
            else:
                h = tf.stack([h[0] + x, h[1]])
                h = tf.concat((h[:1], [x]), 0)
        return h
    return fn, each(f32([1.0, 4.0, 2.0]), f32([3.0]))


@program("values_of_several_kinds", graph=True)
def none_or_tensor_joined_by_concat() -> World:
    def fn(on, x):
        h = None
        if on:
            h = x * 2.0
        if h is None:
            return x
        return tf.concat([x, h], 0)
    return fn, [call(flag(True), f32([1.0])), call(flag(False), f32([1.0])), call(flag(True), f32([2.0]))]


@program("values_of_several_kinds")
def none_in_a_list_for_tensorflow() -> World:
    def fn(on, x):
        h = None
        if on:
            h = x * 2.0
        return tf.concat([x, h], 0)
    return fn, [call(flag(True), f32([1.0])), call(flag(False), f32([1.0])), call(flag(True), f32([2.0]))]


@program("values_of_several_kinds")
def dict_that_is_replaced_in_an_inner_loop_and_gets_a_key() -> World:
    def fn(v, table, items):
        for g in items:
            for e in v:
                k = 0
                while e > 1.0:
                    k += 1
                    if k > 2:
                        break
                    table = {"a": g, "b": k}
                table["c"] = k if e < 2.0 else g
                g += e
            table["b"] += 1
        return table
    return fn, [call(f32([0.5, 1.5, -1.0]), {"a": f32(1.0), "b": 1}, [f32(1.5), f32(2.0)]),
                call(f32([0.5, 2.5]), {"a": f32(1.0), "b": 1}, [f32(1.5)]), call(f32([0.5]), {"a": f32(1.0), "b": 1}, [f32(1.5)])]


@program("values_of_several_kinds")
def dict_of_one_of_three_sets_of_keys() -> World:
    def fn(x, n):
        table = {"a": x}
        while n > 0:
            n -= 1
            if x > 2.0:
                table = {"a": x, "b": n}
            if x > 1.0:
                table["c"] = x
            x = x + 0.75
        return sorted(table), table.get("c"), len(table), x
    return fn, [call(f32(0.0), i32(k)) for k in (0, 2, 3, 4)]
