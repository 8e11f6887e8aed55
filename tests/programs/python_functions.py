"""Functions that the run calls as Python: tf.py_function, tf.numpy_function, Dataset.from_generator."""
from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.programs import World, each, f32, program


@program("python_functions", graph=True)
def a_lambda_of_the_call_with_names() -> World:
    def fn(x):
        scale = 3.0
        return tf.numpy_function(lambda a: np.sort(a) * np.float32(scale), [x], tf.float32)
    return fn, each(f32([2.0, 1.0]), f32([5.0, 4.0]))


@program("python_functions", graph=True)
def a_nested_function_with_branches() -> World:
    def fn(x):
        def pick(a):
            if a.sum() > 3:
                return a * 2
            return np.sort(a)
        return tf.numpy_function(pick, [x], tf.float32), tf.py_function(func=pick_tensor, inp=[x, int(x[0])], Tout=tf.float32)
    return fn, each(f32([2.0, 1.0]), f32([5.0, 4.0]))


def pick_tensor(a, n):
    return a * float(n) if tf.reduce_sum(a) > 3.0 else -a


@program("python_functions", graph=True)
def inside_map_fn() -> World:
    def fn(x):
        return tf.map_fn(lambda v: tf.numpy_function(np.square, [v], tf.float32), x)
    return fn, each(f32([2.0, 1.0]), f32([5.0, 4.0]))


@program("python_functions", graph=True)
def a_generator_of_the_call_gives_a_dataset() -> World:
    def fn(x):
        def items(n):
            for i in range(n):
                yield float(i)
        for v in tf.data.Dataset.from_generator(items, args=[3], output_signature=tf.TensorSpec([], tf.float32)):
            x = x + v
        return x
    return fn, each(f32(0.0), f32(1.0))


@program("python_functions")
def a_generator_over_values_of_the_call() -> World:
    def fn(x):
        def items():
            yield x
            yield x * 2.0
        total = x
        for v in tf.data.Dataset.from_generator(items, output_signature=tf.TensorSpec([], tf.float32)):
            total = total + v
        return total
    return fn, each(f32(0.0), f32(1.0))


@program("python_functions")
def over_a_number_of_the_run() -> World:
    def fn(x):
        k = float(x)
        return tf.py_function(lambda v: v * k, [x], tf.float32)
    return fn, each(f32(2.0), f32(3.0))


@program("python_functions")
def what_was_written_before_is_seen() -> World:
    state = [0]

    def fn(x):
        state[0] += 1
        return tf.py_function(lambda v: v * state[0], [x], tf.float32)
    return fn, each(f32(2.0), f32(3.0), f32(4.0)), lambda: state


@program("python_functions")
def what_is_written_there_is_seen() -> World:
    state = [0]

    def note(v):
        state[0] += 1
        return v

    def fn(x):
        y = tf.py_function(note, [x], tf.float32)
        return y * state[0]
    return fn, each(f32(2.0), f32(3.0), f32(4.0)), lambda: state


class Table:
    def __init__(self):
        self.values = np.array([1.0, 5.0], np.float32)

    def look(self, i):
        return self.values[i]

    def call(self, i):
        return tf.numpy_function(self.look, [i], tf.float32), tf.numpy_function(lambda a: self.look(a) + 1, [i], tf.float32)


@program("python_functions")
def a_method_and_a_lambda_over_self() -> World:
    return Table().call, each(tf.constant(0), tf.constant(1))


@program("python_functions")
def a_method_of_an_object_of_the_call() -> World:
    def fn(i):
        return tf.numpy_function(Table().look, [i], tf.float32)
    return fn, each(tf.constant(0), tf.constant(1))
