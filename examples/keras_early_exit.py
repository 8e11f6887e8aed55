"""A Keras model with Python control flow, trained eagerly and wrapped: the same history, text and counters, and how fast each was.

    python examples/keras_early_exit.py
"""

from __future__ import annotations

import contextlib
import io
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import imp2tf.keras

BATCH, STEPS = 32, 60


class EarlyExit(keras.Model):
    """Refines its guess until it is sure, at most five times; counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.refine = keras.layers.Dense(16, activation="tanh")
        self.guess = keras.layers.Dense(3, activation="softmax")
        self.turns: list[int] = []

    def call(self, x: tf.Tensor) -> tf.Tensor:
        turns = 0
        guess = self.guess(x)
        while tf.reduce_min(tf.reduce_max(guess, axis=1)) < 0.6 and turns < 5:
            x = x + self.refine(x)
            guess = self.guess(x)
            turns += 1
        self.turns.append(turns)
        return guess


class Careful(keras.losses.Loss):
    """Cross entropy that says when it explodes."""

    warnings = 0

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        loss = keras.losses.sparse_categorical_crossentropy(y_true, y_pred)
        if tf.reduce_mean(loss) > 1.5:
            self.warnings += 1
            print(f"warning {self.warnings}: loss {float(tf.reduce_mean(loss)):.2f}")
            loss = tf.minimum(loss, 1.5)
        return loss


def train(wrapped: bool) -> tuple[dict[str, Any], float]:
    """What a training shows, and the milliseconds of a step."""
    keras.utils.set_random_seed(3)
    draw = np.random.RandomState(0)
    x = draw.randn(BATCH * STEPS, 16).astype("float32")
    y = np.argmax(x[:, :3], axis=1)
    model = EarlyExit()
    if wrapped:
        imp2tf.keras.wrap(model)
    loss = Careful()
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=not wrapped, jit_compile=False)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        history = model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0).history
        began = time.perf_counter()
        history = {name: [*history[name], *more] for name, more in model.fit(
            x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0).history.items()}
        seconds = time.perf_counter() - began
    shown = {"history": history, "turns": list(model.turns), "warnings": loss.warnings, "printed": text.getvalue()}
    return shown, 1000 * seconds / STEPS


def main() -> None:
    """Train twice and compare."""
    eager, slow = train(wrapped=False)
    found, fast = train(wrapped=True)
    for name, values in eager["history"].items():
        np.testing.assert_allclose(found["history"][name], values, rtol=1e-3, atol=1e-4)
    assert found["turns"] == eager["turns"] and found["warnings"] == eager["warnings"] and found["printed"] == eager["printed"]
    print(f"loss {eager['history']['loss'][-1]:.4f}, {sum(eager['turns'])} turns in {len(eager['turns'])} calls: "
          "imp2tf equal to plain Python")
    print(f"a step: {slow:.2f} ms eagerly, {fast:.2f} ms wrapped")


if __name__ == "__main__":
    main()
