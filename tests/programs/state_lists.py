"""Lists that an object keeps from call to call and that are read: their length, and what they hold, vary."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, after, call, each, f32, i32, program


@program("state lists", graph=True, grad=1)
def pairs_read_from_both_ends() -> World:
    class Memory:
        def __init__(self):
            self.pairs, self.calls = [], 0

        def step(self, x):
            total = x
            for a, b in reversed(self.pairs):
                total = total * 0.5 + a * b
            if self.pairs:
                total += self.pairs[-1][0] - self.pairs[0][1]
            self.pairs.append((x, total))
            if len(self.pairs) > 3:
                self.pairs.pop(0)
            self.calls += 1
            if self.calls % 7 == 0:
                self.pairs = []
            return total
    memory = Memory()
    return memory.step, each(*[f32([float(i), 1.0]) for i in range(6)]), memory


@program("state lists", graph=True)
def numbers_summed_up() -> World:
    class Losses:
        def __init__(self):
            self.losses = []

        def step(self, x):
            self.losses.append(float(x))
            best, mean = min(self.losses), sum(self.losses) / len(self.losses)
            print(f"{len(self.losses)}: {mean:.2f}, best {best:.2f}")
            return x - mean, [loss for loss in self.losses if loss > mean]
    losses = Losses()
    return losses.step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), losses


@program("state lists")
def elements_of_another_kind_come_later() -> World:
    class Mixed:
        def __init__(self):
            self.items = []

        def step(self, x):
            total = x
            for item in self.items:
                if item is not None:
                    total += tf.reduce_sum(item)
            self.items.append(x)
            if len(self.items) == 4:
                self.items.append(None)
            if len(self.items) == 6:
                self.items.append(tf.ones([2]))
            return total
    mixed = Mixed()
    return mixed.step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0))), mixed


@program("state lists", graph=True)
def changed_from_outside_between_calls() -> World:
    class Queue:
        def __init__(self):
            self.items = [f32(1.0)]

        def step(self, x):
            found = tf.stack(self.items)
            self.items.append(x)
            return tf.reduce_max(found), len(self.items)
    queue = Queue()

    def twice():
        queue.items.extend([f32(7.0), f32(8.0)])
    calls = [call(f32(2.0)), call(f32(3.0)), after(twice, f32(4.0)), after(queue.items.clear, f32(5.0)), call(f32(6.0))]
    return queue.step, calls, queue


@program("state lists", graph=True)
def a_list_as_an_argument() -> World:
    def fn(items):
        total = f32(0.0)
        for place, item in enumerate(items):
            total += item * float(place)
        return total, len(items)
    return fn, each(*[[f32(float(i)) for i in range(n)] for n in (2, 3, 5, 1, 4, 0, 6)])


@program("state lists", graph=True)
def lists_of_two_objects() -> World:
    class Agent:
        def __init__(self):
            self.rewards = []

    class Both:
        def __init__(self):
            self.agents, self.turn = [Agent(), Agent()], 0

        def step(self, x):
            for agent in self.agents:
                if x > 0.0:
                    agent.rewards.append(x)
                x = -x
            self.turn += 1
            return [tf.add_n(agent.rewards) if agent.rewards else f32(-1.0) for agent in self.agents]
    both = Both()
    return both.step, each(*map(f32, (3.0, -1.0, 2.0, 5.0, -4.0, -6.0, 7.0))), both


@program("state lists", graph=True)
def read_in_a_loop_and_in_a_branch() -> World:
    class Window:
        def __init__(self):
            self.seen = []

        def step(self, n):
            total = 0
            for i in tf.range(n):
                if i % 2 == 0:
                    for number in self.seen:
                        total += number
            self.seen.append(int(n))
            return total
    window = Window()
    return window.step, each(*map(i32, (3, 1, 2, 5, 0, 4))), window


@program("state lists")
def a_deque_and_nested_lists() -> World:
    class Rows:
        def __init__(self):
            self.rows, self.last = [], collections.deque(maxlen=2)

        def step(self, x):
            total = x
            for row in self.rows:
                for item in row:
                    total += item
            for item in self.last:
                total *= item
            self.rows.append([x, x])
            self.last.append(x)
            return total
    rows = Rows()
    return rows.step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), rows


@program("state lists")
def an_element_that_has_another_name() -> World:
    class Kept:
        def __init__(self):
            self.items, self.last, self.same = [], None, []

        def step(self, x):
            total = x
            for item in self.items:
                total += item
            self.same.append(bool(self.items) and self.last is self.items[-1])
            self.items.append(x)
            self.last = x
            return total
    kept = Kept()
    return kept.step, each(*map(f32, (3.0, 1.0, 2.0, 5.0, 4.0))), kept


@program("state lists", grad=1, graph=True)
def tensors_of_the_program_that_are_appended() -> World:
    class Keeper:
        def __init__(self):
            self.total = f32(2.0)
            self.seen = []

    keeper = Keeper()
    others: list = []

    def fn(x, items):
        items.append(keeper.total)
        keeper.seen.append(x)
        keeper.seen.append(x * 2.0)
        keeper.seen.append(keeper.total)
        return items[0] + keeper.seen[0], items
    return fn, [call(f32(float(k)), others) for k in range(5)], lambda: (keeper.total, list(keeper.seen), others)


@program("state lists", graph=True)
def texts_of_which_the_first_goes() -> World:
    class Words:
        def __init__(self):
            self.words = [tf.constant("a"), tf.constant("b")]

        def step(self, x):
            last = x
            for word in self.words:
                last = last + word
            self.words.append(last + self.words[0])
            if len(self.words) > 3:
                self.words.pop(0)
            return last
    words = Words()
    return words.step, each(*(tf.constant(text) for text in "xyxyxyxy")), words


@program("state lists", graph=True)
def elements_that_change_places_are_the_same_objects() -> World:
    class Ring:
        def __init__(self):
            self.ring = [(f32([float(i), 0.0]), i) for i in range(3)]

        def step(self, x):
            total = x
            for value, number in self.ring:
                total = total * 2.0 + value[0] * number
            count = len(self.ring)
            first = self.ring.pop(0)
            self.ring.append(first)
            if x > 2.0:
                self.ring.append((tf.stack([x, x]), len(self.ring)))
            if x > 4.0:
                self.ring.pop(0)
            return total, count
    ring = Ring()
    return ring.step, each(*(f32(float(i)) for i in range(7))), ring
