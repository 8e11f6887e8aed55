"""What fails in eager fails, also if nobody reads its result: without the watch on operations that differential programs keep."""
from __future__ import annotations

import pytest
import tensorflow as tf

import imp2tf

KINDS = range(8)


def _fails(x, n):
    """Something that fails for some values of x."""
    i = tf.cast(x, tf.int32)
    if n == 0:
        tf.gather([1.0, 2.0, 3.0], i)
    elif n == 1:
        tf.ensure_shape(tf.boolean_mask([1.0, 2.0, 3.0], [x > 1, x > 2, True]), [2])
    elif n == 2:
        tf.reshape(tf.range(i), [2])
    elif n == 3:
        tf.constant(1) // (i - 2)
    elif n == 4:
        tf.ones([4])[i]
    elif n == 5:
        tf.strings.to_number(tf.strings.join(["a", tf.strings.as_string(x)])) if x > 1 else 0
    elif n == 6:
        tf.slice(tf.ones([2]), [0], [i])
    else:
        _ = "abc"[int(x)]


def as_a_statement(x, n):
    _fails(x, n)
    return x + 1.0


def in_a_branch(x, n):
    if x > 1:
        _fails(x, n)
    return x + 1.0


def in_a_loop(x, n):
    for k in tf.range(3):
        _fails(x + tf.cast(k, tf.float32), n)
    return x


def in_a_branch_of_a_loop(x, n):
    turns = tf.constant(3)
    while turns > 0:
        turns -= 1
        if x > 1:
            _fails(x, n)
        x += 1.0
    return x


def _outcome(function, *args):
    try:
        return float(function(*args))
    except (tf.errors.OpError, IndexError) as error:
        return type(error).__name__


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [as_a_statement, in_a_branch, in_a_loop, in_a_branch_of_a_loop])
def test_fails_as_in_eager(function, kind):
    converted = imp2tf.convert(function, profile_runs=0)
    for value in (1.0, 2.0, 3.0, 5.0, 0.0):
        x = tf.constant(value)
        assert _outcome(converted, x, kind) == _outcome(function, x, kind), value


@pytest.mark.parametrize("function", [as_a_statement, in_a_branch, in_a_loop, in_a_branch_of_a_loop])
@pytest.mark.parametrize("kind", [0, 5])
def test_fails_when_the_graph_is_optimised(function, kind, monkeypatch):
    monkeypatch.setattr("imp2tf.trials.OPTIMISER", 0.0)
    converted = imp2tf.convert(function, profile_runs=0)
    fine, wrong = tf.constant(0.0 if kind == 0 else -5.0), tf.constant(3.0)
    for _ in range(60):
        assert _outcome(converted, fine, kind) == _outcome(function, fine, kind)
    assert _outcome(converted, wrong, kind) == _outcome(function, wrong, kind)
