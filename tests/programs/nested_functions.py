"""Functions in functions: closures, decorators, factories, generators, recursion, defaults."""
from __future__ import annotations

import contextlib
import functools

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("nested_functions", graph=True, golden=True)
def helper_inside() -> World:
    def fn(x):
        def half_or_double(v):
            if v > 10:
                return v // 2
            return v * 2
        return half_or_double(x) + half_or_double(x + 10)
    return fn, each(i32(3), i32(30))


@program("nested_functions", graph=True)
def closure_over_a_tensor() -> World:
    def fn(x, y):
        def add(v):
            return v + y
        y = y * 10.0
        return add(x)
    return fn, [call(f32(1.0), f32(2.0))]


@program("nested_functions", graph=True)
def made_in_a_branch() -> World:
    def fn(x):
        if x > 0:
            def f(v):
                return v * 2
        else:
            def f(v):
                return v - 1
        return f(x)
    return fn, each(f32(1.0), f32(-1.0))


@program("nested_functions", graph=True)
def made_in_a_loop() -> World:
    def fn(xs):
        total = f64(0.0)
        for x in xs:
            def squared():
                return x * x
            total += squared()
        return total
    return fn, each(f64([1.0, 2.0]), f64([3.0]))


@program("nested_functions", graph=True)
def three_levels() -> World:
    def fn(x):
        a = x + 1

        def middle(v):
            b = v * a

            def inner(w):
                return w + a + b
            return inner(v)
        return middle(x)
    return fn, each(i64(2), i64(5))


@program("nested_functions")
def factory_of_closures() -> World:
    def scaled_by(k):
        def scale(v):
            return v * k
        return scale

    double, triple = scaled_by(2.0), scaled_by(3.0)

    def fn(x):
        return double(x), triple(x), scaled_by(x)(x)
    return fn, each(f16(2.0))


@program("nested_functions", graph=True)
def default_evaluated_once() -> World:
    def fn(x):
        y = x

        def add(v, amount=y * 2):
            return v + amount
        y = x * 100
        return add(x), add(x, y)
    return fn, each(f32(1.0))


@program("nested_functions", graph=True)
def mutable_default_is_shared() -> World:
    def remember(v, kept=[]):
        kept.append(v)
        return len(kept)

    def fn(x):
        return remember(x), x * 2
    return fn, each(f32(1.0), f32(2.0)), lambda: remember.__defaults__


@program("nested_functions", graph=True)
def own_decorator() -> World:
    def doubled(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs) * 2
        return wrapper

    @doubled
    def clipped(v, limit=5):
        if v > limit:
            return v - limit
        return v

    def fn(x):
        return clipped(x), clipped(x, limit=1), clipped.__name__
    return fn, each(i32(9), i32(2))


@program("nested_functions", graph=True)
def recursion_on_a_python_number() -> World:
    def fn(x, n):
        def power(k):
            if k == 0:
                return 1.0
            return x * power(k - 1)
        return power(n)
    return fn, [call(f32(2.0), 3), call(f32(2.0), 0)]


@program("nested_functions")
def generator_inside() -> World:
    def fn(x, n):
        def parts():
            for i in range(n):
                yield x * i
        return list(parts())
    return fn, [call(f32(2.0), 3), call(f32(2.0), 0)]


@program("nested_functions")
def generator_with_effects_is_lazy() -> World:
    log = []

    def fn(x):
        def steps():
            log.append("start")
            yield x
            log.append("middle")
            yield x * 2
            log.append("end")
        steps_of_x = steps()
        log.append("before")
        first = next(steps_of_x)
        log.append("between")
        return first, list(steps_of_x)
    return fn, each(i32(1)), lambda: log


@program("nested_functions", graph=True)
def keyword_only_and_positional_only() -> World:
    def mixed(a, /, b, *, c=3.0):
        return a * 100.0 + b * 10.0 + c

    def fn(x):
        return mixed(x, 2.0), mixed(x, b=4.0, c=5.0)
    return fn, each(f32(1.0))


@program("nested_functions")
def wrong_number_of_arguments() -> World:
    def helper(a, b):
        return a + b

    def fn(x, n):
        return helper(*[x] * n)
    return fn, [call(f32(1.0), 2), call(f32(1.0), 3)]


@program("nested_functions", graph=True)
def function_attributes() -> World:
    def helper(v):
        helper.calls += 1
        return v + 1
    helper.calls = 0

    def fn(xs):
        for x in xs:
            helper(x)
        return helper.calls
    return fn, each(i32([1, 2]), i32([1])), lambda: helper.calls


@program("nested_functions", grad=2, graph=True)
def functions_composed_with_gradient() -> World:
    def compose(*fs):
        def composed(v):
            for f in fs:
                v = f(v)
            return v
        return composed

    def fn(x):
        return compose(tf.sin, lambda v: v * v if v > 0.1 else v * v * v, tf.exp)(x)
    return fn, each(f32(1.0), f32(-1.0))


@program("nested_functions")
def class_made_inside() -> World:
    def fn(x):
        class Counter:
            start = 10

            def __init__(self, v):
                self.v = v

            def next(self):
                self.v = self.v + 1
                return self.v + self.start
        counter = Counter(x)
        counter.next()
        return counter.next()
    return fn, each(i32(1), i32(5))


@program("nested_functions")
def names_of_functions_made_in_blocks() -> World:
    def fn(x):
        made = []
        for i in tf.range(2):
            print((lambda z: z).__qualname__, i)
        if x > 0.0:
            def inner(z):
                return lambda: z
            print(inner.__name__, inner.__qualname__, inner(x).__qualname__)
        for _ in range(2):
            try:
                made.append(lambda z: z + x)
            finally:
                made.append(lambda z: z * x)
        return made, [one.__qualname__ for one in made]
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("nested_functions")
def functions_printed_in_a_loop() -> World:
    class Box:
        def show(self, x):
            for _ in tf.range(2):
                self.total = x
                print(str(lambda z: z).partition(" at ")[0])
            return x
    return Box().show, each(f32(1.0), f32(2.0))


@program("nested_functions", graph=True)
def with_a_handler_where_the_program_raises() -> World:
    def fn(x):
        if x < 0.0:
            def careful(y):
                with contextlib.suppress(ValueError):
                    if y > 2.0:
                        raise ValueError("large")
                    return y
                return -y
            raise ValueError(f"{careful(x + 4.0)}")
        total = x * 2.0
        return total + 1.0
    return fn, each(f32(1.0), f32(-1.0), f32(-3.0), f32(2.0))
