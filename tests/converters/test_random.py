"""Where random numbers are drawn; what they are is compared in `tests/programs/random_numbers.py`."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf

import imp2tf


@pytest.fixture(autouse=True)
def no_seed() -> Iterator[None]:
    """Begin and end without a global seed."""
    tf.random.set_seed(None)
    yield
    tf.random.set_seed(None)


def noisy(x: tf.Tensor) -> tf.Tensor:
    return x + tf.random.uniform([2])


def test_without_a_seed_the_operation_stays_in_the_graph() -> None:
    converted = imp2tf.convert(noisy, profile_runs=0)
    first, second = converted(tf.constant(0.0)), converted(tf.constant(0.0))
    assert converted.stats()["host_calls"] == 0
    assert not np.allclose(first, second)


def test_a_seed_set_later_is_noticed() -> None:
    converted = imp2tf.convert(noisy, profile_runs=0)
    converted(tf.constant(0.0))
    tf.random.set_seed(2)
    drawn = converted(tf.constant(0.0))
    tf.random.set_seed(2)
    np.testing.assert_array_equal(drawn, tf.random.uniform([2]))
    assert converted.explain(tf.constant(0.0)).misses == ["the global random seed was None, is 2"]


def test_profiled_calls_and_graphs_share_one_stream() -> None:
    converted = imp2tf.convert(noisy)
    tf.random.set_seed(2)
    drawn = [converted(tf.constant(0.0)).numpy() for _ in range(4)]
    tf.random.set_seed(2)
    np.testing.assert_array_equal(drawn, [tf.random.uniform([2]).numpy() for _ in range(4)])
    assert converted.stats()["graph_calls"] == 3


def test_random_numbers_drawn_by_a_dataset_run_as_python() -> None:
    def shuffled(x: tf.Tensor) -> tf.Tensor:
        for item in tf.data.Dataset.range(6).shuffle(6):
            x = x * 2 + item
        return x

    tf.random.set_seed(2)
    converted = imp2tf.convert(shuffled, profile_runs=0)
    converted(tf.constant(1, tf.int64))
    (reason,) = converted.stats()["fallbacks"]
    assert "dataset" in reason["reason"]
    assert reason["line"] == shuffled.__code__.co_firstlineno + 1


def test_what_a_draw_refuses_is_raised_as_eager_raises_it() -> None:
    converted = imp2tf.convert(lambda n: tf.random.uniform([n], seed=1), profile_runs=0)
    converted(tf.constant(2))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        converted(tf.constant(-1))
    assert "<lambda>" in [entry.name for entry in caught.traceback]
    assert not any("imp2tf" in str(entry.path) for entry in caught.traceback[2:])
    with pytest.raises(tf.errors.InvalidArgumentError) as eager:
        tf.random.uniform([tf.constant(-1)], seed=1)
    assert str(caught.value) == str(eager.value)
