"""Loops whose turns do what their text or first turn lets expect: count, set attributes, widen a shape; and loops that only look so."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.programs import World, each, f32, i32, program


class Account:
    """What loops count on."""

    def __init__(self) -> None:
        self.turns, self.rate, self.kept = 0, 1.0, None
        self.last = tf.constant(0.0)

    def __repr__(self) -> str:
        return f"{self.turns} {self.rate:.4f} {self.kept} {float(self.last):.3f}"


@program("expected_turns", graph=True, grad=1)
def counts_and_sets() -> World:
    account = Account()

    def fn(x):
        steps = 0
        while tf.reduce_sum(x) > 1.0:
            account.turns += 1
            account.last = tf.reduce_max(x)
            x = x * 0.5
            steps += 1
        return x, steps, account.last
    return fn, each(f32([4.0, 3.0]), f32([0.1, 0.2]), f32([9.0, 30.0]))


@program("expected_turns", graph=True)
def attributes_of_a_parameter() -> World:
    class Walker:
        def __init__(self) -> None:
            self.account = Account()

        def step(self, x):
            me = self.account
            while x > 1.0:
                me.turns += 2
                me.rate *= 0.5
                if x > 3.0:
                    me.last = x
                x = x / 2.0
            self.done = x
            return x, me.turns, me.rate, me.last

    return Walker().step, each(f32(10.0), f32(0.5), f32(2.5))


@program("expected_turns", graph=True)
def a_count_that_stands_still() -> World:
    sizes = [1, 2, 3]

    def fn(x, more):
        n = 1
        while x < 10.0:
            if more:
                n += 1
            x = x + float(sizes[n] if n < 3 else 7)
        return x, n
    return fn, [((f32(1.0), False), {}), ((f32(2.0), False), {}), ((f32(20.0), False), {})]


@program("expected_turns", graph=True)
def a_count_from_a_tensor_on() -> World:
    def fn(x):
        total, turns = 0.0, 0
        while x > 1.0:
            total += 1.0
            total = total + x
            turns -= 1
            x = x / 2.0
        return total, turns
    return fn, each(f32(10.0), f32(0.5), f32(2.5))


@program("expected_turns", graph=True)
def the_first_turn_is_another() -> World:
    def fn(x):
        first, rows, i = 1, tf.zeros([1, 2]), 0
        while i < 5:
            if first == 1:
                first = 2
                rows = tf.concat([rows, x[tf.newaxis]], 0)
            x = x * float(first)
            i += 1
            if tf.reduce_sum(x) > 20.0:
                break
        return x, first, rows, i
    return fn, each(f32([1.0, 2.0]), f32([30.0, 1.0]), f32([0.0, 0.1]))


@program("expected_turns", graph=True)
def rows_that_grow() -> World:
    def fn(x):
        rows, turns = x[tf.newaxis], 0
        while turns < 6:
            rows = tf.concat([rows, rows[-1:] * 2.0], 0)
            turns += 1
            if rows[-1, 0] > 10.0:
                break
        return rows, turns
    return fn, each(f32([1.0, 2.0]), f32([30.0, 1.0]), f32([0.0, 0.1]))


@program("expected_turns", graph=True)
def a_way_out_by_python_only() -> World:
    account = Account()

    def fn(x):
        turns = 0
        while x > 1.0:
            if account.kept is not None:
                break
            x = x / 2.0
            turns += 1
        return x, turns
    return fn, each(f32(10.0), f32(0.5), f32(2.5))


@program("expected_turns", graph=True)
def nested_counts() -> World:
    def fn(xs, y):
        hits, misses = 0, 0
        for x in xs:
            while y < x:
                y = y + 1.0
                hits += 1
            misses += 1
            if y > 8.0:
                break
        return y, hits, misses
    return fn, [((f32([1.0, 5.0, 3.0]), f32(0.0)), {}), ((f32([9.0, 5.0, 3.0]), f32(0.5)), {}), ((f32([0.0, 1.0, 2.0]), f32(5.0)), {})]


@program("expected_turns")
def an_attribute_that_is_not_there_yet() -> World:
    def fn(x, n):
        account: Any = Account()
        while n > 0:
            account.found = x
            account.turns += 1
            x = x + 1.0
            n = n - 1
        return x, account.turns, getattr(account, "found", None)
    return fn, [((f32(1.0), i32(3)), {}), ((f32(1.0), i32(0)), {})]
