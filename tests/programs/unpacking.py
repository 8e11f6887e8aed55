"""Unpacking assignments: tensors, nested targets, stars, wrong counts, attributes as targets."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program, text


@program("unpacking", graph=True, golden=True)
def tensor_into_two() -> World:
    def fn(pair):
        a, b = pair
        return a - b
    return fn, each(f32([3.0, 1.0]), f32([5.0, 9.0]))


@program("unpacking", graph=True)
def matrix_into_rows_and_cells() -> World:
    def fn(m):
        (a, b), (c, d) = m
        return a * d - b * c
    return fn, each(f64([[1.0, 2.0], [3.0, 4.0]]))


@program("unpacking", graph=True)
def star_of_a_list() -> World:
    def fn(x):
        first, *rest = [x, x * 2, x * 3]
        return first, rest
    return fn, each(i32(1), i32(2))


@program("unpacking", graph=True)
def star_of_a_tensor() -> World:
    def fn(xs):
        first, *middle, last = xs
        return first, middle, last
    return fn, each(i32([1, 2, 3, 4]), i32([1, 2]))


@program("unpacking")
def too_many_values() -> World:
    def fn(xs):
        a, b = xs
        return a + b
    return fn, each(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]))


@program("unpacking")
def too_few_values() -> World:
    def fn(x):
        a, b, c = (x, x)
        return a + b + c
    return fn, each(f32(1.0))


@program("unpacking", graph=True, golden=True)
def swap_in_a_loop() -> World:
    def fn(n):
        a, b = i64(0), i64(1)
        while n > 0:
            a, b = b, a + b
            n -= 1
        return a
    return fn, each(i64(10), i64(0))


@program("unpacking", graph=True)
def result_of_a_helper() -> World:
    def halves(x):
        if x > 10:
            return x // 2, x - x // 2
        return x, i32(0)

    def fn(x):
        a, b = halves(x)
        return a * b
    return fn, each(i32(15), i32(3))


@program("unpacking", graph=True)
def result_of_an_operation() -> World:
    def fn(xs):
        values, indices = tf.math.top_k(xs, 2)
        low, high = tf.split(values, 2)
        return low, high, indices
    return fn, each(f32([1.0, 5.0, 3.0]))


@program("unpacking", graph=True)
def shape_unpacked() -> World:
    def fn(m):
        rows, columns = m.shape
        return tf.reshape(m, [columns, rows]), rows * columns
    return fn, each(f32([[1.0, 2.0, 3.0]]), f32([[1.0], [2.0]]))


@program("unpacking", graph=True)
def dynamic_shape_unpacked() -> World:
    def fn(m):
        rows, columns = tf.unstack(tf.shape(m))
        return rows * 10 + columns
    return fn, each(f16([[1.0, 2.0, 3.0]]), f16([[1.0], [2.0]]))


@program("unpacking", graph=True)
def for_target_nested() -> World:
    def fn(items):
        total = f32(0.0)
        for name, (low, high) in items.items():
            total += (high - low) * len(name)
        return total
    return fn, each({"a": (f32(1.0), f32(2.0)), "bb": (f32(0.0), f32(5.0))})


@program("unpacking", graph=True)
def attributes_and_elements_as_targets() -> World:
    class Pair:
        left = None
        right = None

    pair = Pair()
    cells = [0, 0]

    def fn(x):
        pair.left, cells[1] = x, x * 2
        cells[0], pair.right = pair.left, cells[1]
        return cells
    return fn, each(i32(1), i32(5)), lambda: (pair, cells)


@program("unpacking", graph=True)
def order_of_assignment() -> World:
    def fn(x):
        i = 0
        cells = [x, x, x]
        i, cells[i] = 2, x * 10
        return i, cells
    return fn, each(f32(1.0))


@program("unpacking", graph=True)
def chained_assignment() -> World:
    def fn(x):
        a = b = [x]
        a.append(x * 2)
        (c, d) = pair = (x, b)
        return a, d, c, pair
    return fn, each(f32(1.0))


@program("unpacking", graph=True)
def dict_keys() -> World:
    def fn(table, x):
        first, second = table
        return x * table[first] - x * table[second]
    return fn, [call({"a": 3.0, "b": 1.0}, f32(2.0))]


@program("unpacking", graph=True)
def tensors_or_none_in_a_pair() -> World:
    def fn(x):
        if x > 0:
            pair = x, None
        else:
            pair = None, x
        up, down = pair
        return up is None, down is None, up if down is None else down
    return fn, each(f32(1.0), f32(-1.0))


@program("unpacking", graph=True)
def string_characters() -> World:
    def fn(x, name):
        a, b = name
        return x, b + a
    return fn, [call(text("t"), "xy"), call(text("t"), "pq")]


@program("unpacking", graph=True)
def star_in_a_display() -> World:
    def fn(xs, more):
        items = [*xs, *more]
        return (*items, 0), {**{"a": xs[0]}, **{"b": items[-1]}}
    return fn, [call(i32([1, 2]), [i32(3)]), call(i32([1, 2]), [])]


@program("unpacking")
def scalar_is_refused() -> World:
    def fn(x):
        a, b = x
        return a
    return fn, each(f32(1.0), 3)


@program("unpacking")
def what_has_no_items() -> World:
    class Plain:
        pass

    def fn(x, kind, n):
        seen = []
        for e in x:
            n += 1
            seen.append(e)
            if e > 1.0:
                if kind == "nothing":
                    () = 0
                elif kind == "number":
                    a, b = n
                elif kind == "none":
                    a, *b = None
                elif kind == "object":
                    [a, b] = Plain()
                else:
                    for a, b in [(1, 2), 3.0]:
                        n += a
        return seen, n
    return fn, [call(f32(x), kind, 1) for kind in ("nothing", "number", "none", "object", "inside") for x in ([0.5, 2.0], [0.5, 0.25])]


class Counting:
    def __init__(self, value, end=None):
        self.value, self.end, self.asked = value, end, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.end is not None and self.asked > self.end:
            raise StopIteration
        return self.value * float(self.asked)


class Asked:
    def __init__(self, value):
        self.value, self.keys = value, []

    def __getitem__(self, key):
        self.keys.append(key)
        if key > 4:
            raise IndexError
        return self.value * key


@program("unpacking", graph=True)
def no_more_items_than_needed_are_asked_for() -> World:
    def fn(x, end):
        counting, asked = Counting(x, end), Asked(x)
        found = []
        for iterable in (counting, asked):
            try:
                a, b = iterable
                found.append(a + b)
            except ValueError as error:
                found.append(str(error))
        return found, counting.asked, asked.keys
    return fn, [call(f32(2.0), end) for end in (1, 2, 3, 5, None)]


@program("unpacking")
def an_endless_iterator_has_too_many_items() -> World:
    def fn(x):
        a, b = Counting(x)
        return a
    return fn, each(f32(2.0))


@program("unpacking", graph=True)
def functions_of_items_are_not_called_for_more() -> World:
    def fn(x):
        calls = 0

        def seen(value):
            nonlocal calls
            calls += 1
            return value

        items = [x, 1, 2, 3, 4]
        for lazy in (map(seen, items), (seen(one) for one in items), zip(map(seen, items), items)):
            try:
                a, b = lazy
            except ValueError:
                calls += 10
        left = iter(items)
        try:
            a, b = left
        except ValueError:
            return calls, next(left)
    return fn, each(f32(2.0))


@program("unpacking", graph=True)
def too_many_items_in_a_loop_of_the_graph() -> World:
    def fn(v, x):
        for e in v:
            counting = Counting(e)
            try:
                a, b = counting
            except ValueError:
                pass
            x = x + float(counting.asked) * e
        return x
    return fn, [call(f32([1.0, 2.0]), f32(0.5)), call(f32([2.0, 1.0, 4.0]), f32(0.5))]


class Growing(Counting):
    def __next__(self):
        self.asked += 1
        self.value = self.value + 1.0
        if self.value > 4.0:
            raise StopIteration
        return self.value


@program("unpacking", graph=True)
def an_iterator_that_the_run_ends() -> World:
    def fn(x, caught):
        growing = Growing(x)
        if not caught:
            a, b = growing
            return a, b, growing.asked
        try:
            a, b = growing
        except ValueError as error:
            return str(error), growing.asked
        return a, b, growing.asked
    return fn, [call(f32(x), caught) for caught in (True, False) for x in (2.5, 3.5, 1.0, 5.0, -9.0)]


@program("unpacking")
def a_generator_with_too_many_items() -> World:
    def items(x):
        for k in range(4):
            print("item", k)
            yield x * k

    def fn(x, count):
        try:
            if count == 2:
                a, b = items(x)
            else:
                a, b, c, d = items(x)
        except ValueError as error:
            return str(error)
        return a, d
    return fn, [call(f32(2.0), 2), call(f32(2.0), 4)]
