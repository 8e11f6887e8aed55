"""tf.TensorArray as it is outside of graphs: an object that writes change, with errors of its own.

Eager logs a reminder, with addresses, where the result of a write is dropped; `mark_used` keeps it quiet.
"""
from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


# ------------------------------------------------------------------------------------------------ writing and reading
@program("tensor_arrays", grad=2, graph=True)
def written_in_a_loop_and_stacked() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.shape(xs)[0]):
            ta = ta.write(i, xs[i] * xs[i])
        return ta.stack()
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0, 5.0]))


@program("tensor_arrays", grad=1, graph=True)
def result_of_write_is_ignored() -> World:
    def put(ta, i, value):
        ta.write(i, value).size()

    def fn(xs):
        ta = tf.TensorArray(tf.float32, size=2)
        put(ta, 0, xs[0])
        put(ta, 1, xs[1] * 5.0)
        for i in tf.range(2):
            ta.write(i, ta.read(i) + 1.0).mark_used()
        return ta.stack()
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0]))


@program("tensor_arrays", grad=1, graph=True)
def written_again_in_a_branch() -> World:
    def fn(x, y):
        ta = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack([x, y, x * y])
        if x > y:
            ta.write(1, x * x).mark_used()
        elif x < 0.0:
            ta = ta.write(0, y * y)
        return ta.read(0), ta.read(1), ta.stack()
    return fn, [call(f32(x), f32(3.0)) for x in (4.0, 1.0, -1.0)]


@program("tensor_arrays", grad=1, graph=True)
def attribute_of_an_object_made_inside() -> World:
    class Recorder:
        def __init__(self, size):
            self.values = tf.TensorArray(tf.float32, size)
            self.used = 0

        def keep(self, value):
            self.values.write(self.used, value).mark_used()
            self.used += 1

    def fn(xs):
        recorder = Recorder(4)
        for x in xs:
            if x > 0.0:
                recorder.keep(x * 2.0)
        return recorder.values.stack(), recorder.used
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0, -2.0]))


@program("tensor_arrays", grad=1, graph=True)
def two_names_for_one_array() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, 2, clear_after_read=False)
        other = ta
        for i in tf.range(2):
            other.write(i, xs[i]).mark_used()
        ta.write(0, xs[1]).mark_used()
        return ta.stack(), other.read(1), ta is other
    return fn, each(f32([1.0, 2.0]))


@program("tensor_arrays", grad=1, graph=True)
def read_out_of_order() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(xs)
        if ta.read(2) > ta.read(0):
            return ta.read(2) - ta.read(0)
        return ta.read(1)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([3.0, 2.0, 1.0]))


@program("tensor_arrays", grad=1, graph=True)
def input_and_output_arrays_of_a_cell() -> World:
    def fn(xs, w):
        steps = tf.shape(xs)[0]
        inputs = tf.TensorArray(tf.float32, steps).unstack(xs)
        outputs = tf.TensorArray(tf.float32, steps)
        h, t = tf.zeros_like(w), 0
        while t < steps:
            h = tf.tanh(inputs.read(t) + h * w)
            outputs = outputs.write(t, h)
            t += 1
        return outputs.stack(), h
    return fn, [call(f32([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]), f32([0.3, 0.6])),
                call(f32([[1.0, 2.0]]), f32([0.3, 0.6]))]


@program("tensor_arrays", grad=1, graph=True)
def elements_never_written_are_zeros() -> World:
    def fn(xs, n):
        ta = tf.TensorArray(tf.float32, 4)
        for i in tf.range(n):
            ta.write(2 * i, xs[i]).mark_used()
        last = ta.read(3)
        return last, ta.stack()
    return fn, [call(f32([[1.0, 2.0], [3.0, 4.0]]), i32(2)), call(f32([[1.0, 2.0], [3.0, 4.0]]), i32(1))]


@program("tensor_arrays", graph=True)
def grows_beyond_its_size() -> World:
    def fn(xs, at):
        ta = tf.TensorArray(tf.float32, 1, dynamic_size=True)
        ta = ta.write(at, xs[0])
        before = ta.size()
        ta = ta.write(at - 1, xs[1])
        return before, ta.size(), ta.stack()
    return fn, [call(f32([1.0, 2.0]), i32(3)), call(f32([1.0, 2.0]), i32(1))]


@program("tensor_arrays", graph=True)
def cleared_by_reading() -> World:
    def fn(xs, i):
        ta = tf.TensorArray(tf.float32, 3).unstack(xs)
        ta.write(1, xs[0] * 10.0).mark_used()
        first = ta.read(i)
        ta.write(i, first + 1.0).mark_used()
        return first, ta.read(i), ta.stack(), ta.read(i)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(0)), call(f32([1.0, 2.0, 3.0]), i32(2))]


