"""Star-arguments: passed, received, forwarded; keywords of changing names; structures of tensors."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("star_args", graph=True, golden=True)
def received() -> World:
    def fn(*xs, **named):
        total = f32(0.0)
        for x in xs:
            total += x
        return total, sorted(named), len(xs)
    return fn, [call(f32(1.0), f32(2.0)), call(), call(f32(1.0), scale=2, name="a")]


@program("star_args", graph=True)
def passed_on() -> World:
    def inner(a, b, scale=1.0):
        if a > b:
            return (a - b) * scale
        return b - a

    def fn(*args, **kwargs):
        return inner(*args, **kwargs)
    return fn, [call(f32(3.0), f32(1.0)), call(f32(1.0), b=f32(2.0)), call(f32(3.0), f32(1.0), scale=5.0)]


@program("star_args", graph=True)
def list_unpacked_into_a_call() -> World:
    def fn(xs):
        items = [xs[0], xs[1]]
        return tf.add(*items), tf.stack([*items, *items])
    return fn, each(i32([1, 2]), i32([3, 4]))


@program("star_args", graph=True)
def tensor_unpacked_into_a_call() -> World:
    def area(w, h):
        return w * h

    def fn(size):
        return area(*size)
    return fn, each(f64([2.0, 3.0]), f64([4.0, 5.0]))


@program("star_args", graph=True)
def dict_unpacked_into_a_call() -> World:
    def fn(x, options):
        return tf.reduce_sum(x, **options)
    return fn, [call(f32([[1.0, 2.0]]), {"axis": 0}), call(f32([[1.0, 2.0]]), {"axis": 1, "keepdims": True}),
                call(f32([[1.0, 2.0]]), {})]


@program("star_args", graph=True)
def keyword_only() -> World:
    def fn(x, *, scale=2.0, shift=None):
        y = x * scale
        return y if shift is None else y + shift
    return fn, [call(f16(1.0)), call(f16(1.0), shift=f16(3.0)), call(f16(1.0), scale=5.0)]


@program("star_args", graph=True)
def positional_only() -> World:
    def fn(x, /, y=1, **named):
        return x + y, named.get("x", 0)
    return fn, [call(i32(1)), call(i32(1), 5, x=7)]


@program("star_args")
def missing_and_unknown_arguments() -> World:
    def fn(x, y):
        return x + y
    return fn, [call(f32(1.0)), call(f32(1.0), f32(2.0)), call(f32(1.0), 2.0, z=3), call(f32(1.0), x=2)]


@program("star_args", graph=True)
def two_stars_merged() -> World:
    def gather(**named):
        return {key: named[key] for key in sorted(named)}

    def fn(x, first, second):
        return gather(**first, **second, x=x)
    return fn, [call(f32(1.0), {"b": f32(2.0)}, {"a": 3}), call(f32(1.0), {}, {})]


@program("star_args")
def same_keyword_twice() -> World:
    def gather(**named):
        return named

    def fn(x, first):
        return gather(**first, x=x)
    return fn, [call(f32(1.0), {"y": 2}), call(f32(1.0), {"x": 2})]


@program("star_args", graph=True)
def arguments_by_keyword_in_another_order() -> World:
    def fn(a, b, c=0):
        return a * 100 + b * 10 + c
    return fn, [call(b=i64(2), a=i64(1)), call(i64(1), c=i64(3), b=i64(2)), call(i64(1), i64(2))]


@program("star_args", graph=True)
def star_in_the_middle() -> World:
    def fn(x):
        first, *middle, last = (x, x + 1, x + 2, x + 3)
        return tf.add_n([first, *middle, last]), middle
    return fn, each(i32(1))


@program("star_args", graph=True)
def forwarded_through_methods() -> World:
    class Base:
        def run(self, x, *, scale):
            return x * scale

    class Logged(Base):
        def __init__(self):
            self.calls = []

        def run(self, *args, **kwargs):
            self.calls.append(sorted(kwargs))
            return super().run(*args, **kwargs)

    logged = Logged()
    return logged.run, [call(f32(1.0), scale=2.0), call(f32(3.0), scale=f32(4.0))], lambda: logged.calls


@program("star_args", graph=True)
def collected_arguments_are_a_fresh_dict() -> World:
    def change(**named):
        named["x"] = named["x"] * 2
        named["new"] = 1
        return named

    def fn(table):
        return change(**table), table
    return fn, each({"x": f32(1.0)})


@program("star_args", graph=True)
def number_of_arguments_varies() -> World:
    def fn(*xs):
        if len(xs) > 2:
            return xs[0] + xs[2]
        return xs[-1] if xs else None
    return fn, [call(i32(1), i32(2), i32(3)), call(i32(1)), call()]


@program("star_args", grad=1, graph=True)
def with_gradient() -> World:
    def fn(*xs, power=2):
        total = f32(0.0)
        for x in xs:
            total += x ** power
        return total
    return fn, [call(f32(1.0), f32(3.0)), call(f32(2.0), power=3)]
