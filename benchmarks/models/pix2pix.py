"""Pix2pix: a U-Net that turns one image into another, judged by a discriminator that looks at patches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the networks and their batches are."""

    batch: int = 4
    image: int = 16
    width: int = 8
    levels: int = 3


CPU = Size()
PAPER = Size(batch=1, image=256, width=64, levels=8)


class Down:
    """A convolution that halves the image."""

    def __init__(self, random: np.random.Generator, before: int, after: int, normalise: bool) -> None:
        self.kernel = tf.Variable(random.normal(0.0, 0.1, [4, 4, before, after]), dtype=tf.float32)
        self.bias = tf.Variable(tf.zeros([after]))
        self.normalise = normalise

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.conv2d(x, self.kernel, 2, "SAME") + self.bias
        if self.normalise:
            x = instance_norm(x)
        return tf.nn.leaky_relu(x)


class Up:
    """A transposed convolution that doubles the image, some with dropout."""

    def __init__(self, random: np.random.Generator, before: int, after: int, dropout: bool) -> None:
        self.kernel = tf.Variable(random.normal(0.0, 0.1, [4, 4, after, before]), dtype=tf.float32)
        self.bias = tf.Variable(tf.zeros([after]))
        self.dropout = dropout

    def __call__(self, x: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        batch, rows, columns, _ = x.shape
        shape = [batch, 2 * rows, 2 * columns, self.bias.shape[0]]
        x = instance_norm(tf.nn.conv2d_transpose(x, self.kernel, shape, 2) + self.bias)
        if self.dropout:
            kept = tf.random.stateless_uniform(tf.shape(x), seed, alg="philox") < 0.5
            x = tf.where(kept, 2.0 * x, 0.0)
        return tf.nn.relu(x)


def instance_norm(x: tf.Tensor) -> tf.Tensor:
    """Each channel of each image to mean zero and variance one."""
    mean, variance = tf.nn.moments(x, [1, 2], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


def cross_entropy(scores: tf.Tensor, label: float) -> tf.Tensor:
    """Of scores that all should have one label."""
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.fill(tf.shape(scores), label), scores))


class Pix2Pix:
    """Generator and discriminator, trained in one step."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        widths = [3] + [min(size.width * 2**level, 8 * size.width) for level in range(size.levels)]
        self.downs = [Down(random, before, after, level > 0) for level, (before, after) in enumerate(itertools.pairwise(widths))]
        self.ups = []
        for level in reversed(range(1, size.levels)):
            before = widths[level + 1] if level == size.levels - 1 else 2 * widths[level + 1]
            self.ups.append(Up(random, before, widths[level], dropout=level > size.levels - 3))
        self.last = Up(random, 2 * widths[1], 3, dropout=False)
        self.judges = [Down(random, 6, size.width, False), Down(random, size.width, 2 * size.width, True)]
        self.readout = tf.Variable(random.normal(0.0, 0.1, [4, 4, 2 * size.width, 1]), dtype=tf.float32)
        layers = [*self.downs, *self.ups, self.last]
        self.generator_weights = [w for layer in layers for w in (layer.kernel, layer.bias)]
        self.judge_weights = [w for layer in self.judges for w in (layer.kernel, layer.bias)] + [self.readout]
        self.momenta = [tf.Variable(tf.zeros_like(w)) for w in self.generator_weights + self.judge_weights]
        self.faithfulness = 10.0
        self.steps = 0
        self.best: float | None = None
        self.best_at = 0

    def generate(self, image: tf.Tensor, step: int | tf.Tensor) -> tf.Tensor:
        """The U-Net: down, and up again beside what was seen on the way down."""
        x, seen = image, []
        for down in self.downs:
            x = down(x)
            seen.append(x)
        seen.pop()
        for index, up in enumerate(self.ups):
            x = tf.concat([up(x, tf.stack([step, index])), seen.pop()], axis=3)
        rows = 2 * x.shape[1]
        shape = [x.shape[0], rows, rows, 3]
        return tf.tanh(tf.nn.conv2d_transpose(x, self.last.kernel, shape, 2) + self.last.bias)

    def judge(self, image: tf.Tensor, result: tf.Tensor) -> tf.Tensor:
        """Scores of patches: high where the result looks real."""
        x = tf.concat([image, result], axis=3)
        for layer in self.judges:
            x = layer(x)
        return tf.nn.conv2d(x, self.readout, 1, "SAME")

    def train(self, image: tf.Tensor, target: tf.Tensor, step: int | tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """One step of both; the three losses before it."""
        with tf.GradientTape() as generator_tape, tf.GradientTape() as judge_tape:
            result = self.generate(image, step)
            real, fake = self.judge(image, target), self.judge(image, result)
            fooling = cross_entropy(fake, 1.0)
            distance = tf.reduce_mean(tf.abs(target - result))
            generator_loss = fooling + self.faithfulness * distance
            judge_loss = cross_entropy(real, 1.0) + cross_entropy(fake, 0.0)
        gradients = generator_tape.gradient(generator_loss, self.generator_weights)
        gradients += judge_tape.gradient(judge_loss, self.judge_weights)
        for w, v, g in zip(self.generator_weights + self.judge_weights, self.momenta, gradients):
            v.assign(0.5 * v + g)
            w.assign_sub(0.005 * v)
        return fooling, distance, judge_loss

    def step(self, image: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """One step; keeps account of the best, and tells of it now and then."""
        fooling, distance, judge_loss = self.train(image, target, self.steps)
        self.steps += 1
        if self.best is None or distance < self.best:
            self.best = float(distance)
            self.best_at = self.steps
        if self.steps % 10 == 0:
            print(f"step {self.steps}: distance {distance:.2f}, best {self.best:.2f} at {self.best_at}, judge {judge_loss:.2f}")
        return fooling + distance + judge_loss


class Pix2PixAsGraph(Pix2Pix):
    """The training as a graph; the account outside of it."""

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph that is given the number of the step as a tensor."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)

        def step(image: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
            fooling, distance, judge_loss = train(image, target, tf.constant(self.steps))
            self.steps += 1
            if self.best is None or float(distance) < self.best:
                self.best = float(distance)
                self.best_at = self.steps
            if self.steps % 10 == 0:
                print(f"step {self.steps}: distance {distance:.2f}, best {self.best:.2f} at {self.best_at}, judge {judge_loss:.2f}")
            return fooling + distance + judge_loss

        return step


PROGRAM = Pix2Pix
ADAPTED = Pix2PixAsGraph
ADAPTATION = "account outside of the function, number of the step as a tensor"
HANDWRITTEN = Pix2PixAsGraph


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """Random images, and the same with their colours changed."""
    random = np.random.default_rng(1)
    images = [random.uniform(-1.0, 1.0, [size.batch, size.image, size.image, 3]) for _ in range(count)]
    return [(tf.constant(image, tf.float32), tf.constant(-image[..., ::-1], tf.float32)) for image in images]


def rehearse(model: Pix2Pix, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
