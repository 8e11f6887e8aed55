"""What a fitted model leaves behind: nothing, once the program has let go of it."""

import gc
import random
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras


class Asking(keras.layers.Layer):
    """A layer whose graph calls Python."""

    def call(self, x):
        print("positive" if tf.reduce_sum(x) > 0 else "negative")
        return x * 2.0 if random.random() < 0.5 else x

    def compute_output_shape(self, shape):
        return shape


def fitted(layers):
    model = imp2tf.keras.wrap(keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), *layers]))
    model.compile("sgd", "mse")
    data = np.ones((24, 3), "float32"), np.ones((24, 1), "float32")
    model.fit(*data, batch_size=8, epochs=2, verbose=0, validation_data=data)
    assert imp2tf.keras.stats(model)["train"]["graph_calls"] == 5
    return model


@pytest.mark.parametrize("layers", [[], [Asking]])
def test_a_fitted_model_goes(layers):
    """Though TensorFlow keeps graphs with a custom gradient, which each step of an optimizer has."""
    gone = weakref.ref(fitted([one() for one in layers]))
    gc.collect()
    assert gone() is None


def test_iterators_go_before_the_model():
    """Threads of one that is left when the process ends may keep it from ending."""
    model = fitted([])
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, (tf.data.Iterator, tf.distribute.DistributedIterator))]
    handles = [one for one in gc.get_objects() if isinstance(one, tf.Tensor) and one.dtype == tf.resource and "terator" in str(one)]
    assert model.built and not handles
