"""Deques that the program keeps from call to call: appended to, read at the end, read as a whole."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


class Memory:
    """What the programs keep."""

    def __init__(self, limit: int | None = None) -> None:
        self.kept = collections.deque([1.5], maxlen=limit)
        self.read: list[object] = []


@program("deques", graph=True)
def appended_and_never_read() -> World:
    memory = Memory(3)

    def step(x):
        memory.kept.append((x, int(x)))
        memory.kept.append(float(x))
        return x + 1.0

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), memory


@program("deques", graph=True)
def without_a_greatest_length() -> World:
    memory = Memory()

    def step(x):
        memory.kept.append(x)
        memory.kept.extend([float(x), int(x)])
        return x

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), memory


@program("deques", graph=True)
def appended_in_a_loop_and_a_branch() -> World:
    memory = Memory(4)

    def step(n):
        for i in tf.range(n):
            if i % 3 != 1:
                memory.kept.append(float(i))
        return n * 2

    return step, each(*map(i32, (3, 1, 7, 0, 12, 2))), memory


@program("deques", graph=True)
def its_length_and_its_last() -> World:
    memory = Memory(3)

    def step(x):
        memory.read.append(len(memory.kept))
        memory.kept.append(float(x))
        if x > 2.0:
            memory.kept.append(7.0)
        memory.read.append((len(memory.kept), memory.kept[-1]))
        return x * memory.kept[-1]

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), memory


@program("deques", graph=True)
def read_as_a_whole_after_appending() -> World:
    memory = Memory(3)

    def step(x):
        memory.kept.append(float(x))
        total = 0.0
        for one in memory.kept:
            total += one
        if len(memory.kept) == 3 and memory.kept[-1] > min(memory.kept):
            memory.kept.clear()
        return x * total

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 0.5))), memory


@program("deques", graph=True)
def of_any_length() -> World:
    memory = Memory()

    def step(x):
        total = x
        for one in memory.kept:
            total += one
        memory.kept.append(float(x))
        return total

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 0.5))), memory


@program("deques", graph=True)
def replay_of_pairs() -> World:
    memory = Memory(3)
    memory.kept.clear()

    def step(x):
        memory.kept.append((x, float(x)))
        total = x
        for a, b in memory.kept:
            total += a * b
        return total

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 0.5))), memory


@program("deques")
def one_branch_reads_the_other_appends() -> World:
    memory = Memory(2)

    def step(x):
        memory.kept.append(float(x))
        if x > 2.0:
            memory.kept.append(9.0)
        else:
            memory.read.append(list(memory.kept))
            memory.kept.appendleft(0.0)
        return x

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0, 1.5))), memory


@program("deques", graph=True)
def of_no_element_at_all() -> World:
    memory = Memory(0)

    def step(x):
        memory.kept.append(x)
        if x > 2.0:
            memory.kept.append(x)
        return x * len(memory.kept)

    return step, each(*map(f32, (3.0, 1.0, 2.0))), memory


@program("deques")
def taken_from_both_ends_after_appending() -> World:
    memory = Memory(4)

    def step(x):
        memory.kept.append(float(x))
        first = memory.kept.popleft()
        memory.kept.append(x)
        memory.kept.append(first)
        memory.kept.rotate(1)
        return x * first, memory.kept.pop()

    return step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), memory


@program("deques")
def further_from_the_end_than_it_may_be() -> World:
    memory = Memory(2)

    def step(x):
        memory.kept.append(x)
        memory.kept.append(x + 1.0)
        return memory.kept[-3] if x > 5.0 else memory.kept[-2]

    return step, each(f32(1.0), f32(2.0), f32(6.0)), memory


@program("deques")
def a_failing_step_leaves_what_was_appended() -> World:
    memory = Memory(2)

    def step(x):
        memory.kept.append(float(x))
        if x > 2.0:
            raise ValueError(f"{x:.1f} is too much")
        memory.kept.append(0.0)
        return x

    return step, [call(f32(1.0)), call(f32(3.0)), call(f32(1.0))], memory
