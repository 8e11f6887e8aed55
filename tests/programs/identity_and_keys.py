"""What is one object and what is another; objects as keys of dicts; equality by code of the program; where exceptions were raised."""
from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, program


@program("identity_and_keys", graph=True)
def a_default_and_what_is_passed_for_it() -> World:
    def fn(x, hist=[]):  # noqa: B006
        hist.append(x)
        return hist is fn.__defaults__[0], len(hist)
    return fn, [call(f32(1.0)), call(f32(3.0), [f32(0.0)]), call(f32(4.0))], lambda: fn.__defaults__


@program("identity_and_keys", graph=True)
def a_default_known_by_another_name() -> World:
    shared: list[float] = []

    def fn(x, hist=shared):
        hist.append(float(x))
        return hist is shared, list(shared)
    return fn, [call(f32(1.0)), call(f32(3.0), shared), call(f32(4.0), []), call(f32(2.0))]


@program("identity_and_keys", graph=True)
def tensors_of_state_that_are_one_object_or_two() -> World:
    class Cell:
        now = before = f32(0.0)
    cell = Cell()

    def fn(x, replace):
        same = cell.now is cell.before
        cell.before = cell.now
        if replace:
            cell.now = x * 2.0
        return same
    return fn, [call(f32(1.0), replace) for replace in (True, True, False, False, True)]


@program("identity_and_keys")
def memory_of_an_array() -> World:
    whole = np.arange(6.0)

    def fn(a, x):
        y = x * a.sum()
        if y > 3.0:
            y = y - 1.0
        return y, a.base is None, a.base is whole, a.flags.owndata
    x = tf.constant(1.0, tf.float64)
    return fn, [call(np.ones(3), x), call(whole[2:], x), call(whole, x)]


@program("identity_and_keys")
def memory_of_an_array_that_is_changed() -> World:
    def fn(a, x):
        a += x.numpy()
        if a.max() > 5:
            a[a > 5] = 5
        return a, a.base is None
    return fn, [call(np.ones(3, np.float32), f32(1.0)), call(np.ones(3, np.float32), f32(9.0))]


class Held:
    """A record whose equality is a tensor."""

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    __hash__ = None


@program("identity_and_keys", graph=True)
def lists_searched_by_an_equality_that_gives_tensors() -> World:
    held = [Held(f32(1.0)), Held(f32(2.0)), Held(f32(3.0))]

    def fn(x):
        if x > 1.0:
            return held.index(Held(x)), held.count(Held(x)), Held(x) in held
        return -1, 0, False
    return fn, each(f32(1.0), f32(3.0), f32(2.0))


@program("identity_and_keys", graph=True)
def an_object_taken_out_by_an_equality_that_gives_tensors() -> World:
    def fn(x):
        held = [Held(x), Held(x + 1.0), Held(x + 2.0)]
        if x > 1.0:
            held.remove(Held(x + 1.0))
        return len(held), [one.v for one in held], Held(x) in held
    return fn, each(f32(1.0), f32(3.0))


@program("identity_and_keys")
def keys_that_count_how_often_they_are_compared() -> World:
    count = [0]

    class Key:
        def __eq__(self, other):
            count[0] += 1
            return count[0] % 2 == 0

        def __hash__(self):
            return 5

    def fn(x):
        key = Key()
        first = key == 3
        table = {key: 1}
        if x > 0.0:
            return first, table.get(Key()), count[0]
        return first, 0, count[0]
    return fn, each(f32(1.0), f32(-1.0), f32(1.0)), lambda: count


@program("identity_and_keys")
def a_key_whose_hash_changes() -> World:
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return hash(self.n)

        def __eq__(self, other):
            return isinstance(other, Key) and self.n == other.n
    key, table = Key(1), {}

    def fn(x):
        table[key] = table.get(key, 0) + x
        if table[key] > 3.0:
            key.n += 1
        return key in table, len(table), table.get(Key(1))
    return fn, each(f32(1.0), f32(3.0), f32(1.0), f32(5.0))


@program("identity_and_keys", graph=True)
def keys_that_are_changed_from_outside() -> World:
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 7

        def __eq__(self, other):
            return isinstance(other, Key) and self.n == other.n
    key = Key(1)
    table = {key: f32(1.0)}

    def change():
        key.n += 1

    def fn(x, n):
        return table.get(Key(n), 0.0) + x
    return fn, [call(f32(1.0), 1), ((f32(1.0), 1), {}, change), call(f32(1.0), 2)]


@program("identity_and_keys", graph=True)
def frozen_dataclasses_as_keys() -> World:
    @dataclasses.dataclass(frozen=True)
    class Point:
        a: int
        b: str = "u"
    seen = {Point(0): f32(0.0)}

    def fn(x, a):
        seen[Point(a)] = seen.get(Point(a), f32(0.0)) + x
        return len(seen), seen[Point(a)], Point(a) in {Point(1), Point(2)}
    return fn, [call(f32(1.0), 1), call(f32(3.0), 2), call(f32(1.0), 1)], lambda: [(key.a, key.b, seen[key]) for key in seen]


@program("identity_and_keys")
def keys_made_in_a_branch() -> World:
    class Node:
        def __init__(self, a):
            self.a = a
    table, group = {}, set()

    def fn(x):
        if x > 2.0:
            table[Node(3)] = x
            group.add(Node(4))
        return len(table), len(group)
    return fn, each(f32(1.0), f32(3.0), f32(5.0)), lambda: ([key.a for key in table], [key.a for key in group])


@program("identity_and_keys", graph=True)
def keys_made_in_the_call_with_fields_of_the_run() -> World:
    class Node:
        def __init__(self, a):
            self.a = a
    table = {}

    def fn(x):
        node = Node(x * 2.0)
        table[node] = x
        node.b = 3
        return len(table), len({node, (node, 1)})
    return fn, each(f32(1.0), f32(3.0)), lambda: [(key.a, key.b) for key in table]


def _lines(error):
    """Functions and lines, from the first line of the outermost one."""
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    return found


@program("identity_and_keys", graph=True)
def kept_exceptions_know_where_they_were_raised() -> World:
    errors = []

    def checked(x):
        if x > 1.0:
            raise ValueError("large")
        return x

    def twice(x):
        return checked(x) * 2.0

    def fn(x):
        try:
            return twice(x)
        except ValueError as error:
            errors.append(error)
        return -x
    return fn, each(f32(1.0), f32(3.0)), lambda: [(_lines(error), vars(error)) for error in errors]


@program("identity_and_keys")
def the_traceback_of_a_handled_exception() -> World:
    def fn(x):
        kept = None
        try:
            if x > 1.0:
                raise ValueError("v")
        except ValueError as error:
            kept = error
        return kept is not None, kept is not None and kept.__traceback__ is not None
    return fn, each(f32(1.0), f32(3.0))


@program("identity_and_keys")
def numbers_of_objects() -> World:
    def fn(x):
        word, one = str(float(x)), [x]
        other = one
        return id(word) == id(word), id(one) == id(other), id(one) == id([x]), len({id(one), id(other), id(x)})

    return fn, each(f32(1.0), f32(2.0), f32(3.0))
