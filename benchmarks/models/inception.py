"""A small Inception-v3: blocks of parallel branches, factorised convolutions, an auxiliary head that only training has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the network and its batches are."""

    batch: int = 8
    image: int = 24
    width: int = 8
    blocks: tuple[int, int, int] = (1, 1, 1)
    classes: int = 10


CPU = Size()
PAPER = Size(batch=64, image=299, width=64, blocks=(3, 4, 2), classes=1000)


class ConvNorm:
    """A convolution, batch normalisation, and a rectifier."""

    def __init__(self, random: np.random.Generator, before: int, width: int, kernel: tuple[int, int], stride: int = 1) -> None:
        scale = np.sqrt(2.0 / (before * kernel[0] * kernel[1]))
        self.kernel = tf.Variable(random.normal(0.0, scale, [*kernel, before, width]), dtype=tf.float32)
        self.scale = tf.Variable(tf.ones([width]))
        self.shift = tf.Variable(tf.zeros([width]))
        self.mean = tf.Variable(tf.zeros([width]), trainable=False)
        self.variance = tf.Variable(tf.ones([width]), trainable=False)
        self.stride = stride

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        x = tf.nn.conv2d(x, self.kernel, self.stride, "SAME")
        if training:
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            self.mean.assign(0.99 * self.mean + 0.01 * mean)
            self.variance.assign(0.99 * self.variance + 0.01 * variance)
        else:
            mean, variance = self.mean, self.variance
        return tf.nn.relu((x - mean) * tf.math.rsqrt(variance + 1e-3) * self.scale + self.shift)


class Block:
    """Branches side by side; what they give is put one after the other."""

    def __init__(self, random: np.random.Generator, before: int, width: int, long: int, reduce: bool) -> None:
        self.reduce = reduce
        stride = 2 if reduce else 1
        square = [ConvNorm(random, before, width, (1, 1)), ConvNorm(random, width, width, (3, 3), stride)]
        factorised = [ConvNorm(random, before, width, (1, 1)), ConvNorm(random, width, width, (1, long)),
                      ConvNorm(random, width, width, (long, 1), stride)]
        self.branches = [square, factorised]
        if not reduce:
            self.branches.append([ConvNorm(random, before, width, (1, 1))])
        self.after_pool = None if reduce else ConvNorm(random, before, width, (1, 1))
        self.width = width * len(self.branches) + (before if reduce else width)

    def layers(self) -> list[ConvNorm]:
        """All convolutions of the block."""
        found = [layer for branch in self.branches for layer in branch]
        if self.after_pool is not None:
            found.append(self.after_pool)
        return found

    def __call__(self, x: tf.Tensor, training: bool) -> tf.Tensor:
        outputs = []
        for branch in self.branches:
            y = x
            for layer in branch:
                y = layer(y, training)
            outputs.append(y)
        if self.reduce:
            outputs.append(tf.nn.max_pool2d(x, 3, 2, "SAME"))
        else:
            pooled = tf.nn.avg_pool2d(x, 3, 1, "SAME")
            outputs.append(self.after_pool(pooled, training))
        return tf.concat(outputs, axis=3)


class Inception:
    """A stem, blocks in three resolutions, and two heads; ``training`` is switched on the object."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.stem = [ConvNorm(random, 3, size.width, (3, 3), 2), ConvNorm(random, size.width, 2 * size.width, (3, 3))]
        self.blocks, width = [], 2 * size.width
        for stage, count in enumerate(size.blocks):
            for _ in range(count):
                self.blocks.append(Block(random, width, size.width * (stage + 1), 3 + 2 * stage, reduce=False))
                width = self.blocks[-1].width
            if stage < 2:
                self.blocks.append(Block(random, width, size.width * (stage + 1), 3, reduce=True))
                width = self.blocks[-1].width
        self.auxiliary_after = len(self.blocks) - size.blocks[2] - 2
        auxiliary_width = self.blocks[self.auxiliary_after].width
        self.readout = tf.Variable(random.normal(0.0, 0.05, [width, size.classes]), dtype=tf.float32)
        self.auxiliary = tf.Variable(random.normal(0.0, 0.05, [auxiliary_width, size.classes]), dtype=tf.float32)
        layers = self.stem + [layer for block in self.blocks for layer in block.layers()]
        self.weights = [self.readout, self.auxiliary] + [v for layer in layers for v in (layer.kernel, layer.scale, layer.shift)]
        self.velocity = [tf.Variable(tf.zeros_like(w)) for w in self.weights]
        self.training = True
        self.images_seen = 0

    def scores(self, images: tf.Tensor, training: bool) -> tuple[tf.Tensor, tf.Tensor | None]:
        """The scores of the classes, and in training those of the auxiliary head."""
        x, auxiliary = images, None
        for layer in self.stem:
            x = layer(x, training)
        for index, block in enumerate(self.blocks):
            x = block(x, training)
            if training and index == self.auxiliary_after:
                auxiliary = tf.reduce_mean(x, axis=[1, 2]) @ self.auxiliary
        return tf.reduce_mean(x, axis=[1, 2]) @ self.readout, auxiliary

    def loss(self, images: tf.Tensor, labels: tf.Tensor, training: bool) -> tf.Tensor:
        """Mean cross entropy, with a share of the auxiliary head's."""
        scores, auxiliary = self.scores(images, training)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        if auxiliary is not None:
            loss += 0.4 * tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, auxiliary))
        return loss

    def step(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """The loss of a batch; one step of training if the switch says so."""
        if not self.training:
            return self.loss(images, labels, False)
        self.images_seen += images.shape[0]
        return self.train(images, labels)

    def train(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """One step with momentum; returns the loss before it."""
        with tf.GradientTape() as tape:
            loss = self.loss(images, labels, True)
        for w, v, g in zip(self.weights, self.velocity, tape.gradient(loss, self.weights)):
            v.assign(0.9 * v + g)
            w.assign_sub(0.01 * v)
        return loss


class InceptionAsGraphs(Inception):
    """Two graphs, one for training and one without; the switch and the counter stay in Python, outside of them."""

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)
        evaluate = tf.function(lambda images, labels: self.loss(images, labels, False), autograph=False, jit_compile=jit_compile)

        def step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            if not self.training:
                return evaluate(images, labels)
            self.images_seen += images.shape[0]
            return train(images, labels)

        return step


PROGRAM = Inception
ADAPTED = InceptionAsGraphs
ADAPTATION = "switch and counter outside of the function"
HANDWRITTEN = InceptionAsGraphs


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random images and labels."""
    random = np.random.default_rng(1)
    return [(tf.constant(random.normal(size=[size.batch, size.image, size.image, 3]), tf.float32),
             tf.constant(random.integers(0, size.classes, [size.batch]), tf.int32)) for _ in range(count)]


def rehearse(model: Inception, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared: the switch goes off and on again on the way."""
    losses = []
    for index, batch in enumerate(batches(8)):
        model.training = index % 4 != 3
        losses.append(step(*batch))
    model.training = True
    return losses
