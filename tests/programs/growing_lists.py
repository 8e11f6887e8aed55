"""Lists whose length only the run knows: every operation of a list on them, errors included."""
from __future__ import annotations

import collections
import dataclasses

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


def collected(xs):
    """A list of run-time length."""
    out = []
    for x in xs:
        if x > 0:
            out.append(x * 2)
    return out


def numbers(xs):
    """A list of Python ints, of run-time length."""
    out = []
    for x in xs:
        if x > 0:
            out.append(int(x) * 2)
    return out


LISTS = (f32([1.0, -2.0, 3.0, 4.0]), f32([5.0, 6.0, -1.0]), f32([2.0, 1.0, 3.0, 2.0, 2.0]))


@program("growing_lists", graph=True)
def inserted_at_static_positions() -> World:
    def fn(xs):
        out = collected(xs)
        out.insert(0, xs[0])
        out.insert(-1, xs[1])
        out.insert(100, xs[2])
        out.insert(-100, f32(7.0))
        return out, len(out)
    return fn, each(*LISTS, f32([-1.0, -2.0, -3.0]))


@program("growing_lists", graph=True)
def inserted_in_order() -> World:
    def fn(xs):
        out = []
        for x in xs:
            place = 0
            while place < len(out) and out[place] < x:
                place += 1
            out.insert(place, x)
        return out
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def popped_at_positions() -> World:
    def fn(xs, i):
        out = collected(xs)
        first = out.pop(0)
        if len(out) > 1:
            some = out.pop(int(i))
        else:
            some = f32(0.0)
        return first, some, out
    return fn, [call(LISTS[0], i32(0)), call(LISTS[2], i32(1)), call(LISTS[2], i32(-1)), call(LISTS[1], i32(-1)), call(LISTS[2], i32(9))]


@program("growing_lists", graph=True, grad=True)
def queue_of_run_time_length() -> World:
    def fn(xs):
        queue = []
        total = f32(0.0)
        for x in xs:
            queue.append(x * x)
            queue.append(x)
        while len(queue) > 2:
            total = total * 0.5 + queue.pop(0)
        return total, queue
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def popped_from_the_empty_list() -> World:
    def fn(xs):
        out = collected(xs)
        a = out.pop()
        return a, out.pop(0)
    return fn, each(*LISTS, f32([1.0]), f32([-1.0]))


@program("growing_lists", graph=True)
def deleted_items_and_slices() -> World:
    def fn(xs, i):
        a, b, c, d, e = (numbers(xs) for _ in range(5))
        del a[0]
        del b[-1]
        del c[int(i)]
        del d[: i]
        del e[::2]
        return a, b, c, d, e
    return fn, [call(LISTS[0], i32(1)), call(LISTS[2], i32(-2)), call(LISTS[1], i32(2)), call(f32([-1.0]), i32(0))]


@program("growing_lists", graph=True)
def slices_read() -> World:
    def fn(xs, i):
        out = numbers(xs)
        n = int(i)
        return out[1:], out[:-1], out[::-1], out[::2], out[n:], out[:i], out[n:n + 2], out[-2:], out[5:2:-1], out[n::-1], out[:]
    return fn, [call(LISTS[0], i32(1)), call(LISTS[2], i32(-2)), call(LISTS[2], i32(9)), call(f32([-1.0]), i32(0))]


@program("growing_lists", graph=True, grad=True)
def slices_have_gradients() -> World:
    def fn(xs):
        out = []
        for x in xs:
            out.append(x * x)
        return tf.add_n(out[1:]) + 3.0 * tf.add_n(out[::-2])
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def slices_assigned() -> World:
    def fn(xs, i):
        a, b, c = (numbers(xs) for _ in range(3))
        a[1:2] = [1, 2, 3]
        b[: int(i)] = []
        c[1:] = numbers(-xs)
        return a, b, c
    return fn, [call(LISTS[0], i32(1)), call(LISTS[2], i32(-2)), call(LISTS[1], i32(2)), call(f32([-1.0, -2.0, -3.0]), i32(0))]


