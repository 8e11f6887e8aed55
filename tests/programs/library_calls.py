"""Calls of libraries: TensorFlow's higher-order functions, Keras layers and optimizers, NumPy, math."""
from __future__ import annotations

import math
from fractions import Fraction

import keras
import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, i32, i64, program


def _clip(v, limit=3):
    if v > limit:
        return v - limit
    return v


@program("library_calls", graph=True)
def tf_cond_with_user_functions() -> World:
    def fn(x):
        return tf.cond(x > 0, lambda: _clip(x), lambda: -x)
    return fn, each(i32(5), i32(2), i32(-2))


@program("library_calls", graph=True)
def tf_while_loop_with_user_functions() -> World:
    def fn(n):
        def body(i, total):
            if i % 2 == 0:
                total = total + i
            return i + 1, total
        return tf.while_loop(lambda i, total: i < n, body, [i32(0), i32(0)])
    return fn, each(i32(5), i32(0))


@program("library_calls", grad=1, graph=True)
def tf_map_fn_with_a_user_function() -> World:
    def fn(xs):
        return tf.map_fn(lambda v: v * v if v > 1.0 else v, xs)
    return fn, each(f32([0.5, 2.0, 3.0]))


@program("library_calls", graph=True)
def tf_vectorized_map_and_scan() -> World:
    def fn(xs):
        return tf.vectorized_map(lambda v: v * 2.0, xs), tf.scan(lambda a, v: a + v, xs)
    return fn, each(f32([1.0, 2.0, 3.0]))


@program("library_calls", graph=True)
def dataset_map_with_a_user_function() -> World:
    def fn(n):
        total = i64(0)
        for v in tf.data.Dataset.range(n).map(lambda v: v * 2 if v > 1 else v):
            total += v
        return total
    return fn, each(i64(4), i64(0))


@program("library_calls", graph=True)
def inner_tf_function() -> World:
    @tf.function
    def square(v):
        return v * v

    def fn(x):
        if x > 1.0:
            return square(x)
        return square(x + 1.0)
    return fn, each(f32(2.0), f32(0.5))


@program("library_calls")
def numpy_and_math() -> World:
    def fn(x, n):
        y = np.float32(math.sqrt(n)) * x
        return y, np.sum([n, n])
    return fn, [call(f32(1.0), 4), call(f32(1.0), 9)]


@program("library_calls")
def numpy_of_a_tensor() -> World:
    def fn(x):
        a = x.numpy()
        return x * float(a.max()), a
    return fn, each(f32([1.0, 5.0]), f32([2.0, 3.0]))


@program("library_calls", graph=True)
def keras_layer_with_python_in_call() -> World:
    class Gate(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, kernel_initializer="ones")

        def call(self, x):
            y = self.dense(x)
            if tf.reduce_sum(y) > 5.0:
                y = y / 2.0
            return y

    gate = Gate()
    gate(tf.zeros([1, 2]))
    return gate, each(f32([[1.0, 1.0]]), f32([[3.0, 3.0]])), lambda: gate.trainable_variables


@program("library_calls", graph=True)
def keras_model_in_a_loop() -> World:
    class Steps(keras.Model):
        def __init__(self):
            super().__init__()
            self.cell = keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)
            self.turns = 0

        def call(self, x, limit):
            while tf.reduce_max(x) < limit:
                x = self.cell(x) * 2.0
                self.turns += 1
            return x

    model = Steps()
    model.cell.build((1, 1))
    return model, [call(f32([[1.0]]), f32(7.0)), call(f32([[9.0]]), f32(7.0))], lambda: model.turns


@program("library_calls", graph=True)
def tf_switch_case_and_case() -> World:
    def fn(i, x):
        picked = tf.switch_case(i, [lambda: _clip(x), lambda: x * 10.0], default=lambda: -x)
        return picked, tf.case([(x > 1.0, lambda: x)], default=lambda: tf.zeros_like(x))
    return fn, [call(i32(0), f32(5.0)), call(i32(1), f32(0.5)), call(i32(9), f32(5.0))]


@program("library_calls")
def tf_py_function_and_numpy_function() -> World:
    log = []

    def note(v):
        log.append(float(v))
        return v * 2.0

    def fn(x):
        y = tf.py_function(note, [x], tf.float32)
        return y, tf.numpy_function(np.square, [x], tf.float32)
    return fn, each(f32(1.0), f32(3.0)), lambda: log


@program("library_calls", graph=True)
def tf_nest_and_structures() -> World:
    def fn(tree):
        return tf.nest.map_structure(lambda v: v * 2 if v > 1 else v, tree), len(tf.nest.flatten(tree))
    return fn, each({"a": i32(1), "b": (i32(5), [i32(2)])})


