"""A Keras without the names that the adapter needs: run by test_private.py, prints what a wrapped model gives."""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

del sys.modules["keras.src.backend.tensorflow.trainer"].TensorFlowTrainer
import imp2tf.keras  # noqa: E402


class Gate(keras.layers.Layer):
    """Counts in a branch."""

    opened = 0

    def call(self, x):
        if tf.reduce_sum(x) > 0:
            self.opened += 1
            return x * 0.5
        return x

    def compute_output_shape(self, shape):
        return shape


def fitted(model):
    """The losses of a short training."""
    return model.fit(np.ones((8, 3), "float32"), np.ones((8, 1), "float32"), batch_size=4, epochs=2, verbose=0).history["loss"]


def main():
    """Wrap, fit, unwrap."""
    keras.utils.set_random_seed(1)
    model = imp2tf.keras.wrap(keras.Sequential([keras.Input((3,)), Gate(), keras.layers.Dense(1)]))
    model.compile("sgd", "mse")
    losses = fitted(model)
    stats = imp2tf.keras.stats(model)
    found = {"losses": losses, "opened": model.layers[0].opened, "wrapped": imp2tf.keras.is_wrapped(model), "stats": stats}
    found["unwrapped"] = not imp2tf.keras.is_wrapped(imp2tf.keras.unwrap(model)) and not model.run_eagerly
    print(json.dumps(found))


if __name__ == "__main__":
    main()
