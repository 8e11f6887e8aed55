"""`imp2tf.save`: what is not about the results of a served program."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf

ROW = tf.TensorSpec([None], tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)


class Smoother:
    """Keeps an average of what it was given."""

    def __init__(self):
        self.average, self.n = None, 0

    @imp2tf.convert(input_signature=[tf.TensorSpec([None], tf.float32, name="values")])
    def step(self, x):
        self.n += 1
        if self.average is None:
            self.average = tf.reduce_mean(x)
        else:
            self.average = 0.5 * self.average + 0.5 * tf.reduce_mean(x)
        mode = "first" if self.n == 1 else "later"
        return {"average": self.average, "n": self.n, "mode": mode}


def load(path):
    return tf.saved_model.load(str(path))


def test_saved_model_cli(tmp_path):
    imp2tf.save(Smoother(), tmp_path / "model")
    np.save(tmp_path / "x.npy", np.array([1.0, 3.0], np.float32))
    command = [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", "run", "--dir", str(tmp_path / "model"),
               "--tag_set", "serve", "--signature_def", "serving_default", "--inputs", f"values={tmp_path / 'x.npy'}",
               "--outdir", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    found = {one.stem: np.load(one, allow_pickle=True).tolist() for one in (tmp_path / "out").iterdir()}
    assert found == {"average": 2.0, "n": 1, "mode": b"first"}


def test_names_and_notes(tmp_path):
    imp2tf.save(Smoother(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert list(loaded.signatures["serving_default"].structured_input_signature[1]) == ["values"]
    assert sorted(loaded.signatures["serving_default"].structured_outputs) == ["average", "mode", "n"]
    notes = json.loads((tmp_path / "model" / "assets.extra" / "imp2tf.json").read_text())
    (function,) = notes["functions"].values()
    assert function["outputs"] == {"n": "int", "mode": "one of ['first', 'later']"}
    assert sorted(notes["state"]) == ["average", "average_kind", "n"]


def test_state_in_checkpoints(tmp_path):
    imp2tf.save(Smoother(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    loaded.step(tf.constant([1.0]))
    path = tf.train.Checkpoint(root=loaded).save(str(tmp_path / "state" / "c"))
    expected = [loaded.step(tf.constant([5.0]))["average"].numpy() for _ in range(2)]
    tf.train.Checkpoint(root=loaded).restore(path).assert_consumed()
    assert [loaded.step(tf.constant([5.0]))["average"].numpy() for _ in range(2)] == expected
    again = load(tmp_path / "model")
    tf.train.Checkpoint(root=again).restore(path).assert_consumed()
    assert again.n.numpy() == 1
    assert again.step(tf.constant([5.0]))["average"].numpy() == expected[0]


def test_checkpoint_of_the_program(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [tf.Module(), tf.Module()]
            self.layers[0].w, self.layers[1].w = tf.Variable(1.0), tf.Variable(2.0)
            self.named = {"bias": tf.Variable(0.0)}

        @imp2tf.convert(input_signature=[ROW])
        def __call__(self, x):
            for layer in self.layers:
                x = x * layer.w
            return x + self.named["bias"]

    net = Net()
    imp2tf.save(net, tmp_path / "model")
    net.layers[1].w.assign(5.0)
    net.named["bias"].assign(1.0)
    path = tf.train.Checkpoint(root=net).write(str(tmp_path / "trained"))
    loaded = load(tmp_path / "model")
    tf.train.Checkpoint(root=loaded).read(path).expect_partial()
    assert loaded(tf.constant([2.0])).numpy() == [11.0]


def test_saved_again_after_loading(tmp_path):
    imp2tf.save(Smoother(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    loaded.step(tf.constant([1.0]))
    tf.saved_model.save(loaded, str(tmp_path / "again"))
    again = load(tmp_path / "again")
    assert again.step(tf.constant([5.0]))["average"].numpy() == 3.0


def test_trained_after_loading(tmp_path):
    class Gated(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.seen = tf.Variable(0.0), 0

        @imp2tf.convert(input_signature=[ROW])
        def __call__(self, x):
            self.seen += 1
            if self.seen > 3:
                return x * self.w
            return x * self.w * 2.0

    imp2tf.save(Gated(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    for _ in range(40):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((loaded(tf.constant([1.0, 2.0])) - [3.0, 6.0]) ** 2)
        (gradient,) = tape.gradient(loss, loaded.trainable_variables)
        loaded.w.assign_sub(0.1 * gradient)
    assert loaded.w.numpy() == pytest.approx(3.0, abs=1e-3)
    assert loaded.seen.numpy() == 40


def test_gradients_by_state(tmp_path):
    class Scaled:
        def __init__(self):
            self.scale = tf.constant(2.0)

        def __call__(self, x):
            y = x * self.scale
            self.scale = self.scale * 0.5
            return y

    imp2tf.save(Scaled(), tmp_path / "model", signatures=[SCALAR])
    loaded = load(tmp_path / "model")
    with tf.GradientTape() as tape:
        tape.watch(loaded.scale)
        y = loaded(tf.constant(3.0))
    assert (y.numpy(), tape.gradient(y, loaded.scale).numpy(), loaded.scale.numpy()) == (6.0, 3.0, 1.0)


def test_gradients_where_state_of_open_shape_is_read_in_a_branch(tmp_path):
    class Mixer(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.before = tf.Variable(2.0), None

        @imp2tf.convert(input_signature=[tf.TensorSpec([None, 2])])
        def __call__(self, x):
            y = x * self.w
            if self.before is not None:
                if tf.shape(self.before)[0] == tf.shape(x)[0]:
                    y = y + self.before * self.w
            self.before = x
            return y

    imp2tf.save(Mixer(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    found = []
    for rows in (2, 2, 3):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(loaded(tf.ones([rows, 2])))
        found.append((float(y), float(tape.gradient(y, loaded.w))))
    assert found == [(8.0, 4.0), (16.0, 8.0), (12.0, 6.0)]
    assert not loaded.before.trainable


# ------------------------------------------------------------------------------------------------ signatures
def test_several_signatures(tmp_path):
    class Both:
        @imp2tf.convert
        def encode(self, x, y=None):
            return x + 1.0 if y is None else x + y

        @imp2tf.convert(input_signature=[SCALAR])
        def decode(self, x):
            return x - 1.0

    both = Both()
    concrete = both.encode.get_concrete_function(SCALAR, y=SCALAR)
    imp2tf.save(both, tmp_path / "model", signatures={"encode": (both.encode, [SCALAR]), "add": concrete, "decode": both.decode})
    loaded = load(tmp_path / "model")
    assert sorted(loaded.signatures) == ["add", "decode", "encode"]
    assert loaded.signatures["encode"](x=tf.constant(1.0))["output_0"].numpy() == 2.0
    assert loaded.signatures["add"](x=tf.constant(1.0), y=tf.constant(3.0))["output_0"].numpy() == 4.0
    assert loaded.decode(tf.constant(1.0)).numpy() == 0.0


@pytest.mark.parametrize("signatures", [
    SCALAR, [SCALAR], (SCALAR,), {"x": SCALAR}, {"serving_default": [SCALAR]}, {"serving_default": {"x": SCALAR}}, [tf.constant(1.0)],
], ids=str)
def test_kinds(signatures, tmp_path):
    imp2tf.save(lambda x: {"y": x * 2.0}, tmp_path / "model", signatures=signatures)
    assert load(tmp_path / "model").signatures["serving_default"](x=tf.constant(2.0))["y"].numpy() == 4.0


def test_a_function_as_signature(tmp_path):
    @imp2tf.convert(input_signature=[SCALAR])
    def double(x):
        return x * 2.0 if x > 0 else x

    for saved, signatures in ((tf.Module(), double), (double, None), (tf.Module(), double.get_concrete_function())):
        imp2tf.save(saved, tmp_path / "model", signatures=signatures)
        assert load(tmp_path / "model").signatures["serving_default"](x=tf.constant(2.0))["output_0"].numpy() == 4.0


def test_a_function_that_was_called_once(tmp_path):
    class Scaler:
        @imp2tf.convert
        def scale(self, x, by=2.0):
            return {"y": x["a"] * by}

    scaler = Scaler()
    scaler.scale({"a": tf.constant([1.0, 2.0])})
    imp2tf.save(scaler, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.scale({"a": tf.constant([1.0, 3.0])})["y"].numpy().tolist() == [2.0, 6.0]
    assert loaded.signatures["serving_default"](x_a=tf.constant([1.0, 3.0]))["y"].numpy().tolist() == [2.0, 6.0]


def test_static_and_class_methods(tmp_path):
    class Static:
        @staticmethod
        @imp2tf.convert(input_signature=[SCALAR])
        def relu(x):
            return x if x > 0 else x * 0.0

        @classmethod
        @imp2tf.convert(input_signature=[SCALAR])
        def double(cls, x):
            return x * 2.0

    imp2tf.save(Static(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.relu(tf.constant(-2.0)).numpy(), loaded.double(tf.constant(-2.0)).numpy()) == (0.0, -4.0)


def test_the_tree_of_nested_modules(tmp_path):
    class Inner(tf.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.w = 0, tf.Variable(3.0)

        def __call__(self, x):
            self.calls += 1
            return x * self.w + float(self.calls)

    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts, self.named = [Inner(), Inner()], {"last": Inner()}

        @imp2tf.convert(input_signature=[SCALAR])
        def __call__(self, x):
            for part in self.parts:
                x = part(x)
            if x > 100:
                x = self.named["last"](x)
            return x

    imp2tf.save(Outer(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert [float(loaded(tf.constant(x))) for x in (1.0, 50.0)] == [13.0, 1375.0]
    assert [part.calls.numpy() for part in (*loaded.parts, loaded.named["last"])] == [2, 2, 1]
    assert not any(hasattr(loaded, name) for name in ("captured", "inner", "calls"))


def test_two_signatures_of_one_function(tmp_path):
    def total(x):
        return tf.reduce_sum(x)

    kinds = {"row": [ROW], "table": [tf.TensorSpec([None, 2])]}
    imp2tf.save(total, tmp_path / "model", signatures=kinds)
    loaded = load(tmp_path / "model")
    assert loaded.signatures["row"](x=tf.ones([3]))["output_0"].numpy() == 3.0
    assert loaded.signatures["table"](x=tf.ones([3, 2]))["output_0"].numpy() == 6.0
    assert loaded(tf.ones([3])).numpy() == 3.0
    assert loaded(tf.ones([3, 2])).numpy() == 6.0


def test_exceptions_end_the_call_and_keep_what_was_written(tmp_path):
    class Strict:
        def __init__(self):
            self.calls = 0

        @imp2tf.convert(input_signature=[SCALAR])
        def root(self, x):
            self.calls += 1
            if x < 0:
                raise ValueError(f"negative: {float(x)}")
            self.calls += 10
            return tf.sqrt(x)

    imp2tf.save(Strict(), tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.root(tf.constant(4.0)).numpy(), loaded.calls.numpy()) == (2.0, 11)
    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError.*negative"):
        loaded.root(tf.constant(-1.0))
    assert loaded.calls.numpy() == 12


def test_none_where_a_tensor_is_served(tmp_path):
    def positive(x):
        if x > 0:
            return x
        return None

    imp2tf.save(positive, tmp_path / "model", signatures=[SCALAR])
    loaded = load(tmp_path / "model")
    assert loaded(tf.constant(2.0)).numpy() == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="None is returned"):
        loaded(tf.constant(-2.0))


def test_ragged_in_a_signature(tmp_path):
    kinds = [tf.RaggedTensorSpec([None, None], tf.float32, ragged_rank=1)]
    imp2tf.save(lambda rows: {"twice": rows * 2.0}, tmp_path / "model", signatures=kinds)
    signature = load(tmp_path / "model").signatures["serving_default"]
    given = tf.ragged.constant([[1.0], [2.0, 3.0]])
    found = signature(rows_values=given.values, rows_row_splits_0=given.row_splits)
    assert found["twice_values"].numpy().tolist() == [2.0, 4.0, 6.0]
    assert found["twice_row_splits_0"].numpy().tolist() == [0, 1, 3]


# ------------------------------------------------------------------------------------------------ Keras
class Gate(keras.layers.Layer):
    """Python control flow in a layer."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(2, kernel_initializer="ones")

    def call(self, x):
        if tf.reduce_sum(x) > 0:
            return self.dense(x)
        rows = []
        for row in x:
            rows.append(row[:2])
        return tf.stack(rows)


