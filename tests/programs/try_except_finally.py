"""`try`: matched and unmatched classes, `else`, `finally`, re-raise, loops that retry, tensor conditions."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, f64, i32, i64, program


@program("try_except_finally", graph=True, golden=True)
def own_raise_is_caught() -> World:
    def fn(x):
        try:
            if x < 0:
                raise ValueError("negative")
            y = x * 2
        except ValueError:
            y = i32(0)
        return y
    return fn, each(i32(3), i32(-3))


@program("try_except_finally", graph=True)
def another_class_is_not_caught() -> World:
    def fn(x):
        try:
            if x < 0:
                raise KeyError("k")
            return x
        except ValueError:
            return i32(0)
    return fn, each(i32(3), i32(-3), i32(1))


@program("try_except_finally", graph=True)
def base_class_catches() -> World:
    def fn(x):
        try:
            if x < 0:
                raise KeyError("k")
            if x > 100:
                raise IndexError("i")
        except LookupError:
            return -x
        return x
    return fn, each(i64(3), i64(-3), i64(101))


@program("try_except_finally", graph=True)
def first_handler_that_fits() -> World:
    def fn(x):
        try:
            if x == 1:
                raise ValueError("v")
            if x == 2:
                raise TypeError("t")
            if x == 3:
                raise ZeroDivisionError("z")
            name = "none"
        except ValueError:
            name = "value"
        except (TypeError, KeyError):
            name = "type or key"
        except Exception:
            name = "any"
        return name
    return fn, each(i32(0), i32(1), i32(2), i32(3))


@program("try_except_finally", graph=True)
def exception_is_named_and_read() -> World:
    def fn(x):
        try:
            if x < 0:
                raise ValueError("negative", 7)
        except ValueError as error:
            return error.args, str(error)
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("try_except_finally", graph=True)
def else_block() -> World:
    log = []

    def fn(x):
        try:
            if x < 0:
                raise ValueError
        except ValueError:
            log.append("except")
        else:
            log.append("else")
            x = x * 10
        return x
    return fn, each(f32(1.0), f32(-1.0)), lambda: log


@program("try_except_finally", graph=True, golden=True)
def finally_runs_either_way() -> World:
    log = []

    def fn(x):
        try:
            if x < 0:
                raise RuntimeError("r")
            return x
        finally:
            log.append("finally")
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: log


@program("try_except_finally", graph=True)
def finally_after_a_handler() -> World:
    log = []

    def fn(x):
        try:
            log.append("try")
            if x < 0:
                raise ValueError
            log.append("fine")
        except ValueError:
            log.append("except")
            x = -x
        finally:
            log.append("finally")
        log.append("after")
        return x
    return fn, each(i32(1), i32(-1)), lambda: log


@program("try_except_finally", graph=True)
def return_in_finally_wins() -> World:
    def fn(x):
        try:
            if x < 0:
                raise ValueError
            return x
        finally:
            if x > 10:
                return i32(10)
    return fn, each(i32(1), i32(20), i32(-1))


@program("try_except_finally", graph=True)
def reraised() -> World:
    log = []

    def fn(x):
        try:
            if x < 0:
                raise ValueError("first")
        except ValueError:
            log.append("seen")
            raise
        return x
    return fn, each(f64(1.0), f64(-1.0)), lambda: log


@program("try_except_finally", graph=True)
def replaced_by_another() -> World:
    def fn(x):
        try:
            if x < 0:
                raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
        return x
    return fn, each(f32(1.0), f32(-1.0))


@program("try_except_finally", graph=True)
def nested_two_deep() -> World:
    def fn(x):
        n = 0
        try:
            try:
                if x > 10:
                    raise KeyError
                if x > 5:
                    raise ValueError
            except KeyError:
                n += 1
                raise TypeError("from the handler") from None
            finally:
                n += 10
        except (ValueError, TypeError):
            n += 100
        return n
    return fn, each(i32(1), i32(7), i32(11))


@program("try_except_finally", graph=True)
def in_a_loop() -> World:
    def fn(xs):
        bad = 0
        total = f32(0.0)
        for x in xs:
            try:
                if x < 0.0:
                    raise ValueError
                total += tf.sqrt(x)
            except ValueError:
                bad += 1
        return total, bad
    return fn, each(f32([4.0, -1.0, 9.0]), f32([-1.0, -2.0]), tf.zeros([0]))


@program("try_except_finally", graph=True)
def around_a_loop() -> World:
    def fn(xs):
        seen = 0
        try:
            for x in xs:
                if x == 0:
                    raise ZeroDivisionError
                seen += 1
        except ZeroDivisionError:
            return -seen
        return seen
    return fn, each(i32([1, 2, 3]), i32([1, 2, 0, 3]))


@program("try_except_finally")
def raised_by_a_helper() -> World:
    def root(v):
        if v < 0.0:
            raise ArithmeticError("no root")
        return tf.sqrt(v)

    def fn(a, b):
        try:
            return root(a) + root(b)
        except ArithmeticError:
            return f32(-1.0)
    return fn, [call(f32(4.0), f32(9.0)), call(f32(4.0), f32(-9.0)), call(f32(-4.0), f32(9.0))]


@program("try_except_finally")
def python_error_is_caught() -> World:
    def fn(x, table, key):
        try:
            return x * table[key]
        except KeyError as error:
            return str(error)
    return fn, [call(f32(2.0), {"a": 3.0}, "a"), call(f32(2.0), {"a": 3.0}, "b")]


@program("try_except_finally")
def operation_error_is_caught() -> World:
    def fn(a, b):
        try:
            return a + b
        except tf.errors.InvalidArgumentError:
            return tf.concat([a, b], 0)
    return fn, [call(f32([1.0, 2.0]), f32([3.0, 4.0])), call(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]))]


@program("try_except_finally")
def run_time_error_is_caught() -> World:
    def fn(xs, i):
        try:
            return tf.gather(xs, i)
        except tf.errors.InvalidArgumentError:
            return f32(-1.0)
    return fn, [call(f32([1.0, 2.0]), i32(1)), call(f32([1.0, 2.0]), i32(5))]


@program("try_except_finally", graph=True)
def state_changed_before_the_raise_is_kept() -> World:
    class Account:
        def __init__(self):
            self.balance = f32(10.0)
            self.refused = 0

        def take(self, amount):
            try:
                self.balance = self.balance - amount
                if self.balance < 0.0:
                    raise ValueError("overdrawn")
            except ValueError:
                self.balance = self.balance + amount
                self.refused += 1
            return self.balance

    account = Account()
    return account.take, each(f32(4.0), f32(40.0), f32(1.0)), lambda: account


@program("try_except_finally", graph=True)
def assertion_is_caught() -> World:
    def fn(x):
        try:
            assert x > 0, "positive"
        except AssertionError as error:
            return str(error)
        return "fine"
    return fn, each(i32(1), i32(-1))


@program("try_except_finally", graph=True)
def name_of_a_handler_ends_with_it() -> World:
    def fn(x):
        try:
            if x > 0.0:
                raise ValueError("positive")
            error = "none"
        except ValueError as error:
            print(error)
        return error
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("try_except_finally", graph=True)
def name_of_a_handler_was_bound_before() -> World:
    def fn(x):
        error = 5
        for i in range(3):
            try:
                if x > i:
                    raise ValueError(i)
            except ValueError as error:
                print(error)
            else:
                return error
        return "end"
    return fn, each(f32(1.0), f32(-1.0), f32(9.0))


@program("try_except_finally", graph=True)
def cause_that_is_none_or_an_exception() -> World:
    def fn(x):
        last = None
        for i in range(2):
            try:
                if x > i:
                    raise ValueError(i)
                if x > -1.0:
                    return x
            except ValueError as error:
                last = error
                continue
        raise RuntimeError("gave up") from last
    return fn, each(f32(0.0), f32(1.0), f32(5.0), f32(-2.0))
