"""Items of lists whose length only the run knows, where conditions tell something of it: the right thing, another thing, nothing."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


def positives(xs):
    """A list of run-time length."""
    out = []
    for x in xs:
        if x > 0:
            out.append(x * 2.0)
    return out


LISTS = (f32([]), f32([-1.0]), f32([1.0]), f32([1.0, -2.0, 3.0]), f32([3.0, 1.0, 2.0]), f32([4.0, 5.0, 6.0, 7.0, 8.0]))


@program("known lengths", graph=True, grad=1)
def what_the_conditions_tell() -> World:
    def fn(xs):
        out, total = positives(xs), tf.reduce_sum(xs)
        if out:
            total += out[-1] * 2.0 + out[0]
        if len(out) > 1:
            total += out[1] * 3.0 - out[-2]
        if len(out) != 0:
            total += out.pop()
        if 3 <= len(out):
            total += out.pop(0) * out.pop(0) + out.pop(0)
        if not len(out) < 1:
            total += out[0]
        if len(out) >= 2 and total > 0:
            total += out[1]
        if not (len(out) < 1 or total < 0):
            total += out.pop(0)
        return total, len(out)
    return fn, each(*LISTS)


@program("known lengths")
def what_they_do_not_tell() -> World:
    def of_another(xs):
        out, other = positives(xs), positives(-xs)
        if out:
            return other.pop()
        return tf.constant(0.0)

    def one_too_many(xs):
        out = positives(xs)
        if len(out) > 2:
            return out.pop(0) + out.pop(0) + out.pop(0) + out.pop(0)
        return tf.constant(1.0)

    def one_too_far(xs):
        out = positives(xs)
        return out[2] + out[-3] if len(out) > 1 else out[-1]

    def the_other_way(xs):
        out = positives(xs)
        if not out or len(out) <= 1:
            return out[0]
        if len(out) > 2 or xs[0] > 2.0:
            return out[2]
        return out[-1]

    def in_a_loop(xs):
        out, total = positives(xs), tf.constant(0.0)
        if out:
            for _ in tf.range(3):
                total += out.pop()
        return total

    def emptied(xs):
        out = positives(xs)
        if out:
            out.clear()
            if xs[0] > 2.0:
                out.append(xs[0])
            return out.pop()
        return tf.constant(3.0)

    functions = [of_another, one_too_many, one_too_far, the_other_way, in_a_loop, emptied]

    def fn(xs, which):
        return functions[which](xs)
    return fn, [call(xs, which) for which in range(len(functions)) for xs in LISTS]


@program("known lengths")
def what_they_do_not_tell_under_try() -> World:
    def fn(xs):
        out, other = positives(xs), positives(-xs)
        try:
            if out:
                found = other.pop() if len(out) < 3 else out[2] + out[3]
            else:
                found = out[-1]
        except IndexError as error:
            return str(error), len(out), len(other)
        return found, len(out), len(other)
    return fn, each(*LISTS)


@program("known lengths", graph=True)
def one_of_two_lists() -> World:
    class Memory:
        def __init__(self):
            self.history, self.dropped = [], 0

        def step(self, x):
            total = x
            for a, b in reversed(self.history):
                total += a * b
            if self.history:
                total -= self.history[-1][0] * self.history[0][1]
            if x > 4.0:
                self.history = []
            if x != 2.0:
                self.history.append((x, total))
                if len(self.history) > 2:
                    self.history.pop(0)
                    self.dropped += 1
            return total
    memory = Memory()
    return memory.step, each(*map(f32, (1.0, 2.0, 3.0, 0.5, 3.5, 1.0, 5.0, 1.0, 2.0, 1.5, 2.5, 3.0))), memory


@program("known lengths")
def one_of_two_lists_by_another_condition() -> World:
    class Memory:
        def __init__(self):
            self.history, self.other = [], []

        def step(self, x, y):
            for a in self.history:
                x += a
            held = self.history if x > 4.0 else self.other
            held.append(x)
            if len(held) > 1:
                taken = (self.history if y > 0.0 else self.other).pop(0)
                return x + taken
            return x
    memory = Memory()
    pairs = [(1.0, 1.0), (2.0, -1.0), (5.0, 1.0), (6.0, 1.0), (1.0, 1.0), (1.0, -1.0), (9.0, -1.0), (1.0, -1.0), (9.0, -1.0), (9.0, -1.0)]
    return memory.step, [call(f32(x), f32(y)) for x, y in pairs], memory


@program("known lengths", graph=True)
def deques_and_loops_over_lists() -> World:
    def fn(xs, n):
        queue = collections.deque()
        for x in xs:
            if x > 0:
                queue.append(x * 2.0)
        total = tf.constant(0.0)
        for i, item in enumerate(reversed(positives(xs))):
            total += item * float(i + 1)
        for a, b in zip(queue, positives(xs + 1.0)):
            total += a * b
        if len(queue) > 1:
            total += queue.popleft() + queue[-1]
        while n > 0 and queue:
            total += queue.popleft()
            n -= 1
        return total, len(queue)
    return fn, [call(xs, i32(n)) for xs in LISTS for n in (0, 2)]


@program("known lengths")
def a_list_that_shrinks_while_a_loop_is_over_it() -> World:
    def fn(xs, n):
        out, seen = positives(xs), []
        for item in out:
            seen.append(item)
            if item > n:
                out.pop()
        for item in reversed(out):
            seen.append(item)
            if len(out) > 1:
                out.pop(0)
        return seen, out
    return fn, [call(xs, f32(n)) for xs in LISTS for n in (0.0, 5.0)]
