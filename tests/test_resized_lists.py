"""Lists that the first run in Python has made longer or shorter are taken with any length by the first graph."""
from __future__ import annotations

import gc
import weakref
from collections import deque

import pytest
import tensorflow as tf

import imp2tf


class Window:
    """The mean of the last rows."""

    def __init__(self, rows: list | deque, most: int = 3) -> None:
        self.rows, self.most = rows, most
        self.seen = 0

    def step(self, x: tf.Tensor) -> tf.Tensor:
        """One row more."""
        total = tf.zeros_like(x)
        for row in self.rows:
            total += row
        self.rows.append(x + total)
        if len(self.rows) > self.most:
            self.rows.pop(0) if isinstance(self.rows, list) else self.rows.popleft()
        return total

    def rarely(self, x: tf.Tensor) -> tf.Tensor:
        """A list that no call so far has changed."""
        if tf.reduce_sum(x) > 100.0:
            self.rows.append(x)
        return tf.add_n([*self.rows, x])


@pytest.mark.parametrize("make", [list, deque])
def test_one_graph_serves_all_lengths(make: type) -> None:
    eager, other = Window(make()), Window(make())
    step = imp2tf.convert(other.step)
    for value in range(8):
        x = tf.constant([float(value), 1.0])
        assert step(x).numpy().tolist() == eager.step(x).numpy().tolist()
        assert [row.numpy().tolist() for row in other.rows] == [row.numpy().tolist() for row in eager.rows]
    assert step.stats()["traces"] == 1
    assert step.stats()["fallbacks"] == []


def test_a_list_that_stayed_as_it_was_keeps_its_length() -> None:
    window = Window([tf.ones([2]), tf.zeros([2])])
    step = imp2tf.convert(window.rarely)
    for _ in range(4):
        step(tf.ones([2]))
    assert step.stats()["traces"] == 1
    assert any("length" in guard or "len" in guard for guard in map(str, step.guards()))


def test_elements_of_several_kinds_are_traced_for_each_length() -> None:
    eager, other = Window([tf.ones([2]), tf.ones([1])], 9), Window([tf.ones([2]), tf.ones([1])], 9)
    step = imp2tf.convert(other.step)
    for _ in range(4):
        assert step(tf.ones([2])).numpy().tolist() == eager.step(tf.ones([2])).numpy().tolist()


def test_lists_of_the_call_are_not_kept() -> None:
    class Rows(list):
        pass

    made: list[weakref.ref] = []

    @imp2tf.convert
    def fn(x: tf.Tensor) -> tf.Tensor:
        rows, own = [], Rows()
        made.append(weakref.ref(own))
        for k in range(3):
            rows.append(x * float(k))
        rows.append(own)
        return tf.add_n(rows[:3])

    fn(tf.ones([2]))
    gc.collect()
    assert made[0]() is None
    assert all(one is made for one in fn._dispatcher.profile.resized)