@program("tensor_arrays", graph=True)
def made_anew_in_each_turn() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            row = tf.TensorArray(tf.float32, 2)
            row.write(0, x).mark_used()
            row.write(1, x * x).mark_used()
            total += tf.reduce_sum(row.stack())
        return total
    return fn, each(f32([1.0, 2.0]), f32([3.0]))


@program("tensor_arrays", graph=True)
def made_in_one_branch_or_the_other() -> World:
    def fn(x):
        if x > 0.0:
            ta = tf.TensorArray(tf.float32, 2).unstack([x, x + 1.0])
        else:
            ta = tf.TensorArray(tf.float32, 2)
            ta.write(0, x).mark_used()
        ta.write(1, x * 2.0).mark_used()
        return ta.stack()
    return fn, each(f32(1.0), f32(-1.0))


@program("tensor_arrays", graph=True)
def none_until_it_is_needed() -> World:
    def fn(xs):
        ta = None
        for x in xs:
            if x > 0.0:
                if ta is None:
                    ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
                ta.write(ta.size(), x).mark_used()
        return -1.0 if ta is None else ta.stack()
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]))


@program("tensor_arrays", graph=True)
def in_lists_and_dicts() -> World:
    def fn(xs):
        arrays = {"even": tf.TensorArray(tf.float32, 2), "odd": tf.TensorArray(tf.float32, 2)}
        pair = [arrays["even"], arrays["odd"]]
        for i in tf.range(2):
            arrays["even"].write(i, xs[2 * i]).mark_used()
            pair[1].write(i, xs[2 * i + 1]).mark_used()
        return [ta.stack() for ta in pair]
    return fn, each(f32([1.0, 2.0, 3.0, 4.0]))


@program("tensor_arrays", graph=True)
def numbers_and_other_dtypes() -> World:
    def fn(n):
        whole = tf.TensorArray(tf.int32, 3)
        half = tf.TensorArray(tf.float16, 3)
        names = tf.TensorArray(tf.string, 2)
        for i in range(3):
            whole.write(i, int(n) + i).mark_used()
            half.write(i, i).mark_used()
        names.write(0, "a").mark_used()
        names.write(1, tf.strings.as_string(n)).mark_used()
        return whole.stack(), half.stack(), names.stack()
    return fn, each(i32(1), i32(5))


@program("tensor_arrays", grad=1, graph=True)
def one_of_two_arrays() -> World:
    def fn(xs):
        small = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack([1.0, 2.0])
        large = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(xs)
        chosen = small if xs[0] > xs[1] else large
        chosen.write(1, xs[2] * xs[2]).mark_used()
        return small.stack(), large.stack(), chosen.size()
    return fn, each(f32([1.0, 2.0, 3.0]), f32([2.0, 1.0, 3.0]))


@program("tensor_arrays", graph=True)
def indices_of_several_kinds() -> World:
    def fn(xs, i):
        ta = tf.TensorArray(tf.float32, np.int64(4), clear_after_read=False)
        for at, x in ((np.int32(0), xs[0]), (tf.cast(i, tf.int64), xs[1]), (int(i) + 1, xs[2]), (tf.constant(3), 7)):
            ta.write(at, x).mark_used()
        return ta.stack(), ta.read(len(xs) - 1)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(1))]


@program("tensor_arrays", grad=1, graph=True)
def lists_as_elements() -> World:
    def fn(xs):
        kept = []
        for x in xs:
            if x > 0.0:
                kept.append(x)
        ta = tf.TensorArray(tf.float32, 2, infer_shape=False)
        ta.write(0, kept).mark_used()
        ta.write(1, [xs[0], 2.0]).mark_used()
        return ta.concat(), tf.shape(ta.read(1))
    return fn, each(f32([1.0, -2.0, 3.0]), f32([4.0, 5.0, 6.0]))


@program("tensor_arrays", graph=True)
def carried_by_tf_while_loop() -> World:
    def fn(n, x):
        def body(i, ta):
            return i + 1, ta.write(i, x * tf.cast(i, tf.float32))

        start = (0, tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[]))
        i, ta = tf.while_loop(lambda i, ta: i < n, body, start)
        return i, ta.stack()
    return fn, [call(i32(n), f32(2.0)) for n in (3, 0)]


