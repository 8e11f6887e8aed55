"""Where a converted function may be called: in other graphs, in itself and its like, under tapes, in threads."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf

at_once = imp2tf.convert(profile_runs=0)


def doubling(x: Any) -> Any:
    """Control flow that a graph cannot take as Python."""
    while x < 20.0:
        x = x * 2.0
    if x > 30.0:
        return x
    return -x


ARGUMENTS = [1.0, 3.0, 25.0]
RESULTS = [32.0, -24.0, -25.0]


@pytest.fixture
def converted() -> Any:
    return imp2tf.convert(doubling, profile_runs=0)


@pytest.mark.parametrize("autograph", [True, False])
def test_in_tf_function(converted: Any, autograph: bool) -> None:
    @tf.function(autograph=autograph)
    def outer(x):
        y = converted(x) + 1.0
        return y

    assert [float(outer(tf.constant(x))) for x in ARGUMENTS] == [y + 1.0 for y in RESULTS]
    assert outer.experimental_get_tracing_count() == 1


def test_as_a_tf_function(converted: Any) -> None:
    graph = tf.function(converted)
    assert [float(graph(tf.constant(x))) for x in ARGUMENTS] == RESULTS


def test_in_a_dataset(converted: Any) -> None:
    items = tf.data.Dataset.from_tensor_slices(ARGUMENTS)
    assert list(items.map(converted).as_numpy_iterator()) == RESULTS
    assert list(items.map(lambda x: (x, converted(x)), 2).as_numpy_iterator()) == list(zip(ARGUMENTS, RESULTS))
    assert list(items.filter(lambda x: converted(x) > 0).as_numpy_iterator()) == [1.0]


def test_in_map_fn(converted: Any) -> None:
    np.testing.assert_array_equal(tf.map_fn(converted, tf.constant(ARGUMENTS)), RESULTS)
    np.testing.assert_array_equal(tf.function(lambda x: tf.map_fn(converted, x))(tf.constant(ARGUMENTS)), RESULTS)


def test_in_another_converted_function(converted: Any) -> None:
    @at_once
    def outer(x):
        return converted(x), tf.map_fn(converted, tf.stack([x, x + 2.0])), [converted(y) for y in (x, 3.0)]

    one, mapped, several = outer(tf.constant(1.0))
    assert float(one) == 32.0
    np.testing.assert_array_equal(mapped, [32.0, -24.0])
    assert [float(y) for y in several] == [32.0, -24.0]
    assert outer.stats()["graph_calls"] == 1
    assert converted.stats()["calls"] == 0


def test_python_state_is_written_each_time_the_other_graph_runs() -> None:
    seen = []

    @at_once
    def noting(x):
        seen.append(x)
        return x

    graph = tf.function(lambda x: noting(x))
    for x in ARGUMENTS:
        graph(tf.constant(x))
    assert [float(x) for x in seen] == ARGUMENTS


def test_what_cannot_be_in_the_other_graph_is_noted() -> None:
    @at_once
    def opens(x):
        open("/dev/null").close()
        return x

    assert tf.function(lambda x: opens(x))(tf.constant(1.0)) == 1.0
    (note,) = opens.stats()["fallbacks"]
    assert "open" in note["reason"]


def test_an_exception_of_the_program_stops_the_other_trace() -> None:
    @at_once
    def refuses(x):
        raise KeyError("always")

    with pytest.raises(KeyError, match="always"):
        tf.function(lambda x: refuses(x), autograph=False)(tf.constant(1.0))


def derivatives(function: Any, x: tf.Tensor) -> list[float]:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return [float(y), float(first), float(outer.gradient(first, x))]


def fourth_power(x: Any) -> Any:
    y = x
    for _ in tf.range(3):
        y = y * x
    return y


def test_under_tapes() -> None:
    converted = imp2tf.convert(fourth_power, profile_runs=0)
    for x in (tf.constant(3.0), tf.constant(2.0)):
        assert derivatives(converted, x) == derivatives(fourth_power, x)
    assert converted.stats()["eager_calls"] == 0


def test_under_a_forward_accumulator() -> None:
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = imp2tf.convert(fourth_power, profile_runs=0)(x)
    assert accumulator.jvp(y) == 108.0


def test_under_a_tape_what_has_no_gradient_runs_as_python() -> None:
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.random.gamma([], x, seed=3)
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    converted = imp2tf.convert(slope, profile_runs=0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = converted(x)
    assert found.shape == []
    assert converted.stats()["eager_calls"] == 1


def test_eight_threads_compile_once() -> None:
    @imp2tf.convert
    def counting(x, turns):
        for _ in tf.range(turns):
            x = x + 1.0
        print(end="")
        return x

    results: list[tuple[float, float]] = []
    start = threading.Barrier(8)

    def work(first: int) -> None:
        start.wait()
        for turns in range(20):
            results.append((first + turns, float(counting(tf.constant(float(first)), tf.constant(turns)))))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 160
    assert all(found == expected for expected, found in results)
    stats = counting.stats()
    assert {name: stats[name] for name in ("calls", "graph_calls", "eager_calls", "host_calls", "traces")} == {
        "calls": 160, "graph_calls": 159, "eager_calls": 1, "host_calls": 159, "traces": 1}


def test_calls_go_on_while_another_thread_runs_python() -> None:
    """A call that falls back holds no lock."""
    inside, leave = threading.Event(), threading.Event()

    @at_once
    def waits(x, wait):
        if wait:
            inside.set()
            assert leave.wait(30)
        return x * 2.0

    thread = threading.Thread(target=waits, args=(tf.constant(1.0), True))
    thread.start()
    assert inside.wait(30)
    assert waits(tf.constant(2.0), False) == 4.0
    leave.set()
    thread.join()
    assert waits.stats()["calls"] == 2


def test_python_that_a_graph_calls_may_call_converted_functions() -> None:
    """They run as Python there: a graph that waits for a graph may wait for ever."""
    seen = []

    @imp2tf.disable
    def again(x):
        seen.append(float(x))
        if x < 2.0:
            counting(x + 1.0)

    @at_once
    def counting(x):
        again(x)
        return x

    assert counting(tf.constant(0.0)) == 0.0
    assert seen == [0.0, 1.0, 2.0]
    stats = counting.stats()
    assert (stats["graph_calls"], stats["eager_calls"]) == (1, 2)
    (note,) = stats["fallbacks"]
    assert "graph inside a graph" in note["reason"]


def test_in_keras() -> None:
    class Doubling(tf.keras.layers.Layer):
        @imp2tf.convert
        def call(self, x, training=False):
            if tf.reduce_sum(x) > 0.0:
                x = x * 2.0
            return x

    model = tf.keras.Sequential([Doubling()])
    x = np.ones([2, 3], np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(model(x), 2.0 * x)
        np.testing.assert_array_equal(model.predict(-x, verbose=0), -x)
    assert Doubling.call.stats()["fallbacks"] == []


def test_threads_leave_each_others_entries_alone() -> None:
    counts: dict[str, int] = {}

    @imp2tf.convert
    def step(key, x):
        counts[key] = counts.get(key, 0) + 1
        return x * counts[key]

    wrong: list[tuple[str, int]] = []

    def work(key: str) -> None:
        for turn in range(12):
            if float(step(key, tf.constant(1.0))) != turn + 1:
                wrong.append((key, turn))

    threads = [threading.Thread(target=work, args=(key,)) for key in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == dict.fromkeys("abc", 12) and not wrong


def test_lists_and_dicts_of_a_module_of_tensorflow() -> None:
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.weights, self.settings = [tf.Variable(1.0)], {"calls": 0}

        def __call__(self, x):
            self.settings["calls"] += 1
            if x > 3.0 and len(self.weights) < 2:
                self.weights.append(self.weights[0])
            return x * self.settings["calls"], len(self.weights)

    plain, model = Model(), Model()
    converted = imp2tf.convert(model, profile_runs=0)
    for value in (1.0, 4.0, 1.0):
        assert [float(one) for one in converted(tf.constant(value))] == [float(one) for one in plain(tf.constant(value))]
    assert model.settings == plain.settings and model.weights[0] is model.weights[1]
