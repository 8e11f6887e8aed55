"""Layers as people write them: control flow, containers, caches, masks, cells, with plain Python in them."""

from __future__ import annotations

import collections
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from tests.differential import check
from tests.keras.compared import data, fit, same
from tests.keras.test_semantics import Kept, around, dense
from tests.programs import World, call, f32, i32

X, Y = data(16)
X[4:8] -= 2.0
X[8:12] *= 0.1


class MatchOnInt(Kept):
    def call(self, x: tf.Tensor) -> tf.Tensor:
        match int(tf.argmax(tf.reduce_mean(x, 0))):
            case 0:
                return tf.nn.relu(x)
            case 1 | 2 if tf.reduce_sum(x) > 0:
                return tf.tanh(x)
            case other:
                return x * float(other)


class EarlyExits(Kept):
    """Blocks until the answer is sure enough; counts where it left."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [dense(3, i) for i in range(4)]
        self.left = {"early": 0, "late": 0}

    def build(self, shape: Any) -> None:
        for block in self.blocks:
            block.build(shape)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        for i, block in enumerate(self.blocks):
            x = tf.tanh(block(x))
            if 0.1 < tf.reduce_max(tf.abs(x)) < 0.6 and i >= 1:
                self.left["early"] += 1
                break
        else:
            self.left["late"] += 1
        return x


class Newton(Kept):
    """Square roots by iteration, with a list of errors."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[int] = []

    def call(self, x: tf.Tensor) -> tf.Tensor:
        a = tf.abs(x) + 0.1
        r = a
        errors = []
        while (error := tf.reduce_max(tf.abs(r * r - a))) > 1e-3:
            errors.append(error)
            r = 0.5 * (r + a / r)
            if len(errors) == 12:
                break
        self.turns.append(len(errors))
        return r + 0.0 * tf.add_n(errors) if errors else r


class StepsWithMask(Kept):
    """Walks over time steps, skips what is masked."""

    def __init__(self) -> None:
        super().__init__()
        self.supports_masking = True
        self.skipped = 0

    def call(self, x: tf.Tensor, mask: Any = None) -> tf.Tensor:
        total = tf.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            if mask is not None and not tf.reduce_any(mask[:, t]):
                self.skipped += 1
                continue
            keep = tf.ones_like(x[:, t, :1]) if mask is None else tf.cast(mask[:, t], x.dtype)[:, None]
            total = total + keep * x[:, t]
        return total

    def compute_mask(self, x: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, shape: Any) -> Any:
        return (shape[0], shape[2])


class CacheByShape(Kept):
    """A table of positions, made once for each length."""

    def __init__(self) -> None:
        super().__init__()
        self.made = {"count": 0}
        self.table: dict[Any, Any] = {}

    def call(self, x: tf.Tensor) -> tf.Tensor:
        key = x.shape[-1]
        if key not in self.table:
            self.table[key] = tf.range(key, dtype=x.dtype) * 0.1
            self.made["count"] += 1
        return x + self.table[key]


class Recent(Kept):
    """The means of the last calls, in a deque of Python floats."""

    def __init__(self) -> None:
        super().__init__()
        self.means: collections.deque[float] = collections.deque(maxlen=3)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        if training:
            self.means.append(float(tf.reduce_mean(x)))
        if len(self.means) == 3 and max(self.means) - min(self.means) > 0.5:
            return x * 0.5
        return x - sum(self.means) / max(1, len(self.means))


