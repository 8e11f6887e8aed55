"""Training steps, callbacks and training loops as people write them."""

from __future__ import annotations

import collections
import logging
import random
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from tests.keras.compared import data, fit, same
from tests.keras.test_semantics import Kept, around, dense

X, Y = data(24)
X[4:8] -= 2.0


class Box:
    """A plain object, which Keras does not track."""


class Steps(keras.Model):
    """One layer; subclasses write the step."""

    def __init__(self, units: int = 1) -> None:
        super().__init__()
        self.net = dense(units, 3)
        self.net.build((None, 3))
        self.built = True
        self.box = Box()

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.net(x)

    def taken(self, x: tf.Tensor, y: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
        return loss, tape.gradient(loss, self.trainable_variables)

    def apply(self, gradients: Any) -> None:
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))


class Replay(Steps):
    """Q-learning with a buffer, a target network and epsilon-greedy actions."""

    def __init__(self) -> None:
        super().__init__(2)
        self.target = dense(2, 3)
        self.target.build((None, 3))
        self.box.buffer = collections.deque(maxlen=6)
        self.epsilon, self.step, self.synced = 1.0, 0, 0

    def train_step(self, data: Any) -> Any:
        x = data[0] if isinstance(data, tuple) else data
        for row in tf.unstack(x):
            if random.random() < self.epsilon:
                action = random.randrange(2)
            else:
                action = int(tf.argmax(self.net(row[None])[0]))
            self.box.buffer.append((row, action, 1.0 if action else -0.5))
        self.epsilon = max(0.1, self.epsilon * 0.8)
        rows, actions, rewards = zip(*random.sample(list(self.box.buffer), 3), strict=True)
        best = tf.reduce_max(self.target(tf.stack(rows)), 1)
        wanted = tf.constant(rewards) + 0.9 * best
        with tf.GradientTape() as tape:
            values = tf.gather(self.net(tf.stack(rows)), tf.constant(actions), batch_dims=1)
            loss = tf.reduce_mean(tf.square(values - wanted))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.step += 1
        if self.step % 3 == 0:
            self.target.set_weights(self.net.get_weights())
            self.synced += 1
        return {"loss": loss, "epsilon": self.epsilon}


def test_replay() -> None:
    same(Replay, lambda model: (fit(model, X), model.step, model.synced, model.epsilon, random.random()), graph=False)


class Critic(Steps):
    """Several updates of one part, then one of the other; a penalty; a counter in a dict."""

    def __init__(self) -> None:
        super().__init__(2)
        self.judge = dense(1, 5)
        self.judge.build((None, 2))
        self.counts = {"judge": 0, "net": 0}

    def train_step(self, data: Any) -> Any:
        x, y = data
        for _ in range(2):
            with tf.GradientTape() as tape:
                made = self.net(x)
                with tf.GradientTape() as inner:
                    inner.watch(made)
                    score = self.judge(made)
                slope = tf.norm(inner.gradient(score, made) + 1e-6, axis=1)
                loss = tf.reduce_mean(score) - tf.reduce_mean(y)
                if tf.reduce_mean(slope) > 0.5:
                    loss += 10.0 * tf.reduce_mean((slope - 0.5) ** 2)
            weights = self.judge.trainable_variables
            gradients = tape.gradient(loss, weights)
            for weight, gradient in zip(weights, gradients, strict=True):
                if gradient is not None:
                    weight.assign_sub(0.01 * gradient)
            self.counts["judge"] += 1
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.judge(self.net(x)))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables, strict=True))
        self.counts["net"] += 1
        return {"loss": loss, **self.counts}


def test_critic() -> None:
    same(Critic, lambda model: (fit(model, X, Y), dict(model.counts)))


