"""Python's built-in functions on tensors: conversions, iteration helpers, reductions, type tests."""
from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program, text


@program("builtins_on_tensors", graph=True, golden=True)
def len_of_tensors_and_lists() -> World:
    def fn(m):
        return len(m), len(m[0]), len([m, m]) * tf.reduce_sum(m)
    return fn, each(f32([[1.0, 2.0, 3.0]]), f32([[1.0], [2.0]]))


@program("builtins_on_tensors")
def len_of_a_scalar_is_refused() -> World:
    def fn(x):
        return len(x)
    return fn, each(f32(1.0), f32([1.0]))


@program("builtins_on_tensors", graph=True)
def int_float_bool() -> World:
    def fn(x):
        return int(x), float(x), bool(x), int(x * 3.7)
    return fn, each(f32(2.5), f32(0.0), f32(-1.5))


@program("builtins_on_tensors", graph=True)
def int_used_further() -> World:
    def fn(x):
        n = int(x)
        if n > 2:
            return n // 2, x * n, n / 2
        return -n, x - n, n ** 2
    return fn, each(i32(7), i32(1), i32(3))


@program("builtins_on_tensors", graph=True)
def float_is_a_double() -> World:
    def fn(x):
        f = float(x)
        return f * f + 1e-12, tf.constant(f)
    return fn, each(f32(0.1), f64(0.1), f16(0.1))


@program("builtins_on_tensors")
def str_and_repr() -> World:
    def fn(x):
        return str(x), repr(x), str(int(x))
    return fn, each(f32(2.5), i64(3))


@program("builtins_on_tensors", graph=True)
def abs_of_tensors_and_numbers() -> World:
    def fn(x):
        n = -3 if x > 0 else 4
        return abs(x), abs(n), abs(-2.5)
    return fn, each(f32(-2.0), f32(2.0), i32(-5))


@program("builtins_on_tensors", graph=True)
def min_and_max_of_two() -> World:
    def fn(a, b):
        return min(a, b), max(a, b)
    return fn, [call(i32(1), i32(2)), call(i32(2), i32(1)), call(f32(1.0), f32(1.0))]


@program("builtins_on_tensors", graph=True)
def min_and_max_of_a_tensor() -> World:
    def fn(xs):
        return min(xs), max(xs)
    return fn, each(f32([3.0, 1.0, 2.0]), f32([1.0]))


@program("builtins_on_tensors")
def max_with_a_key_and_default() -> World:
    def fn(xs):
        return max(xs, key=lambda v: -v * v, default=None), min([], default=3)
    return fn, each([f32(3.0), f32(-1.0)], [])


@program("builtins_on_tensors", graph=True)
def sum_of_tensors() -> World:
    def fn(xs, parts):
        return sum(xs), sum(parts), sum(parts, f32(10.0))
    return fn, [call(f32([1.0, 2.0]), [f32(1.0), f32(2.0)]), call(f32([1.0, 2.0]), [])]


@program("builtins_on_tensors", graph=True)
def any_and_all() -> World:
    def fn(xs):
        return any(xs), all(xs)
    return fn, each(flag([True, False]), flag([False, False]), flag([True, True]))


@program("builtins_on_tensors", graph=True)
def range_with_tensors() -> World:
    def fn(a, b):
        total = 0
        for i in range(a, b):
            total += i * 2
        return total
    return fn, [call(i32(1), i32(4)), call(i32(4), i32(1)), call(i32(0), i32(1))]


@program("builtins_on_tensors", graph=True)
def enumerate_a_tensor() -> World:
    def fn(xs):
        total = f32(0.0)
        for i, x in enumerate(xs, 1):
            total += x * i
        return total, i
    return fn, each(f32([1.0, 2.0, 3.0]), f32([5.0]))


@program("builtins_on_tensors", graph=True)
def zip_two_tensors() -> World:
    def fn(xs, ys):
        total = f64(0.0)
        for x, y in zip(xs, ys):
            if x > y:
                total += x - y
        return total
    return fn, [call(f64([1.0, 5.0]), f64([2.0, 3.0])), call(f64([1.0, 2.0, 3.0]), f64([0.0]))]


@program("builtins_on_tensors", graph=True)
def reversed_tensor_and_list() -> World:
    def fn(xs):
        out = i32(0)
        for x in reversed(xs):
            out = out * 10 + x
        return out, [v for v in reversed([1, 2])]
    return fn, each(i32([1, 2, 3]), i32([7]))


