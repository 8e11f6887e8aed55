"""Adaptive computation time: a recurrent network that thinks about each input until it has thought enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the network and its batches are."""

    batch: int = 16
    features: int = 16
    width: int = 32
    deepest: int = 10


CPU = Size()
PAPER = Size(batch=128, features=64, width=512, deepest=100)


class AdaptiveDepth:
    """Predicts the parity of signs; each turn adds to a halting probability, and training pays for turns."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def weight(*shape: int) -> tf.Variable:
            return tf.Variable(random.normal(0.0, 0.25, shape), dtype=tf.float32)

        self.entry, self.kernel = weight(size.features, size.width), weight(size.width, size.width)
        self.halt, self.readout = weight(size.width, 1), weight(size.width, 1)
        self.halt_bias = tf.Variable(-0.5)
        self.weights = [self.entry, self.kernel, self.halt, self.readout, self.halt_bias]
        self.size = size
        self.price = 0.01
        self.turns = 0
        self.depths: list[int] = []
        self.best: float | None = None

    def turn(self, h: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """A new state, and the probability of halting there."""
        h = tf.tanh(h @ self.kernel + x)
        return h, tf.sigmoid(h @ self.halt + self.halt_bias)[:, 0]

    def think(self, inputs: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, int]:
        """The mean state by probability, the price of thinking, and how deep it went."""
        x = inputs @ self.entry
        h = tf.zeros_like(x)
        mean, halted, price = tf.zeros_like(x), tf.zeros([x.shape[0]]), tf.zeros([x.shape[0]])
        depth = 0
        while True:
            h, p = self.turn(h, x)
            depth += 1
            running = tf.cast(halted < 0.99, tf.float32)
            last = (halted + p >= 0.99) | (depth == self.size.deepest)
            share = running * tf.where(last, 1.0 - halted, p)
            mean += share[:, tf.newaxis] * h
            halted += share
            price += running
            if tf.reduce_all(halted >= 0.99):
                break
        self.turns += depth
        return mean, tf.reduce_mean(price), depth

    def step(self, inputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            mean, price, depth = self.think(inputs)
            scores = (mean @ self.readout)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores)) + self.price * price
        for w, g in zip(self.weights, tape.gradient(loss, self.weights)):
            w.assign_sub(0.1 * g)
        self.depths.append(depth)
        if self.best is None or loss < self.best:
            self.best = float(loss)
        return loss


class AdaptiveDepthAsGraph(AdaptiveDepth):
    """A tf.while_loop inside the tape; the accounts outside of the graph."""

    def graph_step(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """One step of training; the loss before it, and how deep it went."""
        deepest = self.size.deepest

        def turn(depth: tf.Tensor, h: tf.Tensor, mean: tf.Tensor, halted: tf.Tensor, price: tf.Tensor) -> tuple[tf.Tensor, ...]:
            h, p = self.turn(h, x)
            depth += 1
            running = tf.cast(halted < 0.99, tf.float32)
            last = (halted + p >= 0.99) | (depth == deepest)
            share = running * tf.where(last, 1.0 - halted, p)
            return depth, h, mean + share[:, tf.newaxis] * h, halted + share, price + running

        with tf.GradientTape() as tape:
            x = inputs @ self.entry
            zeros = tf.zeros([x.shape[0]])
            depth, _, mean, _, price = tf.while_loop(
                lambda depth, h, mean, halted, price: ~tf.reduce_all(halted >= 0.99), turn,
                (0, tf.zeros_like(x), tf.zeros_like(x), zeros, zeros), maximum_iterations=deepest)
            scores = (mean @ self.readout)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores))
            loss += self.price * tf.reduce_mean(price)
        for w, g in zip(self.weights, tape.gradient(loss, self.weights)):
            w.assign_sub(0.1 * g)
        return loss, depth

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        train = tf.function(self.graph_step, autograph=False, jit_compile=jit_compile)

        def step(inputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            loss, depth = train(inputs, labels)
            self.turns += int(depth)
            self.depths.append(int(depth))
            if self.best is None or float(loss) < self.best:
                self.best = float(loss)
            return loss

        return step


PROGRAM = AdaptiveDepth
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = AdaptiveDepthAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random signs, some of them missing, and whether the number of negative ones is odd."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        signs = random.choice([-1.0, 0.0, 1.0], [size.batch, size.features])
        odd = (signs < 0.0).sum(axis=1) % 2
        found.append((tf.constant(signs, tf.float32), tf.constant(odd, tf.float32)))
    return found


def rehearse(model: AdaptiveDepth, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
