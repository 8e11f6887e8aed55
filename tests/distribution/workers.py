"""One worker of several that fit a wrapped model: run by test_fit.py, prints a line of JSON.

    python -m tests.distribution.workers ADDRESSES NUMBER MODEL [FOLDER]

With a folder, `keras.callbacks.BackupAndRestore` keeps the state there, and worker 1 kills itself in the third epoch unless a file
``killed`` is there. Worker number -1 is a single process without a strategy.
"""

import json
import os
import signal
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import imp2tf.keras
from tests.distribution.fitted import Gate, X, Y, dense
from tests.distribution.servers import end_last


def stock():
    """Nothing of the user's."""
    return keras.Sequential([keras.Input((3,)), dense(3, 2), keras.layers.ReLU(), dense(1, 3)])


def gated():
    """Control flow in a layer, and a counter."""
    return keras.Sequential([keras.Input((3,)), dense(3, 2), Gate(), dense(1, 3)])


class Killer(keras.callbacks.Callback):
    """Ends the process without a word, once."""

    def __init__(self, mark):
        super().__init__()
        self.mark = mark

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def main(addresses, number, make, folder=None):
    """Fit, and tell what came out."""
    number = int(number)
    strategy = tf.distribute.get_strategy()
    if number >= 0:
        cluster = {"cluster": {"worker": addresses.split(",")}, "task": {"type": "worker", "index": number}}
        os.environ["TF_CONFIG"] = json.dumps(cluster)
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    callbacks = []
    if folder is not None:
        callbacks.append(keras.callbacks.BackupAndRestore(f"{folder}/{number}"))
        if number == 1:
            callbacks.append(Killer(Path(folder, "killed")))
    keras.utils.set_random_seed(3)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8, drop_remainder=True).with_options(options)
    with strategy.scope():
        model = {"stock": stock, "gated": gated}[make]()
        if number >= 0:
            imp2tf.keras.wrap(model)
        model.compile("adam", "mse", metrics=["mae"], jit_compile=False, run_eagerly=number < 0)
    history = model.fit(data, epochs=4, verbose=0, callbacks=callbacks).history
    weights = [np.array(one).tolist() for one in model.get_weights()]
    found = {"history": history, "evaluated": model.evaluate(data, verbose=0), "weights": weights}
    found["stats"] = imp2tf.keras.stats(model) if number >= 0 else None
    found["opened"] = getattr(model.layers[1], "opened", 0)
    print(json.dumps(found), flush=True)
    end_last()


if __name__ == "__main__":
    main(*sys.argv[1:])
