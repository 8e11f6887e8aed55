"""`try` and `with` around calls that raise on a tensor: handlers, `else`, `finally`, managers, loops, causes, state."""
from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program

LOG: list[Any] = []
VALUES = (1.0, 2.5, -1.0, -4.0, 6.0, 20.0)


class Odd(Exception):
    """With state of its own."""

    def __init__(self, code: int, x: Any) -> None:
        super().__init__(f"odd {code}")
        self.code = code
        self.x = x


class Worse(Odd):
    """A subclass."""


class Note:
    """A manager that may swallow, also by a tensor."""

    def __init__(self, swallow: Any) -> None:
        self.swallow = swallow

    def __enter__(self) -> Note:
        LOG.append("in")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        LOG.append("out" if kind is None else kind.__name__)
        return self.swallow


def positive(x):
    """Doubles."""
    if x < 0:
        raise ValueError("negative")
    return x * 2.0


def small(x):
    """Raises in two ways."""
    y = positive(x)
    if y > 30:
        raise Worse(4, y)
    if y > 10:
        raise Odd(3, y)
    return y + 1.0


def numbers() -> list[Any]:
    """The usual calls."""
    return [call(f32(value)) for value in VALUES]


def state() -> Any:
    """What the programs log."""
    return list(LOG)


def world(fn: Any) -> World:
    """A program that logs."""
    LOG.clear()
    return fn, numbers(), state


@program("raising_callees", graph=True)
def is_caught() -> World:
    def fn(x):
        try:
            y = positive(x)
        except ValueError:
            y = x
        return y
    return fn, numbers()


@program("raising_callees", graph=True)
def names_as_they_were_at_the_raise() -> World:
    def fn(x):
        y = z = x
        try:
            y = x + 1
            z = small(x) + positive(x - 1.0)
            y = z * 2
        except ValueError as error:
            return y, str(error)
        except Odd as error:
            return error.x, error.code
        return y, z
    return world(fn)


@program("raising_callees", graph=True)
def in_a_nested_branch() -> World:
    def fn(x):
        y = 0
        try:
            y = 1
            if x < 10:
                y = 2
                if x > -2:
                    y = 3
                    positive(x)
                else:
                    LOG.append(4)
        except ValueError:
            return y, -x
        return y, x
    return world(fn)


@program("raising_callees", graph=True)
def first_handler_that_fits() -> World:
    def fn(x):
        try:
            y = small(x)
        except Worse as error:
            return "worse", error.code
        except (ValueError, Odd) as error:
            return "other", str(error), type(error).__name__
        return "none", y
    return world(fn)


@program("raising_callees", graph=True)
def goes_on_to_an_outer_handler() -> World:
    def inner(x):
        try:
            return small(x)
        except Odd:
            return x * 0.0

    def fn(x):
        try:
            y = inner(x)
        except ValueError:
            return "outer", x
        else:
            LOG.append(y)
        return "done", y
    return world(fn)


@program("raising_callees", graph=True)
def leaves_the_function() -> World:
    def fn(x):
        try:
            y = small(x)
        except KeyError:
            y = x
        LOG.append(y)
        return y
    return world(fn)


@program("raising_callees", graph=True)
def finally_always_runs() -> World:
    def fn(x):
        try:
            LOG.append(1)
            y = small(x)
            LOG.append(y)
        finally:
            LOG.append("finally")
        return y
    return world(fn)


@program("raising_callees", graph=True)
def finally_that_returns() -> World:
    def fn(x):
        try:
            y = small(x)
        finally:
            if x > -2:
                return x
        return y
    return world(fn)


@program("raising_callees", graph=True)
def raise_from() -> World:
    def fn(x):
        try:
            y = small(x)
        except ValueError as error:
            raise KeyError("k", 2) from error
        except Odd as error:
            raise RuntimeError(f"code {error.code}") from None
        return y
    return world(fn)


@program("raising_callees", graph=True)
def bare_raise() -> World:
    def fn(x):
        try:
            try:
                return small(x)
            except Odd:
                LOG.append("odd")
                raise
            finally:
                LOG.append("inner")
        except Worse as error:
            LOG.append(error.code)
            return x
    return world(fn)


