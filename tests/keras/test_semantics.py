"""Where a graph is tempted to differ from eager: gradients that are None, copies that Keras keeps, exceptions that it rewords."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.keras.compared import data, fit, same

X, Y = data(16)
X[4:8] -= 2.0


def dense(units: int, seed: int = 1) -> keras.layers.Dense:
    return keras.layers.Dense(units, kernel_initializer=keras.initializers.GlorotUniform(seed=seed))


class Kept(keras.layers.Layer):
    """The shape of the output is that of the input."""

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


def around(layer: keras.layers.Layer) -> keras.Model:
    return keras.Sequential([keras.Input((3,)), layer, dense(1, 9)])


def test_optimizer_leaves_alone_what_a_branch_does_not_use() -> None:
    class Experts(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.experts = [dense(4, 2), dense(4, 3)]

        def build(self, shape: Any) -> None:
            for one in self.experts:
                one.build(shape)

        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_mean(x) > 0:
                return self.experts[0](x)
            return self.experts[1](x) * 0.5

        def compute_output_shape(self, shape: Any) -> Any:
            return (shape[0], 4)

    same(lambda: around(Experts()), lambda model: fit(model, X, Y), optimizer=lambda: keras.optimizers.Adam(0.05))


def test_assigned_list_is_a_copy() -> None:
    class Noting(Kept):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            noted = [1]
            self.noted = noted
            noted.append(2)
            return x * float(len(self.noted))

    same(lambda: around(Noting()), lambda model: (fit(model, X, Y), list(model.layers[0].noted)))


def test_loss_added_in_a_branch() -> None:
    class Penalized(Kept):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_mean(x) > 0:
                self.add_loss(tf.reduce_mean(x**2))
            return x

    same(lambda: around(Penalized()), lambda model: (fit(model, X, Y), [float(one) for one in model.losses]))


def test_exception_of_a_class_that_keras_cannot_make() -> None:
    class Odd(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__(first, second)

    class Strict(Kept):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_max(x) > 50:
                raise Odd(1, 2)
            return x

    large = X.copy()
    large[9] = 100
    same(lambda: around(Strict()), lambda model: (fit(model, X, Y), fit(model, large, Y)))


def test_cell_that_counts_and_prints() -> None:
    class Cell(keras.layers.Layer):
        state_size = output_size = 2

        def __init__(self) -> None:
            super().__init__()
            self.time = 0

        def build(self, shape: Any) -> None:
            self.kernel = self.add_weight(shape=(shape[-1], 2), initializer=keras.initializers.GlorotUniform(seed=4))

        def call(self, x: tf.Tensor, states: Any) -> Any:
            self.time += 1
            state = tf.tanh(x @ self.kernel) + states[0]
            if self.time % 2 == 0:
                print("even", self.time)
                state = state * 0.5
            return state, [state]

    x = np.random.RandomState(0).randn(8, 4, 3).astype("float32")
    same(lambda: keras.Sequential([keras.Input((4, 3)), keras.layers.RNN(Cell()), dense(1)]),
         lambda model: (fit(model, x, Y[:8]), model.layers[0].cell.time), graph=False)


def test_several_outputs_and_a_shorter_last_batch() -> None:
    def make() -> keras.Model:
        entry = keras.Input((3,))
        return keras.Model(entry, {"p": dense(1)(entry), "q": dense(2, 2)(entry)})

    def run(model: keras.Model) -> Any:
        return model.fit(X, {"p": Y, "q": np.repeat(Y, 2, 1)}, batch_size=5, epochs=2, shuffle=False, verbose=0).history

    same(make, run, graph=False, loss={"p": "mse", "q": "mae"})


def test_part_of_a_model_is_frozen_by_its_step() -> None:
    class Thawing(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head, self.steps = dense(3), dense(1, 2), 0
            self.body.build((None, 3))
            self.head.build((None, 3))

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.head(self.body(x))

        def train_step(self, data: Any) -> Any:
            self.steps += 1
            self.body.trainable = self.steps % 2 == 1
            return super().train_step(data)

    same(Thawing, lambda model: (fit(model, X, Y), model.body.trainable, model.steps), graph=False)