class Teacher(Steps):
    """A mean teacher, pseudo labels, a curriculum over epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = dense(1, 3)
        self.teacher.build((None, 3))
        self.teacher.trainable = False
        self.used, self.level = 0, 0

    def train_step(self, data: Any) -> Any:
        x, y = data
        guess = self.teacher(x)
        sure = tf.abs(guess - y) < 0.5 + 0.5 * self.level
        if tf.reduce_any(sure):
            rows = tf.where(sure[:, 0])[:, 0]
            x, y = tf.gather(x, rows), tf.gather(guess, rows)
            self.used += int(tf.size(rows))
        loss, gradients = self.taken(x, y)
        self.apply(gradients)
        decay = min(0.9, (1 + self.used) / (10 + self.used))
        for old, new in zip(self.teacher.weights, self.net.weights, strict=True):
            old.assign(decay * old + (1 - decay) * new)
        return {"loss": loss, "used": self.used}


class Curriculum(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.model.level = epoch


def test_teacher() -> None:
    same(Teacher, lambda model: (fit(model, X, Y, 3, callbacks=[Curriculum()]), model.used, [np.array(w) for w in model.teacher.weights]))


class Meta(Steps):
    """Inner steps on copies of the weights; stops when they do not help."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        kernel, bias = self.net.kernel, self.net.bias
        with tf.GradientTape() as outer:
            w, b = tf.convert_to_tensor(kernel), tf.convert_to_tensor(bias)
            before = None
            for turn in range(3):
                with tf.GradientTape() as inner:
                    inner.watch([w, b])
                    loss = tf.reduce_mean((x[:2] @ w + b - y[:2]) ** 2)
                if before is not None and loss > before:
                    break
                before = loss
                dw, db = inner.gradient(loss, [w, b])
                w, b = w - 0.1 * dw, b - 0.1 * db
            final = tf.reduce_mean((x @ w + b - y) ** 2)
        self.optimizer.apply_gradients(zip(outer.gradient(final, [kernel, bias]), [kernel, bias], strict=True))
        return {"loss": final, "turns": turn}


def test_meta_learning() -> None:
    same(Meta, lambda model: fit(model, X, Y))


class Nan(Steps):
    """Skips bad batches, gives up after too many."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped: list[int] = []
        self.seen = 0

    def train_step(self, data: Any) -> Any:
        x, y = data
        self.seen += 1
        loss, gradients = self.taken(x, y)
        if tf.math.is_nan(loss):
            self.skipped.append(self.seen)
            logging.getLogger("steps").warning("batch %d is bad", self.seen)
            if len(self.skipped) > 2:
                raise FloatingPointError(f"{len(self.skipped)} bad batches")
            return {"loss": 0.0, "bad": 1}
        self.apply(gradients)
        return {"loss": loss, "bad": 0}


def test_bad_batches(caplog: pytest.LogCaptureFixture) -> None:
    x = X.copy()
    x[5] = x[17] = np.nan

    def run(model: keras.Model) -> Any:
        caplog.clear()
        try:
            found: Any = fit(model, x, Y, 3)
        except FloatingPointError as error:
            found = str(error)
        return found, list(model.skipped), model.seen, [record.getMessage() for record in caplog.records]

    same(Nan, run, graph=False)


class Window(Steps):
    """Prints, a file, a list of tensors; several steps at once."""

    def __init__(self) -> None:
        super().__init__()
        self.box.losses = []
        self.count = 0

    def train_step(self, data: Any) -> Any:
        x, y = data
        loss, gradients = self.taken(x, y)
        self.apply(gradients)
        self.count += 1
        self.box.losses.append(loss)
        if self.count % 2 == 0:
            print(f"step {self.count}: {float(loss):.3f}")
        return {"loss": loss}


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_several_steps_at_once(steps: int) -> None:
    same(Window, lambda model: (fit(model, X, Y), model.count, [float(one) for one in model.box.losses]), steps_per_execution=steps)


class Snapshot(keras.callbacks.Callback):
    """Reads what the step left; evaluates and predicts in the middle; stops."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.noted.append((batch, sorted(logs), float(self.model.box.norm)))
        if batch == 2:
            self.noted.append([float(one) for one in self.model.predict(X[:2], verbose=0)[:, 0]])
        if self.model.box.norm > 50:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.noted.append(float(self.model.evaluate(X[:4], Y[:4], verbose=0)))
        self.model.optimizer.learning_rate = 0.01 / (1 + epoch)


class Norm(Steps):
    def train_step(self, data: Any) -> Any:
        x, y = data
        loss, gradients = self.taken(x, y)
        self.box.norm = tf.linalg.global_norm(gradients)
        self.apply([g / self.box.norm if self.box.norm > 1 else g for g in gradients])
        return {"loss": loss}


