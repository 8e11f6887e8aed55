"""A small residual network with batch normalisation written by hand and a training switch on the object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the batches are, and the widths and numbers of the blocks."""

    batch: int = 16
    image: int = 16
    stages: tuple[tuple[int, int], ...] = ((16, 1), (32, 1), (64, 1))
    classes: int = 10


CPU = Size()
PAPER = Size(batch=64, image=224, stages=((64, 3), (128, 4), (256, 6), (512, 3)), classes=1000)


class BatchNorm:
    """Normalises by the batch while training and by running averages otherwise."""

    def __init__(self, width: int) -> None:
        self.scale = tf.Variable(tf.ones([width]))
        self.shift = tf.Variable(tf.zeros([width]))
        self.mean = tf.Variable(tf.zeros([width]), trainable=False)
        self.variance = tf.Variable(tf.ones([width]), trainable=False)

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        if training:
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            self.mean.assign(0.9 * self.mean + 0.1 * mean)
            self.variance.assign(0.9 * self.variance + 0.1 * variance)
        else:
            mean, variance = self.mean, self.variance
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * self.scale + self.shift


class Block:
    """Two convolutions and a way round them."""

    def __init__(self, random: np.random.Generator, before: int, width: int, stride: int) -> None:
        self.first = he_normal(random, 3, 3, before, width)
        self.second = he_normal(random, 3, 3, width, width)
        self.norms = [BatchNorm(width), BatchNorm(width)]
        self.stride = stride
        self.shortcut = he_normal(random, 1, 1, before, width) if stride > 1 or before != width else None

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        y = tf.nn.conv2d(x, self.first, self.stride, "SAME")
        y = tf.nn.relu(self.norms[0](y, training))
        y = tf.nn.conv2d(y, self.second, 1, "SAME")
        y = self.norms[1](y, training)
        if self.shortcut is not None:
            x = tf.nn.conv2d(x, self.shortcut, self.stride, "SAME")
        return tf.nn.relu(x + y)


class ResNet:
    """Blocks of growing width; ``training`` is switched on the object."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        before = size.stages[0][0]
        self.entry = he_normal(random, 3, 3, 3, before)
        self.blocks = []
        for stage, (width, count) in enumerate(size.stages):
            for index in range(count):
                self.blocks.append(Block(random, before, width, 2 if stage > 0 and index == 0 else 1))
                before = width
        self.readout = he_normal(random, before, size.classes)
        self.weights = [self.entry, self.readout]
        for block in self.blocks:
            self.weights += [block.first, block.second]
            self.weights += [v for norm in block.norms for v in (norm.scale, norm.shift)]
            if block.shortcut is not None:
                self.weights.append(block.shortcut)
        self.velocity = [tf.Variable(tf.zeros_like(w)) for w in self.weights]
        self.training = True

    def loss(self, images: tf.Tensor, labels: tf.Tensor, training: bool) -> tf.Tensor:
        """Mean cross entropy."""
        x = tf.nn.conv2d(images, self.entry, 1, "SAME")
        for block in self.blocks:
            x = block(x, training)
        scores = tf.reduce_mean(x, axis=[1, 2]) @ self.readout
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))

    def step(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """The loss of a batch; one step of training if the switch says so."""
        return self.step_in_mode(images, labels, self.training)

    def step_in_mode(self, images: tf.Tensor, labels: tf.Tensor, training: bool) -> tf.Tensor:
        """The same with the switch as an argument."""
        if not training:
            return self.loss(images, labels, training)
        with tf.GradientTape() as tape:
            loss = self.loss(images, labels, training)
        for w, v, g in zip(self.weights, self.velocity, tape.gradient(loss, self.weights)):
            v.assign(0.9 * v + g)
            w.assign_sub(0.02 * v)
        return loss


class ResNetWithArgument(ResNet):
    """The nearest tf.function accepts: it sees the switch change only as an argument."""

    def compiled(self, **options: bool) -> Callable[..., tf.Tensor]:
        """The step under tf.function, given the switch at each call."""
        step = tf.function(self.step_in_mode, **options)
        return lambda images, labels: step(images, labels, self.training)


class ResNetAsGraph(ResNetWithArgument):
    """All branches are on Python values: an expert writes the same, with two graphs."""

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        return super().compiled(autograph=False, jit_compile=jit_compile)


def he_normal(random: np.random.Generator, *shape: int) -> tf.Variable:
    """A weight whose spread suits the number of its inputs."""
    return tf.Variable(random.normal(0.0, np.sqrt(2.0 / np.prod(shape[:-1])), shape), dtype=tf.float32)


PROGRAM = ResNet
ADAPTED = ResNetWithArgument
ADAPTATION = "training switch as an argument"
HANDWRITTEN = ResNetAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random images and labels."""
    random = np.random.default_rng(1)
    return [(tf.constant(random.normal(size=[size.batch, size.image, size.image, 3]), tf.float32),
             tf.constant(random.integers(0, size.classes, [size.batch]), tf.int32)) for _ in range(count)]


def rehearse(model: ResNet, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared: the switch goes off and on again on the way."""
    losses = []
    for batch, training in zip(batches(5), [True, True, False, True, False]):
        model.training = training
        losses.append(step(*batch))
    model.training = True
    return losses
