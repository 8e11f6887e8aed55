"""Steps under a MirroredStrategy: how much faster two replicas are than one, converted and as a hand-written tf.function.

    python -m benchmarks.distribution [--quick]

The devices are virtual CPUs of one machine, so figures of scaling tell of overheads, not of what devices of their own would give. Each
replica has a batch of its own; the efficiency is the work done per second by two replicas, divided by twice that of one.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import tensorflow as tf
from rich.console import Console
from rich.table import Table

import imp2tf

WIDTH, LAYERS, BATCH = 128, 4, 64
WAYS = ("tf.function", "imp2tf, run inside", "imp2tf, run outside")


def made(strategy: tf.distribute.Strategy) -> dict[str, Callable[[], object]]:
    """The step in each way, with a batch for each replica."""
    with strategy.scope():
        weights = [tf.Variable(tf.random.stateless_normal([WIDTH, WIDTH], [i, 0]) * 0.1) for i in range(LAYERS)]
    data = strategy.experimental_distribute_values_from_function(lambda context: tf.ones([BATCH, WIDTH]))

    def update(tape: tf.GradientTape, loss: tf.Tensor) -> None:
        context = tf.distribute.get_replica_context()
        for weight, gradient in zip(weights, context.all_reduce("mean", tape.gradient(loss, weights))):
            weight.assign_sub(0.01 * gradient)

    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            for weight in weights:
                x = tf.tanh(x @ weight)
            loss = tf.reduce_mean(x * x)
            if loss > 0.5:
                loss = loss * 0.5
        update(tape, loss)
        return loss

    def by_hand(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            for weight in weights:
                x = tf.tanh(x @ weight)
            loss = tf.reduce_mean(x * x)
            loss = tf.cond(loss > 0.5, lambda: loss * 0.5, lambda: loss)
        update(tape, loss)
        return loss

    hand = tf.function(lambda x: strategy.run(by_hand, (x,)), autograph=False)
    inside = imp2tf.convert(lambda x: strategy.run(step, (x,)))
    outside = imp2tf.convert(step)
    calls = (lambda: hand(data), lambda: inside(data), lambda: strategy.run(outside, (data,)))
    return dict(zip(WAYS, calls, strict=True))


def measured(strategies: dict[int, tf.distribute.Strategy], rounds: int, calls: int) -> dict[tuple[str, int], float]:
    """Seconds of a step, by way and number of replicas: medians of rounds in which all take turns."""
    steps = {(way, count): call for count, strategy in strategies.items() for way, call in made(strategy).items()}
    samples: dict[tuple[str, int], list[float]] = {key: [] for key in steps}
    for call in steps.values():
        for _ in range(4):
            call()
    for _ in range(rounds):
        for key, call in steps.items():
            start = time.perf_counter()
            for _ in range(calls):
                call()
            samples[key].append((time.perf_counter() - start) / calls)
    return {key: statistics.median(found) for key, found in samples.items()}


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distribution")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    quick = parser.parse_args().quick
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    tf.get_logger().setLevel("ERROR")
    strategies = {1: tf.distribute.OneDeviceStrategy("CPU:0"), 2: tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])}
    found = measured(strategies, rounds=3 if quick else 15, calls=5 if quick else 30)
    table = Table("step", "one replica", "two replicas", "efficiency", "as tf.function, two replicas")
    for way in WAYS:
        one, two = found[way, 1], found[way, 2]
        table.add_row(way, f"{one * 1e3:.2f} ms", f"{two * 1e3:.2f} ms", f"{one / two:.0%}", f"{found[WAYS[0], 2] / two:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
