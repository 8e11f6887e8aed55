"""Programs with effects: print, tf.print, logging, warnings, files of text, variables, and their order."""
from __future__ import annotations

import dataclasses
import io
import logging
import random
import sys
import warnings

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("prints_effects", graph=True, golden=True)
def print_in_a_branch() -> World:
    def fn(x):
        if x > 0:
            print("positive")
        else:
            print("not positive")
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("prints_effects", graph=True)
def print_in_a_loop() -> World:
    def fn(xs):
        total = i32(0)
        for x in xs:
            print("turn")
            total += x
        print("done")
        return total
    return fn, each(i32([1, 2]), tf.zeros([0], tf.int32))


@program("prints_effects", graph=True)
def print_of_tensors() -> World:
    def fn(x):
        y = x * 2
        print("y is", y, "and x", x)
        return y
    return fn, each(f32(1.0), i64([1, 2]), f16(0.5))


@program("prints_effects", graph=True)
def print_of_python_numbers_made_in_a_loop() -> World:
    def fn(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
            print("turn", n)
        return n
    return fn, each(f32(4.0), f32(1.0))


@program("prints_effects", graph=True)
def print_options() -> World:
    def fn(x):
        print("a", "b", sep="-", end="!\n")
        print("to stderr", file=sys.stderr)
        print()
        return x
    return fn, each(f32(1.0))


@program("prints_effects", graph=True)
def print_in_a_helper() -> World:
    def note(v):
        print("note")
        if v > 1:
            print("large")
        return v + 1

    def fn(x):
        return note(note(x))
    return fn, each(i32(1), i32(-5))


@program("prints_effects", graph=True)
def tf_print() -> World:
    def fn(x):
        if x > 0:
            tf.print("positive", x)
        tf.print("end", x * 2, output_stream=sys.stdout)
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("prints_effects", graph=True)
def tf_print_of_texts_of_the_run() -> World:
    def fn(x, v):
        tf.print(repr(v), f"{float(x):.2f}", [str(int(x)), x], {"a": f"{x}"})
        tf.print("a" if x > 1 else None, sep=str(int(x)), end=f"|{float(x)}\n")
        for e in v:
            tf.print("%.1f" % float(e), e, sep="-", output_stream=sys.stdout)
        return x
    return fn, [call(f32(1.0), f32([1.0, 2.0])), call(f32(2.0), f32([3.0])), call(f32(2.5), f32([]))]


@program("prints_effects", graph=True)
def tf_print_of_numbers_and_arrays_of_the_run() -> World:
    def fn(x, v):
        tf.print(float(x), [float(x) / 3, bool(x > 1), int(x)], x)
        tf.print(v.numpy(), (v.numpy() * 2, 1))
        return x
    return fn, [call(f32(1.0), f32([1.0, 2.0])), call(f32(2.0), f32([3.0]))]


@dataclasses.dataclass
class Shown:
    """An object whose text is that of its field."""

    value: object


@program("prints_effects", graph=True)
def tf_print_of_objects() -> World:
    def fn(x):
        tf.print(Shown(x), [Shown(float(x))], x)
        return x
    return fn, each(f32(1.0), f32(-2.0))


@program("prints_effects")
def tf_print_of_a_list_of_run_time_length() -> World:
    def fn(v):
        tf.print([e for e in v if e > 0])
        tf.print({"a": [e * 2 for e in v if e > 1]}, [k for k in range(3) if v[0] > k])
        return v
    return fn, each(f32([1.0, -1.0]), f32([2.0, 3.0, 4.0]), f32([-1.0]))


@program("prints_effects", graph=True)
def print_and_tf_print_in_order() -> World:
    def fn(n):
        for i in tf.range(n):
            print("python")
            tf.print("graph", i)
        print("end")
        return n
    return fn, each(i32(2), i32(0))


@program("prints_effects", graph=True)
def print_before_a_raise() -> World:
    def fn(x):
        print("before")
        if x < 0:
            print("about to fail")
            raise ValueError("negative")
        print("after")
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("prints_effects", graph=True)
def print_between_assigns() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        print(v.read_value())
        v.assign_add(x)
        print("now", v.read_value())
        v.assign(v * 2.0)
        return v.read_value()
    return fn, each(f32(1.0)), lambda: v


@program("prints_effects", graph=True)
def print_under_and() -> World:
    def asked(name, answer):
        print("asked", name)
        return answer

    def fn(x):
        return asked("first", x > 0) and asked("second", x > 10)
    return fn, each(f32(20.0), f32(5.0), f32(-5.0))


@program("prints_effects")
def logging_calls() -> World:
    logger = logging.Logger("program")
    stream = io.StringIO()
    logger.addHandler(logging.StreamHandler(stream))

    def fn(x):
        logger.warning("value of %s", "x")
        if x > 0:
            logger.error("positive")
        return x
    return fn, each(f32(1.0), f32(-1.0)), lambda: stream.getvalue()


@program("prints_effects")
def warnings_are_issued() -> World:
    def fn(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if x > 0:
                warnings.warn("positive", stacklevel=1)
        return x, len(caught), [str(entry.message) for entry in caught]
    return fn, each(f32(1.0), f32(-1.0))


@program("prints_effects")
def text_written_to_a_stream() -> World:
    stream = io.StringIO()

    def fn(x):
        stream.write(f"got {float(x)};")
        return x * len(stream.getvalue())
    return fn, each(f32(1.0), f32(2.0)), lambda: stream.getvalue()


@program("prints_effects")
def sys_stdout_write() -> World:
    def fn(xs):
        for x in xs:
            sys.stdout.write("x")
        sys.stdout.write("\n")
        return xs
    return fn, each(i32([1, 2]), i32([1]))


@program("prints_effects", graph=True)
def variable_order() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        before = v.read_value()
        v.assign_add(x)
        middle = v.read_value()
        if x > 1.0:
            v.assign(v * 10.0)
        return before, middle, v.read_value()
    return fn, each(f32(1.0), f32(2.0)), lambda: v


@program("prints_effects", graph=True)
def variable_read_is_not_a_snapshot() -> World:
    v = tf.Variable([1.0, 2.0])

    def fn(x):
        alias = v
        y = alias + 0.0
        v.assign_add([x, x])
        return y, alias + 0.0, alias is v
    return fn, each(f32(1.0), f32(2.0)), lambda: v


@program("prints_effects", graph=True)
def variable_made_once() -> World:
    class Lazy:
        def __init__(self):
            self.v = None

        def run(self, x):
            if self.v is None:
                self.v = tf.Variable(x * 0.0)
            self.v.assign_add(x)
            return self.v.read_value()

    lazy = Lazy()
    return lazy.run, each(f64(1.0), f64(2.0)), lambda: lazy.v


@program("prints_effects", graph=True)
def tensor_array() -> World:
    def fn(n):
        squares = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            squares = squares.write(i, i * i)
        return squares.stack()
    return fn, each(i32(3), i32(1))


@program("prints_effects")
def python_random_numbers() -> World:
    def fn(x):
        return x * random.random(), random.randint(1, 6)
    return fn, each(f32(1.0), f32(1.0), f32(1.0))


@program("prints_effects", graph=True)
def stateless_random_operations() -> World:
    def fn(seed):
        x = tf.random.stateless_uniform([2], seed)
        if x[0] > 0.5:
            return x, "high"
        return x, "low"
    return fn, each(i32([1, 2]), i32([3, 4]), i32([5, 6]))


# The sum of an empty list is float32, of a list of float64s float64: Python makes such a call, and makes its effects once.
@program("prints_effects")
def effect_before_the_sum_of_an_empty_list() -> World:
    v = tf.Variable(0.0)

    def fn(n):
        v.assign_add(1.0)
        rows = []
        for i in tf.range(n):
            rows.append(tf.cast(i, tf.float64))
        return tf.reduce_sum(rows)
    return fn, each(i32(3), i32(0), i32(2)), lambda: v


@program("prints_effects", graph=True)
def effect_after_the_sum_of_a_list() -> World:
    v = tf.Variable(0.0)

    def fn(n):
        rows = []
        for i in tf.range(n):
            rows.append(tf.cast(i, tf.float64))
        total = tf.reduce_sum(rows)
        v.assign_add(1.0)
        return total
    return fn, each(i32(3), i32(2)), lambda: v


@program("prints_effects")
def effects_of_turns_and_sums_of_empty_lists() -> World:
    v = tf.Variable(0.0)

    def fn(n):
        total = tf.constant(0.0)
        for j in tf.range(3):
            rows = []
            for i in tf.range(n - j):
                rows.append(tf.cast(i, tf.float32))
            total += tf.cast(tf.reduce_sum(rows, axis=0), tf.float32)
            v.assign_add(1.0)
            print("turn", j)
        return total
    return fn, each(i32(3), i32(0), i32(2)), lambda: v


@program("prints_effects")
def print_after_an_operation_that_fails() -> World:
    def fn(rows):
        total = tf.reduce_sum(rows[1:] + rows)
        other = tf.where(rows > 0.0, rows[2:], rows)
        print("total", float(total))
        return total, other
    return fn, each(f32([1.0, 2.0, 3.0]), f32([1.0, 2.0]), f32([1.0]), f32([1.0, 2.0, 3.0, 4.0]))


@program("prints_effects")
def tf_print_before_an_operation_that_fails() -> World:
    def fn(x):
        tf.print("op", x)
        tf.print(f"text {float(x):.1f}")
        print("plain", float(x))
        y = tf.gather([1.0, 2.0], tf.cast(x, tf.int32))
        tf.print("after", y)
        return y
    return fn, each(f32(0.0), f32(1.0), f32(5.0), f32(0.0))


@program("prints_effects", graph=True, repeat=3)
def printed_into_text_made_in_the_call() -> World:
    def fn(x):
        text = io.StringIO()
        print("x", float(x), file=text, end="")
        if x > 1.0:
            print(" large", file=text)
        text.write("end")
        return text.getvalue()
    return fn, each(f32(1.0), f32(2.0))


@program("prints_effects", graph=True, repeat=3)
def printed_into_text_of_the_program() -> World:
    class Log:
        def __init__(self):
            self.text = io.StringIO()

        def note(self, x):
            print(f"x={float(x):.1f}", x * 2, file=self.text, sep=" | ")
            return x * 2

    log = Log()
    return log.note, each(f32(1.0), f32(2.0)), log.text.getvalue
