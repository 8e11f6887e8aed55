"""Context managers that `contextlib.contextmanager` makes of generator functions."""
from __future__ import annotations

import contextlib
from contextlib import contextmanager

import tensorflow as tf

from tests.programs import World, each, f32, program

POINTS = each(f32([1.0, 2.0]), f32([-1.0, -2.0]), f32([6.0, 7.0]))


class Recorder:
    def __init__(self):
        self.log, self.depth, self.scale = [], 0, 1.0

    @contextmanager
    def scaled(self, by):
        before = self.scale
        self.scale = before * by
        self.depth += 1
        try:
            yield self.scale
        finally:
            self.depth -= 1
            self.scale = before
            self.log.append("restored")

    @contextlib.contextmanager
    def plain(self):
        self.log.append("in")
        yield
        self.log.append("out")

    @contextmanager
    def forgiving(self, kind):
        try:
            yield "forgiving"
        except kind as error:
            self.log.append(f"swallowed {error}")
        else:
            self.log.append("fine")

    @contextmanager
    def renaming(self):
        try:
            yield
        except ValueError as error:
            raise RuntimeError(f"renamed {error}") from error


def _recorded(fn_of) -> World:
    recorder = Recorder()
    return fn_of(recorder), POINTS, lambda: vars(recorder)


@program("generator_managers", graph=True, grad=True)
def manager_with_finally() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.scaled(2.0) as scale:
                y = x * scale
                if tf.reduce_sum(x) > 0:
                    y = y + recorder.scale
            return y, recorder.scale, scale
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True)
def manager_without_try() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.plain():
                y = x * 2.0
                recorder.log.append("body")
            return y
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True, grad=True)
def return_from_the_body() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.scaled(3.0) as scale, recorder.plain():
                if tf.reduce_sum(x) > 0:
                    return x * scale
                x = x + 1.0
            return x - scale
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True)
def break_and_continue_in_the_body() -> World:
    def fn_of(recorder):
        def fn(x):
            total = tf.zeros([])
            for one in x:
                with recorder.scaled(2.0):
                    if one > 6.5:
                        break
                    if one < -1.5:
                        continue
                    total += one * recorder.scale
                total += 100.0
            return total
        return fn
    return _recorded(fn_of)


@program("generator_managers")
def exception_of_the_body_passes_the_finally() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.scaled(2.0):
                y = x * recorder.scale
                if tf.reduce_sum(x) > 5.0:
                    raise ValueError("too much")
            return y
        return fn
    return _recorded(fn_of)


@program("generator_managers")
def exception_of_the_body_without_a_try() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.plain():
                if tf.reduce_sum(x) > 5.0:
                    raise ValueError("too much")
                x = x * 2.0
            return x
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True)
def exception_that_the_manager_swallows() -> World:
    def fn_of(recorder):
        def fn(x):
            y = x
            with recorder.forgiving(ValueError) as name:
                if tf.reduce_sum(x) > 5.0:
                    raise ValueError("too much")
                y = x * 2.0
            return y, name
        return fn
    return _recorded(fn_of)


@program("generator_managers")
def exception_that_always_comes_and_is_swallowed() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.forgiving(KeyError):
                x = x + {"a": 1.0}["b"]
            return x
        return fn
    return _recorded(fn_of)


@program("generator_managers")
def exception_that_the_manager_does_not_know() -> World:
    def fn_of(recorder):
        def fn(x):
            with recorder.forgiving(KeyError):
                if tf.reduce_sum(x) > 5.0:
                    raise ValueError("too much")
            return x
        return fn
    return _recorded(fn_of)


@program("generator_managers")
def exception_that_the_manager_replaces() -> World:
    def fn_of(recorder):
        def fn(x):
            try:
                with recorder.renaming():
                    if tf.reduce_sum(x) > 5.0:
                        raise ValueError("too much")
                    y = x * 2.0
            except RuntimeError as error:
                return str(error), repr(error.__cause__)
            return y
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True, grad=True)
def manager_in_a_loop_of_the_graph() -> World:
    def fn_of(recorder):
        def fn(x):
            n = 0
            while tf.reduce_sum(x) < 20.0 and n < 5:
                with recorder.scaled(2.0) as scale:
                    x = x * scale + 1.0
                n += 1
            return x, n
        return fn
    return _recorded(fn_of)


@program("generator_managers", graph=True)
def manager_of_the_function_itself() -> World:
    def fn(x):
        @contextmanager
        def shifted(by):
            seen.append(by)
            yield x + by
            seen.append("left")

        seen = []
        with shifted(2.0) as y, shifted(y) as z:
            total = y * z
        return total, seen[0], seen[-1], len(seen)
    return fn, POINTS


@contextmanager
def never():
    if False:
        yield 1


@contextmanager
def twice():
    yield 1
    yield 2


@contextmanager
def either(x):
    if tf.reduce_sum(x) > 0:
        yield x
    else:
        yield -x


@program("generator_managers")
def managers_that_yield_otherwise() -> World:
    def fn(x):
        found = []
        for make in (never, twice):
            try:
                with make() as n:
                    found.append(n)
            except RuntimeError as error:
                found.append(str(error))
        with either(x) as y:
            found.append(y)
        return found
    return fn, POINTS


entered = []


@contextmanager
def noted(name):
    entered.append(name)
    try:
        yield
    finally:
        entered.append(f"left {name}")


class Entered(contextlib.ContextDecorator):
    def __enter__(self):
        entered.append("class")
        return self

    def __exit__(self, *_):
        entered.append("left class")
        return False


@noted("helper")
def doubled(x):
    return x * 2.0 if tf.reduce_sum(x) > 0 else x


@Entered()
def halved(x):
    entered.append("body")
    return x / 2.0


@program("generator_managers", graph=True, grad=True)
def managers_as_decorators() -> World:
    entered.clear()

    def fn(x):
        return doubled(x) + halved(x)
    return fn, POINTS, lambda: list(entered)