@program("tensor_arrays", graph=True)
def left_by_break_and_return() -> World:
    def fn(xs, stop):
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[], clear_after_read=False)
        for x in xs:
            if x > stop:
                break
            ta = ta.write(ta.size(), x)
            if x < 0.0:
                return ta.stack(), ta.size()
        return ta.stack() * 2.0, ta.size()
    return fn, [call(f32(xs), f32(2.5)) for xs in ([1.0, 2.0, 3.0, 4.0], [1.0, -2.0, 1.0], [3.0])]


# ------------------------------------------------------------------------------------------------ whole arrays
@program("tensor_arrays", grad=1, graph=True)
def loops_of_no_turns() -> World:
    def fn(xs, n):
        declared = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2])
        for i in tf.range(n):
            declared.write(i, xs * 2.0).mark_used()
        return declared.stack(), declared.size()
    return fn, [call(f32([1.0, 2.0]), i32(n)) for n in (2, 0, 1)]


@program("tensor_arrays", repeat=3)
def nothing_written_and_no_shape() -> World:
    def fn(xs, n):
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in tf.range(n):
            ta.write(i, xs * 2.0).mark_used()
        return tf.reduce_sum(ta.stack()) + 1.0
    return fn, [call(f32([1.0, 2.0]), i32(n)) for n in (2, 0, 1)]


@program("tensor_arrays", repeat=3)
def nothing_written_after_an_effect() -> World:
    count = tf.Variable(0)

    def fn(xs, n):
        count.assign_add(1)
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for i in tf.range(n):
            ta.write(i, xs * 2.0).mark_used()
        return ta.stack()
    return fn, [call(f32([1.0, 2.0]), i32(n)) for n in (2, 0, 1)], lambda: count


@program("tensor_arrays", grad=1, graph=True)
def gather_and_scatter() -> World:
    def fn(xs, at):
        ta = tf.TensorArray(tf.float32, 4, clear_after_read=False)
        ta = ta.scatter(at, xs)
        ta.scatter([0, 1], xs[:2] * 10.0)
        return ta.gather([3, 0]), ta.gather(at), ta.stack()
    return fn, [call(f32([1.0, 2.0, 3.0]), i32([1, 3, 2])), call(f32([1.0, 2.0]), i32([3, 0]))]


@program("tensor_arrays", grad=1, graph=True)
def concat_of_equal_pieces() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, 3)
        for i in tf.range(3):
            ta.write(i, xs[i] * 2.0).mark_used()
        return ta.concat()
    return fn, each(f32([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


@program("tensor_arrays", grad=1, graph=True)
def concat_of_pieces_of_several_lengths() -> World:
    def fn(xs, n):
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        for i in tf.range(n):
            ta.write(i, xs[:i + 1]).mark_used()
        return ta.concat(), ta.read(1)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(3)), call(f32([1.0, 2.0, 3.0]), i32(2))]


@program("tensor_arrays", grad=1, graph=True)
def split_by_lengths() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, 2, infer_shape=False).split(xs, [1, 2])
        return ta.read(1), ta.read(0), ta.size()
    return fn, each(f32([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


@program("tensor_arrays", grad=1, graph=True)
def identity_and_close() -> World:
    def fn(xs):
        ta = tf.TensorArray(tf.float32, 2, dynamic_size=True).unstack(xs)
        same = ta.identity() is ta
        total = tf.reduce_sum(ta.stack())
        closed = ta.close()
        return total, same, closed, ta.size()
    return fn, each(f32([1.0, 2.0]))


@program("tensor_arrays", graph=True)
def what_it_says_of_itself() -> World:
    def fn(x):
        ta = tf.TensorArray(tf.float32, 2)
        if x > 0.0:
            x = x * 2.0
        ta.write(0, [x, x]).mark_used()
        return ta.dtype, ta.element_shape, ta.dynamic_size, isinstance(ta, tf.TensorArray), ta.size()
    return fn, each(f32(1.0))


# ------------------------------------------------------------------------------------------------ arrays that leave or come in
@program("tensor_arrays", grad=1, graph=True)
def returned() -> World:
    def fn(xs, n):
        ta = tf.TensorArray(tf.float32, 3)
        for i in tf.range(n):
            ta.write(i, xs[i] * 2.0).mark_used()
        return ta, [ta], ta.size()
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(n)) for n in (3, 2)]


@program("tensor_arrays", repeat=3)
def kept_between_calls() -> World:
    class Memory:
        def __init__(self):
            self.values = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False)

        def add(self, x):
            if x > 0.0:
                self.values = self.values.write(self.values.size(), x)
            return self.values.size()

    memory = Memory()
    return memory.add, each(f32(1.0), f32(-1.0), f32(3.0)), lambda: memory.values.stack()


