"""Iterations and texts of the run that library code is given, and operations that give nothing."""
from __future__ import annotations

import json
import math
import types
from collections.abc import Callable

import tensorflow as tf

from tests.programs import World, each, f32, program


class Lines:
    def __init__(self):
        self.n, self.lines = 0, []

    def note(self, x):
        self.n += 1
        if x > 1:
            self.lines.append(" ".join(map(str, ("step", self.n))))
        return x


@program("given_to_libraries", graph=True)
def joined_texts_of_the_run_in_a_branch() -> World:
    log = Lines()
    return log.note, each(f32(0.0), f32(2.0), f32(3.0)), lambda: log.lines


@program("given_to_libraries", graph=True)
def joined_texts_of_the_run() -> World:
    def fn(x):
        n = int(tf.reduce_sum(x))
        counts = {"a": n, "b": 2}
        parts = [str(n), "end"]
        return (x * 2.0, ", ".join(str(one) for one in (n, 2)), "-".join(parts), "|".join(f"{k}={v}" for k, v in counts.items()),
                "/".join(map("{:03d}".format, [1, n])), "".join(reversed(parts)), "+".join(["%d" % one for one in counts.values()]))
    return fn, each(f32(1.0), f32(2.0))


@program("given_to_libraries", graph=True)
def library_functions_of_iterations() -> World:
    def fn(x):
        n = int(tf.reduce_sum(x))
        rest = iter([n, 2, 3])
        next(rest)
        return x + 1.0, math.fsum(map(float, [n, 2])), math.prod({"a": n, "b": 2}.values()), math.fsum(rest), list(rest)
    return fn, each(f32(1.0), f32(2.0))


@program("given_to_libraries", graph=True)
def operations_that_give_none() -> World:
    v = tf.Variable([1.0, 2.0])

    def fn(x):
        found = v.assign_add(x, read_value=False), v.assign(x * 2.0, read_value=False), v.assign_sub(x, read_value=False)
        if tf.reduce_sum(x) > 2.0:
            found = *found, v.assign(x, read_value=False)
        return found, tf.group(), tf.debugging.assert_equal(x, x)
    return fn, each(f32([1.0, 1.0]), f32([2.0, 3.0])), lambda: v


class Worker:
    def __init__(self):
        self.n, self.items, self.limits, self.inner = 0, [1, 2], {"most": 3}, types.SimpleNamespace(value=5)


class Named(Worker):
    def __str__(self):
        return f"worker {self.n}"

    def __repr__(self):
        return f"<{self.n}>"


def _counting_with(worker: Worker, texts: Callable[[Worker], object]) -> World:
    def fn(x):
        if x > 1:
            worker.n += 1
            worker.items[0] += 1
            worker.inner.value += 1
        return x * 2.0, texts(worker)
    return fn, each(f32(0.0), f32(2.0), f32(3.0)), lambda: vars(worker)


@program("given_to_libraries", graph=True)
def fields_of_formats_look_into_objects() -> World:
    return _counting_with(Worker(), lambda o: (
        "{0.n} {0.items[0]} {o.inner.value:>4} {0.limits[most]}".format(o, o=o), "{.n}|{.n:{w.inner.value}}".format(o, o, w=o)))


@program("given_to_libraries", graph=True)
def fields_of_formats_beside_whole_objects() -> World:
    return _counting_with(Named(), lambda o: ("{0.n} {0!r} {0} {{{0.items[1]}}}".format(o), "{} {.n}".format(o, o)))


@program("given_to_libraries")
def formats_that_are_refused() -> World:
    def tried(text, *args):
        try:
            return text.format(*args)
        except (AttributeError, IndexError, KeyError, ValueError) as error:
            return type(error).__name__, str(error)

    return _counting_with(Worker(), lambda o: (tried("{0.nothing}", o), tried("{1.n}", o), tried("{} {0.n}", o), tried("{o.n}", o)))


