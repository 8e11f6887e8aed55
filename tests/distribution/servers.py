"""Converted functions on several processes: run by test_distribution.py, prints a line of JSON.

    python -m tests.distribution.servers worker ADDRESSES NUMBER     a worker of a MultiWorkerMirroredStrategy
    python -m tests.distribution.servers coordinator                 a coordinator, two workers and a parameter server

All listen on 127.0.0.1 and end by themselves. The servers of the coordinator are threads of its process.
"""

import json
import os
import socket
import sys
import time

import tensorflow as tf

import imp2tf


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


LINGER = 5.0  # seconds


def end_last():
    """End this process, but not while another worker may still be fetching what this one has sent: a collective ends for each by itself."""
    time.sleep(LINGER)
    os._exit(0)


# ------------------------------------------------------------------------------------------------ several workers
def training(w, log):
    """A step with control flow, Python state and a gradient summed over all replicas."""

    def step(x, y):
        log.append(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x * w - y) ** 2)
            if loss > 10.0:
                loss = loss * 0.5
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, w))
        w.assign_sub(0.01 * gradient)
        return loss

    return step


def worker(addresses, number):
    """One of several workers: losses and weight for each way of running."""
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    found = {}
    for way in ("plain", "outside", "inside"):
        with strategy.scope():
            w = tf.Variable(2.0)
        log = []
        step = training(w, log)
        converted = imp2tf.convert(step, profile_runs=0)
        outer = imp2tf.convert(lambda x, y: strategy.run(step, (x, y)), profile_runs=0)
        calls = {"plain": lambda x, y: strategy.run(step, (x, y)), "outside": lambda x, y: strategy.run(converted, (x, y)), "inside": outer}
        losses = []
        for turn in range(3):
            x = tf.constant([1.0, 2.0]) + float(number + turn)
            losses.append(float(calls[way](x, tf.constant([1.0, 0.0]))))
        stats = {"plain": lambda: None, "outside": converted.stats, "inside": outer.stats}[way]()
        found[way] = {"losses": losses, "w": float(w.numpy()), "log": len(log), "stats": stats}
    print(json.dumps(found), flush=True)
    end_last()


# ------------------------------------------------------------------------------------------------ a coordinator
def cluster():
    """Servers in this process."""
    ports = free_ports(3)
    spec = tf.train.ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in ports[:2]], "ps": [f"127.0.0.1:{ports[2]}"]})
    threads = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)  # fewer than servers, and they wait for each other
    servers = [tf.distribute.Server(spec, job_name=job, task_index=i, protocol="grpc", config=threads, start=True)
               for job, i in (("worker", 0), ("worker", 1), ("ps", 0))]
    return servers, tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")


class Holder:
    """A method that is scheduled."""

    def __init__(self, w):
        self.w, self.n = w, 0

    @imp2tf.convert
    def step(self, x):
        if tf.reduce_sum(x) > 3.0:
            x = x * 0.5
        self.w.assign_sub(x, read_value=False)
        return x

    @imp2tf.convert
    def counting(self, x):
        self.n += 1
        return x

    @imp2tf.convert
    def printing(self, x):
        print("printed", x)
        return x

    @imp2tf.convert
    def raising(self, x):
        if x > 0:
            raise ValueError("positive")
        return x


def coordinator():
    """Functions that are scheduled: results, the variable, and what is refused."""
    servers, resolver = cluster()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    tf_coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        holder = Holder(tf.Variable(10.0))

    @imp2tf.convert
    def in_strategy(x):
        return strategy.run(holder.step, (x,))

    found = {}
    results = [tf_coordinator.schedule(holder.step, args=(tf.constant(float(x)),)) for x in range(6)]
    results += [tf_coordinator.schedule(in_strategy, args=(tf.constant(float(x)),)) for x in range(6)]
    tf_coordinator.join()
    found["results"] = [float(one.fetch()) for one in results]
    found["w"] = float(holder.w.read_value())
    for name in ("counting", "printing"):
        try:
            tf_coordinator.schedule(getattr(holder, name), args=(tf.constant(1.0),))
            tf_coordinator.join()
            found[name] = "accepted"
        except imp2tf.ConversionError as error:
            found[name] = error.code
    found["n"] = holder.n
    found["traced"] = holder.step.as_tf_function().experimental_get_tracing_count()
    try:
        tf_coordinator.schedule(holder.raising, args=(tf.constant(1.0),))
        tf_coordinator.join()
    except tf.errors.InvalidArgumentError as error:
        found["raising"] = "ValueError: positive" in str(error)
    print(json.dumps(found), flush=True)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(sys.argv[2].split(","), int(sys.argv[3]))
    coordinator()