@program("builtins_on_tensors", graph=True)
def map_and_filter() -> World:
    def fn(xs):
        doubled = list(map(lambda v: v * 2, xs))
        return doubled, list(filter(lambda v: v > 3, doubled))
    return fn, each(i32([1, 2, 3]), i32([5, -5, 0]))


@program("builtins_on_tensors", graph=True)
def map_over_two() -> World:
    def fn(xs, ys):
        return list(map(lambda a, b: a - b, xs, ys))
    return fn, [call(f32([5.0, 6.0]), f32([1.0, 2.0]))]


@program("builtins_on_tensors")
def sorted_tensors() -> World:
    def fn(xs):
        return sorted(xs), sorted(xs, reverse=True), sorted(xs, key=lambda v: (v - 2) * (v - 2))
    return fn, each(i32([3, 1, 2]), i32([9, 8, 7]))


@program("builtins_on_tensors", graph=True)
def round_and_divmod_of_numbers() -> World:
    def fn(x):
        n = 7 if x > 0 else 9
        q, r = divmod(n, 4)
        return round(2.5), round(n / 4, 1), q, r, pow(n, 2)
    return fn, each(f32(1.0), f32(-1.0))


@program("builtins_on_tensors", graph=True)
def isinstance_and_type() -> World:
    def fn(x):
        if isinstance(x, tf.Tensor):
            return x + 1
        if isinstance(x, (int, float)):
            return x - 1, type(x) is int
        return type(x).__name__
    return fn, each(f32(1.0), 3, 2.5, "s", None)


@program("builtins_on_tensors", graph=True)
def isinstance_of_a_number_made_in_a_loop() -> World:
    def fn(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        return isinstance(n, int), isinstance(n, float), isinstance(x, tf.Tensor), type(n) is int
    return fn, each(f32(4.0), f32(1.0))


@program("builtins_on_tensors", graph=True)
def getattr_hasattr_setattr() -> World:
    class Box:
        pass

    box = Box()

    def fn(x, name):
        if not hasattr(box, name):
            setattr(box, name, x)
        setattr(box, name, getattr(box, name) * 2)
        return getattr(box, name), getattr(box, "missing", None)
    return fn, [call(f32(1.0), "a"), call(f32(3.0), "b"), call(f32(9.0), "a")], lambda: vars(box)


@program("builtins_on_tensors", graph=True)
def list_and_tuple_of_a_tensor() -> World:
    def fn(xs):
        return list(xs), tuple(xs), list(range(len(xs)))
    return fn, each(i64([1, 2]), i64([3, 4]))


@program("builtins_on_tensors")
def dict_of_pairs_and_set() -> World:
    def fn(xs, names):
        table = dict(zip(names, xs))
        return table, set(names), len(table)
    return fn, [call(f32([1.0, 2.0]), ["a", "b"]), call(f32([1.0, 2.0]), ["a", "a"])]


@program("builtins_on_tensors")
def callable_and_id() -> World:
    def fn(x, f):
        y = x
        return f(x) if callable(f) else x * f, id(y) == id(x)
    return fn, [call(f32(1.0), tf.sin), call(f32(1.0), 3.0)]


@program("builtins_on_tensors")
def iter_and_next() -> World:
    def fn(xs):
        numbers = iter(xs)
        first = next(numbers)
        rest = list(numbers)
        return first, rest, next(numbers, None)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([4.0]))


@program("builtins_on_tensors")
def bool_of_strings_and_numbers() -> World:
    def fn(s, n):
        return bool(s), bool(n), tf.strings.length(s)
    return fn, [call(text("a"), i32(0)), call(text("b"), i32(2))]


@program("builtins_on_tensors")
def divmod_of_tensors_and_numbers() -> World:
    def fn(x, n):
        try:
            found = divmod(x, 3)
        except TypeError as error:
            found = str(error)
        return found, divmod(int(x), n), divmod(n, 2.5), divmod(float(x), 2)
    return fn, [((i32(5), 3), {}), ((i32(7), 2), {})]


@program("builtins_on_tensors")
def positions_that_are_no_integers() -> World:
    def fn(x):
        found = []
        for key in (x > 0.0, x * 0.0, float(x) * 0.0):
            for items in ([1, 2, 3], (1, 2, 3)):
                try:
                    found.append(items[key])
                except (AttributeError, TypeError) as error:
                    found.append(str(error))
        return found
    return fn, each(f32(1.0), f32(-1.0))


