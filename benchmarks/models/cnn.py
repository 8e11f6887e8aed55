"""A LeNet-like network trained with momentum by a hand-written loop over its variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the batches are; the network is as published."""

    batch: int = 32


CPU = Size()
PAPER = Size(batch=50)


class LeNet:
    """Two convolutions, three dense layers."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)

        def layer(*shape: int) -> tuple[tf.Variable, tf.Variable]:
            scale = np.sqrt(2.0 / np.prod(shape[:-1]))
            return (tf.Variable(random.normal(0.0, scale, shape), dtype=tf.float32),
                    tf.Variable(tf.zeros(shape[-1:])))

        self.convolutions = [layer(5, 5, 1, 6), layer(5, 5, 6, 16)]
        self.dense = [layer(5 * 5 * 16, 120), layer(120, 84), layer(84, 10)]
        self.weights = [v for kernel_and_bias in self.convolutions + self.dense for v in kernel_and_bias]
        self.velocity = [tf.Variable(tf.zeros_like(w)) for w in self.weights]
        self.size = size
        self.learning_rate = 0.02
        self.momentum = 0.9

    def scores(self, images: tf.Tensor) -> tf.Tensor:
        """The scores of the ten classes."""
        x = images
        for (kernel, bias), padding in zip(self.convolutions, ["SAME", "VALID"]):
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, padding) + bias)
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.reshape(x, [x.shape[0], -1])
        for kernel, bias in self.dense[:-1]:
            x = tf.nn.relu(x @ kernel + bias)
        kernel, bias = self.dense[-1]
        return x @ kernel + bias

    def step(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """One step of training; returns the loss before it."""
        with tf.GradientTape() as tape:
            scores = self.scores(images)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        for w, v, g in zip(self.weights, self.velocity, tape.gradient(loss, self.weights)):
            v.assign(self.momentum * v + g)
            w.assign_sub(self.learning_rate * v)
        return loss


class LeNetAsGraph(LeNet):
    """The step has no control flow of tensors: an expert writes the same."""

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        return tf.function(self.step, autograph=False, jit_compile=jit_compile)


PROGRAM = LeNet
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = LeNetAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random images and labels."""
    random = np.random.default_rng(1)
    return [(tf.constant(random.normal(size=[size.batch, 28, 28, 1]), tf.float32),
             tf.constant(random.integers(0, 10, [size.batch]), tf.int32)) for _ in range(count)]


def rehearse(model: LeNet, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