@program("growing_lists", graph=True)
def extended_slice_assigned() -> World:
    def fn(xs):
        a = collected(xs)
        a[::2] = [xs[0], xs[1]]
        return a
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def extended_by_all_sorts() -> World:
    def fn(xs, n):
        a = collected(xs)
        a.extend(collected(-xs))
        a.extend(xs)
        a.extend(tf.range(n, dtype=tf.float32))
        a.extend([xs[0]])
        a.extend((xs[1], xs[2]))
        a += collected(xs)
        a.extend(x * 2 for x in xs)
        return a, len(a)
    return fn, [call(LISTS[0], f32(2.0)), call(LISTS[1], f32(0.0))]


@program("growing_lists", graph=True)
def concatenated_and_repeated() -> World:
    def fn(xs):
        a, b = numbers(xs), numbers(-xs)
        c = a + b
        c.append(7)
        d = [7] + a
        a *= 2
        return a, b, c, d, b * 2, 3 * b, b * 0, b * -1
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def repeated_a_number_of_times_that_the_run_knows() -> World:
    def fn(xs, n):
        a = collected(xs)
        return a * int(n), [xs[0], 1.0] * int(n)
    return fn, [call(LISTS[0], i32(2)), call(LISTS[1], i32(0)), call(LISTS[1], i32(-1))]


@program("growing_lists", graph=True)
def searched() -> World:
    def fn(xs, value):
        a = collected(xs)
        found = value in a
        missing = value not in a
        return found, missing, a.count(value), a.index(value)
    return fn, [call(LISTS[0], f32(6.0)), call(LISTS[2], f32(4.0)), call(LISTS[2], f32(5.0))]


@program("growing_lists", graph=True)
def numbers_searched() -> World:
    def fn(xs, value):
        a = []
        for x in xs:
            if x > 0:
                a.append(int(x))
        n = int(value)
        return n in a, 2 in a, 2.0 in a, a.count(n), a.count(2), (a.index(2) if 2 in a else -1), a.index(n)
    return fn, [call(LISTS[0], f32(3.0)), call(LISTS[2], f32(2.0)), call(LISTS[2], f32(5.0))]


@program("growing_lists", graph=True)
def removed() -> World:
    def fn(xs, value):
        a = collected(xs)
        a.remove(value)
        b = []
        for x in a:
            b.append(int(x))
        b.remove(4)
        return a, b
    return fn, [call(LISTS[0], f32(6.0)), call(LISTS[2], f32(4.0)), call(LISTS[2], f32(5.0))]


@program("growing_lists", graph=True)
def reversed_in_place_and_copied() -> World:
    def fn(xs):
        a = numbers(xs)
        b = a.copy()
        c = list(a)
        a.reverse()
        a.append(7)
        out = []
        for x in reversed(a):
            out.append(x + 1)
        return a, b, c, out, list(reversed(b))
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def sorted_by_all_sorts() -> World:
    def fn(xs):
        a, b, c = collected(xs), numbers(xs), numbers(-xs)
        a.sort()
        b.sort(key=lambda v: -v)
        return a, b, sorted(c), sorted(c, reverse=True), sorted(b, key=lambda v: abs(v - 4)), sorted(x + 1 for x in b)
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def pairs_sorted_by_their_score() -> World:
    def fn(xs):
        pairs = []
        for i, x in enumerate(xs):
            if x > 0:
                pairs.append((x, i))
        pairs.sort(key=lambda pair: pair[0], reverse=True)
        best = max(pairs, key=lambda pair: pair[0])
        return pairs, best, pairs[0], [i for _, i in pairs]
    return fn, each(*LISTS, f32([-1.0]))


@program("growing_lists", graph=True)
def item_replaced_by_one_of_another_shape() -> World:
    def fn(n):
        rows = []
        for i in tf.range(n):
            rows.append(tf.ones([2]) * tf.cast(i, tf.float32))
        rows[0] = tf.zeros([3])
        rows[-1] = tf.zeros([1, 2])
        return rows
    return fn, each(i32(1), i32(3))


