"""Converted functions in `tf.data`, and datasets in converted functions."""

import pytest
import tensorflow as tf

import imp2tf

NUMBERS = tf.data.Dataset.range(1, 7)


def at_once(function):
    return imp2tf.convert(function, profile_runs=0)


def listed(dataset):
    return [tf.nest.map_structure(int, one) for one in dataset.as_numpy_iterator()]


def collatz(x):
    turns = tf.constant(0)
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        turns += 1
    return x, turns


def is_even(x):
    if x % 2 == 0:
        return True
    return False


def add_large(total, x):
    if x > 2:
        total = total + x
    return total


def step(total, x):
    if x > 2:
        return total + x, total * x
    return total, -x


def below(x):
    return tf.data.Dataset.range(x).map(lambda y: y * x if y > 1 else y)


def one_or_many(x):
    if x > 2:
        return tf.data.Dataset.range(x)
    return tf.data.Dataset.from_tensors(tf.constant(7, tf.int64))


def is_small(x):
    return True if x < 4 else False


START = tf.constant(0, tf.int64)


@pytest.mark.parametrize(("function", "use", "expected"), [
    (collatz, lambda f: listed(NUMBERS.map(f)), [(1, 0), (1, 1), (1, 7), (1, 2), (1, 5), (1, 8)]),
    (collatz, lambda f: listed(NUMBERS.map(f, num_parallel_calls=3)), [(1, 0), (1, 1), (1, 7), (1, 2), (1, 5), (1, 8)]),
    (is_even, lambda f: listed(NUMBERS.filter(f)), [2, 4, 6]),
    (is_small, lambda f: listed(NUMBERS.take_while(f)), [1, 2, 3]),
    (add_large, lambda f: int(NUMBERS.reduce(START, f)), 18),
    (step, lambda f: listed(NUMBERS.scan(START, f)), [-1, -2, 0, 12, 35, 72]),
    (below, lambda f: listed(NUMBERS.take(4).flat_map(f)), [0, 0, 1, 0, 1, 6, 0, 1, 8, 12]),
    (below, lambda f: sorted(listed(NUMBERS.take(4).interleave(f, cycle_length=2))), [0, 0, 0, 0, 1, 1, 1, 6, 8, 12]),
    (one_or_many, lambda f: listed(NUMBERS.take(4).flat_map(f)), [7, 7, 0, 1, 2, 0, 1, 2, 3]),
], ids=["map", "parallel", "filter", "take_while", "reduce", "scan", "flat_map", "interleave", "datasets"])
def test_given_to_a_dataset(function, use, expected):
    converted = at_once(function)
    found = use(converted)
    assert found == expected
    assert converted.stats()["fallbacks"] == []


def test_structures_and_python_numbers():
    rows = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]})

    @at_once
    def total(row):
        return {"sum": row["a"] + row["b"] if row["a"] > 1 else row["b"], "n": 1}

    assert listed(rows.map(total)) == [{"sum": 3, "n": 1}, {"sum": 6, "n": 1}]


class Reader:
    """State that a loop over a dataset reads and writes."""

    def __init__(self):
        self.n, self.last, self.rows = 0, None, []

    def run(self, dataset):
        for x in dataset:
            self.n += 1
            if self.last is None:
                self.last = x
            else:
                self.last = self.last * 2 + x
            if x > 3:
                break
            self.rows.append(x)
        return self.last


def test_a_loop_over_a_dataset_with_state():
    plain, other = Reader(), Reader()
    converted = at_once(other.run)
    for _ in range(3):
        assert int(converted(NUMBERS)) == int(plain.run(NUMBERS))
    assert (other.n, [int(row) for row in other.rows]) == (plain.n, [int(row) for row in plain.rows])
    assert converted.stats()["fallbacks"] == []


def test_python_state_written_by_a_dataset():
    seen = []

    @at_once
    def noting(x):
        seen.append(int(x))
        return x

    assert listed(NUMBERS.map(noting)) == seen == [1, 2, 3, 4, 5, 6]


def test_a_pipeline_made_in_a_converted_function():
    offsets = {"by": 10}

    @at_once
    def total(n):
        found = tf.constant(0, tf.int64)
        for x in tf.data.Dataset.range(n).filter(lambda x: x % 2 == 0).map(lambda x: x * x if x > 2 else x).batch(2):
            found += tf.reduce_sum(x) + offsets["by"]
        return found

    for n, by, expected in ((6, 10, 38), (9, 10, 148), (9, 20, 178)):
        offsets["by"] = by
        assert int(total(tf.constant(n, tf.int64))) == expected
