"""Model-agnostic meta-learning of sine waves: gradients through steps of gradient descent."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the network is, and how much it sees of each task."""

    tasks: int = 4
    shots: int = 10
    inner_steps: int = 2
    width: int = 32


CPU = Size()
PAPER = Size(tasks=25, shots=10, inner_steps=5, width=40)


class MAML:
    """Learns weights from which a few steps are enough for a new task."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        widths = [1, size.width, size.width, 1]
        self.weights = []
        for before, after in itertools.pairwise(widths):
            self.weights.append(tf.Variable(random.normal(0.0, np.sqrt(2.0 / before), [before, after]), dtype=tf.float32))
            self.weights.append(tf.Variable(tf.zeros([after])))
        self.size = size
        self.inner_rate = 0.01
        self.outer_rate = 0.01
        self.best: float | None = None
        self.since_best = 0

    def predict(self, x: tf.Tensor, weights: list[tf.Tensor]) -> tf.Tensor:
        """The network with some weights."""
        for index in range(0, len(weights), 2):
            x = x @ weights[index] + weights[index + 1]
            if index + 2 < len(weights):
                x = tf.nn.relu(x)
        return x

    def adapt(self, x: tf.Tensor, y: tf.Tensor) -> list[tf.Tensor]:
        """The weights after some steps on one task."""
        weights = [tf.convert_to_tensor(w) for w in self.weights]
        for _ in range(self.size.inner_steps):
            with tf.GradientTape() as tape:
                tape.watch(weights)
                loss = tf.reduce_mean((self.predict(x, weights) - y) ** 2)
            gradients = tape.gradient(loss, weights)
            weights = [w - self.inner_rate * g for w, g in zip(weights, gradients)]
        return weights

    def train(self, x: tf.Tensor, y: tf.Tensor, x_new: tf.Tensor, y_new: tf.Tensor) -> tf.Tensor:
        """One step on the losses after adaptation; returns their mean."""
        losses = []
        with tf.GradientTape() as tape:
            for task in range(self.size.tasks):
                weights = self.adapt(x[task], y[task])
                losses.append(tf.reduce_mean((self.predict(x_new[task], weights) - y_new[task]) ** 2))
            loss = tf.add_n(losses) / len(losses)
        for w, g in zip(self.weights, tape.gradient(loss, self.weights)):
            w.assign_sub(self.outer_rate * tf.clip_by_value(g, -10.0, 10.0))
        return loss

    def step(self, x: tf.Tensor, y: tf.Tensor, x_new: tf.Tensor, y_new: tf.Tensor) -> tf.Tensor:
        """One step of meta-learning; keeps account of the best loss."""
        loss = self.train(x, y, x_new, y_new)
        if self.best is None or loss < self.best:
            self.best = float(loss)
            self.since_best = 0
        else:
            self.since_best += 1
        return loss


class MAMLAsGraph(MAML):
    """The gradients as a graph; the account of losses outside of it."""

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)

        def step(*batch: tf.Tensor) -> tf.Tensor:
            loss = train(*batch)
            if self.best is None or float(loss) < self.best:
                self.best, self.since_best = float(loss), 0
            else:
                self.since_best += 1
            return loss

        return step


PROGRAM = MAML
ADAPTED = MAMLAsGraph
ADAPTATION = "the account of losses outside of the function"
HANDWRITTEN = MAMLAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, ...]]:
    """Points on sine waves: some to adapt to, some to be judged by."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        height = random.uniform(0.5, 2.0, [size.tasks, 1, 1])
        phase = random.uniform(0.0, np.pi, [size.tasks, 1, 1])
        x = random.uniform(-3.0, 3.0, [2, size.tasks, size.shots, 1])
        y = height * np.sin(x + phase)
        found.append(tuple(tf.constant(values, tf.float32) for values in (x[0], y[0], x[1], y[1])))
    return found


def rehearse(model: MAML, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
