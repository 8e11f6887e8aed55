"""Numbers and lists that a call leaves are the inputs of the next one, and are known by identity only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf
from imp2tf.eager_tensors import scalar, tensor_of
from imp2tf.remembered import ListMemory, NumberMemory
from imp2tf.specs import Dense


class Kept:
    """A short list of pairs, a count and a rate."""

    def __init__(self) -> None:
        self.pairs: list[tuple[tf.Tensor, tf.Tensor]] = []
        self.count, self.rate = 0, 0.5

    def step(self, x: tf.Tensor) -> tf.Tensor:
        total = x * self.rate
        for a, b in self.pairs:
            total += a * b
        self.pairs.append((x, total))
        if len(self.pairs) > 3:
            self.pairs.pop(0)
        self.count += 1
        self.rate *= 0.5
        return total


def run(kept: Kept, step: Any, between: Any = None) -> list[float]:
    found = []
    for i in range(12):
        found.append(float(step(tf.constant(float(i)))))
        if between is not None:
            between(kept, i)
    return [*found, kept.count, kept.rate, *(float(part) for pair in kept.pairs for part in pair)]


def both_ways(between: Any = None) -> tuple[list[float], list[float]]:
    plain, converted = Kept(), Kept()
    return run(plain, plain.step, between), run(converted, imp2tf.convert(converted.step, profile_runs=0), between)


def test_state_is_as_in_eager() -> None:
    eager, graph = both_ways()
    assert eager == graph


def test_what_the_program_puts_there_between_calls_counts() -> None:
    def between(kept: Kept, i: int) -> None:
        if i % 3 == 0:
            kept.rate = -0.0 if i % 2 else 0.0
            kept.count = 7
        if i == 7:
            kept.pairs[1] = (tf.constant(5.0), tf.constant(2.0))
        if i == 9:
            kept.pairs.reverse()
        if i == 10:
            kept.rate = 0.25

    eager, graph = both_ways(between)
    assert list(map(repr, eager)) == list(map(repr, graph))


def test_elements_that_stay_are_the_objects_they_were() -> None:
    kept = Kept()
    step = imp2tf.convert(kept.step, profile_runs=0)
    for i in range(8):
        step(tf.constant(float(i)))
    before = list(kept.pairs)
    step(tf.constant(8.0))
    assert [one is other for one, other in zip(kept.pairs, before[1:])] == [True, True]


def test_no_gradient_flows_through_a_number_from_call_to_call() -> None:
    kept = Kept()
    step = imp2tf.convert(kept.step, profile_runs=0)
    weight = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        for _ in range(4):
            y = step(weight * 1.0)
    plain = Kept()
    with tf.GradientTape(persistent=True) as other:
        for _ in range(4):
            expected = plain.step(weight * 1.0)
    assert float(tape.gradient(y, weight)) == float(other.gradient(expected, weight))


def test_a_number_is_made_a_tensor_once() -> None:
    memory, number = NumberMemory("int"), 1000
    assert memory(number) is memory(number)
    assert int(memory(number + 1)) == 1001
    tensor = tf.constant(5, tf.int64)
    memory.came_of(number, tensor)
    assert memory(number) is tensor


def test_large_lists_are_not_kept_alive() -> None:
    memory = ListMemory([tf.stack], Dense(tf.float32, [1 << 19]))
    large = [tf.zeros([1 << 19])]
    memory.columns(large)
    assert not memory.knows(large)
    small = ListMemory([tf.stack], Dense(tf.float32, [2]))
    short = [tf.zeros([2])]
    small.columns(short)
    assert small.knows(short) and not small.knows([tf.zeros([2])])


def _appended(kept: list[Any], w: tf.Tensor) -> tf.Tensor:
    kept.append(w * 1.0)
    return sum(kept)


def _shortened(kept: list[Any], w: tf.Tensor) -> tf.Tensor:
    kept.append(w * 1.0)
    if len(kept) > 2:
        kept.pop(0)
    return sum(kept)


def _replaced(kept: list[Any], w: tf.Tensor) -> tf.Tensor:
    kept.append(w)
    kept[0] = w * 1.0
    return sum(kept)


def _paired(kept: list[Any], w: tf.Tensor) -> tf.Tensor:
    kept.append((w * 1.0, w + 1.0))
    return sum(a * b for a, b in kept)


def _looped(kept: list[Any], w: tf.Tensor) -> tf.Tensor:
    while len(kept) < 3 or w > 5.0:
        kept.append(w * 1.0)
        w -= 5.0
    kept.append(w * 1.0)
    return sum(kept)


@pytest.mark.parametrize("function", [_appended, _shortened, _replaced, _paired, _looped])
@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 1.0, 2.0, 1.0)])
def test_a_tape_follows_an_element_that_equals_one_that_was_there(function: Any, values: tuple[float, ...]) -> None:
    def gradients(call: Any) -> list[list[float]]:
        kept: list[Any] = []
        found = []
        for value in values:
            w = tf.constant(value)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(w)
                total = call(kept, w)
            parts = [total, *tf.nest.flatten(kept)]
            found.append([0.0 if slope is None else float(slope) for slope in (tape.gradient(one, w) for one in parts)])
        return found
    assert gradients(imp2tf.convert(function, profile_runs=0)) == gradients(function)


def test_what_is_appended_is_no_element_that_equals_it() -> None:
    kept: list[Any] = []
    step = imp2tf.convert(_appended, profile_runs=0)
    for _ in range(5):
        before = kept.copy()
        step(kept, tf.constant(1.0))
        assert all(one is other for one, other in zip(before, kept)) and not any(kept[-1] is one for one in before)


def test_a_list_that_makes_room_for_a_number_and_back() -> None:
    def step(kept: Kept, x: tf.Tensor) -> tf.Tensor:
        total = x * 0.0
        for one in kept.pairs:
            total += one
        kept.pairs.append(x)
        if total > 5:
            total = total + 1
        kept.count = len(kept.pairs)
        kept.pairs = kept.count * int(total)
        return total

    def run(call: Any) -> list[Any]:
        kept, found = Kept(), []
        for i in range(8):
            kept.pairs = [tf.constant(1.0)] * (i + 1)
            found += [float(call(kept, tf.constant(2.0))), kept.count, kept.pairs, type(kept.pairs)]
        return found
    assert run(imp2tf.convert(step, profile_runs=0)) == run(step)


def test_elements_that_go_to_the_end_are_the_objects_they_were() -> None:
    def step(kept: list[Any], x: tf.Tensor) -> tf.Tensor:
        total = sum(kept)
        kept.append(kept.pop(0))
        if x > 1.0:
            kept.append(x)
        return total

    kept = [tf.constant(float(-i)) for i in range(3)]
    call = imp2tf.convert(step, profile_runs=0)
    for i in range(8):
        before = kept.copy()
        call(kept, tf.constant(float(i)))
        assert i < 4 or [next(place for place, old in enumerate(before) if old is new) for new in kept[:len(before)]] == [
            *range(1, len(before)), 0]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3), (5, 0), (31, 31), (40, 40)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_a_tensor_of_an_array_is_a_copy_of_it(shape: tuple[int, ...], dtype: str) -> None:
    found = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(tf.as_dtype(dtype).as_numpy_dtype)
    expected = tf.constant(found)
    made = [tensor_of(found) for _ in range(20)]
    if found.size:
        found[...] = 0
    for one in made:
        assert (one.dtype, one.shape, one.device) == (expected.dtype, expected.shape, expected.device)
        assert one.numpy().tobytes() == expected.numpy().tobytes()
        assert tf.reduce_all(tf.stack([one, one])[1] == expected)


NUMBERS = [(True, tf.bool), (7, tf.int32), (-(1 << 60), tf.int64), (-0.0, tf.float64), (1e300, tf.float64)]


@pytest.mark.parametrize(("value", "dtype"), NUMBERS)
def test_a_tensor_of_a_number(value: float, dtype: tf.DType) -> None:
    expected = tf.constant(np.array(value, dtype.as_numpy_dtype))  # TensorFlow's own cache of scalars takes 0.0 for -0.0
    for _ in range(40):
        made = scalar(value, dtype)
        assert (made.dtype, made.shape, repr(made.numpy())) == (dtype, [], repr(expected.numpy()))
    with tf.device("/CPU:0"):
        assert scalar(value, dtype).device == expected.device


def test_memory_of_small_tensors_is_aligned_and_goes_with_them() -> None:
    made = [tensor_of(np.full([size], size, np.float32)) for size in range(1, 70) for _ in range(5)]
    assert all(np.asarray(memoryview(one)).ctypes.data % 64 == 0 for one in made)
    for one in made[::3]:
        assert tf.reduce_all(one == one.shape[0]) and float(tf.tensordot(one, one, 1)) == one.shape[0] ** 3
    del made[1:]
    assert made[0].numpy().tolist() == [1.0]
