"""Training on two devices, with a step that is plain Python: a clipped gradient, a step size that backs off, counters.

The step is given to `strategy.run` as it is, and converted. Both, and one process that sees the whole batch, must agree. Two virtual CPUs
stand for the devices.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import tensorflow as tf

import imp2tf

STEPS, BATCH, INPUTS = 40, 32, 8


class Trainer:
    """Fits a line. `all_reduce` sums over the replicas."""

    def __init__(self, all_reduce: Callable[[tf.Tensor], tf.Tensor], replicas: int) -> None:
        self.weights = tf.Variable(tf.zeros([INPUTS]))
        self.all_reduce, self.replicas = all_reduce, replicas
        self.clipped = 0
        self.losses: list[float] = []

    def step(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """One step on this replica's share of the batch."""
        with tf.GradientTape() as tape:
            error = tf.linalg.matvec(x, self.weights) - y
            loss = tf.reduce_sum(error * error) / BATCH
        gradient = self.all_reduce(tape.gradient(loss, self.weights))
        loss = self.all_reduce(loss)
        norm = tf.norm(gradient)
        if norm > 1.0:
            gradient = gradient / norm
            self.clipped += 1
        rate = 0.5
        while rate * loss > 1.0:
            rate = rate / 2
        self.weights.assign_sub(rate * gradient / self.replicas)  # the variable sums what the replicas say
        self.losses.append(float(loss))
        return loss


def batches() -> list[tuple[tf.Tensor, tf.Tensor]]:
    """The same data for everybody."""
    truth = tf.range(INPUTS, dtype=tf.float32) / INPUTS - 0.4
    found = []
    for i in range(STEPS):
        x = tf.random.stateless_normal([BATCH, INPUTS], [i, 1])
        found.append((x, tf.linalg.matvec(x, truth) + 0.01 * tf.random.stateless_normal([BATCH], [i, 2])))
    return found


def alone() -> Trainer:
    """Plain Python on the whole batch."""
    trainer = Trainer(lambda value: value, 1)
    for x, y in batches():
        trainer.step(x, y)
    return trainer


def sum_over_replicas(value: tf.Tensor) -> tf.Tensor:
    """What all replicas know together."""
    return tf.distribute.get_replica_context().all_reduce("sum", value)


def shared(strategy: tf.distribute.Strategy, convert: Callable[[Callable], Callable]) -> tuple[Trainer, float]:
    """Two replicas, each with half of the batch; also the seconds of the second half of the steps."""
    with strategy.scope():
        trainer = Trainer(sum_over_replicas, strategy.num_replicas_in_sync)
        trainer.weights = tf.Variable(tf.zeros([INPUTS]), aggregation=tf.VariableAggregation.SUM)
    step, start = convert(trainer.step), 0.0
    for i, batch in enumerate(batches()):
        if i == STEPS // 2:
            start = time.perf_counter()
        halves = [tf.split(part, strategy.num_replicas_in_sync) for part in batch]
        x, y = (strategy.experimental_distribute_values_from_function(lambda c, part=part: part[c.replica_id_in_sync_group])
                for part in halves)
        strategy.run(step, (x, y))
    return trainer, time.perf_counter() - start


def main() -> int:
    """Train three times and compare."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    tf.get_logger().setLevel("ERROR")
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    expected = alone()
    plain, plain_seconds = shared(strategy, lambda step: step)
    converted, converted_seconds = shared(strategy, imp2tf.convert)
    print(f"loss {expected.losses[0]:.3f} -> {expected.losses[-1]:.4f}, {expected.clipped} of {STEPS} gradients clipped")
    print(f"seconds for {STEPS // 2} steps: plain Python {plain_seconds:.2f}, converted {converted_seconds:.2f}")
    for name, trainer in (("plain Python", plain), ("imp2tf", converted)):
        values = [one.numpy() for one in strategy.experimental_local_results(trainer.weights)]
        if not all(tf.reduce_all(abs(value - expected.weights) < 1e-4) for value in values):
            print(f"{name} on two replicas has other weights than one process")
            return 1
    if (converted.clipped, len(converted.losses)) != (plain.clipped, len(plain.losses)):
        print("imp2tf counted otherwise than plain Python")
        return 1
    if not all(abs(a - b) < 1e-4 for a, b in zip(converted.losses, plain.losses)):
        print("imp2tf has other losses than plain Python")
        return 1
    print("imp2tf equal to plain Python, on one device and on two")
    return 0


if __name__ == "__main__":
    sys.exit(main())