def test_callbacks_that_use_the_model() -> None:
    def run(model: keras.Model) -> Any:
        snapshot = Snapshot()
        return fit(model, X, Y, 3, callbacks=[snapshot]), snapshot.noted, float(model.optimizer.learning_rate)

    same(Norm, run)


SCALE = 1.0
SETTINGS = {"clip": 1.0, "names": ["a"]}


class Globals(Steps):
    factor = 1.0

    def train_step(self, data: Any) -> Any:
        x, y = data
        loss, gradients = self.taken(x * SCALE, y)
        limit = SETTINGS["clip"]
        self.apply([tf.clip_by_value(g, -limit, limit) * self.factor for g in gradients])
        return {"loss": loss, "names": len(SETTINGS["names"])}


def test_globals_and_class_attributes_change() -> None:
    def run(model: keras.Model) -> Any:
        global SCALE
        SCALE, Globals.factor = 1.0, 1.0
        SETTINGS.update(clip=1.0, names=["a"])
        found = [fit(model, X, Y, 1)]
        SCALE = 0.5
        found.append(fit(model, X, Y, 1))
        SETTINGS["clip"] = 0.1
        SETTINGS["names"].append("b")
        found.append(fit(model, X, Y, 1))
        Globals.factor = 2.0
        return [*found, fit(model, X, Y, 1)]

    same(Globals, run)


class Contrast(Steps):
    """Two views by numpy's random numbers; views by tf.random with a seed."""

    def train_step(self, data: Any) -> Any:
        x, y = data
        crop = np.random.randint(0, 3)
        noise = tf.random.stateless_normal(tf.shape(x), [1, 2]) * 0.1
        first = x if np.random.rand() < 0.5 else -x
        second = tf.roll(x + noise, int(crop), 1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.net(first) - self.net(second)) ** 2) + tf.reduce_mean((self.net(x) - y) ** 2)
        self.apply(tape.gradient(loss, self.trainable_variables))
        return {"loss": loss, "crop": crop}


def test_numpy_random_views() -> None:
    same(Contrast, lambda model: (fit(model, X, Y), float(np.random.rand())))


def test_generator_with_state_and_class_weights() -> None:
    class Batches(keras.utils.PyDataset):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[int] = []

        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> Any:
            self.asked.append(i)
            return X[4 * i:4 * i + 4], (Y[4 * i:4 * i + 4] > 0).astype("float32")

    class Gate(Kept):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            return x * 0.5 if tf.reduce_sum(x) > 0 else x

    def run(model: keras.Model) -> Any:
        history = model.fit(Batches(), epochs=2, shuffle=False, verbose=0, class_weight={0: 1.0, 1: 2.0}).history
        return {name: [float(one) for one in values] for name, values in history.items()}

    same(lambda: around(Gate()), run)


def test_dict_inputs_and_nested_outputs() -> None:
    class Nested(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = dense(1, 2), dense(2, 4)
            self.first.build((None, 3))
            self.second.build((None, 3))
            self.built = True

        def call(self, inputs: Any, training: bool = False) -> Any:
            x, extra = inputs["x"], inputs.get("extra")
            if extra is not None and tf.reduce_mean(extra) > 0:
                x = x + extra
            return {"one": self.first(x), "both": (x[:, :1], self.second(x))}

        def train_step(self, data: Any) -> Any:
            inputs, y = data
            with tf.GradientTape() as tape:
                outputs = self(inputs, training=True)
                one, (kept, both) = outputs["one"], outputs["both"]
                loss = tf.reduce_mean((one - y) ** 2) + tf.reduce_mean(both ** 2 + kept)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
            return {"loss": loss, "parts": {"kept": tf.reduce_mean(kept)}}

    def run(model: keras.Model) -> Any:
        found = [model.train_on_batch({"x": X[:4], "extra": X[4:8]}, Y[:4], return_dict=True) for _ in range(3)]
        return found, model.predict({"x": X, "extra": X}, 4, verbose=0), model.predict({"x": X[:8]}, 4, verbose=0)

    same(Nested, run)


def test_wrapping_is_left_and_entered() -> None:
    def run(model: keras.Model) -> Any:
        return fit(model, X, Y, 1), model.count

    with imp2tf.keras.wrapping():
        same(Window, run)
