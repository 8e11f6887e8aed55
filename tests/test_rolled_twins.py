"""Loops that were unrolled and are loops again in what XLA compiles: which turns are found, and that they compute the same."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from imp2tf.xla import items, parts, rules, twin

TURNS = 12
RANDOM = np.random.default_rng(5)
X = tf.constant(RANDOM.normal(size=(TURNS, 4, 4)), tf.float32)
W = tf.Variable(RANDOM.normal(0.0, 0.4, (4, 4)), dtype=tf.float32)
B = tf.Variable(RANDOM.normal(0.0, 0.4, (4,)), dtype=tf.float32)


def cell(x, h):
    """Enough operations for a turn."""
    z = tf.tanh(x @ W + h @ W + B)
    r = tf.sigmoid(h @ W - x)
    return r * h + (1.0 - r) * z * tf.cos(x)


def recurrence(x):
    h = tf.zeros([4, 4])
    for t in range(TURNS):
        h = cell(x[t], h)
    return h


def all_states(x):
    h, found = x[0], []
    for one in tf.unstack(x):
        h = cell(one, h)
        found.append(h)
    return tf.stack(found, axis=1), found[3], found[-1]


def backward_over_time(x):
    h, found = tf.zeros([4, 4]), []
    for t in reversed(range(TURNS)):
        h = cell(x[t], h)
        found.insert(0, h)
    return tf.stack(found), h


def columns(x):
    h = tf.zeros([4, 4])
    table = tf.transpose(x, [1, 0, 2])
    for t in range(-TURNS, 0):
        h = cell(table[:, t], h)
    return h


def gradients(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        h, loss = tf.zeros([4, 4]), 0.0
        for t in range(TURNS):
            h = cell(x[t], h)
            loss += tf.reduce_sum(h ** 2)
    return loss, *tape.gradient(loss, [x, W, B])


def gradients_of_columns(x):
    table = tf.transpose(x, [1, 0, 2])
    with tf.GradientTape() as tape:
        tape.watch(table)
        h, found = tf.zeros([4, 4]), []
        for t in range(TURNS):
            h = cell(table[:, t], h)
            found.append(h)
        loss = tf.reduce_mean(tf.stack(found, axis=1) ** 2)
    return loss, *tape.gradient(loss, [table, W, B])


def numbers_that_vary(x):
    h = tf.ones([4, 4])
    for t in range(TURNS):
        h = cell(x[t] * float(t), h) / (t + 1.0)
    return h


def sum_of_all(x):
    h, total = tf.zeros([4, 4]), []
    for t in range(TURNS):
        h = cell(x[t], h)
        total.append(h * 2.0)
    return tf.add_n([*total, x[0]]), h


def no_state(x):
    return tf.stack([cell(x[t], cell(x[t], x[t])) for t in range(TURNS)])


def every_second(x):
    h, found = tf.zeros([4, 4]), []
    for t in range(TURNS):
        h = cell(x[t], h)
        if t % 2:
            found.append(h)
    return tf.stack(found)


def twice(x):
    h = tf.zeros([4, 4])
    for t in range(TURNS):
        h = cell(x[t], h)
    for t in range(TURNS):
        h = cell(x[t], cell(h, x[t]))
    return h


def behind_what_xla_has_not(x):
    words = tf.strings.as_string(x)
    again = tf.strings.to_number(tf.strings.as_string(tf.strings.to_number(words)))
    same = tf.strings.to_number(words)
    h = tf.zeros([4, 4])
    for t in range(TURNS):
        h = cell(again[t], h) + same[t]
    return h


def with_checks(x):
    h = tf.zeros([4, 4])
    for t in range(TURNS):
        h = tf.maximum(cell(x[t], h), -0.1)
    return h


def two_turns_before(x):
    a, b = tf.zeros([4, 4]), tf.ones([4, 4])
    for t in range(TURNS):
        a, b = b, cell(x[t], a)
    return a, b


def of_growing_sizes(x):
    found = x[0]
    for t in range(1, TURNS):
        found = tf.concat([found, tf.tanh(tf.sin(tf.cos(x[t] @ W)) + B)], 0)
    return found


ROLLED = (recurrence, all_states, backward_over_time, columns, gradients, gradients_of_columns, numbers_that_vary, sum_of_all, no_state,
          twice, with_checks, behind_what_xla_has_not)
OTHERS = (every_second, two_turns_before, of_growing_sizes)


def builder_of(function: Callable[..., object], *args: tf.Tensor) -> twin.Builder:
    """What would make the twin of a function's graph."""
    graph = tf.function(lambda *given: tf.nest.flatten(function(*given)), autograph=False).get_concrete_function(*args).graph
    found = parts.parts_of(graph)
    assert found is not None
    return twin.Builder(graph, found)


def results(builder: twin.Builder, core: Callable[..., list[tf.Tensor]], *args: tf.Tensor) -> list[np.ndarray]:
    """What a core gives, for arguments before variables."""
    captures = dict(zip(map(id, builder.graph.internal_captures), builder.graph.external_captures))
    given = iter(args)
    inputs = [captures[id(one)] if id(one) in captures else next(given) for one in builder.graph.inputs]
    first, rest = (tf.function(part, autograph=False).get_concrete_function(*(tf.TensorSpec(one.shape, one.dtype) for one in needed))
                   for part, needed in ((builder._first, builder.graph.inputs), (core, builder.wanted)))
    return [one.numpy() for one in rest(*first(*inputs))]


@pytest.mark.parametrize("function", [*ROLLED, *OTHERS], ids=lambda one: one.__name__)
def test_the_same_is_computed(function: Callable[..., object]) -> None:
    builder = builder_of(function, X)
    for scale in (1.0, 0.1):
        expected, found = (results(builder, core, X * scale) for core in (builder._core, builder._rolled_core))
        assert len(expected) == len(found)
        for one, other in zip(expected, found):
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("function", ROLLED, ids=lambda one: one.__name__)
def test_turns_are_found(function: Callable[..., object]) -> None:
    builder = builder_of(function, X)
    assert builder.plan is not None
    assert builder.weight < 0.6 * sum(map(rules.weight_of, builder.parts.core))


def test_checks_of_all_turns_count() -> None:
    builder = builder_of(with_checks, X)
    bad = tf.tensor_scatter_nd_update(X, [[5, 1, 2]], [float("nan")])
    assert [bool(results(builder, builder._rolled_core, x)[0]) for x in (X, bad)] == [True, False]


def test_what_is_no_turn_is_left() -> None:
    builder = builder_of(of_growing_sizes, X)
    assert builder.plan is None


def test_items_of_a_tensor() -> None:
    @tf.function(autograph=False)
    def graph(x):
        first = tf.unstack(x, axis=1)
        return first[3], first[2], first[1], x[:, 0], x[:, -1], x[1:, 0], x[:, tf.newaxis, 0]

    made = graph.get_concrete_function(tf.TensorSpec([2, 4])).graph
    outputs = [one.op.inputs[0] if one.op.type == "Identity" else one for one in made.outputs]
    found = [items.item_of(one, lambda tensor: tensor.name) for one in outputs]
    assert [one and one[1:] for one in found] == [(1, 3), (1, 2), (1, 1), (1, 0), (1, 3), None, None]
    runs = list(items.runs_of(found))
    assert [(one.first, one.length, one.backward) for one in runs] == [(0, 4, True), (4, 1, False), (5, 1, False), (6, 1, False)]
