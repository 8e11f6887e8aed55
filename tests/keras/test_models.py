"""Models of all kinds, with Python in every place where Keras calls the user's code."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from tests.keras.compared import data, fit, same

X, Y = data()


class Gate(keras.layers.Layer):
    """An ``if`` on a tensor, an attribute that counts, a print."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.opened = 0

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_sum(x) > 0:
            self.opened += 1
            print("open", self.opened)
            return x * 2.0
        return -x

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


def sequential() -> keras.Model:
    return keras.Sequential([Gate(), keras.layers.Dense(1)])


def functional() -> keras.Model:
    entry = keras.Input((3,))
    inner = keras.Sequential([keras.Input((3,)), Gate(), keras.layers.Dense(3)])
    return keras.Model(entry, keras.layers.Dense(1)(inner(Gate()(entry))))


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [Gate(), keras.layers.Dense(3), Gate()]
        self.head = keras.layers.Dense(1)
        self.calls = 0

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        self.calls += 1
        for block in self.blocks:
            x = block(x)
        if training and tf.reduce_max(x) > 1.0:
            x = tf.clip_by_value(x, -1.0, 1.0)
        return self.head(x)


def everything(model: keras.Model) -> Any:
    """Training with validation, evaluation, prediction, single batches."""
    found = [fit(model, X, Y, validation_data=(X, Y)), model.evaluate(X, Y, batch_size=4, verbose=0), model.predict(X, 4, verbose=0)]
    found += [model.train_on_batch(X[:4], Y[:4]), model.test_on_batch(X[:4], Y[:4]), model.predict_on_batch(X[:4])]
    return found


@pytest.mark.parametrize("make", [sequential, functional, Subclassed])
def test_kinds_of_models(make: Callable[[], keras.Model]) -> None:
    same(make, everything)


@pytest.mark.parametrize("options", [{"steps_per_execution": 2}, {"optimizer": "adam", "metrics": ["mae"]}, {"jit_compile": True}])
def test_compile_options(options: dict[str, Any]) -> None:
    same(functional, everything, **options)


def test_state_is_seen_between_fits() -> None:
    def run(model: keras.Model) -> Any:
        first = fit(model, X, Y)
        model.layers[0].opened = 100
        return first, fit(model, X, Y), model.layers[0].opened

    same(sequential, run)


def test_generator_and_dataset() -> None:
    def batches() -> Any:
        for i in range(0, 12, 4):
            yield X[i:i + 4], Y[i:i + 4]

    def run(model: keras.Model) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(5)
        return model.fit(batches(), verbose=0).history, model.fit(dataset, epochs=3, verbose=0).history

    same(sequential, run)


def test_exception_of_a_layer() -> None:
    class Picky(keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_max(x) > 50:
                raise ArithmeticError(f"too large: {float(tf.reduce_max(x)):.1f}")
            return x

        def compute_output_shape(self, shape: Any) -> Any:
            return shape

    large = X.copy()
    large[9] = 100

    def run(model: keras.Model) -> Any:
        return fit(model, X, Y), fit(model, large, Y)

    same(lambda: keras.Sequential([Picky(), keras.layers.Dense(1)]), run)


def test_gan() -> None:
    class Gan(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.maker, self.judge = keras.layers.Dense(3), keras.layers.Dense(1)
            self.maker.build((None, 2))
            self.judge.build((None, 3))
            self.built = True
            self.turns = 0

        def compile(self, maker: Any, judge: Any, **options: Any) -> None:
            super().compile(**options)
            self.maker_optimizer, self.judge_optimizer = maker, judge
            self.losses_seen = keras.metrics.Mean(name="loss")

        @property
        def metrics(self) -> list[Any]:
            return [self.losses_seen]

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.judge(x)

        def train_step(self, real: tf.Tensor) -> dict[str, Any]:
            noise = real[:, :2]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.judge(real)) - tf.reduce_mean(self.judge(self.maker(noise)))
            weights = self.judge.trainable_weights
            self.judge_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            self.turns += 1
            if self.turns % 2 == 0:
                with tf.GradientTape() as tape:
                    loss = -tf.reduce_mean(self.judge(self.maker(noise)))
                weights = self.maker.trainable_weights
                self.maker_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            self.losses_seen.update_state(loss)
            return {"loss": self.losses_seen.result(), "turns": self.turns}

    same(Gan, lambda model: (fit(model, X, epochs=3), model.turns), loss=None,
         maker=lambda: keras.optimizers.SGD(0.1), judge=lambda: keras.optimizers.SGD(0.1))


def test_wrapped_class_and_context() -> None:
    @imp2tf.keras.wrap
    class Mine(Subclassed):
        pass

    model = Mine()
    assert imp2tf.keras.is_wrapped(model)
    plain = sequential()
    assert not imp2tf.keras.is_wrapped(plain)
    plain.compile("sgd", "mse", jit_compile=False)
    with imp2tf.keras.wrapping():
        assert fit(plain, X, Y)
    assert imp2tf.keras.stats(plain)["train"]["graph_calls"] == 5


def test_what_keras_does_with_a_model_still_works(tmp_path: Any) -> None:
    model = imp2tf.keras.wrap(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(1)]))
    model.compile("adam", "mse", jit_compile=False)
    fit(model, X, Y)
    expected = model.predict(X, verbose=0)
    model.save(tmp_path / "model.keras")
    for other in (keras.saving.load_model(tmp_path / "model.keras"), keras.models.clone_model(model)):
        other.set_weights(model.get_weights())
        np.testing.assert_allclose(other.predict(X, verbose=0), expected, rtol=1e-5)
        assert not imp2tf.keras.is_wrapped(other)
    model.save_weights(tmp_path / "model.weights.h5")
    model.load_weights(tmp_path / "model.weights.h5")
    tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    model.summary(print_fn=lambda *_: None)
    np.testing.assert_allclose(model.predict(X, verbose=0), expected, rtol=1e-5)


def test_only_models_are_wrapped() -> None:
    with pytest.raises(TypeError, match="must be a Keras model"):
        imp2tf.keras.wrap(keras.layers.Dense(1))  # type: ignore[type-var]


def test_call_is_a_graph_and_differentiable() -> None:
    def run(model: keras.Model) -> Any:
        model(X[:4])
        found = []
        for scale in (1.0, -1.0, 2.0):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(tf.constant(X[:4] * scale), training=True) ** 2)
            found.append((loss, tape.gradient(loss, model.trainable_variables)))
        return found, model.layers[0].opened

    wrapped = same(sequential, run, graph=False)
    assert imp2tf.keras.stats(wrapped)["call"]["graph_calls"] == 2


def test_call_in_a_graph_of_somebody_else(tmp_path: Any) -> None:
    model = imp2tf.keras.wrap(sequential())
    model(X[:4])
    found = tf.function(lambda x: model(x))(tf.constant(X[:4]))
    np.testing.assert_allclose(found, model(X[:4]), rtol=1e-5)


def test_losses_of_a_call() -> None:
    class Penalized(keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_sum(x) > 0:
                self.add_loss(tf.reduce_mean(x**2))
            return x

        def compute_output_shape(self, shape: Any) -> Any:
            return shape

    def run(model: keras.Model) -> Any:
        found = []
        for scale in (1.0, -1.0, 3.0, 2.0):
            model(tf.constant(X[:4] * scale))
            found.append([float(loss) for loss in model.losses])
        return found

    same(lambda: keras.Sequential([keras.Input((3,)), Penalized(), keras.layers.Dense(1, kernel_regularizer="l2")]), run, graph=False)
