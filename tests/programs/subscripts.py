"""Subscripts: slices of tensors with tensor bounds, lists and dicts by tensor index, assignments."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program, text


@program("subscripts", graph=True, golden=True)
def tensor_by_tensor() -> World:
    def fn(xs, i):
        return xs[i], xs[i - 1]
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(1)), call(f32([1.0, 2.0, 3.0]), i32(2))]


@program("subscripts", graph=True)
def slices_with_tensor_bounds() -> World:
    def fn(xs, n):
        return xs[:n], xs[n:], xs[::2]
    return fn, [call(i32([1, 2, 3, 4]), i32(1)), call(i32([1, 2, 3, 4]), i32(4))]


@program("subscripts", graph=True)
def several_axes() -> World:
    def fn(m, r):
        return m[r, 1:], m[..., 0], m[:, tf.newaxis, -1]
    return fn, [call(f64([[1.0, 2.0], [3.0, 4.0]]), i32(0)), call(f64([[1.0, 2.0], [3.0, 4.0]]), i32(1))]


@program("subscripts", graph=True)
def python_list_by_tensor() -> World:
    def fn(i):
        table = [10, 20, 30]
        return table[i]
    return fn, each(i32(0), i32(2), i32(-1))


@program("subscripts", graph=True)
def list_of_tensors_by_tensor() -> World:
    def fn(i, x):
        parts = [x, x * 2.0, x * 3.0]
        return parts[i]
    return fn, [call(i64(0), f32(1.0)), call(i64(2), f32(1.0))]


@program("subscripts")
def index_out_of_range() -> World:
    def fn(x, i):
        parts = [x, x * 2]
        return parts[i]
    return fn, [call(f32(1.0), 1), call(f32(1.0), 5)]


@program("subscripts")
def key_missing() -> World:
    def fn(x, key):
        table = {"a": x}
        return table[key]
    return fn, [call(f32(1.0), "a"), call(f32(1.0), "b")]


@program("subscripts", graph=True)
def element_assigned() -> World:
    def fn(x):
        cells = [x, x, x]
        cells[1] = x * 10
        cells[-1] += x
        return cells
    return fn, each(f32(1.0), f32(2.0))


@program("subscripts", graph=True)
def element_assigned_in_a_branch() -> World:
    def fn(x):
        cells = [x, x]
        if x > 0:
            cells[0] = x * 10
        else:
            cells[1] = x * 100
        return cells
    return fn, each(i32(1), i32(-1))


@program("subscripts", graph=True)
def element_of_an_argument_assigned() -> World:
    def fn(cells, x):
        if x > 0:
            cells[0] = x
        return len(cells)
    return fn, [call([f32(0.0), f32(5.0)], f32(1.0)), call([f32(0.0)], f32(-1.0))]


@program("subscripts", graph=True)
def slice_of_a_list_assigned() -> World:
    def fn(x):
        cells = [1, 2, 3, 4]
        cells[1:3] = [x]
        return cells, cells[::-1]
    return fn, each(f16(9.0))


@program("subscripts")
def tensor_element_assignment_is_refused() -> World:
    def fn(xs):
        xs[0] = 1.0
        return xs
    return fn, each(f32([1.0, 2.0]))


@program("subscripts", graph=True)
def nested_containers() -> World:
    def fn(x):
        tree = {"a": [x, {"b": (x * 2, x * 3)}]}
        tree["a"][1]["c"] = tree["a"][1]["b"][1]
        return tree
    return fn, each(f32(1.0))


@program("subscripts", graph=True)
def loop_over_indices() -> World:
    def fn(xs):
        total = f32(0.0)
        for i in tf.range(1, tf.size(xs)):
            total += xs[i] - xs[i - 1]
        return total
    return fn, each(f32([1.0, 4.0, 9.0]), f32([1.0]))


@program("subscripts", graph=True)
def mask() -> World:
    def fn(xs):
        kept = xs[xs > 1.0]
        return kept, tf.size(kept)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([0.0, 1.0, 0.5]))


@program("subscripts", graph=True)
def own_getitem() -> World:
    class Table:
        def __init__(self):
            self.reads = 0

        def __getitem__(self, key):
            self.reads += 1
            name, scale = key
            return {"a": 1.0, "b": 2.0}[name] * scale

        def __setitem__(self, key, value):
            setattr(self, key, value)

    table = Table()

    def fn(x):
        table["last"] = x
        return table["a", x] + table["b", x]
    return fn, each(f32(1.0), f32(2.0)), lambda: table


@program("subscripts", graph=True)
def characters_of_python_and_tensor_strings() -> World:
    def fn(s, name):
        return tf.strings.substr(s, 1, 2), name[0], name[1:]
    return fn, [call(text("hello"), "abc")]


@program("subscripts", grad=2, graph=True)
def gradient_of_a_slice() -> World:
    def fn(xs, i):
        part = xs[i:]
        return tf.reduce_sum(part * part * part)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(1)), call(f32([1.0, 2.0, 3.0]), i32(0))]


@program("subscripts")
def slices_with_bounds_of_the_run_leave_the_function() -> World:
    def fn(x):
        part = slice(0, int(x))
        rows = slice(tf.cast(x, tf.int32), None)
        if x > 1.0:
            part = slice(int(x), 3)
        return [1, 2, 3][part], part, rows, tf.range(4)[rows]
    return fn, each(f32(1.0), f32(2.0), f32(0.0))