@program("growing_lists", grad=True, graph=True)
def gradient_past_replaced_items() -> World:
    def fn(x, n):
        rows = []
        for i in tf.range(n):
            rows.append(x * tf.cast(i + 1, tf.float32))
        rows[0] = x[:1] * 5.0
        if n > 1:
            rows[1] = rows[1] * 7.0
        total = f32(0.0)
        for row in rows:
            total += tf.reduce_sum(row * row)
        return total
    return fn, [call(f32([1.0, 2.0]), i32(3)), call(f32([1.0, 2.0]), i32(1))]


@program("growing_lists", graph=True)
def item_replaced_by_one_of_another_kind() -> World:
    def fn(xs):
        a = collected(xs)
        a[0] = None
        a[-1] = "last"
        return a, [v is None for v in a]
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def compared() -> World:
    def fn(xs, ys):
        a, b = collected(xs), collected(ys)
        return a == b, a != b, a == [f32(2.0)], [f32(2.0), f32(4.0)] == a, a == []
    return fn, [call(LISTS[0], LISTS[0]), call(LISTS[0], LISTS[1]), call(f32([1.0]), f32([1.0, 2.0])), call(f32([1.0, 2.0]), f32([-1.0]))]


@program("growing_lists", graph=True)
def builtins_over_it() -> World:
    def fn(xs):
        a = collected(xs)
        high, low = max(a), min(a)
        return (sum(a), high, low, any(v > 7 for v in a), all(v > 2 for v in a), min(a, default=None),
                [i * v for i, v in enumerate(a)], [x + y for x, y in zip(a, a[1:])], max(v * -1 for v in a))
    return fn, each(*LISTS, f32([-1.0]))


@program("growing_lists", graph=True)
def default_of_the_extremes() -> World:
    def fn(xs):
        a = collected(xs)
        return max(a, default=f32(-1.0)), min((int(v) for v in a), default=None)
    return fn, each(*LISTS, f32([-1.0]))


@program("growing_lists", graph=True)
def truths_of_its_items() -> World:
    def fn(xs):
        flags = []
        for x in xs:
            flags.append(x > 1)
        numbers = []
        for x in xs:
            numbers.append(int(x))
        return any(flags), all(flags), any(numbers), all(numbers)
    return fn, each(*LISTS, f32([0.0, 0.0]), f32([2.0, 3.0]))


@program("growing_lists", graph=True)
def unpacked() -> World:
    def fn(xs):
        a = collected(xs)
        first, *rest = a
        *front, last = a
        return first, rest, front, last
    return fn, each(*LISTS, f32([1.0]), f32([-1.0]))


@program("growing_lists", graph=True)
def unpacked_to_two() -> World:
    def fn(xs):
        a = collected(xs)
        x, y = a
        return x - y
    return fn, each(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]), f32([1.0, -1.0]))


@program("growing_lists", graph=True)
def displays_with_a_star() -> World:
    def fn(xs):
        a = numbers(xs)
        return [7, *a, *a], [*a]
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def tuple_of_it() -> World:
    def fn(xs):
        t = tuple(numbers(xs))
        total = 0
        for v in t:
            total += v
        return t, total, len(t), t[0], t[-1], t[1:], t[0] in t
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def comprehensions_over_it() -> World:
    def fn(xs):
        a = numbers(xs)
        return [v + 1 for v in a], [v for v in a if v > 5], [[v, w] for v in a for w in a if v < w]
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def another_grows_meanwhile() -> World:
    def fn(xs):
        a, b, c = numbers(xs), [], []
        for v in a:
            b.append(v)
            for w in b:
                c.append(v * w)
            if len(a) < 6:
                a.append(v + 1)
        return a, b, c
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def changed_in_branches_and_loops() -> World:
    def fn(xs, go):
        a = collected(xs)
        if go > 0:
            a.insert(1, go)
            del a[0]
        else:
            a.reverse()
        i = 0
        while len(a) > 1 and i < 3:
            a.pop(0)
            a.extend([go, go * 2])
            a.pop()
            i += 1
        return a
    return fn, [call(LISTS[0], f32(1.0)), call(LISTS[2], f32(-1.0)), call(LISTS[1], f32(1.0))]


