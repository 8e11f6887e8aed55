"""What a step of `fit` costs beside its graph: guards that read fields directly, batches that are fetched by one operation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import imp2tf.keras
from imp2tf.sources import attribute_of
from imp2tf.tf_compat import fetching


def test_guards_of_keras_objects_read_their_fields_directly() -> None:
    model = imp2tf.keras.wrap(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=2, verbose=0)
    (graph,) = model.train_function.__imp2tf_step__.dispatcher.graphs
    assert all(value is not attribute_of for value in graph.admit.__globals__.values())


@pytest.mark.parametrize("data", [
    ([1.0, 2.0], [3, 4]), {"b": [1, 2], "a": ([3, 4], [b"x", b"y"])}, [1.0, 2.0], (([1, 2],),), ([1, 2], {"k": [3, 4]}),
])
def test_batches_are_those_of_get_next(data: object) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(data)
    mine, iterator = iter(dataset), iter(dataset)
    fetch = fetching(mine)
    for _ in range(2):
        ours, theirs = fetch(mine), iterator.get_next()
        tf.nest.assert_same_structure(ours, theirs)
        assert all(map(np.array_equal, tf.nest.flatten(ours), tf.nest.flatten(theirs)))
    with pytest.raises(tf.errors.OutOfRangeError):
        fetch(mine)


def test_ragged_batches_are_fetched_by_tensorflow() -> None:
    iterator = iter(tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [4]])).batch(2))
    assert fetching(iterator)(iterator).to_list() == [[1], [2, 3]]
