"""``input_signature``: arguments are made what was declared, one graph serves them, what does not fit is named."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

import imp2tf

Spec = tf.TensorSpec
ROWS, COUNT = Spec([None, 2], tf.float32), Spec([], tf.int32)


def scaled(rows: Any, count: Any) -> Any:
    if count > 0:
        return rows * tf.cast(count, tf.float32)
    return rows


def declared(function: Any = scaled, specs: Any = (ROWS, COUNT), **options: Any) -> Any:
    return imp2tf.convert(function, input_signature=specs, **options)


def test_one_graph_serves_all_sizes_from_the_first_call_on() -> None:
    converted = declared()
    for size in range(4):
        np.testing.assert_array_equal(converted(tf.ones([size, 2]), tf.constant(size)), np.full([size, 2], size))
    stats = converted.stats()
    assert (stats["traces"], stats["graph_calls"], stats["eager_calls"]) == (1, 4, 0)


@pytest.mark.parametrize("rows", [
    [[1, 2]], ((1.0, 2.0),), np.ones([1, 2]), np.ones([1, 2], np.int16), tf.ones([1, 2]), tf.Variable(tf.ones([1, 2])),
], ids=["list", "tuple", "float64 array", "int array", "tensor", "variable"])
def test_arguments_are_made_tensors(rows: Any) -> None:
    converted = declared()
    found = converted(rows, 2)
    assert found.dtype == tf.float32
    assert found.shape == [1, 2]
    assert converted.stats()["graph_calls"] == 1


@pytest.mark.parametrize(("args", "error", "words"), [
    ((tf.ones([3]), 1), ValueError, ["'rows'", "(None, 2)", "(3,)"]),
    ((tf.ones([3, 2], tf.float64), 1), TypeError, ["'rows'", "float32", "float64"]),
    (("abc", 1), TypeError, ["'rows'", "float32", "'abc'"]),
    ((None, 1), TypeError, ["'rows'", "None"]),
    ((tf.ones([3, 2]), 1.5), TypeError, ["'count'", "int32", "1.5"]),
    ((tf.ones([3, 2]), np.float32(1.0)), TypeError, ["'count'", "int32"]),
], ids=["shape", "dtype", "text", "None", "fraction", "array of fractions"])
def test_what_does_not_fit_is_named(args: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        declared()(*args)
    assert all(word in str(caught.value) for word in words)


def test_a_missing_argument_is_told_by_python() -> None:
    with pytest.raises(TypeError, match=r"scaled\(\) missing 1 required positional argument: 'count'"):
        declared()(tf.ones([3, 2]))


def test_keywords_and_defaults() -> None:
    def power(x, by=2.0, *, plus=1.0):
        return x ** by + plus

    converted = declared(power, [Spec([], tf.float32)])
    assert [float(converted(x=3)), float(converted(3, plus=0.0))] == [10.0, 9.0]


def test_more_arguments() -> None:
    converted = declared(lambda first, *more: first + sum(more), [COUNT, COUNT, COUNT])
    assert converted(1, 2, 3) == 6


class Pair(NamedTuple):
    left: Any
    right: Any


def test_nested() -> None:
    def total(tree, pair):
        return tf.reduce_sum(tree["a"]) + tree["b"][0] + tf.reduce_sum(pair.right)

    vector, number = Spec([None], tf.float32), Spec([], tf.float32)
    converted = declared(total, [{"a": vector, "b": [number]}, Pair(number, vector)])
    assert converted({"a": [1.0, 2.0], "b": [3]}, Pair(0, [4.0])) == 10.0
    assert converted({"a": tf.ones([5]), "b": [tf.constant(1.0)]}, Pair(0, [1.0, 1.0])) == 8.0
    assert converted.stats()["traces"] == 1
    with pytest.raises(ValueError, match=r"tree\['b'\]"):
        converted({"a": [1.0], "b": []}, Pair(0, [1.0]))
    with pytest.raises(ValueError, match=r"pair.*1.*shape"):
        converted({"a": [1.0], "b": [1.0]}, Pair(0, 1.0))
    with pytest.raises(TypeError, match="'tree' must be a dict"):
        converted(3, Pair(0, [1.0]))


def test_a_container_that_fits_is_the_callers_own() -> None:
    def append(items):
        items.append(items[0] * 2.0)
        return items

    items = [tf.constant(1.0)]
    assert declared(append, [[Spec([], tf.float32)]])(items) is items
    assert len(items) == 2


def test_ragged() -> None:
    converted = declared(lambda rows: tf.reduce_sum(rows, 1), [tf.RaggedTensorSpec([None, None], tf.float32)])
    np.testing.assert_array_equal(converted(tf.ragged.constant([[1.0, 2.0], [3.0]])), [3.0, 3.0])
    np.testing.assert_array_equal(converted(tf.ragged.constant([[1.0], [], [2.0]])), [1.0, 0.0, 2.0])
    assert converted.stats()["traces"] == 1
    with pytest.raises(TypeError, match="'rows'"):
        converted(tf.ones([2, 2]))


def test_method() -> None:
    class Layer:
        weight = 5.0

        @imp2tf.convert(input_signature=[Spec([None], tf.float32)])
        def call(self, x):
            return x * self.weight

    layer = Layer()
    assert [layer.call([1.0]).shape, layer.call([1.0, 2.0]).shape] == [[1], [2]]
    assert Layer.call.stats()["traces"] == 1
    assert layer.call.get_concrete_function()(tf.ones([3])).shape == [3]


def test_concrete_function_needs_no_arguments() -> None:
    concrete = declared().get_concrete_function()
    assert concrete.structured_input_signature[0] == (Spec([None, 2], tf.float32, "rows"), Spec([], tf.int32, "count"))


@pytest.mark.parametrize(("specs", "error", "words"), [
    (ROWS, TypeError, "list or tuple"),
    ([3], TypeError, "TypeSpec, not 3"),
    ([{"a": None}], TypeError, "TypeSpec, not None"),
    ([ROWS], ValueError, "'count' of scaled"),
    ([ROWS, COUNT, COUNT], ValueError, "3 entries, but scaled takes 2"),
])
def test_wrong_signatures_are_refused_when_converting(specs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        declared(specs=specs)


def test_python_fallback_is_given_the_same_tensors() -> None:
    seen = []

    def opens(x):
        seen.append(x.dtype)
        open("/dev/null").close()
        return x

    converted = declared(opens, [Spec([], tf.float32)])
    assert converted(1).dtype == tf.float32
    assert converted.stats()["eager_calls"] == 1
    assert seen == [tf.float32]
