"""tf.TensorArray in converted functions, beyond what `tests/programs/tensor_arrays.py` compares with eager."""
from __future__ import annotations

import pytest
import tensorflow as tf

import imp2tf
from imp2tf.arrays import Elements


def squares(xs):
    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for i in tf.range(tf.shape(xs)[0]):
        ta.write(i, xs[i] * xs[i]).mark_used()
    return ta.stack()


def test_in_the_graph_of_somebody_else() -> None:
    outer = tf.function(lambda xs: imp2tf.convert(squares)(xs) + 1.0, autograph=False)
    assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 5.0]


def test_returned_into_the_graph_of_somebody_else() -> None:
    def filled(x):
        return tf.TensorArray(tf.float32, 2).write(0, x).write(1, x + 1.0)

    outer = tf.function(lambda x: imp2tf.convert(filled)(x).stack(), autograph=False)
    assert outer(tf.constant(1.0)).numpy().tolist() == [1.0, 2.0]


def test_given_by_the_graph_of_somebody_else() -> None:
    outer = tf.function(lambda x: imp2tf.convert(lambda ta, v: ta.write(0, v))(tf.TensorArray(tf.float32, 1), x).stack(), autograph=False)
    assert outer(tf.constant(3.0)).numpy().tolist() == [3.0]


def test_shape_is_known_after_the_loop() -> None:
    concrete = imp2tf.convert(squares, fullgraph=True).get_concrete_function(tf.TensorSpec([None, 3]))
    assert [output.shape.as_list() for output in concrete.outputs if output.dtype == tf.float32] == [[None, 3]]


def test_an_array_from_outside_says_why_it_runs_as_python() -> None:
    given = tf.TensorArray(tf.float32, 1)
    fn = imp2tf.convert(lambda x: given.write(0, x).read(0), profile_runs=0)
    assert float(fn(tf.constant(2.0))) == 2.0
    assert "outside of the call" in fn.stats()["fallbacks"][0]["reason"]


def test_an_error_of_the_program_is_not_taken_for_one_of_an_operation() -> None:
    seen = []

    def fn(x):
        seen.append(1)
        if x > 0.0:
            raise tf.errors.OutOfRangeError(None, None, "beyond")
        return x

    with pytest.raises(tf.errors.OutOfRangeError, match="beyond"):
        imp2tf.convert(fn, profile_runs=0)(tf.constant(1.0))
    assert seen == [1]


def test_facts_are_compared_by_value() -> None:
    assert Elements((2,), None) == Elements((2,), None) != Elements((2,), 1)
    assert Elements(None, 0).blank and Elements((None, 2), 0).blank
    assert not Elements((2,), 0).blank and not Elements((None,), 3, loaded=True).blank