@program("library_calls", graph=True)
def keras_training_step() -> World:
    model = keras.layers.Dense(1, kernel_initializer="ones")
    model.build((None, 2))
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

    def fn(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
            if loss > 1.0:
                loss = tf.sqrt(loss)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss
    calls = [call(f32([[1.0, 2.0]]), f32([[3.5]])), call(f32([[4.0, 2.0]]), f32([[0.0]]))]
    return fn, calls, lambda: (model.trainable_variables, optimizer.iterations)


@program("library_calls", graph=True)
def keras_metric_in_a_loop() -> World:
    mean = keras.metrics.Mean()

    def fn(xs):
        for x in xs:
            if x > 0.0:
                mean.update_state(x)
        return mean.result()
    return fn, each(f32([1.0, -1.0, 3.0]), f32([-5.0])), lambda: mean.variables


@program("library_calls", graph=True)
def keras_training_flag() -> World:
    norm = keras.layers.BatchNormalization(momentum=0.5)
    norm.build((None, 2))

    def fn(x, training):
        y = norm(x, training=training)
        if training:
            return y
        return y * 2.0
    x = f32([[1.0, 2.0], [3.0, 6.0]])
    return fn, [call(x, True), call(x, False), call(x, training=True)], lambda: norm.variables


@program("library_calls", graph=True)
def keras_layers_in_a_list() -> World:
    layers = [keras.layers.Dense(2, kernel_initializer="ones"), keras.layers.ReLU()]
    layers[0].build((None, 2))

    def fn(x):
        outputs = []
        for layer in layers:
            x = layer(x)
            outputs.append(tf.reduce_sum(x))
        return x, outputs
    return fn, each(f32([[1.0, -2.0]]), f32([[1.0, 2.0]])), lambda: layers[0].trainable_variables


@program("library_calls", grad=1, graph=True)
def keras_functional_model_as_a_function() -> World:
    inputs = keras.Input((2,))
    outputs = keras.layers.Dense(1, kernel_initializer="ones", activation="tanh")(inputs)
    model = keras.Model(inputs, outputs)

    def fn(x):
        y = model(x)
        if tf.reduce_sum(y) > 0.0:
            return y * y
        return y
    return fn, each(f32([[0.1, 0.2]]), f32([[-0.1, -0.5]])), lambda: model.trainable_variables


@program("library_calls", graph=True)
def ragged_rows() -> World:
    def fn(rows):
        total = i32(0)
        for row in rows:
            if tf.size(row) > 1:
                total += tf.reduce_sum(row)
        return total, rows * 2
    return fn, each(tf.ragged.constant([[1, 2], [3], [4, 5, 6]]), tf.ragged.constant([[1]]))


@program("library_calls", graph=True)
def keras_variables_as_python_numbers() -> World:
    rate, steps = keras.Variable(2.5), keras.Variable(3, dtype="int64")

    def fn(x):
        if x > 0.0:
            rate.assign(float(rate) * 0.5)
            steps.assign_add(1)
        return float(rate), int(steps), round(float(rate)), math.sqrt(rate)
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: (float(rate), int(steps))


@program("library_calls")
def keras_variables_as_text_arrays_and_truth() -> World:
    rate = keras.Variable(2.5, name="rate")

    def fn(x):
        rate.assign_add(x)
        try:
            truth = bool(rate)
        except TypeError as error:
            truth = str(error)
        return str(rate), f"{rate}", rate.numpy(), truth
    return fn, each(f32(1.0), f32(2.0))


@program("library_calls", graph=True)
def optimizer_attribute_set_in_a_branch() -> World:
    weight, seen = tf.Variable([1.0, 2.0]), [1e9, 0]
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build([weight])

    def fn(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight - x) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        if loss < seen[0]:
            seen[0] = float(loss)
        else:
            seen[1] += 1
            optimizer.learning_rate = float(optimizer.learning_rate) * 0.5
        return loss
    return fn, each(f32([0.0, 0.0]), f32([5.0, 5.0]), f32([9.0, 9.0])), lambda: (weight, seen, float(optimizer.learning_rate))


@program("library_calls")
def arrays_of_tensors_change_in_place() -> World:
    def fn(x):
        first = x.numpy()
        second = first
        second *= 2.0
        listed = x.numpy().tolist()
        listed.reverse()
        listed += [1.0]
        return first, listed
    return fn, each(f32([1.0, 2.0]), f32([-1.0, 0.0]))


@program("library_calls", graph=True)
def constants_of_run_time_numbers() -> World:
    def fn(x):
        y, n = float(x), int(x)
        return [tf.constant(y), tf.constant(n), tf.constant([y, 1.0, 2]), tf.constant(([n], (3,))), tf.constant([n], tf.float64),
                tf.constant([y > 1.0, True]), tf.constant(y, shape=[2, 2]), tf.constant([y, 0.0], shape=[2, 1]),
                tf.constant([[y, 2.0]] * 2, dtype=tf.float16)]
    return fn, each(f32(2.0), f32(0.0), f32(-3.5))


@program("library_calls", graph=True)
def constants_of_lists_that_grow() -> World:
    def fn(n):
        floats, ints = [], []
        for i in range(int(n)):
            floats.append(float(i) / 3.0)
            ints.insert(0, i)
        return tf.constant(floats), tf.constant(ints), tf.convert_to_tensor(floats, tf.float64), tf.stack(floats), tf.reduce_sum(ints)
    return fn, each(i32(3), i32(1), i32(5))


@program("library_calls", grad=1)
def constants_of_tensors() -> World:
    def fn(x):
        try:
            return x * tf.constant([x, x * 2.0])
        except ValueError:
            return x * tf.constant([[float(x)], [2.0]])
    return fn, each(f32(2.0), f32(3.0))


@program("library_calls", graph=True)
def constant_of_numbers_that_the_run_counts() -> World:
    def fn(x):
        n = 0
        for v in x:
            if v > 0:
                n += 1
        share = n / 3
        return tf.constant(n), tf.constant([n, 2]), tf.constant([[share, 1.0], [n, 2]]), tf.constant((share, 0.5), tf.float64), \
            tf.convert_to_tensor([n > 1, True]), tf.constant(n, shape=(2, 2)), tf.constant([n, 7, 8, 9], shape=(2, 2))
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0, -2.0, -3.0]))


