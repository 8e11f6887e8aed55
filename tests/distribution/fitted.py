"""Wrapped models that are fitted under a MirroredStrategy on two virtual CPUs: run by test_fit.py, prints what each way gives.

Each program makes a model. It is fitted with steps in plain Python and with steps as graphs; both under the strategy, since a layer that
branches sees the share of its replica.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import imp2tf.keras

PROGRAMS = {}
X = np.random.RandomState(0).randn(24, 3).astype("float32")
X[8:16] -= 1.0
Y = X.sum(1, keepdims=True)


def program(**options):
    """Register a program, with options of `compile`."""

    def register(make):
        PROGRAMS[make.__name__] = make, options
        return make

    return register


def dense(units, seed=1):
    return keras.layers.Dense(units, kernel_initializer=keras.initializers.GlorotUniform(seed=seed))


class Kept(keras.layers.Layer):
    """The shape of the output is that of the input."""

    def compute_output_shape(self, shape):
        return shape


class Gate(Kept):
    def __init__(self):
        super().__init__()
        self.opened = 0

    def call(self, x):
        if tf.reduce_sum(x) > 0:
            self.opened += 1
            return x * 0.5
        return x


@program(optimizer="adam", metrics=["mae"])
def stock():
    return keras.Sequential([keras.Input((3,)), dense(3, 2), keras.layers.ReLU(), dense(1, 3)])


@program(optimizer="adam", metrics=["mae"])
def gated():
    return keras.Sequential([keras.Input((3,)), dense(3, 2), Gate(), dense(1, 3)])


@program(optimizer="sgd", steps_per_execution=2)
def several_steps():
    return keras.Sequential([keras.Input((3,)), Gate(), dense(1, 3)])


@program(optimizer="sgd")
def unbuilt():
    return keras.Sequential([Gate(), keras.layers.BatchNormalization(), dense(1, 3)])


@program(optimizer="sgd")
def own_step():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.net = dense(1)
            self.steps, self.losses_seen = 0, []

        def call(self, x, training=False):
            return self.net(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
                if loss > 2.0:
                    loss = loss * 0.5
                loss = loss / 2.0
            self.steps += 1
            self.losses_seen.append(float(loss))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
            if self.steps % 3 == 0:
                print("step", self.steps)
            return {"loss": loss, "steps": self.steps}

    return Own()


@program(optimizer="sgd", metrics=["mae"])
def loss_with_state():
    return keras.Sequential([keras.Input((3,)), dense(1)])


class Warm(keras.losses.Loss):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def call(self, target, output):
        self.calls += 1
        error = tf.square(target - output)
        if tf.reduce_mean(error) > 3.0:
            error = error * 0.1
        return min(1.0, self.calls / 8) * tf.reduce_mean(error, -1)


def found_in(model):
    """What fit, evaluate and predict give, and the state afterwards."""
    history = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    names = ("opened", "steps", "losses_seen")
    state = {name: getattr(one, name) for one in (model, *model.layers) for name in names if hasattr(one, name)}
    state["calls"] = getattr(model.loss, "calls", 0)
    state = {name: list(one) if isinstance(one, list) else one for name, one in state.items()}
    evaluated = model.evaluate(X, Y, batch_size=8, verbose=0) if "net" not in vars(model) else 0.0
    predicted = model.predict(X[:10], batch_size=4, verbose=0).tolist()
    weights = [np.array(one).tolist() for one in model.get_weights()]
    return {"history": history, "state": state, "evaluated": evaluated, "predicted": predicted, "weights": weights}


def main():
    """Run all programs in both ways."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    for name, (make, options) in PROGRAMS.items():
        for way, stance in (("python", "force_eager"), ("graph", "default")):
            keras.backend.clear_session()
            keras.utils.set_random_seed(3)
            print(f"BEGIN {name} {way}", flush=True)
            with strategy.scope(), imp2tf.set_stance(stance):
                model = imp2tf.keras.wrap(make())
                model.compile(loss=Warm() if name == "loss_with_state" else "mse", jit_compile=False, **options)
                found = found_in(model)
            found["stats"] = imp2tf.keras.stats(model)
            print(f"END {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
