"""Losses, metrics, optimizers, schedules, regularizers and constraints with plain Python in them."""

from __future__ import annotations

import collections
import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.keras.compared import data, fit, same
from tests.keras.test_semantics import dense

X, Y = data(16)
X[4:8] -= 2.0


def linear(units: int = 1, **options: Any) -> keras.Model:
    first = keras.layers.Dense(units, kernel_initializer=keras.initializers.GlorotUniform(seed=1), **options)
    return keras.Sequential([keras.Input((3,)), first])


def test_hard_negatives_sorted() -> None:
    def loss(target: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
        errors = tf.reshape(tf.abs(target - output), [-1])
        hard = sorted(tf.unstack(errors), key=lambda one: -one)[:2]
        return tf.add_n(hard) / len(hard)

    same(linear, lambda model: fit(model, X, Y), loss=loss)


def test_history_of_losses() -> None:
    class Relative(keras.losses.Loss):
        """The loss against the mean of the last ones."""

        def __init__(self) -> None:
            super().__init__()
            self.past = {"values": []}

        def call(self, target: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
            now = tf.reduce_mean(tf.square(target - output))
            past = self.past["values"]
            scale = 1.0 if not past else 1.0 / (0.1 + sum(past) / len(past))
            past.append(float(now))
            if len(past) > 3:
                past.pop(0)
            return now * scale

    made = []

    def loss() -> Any:
        made.append(Relative())
        return made[-1]

    same(linear, lambda model: (fit(model, X, Y), list(made[-1].past["values"])), loss=lambda: loss())


def test_weights_of_classes_by_key() -> None:
    weights = {0: 1.0, 1: 2.0, 2: 0.5}

    def loss(target: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
        total = 0.0
        for label, row in zip(target, output, strict=True):
            k = int(label[0])
            total += weights[k] * -tf.nn.log_softmax(row)[k]
        return total / float(len(output))

    labels = (np.abs(Y) * 2 % 3).astype("int32")
    same(lambda: linear(3), lambda model: fit(model, X, labels), loss=loss)


def test_focal_loss_tuned_by_a_callback() -> None:
    class Focal(keras.losses.Loss):
        def __init__(self) -> None:
            super().__init__()
            self.gamma = 2.0

        def call(self, target: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
            p = tf.sigmoid(output)
            if self.gamma > 0 and tf.reduce_mean(p) > 0.4:
                p = p ** self.gamma
            return -tf.reduce_mean(target * tf.math.log(p + 1e-6), -1)

    class Tune(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.model.loss.gamma *= 0.5
            if epoch == 2:
                self.model.loss.gamma = 0

    same(linear, lambda model: (fit(model, X, (Y > 0).astype("float32"), 5, callbacks=[Tune()]), model.loss.gamma),
         loss=lambda: Focal())


def test_triplets() -> None:
    def loss(target: tf.Tensor, output: tf.Tensor) -> tf.Tensor:
        terms = []
        for i in range(output.shape[0]):
            best = None
            for j in range(output.shape[0]):
                if i == j:
                    continue
                distance = tf.norm(output[i] - output[j] + 0.01)
                if best is None or distance < best:
                    best = distance
            if best < 1.0:
                terms.append(1.0 - best)
        return sum(terms) / max(len(terms), 1) if terms else tf.reduce_sum(output) * 0.0

    same(lambda: linear(2), lambda model: fit(model, X, Y, 1), loss=loss)


class Box:
    """A plain object, which Keras does not track."""


class Confusion(keras.metrics.Metric):
    """Python dicts and sets, keyed by numbers of the batch."""

    def __init__(self, name: str = "confusion") -> None:
        super().__init__(name=name)
        self.box = Box()
        self.box.kept = collections.Counter()
        self.labels: set[int] = set()

    def update_state(self, target: tf.Tensor, output: tf.Tensor, sample_weight: Any = None) -> None:
        for a, b in zip(target[:, 0], output[:, 0], strict=True):
            key = (int(a > 0), int(b > 0))
            self.box.kept[key] += 1
            self.labels.add(int(a > 0))

    def result(self) -> float:
        right = sum(count for (a, b), count in self.box.kept.items() if a == b)
        return right / max(1, sum(self.box.kept.values()))

    def reset_state(self) -> None:
        self.box.kept.clear()
        self.labels.clear()


def test_metric_with_dict_and_set() -> None:
    same(linear, lambda model: (fit(model, X, Y, validation_data=(X, Y)), model.evaluate(X, Y, 4, verbose=0, return_dict=True)),
         graph=False, metrics=lambda: [Confusion()])


class Buffered(keras.metrics.Metric):
    """Collects arrays; the area under the curve at the end."""

    def __init__(self, name: str = "auc") -> None:
        super().__init__(name=name)
        self.scores: Any = []
        self.labels: Any = []

    def update_state(self, target: tf.Tensor, output: tf.Tensor, sample_weight: Any = None) -> None:
        self.scores.append(output.numpy().ravel())
        self.labels.append(target.numpy().ravel() > 0)

    def result(self) -> float:
        if not self.scores:
            return 0.0
        scores, labels = np.concatenate(self.scores), np.concatenate(self.labels)
        ranks = np.argsort(np.argsort(scores)) + 1
        positive = labels.sum()
        negative = len(labels) - positive
        return float((ranks[labels].sum() - positive * (positive + 1) / 2) / max(1, positive * negative))

    def reset_state(self) -> None:
        self.scores, self.labels = [], []


def test_metric_with_buffers() -> None:
    """A graph for each number of arrays: where these are seldom used, steps run as Python."""
    same(linear, lambda model: (fit(model, X, Y, validation_data=(X, Y)), model.evaluate(X, Y, 4, verbose=0, return_dict=True)),
         graph=False, metrics=lambda: [Buffered()])


class Best(keras.metrics.Mean):
    """A stock metric with a memory."""

    def __init__(self, name: str = "best") -> None:
        super().__init__(name=name)
        self.record = math.inf
        self.improved = 0

    def update_state(self, values: Any, output: Any = None, sample_weight: Any = None) -> Any:
        error = tf.reduce_mean(tf.abs(values - output))
        if error < self.record:
            self.record = float(error)
            self.improved += 1
        return super().update_state(error)


def test_subclass_of_a_stock_metric() -> None:
    same(linear, lambda model: (fit(model, X, Y), [one.improved for one in model.metrics[1].metrics]), metrics=lambda: [Best()])


class Momentum(keras.optimizers.Optimizer):
    """A dict of Python floats, and slots in a dict."""

    def __init__(self) -> None:
        super().__init__(learning_rate=0.05)
        self.norms: dict[str, float] = {}
        self.slots: dict[str, Any] = {}

    def build(self, variables: Any) -> None:
        super().build(variables)
        for one in variables:
            self.slots[one.path] = self.add_variable_from_reference(one, name="m")

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: Any) -> None:
        norm = tf.norm(gradient)
        self.norms[variable.name] = float(norm)
        slot = self.slots[variable.path]
        if norm > 2.0:
            gradient = gradient * (2.0 / norm)
        slot.assign(0.9 * slot + gradient)
        variable.assign_sub(tf.cast(learning_rate, variable.dtype) * slot)


def test_optimizer_with_dicts() -> None:
    same(linear, lambda model: (fit(model, X, Y), dict(model.optimizer.norms)), optimizer=lambda: Momentum())


class Restarts(keras.optimizers.schedules.LearningRateSchedule):
    """A loop over restarts, a list of boundaries."""

    def __init__(self) -> None:
        self.boundaries = [(2, 0.1), (5, 0.05), (9, 0.02)]

    def __call__(self, step: Any) -> Any:
        for limit, rate in self.boundaries:
            if step < limit:
                return rate
        period, left = 4, tf.cast(step, tf.int32) - 9
        while left >= period:
            left -= period
            period *= 2
        return 0.02 * (0.5 + 0.5 * tf.cos(math.pi * tf.cast(left, tf.float32) / period))

    def get_config(self) -> dict[str, Any]:
        return {}


def test_schedule_with_a_loop() -> None:
    same(linear, lambda model: fit(model, X, Y, 5), optimizer=lambda: keras.optimizers.SGD(Restarts()))


class Annealed(keras.regularizers.Regularizer):
    """Strength that falls with each call; a term for each row that is too large."""

    def __init__(self) -> None:
        self.strength = 0.1
        self.large = 0

    def __call__(self, weights: tf.Tensor) -> tf.Tensor:
        self.strength *= 0.95
        rows = [row for row in tf.unstack(weights) if tf.norm(row) > 0.4]
        self.large = len(rows)
        return self.strength * tf.add_n([tf.reduce_sum(row ** 2) for row in rows]) if rows else 0.0


def test_regularizer_with_state() -> None:
    made: list[Annealed] = []

    def make() -> keras.Model:
        made.append(Annealed())
        return linear(2, kernel_regularizer=made[-1])

    same(make, lambda model: (fit(model, X, np.repeat(Y, 2, 1)), made[-1].strength, made[-1].large))


class Alternate(keras.constraints.Constraint):
    """Every second call, and only what is too large."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, weights: tf.Tensor) -> tf.Tensor:
        self.calls += 1
        if self.calls % 2:
            return weights
        largest = tf.reduce_max(tf.abs(weights))
        if largest > 0.3:
            return weights * (0.3 / largest)
        return weights


def test_constraint_with_a_counter() -> None:
    made: list[Alternate] = []

    def make() -> keras.Model:
        made.append(Alternate())
        return linear(kernel_constraint=made[-1])

    same(make, lambda model: (fit(model, X, Y), made[-1].calls))


def test_mixed_precision_and_scaling() -> None:
    class Half(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.overflows = 0

        def call(self, x: tf.Tensor) -> tf.Tensor:
            if tf.reduce_max(tf.abs(x)) > 2:
                self.overflows += 1
                return x / 2
            return x

        def compute_output_shape(self, shape: Any) -> Any:
            return shape

    def make() -> keras.Model:
        keras.config.set_dtype_policy("mixed_float16")
        try:
            return keras.Sequential([keras.Input((3,)), dense(3, 2), Half(), keras.layers.Dense(1, dtype="float32")])
        finally:
            keras.config.set_dtype_policy("float32")

    same(make, lambda model: (fit(model, X, Y), model.layers[1].overflows),
         optimizer=lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.01)))
