"""Augmented assignments: on names, attributes, elements; in-place for containers, new for tensors."""
from __future__ import annotations

import collections

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("augmented_assignment", grad=1, graph=True, golden=True)
def on_a_name_in_a_loop() -> World:
    def fn(xs):
        y = f32(1.0)
        for x in xs:
            y *= x
            y += 0.5
            y -= x / 4.0
        return y
    return fn, each(f32([1.0, 2.0]), f32([3.0]))


@program("augmented_assignment", graph=True)
def every_operator_on_integers() -> World:
    def fn(x):
        x += 7
        x -= 1
        x *= 5
        x //= 2
        x %= 11
        x **= 2
        x |= 8
        x &= 13
        x ^= 5
        return x
    return fn, [call(i32(3)), call(i64(9)), call(4)]


@program("augmented_assignment", graph=True)
def shifts_of_python_numbers() -> World:
    def fn(x, n):
        n <<= 2
        n >>= 1
        return x * n, n
    return fn, [call(i32(3), 5), call(i32(3), -6)]


@program("augmented_assignment", graph=True)
def true_division_and_matmul() -> World:
    def fn(m, x):
        m @= m
        x /= 4.0
        return m, x
    return fn, [call(f64([[1.0, 2.0], [3.0, 4.0]]), f64(2.0)), call(f64([[0.0, 1.0], [1.0, 0.0]]), f64(-1.0))]


@program("augmented_assignment", graph=True)
def on_an_attribute() -> World:
    class Counter:
        def __init__(self):
            self.total = f32(0.0)
            self.count = 0

    counter = Counter()

    def fn(x):
        counter.total += x
        counter.count += 1
        if x > 2.0:
            counter.count *= 10
        return counter.total / counter.count
    return fn, each(f32(1.0), f32(5.0)), lambda: counter


@program("augmented_assignment", graph=True)
def on_an_element() -> World:
    cells = [f32(0.0), f32(10.0)]
    table = {"n": 0}

    def fn(x, i):
        cells[i] += x
        table["n"] += 1
        return cells[0] - cells[1]
    return fn, [call(f32(1.0), 0), call(f32(2.0), 1), call(f32(3.0), 0)], lambda: (cells, table)


@program("augmented_assignment", graph=True)
def on_an_element_in_a_loop() -> World:
    def fn(xs):
        counts = [0, 0]
        for x in xs:
            counts[0] += 1
            if x > 0:
                counts[1] += 1
        return counts
    return fn, each(i32([1, -1, 2]), i32([-1]))


@program("augmented_assignment", graph=True)
def list_in_place_shows_through_an_alias() -> World:
    kept = [1]

    def fn(x):
        alias = kept
        alias += [2, 3]
        return alias is kept, x * len(kept)
    return fn, each(f32(1.0), f32(1.0)), lambda: kept


@program("augmented_assignment", graph=True)
def list_rebound_by_a_sum_is_no_alias() -> World:
    kept = [1]

    def fn(x):
        other = kept
        other = other + [2]
        return other, x * len(kept)
    return fn, each(f32(1.0), f32(1.0)), lambda: kept


@program("augmented_assignment", graph=True)
def tensor_is_rebound_not_changed() -> World:
    def fn(x):
        old = x
        x += 1.0
        return old, x
    return fn, each(f16(1.0))


@program("augmented_assignment")
def numpy_argument_is_changed_in_place() -> World:
    def fn(a, x):
        a += 1.0
        a[0] *= 10.0
        return x * a.sum()
    return fn, [call(np.array([1.0, 2.0], np.float32), f32(2.0))]


@program("augmented_assignment", graph=True)
def list_times_and_tuple_plus() -> World:
    def fn(x, n):
        parts = [x]
        parts *= n
        pair = (x,)
        pair += (x * 2,)
        return parts, pair
    return fn, [call(i32(1), 3), call(i32(1), 0)]


@program("augmented_assignment", graph=True)
def dict_and_set_operators() -> World:
    table = {"a": 1}
    names = {"a"}

    def fn(x, key):
        nonlocal names
        table.__ior__({key: len(table)})
        names |= {key}
        names -= {"a"}
        return x + len(table)
    return fn, [call(i32(1), "b"), call(i32(1), "c")], lambda: (table, names)


@program("augmented_assignment", graph=True)
def on_a_variable() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        v.assign_add(x)
        y = v * 2.0
        y += v
        return y
    return fn, each(f32(1.0), f32(2.0)), lambda: v


@program("augmented_assignment", graph=True)
def own_iadd() -> World:
    class Bag:
        def __init__(self):
            self.items = []

        def __iadd__(self, item):
            self.items.append(item)
            return self

    bag = Bag()

    def fn(x):
        nonlocal bag
        before = bag
        bag += x
        return before is bag, len(bag.items)
    return fn, each(f32(1.0), f32(2.0)), lambda: bag