@program("builtins_on_tensors", graph=True)
def reversed_ranges_of_run_time_bounds() -> World:
    def fn(n):
        n = int(n)
        seen = []
        for i in reversed(range(n)):
            seen.append(i)
        total = 0
        for i in reversed(range(3, n * 4, 2)):
            total = total * 3 + i
        for i in reversed(range(n * 4, 0, -3)):
            total = total * 3 + i
        for i, j in zip(reversed(range(n)), range(n)):
            total += i * j
        return seen, total, [k for k in reversed(range(-n, n))]
    return fn, each(i32(2), i32(0), i32(5), i32(-1))


@program("builtins_on_tensors")
def reversed_of_what_has_no_length() -> World:
    weight = tf.Variable([1.0, 2.0])

    def fn(x, kind):
        if x[0] > 0.0:
            items = reversed(x[0] if kind == "scalar" else weight)
            return [e for e in items]
        return x
    return fn, [call(f32(v), kind) for kind in ("scalar", "variable") for v in ([1.0, 2.0], [-1.0, 2.0])]


@program("builtins_on_tensors", graph=True)
def floor_division_of_floats_as_python_does_it() -> World:
    def fn(x, y):
        a, b = float(x), float(y)
        return a // b, a % b, divmod(a, b), a // 3, 7.0 % b, divmod(int(x) if x < 100.0 else 5, 2)
    pairs = [(1.0, 0.1), (-1.0, 0.1), (0.3, -0.1), (7.0, -7.0), (-0.0, 2.0), (0.0, -2.0), (5.0, float("inf")), (-5.0, float("inf")),
             (float("inf"), 3.0), (1e300, 1e-10), (6.0, 0.25)]
    return fn, [call(f64(a), f64(b)) for a, b in pairs]


@program("builtins_on_tensors", graph=True)
def divmod_by_zero() -> World:
    def fn(x):
        n, v = int(x), float(x)
        try:
            return divmod(7, n)
        except ZeroDivisionError as error:
            text = str(error)
        return text, divmod(1.5, v)
    return fn, each(f32(2.0), f32(0.0))


@program("builtins_on_tensors", graph=True)
def rounded_after_the_run() -> World:
    def fn(x):
        a = x.numpy()
        mean, total = np.mean(a), np.sum(a, dtype=np.float64)
        once = round(float(mean) / 3, 4)
        return round(mean), round(mean, 1), round(total), round(total, 2), round(once, 2), round(once), round(np.argmax(a)), round(mean) + 1

    return fn, each(f32([1.25, 2.5]), f32([0.5, 0.5]), f32([-7.125, 3.0]))


@program("builtins_on_tensors")
def rounded_without_a_number() -> World:
    def fn(x):
        try:
            return round(x.numpy())
        except (TypeError, ValueError, OverflowError) as error:
            return type(error).__name__, str(error)

    return fn, each(f32([1.25, 2.5]), f32(1.5), f32(2.5), f32(np.nan), f32(np.inf), i32(3))


@program("builtins_on_tensors")
def sorted_by_keys_that_may_be_nan() -> World:
    def fn(x):
        numbers = [float(one) for one in x]
        best = sorted(range(4), key=lambda place: x[place], reverse=True)
        rows = sorted([x[0], x[1], x[2]])
        numbers.sort()
        return numbers, best, rows

    ordered, nan = [3.0, 1.0, 2.0, 1.0], np.nan
    return fn, each(f32([3.0, nan, 2.0, 1.0]), f32([nan, 1.0, 0.0, nan]), f32(ordered), f32(ordered), f32(ordered))


@program("builtins_on_tensors")
def sorted_after_effects_by_keys_that_may_be_nan() -> World:
    seen = []
    total = tf.Variable(0.0)

    def fn(x):
        print("before", len(seen))
        total.assign_add(1.0)
        if x[0] > 0.0:
            total.assign_add(x[0])
            seen.append(sorted([float(one) for one in x], reverse=True))
        for turn in tf.range(2):
            print(turn, sorted(range(3), key=lambda place: float(x[place])))
        return sorted([x[1], x[2]])

    values = f32([3.0, np.nan, 2.0]), f32([1.0, 3.0, 2.0]), f32([-1.0, np.nan, 2.0]), f32([2.0, 1.0, np.nan])
    return fn, each(*values), lambda: (seen, total)
