"""Sums in branches and loops that TensorFlow's graph optimizer gets wrong: an empty tensor in the place of `x + (x + 0.0)`."""
from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import tf_compat
from tests.harness.eager_ops import eager_ops

SUMS: dict[str, Callable[[tf.Tensor, tf.Tensor], tf.Tensor]] = {
    "zero": lambda x, y: x + (x - 0.0),
    "broadcast": lambda x, y: x + (x + y),
    "twice": lambda x, y: (x + y) + (x + y),
    "zero first": lambda x, y: (0.0 + x) + (x + 1.0),
    "products": lambda x, y: x * (y * y) * x,
    "one": lambda x, y: x + x * 1.0,
    "sum of three": lambda x, y: tf.add_n([x, x, x + 0.0]),
}
AS_TENSORFLOW_CALLS = ("broadcast", "twice", "zero first", "products")    # the others are right where imp2tf makes the call


def _by_branch(total: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        if y > 0:
            x = total(x, y)
        return x
    return f


def _by_loop(total: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = total(x, y)
        return x
    return f


@pytest.mark.parametrize("way", [_by_branch, _by_loop])
@pytest.mark.parametrize("shape", [[], [3]])
@pytest.mark.parametrize("name", SUMS)
def test_sums_in_blocks(name: str, shape: list[int], way: Callable) -> None:
    f = way(SUMS[name])
    converted = imp2tf.convert(f, profile_runs=0)
    x, y = tf.ones(shape), tf.constant(2.0)
    want = f(x, y).numpy().tolist()
    for _ in range(40):    # without and with the optimizer, on a thread of its own and on the caller's
        assert converted(x, y).numpy().tolist() == want
    with tf.GradientTape() as tape:
        tape.watch(x)
        assert converted(x, y).numpy().tolist() == want
    with tf.GradientTape() as eager:
        eager.watch(x)
        result = f(x, y)
    assert tape.gradient(converted(x, y), x) is None
    with tf.GradientTape() as tape:
        tape.watch(x)
        result_of_graph = converted(x, y)
    assert tape.gradient(result_of_graph, x).numpy().tolist() == eager.gradient(result, x).numpy().tolist()


@pytest.mark.parametrize("shape", [[], [3]])
@pytest.mark.parametrize("name", AS_TENSORFLOW_CALLS)
def test_sums_in_blocks_where_tensorflow_makes_the_call(name: str, shape: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf_compat.switches, "PRIVATE_CALLS", False)
    f = _by_branch(SUMS[name])
    converted = imp2tf.convert(f, profile_runs=0)
    x, y = tf.ones(shape), tf.constant(2.0)
    for _ in range(3):
        assert converted(x, y).numpy().tolist() == f(x, y).numpy().tolist()
    inside = tf.function(lambda x, y: converted(x, y) * 1.0, autograph=False)
    assert inside(x, y).numpy().tolist() == f(x, y).numpy().tolist()


def test_the_sign_of_zero_where_operations_are_watched() -> None:
    def f(x: tf.Tensor) -> tf.Tensor:
        if x < 1:
            x = 0 - x
        return x

    converted, seen = imp2tf.convert(f, profile_runs=0), []
    with eager_ops(seen):
        found = [str(converted(tf.constant(0.0)).numpy()) for _ in range(3)]
    assert found == ["0.0"] * 3
