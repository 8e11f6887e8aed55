"""`del`: names, elements, attributes, slices; in branches and loops; what is unbound afterwards."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("del_statement", graph=True, golden=True)
def name_is_unbound() -> World:
    def fn(x):
        y = x * 2
        z = y + 1
        del y
        return z
    return fn, each(f32(1.0), f32(2.0))


@program("del_statement")
def name_read_after_del() -> World:
    def fn(x):
        y = x * 2
        del y
        return y  # noqa: F821 (it is the point)
    return fn, each(f32(1.0))


@program("del_statement", graph=True)
def name_bound_again() -> World:
    def fn(x):
        y = x
        del y
        y = x * 3
        return y
    return fn, each(i32(1), i32(2))


@program("del_statement", graph=True)
def name_in_one_branch_not_read() -> World:
    def fn(x):
        y = x * 2
        if x > 0:
            del y
            y = x
        return y
    return fn, each(i64(1), i64(-1))


@program("del_statement")
def name_in_one_branch_read_after() -> World:
    def fn(x):
        y = x * 2
        if x > 0:
            del y
        return y
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("del_statement", graph=True)
def dict_key() -> World:
    table = {"a": 1, "b": 2}

    def fn(x, key):
        if key in table:
            del table[key]
        return x * len(table)
    return fn, [call(f32(1.0), "a"), call(f32(1.0), "z"), call(f32(1.0), "b")], lambda: table


@program("del_statement")
def dict_key_missing() -> World:
    def fn(x, key):
        table = {"a": x}
        del table[key]
        return table
    return fn, [call(f32(1.0), "a"), call(f32(1.0), "b")]


@program("del_statement", graph=True)
def list_element_and_slice() -> World:
    def fn(x):
        cells = [x, x + 1, x + 2, x + 3]
        del cells[0]
        del cells[1:]
        return cells
    return fn, each(i32(1), i32(5))


@program("del_statement", graph=True)
def list_of_the_state() -> World:
    queue = [f32(float(i)) for i in range(8)]

    def fn(x):
        first = queue[0]
        del queue[0]
        return x + first
    return fn, each(f32(1.0), f32(2.0)), lambda: queue


@program("del_statement", graph=True)
def attribute() -> World:
    class Box:
        pass

    box = Box()

    def fn(x):
        box.cached = x * 2
        y = box.cached + 1
        del box.cached
        return y, hasattr(box, "cached")
    return fn, each(f32(1.0), f32(2.0)), lambda: vars(box)


@program("del_statement")
def attribute_twice() -> World:
    class Box:
        def __init__(self):
            self.value = 1

    box = Box()

    def fn(x):
        del box.value
        return x
    return fn, each(f32(1.0), f32(2.0)), lambda: vars(box)


@program("del_statement", graph=True)
def in_a_loop() -> World:
    def fn(xs):
        total = f64(0.0)
        for x in xs:
            square = x * x
            total += square
            del square
        return total
    return fn, each(f64([1.0, 2.0]), f64([3.0]))


@program("del_statement", graph=True)
def loop_target() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            total += x
            del x
        return total
    return fn, each(f32([1.0, 2.0]), tf.zeros([0]))


@program("del_statement", graph=True)
def several_targets() -> World:
    def fn(x):
        a, b, cells = x, x * 2, [1, 2, 3]
        c = a + b
        del a, (b, cells[1])
        return c, cells
    return fn, each(f16(1.0))


@program("del_statement")
def global_of_a_closure() -> World:
    shared = {"x": 1}

    def fn(x):
        nonlocal shared
        shared = {"x": 2, **shared}
        y = x * len(shared)
        del shared["x"]
        return y
    return fn, each(i32(1), i32(2)), lambda: shared


@program("del_statement", graph=True)
def own_delitem() -> World:
    class Table:
        def __init__(self):
            self.removed = []

        def __delitem__(self, key):
            self.removed.append(key)

    table = Table()

    def fn(x):
        del table["a"], table[1:2]
        return x + len(table.removed)
    return fn, each(i32(0), i32(0)), lambda: table
