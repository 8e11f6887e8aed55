"""`assert` and `raise`: on tensors, in loops and helpers, with the effects that came before."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("assert_raise", graph=True, golden=True)
def assert_with_a_message() -> World:
    def fn(x):
        assert x > 0, "x must be positive"
        return tf.sqrt(x)
    return fn, each(f32(4.0), f32(-4.0), f32(9.0))


@program("assert_raise", graph=True, golden=True)
def assert_without_a_message() -> World:
    def fn(x):
        y = x * 2
        assert y < 10
        return y
    return fn, each(i32(1), i32(9), i32(2))


@program("assert_raise", graph=True)
def message_is_made_only_on_failure() -> World:
    log = []

    def message():
        log.append("message")
        return "made"

    def fn(x):
        assert x > 0, message()
        return x
    return fn, each(i32(1), i32(-1), i32(2)), lambda: log


@program("assert_raise")
def message_shows_the_value() -> World:
    def fn(x):
        assert x < 5, f"{x.numpy() if hasattr(x, 'numpy') else x} is too large"
        return x
    return fn, each(i64(1), i64(9))


@program("assert_raise", graph=True, golden=True)
def raise_in_a_branch() -> World:
    def fn(x):
        if x < 0:
            raise ValueError("negative")
        return x + 1
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("assert_raise", graph=True)
def raise_in_both_branches() -> World:
    def fn(x):
        if x < 0:
            raise ValueError("negative")
        elif x > 10:
            raise KeyError("large")
        return x
    return fn, each(i32(1), i32(-1), i32(11))


@program("assert_raise", graph=True)
def raise_in_a_loop() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            if x < 0.0:
                raise ArithmeticError("negative element")
            total += tf.sqrt(x)
        return total
    return fn, each(f32([1.0, 4.0]), f32([1.0, -1.0]), f32([9.0]))


@program("assert_raise", graph=True)
def effects_before_the_raise_stay() -> World:
    log = []
    count = tf.Variable(0)

    def fn(x):
        log.append("in")
        count.assign_add(1)
        if x < 0:
            raise RuntimeError("no")
        log.append("out")
        count.assign_add(100)
        return count.read_value()
    return fn, each(i32(1), i32(-1), i32(1)), lambda: (log, count)


@program("assert_raise", graph=True)
def effects_of_earlier_turns_stay() -> World:
    class Sum:
        def __init__(self):
            self.total = 0
            self.seen = []

        def add(self, xs):
            for x in xs:
                self.seen.append(1)
                if x == 0:
                    raise ZeroDivisionError("zero")
                self.total += 10
            return self.total

    counter = Sum()
    return counter.add, each(i32([1, 2]), i32([1, 0, 3]), i32([4])), lambda: counter


@program("assert_raise", graph=True)
def raise_from_a_helper_in_a_loop() -> World:
    def checked(v):
        if v > 100:
            raise OverflowError("over")
        return v * v

    def fn(n):
        x = i32(2)
        for _ in tf.range(n):
            x = checked(x)
        return x
    return fn, each(i32(2), i32(5), i32(0))


@program("assert_raise", graph=True)
def own_class_with_fields() -> World:
    class Refused(Exception):
        def __init__(self, code, reason):
            super().__init__(code, reason)
            self.code = code

    def fn(x):
        if x > 3:
            raise Refused(17, "too large")
        return x
    return fn, each(f64(1.0), f64(4.0))


@program("assert_raise")
def arguments_are_tensors() -> World:
    def fn(x):
        if x > 3:
            raise ValueError("value", x * 2, float(x))
        return x
    return fn, each(f32(1.0), f32(4.0))


@program("assert_raise", graph=True)
def class_without_a_call() -> World:
    def fn(x):
        if x > 3:
            raise StopIteration
        return x
    return fn, each(f32(1.0), f32(4.0))


@program("assert_raise", graph=True)
def with_a_cause() -> World:
    def fn(x):
        if x > 3:
            raise ValueError("outer") from KeyError("inner")
        return x
    return fn, each(f32(1.0), f32(4.0))


@program("assert_raise")
def raises_always() -> World:
    def fn(x):
        raise NotImplementedError("not for " + type(x).__name__[:0] + "tensors")
    return fn, each(f32(1.0), f32(2.0))


@program("assert_raise")
def raises_always_with_a_text_of_the_run() -> World:
    seen = []

    def fn(x, scale):
        seen.append(scale)
        raise ValueError(f"{float(x):.1f} times {scale}")
    return fn, [call(f32(1.5), 2), call(f32(2.5), 2), call(f32(2.5), 3.0)], lambda: seen


@program("assert_raise")
def raises_always_with_a_number_of_the_run() -> World:
    def total(x):
        raise KeyError(int(x), x, "k")

    def fn(x):
        for _ in range(2):
            total(x + 1.0)
    return fn, each(f32(1.5), f32(2.5))


@program("assert_raise")
def what_is_raised_is_no_exception() -> World:
    def fn(x):
        if x > 0:
            raise "a string"
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("assert_raise")
def operation_refuses_its_arguments() -> World:
    def fn(a, b):
        c = tf.matmul(a, b)
        return c + 1.0
    return fn, [call(f32([[1.0, 2.0]]), f32([[1.0], [2.0]])), call(f32([[1.0, 2.0]]), f32([[1.0, 2.0]]))]


@program("assert_raise")
def operation_fails_at_run_time() -> World:
    def fn(xs, i):
        return tf.gather(xs, i) * 2.0
    return fn, [call(f32([1.0, 2.0]), i32(1)), call(f32([1.0, 2.0]), i32(7)), call(f32([1.0, 2.0]), i32(0))]


@program("assert_raise")
def tf_debugging_assertion() -> World:
    def fn(x):
        tf.debugging.assert_less(x, 10.0, message="below ten")
        return x * 2.0
    return fn, each(f32(1.0), f32(11.0), f32(2.0))


@program("assert_raise")
def python_error_after_an_effect() -> World:
    log = []

    def fn(x, items):
        log.append(len(items))
        y = x * items[2]
        log.append("done")
        return y
    return fn, [call(f32(1.0), [1.0, 2.0, 3.0]), call(f32(1.0), [1.0])], lambda: log


@program("assert_raise", graph=True)
def assert_in_a_while_loop() -> World:
    def fn(x):
        while x != 1:
            assert x > 0, "positive numbers only"
            x = x // 2 if x % 2 == 0 else x - 3
        return x
    return fn, each(i32(4), i32(6), i32(1))


@program("assert_raise", grad=1, graph=True)
def gradient_through_a_checked_value() -> World:
    def fn(x):
        if x <= 0.0:
            raise ValueError("log of a number that is not positive")
        return tf.math.log(x) * x
    return fn, each(f32(2.0), f32(-2.0), f32(3.0))