@program("library_calls")
def constant_of_numbers_that_eager_refuses() -> World:
    def fn(x):
        return tf.constant([float(tf.reduce_sum(x)), 1.0], tf.int32)
    return fn, each(f32([1.0, -2.0, 3.0]))


@program("library_calls", graph=True)
def keras_variable_beside_a_counted_number() -> World:
    step, half = keras.Variable(3, dtype="int64", trainable=False), keras.Variable(0.5, dtype="float16")

    def fn(x):
        n, share = 0, 0.0
        for v in x:
            if v > 0:
                n += 1
                share += 0.25
        found = [step < n, n <= step, step == n, step != n, step + n, n - step, step * share, share / half, half % share, half ** n]
        if step > n and half == share:
            found.append(step // max(n, 1))
        return found
    return fn, each(f32([1.0, -2.0, 3.0]), f32([1.0, 2.0, 3.0]))


@program("library_calls")
def fraction_beside_a_counted_number() -> World:
    two = Fraction(2)

    def fn(x):
        n = 0
        for v in x:
            if v > 0:
                n += 1
        return two == n, n != two, two < n, complex(2) == n, None == n, "2" != n  # noqa: E711
    return fn, each(f32([1.0, -2.0, 3.0]), f32([1.0, 2.0, 3.0]))


@program("library_calls", graph=True)
def zip_that_is_strict() -> World:
    def fn(xs, ys):
        total = tf.constant(0.0)
        for a, b, c in zip(xs, ys, [1.0, 2.0, 3.0], strict=True):
            if a > b:
                total += a * c
        kept = [x for x in xs if x > 1.0]
        return total, [a * b for a, b in zip(kept, [y for y in ys if y > 1.0], strict=True)]
    return fn, [((f32([1.0, 2.0, 3.0]), f32([2.0, 1.0, 3.0])), {}), ((f32([3.0, 2.0, 1.0]), f32([2.0, 1.0, 3.0])), {})]


@program("library_calls")
def zip_that_is_strict_and_uneven() -> World:
    def fn(xs, ys):
        found = []
        for a, b in zip(xs, [y for y in ys if y > 1.0], strict=True):
            found.append(a * b)
        return found
    return fn, [((f32([1.0, 2.0]), f32([2.0, 5.0, 1.0])), {}), ((f32([3.0, 2.0]), f32([2.0, 3.0, 3.0])), {})]


@program("library_calls", graph=True)
def ragged_tensors_as_lists_and_arrays() -> World:
    def fn(rt):
        if tf.reduce_max(rt.row_lengths()) > 2:
            return rt[:, :2].to_list(), rt.to_tensor()
        return rt.to_list(), str(rt.to_list())
    return fn, each(tf.ragged.constant([[1, 2, 3], [4]]), tf.ragged.constant([[1, 2], [4]]))


@program("library_calls")
def ranges_of_run_time_length_as_objects() -> World:
    def fn(n, what):
        if n > 0:
            bounds = range(int(n))
            if what == "item":
                return bounds[-1]
            if what == "slice":
                return list(bounds[1:])
            if what == "key":
                return {bounds: 1}
            if what == "set item":
                bounds[0] = 1
            if what == "delete":
                del bounds[0]
            if what == "attribute":
                bounds.start = 1
            return bounds.stop, bounds.index(0)
        return None

    whats = ["item", "slice", "key", "set item", "delete", "attribute", "rest"]
    return fn, [call(i32(n), what) for what in whats for n in (3, 0)]
