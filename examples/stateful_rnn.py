"""A recurrent network that keeps its state, counts its steps and resets itself, as an object of plain Python.

Runs as plain Python and converted by imp2tf; fails where the two differ.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import tensorflow as tf

import imp2tf

WIDTH = 16


class Recurrent:
    """``state`` lives on from call to call; where it saturates it is reset, and the place is written down."""

    def __init__(self) -> None:
        self.inward = tf.random.stateless_normal([4, WIDTH], seed=[1, 2])
        self.onward = tf.random.stateless_normal([WIDTH, WIDTH], seed=[3, 4]) * 0.4
        self.state = tf.zeros([WIDTH])
        self.steps = 0
        self.resets: list[int] = []

    def read(self, sequence: tf.Tensor) -> tf.Tensor:
        """Read a sequence of any length; returns all states on the way."""
        states = []
        for x in sequence:
            self.state = tf.tanh(tf.linalg.matvec(self.inward, x, transpose_a=True)
                                 + tf.linalg.matvec(self.onward, self.state))
            self.steps += 1
            if tf.reduce_mean(abs(self.state)) > 0.9:
                print(f"saturated at step {self.steps}")
                self.state = tf.zeros_like(self.state)
                self.resets.append(self.steps)
            states.append(self.state)
        return tf.stack(states)


Read = Callable[[tf.Tensor], tf.Tensor]


def read_all(read: Read, sequences: list[tf.Tensor]) -> tuple[list[tf.Tensor], float]:
    """Read some sequences one after the other; also the seconds after the first twelve."""
    outputs = [read(sequence) for sequence in sequences[:12]]
    start = time.perf_counter()
    return outputs + [read(sequence) for sequence in sequences[12:]], time.perf_counter() - start


def main() -> int:
    """Read both ways and compare what was returned and what the objects know."""
    plain, converted = Recurrent(), Recurrent()
    lengths = [5, 9, 5, 12, 7, 9] * 4
    sequences = [tf.random.stateless_normal([n, 4], seed=[n, k]) for k, n in enumerate(lengths)]
    print("plain Python:")
    expected, plain_seconds = read_all(plain.read, sequences)
    print("converted:")
    read = imp2tf.convert(converted.read)
    found, seconds = read_all(read, sequences)
    equal = (
        all(bool(tf.reduce_all(abs(a - b) < 1e-4)) for a, b in zip(expected, found))
        and bool(tf.reduce_all(abs(plain.state - converted.state) < 1e-4))
        and (plain.steps, plain.resets) == (converted.steps, converted.resets)
    )
    print(f"{plain.steps} steps, reset at {plain.resets}")
    print("{graph_calls} of {calls} calls as a graph,".format(**read.stats()), end=" ")
    print(f"{plain_seconds / seconds:.1f} times as fast")
    print(f"imp2tf {'equal to' if equal else 'DIFFERS from'} plain Python")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
