"""Comprehensions: lists, sets, dicts, generator expressions; filters, nesting, scopes of their own."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("comprehensions", graph=True, golden=True)
def list_over_a_tensor() -> World:
    def fn(xs):
        return [x * x for x in xs]
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0]), tf.zeros([0]))


@program("comprehensions", graph=True, golden=True)
def list_with_a_tensor_filter() -> World:
    def fn(xs):
        return [x for x in xs if x > 0]
    return fn, each(i32([1, -2, 3]), i32([-1, -2, -3]), i32([1, 2, 3]))


@program("comprehensions", graph=True)
def list_over_tf_range() -> World:
    def fn(n):
        squares = [i * i for i in tf.range(n)]
        return squares, len(squares)
    return fn, each(i32(4), i32(0))


@program("comprehensions", graph=True)
def nested_for_clauses() -> World:
    def fn(xs, n):
        return [x + j for x in xs for j in range(n)]
    return fn, [call(i64([10, 20]), 2), call(i64([10, 20]), 0), call(i64([10, 20]), 1)]


@program("comprehensions", graph=True)
def nested_lists() -> World:
    def fn(m):
        return [[v * 2 for v in row] for row in m]
    return fn, each(i32([[1, 2], [3, 4]]), i32([[5, 6]]))


@program("comprehensions", graph=True)
def second_clause_reads_the_first() -> World:
    def fn(n):
        return [(i, j) for i in range(n) for j in range(i) if (i + j) % 2]
    return fn, each(4, 1, 0)


@program("comprehensions", graph=True)
def dict_of_tensors() -> World:
    def fn(x, names):
        return {name: x * i for i, name in enumerate(names)}
    return fn, [call(f32(2.0), ["a", "b", "a"]), call(f32(2.0), [])]


@program("comprehensions", graph=True)
def dict_of_a_dict_with_a_filter() -> World:
    def fn(parts):
        return {key: tf.reduce_sum(part) for key, part in parts.items() if key != "skip"}
    return fn, each({"a": f32([1.0, 2.0]), "skip": f32([9.0]), "b": f32([3.0])})


@program("comprehensions")
def set_of_python_values() -> World:
    def fn(x, words):
        lengths = {len(word) for word in words}
        return x * len(lengths), lengths
    return fn, [call(f32(1.0), ["a", "bb", "cc"]), call(f32(1.0), [])]


@program("comprehensions", graph=True)
def sum_of_a_generator() -> World:
    def fn(xs):
        return sum(x * x for x in xs)
    return fn, each(f64([1.0, 2.0]), f64([3.0]))


@program("comprehensions", graph=True)
def any_and_all_of_a_generator() -> World:
    def fn(xs):
        return any(x > 3 for x in xs), all(x > 0 for x in xs)
    return fn, each(i32([1, 5]), i32([-1, 2]), i32([1, 2]))


@program("comprehensions", graph=True)
def max_of_a_generator() -> World:
    def fn(xs):
        return max(tf.abs(x) for x in xs), min(x for x in xs)
    return fn, each(f32([1.0, -5.0]), f32([3.0, 2.0]))


@program("comprehensions", graph=True)
def target_does_not_leak() -> World:
    def fn(x):
        i = x
        rows = [i * 2 for i in (1, 2, 3)]
        return i, rows
    return fn, each(f32(9.0))


@program("comprehensions", graph=True)
def reads_the_enclosing_scope() -> World:
    scale = 10

    def fn(xs):
        shift = tf.reduce_sum(xs)
        return [x * scale + shift for x in xs]
    return fn, each(i32([1, 2]), i32([5]))


@program("comprehensions", graph=True)
def method_and_attribute_inside() -> World:
    class Layer:
        def __init__(self, w):
            self.w = w

        def apply(self, x):
            return x * self.w

    class Stack:
        def __init__(self):
            self.layers = [Layer(2.0), Layer(3.0)]

        def run(self, x):
            return [layer.apply(x) for layer in self.layers if layer.w > 0]

    return Stack().run, each(f16(1.0), f16(2.0))


@program("comprehensions", graph=True)
def conditional_expression_inside() -> World:
    def fn(xs):
        return [x if x > 0 else -x for x in xs]
    return fn, each(f32([1.0, -2.0]), f32([-3.0, 4.0]))


@program("comprehensions", graph=True)
def helper_with_early_return_inside() -> World:
    def clipped(v):
        if v > 2:
            return i32(2)
        return v

    def fn(xs):
        return [clipped(x) for x in xs]
    return fn, each(i32([1, 5]), i32([9, 2]))


@program("comprehensions", graph=True)
def in_a_loop() -> World:
    def fn(n):
        total = i32(0)
        for i in tf.range(n):
            parts = [i * k for k in (1, 2, 3)]
            total += parts[0] + parts[2]
        return total
    return fn, each(i32(4), i32(0))


@program("comprehensions", graph=True)
def zip_and_enumerate_inside() -> World:
    def fn(xs, ys):
        return [x * y + i for i, (x, y) in enumerate(zip(xs, ys))]
    return fn, [call(i32([1, 2]), i32([3, 4])), call(i32([1, 2]), i32([5, 6]))]


@program("comprehensions", grad=2, graph=True)
def gradient_through_a_list() -> World:
    def fn(xs):
        parts = [x * x * x for x in xs]
        return tf.add_n(parts)
    return fn, each(f32([1.0, 2.0]), f32([3.0, -1.0]))


@program("comprehensions")
def generator_is_lazy() -> World:
    log = []

    def note(i):
        log.append(i)
        return i

    def fn(x):
        numbers = (note(i) for i in (1, 2, 3))
        log.append("made")
        first = next(numbers)
        return x * first
    return fn, each(f32(2.0)), lambda: log
