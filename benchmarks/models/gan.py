"""A generative adversarial network on points of a ring; the discriminator rests while it is winning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the networks and their batches are."""

    batch: int = 32
    noise: int = 8
    width: int = 32
    data: int = 2


CPU = Size()
PAPER = Size(batch=256, noise=100, width=1024, data=784)


class Network:
    """Three dense layers."""

    def __init__(self, random: np.random.Generator, before: int, width: int, after: int) -> None:
        self.weights = []
        for rows, columns in ((before, width), (width, width), (width, after)):
            self.weights.append(tf.Variable(random.normal(0.0, np.sqrt(2.0 / rows), [rows, columns]), dtype=tf.float32))
            self.weights.append(tf.Variable(tf.zeros([columns])))

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for kernel, bias in zip(self.weights[:-2:2], self.weights[1:-2:2]):
            x = tf.nn.leaky_relu(x @ kernel + bias)
        return x @ self.weights[-2] + self.weights[-1]


class Adam:
    """The optimizer, its moments in variables and its count of steps a plain int."""

    def __init__(self, weights: list[tf.Variable], rate: float) -> None:
        self.weights, self.rate = weights, rate
        self.means = [tf.Variable(tf.zeros_like(w)) for w in weights]
        self.squares = [tf.Variable(tf.zeros_like(w)) for w in weights]
        self.steps = 0

    def apply(self, gradients: list[tf.Tensor]) -> None:
        """One step."""
        self.steps += 1
        rate = self.rate * (1.0 - 0.999**self.steps) ** 0.5 / (1.0 - 0.5**self.steps)
        self.move(gradients, rate)

    def move(self, gradients: list[tf.Tensor], rate: float | tf.Tensor) -> None:
        """The step with its rate corrected for the start."""
        for w, mean, square, g in zip(self.weights, self.means, self.squares, gradients):
            mean.assign(0.5 * mean + 0.5 * g)
            square.assign(0.999 * square + 0.001 * g * g)
            w.assign_sub(rate * mean / (tf.sqrt(square) + 1e-7))


def cross_entropy(scores: tf.Tensor, label: float) -> tf.Tensor:
    """Of scores that all should have one label."""
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.fill(tf.shape(scores), label), scores))


class GAN:
    """A generator that learns to fool a discriminator."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.generator = Network(random, size.noise, size.width, size.data)
        self.discriminator = Network(random, size.data, size.width, 1)
        self.generator_optimizer = Adam(self.generator.weights, 2e-3)
        self.discriminator_optimizer = Adam(self.discriminator.weights, 2e-3)
        self.size = size
        self.history: list[tuple[float, float]] = []
        self.rests = 0
        tf.random.set_seed(5)

    def losses(self, real: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The generator's and the discriminator's."""
        fake = self.discriminator(self.generator(noise))
        discriminator_loss = cross_entropy(self.discriminator(real), 0.9) + cross_entropy(fake, 0.0)
        return cross_entropy(fake, 1.0), discriminator_loss

    def step(self, real: tf.Tensor) -> tf.Tensor:
        """One step of both, or of the generator alone; returns the sum of losses."""
        noise = tf.random.normal([self.size.batch, self.size.noise])
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            generator_loss, discriminator_loss = self.losses(real, noise)
        self.generator_optimizer.apply(generator_tape.gradient(generator_loss, self.generator.weights))
        if discriminator_loss > 0.8:
            gradients = discriminator_tape.gradient(discriminator_loss, self.discriminator.weights)
            self.discriminator_optimizer.apply(gradients)
        else:
            self.rests += 1
            print(f"the discriminator rests for the {self.rests}. time")
        self.history.append((float(generator_loss), float(discriminator_loss)))
        return generator_loss + discriminator_loss


class GANAsGraph(GAN):
    """One graph with a tf.cond; the counts of steps are variables, the history is kept outside."""

    def __init__(self, size: Size = CPU) -> None:
        super().__init__(size)
        self.steps = {name: tf.Variable(0.0) for name in ("generator", "discriminator")}

    def apply(self, name: str, optimizer: Adam, gradients: list[tf.Tensor]) -> None:
        """A step of an optimizer whose count is in a variable."""
        steps = self.steps[name].assign_add(1.0)
        optimizer.move(gradients, optimizer.rate * tf.sqrt(1.0 - 0.999**steps) / (1.0 - 0.5**steps))

    def train(self, real: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """One step; both losses and whether the discriminator rested."""
        noise = tf.random.normal([self.size.batch, self.size.noise])
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            generator_loss, discriminator_loss = self.losses(real, noise)
        self.apply("generator", self.generator_optimizer, generator_tape.gradient(generator_loss, self.generator.weights))
        gradients = discriminator_tape.gradient(discriminator_loss, self.discriminator.weights)

        def learn() -> tf.Tensor:
            self.apply("discriminator", self.discriminator_optimizer, gradients)
            return tf.constant(False)

        return generator_loss, discriminator_loss, tf.cond(discriminator_loss > 0.8, learn, lambda: tf.constant(True))

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step: a graph, and the accounts in Python."""
        train = tf.function(self.train, autograph=False, jit_compile=jit_compile)

        def step(real: tf.Tensor) -> tf.Tensor:
            generator_loss, discriminator_loss, rested = train(real)
            if rested:
                self.rests += 1
                print(f"the discriminator rests for the {self.rests}. time")
            self.history.append((float(generator_loss), float(discriminator_loss)))
            return generator_loss + discriminator_loss

        return step


PROGRAM = GAN
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = GANAsGraph
# Random operations in a graph draw from streams of their own.
OTHER_RANDOM_NUMBERS = True


def batches(count: int, size: Size = CPU) -> list[tuple[tf.Tensor]]:
    """Points near a ring."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(count):
        points = random.normal(size=[size.batch, size.data])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        found.append((tf.constant(points + random.normal(0.0, 0.05, points.shape), tf.float32),))
    return found


def rehearse(model: GAN, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