@program("tensor_arrays", repeat=3)
def stored_anew_by_each_call() -> World:
    class Memory:
        values = None

        def fill(self, xs):
            self.values = tf.TensorArray(tf.float32, 2, clear_after_read=False)
            for i in tf.range(2):
                self.values.write(i, xs[i]).mark_used()
            return self.values.read(1)

    memory = Memory()
    return memory.fill, each(f32([1.0, 2.0]), f32([3.0, 4.0])), lambda: memory.values.stack()


@program("tensor_arrays")
def given_as_an_argument() -> World:
    given = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack([1.0, 2.0])

    def fn(ta, x):
        if x > 0.0:
            ta.write(0, x).mark_used()
        return ta.stack()
    return fn, [call(given, f32(5.0)), call(given, f32(-1.0))], lambda: given.stack()


# ------------------------------------------------------------------------------------------------ refusals
@program("tensor_arrays", repeat=3)
def index_out_of_range() -> World:
    seen = []

    def fn(xs, i):
        seen.append(1)
        ta = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(xs)
        return ta.read(i)
    return fn, [call(f32([1.0, 2.0]), i32(i)) for i in (1, 2, -1, 0)], lambda: seen


@program("tensor_arrays", repeat=3)
def written_out_of_range() -> World:
    def fn(x, i):
        print("writing")
        ta = tf.TensorArray(tf.float32, 2)
        ta.write(0, x).mark_used()
        ta.write(i, x).mark_used()
        return ta.stack()
    return fn, [call(f32(1.0), i32(i)) for i in (1, 2, -1)]


@program("tensor_arrays", repeat=3)
def negative_index_of_a_growing_array() -> World:
    def fn(x, i):
        ta = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        return ta.write(i, x).stack()
    return fn, [call(f32(1.0), i32(i)) for i in (1, -2)]


@program("tensor_arrays", repeat=3)
def read_twice() -> World:
    def fn(xs, i, j):
        ta = tf.TensorArray(tf.float32, 3).unstack(xs)
        return ta.read(i) + ta.read(j)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(i), i32(j)) for i, j in ((0, 1), (1, 1), (2, 0))]


@program("tensor_arrays", repeat=3)
def read_before_anything_is_written() -> World:
    def fn(x, i):
        ta = tf.TensorArray(tf.float32, 2)
        if x > 0.0:
            ta.write(0, x).mark_used()
        return ta.read(i)
    return fn, [call(f32(x), i32(i)) for x, i in ((1.0, 0), (1.0, 1), (-1.0, 0), (-1.0, 2))]


@program("tensor_arrays", repeat=2)
def elements_of_another_dtype() -> World:
    def fn(x):
        ta = tf.TensorArray(tf.float32, 2)
        if x > 0:
            ta.write(0, x).mark_used()
        return ta.stack()
    return fn, each(i32(1), f32(1.0))


@program("tensor_arrays", repeat=2)
def elements_of_another_shape() -> World:
    def fn(x):
        ta = tf.TensorArray(tf.float32, 2)
        ta.write(0, x).mark_used()
        if x[0] > 0.0:
            ta.write(1, x[:1]).mark_used()
        return ta.stack()
    return fn, each(f32([1.0, 2.0]), f32([-1.0, 2.0]), f32([1.0]))


@program("tensor_arrays", repeat=2)
def refusal_is_caught() -> World:
    def fn(xs, i):
        ta = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(xs)
        try:
            return ta.read(i)
        except tf.errors.OutOfRangeError:
            return f32(-1.0)
    return fn, [call(f32([1.0, 2.0]), i32(i)) for i in (1, 2)]


@program("tensor_arrays", repeat=2)
def gathered_out_of_range() -> World:
    def fn(xs, at):
        ta = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(xs)
        return ta.gather(at)
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(at)) for at in ([0, 2], [-1, 0], [0, 3])]


@program("tensor_arrays", repeat=2)
def unstacked_into_too_small_an_array() -> World:
    def fn(xs, n):
        return tf.TensorArray(tf.float32, n).unstack(xs).size()
    return fn, [call(f32([1.0, 2.0, 3.0]), n) for n in (i32(3), i32(2), 3, 2)]


@program("tensor_arrays", repeat=3)
def one_branch_refuses() -> World:
    def fn(x):
        if x > 0.0:
            ta = tf.TensorArray(tf.int32, 0)
        else:
            ta = tf.TensorArray(tf.int32, 0)
            ta.write(0, 1).mark_used()
        total = ta.size()
        for _ in tf.range(2):
            total += tf.size(ta.stack())
        return total
    return fn, each(f32(1.0), f32(-1.0))
