"""Sequence to sequence with scheduled teacher forcing: a coin decides whether the decoder sees the truth or its own guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

START = 0


@dataclass(frozen=True)
class Size:
    """How big the model and its batches are."""

    time: int = 8
    batch: int = 8
    width: int = 32
    words: int = 40


CPU = Size()
PAPER = Size(time=50, batch=64, width=1024, words=20000)


class Cell:
    """A gated recurrent unit."""

    def __init__(self, random: np.random.Generator, width: int) -> None:
        self.gates = tf.Variable(random.normal(0.0, 0.2, [2 * width, 2 * width]), dtype=tf.float32)
        self.candidate = tf.Variable(random.normal(0.0, 0.2, [2 * width, width]), dtype=tf.float32)

    def __call__(self, x: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        reset, update = tf.split(tf.sigmoid(tf.concat([x, h], axis=1) @ self.gates), 2, axis=1)
        new = tf.tanh(tf.concat([x, reset * h], axis=1) @ self.candidate)
        return update * h + (1.0 - update) * new


class Translator:
    """An encoder, a decoder with attention, and a share of forced words that shrinks as training goes on."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.embedding = tf.Variable(random.normal(0.0, 0.5, [size.words, size.width]), dtype=tf.float32)
        self.encoder, self.decoder = Cell(random, size.width), Cell(random, size.width)
        self.readout = tf.Variable(random.normal(0.0, 0.2, [2 * size.width, size.words]), dtype=tf.float32)
        self.weights = [self.embedding, self.readout, self.encoder.gates, self.encoder.candidate,
                        self.decoder.gates, self.decoder.candidate]
        self.size = size
        self.teacher_ratio = 0.9
        self.steps = 0
        self.forced = 0
        self.losses: list[float] = []

    def encode(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The states at all words, and the last one."""
        h = tf.zeros([source.shape[0], self.size.width])
        states = []
        for t in range(source.shape[1]):
            h = self.encoder(tf.gather(self.embedding, source[:, t]), h)
            states.append(h)
        return tf.stack(states, axis=1), h

    def attend(self, states: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        """The states of the source, weighted by how well they suit the decoder's."""
        weights = tf.nn.softmax(tf.einsum("btw,bw->bt", states, h))
        return tf.einsum("bt,btw->bw", weights, states)

    def scores(self, states: tf.Tensor, words: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """One turn of the decoder: the scores of the next words and the new state."""
        h = self.decoder(tf.gather(self.embedding, words), h)
        return tf.concat([h, self.attend(states, h)], axis=1) @ self.readout, h

    def loss(self, source: tf.Tensor, target: tf.Tensor, coins: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy of the target's words."""
        states, h = self.encode(source)
        words = tf.fill([source.shape[0]], START)
        total = 0.0
        for t in range(target.shape[1]):
            scores, h = self.scores(states, words, h)
            total += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, t], scores))
            if coins[t] < self.teacher_ratio:
                words = target[:, t]
                self.forced += 1
            else:
                words = tf.argmax(scores, axis=1, output_type=tf.int32)
        return total / target.shape[1]

    def update(self, gradients: list[tf.Tensor]) -> None:
        """Gradient descent."""
        for w, g in zip(self.weights, gradients):
            w.assign_sub(0.2 * tf.clip_by_norm(tf.convert_to_tensor(g), 1.0))

    def step(self, source: tf.Tensor, target: tf.Tensor, coins: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss(source, target, coins)
        self.update(tape.gradient(loss, self.weights))
        self.steps += 1
        self.losses.append(float(loss))
        if self.steps % 10 == 0:
            self.teacher_ratio *= 0.8
            print(f"step {self.steps}: loss {self.losses[-1]:.2f}, {self.forced} words forced, ratio {self.teacher_ratio:.2f}")
        return loss


class TranslatorAsGraph(Translator):
    """The loss written with tf.where; counters, list and ratio outside of the graph."""

    def graph_loss(self, source: tf.Tensor, target: tf.Tensor, forced: tf.Tensor) -> tf.Tensor:
        """The same loss, given where words are forced."""
        states, h = self.encode(source)
        words = tf.fill([source.shape[0]], START)
        losses = []
        for t in range(target.shape[1]):
            scores, h = self.scores(states, words, h)
            losses.append(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(target[:, t], scores)))
            words = tf.where(forced[t], target[:, t], tf.argmax(scores, axis=1, output_type=tf.int32))
        return tf.add_n(losses) / target.shape[1]

    def train(self, source: tf.Tensor, target: tf.Tensor, coins: tf.Tensor, ratio: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """One step of training; returns the loss before it and how many words were forced."""
        forced = coins < ratio
        with tf.GradientTape() as tape:
            loss = self.graph_loss(source, target, forced)
        self.update(tape.gradient(loss, self.weights))
        return loss, tf.math.count_nonzero(forced)

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step: a graph, and the accounts in Python."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)

        def step(source: tf.Tensor, target: tf.Tensor, coins: tf.Tensor) -> tf.Tensor:
            loss, forced = train(source, target, coins, tf.constant(self.teacher_ratio))
            self.forced += int(forced)
            self.steps += 1
            self.losses.append(float(loss))
            if self.steps % 10 == 0:
                self.teacher_ratio *= 0.8
                print(f"step {self.steps}: loss {self.losses[-1]:.2f}, {self.forced} words forced, ratio {self.teacher_ratio:.2f}")
            return loss

        return step


PROGRAM = Translator
ADAPTED = TranslatorAsGraph
ADAPTATION = "the choice of words by tf.where, accounts outside of the function"
HANDWRITTEN = TranslatorAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, ...]]:
    """Random words, the same backwards, and coins."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        words = random.integers(1, size.words, [size.batch, size.time])
        found.append((tf.constant(words, tf.int32), tf.constant(words[:, ::-1], tf.int32),
                      tf.constant(random.uniform(size=[size.time]), tf.float32)))
    return found


def rehearse(model: Translator, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