@program("given_to_libraries", graph=True)
def namespaces_are_equal_by_their_fields() -> World:
    worker = Worker()

    def fn(x):
        worker.inner.value += 1
        if x > 1:
            worker.inner.value += 1
        same = worker.inner == types.SimpleNamespace(value=6)
        return x * 2.0, same, worker.inner != types.SimpleNamespace(value=8), worker.inner in [types.SimpleNamespace(value=7)]
    return fn, each(f32(0.0), f32(2.0), f32(3.0)), lambda: worker.inner


@program("given_to_libraries")
def nested_lists_that_graphs_refuse_in_branches_and_loops() -> World:
    def fn(x):
        if tf.reduce_sum(x) > 0:
            y = tf.concat([[x], [1]], 0)
        else:
            y = tf.concat([[x], [2.0]], 0)
        for _ in tf.range(2):
            x = tf.reduce_sum(tf.concat([[x], [1]], 0))
        if x > 4.0:
            return tf.convert_to_tensor([x, [x]])
        return x, y
    return fn, each(f32(1.0), f32(-1.0), f32(4.0))


@program("given_to_libraries", graph=True)
def control_dependencies_of_operations_without_a_result() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        stored = v.assign(x, read_value=False)
        with tf.control_dependencies([stored, tf.debugging.assert_non_negative(x * x)]):
            return v + 1.0
    return fn, each(f32(2.0), f32(3.0)), lambda: v


@program("given_to_libraries")
def functions_that_want_no_iterator() -> World:
    def fn(x):
        n, found = int(x), []
        for refused in (lambda: json.dumps(map(str, [n])), lambda: "2a".startswith(map(str, [n]))):
            try:
                found.append(refused())
            except TypeError as error:
                found.append(str(error))
        return found
    return fn, each(f32(2.0), f32(3.0))


@program("given_to_libraries")
def numbers_of_format_fields() -> World:
    def fn(x):
        n, found = int(x), []
        for text in ("{0:.1f} {}", "{} {0.real}", "{00:.2f}", "{0.}", "{0.real} {1:.1f}", "{:.1f} {:.1f}"):
            try:
                found.append(text.format(n, 2))
            except ValueError:
                found.append("refused")
        return found
    return fn, each(f32(2.0), f32(3.0))


@program("given_to_libraries", graph=True)
def joined_lists_of_run_time_length() -> World:
    def fn(n, m):
        names, numbers = [], []
        for i in tf.range(n):
            names.append("even" if i % 2 == 0 else "odd")
            numbers.append(f"{int(i):02d}")
        whole = "/".join(names)
        names.clear()
        for row in m:
            print(" ".join(f"{float(v):6.2f}" for v in row))
        return whole, "".join(numbers), "-".join(numbers[::-1]).split("-"), names
    return fn, [((tf.constant(n), f32([[1.0, 2.0], [3.0, float(n)]])), {}) for n in (3, 0, 1)]


@program("given_to_libraries")
def joined_numbers_are_refused() -> World:
    def fn(n):
        numbers = []
        for i in tf.range(n):
            numbers.append(int(i))
        try:
            return "".join(numbers)
        except TypeError as error:
            return str(error)
    return fn, each(tf.constant(2), tf.constant(0))


@program("given_to_libraries", graph=True)
def texts_of_the_run_as_tensors() -> World:
    def fn(x):
        n = int(x)
        name = tf.constant("id_" + str(n))
        path = tf.strings.join([name, f"{n:03d}"], separator="/")
        return name, path, tf.strings.length(str(n)), path.numpy().decode().upper()
    return fn, each(f32(1.0), f32(22.0))


@program("given_to_libraries", graph=True)
def lengths_of_datasets() -> World:
    batches = tf.data.Dataset.range(7).batch(2)

    def fn(x):
        total = x
        for i in range(len(batches)):
            total += float(i)
        return len(batches), len(tf.data.Dataset.range(3).map(lambda v: v + 1)), total
    return fn, each(f32(1.0), f32(22.0))


@program("given_to_libraries", graph=True)
def lengths_of_datasets_that_have_none() -> World:
    def fn(x):
        found = []
        for data in (tf.data.Dataset.range(3).repeat(), tf.data.Dataset.range(3).filter(lambda v: v > 1)):
            try:
                found.append(len(data))
            except TypeError as error:
                found.append(str(error))
        return found, x
    return fn, each(f32(1.0), f32(22.0))
