"""What a program changes between two trainings is seen by the second, at the cost of one trace at most."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from tests.keras.compared import data, fit, same

X, Y = data(8)


class Scaled(keras.layers.Layer):
    """A class attribute that the user's code reads, and a method that is replaced."""

    factor = 1.0

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.factor

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


def model() -> keras.Model:
    return keras.Sequential([
        keras.Input((3,)),
        keras.layers.Dense(4, activation="relu", kernel_regularizer=keras.regularizers.L2(0.1), activity_regularizer="l2",
                           kernel_constraint=keras.constraints.MaxNorm(1.5), name="first"),
        keras.layers.BatchNormalization(name="norm"),
        keras.layers.Dropout(0.3, seed=5, name="dropout"),
        Scaled(name="scaled"),
        keras.layers.Dense(1, name="last"),
    ])


def layer(name: str, attribute: str, value: Any) -> Callable[[keras.Model], None]:
    return lambda model: setattr(model.get_layer(name), attribute, value() if callable(value) and not isinstance(value, type) else value)


def of(find: Callable[[keras.Model], Any], attribute: str, value: Any) -> Callable[[keras.Model], None]:
    return lambda model: setattr(find(model), attribute, value)


def optimizer(attribute: str, value: Any) -> Callable[[keras.Model], None]:
    return of(lambda model: model.optimizer, attribute, value)


def first(model: keras.Model) -> Any:
    return model.get_layer("first")


def no_bias(model: keras.Model) -> None:
    model.get_layer("last").use_bias = False
    model.get_layer("last").bias = None


def halved(model: keras.Model) -> None:
    model.get_layer("scaled").call = lambda x: x * 0.5


def wider_huber(model: keras.Model) -> None:
    model.loss._fn_kwargs["delta"] = 0.3


CHANGES: dict[str, Callable[[keras.Model], None]] = {
    "dropout rate": layer("dropout", "rate", 0.6),
    "layer trainable": layer("first", "trainable", False),
    "normalization trainable": layer("norm", "trainable", False),
    "momentum": layer("norm", "momentum", 0.5),
    "activation": layer("first", "activation", lambda: keras.activations.tanh),
    "bias": no_bias,
    "regularizer factor": of(lambda model: first(model).kernel_regularizer, "l2", 0.5),
    "regularizer of a layer": layer("first", "kernel_regularizer", None),
    "regularizer of a variable": of(lambda model: first(model).kernel, "regularizer", None),
    "constraint": of(lambda model: first(model).kernel_constraint, "max_value", 0.2),
    "activity regularizer": layer("first", "activity_regularizer", lambda: keras.regularizers.L2(0.7)),
    "beta": optimizer("beta_1", 0.1),
    "clipnorm": optimizer("clipnorm", 0.01),
    "weight decay": optimizer("weight_decay", 0.2),
    "learning rate": optimizer("learning_rate", 0.3),
    "loss reduction": of(lambda model: model.loss, "reduction", "sum"),
    "loss argument": wider_huber,
    "class attribute on an instance": layer("scaled", "factor", 3.0),
    "method of an instance": halved,
}


@pytest.mark.parametrize("change", CHANGES)
def test_change_is_seen(change: str) -> None:
    def run(model: keras.Model) -> Any:
        before = fit(model, X, Y, epochs=1)
        CHANGES[change](model)
        return before, fit(model, X, Y, epochs=1)

    wrapped = same(model, run, optimizer=lambda: keras.optimizers.Adam(0.05, weight_decay=0.01), loss=lambda: keras.losses.Huber(1.0))
    found = imp2tf.keras.stats(wrapped)["train"]
    assert found["traces"] <= 2, found


def test_list_grows_between_calls_of_fit() -> None:
    """Contents of containers that Keras itself reads."""
    shared = {"factor": 1.0}

    def loss(target: tf.Tensor, output: tf.Tensor, options: dict[str, float]) -> tf.Tensor:
        return options["factor"] * tf.reduce_mean(tf.square(target - output))

    def run(model: keras.Model) -> Any:
        shared["factor"] = 1.0
        before = fit(model, X, Y)
        shared["factor"] = 2.0
        return before, fit(model, X, Y)

    same(model, run, loss=lambda: lambda target, output: loss(target, output, shared))


def test_equal_values_need_no_trace() -> None:
    """A callback that sets the same value at every epoch."""

    class Same(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.model.get_layer("dropout").rate = float(np.float64(0.3))

    wrapped = same(model, lambda model: fit(model, X, Y, epochs=3, callbacks=[Same()]))
    assert imp2tf.keras.stats(wrapped)["train"]["traces"] == 1
