"""A small LSTM language model: a Python loop over time, and a state that lives on from batch to batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the model and its batches are."""

    time: int = 35
    batch: int = 16
    width: int = 64
    words: int = 100


CPU = Size()
PAPER = Size(time=35, batch=20, width=200, words=10000)

State = tuple[tf.Tensor, tf.Tensor]


class LanguageModel:
    """Predicts the next word; trained by truncated backpropagation through time."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.3, shape), dtype=tf.float32)

        self.embedding = weight(size.words, size.width)
        self.kernel = weight(2 * size.width, 4 * size.width)
        self.bias = weight(4 * size.width)
        self.readout = weight(size.width, size.words)
        self.weights = [self.embedding, self.kernel, self.bias, self.readout]
        self.learning_rate = 0.5
        self.state = (tf.zeros([size.batch, size.width]), tf.zeros([size.batch, size.width]))

    def cell(self, x: tf.Tensor, state: State) -> State:
        """One turn of the recurrence: the new hidden and cell state."""
        h, c = state
        gates = tf.concat([x, h], axis=1) @ self.kernel + self.bias
        keep, take, give, new = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(keep) * c + tf.sigmoid(take) * tf.tanh(new)
        return tf.sigmoid(give) * tf.tanh(c), c

    def loss(self, words: tf.Tensor, targets: tf.Tensor, state: State) -> tuple[tf.Tensor, State]:
        """Mean cross entropy of the next words, and the state after the last word."""
        inputs = tf.one_hot(words, self.embedding.shape[0]) @ self.embedding
        outputs = []
        for t in range(words.shape[1]):
            state = self.cell(inputs[:, t], state)
            outputs.append(state[0])
        scores = tf.stack(outputs, axis=1) @ self.readout
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, scores)), state

    def step(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss, self.state = self.loss(words, targets, self.state)
        self.update(tape.gradient(loss, self.weights))
        return loss

    def update(self, gradients: list[tf.Tensor]) -> None:
        """Gradient descent; a gradient longer than one is cut to length one."""
        norm = tf.linalg.global_norm(gradients)
        if norm > 1.0:
            gradients = [g / norm for g in gradients]
        for w, g in zip(self.weights, gradients):
            w.assign_sub(self.learning_rate * g)


class LanguageModelInVariables(LanguageModel):
    """The nearest tf.function accepts: the state in tf.Variables."""

    def __init__(self, size: Size = CPU) -> None:
        super().__init__(size)
        self.state = (tf.Variable(self.state[0]), tf.Variable(self.state[1]))

    def step(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """As before, but the new state is assigned."""
        with tf.GradientTape() as tape:
            loss, state = self.loss(words, targets, (self.state[0].read_value(), self.state[1].read_value()))
        for kept, new in zip(self.state, state):
            kept.assign(new)
        self.update(tape.gradient(loss, self.weights))
        return loss

    def compiled(self) -> Callable[..., tf.Tensor]:
        """The step under tf.function."""
        return tf.function(self.step)


class LanguageModelAsGraph(LanguageModelInVariables):
    """The same, and gradients cut to length by a choice of values."""

    def update(self, gradients: list[tf.Tensor]) -> None:
        """Gradient descent without a branch."""
        norm = tf.maximum(tf.linalg.global_norm(gradients), 1.0)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(self.learning_rate * g / norm)

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        return tf.function(self.step, autograph=False, jit_compile=jit_compile)


PROGRAM = LanguageModel
ADAPTED = LanguageModelInVariables
ADAPTATION = "state in tf.Variables"
HANDWRITTEN = LanguageModelAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random words and the words that follow them."""
    random = np.random.default_rng(1)
    texts = [random.integers(0, size.words, [size.batch, size.time + 1]) for _ in range(count)]
    return [(tf.constant(t[:, :-1], tf.int32), tf.constant(t[:, 1:], tf.int32)) for t in texts]


def rehearse(model: LanguageModel, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
