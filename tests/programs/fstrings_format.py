"""Programs that make text: f-strings, format, %, str methods, of Python values and of tensors."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program, text


@program("fstrings_format", graph=True, golden=True)
def python_values() -> World:
    def fn(x, name, n):
        return x, f"{name}-{n:03d}", "{}:{}".format(name, n)
    return fn, [call(f32(1.0), "a", 7), call(f32(2.0), "b", 12)]


@program("fstrings_format")
def tensor_in_an_fstring() -> World:
    def fn(x):
        y = x * 2
        return f"value {y}"
    return fn, each(f32(1.5), i32(3))


@program("fstrings_format")
def tensor_with_a_format_spec() -> World:
    def fn(x):
        return f"{float(x):.3f} and {int(x):>4d}"
    return fn, each(f32(1.5), f64(2.25))


@program("fstrings_format")
def repr_and_self_documenting() -> World:
    def fn(x, name):
        y = x + 1
        return f"{name!r} {y = }"
    return fn, [call(i64(1), "a"), call(i64(2), "b")]


@program("fstrings_format", graph=True)
def printed() -> World:
    def fn(x):
        if x > 0:
            print(f"positive {x}")
        else:
            print("negative", x, sep=": ")
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("fstrings_format", graph=True)
def printed_in_a_loop() -> World:
    def fn(n):
        total = 0
        for i in tf.range(n):
            total += i
            print(f"turn {i}: total {total}")
        return total
    return fn, each(i32(3), i32(0))


@program("fstrings_format")
def percent_and_format_method() -> World:
    def fn(x):
        return "%s / %.2f" % (x, float(x)), "{0:.1f}|{0}".format(float(x))
    return fn, each(f32(2.5))


@program("fstrings_format", graph=True)
def number_made_in_a_loop() -> World:
    def fn(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        print(f"{n} halvings, {n:4d}|{n / 2:.2f}")
        return n
    return fn, each(f32(8.0), f32(1.0))


@program("fstrings_format")
def text_is_returned_from_a_branch() -> World:
    def fn(x):
        if x > 0:
            return f"up by {x}"
        return "down"
    return fn, each(i32(3), i32(-3))


@program("fstrings_format", graph=True)
def text_as_a_dict_key() -> World:
    def fn(x, n):
        table = {}
        for i in range(n):
            table[f"layer_{i}"] = x * i
        return table
    return fn, [call(f32(2.0), 3), call(f32(2.0), 0)]


@program("fstrings_format", graph=True)
def text_made_only_of_static_facts() -> World:
    def fn(x):
        name = f"{x.dtype.name}{x.shape}"
        return x, name, f"{len(x.shape)}d"
    return fn, each(f32([1.0, 2.0]), i32(1))


@program("fstrings_format", graph=True)
def string_tensors() -> World:
    def fn(s):
        t = tf.strings.join([s, text("x")], separator="-")
        return tf.strings.upper(t), tf.strings.length(t), tf.strings.as_string(i32(4))
    return fn, each(text("ab"), text(""))


@program("fstrings_format", graph=True)
def number_to_string_tensor() -> World:
    def fn(x):
        if x > 1.0:
            label = tf.strings.as_string(x, precision=2)
        else:
            label = tf.constant("small")
        return label
    return fn, each(f32(2.5), f32(0.5))


@program("fstrings_format")
def in_an_exception() -> World:
    def fn(x, limit):
        if x > limit:
            raise ValueError(f"{float(x)} is above {limit}")
        return x
    return fn, [call(f32(1.0), 3), call(f32(4.0), 3)]


@program("fstrings_format", graph=True)
def join_and_split() -> World:
    def fn(x, path):
        parts = path.split("/")
        return x * len(parts), ".".join(parts[1:]).title()
    return fn, [call(f32(1.0), "a/b/c"), call(f32(1.0), "x")]


@program("fstrings_format", graph=True)
def built_up_in_a_python_loop() -> World:
    def fn(x, words):
        line = ""
        for i, word in enumerate(words):
            line += f"{i}{word};"
        return x + len(line), line
    return fn, [call(i32(0), ["a", "b"]), call(i32(0), [])]