class Router(Kept):
    """Rows go to experts by their sign; a report for each call."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = {"neg": dense(3, 5), "pos": dense(3, 6)}
        self.load = collections.Counter()

    def build(self, shape: Any) -> None:
        for expert in self.experts.values():
            expert.build(shape)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        rows = []
        for row in tf.unstack(x):
            name = "pos" if tf.reduce_sum(row) > 0 else "neg"
            self.load[name] += 1
            rows.append(self.experts[name](row[None])[0])
        print("load", dict(self.load))
        return tf.stack(rows)


class Clip(Kept):
    """Helpers, static methods, properties, class attributes."""

    LIMIT = 1.0
    seen = 0

    @property
    def limit(self) -> float:
        return self.LIMIT + 0.1 * self.seen

    @staticmethod
    def clipped(x: tf.Tensor, limit: float) -> tf.Tensor:
        return tf.clip_by_norm(x, limit) if tf.norm(x) > limit else x

    @classmethod
    def note(cls) -> None:
        cls.seen += 1

    def call(self, x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_any(x > 2):
            self.note()
        return self.clipped(x, self.limit)


class Guarded(Kept):
    """An assertion, an exception that it handles itself, a finally."""

    def __init__(self) -> None:
        super().__init__()
        self.handled = self.done = 0

    def scale(self, x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_max(x) < 0.5:
            raise ValueError(f"too small: {float(tf.reduce_max(x)):.2f}")
        return x / tf.reduce_max(x)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        assert tf.reduce_all(tf.math.is_finite(x)), "not finite"
        try:
            return self.scale(x)
        except ValueError as error:
            self.handled += 1
            print(error)
            return x * 0.1
        finally:
            self.done += 1


class Attention(Kept):
    """Keeps its scores; leaves out heads that are switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = [dense(3, i) for i in range(3)]
        self.off = {1}
        self.scores: Any = None

    def build(self, shape: Any) -> None:
        for head in self.heads:
            head.build(shape)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        outputs = [tf.nn.softmax(head(x)) for i, head in enumerate(self.heads) if i not in self.off]
        self.scores = tf.stack([tf.reduce_mean(one) for one in outputs])
        best = outputs[0]
        for one in outputs[1:]:
            if tf.reduce_max(one) > tf.reduce_max(best):
                best = one
        return best * x


class WithNumpy(Kept):
    """NumPy on constants and on what the run computes."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel_ = np.linspace(-1.0, 1.0, 3).astype("float32")
        self.worst: list[int] = []

    def call(self, x: tf.Tensor) -> tf.Tensor:
        scores = np.abs(x.numpy() if hasattr(x, "numpy") else x).sum(1)
        worst = int(np.argmax(scores))
        self.worst.append(worst)
        return x * self.kernel_ - (x[worst] if scores[worst] > 3.0 else 0.0)


LAYERS = [MatchOnInt, EarlyExits, Newton, CacheByShape, Recent, Router, Clip, Guarded, Attention]


def state(layer: Any) -> Any:
    """The Python state of a layer."""
    names = ("left", "turns", "made", "load", "handled", "done", "worst", "skipped")
    found = {name: getattr(layer, name) for name in names if hasattr(layer, name)}
    return {name: dict(one) if isinstance(one, dict) else list(one) if isinstance(one, list) else one for name, one in found.items()}


@pytest.mark.parametrize("layer", LAYERS)
def test_layer(layer: Any) -> None:
    Clip.seen = 0

    def run(model: keras.Model) -> Any:
        Clip.seen = 0
        found = fit(model, X, Y), model.predict(X[:8], 4, verbose=0), state(model.layers[0])
        return *found, Clip.seen, [float(one) for one in getattr(model.layers[0], "means", ())]

    same(lambda: around(layer()), run)


def test_numpy_in_a_layer() -> None:
    def make() -> keras.Model:
        class Whole(keras.Model):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.last = WithNumpy(), dense(1)
                self.first.built = True
                self.last.build((None, 3))

            def call(self, x: tf.Tensor) -> tf.Tensor:
                return self.last(self.first(x))

        return Whole()

    same(make, lambda model: (fit(model, X, Y), state(model.first)))


def test_mask_from_a_masking_layer() -> None:
    x = np.random.RandomState(1).randn(12, 4, 3).astype("float32")
    x[:, 2] = 0.0
    x[4:8, 0] = 0.0
    y = x.sum((1, 2))[:, None].astype("float32")

    def make() -> keras.Model:
        return keras.Sequential([keras.Input((4, 3)), keras.layers.Masking(), StepsWithMask(), dense(1, 9)])

    same(make, lambda model: (fit(model, x, y), model.layers[1].skipped))


class NotingCell(keras.layers.Layer):
    """A cell with a threshold, a list and a print."""

    def __init__(self) -> None:
        super().__init__()
        self.state_size = self.output_size = 2
        self.resets: list[int] = []
        self.t = 0

    def build(self, shape: Any) -> None:
        self.inner = dense(2, 4)
        self.inner.build((None, shape[-1] + 2))

    def call(self, x: tf.Tensor, states: Any, training: bool = False) -> Any:
        h = states[0]
        self.t += 1
        if tf.reduce_max(tf.abs(h)) > 0.8:
            self.resets.append(self.t)
            h = tf.zeros_like(h)
        h = tf.tanh(self.inner(tf.concat([x, h], -1)))
        return h, [h]


@pytest.mark.parametrize("unroll", [False, True])
def test_cell_with_a_list(unroll: bool) -> None:
    x = np.random.RandomState(1).randn(12, 5, 3).astype("float32") * 3
    y = x.sum((1, 2))[:, None].astype("float32")
    same(lambda: keras.Sequential([keras.Input((5, 3)), keras.layers.RNN(NotingCell(), unroll=unroll), dense(1)]),
         lambda model: (fit(model, x, y, 1), list(model.layers[0].cell.resets), model.layers[0].cell.t))


def test_stateful_and_stacked_cells() -> None:
    x = np.random.RandomState(1).randn(8, 3, 2).astype("float32") * 2
    y = x.sum((1, 2))[:, None].astype("float32")

    def make() -> keras.Model:
        cells = [keras.layers.SimpleRNNCell(2, kernel_initializer=keras.initializers.GlorotUniform(seed=1),
                                            recurrent_initializer=keras.initializers.GlorotUniform(seed=2)), NotingCell()]
        return keras.Sequential([keras.Input(batch_shape=(4, 3, 2)), keras.layers.RNN(cells, stateful=True), dense(1)])

    same(make, lambda model: (fit(model, x, y), model.layers[0].cell.cells[1].t, [np.array(one) for one in model.layers[0].states[:1]]))


class Speaking(keras.layers.Layer):
    """Counts its calls, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def compute_output_shape(self, shape: Any) -> Any:
        return shape

    def call(self, x: tf.Tensor) -> tf.Tensor:
        self.times += 1
        if tf.reduce_sum(x) > -1000.0:
            print("call", self.times)
        return x * 2.0


