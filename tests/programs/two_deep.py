"""The same constructs nested two or three blocks deep, loops in branches in loops."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("two_deep", graph=True)
def for_in_if_in_for() -> World:
    def fn(m):
        total = i32(0)
        for row in m:
            if row[0] > 0:
                for v in row:
                    total += v
            else:
                total -= 1
        return total
    return fn, each(i32([[1, 2], [-1, 5]]), i32([[-1, -1]]))


@program("two_deep", graph=True)
def while_in_while_with_breaks() -> World:
    def fn(n):
        count = 0
        while n > 0:
            k = n
            while True:
                k = k // 2
                count += 1
                if k < 2:
                    break
            n -= 3
            if count > 8:
                break
        return n, count
    return fn, each(i32(9), i32(20), i32(0))


@program("two_deep", graph=True)
def if_in_if_in_while() -> World:
    def fn(x):
        a = b = 0
        while x > 0:
            if x % 2 == 0:
                if x % 4 == 0:
                    a += 1
                else:
                    b += 1
            x -= 1
        return a, b
    return fn, each(i64(8), i64(1))


@program("two_deep", graph=True)
def return_three_deep() -> World:
    def fn(m, limit):
        for row in m:
            for v in row:
                if v > limit:
                    while v > limit:
                        v = v - 1.0
                        if v < 0.0:
                            return v, "low"
                    return v, "found"
        return None
    return fn, [call(f32([[1.0, 5.5]]), f32(3.0)), call(f32([[1.0, 2.0]]), f32(9.0)),
                call(f32([[0.5, 2.0]]), f32(-1.0))]


@program("two_deep", graph=True)
def continue_of_the_outer_by_else() -> World:
    def fn(m):
        kept = i32(0)
        for row in m:
            for v in row:
                if v == 0:
                    break
            else:
                kept += row[0]
                continue
            kept -= 1
        return kept
    return fn, each(i32([[5, 1], [7, 0]]), i32([[0, 0]]))


@program("two_deep", graph=True)
def list_of_lists() -> World:
    def fn(n):
        rows = []
        for i in tf.range(n):
            row = []
            for j in tf.range(i):
                if (i + j) % 2 == 1:
                    row.append(j)
            rows.append(row)
        return rows
    return fn, each(i32(3), i32(1))


@program("two_deep", graph=True)
def attribute_of_an_outer_object() -> World:
    class Grid:
        def __init__(self):
            self.on = 0
            self.last = None

        def scan(self, m):
            for row in m:
                for v in row:
                    if v > 0:
                        self.on += 1
                        self.last = v
            return self.on

    grid = Grid()
    return grid.scan, each(i32([[1, 0], [0, 2]]), i32([[0, 0]])), lambda: grid


@program("two_deep", graph=True)
def none_then_tensor_across_two_loops() -> World:
    def fn(m):
        best = None
        for row in m:
            low = None
            for v in row:
                if low is None or v < low:
                    low = v
            if best is None or low > best:
                best = low
        return best
    return fn, each(f64([[3.0, 1.0], [5.0, 4.0]]), f64([[2.0, 2.0]]))


@program("two_deep", graph=True)
def print_in_the_innermost() -> World:
    def fn(n):
        for i in tf.range(n):
            for j in tf.range(i):
                if j == 1:
                    print("pair")
            print("row")
        return n
    return fn, each(i32(3), i32(0))


@program("two_deep", graph=True)
def raise_in_the_innermost() -> World:
    def fn(m):
        seen = 0
        for row in m:
            for v in row:
                if v < 0:
                    if seen > 1:
                        raise ValueError("late negative")
                    raise KeyError("early negative")
                seen += 1
        return seen
    return fn, each(i32([[1, 2], [3, 4]]), i32([[-1, 2]]), i32([[1, 2], [-3, 4]]))


@program("two_deep", graph=True)
def try_in_a_loop_in_a_try() -> World:
    def fn(xs):
        good = 0
        try:
            for x in xs:
                try:
                    if x < 0:
                        raise ValueError
                    if x > 9:
                        raise OverflowError
                    good += 1
                except ValueError:
                    good -= 1
        except OverflowError:
            return good, "over"
        return good, "fine"
    return fn, each(i32([1, -1, 2]), i32([1, 10, 2]))


@program("two_deep", graph=True)
def shape_grows_in_the_inner_loop() -> World:
    def fn(n):
        x = tf.zeros([0])
        for i in tf.range(n):
            for _ in tf.range(i):
                x = tf.concat([x, [tf.cast(i, tf.float32)]], 0)
        return x
    return fn, each(i32(3), i32(1))


@program("two_deep", graph=True)
def python_loop_around_a_tensor_loop() -> World:
    def fn(xs):
        totals = {}
        for name, scale in (("a", 1.0), ("b", -1.0)):
            total = f32(0.0)
            for x in xs:
                if x * scale > 0.0:
                    total += x
            totals[name] = total
        return totals
    return fn, each(f32([1.0, -2.0, 3.0]), f32([-1.0]))


@program("two_deep", graph=True)
def tensor_loop_around_a_python_loop() -> World:
    def fn(n):
        total = i32(0)
        for i in tf.range(n):
            for k in (1, 2, 3):
                if i * k > 4:
                    break
                total += i * k
        return total
    return fn, each(i32(4), i32(0))


@program("two_deep", grad=1, graph=True)
def with_gradient() -> World:
    def fn(m):
        total = f32(0.0)
        for row in m:
            part = f32(1.0)
            for v in row:
                if v > 0.0:
                    part = part * v
                else:
                    part = part + v * v
            total += part
        return total
    return fn, each(f32([[1.0, -2.0], [3.0, 0.5]]), f32([[-1.0, -1.0]]))


@program("two_deep", graph=True)
def a_dict_returned_from_an_inner_loop() -> World:
    def fn(v, x):
        for b in v:
            for _ in tf.range(tf.shape(v)[0]):
                if b <= 1.0:
                    pass
                elif x == 1.0:
                    return dict(a=tf.reduce_max(v), b=1)
            else:
                break
            return None
        return x
    return fn, [call(f32(v), f32(x)) for v in ([1.0, 2.0], [2.0, 0.0], [3.0]) for x in (1.0, 2.0)]


@program("two_deep", graph=True)
def a_list_returned_from_an_inner_loop() -> World:
    def fn(v, x):
        for b in v:
            for m in tf.range(tf.shape(v)[0]):
                if b <= 1.0:
                    pass
                elif x == 1.0:
                    return [b, m]
            else:
                break
            return None
        return x
    return fn, [call(f32(v), f32(x)) for v in ([1.0, 2.0], [2.0, 0.0], [3.0]) for x in (1.0, 2.0)]
