"""Steps under a MirroredStrategy on two virtual CPUs: run by test_distribution.py, prints what each way of running gives.

Each program makes a step and says what to look at. It is run with plain Python steps, with converted steps given to `strategy.run`
(outside), and with `strategy.run` in a converted function (inside).
"""

import json
import logging
import sys

import keras
import tensorflow as tf

import imp2tf

PROGRAMS = {}
VALUES = [[2.0, -3.0], [0.5, 4.0], [1.0, 1.0]]


def program(make):
    """Register a program."""
    PROGRAMS[make.__name__] = make
    return make


def replica():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


@program
def branch_on_a_tensor():
    v = tf.Variable(3.0)

    def step(x):
        if x > 0:
            y = x * v
        else:
            y = -x
        return y + tf.cast(replica(), tf.float32) * 100.0

    return step, lambda: []


@program
def variables_of_each_kind():
    def variable(aggregation, **kind):
        return tf.Variable(1.0, aggregation=aggregation, **kind)

    mean, total = variable(tf.VariableAggregation.MEAN), variable(tf.VariableAggregation.SUM)
    first = variable(tf.VariableAggregation.ONLY_FIRST_REPLICA)
    seen = tf.Variable(0.0, trainable=False, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)

    def step(x):
        seen.assign_add(x if x > 0 else x * 0.5)
        mean.assign_add(x)
        total.assign_add(x)
        first.assign_add(x)
        return mean * 1.0, total + first

    return step, lambda: [read(one) for one in (mean, total, first, seen)]


@program
def python_state_of_each_replica():
    seen = {"calls": 0, "last": None}
    rows = []

    def step(x):
        seen["calls"] += 1
        seen["last"] = x
        if x > 0:
            rows.append(x)
        return x * float(seen["calls"])

    return step, lambda: [seen["calls"], float(seen["last"]), [float(row) for row in rows]]


@program
def prints_once_for_each_replica():
    def step(x):
        print("step", float(x))
        while x < 3.0:
            x = x + 2.5
        print("end", float(x))
        return x

    return step, lambda: []


@program
def all_reduce():
    def step(x):
        context = tf.distribute.get_replica_context()
        total = context.all_reduce("sum", x)
        if total > 0:
            total = total * 2.0
        return context.all_reduce("mean", total + x)

    return step, lambda: []


@program
def gradient_of_a_sharded_batch():
    w = tf.Variable([1.0, -1.0])
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build([w])

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w * x - 1.0) ** 2)
            if loss > 5.0:
                loss = loss * 0.5
            loss = loss / tf.distribute.get_replica_context().num_replicas_in_sync
        gradients = tape.gradient(loss, [w])
        optimizer.apply_gradients(zip(gradients, [w]))
        return loss

    return step, lambda: [read(w), read(optimizer.iterations)]


@program
def update_under_a_tensor_if():
    w = tf.Variable(1.0)
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build([w])

    def step(x):
        with tf.GradientTape() as tape:
            loss = (w * x - 1.0) ** 2
        gradients = tape.gradient(loss, [w])
        if w > 0.3:
            optimizer.apply_gradients(zip(gradients, [w]))
        return loss

    return step, lambda: [read(w), read(optimizer.iterations)]


@program
def exceptions():
    def step(x):
        if x > 3.0:
            raise ValueError(f"too large: {float(x)}")
        return x

    return step, lambda: []


def read(variable):
    """The value of each copy of a variable."""
    values = getattr(getattr(variable, "value", variable), "values", None)
    return [one.numpy().tolist() for one in values] if values else variable.numpy().tolist()


def local(strategy, result):
    """A result as nested lists, one item for each replica."""
    return [[one.numpy().tolist() for one in strategy.experimental_local_results(part)] for part in tf.nest.flatten(result)]


def run(make, way, strategy):
    """What three steps return, print and leave behind."""
    with strategy.scope():
        step, look = make()
    converted = imp2tf.convert(step, profile_runs=0)

    def outer(x):
        return strategy.run(step, (x,))

    calls = {"plain": lambda x: strategy.run(step, (x,)), "outside": lambda x: strategy.run(converted, (x,)),
             "inside": imp2tf.convert(outer, profile_runs=0)}
    found, counted = [], {"outside": converted, "inside": calls["inside"]}.get(way)
    for values in VALUES:
        x = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(values[context.replica_id_in_sync_group]))
        sys.stdout.flush()
        try:
            result = local(strategy, calls[way](x))
        except Exception as error:
            result = [type(error).__name__, str(error)]
        found.append([result, look()])
    return found, counted.stats() if counted is not None else None


def main():
    """Print what all programs give in all ways."""
    logging.disable()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])  # TensorFlow confuses the all-reduces of several
    for name, make in PROGRAMS.items():
        for way in ("plain", "outside", "inside"):
            print("BEGIN", name, way, flush=True)
            found, stats = run(make, way, strategy)
            print("\nEND", json.dumps([found, stats]), flush=True)


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    main()