class Net(keras.Model):
    """A model with a flag, and a number that changes from call to call."""

    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def call(self, inputs, training=False):
        y = self.gate(inputs["x"])
        if training:
            return y * 0.0
        return {"y": y, "bias": inputs["bias"]}


def test_a_keras_model(tmp_path):
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(GateInGraph()(inputs)))
    imp2tf.save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    for x in (tf.ones([4, 3]), -tf.ones([2, 3])):
        np.testing.assert_allclose(loaded(x), model(x), rtol=1e-5)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(loaded(tf.ones([1, 3])))
    assert all(one is not None for one in tape.gradient(y, loaded.trainable_variables))


class GateInGraph(keras.layers.Layer):
    """As Keras builds it: without control flow on symbolic tensors of Keras."""

    def __init__(self):
        super().__init__()
        self.inner = Gate()

    def compute_output_shape(self, shape):
        return (shape[0], 2)

    def compute_output_spec(self, x):
        return keras.KerasTensor((None, 2))

    def build(self, shape):
        self.inner.dense.build(shape)

    def call(self, x):
        return self.inner(x)


def test_a_keras_model_of_structures(tmp_path):
    model = Net()
    given = {"x": tf.ones([4, 3]), "bias": tf.zeros([4, 1])}
    model(given)
    kinds = {"inputs": {"x": tf.TensorSpec([None, 3]), "bias": tf.TensorSpec([None, 1])}}
    for signatures in (None, {"serving_default": kinds}):
        imp2tf.save(model, tmp_path / "model", signatures=signatures)
        loaded = load(tmp_path / "model")
        for sign in (1.0, -1.0):
            expected, found = model({**given, "x": sign * given["x"]}), loaded({**given, "x": sign * given["x"]})
            assert sorted(found) == ["bias", "y"]
            np.testing.assert_allclose(found["y"], expected["y"])


def test_a_keras_model_that_was_not_built(tmp_path):
    with pytest.raises(ValueError, match="has not been called"):
        imp2tf.save(Net(), tmp_path / "model")


def test_a_training_step_of_keras(tmp_path):
    class Trainer(tf.Module):
        def __init__(self):
            super().__init__()
            self.model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
            self.optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
            self.optimizer.build(self.model.trainable_variables)
            self.steps = 0

        @imp2tf.convert(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([None, 1])])
        def train(self, x, y):
            self.steps += 1
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x) - y) ** 2)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
            return loss

    trainer = Trainer()
    imp2tf.save(trainer, tmp_path / "model")
    loaded = load(tmp_path / "model")
    x, y = tf.ones([4, 2]), tf.zeros([4, 1])
    with imp2tf.set_stance("force_eager"):
        expected = [float(trainer.train(x, y)) for _ in range(3)]
    assert [float(loaded.train(x, y)) for _ in range(3)] == pytest.approx(expected)
    assert loaded.steps.numpy() == 3
