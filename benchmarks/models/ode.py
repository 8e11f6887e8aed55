"""An ordinary differential equation solved with a step size that adapts to the error: Bogacki and Shampine's pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Size:
    """How many bodies move, and how exact the result is to be."""

    bodies: int = 6
    span: float = 0.5
    tolerance: float = 1e-4


CPU = Size()
PAPER = Size(bodies=2000, span=10.0, tolerance=1e-6)


class Orbits:
    """Bodies that attract each other in a plane; one step of the program moves them by a span of time."""

    def __init__(self, size: Size = CPU) -> None:
        random = np.random.default_rng(0)
        self.masses = tf.constant(random.uniform(0.5, 1.5, [size.bodies]), tf.float32)
        self.state = tf.constant(random.normal(size=[2, size.bodies, 2]), tf.float32)
        self.size = size
        self.time = 0.0
        self.stride = tf.constant(0.05)
        self.accepted = 0
        self.rejected = 0
        self.smallest = float("inf")

    def rate(self, state: tf.Tensor) -> tf.Tensor:
        """The velocities and accelerations."""
        places, velocities = state[0], state[1]
        apart = places[tf.newaxis] - places[:, tf.newaxis]
        squares = tf.reduce_sum(apart * apart, axis=2) + 1.0
        pull = self.masses[tf.newaxis, :, tf.newaxis] * apart / (squares * tf.sqrt(squares))[:, :, tf.newaxis]
        return tf.stack([velocities, tf.reduce_sum(pull, axis=1)])

    def attempt(self, state: tf.Tensor, slope: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """The state after a stride, the slope there, and the error relative to what is allowed."""
        second = self.rate(state + h / 2.0 * slope)
        third = self.rate(state + 0.75 * h * second)
        new = state + h / 9.0 * (2.0 * slope + 3.0 * second + 4.0 * third)
        fourth = self.rate(new)
        error = h * (-5.0 / 72.0 * slope + second / 12.0 + third / 9.0 - fourth / 8.0)
        return new, fourth, tf.reduce_max(tf.abs(error)) / self.size.tolerance

    def step(self) -> tf.Tensor:
        """Move by one span; returns the kinetic energy at its end."""
        t = tf.constant(0.0)
        slope = self.rate(self.state)
        while t < self.size.span:
            h = tf.minimum(self.stride, self.size.span - t)
            new, new_slope, error = self.attempt(self.state, slope, h)
            if error <= 1.0:
                t += h
                self.state, slope = new, new_slope
                self.accepted += 1
                if h < self.smallest:
                    self.smallest = float(h)
            else:
                self.rejected += 1
            if h < self.stride and error <= 1.0:
                break
            self.stride = h * tf.clip_by_value(0.9 * error ** (-1.0 / 3.0), 0.2, 5.0)
        self.time += self.size.span
        if self.rejected > self.accepted:
            print(f"at {self.time:.1f}: more strides rejected than accepted")
        return 0.5 * tf.reduce_sum(self.masses[:, tf.newaxis] * self.state[1] ** 2)


class OrbitsAsGraph(Orbits):
    """A tf.while_loop from span to span; the counters in Python."""

    def advance(self, state: tf.Tensor, stride: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """State, stride, and how many strides were accepted and rejected; the energy last."""
        span = self.size.span

        def turn(
            t: tf.Tensor, state: tf.Tensor, slope: tf.Tensor, stride: tf.Tensor, accepted: tf.Tensor, rejected: tf.Tensor,
            smallest: tf.Tensor, done: tf.Tensor,
        ) -> tuple[tf.Tensor, ...]:
            h = tf.minimum(stride, span - t)
            new, new_slope, error = self.attempt(state, slope, h)
            good = error <= 1.0
            done = good & (h < stride)
            next_stride = h * tf.clip_by_value(0.9 * error ** (-1.0 / 3.0), 0.2, 5.0)
            return (tf.where(good, t + h, t), tf.where(good, new, state), tf.where(good, new_slope, slope),
                    tf.where(done, stride, next_stride), accepted + tf.cast(good, tf.int32),
                    rejected + tf.cast(~good, tf.int32), tf.where(good, tf.minimum(h, smallest), smallest), done)

        start = (0.0, state, self.rate(state), stride, 0, 0, float("inf"), False)
        found = tf.while_loop(lambda t, *rest: (t < span) & ~rest[-1], turn, start)
        energy = 0.5 * tf.reduce_sum(self.masses[:, tf.newaxis] * found[1][1] ** 2)
        return found[1], found[3], found[4], found[5], found[6], energy

    def compiled(self, jit_compile: bool = False) -> Callable[..., tf.Tensor]:
        """The step as a graph."""
        advance = tf.function(self.advance, autograph=False, jit_compile=jit_compile)

        def step() -> tf.Tensor:
            self.state, self.stride, accepted, rejected, smallest, energy = advance(self.state, self.stride)
            self.accepted += int(accepted)
            self.rejected += int(rejected)
            self.smallest = min(self.smallest, float(smallest))
            self.time += self.size.span
            return energy

        return step


PROGRAM = Orbits
ADAPTED = None
ADAPTATION = ""
HANDWRITTEN = OrbitsAsGraph


def batches(count: int) -> list[tuple[()]]:
    """Nothing: the bodies are on the object."""
    return [() for _ in range(count)]


def rehearse(model: Orbits, step: Callable[..., tf.Tensor]) -> list[tf.Tensor]:
    """The calls whose results are compared."""
    return [step(*batch) for batch in batches(20)]