def test_layer_that_prints_and_counts_before_a_loss_that_may_fail() -> None:
    labels = np.zeros(len(X), "int32")
    bad = labels.copy()
    bad[5] = 9  # of two classes

    def run(model: keras.Model) -> Any:
        history = fit(model, X, labels)
        try:
            fit(model, X, bad)
        except tf.errors.InvalidArgumentError as error:
            failure = type(error).__name__
        return history, failure, model.layers[0].times

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = same(lambda: keras.Sequential([keras.Input((3,)), Speaking(), dense(2)]), run, graph=False, loss=loss)
    train = imp2tf.keras.stats(model)["train"]
    assert train["eager_calls"] == 2, train  # the first call, and the one that fails


def test_step_that_calls_layers_that_print_before_an_operation_fails() -> None:
    def make() -> World:
        layers = keras.Sequential([Speaking(), Speaking()])
        layers(tf.zeros([1, 2]))
        weight, seen = tf.Variable(1.0), []

        def step(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
            y = layers(x)
            weight.assign_add(1.0)
            seen.append(i)
            return tf.gather(tf.reshape(y, [-1]), i) * weight

        calls = [call(f32([[1.0, 2.0]]), i32(i)) for i in (0, 1, 9, 0, 7, 1)]
        return step, calls, lambda: (weight, seen, [one.times for one in layers.layers])

    check(make)
    check(make, convert_kw={"profile_runs": 1})


class Forwarding(keras.layers.Layer):
    """Calls another layer twice."""

    def __init__(self, inner: keras.layers.Layer) -> None:
        super().__init__()
        self.inner = inner

    def compute_output_shape(self, shape: Any) -> Any:
        return shape

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.inner(x) if tf.reduce_sum(x) > 0.0 else self.inner(x) + self.inner(-x)


def test_step_that_calls_layers_with_a_call_of_their_own() -> None:
    def make() -> World:
        inner = keras.layers.Identity()
        inner.call = lambda x: x * 3.0 if tf.reduce_sum(x) > 0.0 else x * 5.0
        layers = keras.Sequential([Forwarding(inner), inner])
        layers(tf.ones([1, 2]))
        return layers, [call(f32([[one, 1.0]])) for one in (1.0, -3.0, 2.0)], lambda: "call" in vars(inner)

    check(make, graph=True)
    check(make, convert_kw={"profile_runs": 1}, repeat=3)


def test_objects_are_not_asked_whether_they_are_layers() -> None:
    class Asked(list):
        def __getattr__(self, name: str) -> Any:
            print("asked for", name)
            raise AttributeError(name)

    def make() -> World:
        words = Asked()

        def step(x: tf.Tensor) -> tf.Tensor:
            words.append(len(words))
            return x * len(words)

        return step, [call(f32(1.0)), call(f32(2.0))], lambda: list(words)

    check(make, convert_kw={"profile_runs": 1})
