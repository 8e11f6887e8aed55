"""What cannot be served is refused before anything is written, with all reasons and their lines."""

import random
import time

import numpy as np
import pytest
import tensorflow as tf

import imp2tf

ROW = tf.TensorSpec([None], tf.float32)


class Thing:
    """An object of Python."""


def many(x):
    print("x", x)
    time.time()
    if tf.reduce_sum(x) > 0:
        print("positive")
    for _ in tf.range(3):
        time.sleep(0)
    return x


def other(x):
    return x * random.random()


def generator(x):
    yield x


def returns_an_object(x):
    return {"x": x, "thing": Thing(), "text": f"{float(tf.reduce_sum(x)):.2f}", "set": {1, 2}}


def returns_a_generator(x):
    return (one for one in [x])


def always_raises(x):
    raise ValueError("no")


def makes_a_variable(x):
    return tf.Variable(tf.zeros([2])) + x


@imp2tf.disable
def hidden(x):
    return x


def calls_what_is_disabled(x):
    return hidden(x)


def calls_numpy(x):
    return tf.reshape(x, np.cumsum(x.numpy()))


def reasons(saved, path, signatures):
    with pytest.raises(imp2tf.ConversionError) as caught:
        imp2tf.save(saved, path / "model", signatures=signatures)
    assert list(path.iterdir()) == []
    return caught.value


def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_all_reasons_at_once(tmp_path):
    error = reasons(many, tmp_path, [ROW])
    found = [(one.location.line, one.location.filename) for one in error.reasons]
    expected = [line_of(many, text) for text in ('print("x"', "time.time", '"positive"', "time.sleep")]
    assert found == [(line, __file__) for line in expected]
    assert all(f"{__file__}:{line}" in str(error) for line in expected)


def test_reasons_of_several_functions(tmp_path):
    error = reasons(object(), tmp_path, {"a": (many, [ROW]), "b": (other, [ROW])})
    assert {one.location.function for one in error.reasons} == {"many", "other"}


@pytest.mark.parametrize(("function", "codes"), [
    (generator, ["I2T105"]), (returns_a_generator, ["I2T105"]), (returns_an_object, ["I2T102", "I2T106", "I2T111"]),
    (always_raises, ["I2T109"]), (makes_a_variable, ["I2T113"]), (calls_what_is_disabled, ["I2T101"]), (calls_numpy, ["I2T101"]),
    (other, ["I2T101"]),
], ids=lambda one: getattr(one, "__name__", ""))
def test_refused(function, codes, tmp_path):
    error = reasons(function, tmp_path, [ROW])
    assert error.code == "I2T301"
    assert sorted(one.code for one in error.reasons) == codes
    assert all(one.location.filename == __file__ for one in error.reasons)


def test_a_list_of_rows_of_differing_shapes(tmp_path):
    class Log:
        def __init__(self):
            self.rows = []

        @imp2tf.convert(input_signature=[ROW])
        def push(self, x):
            self.rows.append(x)
            return x

    log = Log()
    error = reasons(log, tmp_path, None)
    assert [one.code for one in error.reasons] == ["I2T111"]
    assert log.rows == []


def test_the_old_model_stays(tmp_path):
    imp2tf.save(lambda x: x + 1.0, tmp_path / "model", signatures=[ROW])
    with pytest.raises(imp2tf.ConversionError):
        imp2tf.save(many, tmp_path / "model", signatures=[ROW])
    assert [one.name for one in tmp_path.iterdir()] == ["model"]
    assert tf.saved_model.load(str(tmp_path / "model"))(tf.constant([1.0])).numpy() == [2.0]


def test_saving_leaves_the_program_as_it_was(tmp_path):
    class Counter:
        def __init__(self):
            self.n, self.seen = 0, []

        @imp2tf.convert(input_signature=[tf.TensorSpec([])])
        def step(self, x):
            self.n += 1
            self.seen.append(x)
            return x * float(self.n)

    counter = Counter()
    imp2tf.save(counter, tmp_path / "model")
    assert (counter.n, counter.seen, list(vars(counter))) == (0, [], ["n", "seen"])
    counter.step(tf.constant(1.0))
    imp2tf.save(counter, tmp_path / "model")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert loaded.step(tf.constant(1.0)).numpy() == 2.0
    assert counter.n == 1


@pytest.mark.parametrize(("saved", "signatures", "error"), [
    (lambda x: x, None, ValueError),
    (Thing(), None, ValueError),
    (Thing(), [ROW], TypeError),
    (lambda x: x, 3, TypeError),
    (lambda x: x, {"serving_default": 3}, TypeError),
    (lambda x: x, [ROW, ROW], TypeError),
], ids=["no kinds", "no methods", "not callable", "a number", "a number for a name", "too many"])
def test_unclear_signatures(saved, signatures, error, tmp_path):
    with pytest.raises(error):
        imp2tf.save(saved, tmp_path / "model", signatures=signatures)
    assert list(tmp_path.iterdir()) == []
