"""Gradients of converted functions under the caller's tape, beyond what `tests/programs/none_gradients.py` compares."""
from __future__ import annotations

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import taped, tf_probes


def one_each(x, y):
    if x > 0.0:
        return x * x
    return y * y


def converted(fn):
    return imp2tf.convert(fn, profile_runs=0, fullgraph=True)


def test_private_symbols_are_there() -> None:
    assert tf_probes.self_test() == []


def test_forward_mode() -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    fn = converted(one_each)
    for _ in range(2):
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            result = fn(x, y)
        assert float(accumulator.jvp(result)) == 4.0


def test_a_persistent_tape_asks_twice() -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        results = [converted(one_each)(x, y), converted(one_each)(-x, y)]
    for _ in range(2):
        assert [tape.gradient(result, y) is None for result in results] == [True, False]
        assert [float(tape.gradient(results[0], x)), float(tape.gradient(results[1], y))] == [4.0, 6.0]


def test_sparse_gradients_pass_the_gate() -> None:
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def fn(x, i):
        if x > 0.0:
            return x * tf.gather(table, i)
        return x * tf.ones([2])

    lookup = converted(fn)
    for x, dense in ((2.0, [[0.0, 0.0], [2.0, 2.0]]), (-2.0, None), (2.0, [[0.0, 0.0], [2.0, 2.0]])):
        with tf.GradientTape() as tape:
            result = lookup(tf.constant(x), tf.constant(1))
        gradient = tape.gradient(result, table)
        assert (None if gradient is None else tf.convert_to_tensor(gradient).numpy().tolist()) == dense


def test_jacobian_and_batch_jacobian() -> None:
    def fn(x, y):
        if tf.reduce_sum(x) > 0.0:
            return x * x
        return y

    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = converted(fn)(x, x * 2.0)
    assert tape.batch_jacobian(result, x).numpy().tolist() == [[[2.0, 0.0], [0.0, 4.0]]]


def test_few_ways_are_remembered(monkeypatch) -> None:
    monkeypatch.setattr(taped, "MAX_WAYS", 2)

    def fn(x, a, b):
        if x[0] > 0.0:
            x = x * a
        if x[1] > 0.0:
            x = x * b
        return x

    ways = converted(fn)
    a, b = tf.constant(2.0), tf.constant(3.0)
    for x, none in (([1.0, 1.0], (False, False)), ([-1.0, 1.0], (True, False)), ([1.0, -1.0], (False, True)),
                    ([-1.0, -1.0], (True, True)), ([1.0, 1.0], (False, False))):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            result = ways(tf.constant(x), a, b)
        assert tuple(gradient is None for gradient in tape.gradient(result, [a, b])) == none


def watched(tape, x):
    tape.watch(x)
    return x * x


def begun_anew(tape, x):
    y = x * x
    tape.reset()
    tape.watch(x)
    return y * x


def not_recorded(tape, x):
    with tape.stop_recording():
        y = x * x
    return y * x


def asked_inside(tape, x):
    y = x * x
    return y if tape.gradient(y, x) is None else y * 2.0


@pytest.mark.parametrize("function", [watched, begun_anew, not_recorded, asked_inside])
def test_a_tape_of_the_caller_is_left_to_python(function) -> None:
    converted = imp2tf.convert(function, profile_runs=0)
    found = []
    for called in (function, converted, converted):
        x = tf.constant(3.0)
        with tf.GradientTape(persistent=True) as tape:
            if function is not watched:
                tape.watch(x)
            y = called(tape, x)
        found.append((float(y), float(tape.gradient(y, x))))
    assert found[0] == found[1] == found[2]


def test_a_graph_made_without_a_tape_is_made_again_for_one_that_tells_its_way() -> None:
    @imp2tf.convert(profile_runs=0)
    def f(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        while tf.reduce_sum(x) < 8.0:
            x = x * w if x[0] > 1.0 else x + 1.0
        return x

    one, two, w = tf.constant([1.0, 1.0]), tf.constant([9.0, 9.0]), tf.constant(2.0)
    expected = [f.python_function(x, w).numpy().tolist() for x in (one, two)]
    assert [f(x, w).numpy().tolist() for x in (one, two)] == expected
    assert f.stats()["traces"] == 1 and not f._dispatcher.graphs[0].taped.has_ways
    for x in (one, two, one):
        gradients = []
        for function in (f.python_function, f):
            with tf.GradientTape() as tape:
                tape.watch([x, w])
                y = function(x, w)
            gradients.append([None if one is None else one.numpy().tolist() for one in tape.gradient(y, [x, w])])
        assert gradients[0] == gradients[1]
    assert f(one, w).numpy().tolist() == expected[0]
    assert f.stats()["traces"] == 2 and len(f._dispatcher.graphs) == 1 and not f.stats()["fallbacks"]
