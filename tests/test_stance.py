"""`set_stance`: what all converted functions do."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf

ONE, TWO = tf.constant(1.0), tf.constant(2.0)


@pytest.fixture(autouse=True)
def default_stance() -> Iterator[None]:
    """Whatever a test does, the next one begins with the default."""
    yield
    imp2tf.set_stance("default")


def halved(x: Any, times: Any = 1) -> Any:
    while x > 1.0:
        x = x / 2.0
    return x * times


def convert(function: Any = halved, **options: Any) -> Any:
    return imp2tf.convert(function, profile_runs=0, **options)


def test_unknown_stances_are_refused() -> None:
    with pytest.raises(ValueError, match="'default', 'force_eager', 'verify', 'fail_on_recompile', not 'eager'"):
        imp2tf.set_stance("eager")


def test_as_a_function_and_as_a_context_manager() -> None:
    converted = convert()
    imp2tf.set_stance("force_eager")
    converted(TWO)
    with imp2tf.set_stance("default"):
        converted(TWO)
        with imp2tf.set_stance("force_eager"):
            converted(TWO)
        converted(TWO)
    converted(TWO)
    stats = converted.stats()
    assert (stats["eager_calls"], stats["graph_calls"]) == (3, 2)


def test_a_stance_ends_when_its_block_raises() -> None:
    with pytest.raises(ZeroDivisionError), imp2tf.set_stance("force_eager"):
        1 / 0  # noqa: B018
    assert convert()(TWO) == 1.0


def test_force_eager_reaches_calls_in_other_graphs() -> None:
    """There, plain Python is what TensorFlow makes of it."""
    with imp2tf.set_stance("force_eager"), pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(convert(), autograph=False)(TWO)
    assert tf.function(convert(), autograph=False)(TWO) == 1.0


def test_fail_on_recompile_allows_the_first_graph_only() -> None:
    converted = convert()
    with imp2tf.set_stance("fail_on_recompile"):
        assert converted(TWO, 1) == 1.0
        assert converted(tf.constant(8.0), 1) == 1.0
        with pytest.raises(imp2tf.ConversionError, match="times was 1, is 3") as caught:
            converted(TWO, 3)
        assert caught.value.code == "I2T115"
    assert converted(TWO, 3) == 3.0


# ------------------------------------------------------------------------------------ verify
class Model:
    def __init__(self) -> None:
        self.weight = tf.Variable([1.0, 2.0])
        self.calls = 0
        self.seen: list[Any] = []

    def step(self, x):
        self.calls += 1
        self.weight.assign_add([x, x])
        if x > 0.0:
            self.seen.append(x * 2.0)
        return {"total": tf.reduce_sum(self.weight), "calls": self.calls}


def test_verify_does_what_plain_python_does_once() -> None:
    model, plain = Model(), Model()
    converted = convert(model.step)
    with imp2tf.set_stance("verify"):
        for x in (1.0, -1.0, 3.0):
            found, expected = converted(tf.constant(x)), plain.step(tf.constant(x))
            assert (float(found["total"]), found["calls"]) == (float(expected["total"]), expected["calls"])
    np.testing.assert_array_equal(model.weight, plain.weight)
    assert (model.calls, [float(x) for x in model.seen]) == (3, [2.0, 6.0])
    stats = converted.stats()
    assert (stats["graph_calls"], stats["eager_calls"], stats["fallbacks"]) == (3, 3, [])


def test_verify_compares_exceptions() -> None:
    def refuses(x):
        if x < 0.0:
            raise ValueError("negative", x)
        return x

    converted = convert(refuses)
    with imp2tf.set_stance("verify"):
        assert converted(ONE) == 1.0
        with pytest.raises(ValueError, match="negative"):
            converted(-ONE)
    assert converted.stats()["graph_calls"] == 2


@pytest.mark.parametrize(("spoilt", "words"), [
    (lambda y: y + 1.0, "the result is .*2.0.* in the graph, .*1.0.* in plain Python"),
    (lambda y: tf.cast(y, tf.float64), "float64 tensor of shape .* in the graph, a float32"),
    (lambda y: [y], "a list in the graph"),
    (lambda y: None, "a NoneType in the graph"),
])
def test_verify_finds_other_results(spoilt: Any, words: str) -> None:
    converted = convert()
    converted(TWO)
    (graph,) = converted._dispatcher.graphs
    result = graph.result
    graph.result = lambda build: spoilt(result(build))
    with imp2tf.set_stance("verify"), pytest.raises(imp2tf.DivergenceError, match=words):
        converted(TWO)


def test_verify_finds_other_state() -> None:
    model = Model()
    converted = convert(model.step)
    for _ in range(3):
        converted(ONE)
    graph = converted._dispatcher.graphs[0]
    place, value = graph.writes[0]
    graph.writes[0] = (place, lambda build: value(build) + 1)
    with imp2tf.set_stance("verify"), pytest.raises(imp2tf.DivergenceError, match="attribute 'calls' of Model is 5 in the graph, 4"):
        converted(ONE)


def draws(x):
    return x + tf.random.uniform([])


def prints(x):
    print("x")
    return x


@pytest.mark.parametrize(("function", "reason"), [(draws, "random numbers"), (prints, "Python is called")])
def test_what_cannot_be_run_twice_is_not_verified_and_says_so(function: Any, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    tf.random.set_seed(None)
    converted = convert(function)
    with imp2tf.set_stance("verify"):
        converted(ONE)
        converted(ONE)
    assert capsys.readouterr().out in ("", "x\nx\n")
    (note,) = converted.stats()["fallbacks"]
    assert (note["code"], note["count"]) == ("I2T202", 2)
    assert reason in note["reason"]