@program("augmented_assignment", graph=True)
def bools_and_strings() -> World:
    def fn(on, s):
        on &= flag(True)
        on ^= flag(True)
        s += "x"
        return on, s
    return fn, [call(flag(True), text("a")), call(flag(False), text("b"))]


@program("augmented_assignment", graph=True)
def number_that_changes_kind() -> World:
    def fn(n):
        total = 0
        while n > 0:
            total += 0.5
            n -= 1
        total += 1
        return total
    return fn, each(i32(3), i32(0))


@program("augmented_assignment")
def dtype_mismatch_is_refused() -> World:
    def fn(x):
        x += f64(1.0)
        return x
    return fn, each(f32(1.0), f64(1.0))


@program("augmented_assignment")
def unbound_name() -> World:
    def fn(x):
        if x > 0:
            total = x
        total += 1
        return total
    return fn, each(i32(1), i32(-1), i32(2))


@program("augmented_assignment")
def what_cannot_be_added_to() -> World:
    weight = tf.Variable(1.0)

    def fn(x, kind):
        values = {"none": None, "function": len, "text": "a", "object": object, "variable": weight, "slice": slice(1)}
        total = values[kind]
        if x > 0.0:
            if kind == "none":
                total += x
            else:
                total += 1
        return x
    return fn, [call(f32(sign), kind) for kind in ("none", "function", "text", "object", "variable", "slice") for sign in (1.0, -1.0)]


@program("augmented_assignment", graph=True)
def refused_and_told_what_was_refused() -> World:
    def fn(x, step):
        told = []
        for v in x:
            try:
                step += 1
            except TypeError as error:
                told.append(str(error))
            step = len
            x = x + v
        return told, x
    return fn, [call(f32([1.0]), 1), call(f32([1.0, 2.0]), 1)]


@program("augmented_assignment", graph=True)
def list_and_a_tensor() -> World:
    """A tensor has arithmetic of its own, which Python asks before it extends the list: the sum is a tensor, the list as it was."""
    kept = [f32(1.0), f32(2.0)]

    def fn(x):
        values = kept
        values += x
        made = [x, x * 2.0]
        made += x
        return values, made
    return fn, [call(f32([1.0, 5.0])), call(f32([3.0, 4.0]))], lambda: kept


@program("augmented_assignment")
def list_and_a_tensor_in_a_branch() -> World:
    kept = [f32(1.0), f32(2.0)]

    def fn(x, chosen):
        values = kept
        if chosen > 0.0:
            values += x
        return values
    return fn, [call(x, f32(sign)) for x in (f32(1.0), f32([1.0, 2.0])) for sign in (1.0, -1.0)], lambda: kept


@program("augmented_assignment")
def list_and_a_tensor_in_a_loop_and_a_method() -> World:
    class Sum:
        def __init__(self):
            self.values = [f32(1.0)]

        def step(self, x):
            for v in x:
                self.values += x * v
            return self.values
    total = Sum()
    return total.step, [call(f32([1.0])), call(f32([2.0]))], lambda: total.values


@program("augmented_assignment")
def list_and_variables_and_arrays() -> World:
    weight = tf.Variable([1.0, 2.0])
    array = np.array([1.0, 2.0], np.float32)

    def fn(x):
        a, b, c = [1.0, 2.0], [1.0, 2.0], [3.0]
        a += weight
        b += array
        c *= x
        return a, b, c
    return fn, [call(f32(2.0)), call(f32(3.0))]


@program("augmented_assignment")
def list_and_an_object_with_reflected_operators() -> World:
    class Total:
        def __radd__(self, other):
            return sum(other)

        def __rmul__(self, other):
            return "times"

    def fn(x):
        values, others, plain = [x, x * 2.0], [x], [x]
        values += Total()
        others *= Total()
        plain += (x, x)
        return values, others, plain
    return fn, [call(f32(1.0)), call(f32(2.0))]


@program("augmented_assignment")
def deque_and_a_tensor() -> World:
    def fn(x):
        waiting = collections.deque([1.0, 2.0])
        waiting += [3.0]
        told = None
        try:
            waiting += x
        except (TypeError, ValueError) as error:
            told = type(error).__name__
        return list(waiting) if isinstance(waiting, collections.deque) else waiting, told
    return fn, [call(f32([1.0, 2.0, 3.0]))]


@program("augmented_assignment")
def list_repeated_by_an_integer_of_numpy() -> World:
    def fn(x):
        values = same = [x, 2]
        values *= np.int64(2)
        return values, values is same
    return fn, [call(f32(1.0)), call(f32(2.0))]
