"""Metropolis-Hastings: a random walk through the posterior of a logistic regression, tuned while it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the data are, and how many proposals a step makes."""

    examples: int = 100
    features: int = 5
    proposals: int = 20


CPU = Size()
PAPER = Size(examples=100000, features=50, proposals=1000)


class Walk:
    """One step makes some proposals and then tunes how far they go."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        inputs = random.normal(size=[size.examples, size.features])
        self.inputs = tf.constant(inputs, tf.float32)
        self.targets = tf.constant(inputs @ random.normal(size=[size.features]) > 0.0, tf.float32)
        self.size = size
        self.position = tf.zeros([size.features])
        self.log_probability = self.log_posterior(self.position)
        self.scale = 1.0
        self.accepted = 0
        self.proposed = 0
        self.samples: list[tf.Tensor] = []
        tf.random.set_seed(7)

    def log_posterior(self, x: tf.Tensor) -> tf.Tensor:
        """Up to a constant."""
        scores = tf.linalg.matvec(self.inputs, x)
        likelihood = -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(self.targets, scores))
        return likelihood - 0.5 * tf.reduce_sum(x * x)

    def propose(self) -> bool:
        """One proposal; whether it was accepted."""
        proposal = self.position + self.scale * tf.random.normal([self.size.features])
        log_probability = self.log_posterior(proposal)
        if tf.math.log(tf.random.uniform([])) >= log_probability - self.log_probability:
            return False
        self.position, self.log_probability = proposal, log_probability
        return True

    def step(self) -> tf.Tensor:
        """Some proposals; returns the log probability reached."""
        accepted = 0
        for _ in range(self.size.proposals):
            if self.propose():
                accepted += 1
        self.accepted += accepted
        self.proposed += self.size.proposals
        self.samples.append(self.position)
        rate = accepted / self.size.proposals
        if rate < 0.2:
            self.scale *= 0.8
        elif rate > 0.4:
            self.scale *= 1.25
        if self.proposed % (10 * self.size.proposals) == 0:
            print(f"{self.proposed} proposals, {self.accepted / self.proposed:.0%} accepted, scale {self.scale:.3f}")
        return self.log_probability


class WalkAsGraph(Walk):
    """A tf.while_loop that draws its own numbers; tuning and samples outside of the graph."""

    def proposals(self, position: tf.Tensor, log_probability: tf.Tensor, scale: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Position, log probability and number of acceptances after some proposals."""
        def turn(count: tf.Tensor, position: tf.Tensor, reached: tf.Tensor, accepted: tf.Tensor) -> tuple[tf.Tensor, ...]:
            proposal = position + scale * tf.random.normal([self.size.features])
            log_probability = self.log_posterior(proposal)
            take = tf.math.log(tf.random.uniform([])) < log_probability - reached
            return (count + 1, tf.where(take, proposal, position), tf.where(take, log_probability, reached),
                    accepted + tf.cast(take, tf.int32))

        _, *found = tf.while_loop(lambda count, *_: count < self.size.proposals, turn, (0, position, log_probability, 0))
        return tuple(found)

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step: a graph, and the tuning in Python."""
        propose = tf.function(self.proposals, autograph=False, jit_compile=jit_compile)

        def step() -> tf.Tensor:
            scale = tf.constant(self.scale)
            self.position, self.log_probability, accepted = propose(self.position, self.log_probability, scale)
            self.accepted += int(accepted)
            self.proposed += self.size.proposals
            self.samples.append(self.position)
            rate = int(accepted) / self.size.proposals
            self.scale *= 0.8 if rate < 0.2 else 1.25 if rate > 0.4 else 1.0
            return self.log_probability

        return step


PROGRAM = Walk
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = WalkAsGraph
# Random operations in a graph draw from streams of their own.
OTHER_RANDOM_NUMBERS = True


def batches(count: int) -> list[tuple[()]]:
    """Nothing: the data are on the object."""
    return [() for _ in range(count)]


def rehearse(model: Walk, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
