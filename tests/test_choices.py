"""Branches that only choose between small values need no If; what may fail, has an effect, is large or steers gradients does."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import imp2tf
from imp2tf.tf_compat import function_graph, functions_of


def counts(x: tf.Tensor) -> Any:
    n, best = 0, None
    if tf.reduce_sum(x) > 0.0:
        n += 3
        best = 0.5
    return n, best


def keeps_one(x: tf.Tensor) -> Any:
    y = x * 2.0
    if tf.reduce_sum(x) > 0.0:
        x, y = y, x
    return x, y


def nested(x: tf.Tensor) -> Any:
    scale = 1.0
    total = tf.reduce_sum(x)
    if total > 0.0:
        scale *= 0.8
    elif total < -10.0:
        scale /= 3.0
    return x * scale, scale, scale > 0.9


def odd_numbers(x: tf.Tensor) -> Any:
    first = x[0]
    if first > 0.0:
        first = first / (first - first)
    else:
        first = first * 0.0
    return first


def in_a_loop(x: tf.Tensor) -> Any:
    taken = 0
    for row in x:
        if row > 0.0:
            taken += 1
            if taken > 2:
                taken = -taken
    return taken


def divides(x: tf.Tensor) -> Any:
    n = tf.cast(x[0], tf.int32)
    if n > 0:
        n = 7 // n
    return n


def takes_an_element(x: tf.Tensor) -> Any:
    k = tf.cast(x[0], tf.int32)
    return tf.gather(x, k) if k < 2 else x[0]


def computes_much(x: tf.Tensor) -> Any:
    if tf.reduce_sum(x) > 0.0:
        x = x @ tf.ones([2, 2]) if x.shape.rank == 2 else tf.sin(x)
    return x


def large(x: tf.Tensor) -> Any:
    a, b = tf.fill([1000], x[0]), tf.fill([1000], x[1])
    if tf.reduce_sum(x) > 0.0:
        a = b
    return a


def texts(x: tf.Tensor) -> Any:
    text = tf.constant("low")
    if tf.reduce_sum(x) > 0.0:
        text = tf.constant("high")
    return text


def several_kinds(x: tf.Tensor) -> Any:
    found, total = 1, tf.reduce_sum(x)
    if total > 0.0:
        found = 2.5
    elif total < -10.0:
        found = None
    return found


VALUES = ([1.0, 2.0], [-1.0, -2.0], [-30.0, 2.0], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0])
CHOOSING = [counts, keeps_one, nested, odd_numbers, in_a_loop]
BRANCHING = [several_kinds, divides, takes_an_element, computes_much, large, texts]


def kinds_in(graph: Any) -> list[str]:
    """The types of all operations of a graph and of its regions."""
    found = []
    for op in graph.get_operations():
        found.append(op.type)
        for name in functions_of(op):
            found.extend(kinds_in(function_graph(graph, name)))
    return found


def graph_of(converted: Any) -> Any:
    """The newest graph."""
    return converted._dispatcher.graphs[0].concrete.graph


def outcome(function: Callable[[tf.Tensor], Any], x: tf.Tensor) -> list[Any]:
    """What a call returns or raises, as text, which tells kinds and NaN."""
    try:
        found = function(x)
    except tf.errors.OpError as error:
        return [type(error).__name__]
    return [(type(one).__name__, str(one.numpy() if isinstance(one, tf.Tensor) else one)) for one in tf.nest.flatten(found)]


@pytest.mark.parametrize("function", CHOOSING + BRANCHING)
def test_results_are_eagers(function: Callable) -> None:
    converted = imp2tf.convert(function, profile_runs=0)
    for _ in range(2):
        for value in VALUES:
            assert outcome(converted, tf.constant(value)) == outcome(function, tf.constant(value))
    assert converted.stats()["fallbacks"] == []
    assert any(kind.endswith("If") for kind in kinds_in(graph_of(converted))) is (function in BRANCHING)


@pytest.mark.parametrize("function", [keeps_one, odd_numbers])
def test_a_tape_sees_branches(function: Callable) -> None:
    converted = imp2tf.convert(function, profile_runs=0)
    for value in VALUES[:2]:
        x = tf.constant(value)
        converted(x)
        gradients = []
        for one in (function, converted):
            with tf.GradientTape() as tape:
                tape.watch(x)
                result = tf.nest.flatten(one(x))[0]
            gradients.append(str(tape.gradient(result, x)))
        assert gradients[0] == gradients[1]


def test_under_a_tape_of_the_function_branches_stay() -> None:
    def fn(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 3.0
            if tf.reduce_sum(x) > 0.0:
                y = x * 1.0
        return tape.gradient(y, x)

    converted = imp2tf.convert(fn, profile_runs=0)
    for value in VALUES[:2]:
        assert str(converted(tf.constant(value))) == str(fn(tf.constant(value)))
    assert any(kind.endswith("If") for kind in kinds_in(graph_of(converted)))