@program("raising_callees", graph=True)
def else_and_what_it_raises() -> World:
    def fn(x):
        try:
            y = positive(x)
        except ValueError:
            LOG.append("handled")
            y = x
        else:
            y = small(y)
        return y
    return world(fn)


@program("raising_callees", graph=True)
def in_a_loop_of_the_graph() -> World:
    def fn(x):
        n = 0
        try:
            for _ in tf.range(5):
                n += 1
                x = small(x)
        except (ValueError, Odd) as error:
            return n, x, type(error).__name__, error.args
        return n, x, None, None
    return world(fn)


@program("raising_callees", graph=True)
def try_in_a_loop() -> World:
    def fn(x):
        tries = 0
        while x < 9:
            tries += 1
            try:
                x = small(x) + 1.0
            except ValueError:
                x = -x
                continue
            except Odd:
                break
            finally:
                LOG.append(tries)
        return x, tries
    return world(fn)


@program("raising_callees", graph=True)
def try_in_an_unrolled_loop() -> World:
    def fn(x):
        k = 0
        for k in range(3):
            try:
                x = small(x)
            except ValueError:
                x = x + 5.0
                continue
            except Odd:
                break
        return x, k
    return world(fn)


@program("raising_callees", graph=True)
def unrolled_loop_in_a_try() -> World:
    def fn(x):
        done = []
        try:
            for k in range(4):
                done.append(k)
                x = small(x)
        except ValueError:
            return x, -1
        except Odd as error:
            return error.x, len(done)
        return x, 0
    return world(fn)


@program("raising_callees", graph=True)
def managers() -> World:
    def fn(x):
        with Note(False):
            with Note(x > -3):
                LOG.append(1)
                x = small(x)
                LOG.append(2)
            LOG.append(3)
        return x
    return world(fn)


@program("raising_callees", graph=True)
def suppressed() -> World:
    def fn(x):
        y = x
        with contextlib.suppress(ValueError, Worse):
            y = x * 0.0
            y = small(x)
        return y
    return world(fn)


@program("raising_callees", graph=True)
def under_a_manager_of_tensorflow() -> World:
    def fn(x):
        y = x
        try:
            with tf.name_scope("scope"):
                y = x + 1.0
                y = small(x)
        except Odd:
            return y, "odd"
        except ValueError:
            return y, "value"
        return y, ""
    return world(fn)


@program("raising_callees", graph=True, grad=True)
def gradients() -> World:
    def fn(x, w):
        try:
            y = small(x * w)
        except ValueError:
            y = w * 3.0
        except Odd as error:
            y = error.x * w
        return y
    return fn, [call(f32(value), f32(1.5)) for value in VALUES]


@program("raising_callees", graph=True)
def inner_tape() -> World:
    def fn(x):
        try:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = small(x)
            g = tape.gradient(y, x)
        except ValueError:
            return x
        except Odd as error:
            return error.x
        return g
    return world(fn)


@program("raising_callees", graph=True)
def effects_before_the_raise_stay() -> World:
    def put(items, table, x):
        items.append(x)
        table["n"] = table["n"] + 1
        print("put", float(x))
        return small(x)

    def fn(x, items, table):
        try:
            y = put(items, table, x)
        except (ValueError, Odd):
            table["failed"] = x
            y = -x
        return y, len(items)
    items, table = [], {"n": 0, "failed": f32(0)}
    return fn, [call(f32(value), items, table) for value in VALUES], lambda: (items, table)


@program("raising_callees", graph=True)
def python_division() -> World:
    def fn(x, n):
        try:
            return 10 // int(x), n
        except ZeroDivisionError as error:
            return str(error), n
    return fn, [call(i32(value), 2) for value in (3, 0, -4)]


@program("raising_callees", graph=True)
def assertions_in_callees() -> World:
    def checked(x):
        assert x > 0, f"got {int(x)}"
        return x

    def fn(x):
        try:
            return checked(x), ""
        except AssertionError as error:
            return x * 0, str(error)
    return fn, each(i32(3), i32(-3))


