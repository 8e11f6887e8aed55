"""Loops whose turns are alike and dear: one turn and a loop of the graph; and loops that only look so."""
from __future__ import annotations

import contextlib

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


def dear(x: tf.Tensor) -> tf.Tensor:
    """Many operations."""
    for k in range(5):
        x = tf.tanh(x + float(k)) * 0.75 + tf.sin(x)
    return x


@program("rolled_loops", graph=True, grad=1)
def a_branch_and_a_count() -> World:
    def fn(x):
        taken = 0
        for _ in range(20):
            x = dear(x)
            if tf.reduce_sum(x) > 0.0:
                x -= 1.0
                taken += 1
        return x, taken, taken / 20
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def draws_of_eagers_stream() -> World:
    tf.random.set_seed(11)

    def fn(x):
        for _ in range(20):
            step = tf.random.normal([2])
            if tf.random.uniform([]) < 0.5:
                x = dear(x) + step
        return x, tf.random.uniform([2])
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def draws_by_seeds_of_their_own() -> World:
    tf.random.set_seed(None)

    def fn(x):
        for _ in range(20):
            x = dear(x) + tf.random.uniform([2], seed=3)
        return x
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


class Walk:
    def __init__(self) -> None:
        self.position = tf.constant([0.5, -0.5])
        self.best = None
        self.turns = 0
        self.seen = []
        self.weight = tf.Variable([1.0, 1.0])

    def turn(self) -> None:
        self.position = dear(self.position) * self.weight
        if self.best is None:
            self.best = tf.reduce_sum(self.position)
        self.best = tf.maximum(self.best, tf.reduce_sum(self.position))

    def assigned(self, x):
        for _ in range(20):
            self.turn()
            self.weight.assign_add(x * [0.01, 0.02])
        return self.best, self.weight.read_value()

    def counted(self, x):
        for _ in range(20):
            self.turn()
            self.turns += 1
        return self.best + x, self.turns

    def listed(self, x):
        for _ in range(20):
            self.turn()
            self.seen.append(self.position)
        return self.best + x, len(self.seen)

    def shown(self, x):
        for _ in range(20):
            self.turn()
            print(f"{float(self.best):.4f}")
        return self.best + x

    def refused(self, x):
        for _ in range(20):
            self.turn()
            if self.best > x:
                raise ValueError(f"too much: {float(self.best):.3f}")
        return self.best


def walking(name: str) -> World:
    walk = Walk()
    return getattr(walk, name), each(f32(1.0), f32(2.0), f32(-100.0)), lambda: vars(walk)


@program("rolled_loops", graph=True, grad=1)
def attributes_and_a_variable() -> World:
    return walking("assigned")


@program("rolled_loops", graph=True)
def a_python_count() -> World:
    return walking("counted")


@program("rolled_loops", graph=True)
def a_list_that_grows() -> World:
    return walking("listed")


@program("rolled_loops", graph=True)
def a_print_in_each_turn() -> World:
    return walking("shown")


@program("rolled_loops", graph=True)
def a_raise_in_some_turn() -> World:
    return walking("refused")


@program("rolled_loops", graph=True)
def a_shape_that_widens() -> World:
    def fn(x):
        for _ in range(18):
            x = tf.concat([x, dear(x[:1])], 0)
        return x, x.shape[0]
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def a_swap_of_two_kinds() -> World:
    def fn(x):
        a, b = x, 1
        for _ in range(19):
            x = dear(x)
            a, b = b, a
        return x, a, b
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True, grad=1)
def two_names_that_change_places() -> World:
    def fn(x):
        a, b = x, x * 2.0
        for _ in range(19):
            a, b = dear(b), a
        return a, b
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True, grad=1)
def under_a_tape_of_the_function() -> World:
    def fn(x):
        y = x
        with tf.GradientTape() as tape:
            tape.watch(x)
            for _ in range(20):
                y = dear(y)
                if tf.reduce_sum(y) > 0.0:
                    y -= x
        return y, tape.gradient(y, x)
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True, grad=1)
def a_tape_in_each_turn() -> World:
    def fn(x):
        for _ in range(20):
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(dear(x) ** 2)
            x -= 0.01 * tape.gradient(loss, x)
        return x
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def in_a_branch_and_in_a_loop() -> World:
    def fn(x, n):
        while n > 0:
            for _ in range(19):
                x = dear(x)
            n -= 1
        if tf.reduce_sum(x) > 0.0:
            for _ in range(19):
                x = dear(x) - 1.0
        else:
            for _ in range(19):
                x = dear(x) + 1.0
        return x
    return fn, [call(f32([1.0, -2.0]), i32(2)), call(f32([-1.0, 2.0]), i32(0))]


@program("rolled_loops", graph=True)
def an_else_and_a_loop_in_the_turn() -> World:
    def fn(x):
        rows = [x]
        for _ in range(20):
            inner = []
            for one in rows:
                inner.append(dear(one))
            rows = [inner[0] + 1.0]
        else:
            rows.append(x)
        return rows
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def ways_out_of_the_loop() -> World:
    def fn(x):
        for _ in range(20):
            x = dear(x)
            if tf.reduce_sum(x) > 2.0:
                break
            if tf.reduce_sum(x) < -2.0:
                return x, "low"
        return x, "end"
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]), f32([-5.0, -3.0]))


@program("rolled_loops", graph=True)
def a_handler_around_it() -> World:
    def fn(x):
        try:
            for _ in range(20):
                x = dear(x)
                if tf.reduce_sum(x) > 2.0:
                    raise ValueError("high")
        except ValueError as error:
            return x, str(error)
        return x, "end"
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]), f32([-5.0, -3.0]))


@program("rolled_loops", graph=True)
def the_item_is_needed_after_all() -> World:
    def fn(x):
        for k in range(20):
            x = dear(x)
        else:
            x = x + float(k)
        for i in range(20):
            x = dear(x)

        def last() -> int:
            return i
        return x, last()
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def a_function_that_sees_the_item() -> World:
    def fn(x):
        i = 0

        def shifted() -> tf.Tensor:
            return x + float(i)

        for i in range(20):  # noqa: B007 (a closure reads it)
            x = dear(shifted())
        return x
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def a_pair_of_items_nobody_reads() -> World:
    def fn(x):
        for _ in range(3, 60, 3):
            x = dear(x)
        for _, _ in zip(range(20), range(30)):
            x = dear(x)
        for _ in range(40, 0, -2):
            x = dear(x)
        return x
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True, grad=1)
def objects_that_the_turn_changes() -> World:
    class Pair:
        def __init__(self, a) -> None:
            self.a = a
            self.b = [a, a]

    def fn(x):
        pair, table = Pair(x), {"k": x}
        same = pair.b
        for _ in range(20):
            pair.a = dear(pair.a)
            pair.b[0] = pair.a + 1.0
            table["k"] = table["k"] + pair.a
        return pair.a, pair.b, table, same is pair.b
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def an_object_anew_in_each_turn() -> World:
    def fn(x):
        last = [x]
        for _ in range(20):
            old = last
            last = [dear(old[0])]
        return last, old, old is last
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))


@program("rolled_loops", graph=True)
def a_manager_and_a_generator() -> World:
    def items(x):
        for _ in range(20):
            x = dear(x)
            yield x

    @contextlib.contextmanager
    def quiet():
        yield

    def fn(x):
        total = x
        for one in items(x):
            total += one
        for _ in range(20):
            with quiet():
                total = dear(total)
        return total
    return fn, each(f32([1.0, -2.0]), f32([0.5, 3.0]))
