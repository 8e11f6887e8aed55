"""What fails in eager fails, also if nobody reads its result."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, program

PATHS = each(f32(0.0), f32(2.0), f32(3.0), f32(5.0), f32(0.0))


@program("unread_results", grad=True)
def under_tapes() -> World:
    def fn(x, v):
        if x > 1:
            tf.gather(v, tf.cast(x, tf.int32))
        return x * tf.reduce_sum(v)
    return fn, [call(f32(value), f32([1.0, 2.0, 3.0])) for value in (0.0, 2.0, 0.5)]


@program("unread_results", graph=True)
def variables_before_and_after() -> World:
    kept = tf.Variable(0)

    def fn(x):
        kept.assign_add(1)
        tf.gather([1.0, 2.0, 3.0], tf.cast(x, tf.int32))
        kept.assign_add(10)
        return x
    return fn, PATHS, lambda: kept


@program("unread_results")
def always() -> World:
    def fn(x):
        if x > 1:
            tf.cast("q", tf.float32)
        return x
    return fn, PATHS


@program("unread_results", graph=True)
def formats_that_fit_no_number() -> World:
    def fn(x):
        text = "none"
        if x > 4:
            text = f"{int(x):zz}"
        elif x > 2:
            text = "{:q}".format(float(x))
        return x if text else text
    return fn, PATHS


@program("unread_results", graph=True)
def characters_of_text() -> World:
    def fn(x, i):
        c = "abc"[i]
        if x > 1:
            _ = b"abcd"[i + 1]
        return c
    return fn, [call(f32(value), i) for i in (0, 1, 2, -3) for value in (0.0, 2.0)]


@program("unread_results", graph=True, grad=True)
def characters_nobody_reads() -> World:
    def fn(x, k):
        chr(k)
        if x > 0:
            chr(int(x))
        return x * 2.0
    return fn, [call(f32(x), k) for x, k in ((1.0, 65), (-1.0, 66), (2e6, 67), (1.0, -1), (-1.0, 2**40), (5e9, 68), (1.0, -2**40))]


@program("unread_results", graph=True)
def characters_under_try_and_in_loops() -> World:
    def fn(x, v):
        found = []
        try:
            for e in v:
                c = chr(int(e))
                x = x + 1.0
        except ValueError as error:
            found.append(str(error))
        except OverflowError:
            found.append("far")
        return x, found
    return fn, [call(f32(0.5), f32(v)) for v in ([1.0, 65.0], [2.0, -3.0, 4.0], [5e9, 1.0], [-5e9], [3e6])]


@program("unread_results", graph=True)
def text_that_is_not_found() -> World:
    class Reader:
        def __init__(self):
            self.seen = 0

        def read(self, text):
            self.seen += 1
            "a1b2".index(text)
            self.seen += 10
            return text.upper()

    reader = Reader()

    def fn(x):
        for _ in tf.range(2):
            reader.read(f"{int(x)}")
            x = x + 1.0
        print("read")
        return x
    return fn, each(f32(1.0), f32(2.0), f32(7.0)), lambda: reader.seen


@program("unread_results")
def text_that_is_refused_under_try() -> World:
    def fn(x, kind):
        text = f"{int(x)}"
        try:
            if kind == "index":
                found = "12".rindex(text)
            elif kind == "item":
                found = text[1]
            elif kind == "int":
                found = int(text + ".")
            elif kind == "ord":
                found = ord(text)
            elif kind == "split":
                found = "1,2".split(text[1:])
            else:
                found = "%c" % int(x)
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            return f"{type(error).__name__}: {error}"
        return found
    return fn, [call(f32(x), kind) for kind in ("index", "item", "int", "ord", "split", "character") for x in (1.0, -3.0, 12.0)]


@program("unread_results", graph=True)
def text_that_is_refused() -> World:
    def fn(x, kind):
        text = f"{int(x)}"
        x = x + 1.0
        if kind == "item":
            text[1]
        elif kind == "ord":
            ord(text)
        elif kind == "split":
            "1,2".split(text[1:])
        elif kind == "bytes":
            bytes([int(x)])
        elif kind == "field":
            f"{int(x):c}"
        elif kind == "format":
            "{:c}".format(int(x))
        else:
            "%c" % int(x)
        print("not refused")
        return x
    kinds = ("item", "ord", "split", "bytes", "field", "format", "percent")
    return fn, [call(f32(x), kind) for kind in kinds for x in (1.0, -3.0, 12.0)]


@program("unread_results", graph=True)
def kinds_that_an_operator_refuses() -> World:
    def fn(x, kind):
        x = x + 1.0
        if x > 0:
            if kind == "and":
                x.numpy & 3
            elif kind == "less":
                x.numpy < 3
            elif kind == "text":
                f"{float(x)}" - "1"
            elif kind == "array":
                x.numpy() & 1
            elif kind == "sign":
                -f"{float(x)}"
            elif kind == "method":
                f"{float(x)}".count(3)
            else:
                f"{float(x)}" + "1", x.numpy() * 2
        print("gone on")
        return x
    return fn, [call(f32(x), kind) for kind in ("and", "less", "text", "array", "sign", "method", "fine") for x in (1.0, -3.0)]


@program("unread_results")
def what_fails_before_what_cannot() -> World:
    seen = []

    def fn(x, v):
        seen.append("begun")
        other = v if x < 3.0 else v[1:]
        tf.reduce_sum(tf.matmul(v[None], other[:, None]))
        print("done")
        seen.append("done")
        return x
    return fn, [call(f32(x), f32([1.0, 2.0, 3.0])) for x in (1.0, 5.0, 2.0)], lambda: seen


@program("unread_results")
def what_fails_before_what_cannot_in_a_loop() -> World:
    def fn(x, v):
        while x > 0.0:
            other = v if x < 3.0 else v[1:]
            tf.reduce_sum(tf.matmul(v[None], other[:, None]))
            print("turn", x)
            x -= 1.0
        return x
    return fn, [call(f32(x), f32([1.0, 2.0, 3.0])) for x in (1.0, 5.0, 2.0)]