@program("raising_callees", graph=True)
def in_a_generator() -> World:
    def items(v):
        for e in v:
            yield positive(e)

    def fn(v):
        total = f32(0.0)
        try:
            for e in items(v):
                total = total + e
        except ValueError:
            return total, "stopped"
        return total, ""
    return fn, each(f32([1.0, 2.0]), f32([1.0, -2.0, 3.0]), f32([-1.0]))


@program("raising_callees", graph=True)
def the_body_of_a_consumer_raises() -> World:
    def items(v):
        for e in v:
            LOG.append("next")
            yield e * 2.0

    def fn(v):
        n = 0
        try:
            for e in items(v):
                n += 1
                positive(e)
        except ValueError:
            return n, "stopped"
        return n, ""
    LOG.clear()
    return fn, each(f32([1.0, 2.0]), f32([1.0, -2.0, 3.0]), f32([-1.0])), state


@program("raising_callees")
def in_a_comprehension() -> World:
    def fn(v):
        try:
            return [positive(e) for e in v]
        except ValueError:
            return "stopped"
    return fn, each(f32([1.0, 2.0]), f32([1.0, -2.0, 3.0]))


@program("raising_callees", graph=True)
def retry_until_it_works() -> World:
    class Server:
        def __init__(self) -> None:
            self.calls = 0

        def ask(self, x):
            self.calls += 1
            if x < 3:
                raise ConnectionError("busy", self.calls)
            return x

    server = Server()

    def fn(x):
        for attempt in range(4):
            try:
                return server.ask(x), attempt
            except ConnectionError as error:
                x = x + error.args[1]
        return x, -1
    return fn, [call(f32(value)) for value in (-9, 0, 2, 5)], lambda: server.calls


@program("raising_callees")
def stop_iteration() -> World:
    def first(v):
        for e in v:
            if e > 1:
                return e
        raise StopIteration("none")

    def fn(v):
        try:
            return first(v)
        except StopIteration as stop:
            return stop.value
    return fn, each(f32([1.0, 2.0]), f32([1.0, -2.0]))


@program("raising_callees", graph=True)
def raised_again_by_name() -> World:
    def fn(x):
        try:
            return small(x)
        except (Odd, ValueError) as error:
            LOG.append(str(error))
            if x > 10:
                raise error
            if x < -2:
                raise
        return x
    return world(fn)


@program("raising_callees", graph=True)
def text_of_what_was_raised() -> World:
    def checked(x):
        if x < 0:
            raise ValueError(f"x is {float(x):.1f}", 3)
        if x > 5:
            raise KeyError(int(x))
        return x

    def fn(x):
        try:
            checked(x)
        except Exception as error:
            print(f"{error} {error!r} {type(error).__name__}")
            return str(error), repr(error)
        return "", ""
    return world(fn)


@program("raising_callees", graph=True)
def several_in_one_expression() -> World:
    def fn(x):
        seen = []

        def note(y):
            seen.append(1)
            return positive(y)

        try:
            z = note(x) + note(x - 2.0) * note(x - 4.0)
        except ValueError:
            return len(seen), x
        return len(seen), z
    return world(fn)


@program("raising_callees", graph=True)
def recursive_handlers() -> World:
    def descend(x, depth):
        try:
            if depth == 0:
                return small(x)
            return descend(x, depth - 1) + 1.0
        except ValueError:
            if depth < 2:
                raise
            return x
        finally:
            LOG.append(depth)

    def fn(x):
        return descend(x, 3)
    return world(fn)


@program("raising_callees", graph=True)
def methods_and_state() -> World:
    class Account:
        def __init__(self) -> None:
            self.balance = f32(10.0)
            self.refused = 0

        def draw(self, amount):
            before = self.balance
            self.balance = self.balance - amount
            if self.balance < 0:
                self.balance = before
                raise ValueError("not enough", float(before))
            return self.balance

    account = Account()

    def fn(x):
        try:
            left = account.draw(x)
        except ValueError as error:
            account.refused += 1
            return error.args
        return left
    return fn, numbers(), lambda: account
