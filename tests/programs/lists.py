"""Lists: append, pop, sort, slices, aliases, nesting; in branches and loops; as state and arguments."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, after, call, each, f16, f32, f64, i32, i64, program


@program("lists", graph=True, golden=True)
def append_in_a_loop() -> World:
    def fn(xs):
        out = []
        for x in xs:
            out.append(x * x)
        return out
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0, 5.0]), tf.zeros([0]))


@program("lists", graph=True, golden=True)
def append_under_a_test_in_a_loop() -> World:
    def fn(xs):
        small, large = [], []
        for x in xs:
            if x > 10:
                large.append(x)
            else:
                small.append(x)
        return small, large
    return fn, each(i32([1, 20, 3]), i32([30]))


@program("lists", graph=True)
def append_in_a_branch() -> World:
    def fn(x):
        out = [x]
        if x > 0:
            out.append(x * 2)
            out.append("positive")
        return out, len(out)
    return fn, each(f32(1.0), f32(-1.0))


@program("lists", graph=True)
def append_then_stack() -> World:
    def fn(n):
        rows = []
        for i in tf.range(n):
            rows.append(tf.fill([2], i))
        return tf.stack(rows)
    return fn, each(i32(3), i32(1))


@program("lists", graph=True)
def append_of_different_shapes() -> World:
    def fn(n):
        parts = []
        for i in tf.range(1, n):
            parts.append(tf.ones([i]))
        return parts, tf.concat(parts, 0)
    return fn, each(i32(4), i32(2))


@program("lists", graph=True)
def pop_until_empty() -> World:
    def fn(x):
        stack = [x, x * 2, x * 3]
        total = f32(0.0)
        while len(stack) > 0:
            top = stack.pop()
            if top > 5.0:
                stack.append(top / 4.0)
            total += top
        return total
    return fn, each(f32(1.0), f32(5.0))


@program("lists")
def pop_from_an_empty_list() -> World:
    def fn(x):
        out = [x]
        out.pop()
        out.pop()
        return out
    return fn, each(f32(1.0))


@program("lists", graph=True)
def list_of_the_state_grows() -> World:
    history = []

    def fn(x):
        history.append(x)
        if x > 2.0:
            history.append(-x)
        return len(history)
    return fn, each(f32(1.0), f32(3.0)), lambda: history


@program("lists", graph=True)
def list_of_the_state_in_a_loop() -> World:
    log = []

    def fn(n):
        for i in tf.range(n):
            log.append(i)
        return n * 2
    return fn, each(i32(3), i32(0), i32(1)), lambda: log


@program("lists", graph=True)
def argument_is_changed() -> World:
    def fn(items, x):
        items.append(x)
        items.insert(0, x * 10)
        return items
    return fn, [call([1], f32(1.0)), call([], f32(2.0))]


@program("lists", graph=True)
def methods_on_python_values() -> World:
    def fn(x, items):
        items = list(items)
        items.extend([5, 4])
        items.sort()
        items.remove(5)
        items.reverse()
        return x * items.index(4), items.count(4), items[:2], items + [0]
    return fn, [call(f32(1.0), [9, 7]), call(f32(1.0), [1])]


@program("lists", graph=True)
def aliases_of_one_list() -> World:
    def fn(x):
        a = [x]
        b = a
        c = a[:]
        b.append(x * 2)
        return a, b, c, a is b, a is c
    return fn, each(f64(1.0))


@program("lists", graph=True)
def list_in_a_list() -> World:
    def fn(xs):
        rows = [[], []]
        for x in xs:
            if x > 0:
                rows[0].append(x)
            else:
                rows[1].append(x)
        rows.append(rows[0])
        return rows
    return fn, each(i32([1, -2, 3]), i32([-1]))


@program("lists", graph=True)
def nested_loops_fill_rows() -> World:
    def fn(m):
        rows = []
        for row in m:
            cells = []
            for v in row:
                if v > 0:
                    cells.append(v)
            rows.append(cells)
        return rows
    return fn, each(i32([[1, -1], [2, 3]]), i32([[-1, -1]]))


@program("lists", graph=True)
def length_decides() -> World:
    def fn(xs):
        kept = []
        for x in xs:
            if len(kept) < 2:
                kept.append(x)
        if len(kept) == 2:
            return kept[0] + kept[1]
        return "too few"
    return fn, each(f16([1.0, 2.0, 3.0]), f16([1.0]))


@program("lists", graph=True)
def element_read_back_in_a_loop() -> World:
    def fn(n):
        fibonacci = [i64(0), i64(1)]
        while n > 0:
            fibonacci.append(fibonacci[-1] + fibonacci[-2])
            n -= 1
        return fibonacci[-1], len(fibonacci)
    return fn, each(i64(5), i64(0))


@program("lists", graph=True)
def python_numbers_collected() -> World:
    def fn(xs):
        positions = []
        i = 0
        for x in xs:
            if x > 0:
                positions.append(i)
            i += 1
        return positions
    return fn, each(i32([1, -1, 2]), i32([-1]))


@program("lists", graph=True)
def mixed_kinds_collected() -> World:
    def fn(xs):
        out = []
        for x in xs:
            if x > 5:
                out.append(None)
            elif x > 0:
                out.append(x)
            else:
                out.append("low")
        return out
    return fn, each(i32([1, 9, -1]), i32([2]))


@program("lists", graph=True)
def list_as_a_queue_of_the_state() -> World:
    class Window:
        def __init__(self):
            self.items = []

        def push(self, x):
            self.items.append(x)
            if len(self.items) > 2:
                self.items.pop(0)
            total = f32(0.0)
            for item in self.items:
                total += item
            return total / len(self.items)

    window = Window()
    return window.push, each(f32(1.0), f32(2.0), f32(6.0)), lambda: window.items


@program("lists", graph=True)
def equality_and_truth() -> World:
    def fn(x, items):
        if not items:
            return x
        if items == [1, 2]:
            return x * 2
        return x * len(items)
    return fn, [call(f32(3.0), []), call(f32(3.0), [1, 2]), call(f32(3.0), [1, 2, 3])]


@program("lists", grad=2, graph=True)
def gradient_through_a_list() -> World:
    def fn(xs):
        squares = []
        for x in xs:
            if x > 0.0:
                squares.append(x * x * x)
        total = f32(0.0)
        for square in squares:
            total += square
        return total
    return fn, each(f32([1.0, -2.0, 3.0]), f32([2.0, 2.0]))


@program("lists", grad=True, graph=True)
def sum_of_a_list_of_run_time_length() -> World:
    def fn(xs):
        kept = []
        for x in xs:
            if x > 0.0:
                kept.append(x * x)
        return tf.reduce_sum(kept)
    return fn, each(f32([1.0, -2.0, 3.0]), f32([2.0, 2.0]))


@program("lists", graph=True, repeat=4)
def the_last_of_a_growing_list() -> World:
    class Trainer:
        def __init__(self):
            self.losses, self.steps = [3.0], 0

        def step(self, x):
            self.steps += 1
            better = float(x) < self.losses[-1]
            self.losses.append(float(x))
            if self.steps % 3 == 0:
                print(f"loss {self.losses[-1]:.1f} after {self.losses[-2]:.1f}")
            return better, self.losses[-1] - self.losses[-2]
    trainer = Trainer()
    return trainer.step, each(f32(1.0), f32(2.0), f32(-3.0)), lambda: (trainer.losses, trainer.steps)


@program("lists", repeat=3)
def the_last_of_a_growing_list_of_tensors() -> World:
    kept = []

    def fn(x):
        if not kept:
            kept.append(x)
            return x
        if x > kept[-1]:
            kept.append(x + kept[-1])
        kept.append(kept[-1] * 2.0)
        return kept[-1], kept[-2]
    return fn, each(f32(1.0), f32(20.0), f32(-3.0)), lambda: kept


@program("lists", repeat=3)
def the_last_of_a_list_by_several_roads() -> World:
    kept = [f32(1.0), 2.0, "a"]

    def fn(x):
        last, before = kept[-1], kept[-2]
        kept.append(last)
        same = kept[-1] is last, kept[-2] is kept[2], len(kept)
        kept[-1] = "b"
        kept.append(x)
        kept.insert(2, before)
        return last, before, same, kept[-1], kept[-2], kept[-4]
    return fn, each(f32(1.0), f32(20.0), f32(-3.0)), lambda: kept


@program("lists", repeat=2)
def the_last_of_a_list_that_a_loop_grows() -> World:
    kept = [0.5]

    def fn(xs):
        found = 0.0
        for x in xs:
            found += kept[-1]
            if x > 0.0:
                kept.append(float(x))
            found += kept[-1]
        return found, kept[-1]
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]), tf.zeros([0]), f32([5.0, 6.0])), lambda: kept


@program("lists", repeat=3)
def the_last_of_a_list_that_changes_outside() -> World:
    kept = [1.0]

    def fn(x):
        try:
            return x * kept[-1], kept[-2]
        except IndexError as error:
            return str(error)
    return fn, [call(f32(1.0)), after(lambda: kept.append(2.0), f32(1.0)), after(lambda: kept.append(3), f32(1.0)),
                after(lambda: kept.append("a"), f32(1.0)), after(kept.clear, f32(1.0)), after(lambda: kept.extend([4.0, 5.0]), f32(2.0)),
                after(lambda: kept.append(7.0), f32(1.0))], lambda: kept
