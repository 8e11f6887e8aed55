"""L-BFGS with a backtracking line search, minimising the loss of a logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How big the problem and the memory of the method are."""

    examples: int = 200
    features: int = 30
    memory: int = 5


CPU = Size()
PAPER = Size(examples=20000, features=2000, memory=10)

DECREASE, MOST_HALVINGS, TOLERANCE = 1e-4, 12, 1e-2


class LBFGS:
    """One step is one iteration: a direction from the history, then a step size that decreases the loss.

    At the minimum it starts again.
    """

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.inputs = tf.constant(random.normal(size=[size.examples, size.features]), tf.float32)
        truth = random.normal(size=[size.features])
        noisy = self.inputs.numpy() @ truth + random.normal(0.0, 2.0, [size.examples])
        self.targets = tf.constant(noisy > 0.0, tf.float32)
        self.size = size
        self.x = tf.zeros([size.features])
        self.history: list[tuple[tf.Tensor, tf.Tensor, tf.Tensor]] = []
        self.losses: list[float] = []
        self.evaluations = 0
        self.skipped = 0
        self.restarts = 0

    def loss(self, x: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy with a small penalty."""
        scores = tf.linalg.matvec(self.inputs, x)
        each = tf.nn.sigmoid_cross_entropy_with_logits(self.targets, scores)
        return tf.reduce_mean(each) + 1e-3 * tf.reduce_sum(x * x)

    def loss_and_gradient(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Both at one point."""
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = self.loss(x)
        return loss, tape.gradient(loss, x)

    def direction(self, gradient: tf.Tensor) -> tf.Tensor:
        """The two loops over the history."""
        q, factors = gradient, []
        for s, y, rho in reversed(self.history):
            factor = rho * tf.tensordot(s, q, 1)
            q -= factor * y
            factors.append(factor)
        if self.history:
            s, y, _ = self.history[-1]
            q *= tf.tensordot(s, y, 1) / tf.tensordot(y, y, 1)
        for (s, y, rho), factor in zip(self.history, reversed(factors)):
            q += (factor - rho * tf.tensordot(y, q, 1)) * s
        return -q

    def step(self) -> tf.Tensor:
        """One iteration; returns the loss before it."""
        loss, gradient = self.loss_and_gradient(self.x)
        if tf.norm(gradient) < TOLERANCE:
            self.history = []
            self.x = tf.zeros([self.size.features])
            self.restarts += 1
            return loss
        direction = self.direction(gradient)
        slope = tf.tensordot(gradient, direction, 1)
        if slope > 0.0:
            self.history = []
            direction, slope = -gradient, -tf.tensordot(gradient, gradient, 1)
        rate = tf.constant(1.0)
        for _ in range(MOST_HALVINGS):
            self.evaluations += 1
            if self.loss(self.x + rate * direction) <= loss + DECREASE * rate * slope:
                break
            rate /= 2.0
        moved = rate * direction
        _, new_gradient = self.loss_and_gradient(self.x + moved)
        change = new_gradient - gradient
        curvature = tf.tensordot(moved, change, 1)
        self.x += moved
        if curvature > 1e-10:
            self.history.append((moved, change, 1.0 / curvature))
            if len(self.history) > self.size.memory:
                self.history.pop(0)
        else:
            self.skipped += 1
        self.losses.append(float(loss))
        return loss


class LBFGSAsGraph(LBFGS):
    """The history in rows of variables, newest last; how many of them count is a variable too."""

    def __init__(self, size: Size = CPU) -> None:
        super().__init__(size)
        self.x = tf.Variable(self.x)
        self.moves = tf.Variable(tf.zeros([size.memory, size.features]))
        self.changes = tf.Variable(tf.zeros([size.memory, size.features]))
        self.count = tf.Variable(0)

    def direction(self, gradient: tf.Tensor) -> tf.Tensor:
        """The two loops over the history; rows that do not count add nothing."""
        rows = self.size.memory
        moves, changes = self.moves.read_value(), self.changes.read_value()
        counts = tf.cast(tf.range(rows) >= rows - self.count, tf.float32)
        products = tf.reduce_sum(moves * changes, axis=1)
        rhos = tf.math.divide_no_nan(counts, products)
        q, factors = gradient, []
        for row in reversed(range(rows)):
            factors.append(rhos[row] * tf.tensordot(moves[row], q, 1))
            q -= factors[-1] * changes[row]
        scale = tf.math.divide_no_nan(products[-1], tf.tensordot(changes[-1], changes[-1], 1))
        q *= tf.where(self.count > 0, scale, 1.0)
        for row, factor in zip(range(rows), reversed(factors)):
            q += (factor - rhos[row] * tf.tensordot(changes[row], q, 1)) * moves[row]
        return -q

    def graph_step(self) -> tf.Tensor:
        """One iteration; returns the loss before it."""
        x = self.x.read_value()
        loss, gradient = self.loss_and_gradient(x)

        def restart() -> tf.Tensor:
            self.x.assign(tf.zeros_like(x))
            self.count.assign(0)
            return loss

        return tf.cond(tf.norm(gradient) < TOLERANCE, restart, lambda: self.iterate(x, loss, gradient))

    def iterate(self, x: tf.Tensor, loss: tf.Tensor, gradient: tf.Tensor) -> tf.Tensor:
        """One iteration from a point that is no minimum."""
        direction = self.direction(gradient)
        slope = tf.tensordot(gradient, direction, 1)
        uphill = slope > 0.0
        self.count.assign(tf.where(uphill, 0, self.count))
        direction = tf.where(uphill, -gradient, direction)
        slope = tf.where(uphill, -tf.tensordot(gradient, gradient, 1), slope)

        def too_long(halvings: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
            return (halvings < MOST_HALVINGS) & (self.loss(x + rate * direction) > loss + DECREASE * rate * slope)

        _, rate = tf.while_loop(too_long, lambda halvings, rate: (halvings + 1, rate / 2.0), (0, 1.0))
        moved = rate * direction
        _, new_gradient = self.loss_and_gradient(x + moved)
        change = new_gradient - gradient
        keep = tf.tensordot(moved, change, 1) > 1e-10
        self.x.assign(x + moved)
        for rows, new in ((self.moves, moved), (self.changes, change)):
            rows.assign(tf.where(keep, tf.concat([rows[1:], new[tf.newaxis]], axis=0), rows))
        self.count.assign(tf.where(keep, tf.minimum(self.count + 1, self.size.memory), self.count))
        return loss

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The iteration as a graph; the list of losses outside of it."""
        iterate = tf.function(self.graph_step, autograph=False, jit_compile=jit_compile)

        def step() -> tf.Tensor:
            loss = iterate()
            self.losses.append(float(loss))
            return loss

        return step


PROGRAM = LBFGS
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = LBFGSAsGraph


def batches(count: int) -> list[tuple[()]]:
    """Nothing: the problem is on the object."""
    return [() for _ in range(count)]


def rehearse(model: LBFGS, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