class Buffer:
    def __init__(self):
        self.items = []

    def add(self, x):
        self.items.append(x)
        if len(self.items) > 3:
            self.items.pop(0)

    def best(self):
        return sorted(self.items)[0]


@program("growing_lists", graph=True)
def buffer_of_an_object_made_here() -> World:
    def fn(xs):
        buffer = Buffer()
        for x in xs:
            if x > 0:
                buffer.add(x)
        return buffer.items, buffer.best()
    return fn, each(*LISTS)


@program("growing_lists", repeat=3)
def buffer_of_an_object_of_the_state() -> World:
    buffer = Buffer()

    def fn(xs):
        for x in xs:
            if x > 0:
                buffer.add(x)
        return buffer.best()
    return fn, each(*LISTS), lambda: buffer.items


@program("growing_lists", graph=True, grad=True)
def under_a_tape() -> World:
    def fn(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            a = []
            for x in xs:
                a.append(x * x * x)
            a.insert(0, tf.reduce_sum(xs))
            a.sort(key=lambda v: -v)
            a[0] = a[0] * 2.0
            loss = a.pop(0) + a[-1] + tf.add_n(a[1:])
        return loss, tape.gradient(loss, xs)
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def items_that_are_records() -> World:
    @dataclasses.dataclass
    class Node:
        value: tf.Tensor
        depth: int

    def fn(xs):
        nodes = []
        for x in xs:
            nodes.append(Node(x, len(nodes)))
        nodes.sort(key=lambda node: node.value)
        nodes.pop(0)
        return [node.value for node in nodes], nodes[-1].depth, nodes[::-1]
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def items_that_are_lists_and_dicts() -> World:
    def fn(xs):
        rows, tables = [], []
        for i, x in enumerate(xs):
            rows.append([x] * 2)
            tables.append({"x": x, "i": i})
        rows.insert(0, [])
        del tables[0]
        return rows, tables, rows[-1][0], tables[0]["i"], [len(row) for row in rows]
    return fn, each(*LISTS)


@program("growing_lists")
def items_in_two_lists() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append([x])
        return rows, rows[1:], [row for row in rows if row[0] > 0]
    return fn, each(*LISTS)


@program("growing_lists")
def item_beside_its_list() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append({"x": x})
        return rows, max(rows, key=lambda row: row["x"])
    return fn, each(*LISTS)


@program("growing_lists")
def item_changed_after_a_loop_found_it() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append([x])
        found = None
        for row in rows:
            if row[0] > 2.0:
                found = row
        if found is not None:
            found.append(xs[0])
        return rows
    return fn, each(*LISTS)


@program("growing_lists")
def items_repeated_are_one_object() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append([x])
        return rows * 2
    return fn, each(*LISTS)


@program("growing_lists")
def ragged_rows() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append(tf.range(x))
        return tf.ragged.stack(rows), tf.concat(rows, 0), tf.concat(rows[1:], 0)
    return fn, each(i32([1, 3]), i32([2, 0, 1]), i32([4]))


@program("growing_lists")
def one_ragged_row() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            if x > 0:
                rows.append(tf.range(x))
        return tf.ragged.stack(rows).to_tensor(-1), tf.ragged.stack(rows)
    return fn, each(i32([3, 0]), i32([2, 1]), i32([0, 4]), i32([0, 0]))


@program("growing_lists")
def rows_given_to_library_code() -> World:
    def fn(xs):
        a = collected(xs)
        return np.array(a), np.mean(a), tf.convert_to_tensor(a), tf.add_n(a), tf.stack(a[1:]), str(len(a))
    return fn, each(*LISTS)


@program("growing_lists")
def stack_of_rows_that_differ() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append(tf.range(x))
        return tf.stack(rows)
    return fn, each(i32([2, 2]), i32([2, 0, 1]))


@program("growing_lists", graph=True)
def deque_of_run_time_length() -> World:
    def fn(xs):
        queue = collections.deque()
        for x in xs:
            if x > 0:
                queue.append(x)
            else:
                queue.appendleft(x)
        order = []
        while queue:
            order.append(queue.popleft())
            if queue:
                order.append(queue.pop())
        return order, queue, len(queue)
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def deque_with_a_greatest_length() -> World:
    def fn(xs):
        last, first = collections.deque(maxlen=2), collections.deque([1], 3)
        for x in xs:
            if x > 0:
                last.append(int(x))
                first.appendleft(int(x))
        first.extend([7, 8])
        last.rotate(1)
        return last, first, len(last), sum(last), last[0], list(first), first.maxlen
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def breadth_first() -> World:
    def fn(n):
        queue = collections.deque([(i32(1), 0)])
        seen = []
        while queue:
            value, depth = queue.popleft()
            seen.append((value, depth))
            if value * 2 < n:
                queue.append((value * 2, depth + 1))
                queue.append((value * 2 + 1, depth + 1))
        return seen
    return fn, each(i32(7), i32(1), i32(12))


@program("growing_lists")
def popped_from_an_empty_deque() -> World:
    def fn(xs):
        queue = collections.deque()
        for x in xs:
            if x > 0:
                queue.append(x)
        return queue.popleft(), queue.pop()
    return fn, each(f32([1.0, 2.0]), f32([1.0]), f32([-1.0]))


@program("growing_lists", graph=True)
def static_list_changed_at_run_time_positions() -> World:
    def fn(x, i):
        a, b, c, d = ([x, x * 2, x * 3] for _ in range(4))
        n = int(i)
        gone = a.pop(n)
        del b[n]
        c.insert(n, x * 9)
        d.remove(x * (i + 1))
        return a, gone, b, c, d, [x, 2.0, None][n:], (x, 2.0, None)[: n]
    return fn, [call(i32(5), i32(0)), call(i32(5), i32(2)), call(i32(5), i32(-1)), call(i32(5), i32(1)), call(i32(5), i32(3))]


@program("growing_lists", graph=True)
def slice_step_and_bounds_refused() -> World:
    def fn(xs):
        a = collected(xs)
        if xs[0] > 1:
            return a[1.5:]
        return a[::0]
    return fn, each(f32([2.0]), f32([1.0]))


@program("growing_lists", graph=True)
def index_out_of_range() -> World:
    def fn(xs, i):
        a = collected(xs)
        if i == 0:
            return a[10]
        if i == 1:
            a[10] = xs[0]
        if i == 2:
            del a[10]
        if i == 3:
            a.pop(10)
        return a[-10]
    return fn, [call(LISTS[0], i32(i)) for i in range(5)]


@program("growing_lists", graph=True)
def rows_taken_out_and_changed() -> World:
    def fn(xs):
        stack = []
        for x in xs:
            stack.append([x])
        top = stack.pop()
        top.append(xs[0])
        return top, len(stack)
    return fn, each(*LISTS)


@program("growing_lists", graph=True)
def paths_of_a_search() -> World:
    def fn(n):
        stack, found = [[1]], []
        while stack:
            path = stack.pop()
            if path[-1] >= int(n):
                found.append(len(path))
            else:
                stack.append([*path, path[-1] + 1])
                stack.append([*path, path[-1] + 2])
        return found
    return fn, each(i32(4), i32(1), i32(3))


@program("growing_lists")
def objects_found_by_identity() -> World:
    class Item:
        def __init__(self, value):
            self.value = value

    class Odd(Item):
        __hash__ = None

        def __eq__(self, other):
            raise TypeError("not to be compared")

    def fn(xs, odd):
        items = []
        for x in xs:
            items.append(Odd(x) if odd else Item(x))
        return items.index(items[0]), items[-1] in items, items.count(items[0])
    return fn, [call(LISTS[0], False), call(LISTS[0], True)]


@program("growing_lists")
def nan_is_found_by_identity() -> World:
    def fn(xs):
        items, pairs = [], []
        for x in xs:
            items.append(x)
            pairs.append((x, 1))
        return items[0] in items, pairs[0] in pairs, items == list(items)
    return fn, each(f32([float("nan"), 1.0]), f32([1.0]))


@program("growing_lists", graph=True, grad=True)
def a_tensor_of_the_program_appended_again_and_again() -> World:
    kept = [f32(1.0), f32(2.0)]
    made = []

    def fn(x, v):
        for e in v:
            if e > 0:
                kept.append(x)
        out = []
        for _ in v:
            out.append(x)
        made.extend(out)
        return kept, out
    calls = [call(f32(x), f32([1.0, -1.0, 2.0])) for x in (2.0, -1.0)]
    return fn, calls, lambda: (kept, made, [one is other for one in kept for other in made])


@program("growing_lists", graph=True, grad=True)
def a_computed_tensor_appended_again_and_again() -> World:
    kept = []

    def fn(x, v):
        kept.append(x)
        x = x * 2.0
        for e in v:
            if e > 0:
                continue
            kept.append(x)
        return kept, x
    calls = [call(f32(x), f32(v)) for x, v in ((2.0, [-1.0, 1.0, -2.0]), (-1.0, [-3.0, -1.0]), (0.5, [1.0]))]
    return fn, calls, lambda: (kept, [one is other for one in kept for other in kept])


@program("growing_lists", graph=True)
def appended_after_others_and_between() -> World:
    rows = [f32(0.5)]

    def fn(x, y, v):
        rows.append(y)
        for e in v:
            for _ in tf.range(2):
                if e > 0:
                    rows.append(x)
        rows.append(y)
        rows.append(x * 2.0)
        return len(rows)

    calls = [call(f32(x), f32(y), f32([1.0, -1.0, 2.0])) for x, y in ((2.0, 3.0), (-1.0, 0.5))]
    return fn, calls, lambda: (rows, [one is other for one in rows for other in rows])


@program("growing_lists", graph=True)
def mean_of_losses_after_updates() -> World:
    weight = tf.Variable(1.0)

    def fn(xs):
        losses, rows = [], []
        for x in xs:
            weight.assign_sub(0.1 * x)
            losses.append(weight * x)
            rows.append(tf.stack([x, x]))
        return tf.reduce_mean(losses), tf.reduce_sum(losses), tf.reduce_mean(rows), tf.convert_to_tensor(losses)
    return fn, each(f32([1.0, 2.0]), f32([]), f32([3.0])), lambda: weight


@program("growing_lists", graph=True)
def given_to_functions_of_one_tensor() -> World:
    def fn(xs, limit):
        places, values = [], []
        for i, x in enumerate(xs):
            if x > limit:
                places.append(i)
                values.append(x)
        return (tf.gather(xs, places), tf.one_hot(places, 4), tf.reshape(values, [1, -1]), tf.norm(values), tf.sqrt(values),
                tf.nn.softmax(values), tf.math.reduce_std(values), tf.argsort(values), tf.abs(places), tf.square(values))
    return fn, [call(f32([1.0, 4.0, 3.0]), f32(2.0)), call(f32([1.0, 2.5]), f32(2.0)), call(f32([5.0, 2.5, 3.0, 9.0]), f32(2.0))]


@program("growing_lists")
def given_to_functions_of_one_tensor_when_empty() -> World:
    def fn(xs, limit, name):
        places = []
        for i, x in enumerate(xs):
            if x > limit:
                places.append(i)
        if name == "gather":
            return tf.gather(xs, places)
        return tf.one_hot(places, 4) if name == "one_hot" else tf.square(places)
    calls = [call(f32([1.0, 4.0]), f32(limit), name) for name in ("gather", "one_hot", "square") for limit in (2.0, 9.0)]
    return fn, calls
