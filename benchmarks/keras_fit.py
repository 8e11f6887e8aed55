"""Steady time of a step of Keras's ``fit``: eagerly, as Keras's own graph, and wrapped by imp2tf.

Where a layer has Python control flow, which Keras's own graph cannot have, that graph has a layer written by hand with `tf.cond` or
`tf.while_loop`, and a variable for the counter.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

import imp2tf.keras
from benchmarks.checks import Outcome, difference, outcome
from benchmarks.contenders import AUTOGRAPH, CONVERTED, EAGER
from benchmarks.protocol import Contender, Result, Settings, measure

CASES = ("stock", "gated", "looped")
BATCH, WIDTH = 32, 32


class Gate(keras.layers.Layer):
    """Python control flow in a layer, and a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_sum(x) > 0:
            self.opened += 1
            return x * 0.5
        return x

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


class GateByHand(keras.layers.Layer):
    """The same with `tf.cond`."""

    def build(self, shape: Any) -> None:
        self.opened = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        def opened() -> tf.Tensor:
            self.opened.assign_add(1)
            return x * 0.5

        return tf.cond(tf.reduce_sum(x) > 0, opened, lambda: x)


class Loop(keras.layers.Layer):
    """A loop in a layer, and the number of its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    def call(self, x: tf.Tensor) -> tf.Tensor:
        n = 0
        while tf.reduce_max(x) > 0.5 and n < 8:
            x = x * 0.7
            n += 1
        self.turns = n
        return x

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


class LoopByHand(keras.layers.Layer):
    """The same with `tf.while_loop`."""

    def build(self, shape: Any) -> None:
        self.turns = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x, n = tf.while_loop(
            lambda x, n: tf.logical_and(tf.reduce_max(x) > 0.5, n < 8), lambda x, n: (x * 0.7, n + 1), (x, tf.constant(0))
        )
        self.turns.assign(n)
        return x


PYTHON = {"stock": None, "gated": Gate, "looped": Loop}
BY_HAND = {"stock": None, "gated": GateByHand, "looped": LoopByHand}


def model_of(case: str, way: str) -> keras.Model:
    """A compiled model, alike for all ways."""
    keras.utils.set_random_seed(1)
    made = (BY_HAND if way == AUTOGRAPH else PYTHON)[case]
    hidden = [keras.layers.Dense(WIDTH, activation="relu"), *([made()] if made else []), keras.layers.Dense(WIDTH, activation="relu")]
    model = keras.Sequential([keras.Input((WIDTH,)), *hidden, keras.layers.Dense(1)])
    if way == CONVERTED:
        imp2tf.keras.wrap(model)
    model.compile("adam", "mse", run_eagerly=way == EAGER, jit_compile=False)
    return model


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one kind of model."""
    expected = _rehearsed(model_of(case, EAGER))
    return measure("keras", case, [_contender(case, way, expected) for way in (EAGER, AUTOGRAPH, CONVERTED)], settings)


def _data() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.RandomState(0)
    x = draw.randn(8 * BATCH, WIDTH).astype("float32")
    return x, x.sum(1, keepdims=True)


def _rehearsed(model: keras.Model) -> Outcome:
    """The history of a short training."""
    x, y = _data()
    return outcome(lambda: [float(one) for one in model.fit(x, y, batch_size=BATCH, epochs=2, shuffle=False, verbose=0).history["loss"]])


def _contender(case: str, way: str, expected: Outcome) -> Contender:
    """The step function that ``fit`` calls, on a stream of batches."""
    model = model_of(case, way)
    wrong = difference(expected, _rehearsed(model))
    stream = iter(tf.data.Dataset.from_tensor_slices(_data()).repeat().batch(BATCH, drop_remainder=True))
    stats = (lambda: imp2tf.keras.stats(model)["train"]) if way == CONVERTED else None
    return Contender(way, lambda: model.train_function(stream), wrong, stats=stats)
