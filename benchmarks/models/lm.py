"""A two-layer LSTM language model with projections and a tied embedding, as trained on a large corpus.

The state of the layers is carried from call to call on an attribute; the learning rate is halved when the loss
has not improved for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the model and its batches are."""

    time: int = 12
    batch: int = 8
    layers: int = 2
    width: int = 48
    projection: int = 32
    words: int = 200


CPU = Size()
PAPER = Size(time=20, batch=256, layers=2, width=2048, projection=512, words=30000)

State = tuple[tf.Tensor, tf.Tensor]


class Layer:
    """An LSTM cell whose output is projected to a smaller width."""

    def __init__(self, random: np.random.Generator, size: Size) -> None:
        self.kernel = tf.Variable(random.normal(0.0, 0.2, [2 * size.projection, 4 * size.width]), dtype=tf.float32)
        self.bias = tf.Variable(tf.zeros([4 * size.width]))
        self.down = tf.Variable(random.normal(0.0, 0.2, [size.width, size.projection]), dtype=tf.float32)

    def __call__(self, x: tf.Tensor, state: State) -> State:
        h, c = state
        keep, take, give, new = tf.split(tf.concat([x, h], axis=1) @ self.kernel + self.bias, 4, axis=1)
        c = tf.sigmoid(keep + 1.0) * c + tf.sigmoid(take) * tf.tanh(new)
        return (tf.sigmoid(give) * tf.tanh(c)) @ self.down, c


class LanguageModel:
    """Predicts the next word."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.embedding = tf.Variable(random.normal(0.0, 0.3, [size.words, size.projection]), dtype=tf.float32)
        self.layers = [Layer(random, size) for _ in range(size.layers)]
        self.weights = [self.embedding] + [w for layer in self.layers for w in (layer.kernel, layer.bias, layer.down)]
        self.states = [(tf.zeros([size.batch, size.projection]), tf.zeros([size.batch, size.width])) for _ in self.layers]
        self.learning_rate = 1.0
        self.best = float("inf")
        self.steps = 0
        self.steps_without_gain = 0

    def loss(self, words: tf.Tensor, targets: tf.Tensor, states: list[State]) -> tuple[tf.Tensor, list[State]]:
        """Mean cross entropy of the next words, and the states after the last word."""
        states = list(states)
        inputs = tf.gather(self.embedding, words)
        outputs = []
        for t in range(words.shape[1]):
            x = inputs[:, t]
            for index, layer in enumerate(self.layers):
                states[index] = layer(x, states[index])
                x = states[index][0]
            outputs.append(x)
        scores = tf.einsum("btp,wp->btw", tf.stack(outputs, axis=1), self.embedding)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, scores)), states

    def update(self, gradients: list[tf.Tensor], learning_rate: float | tf.Tensor) -> None:
        """Gradient descent with clipping; the embedding's gradient may be sparse."""
        gradients, _ = tf.clip_by_global_norm([tf.convert_to_tensor(g) for g in gradients], 1.0)
        for w, g in zip(self.weights, gradients):
            w.assign_sub(learning_rate * g)

    def step(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss, self.states = self.loss(words, targets, self.states)
        self.update(tape.gradient(loss, self.weights), self.learning_rate)
        self.steps += 1
        if loss < self.best:
            self.best = float(loss)
            self.steps_without_gain = 0
        else:
            self.steps_without_gain += 1
        if self.steps_without_gain > 5:
            self.learning_rate /= 2.0
            self.steps_without_gain = 0
            print(f"step {self.steps}: learning rate {self.learning_rate:g}, best perplexity {np.exp(self.best):.1f}")
        return loss


class LanguageModelInVariables(LanguageModel):
    """What changes from step to step is kept in tf.Variables."""

    def __init__(self, size: Size = CPU) -> None:
        super().__init__(size)
        self.states = [(tf.Variable(h), tf.Variable(c)) for h, c in self.states]
        self.learning_rate = tf.Variable(1.0)
        self.best = tf.Variable(float("inf"))
        self.steps = tf.Variable(0)
        self.steps_without_gain = tf.Variable(0)

    def learn(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """The part without control flow."""
        with tf.GradientTape() as tape:
            loss, states = self.loss(words, targets, [(h.read_value(), c.read_value()) for h, c in self.states])
        for kept, new in zip(self.states, states):
            kept[0].assign(new[0])
            kept[1].assign(new[1])
        self.update(tape.gradient(loss, self.weights), self.learning_rate)
        self.steps.assign_add(1)
        return loss


class AdaptedLanguageModel(LanguageModelInVariables):
    """The nearest tf.function accepts."""

    def step(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """As before, with assignments; nothing is printed."""
        loss = self.learn(words, targets)
        if loss < self.best:
            self.best.assign(loss)
            self.steps_without_gain.assign(0)
        else:
            self.steps_without_gain.assign_add(1)
        if self.steps_without_gain > 5:
            self.learning_rate.assign(self.learning_rate / 2.0)
            self.steps_without_gain.assign(0)
        return loss

    def compiled(self) -> Callable[..., tf.Tensor]:
        """The step under tf.function."""
        return tf.function(self.step)


class LanguageModelAsGraph(LanguageModelInVariables):
    """The same written for the graph."""

    def step(self, words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        """Choices of values, no branches; nothing is printed."""
        loss = self.learn(words, targets)
        waited = tf.where(loss < self.best, 0, self.steps_without_gain + 1)
        self.best.assign(tf.minimum(loss, self.best))
        self.learning_rate.assign(tf.where(waited > 5, self.learning_rate / 2.0, self.learning_rate))
        self.steps_without_gain.assign(tf.where(waited > 5, 0, waited))
        return loss

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        return tf.function(self.step, autograph=False, jit_compile=jit_compile)


PROGRAM = LanguageModel
ADAPTED = AdaptedLanguageModel
ADAPTATION = "state, counters and learning rate in tf.Variables, nothing printed"
HANDWRITTEN = LanguageModelAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random words and the words that follow them."""
    random = np.random.default_rng(1)
    texts = [random.integers(0, size.words, [size.batch, size.time + 1]) for _ in range(count)]
    return [(tf.constant(t[:, :-1], tf.int32), tf.constant(t[:, 1:], tf.int32)) for t in texts]


def rehearse(model: LanguageModel, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
