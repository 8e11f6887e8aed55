"""What an exception holds beside its arguments, where it was raised first, and what Python says of stars and calls."""
from __future__ import annotations

import sys
from typing import Any

import tensorflow as tf

from tests.programs import World, call, each, f32, program

PATHS = each(f32(0.0), f32(2.0), f32(3.0), f32(0.0))


class Coded(OSError):
    """A file error with a code of the program's own."""

    def __init__(self, what: str, *, code: int) -> None:
        super().__init__(2, what, "g.txt")
        self.code = code


class Worded(ValueError):
    """An exception that takes nothing but a keyword."""

    def __init__(self, *, kind: Any) -> None:
        self.kind = kind

    def __str__(self) -> str:
        return f"of kind {self.kind}"


def _one_of(x, n):
    if n == 0:
        return OSError(2, "no file", "f.txt")
    if n == 1:
        return UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad start")
    if n == 2:
        return SyntaxError("bad", ("f.py", 3, 4, "text", 3, 7))
    if n == 3:
        return ImportError("no", name=f"module{int(x)}", path="/p")
    if n == 4:
        return Coded("gone", code=7)
    if n == 5:
        return Worded(kind=int(x))
    return OSError(5, f"device {int(x)}", f"f{int(x)}.txt", None, "g.txt")


def _told(error):
    names = ("errno", "strerror", "filename", "filename2", "reason", "start", "lineno", "msg", "name", "path", "code", "kind", "value")
    return str(error), error.args, [getattr(error, name, "none") for name in names]


def _of_each(make: Any) -> World:
    return make, [call(f32(value), n) for n in range(7) for value in (0.0, 2.0, 3.0)]


@program("exception_fields", graph=True)
def raised_in_a_branch() -> World:
    def fn(x, n):
        if x > 1:
            raise _one_of(x, n)
        return x
    return _of_each(fn)


@program("exception_fields", graph=True)
def returned_from_a_branch() -> World:
    def fn(x, n):
        error = None
        if x > 1:
            error = _one_of(x, n)
        return error
    fn_, calls = _of_each(fn)
    return lambda x, n: _told(fn_(x, n)) if x > 1 else 0, calls


@program("exception_fields", graph=True)
def text_in_a_handler() -> World:
    def fn(x, n):
        try:
            if x > 1:
                raise _one_of(x, n)
        except Exception as error:
            return str(error), error.args
        return x
    return _of_each(fn)


@program("exception_fields", graph=True)
def fields_in_a_handler() -> World:
    def fn(x):
        try:
            if x > 1:
                raise OSError(2, f"no {int(x)}", "f.txt")
        except OSError as error:
            return error.errno, error.strerror, error.filename, error.filename2
        return x
    return fn, PATHS


@program("exception_fields", graph=True)
def cause_with_fields() -> World:
    def fn(x):
        if x > 1:
            raise RuntimeError("while reading") from FileNotFoundError(2, "no file", "f.txt")
        return x
    return fn, PATHS


@program("exception_fields", graph=True)
def value_of_stop_iteration() -> World:
    def fn(x):
        try:
            if x > 1:
                raise StopIteration(int(x))
        except StopIteration as error:
            return error.value
        return 0
    return fn, PATHS


@program("exception_fields")
def number_of_the_run() -> World:
    def fn(x):
        if x > 1:
            raise OSError(int(x), "by number")
        return x
    return fn, PATHS


if sys.version_info >= (3, 11):
    @program("exception_fields", graph=True)
    def notes() -> World:
        def fn(x):
            if x > 1:
                error = ValueError("bad")
                error.add_note(f"x was {int(x)}")
                error.add_note("sorry")
                return error.__notes__, error
            return x
        return fn, PATHS

    @program("exception_fields")
    def groups() -> World:
        def fn(x):
            if x > 1:
                raise ExceptionGroup("several", [ValueError(1), OSError(2, "no file")])  # noqa: F821
            return x
        return fn, PATHS


@program("exception_fields", graph=True)
def kept_and_raised_after_the_loop() -> World:
    def fn(x):
        last = None
        for i in range(3):
            try:
                if x * i > 2:
                    raise ValueError(f"too large: {float(x)}")
            except ValueError as error:
                last = error
        if last is not None:
            raise last
        return x
    return fn, each(f32(0.0), f32(2.0), f32(1.0))


@program("exception_fields", graph=True)
def kept_by_a_loop_of_the_graph() -> World:
    def fn(x, n):
        last = None
        while n > 0:
            n -= 1
            try:
                if x > 1:
                    raise KeyError("no")
            except KeyError as error:
                last = error
        if last is not None:
            raise last
        return x
    return fn, [call(f32(value), tf.constant(2)) for value in (0.0, 2.0, 0.0)]


@program("exception_fields", graph=True)
def kept_and_raised_under_another_try() -> World:
    def fn(x):
        last = None
        try:
            if x > 1:
                raise ValueError("first")
        except ValueError as error:
            last = error
        try:
            if last is not None:
                raise last
        except TypeError:
            return 0
        return x
    return fn, PATHS


# ------------------------------------------------------------------------------------------------ what Python says
def _sink(*args: Any, **kwargs: Any) -> int:
    return len(args) + len(kwargs)


def _refusals(x, n):
    if n < 4:
        return [lambda: [*5], lambda: (1, *int(x)), lambda: {*None}, lambda: {**int(x)}][n]
    if n < 8:
        return [lambda: _sink(*5), lambda: _sink(1, *int(x)), lambda: print(*None), lambda: dict(**5)][n - 4]
    if n < 12:
        return [lambda: _sink(**x), lambda: _sink(a=1, **{"a": 2}), lambda: _sink(**{1: 2}), lambda: _sink(*5, **5)][n - 8]
    return [lambda: int(x)(), lambda: x(), lambda: (x > 1)(), lambda: float(x)()][n - 12]


@program("what_python_says", graph=True)
def in_a_branch() -> World:
    def fn(x, n):
        if x > 1:
            _refusals(x, n)()
        return x
    return fn, [call(f32(value), n) for n in range(16) for value in (0.0, 2.0)]


@program("what_python_says", graph=True)
def in_a_handler() -> World:
    def fn(x, n):
        try:
            if x > 1:
                _refusals(x, n)()
        except TypeError as error:
            return str(error)
        return "none"
    return fn, [call(f32(value), n) for n in range(16) for value in (0.0, 2.0)]


@program("what_python_says", graph=True)
def stars_that_are_right() -> World:
    def fn(x, *args, **kwargs):
        given = [x, *args]
        return _sink(*given, 1, *args, **kwargs, other=2), [*args, *"ab"], {**kwargs, "k": x}, (*args, x)
    return fn, [call(f32(1.0), 2, 3, key=4), call(f32(1.0)), call(f32(1.0), 5)]


@program("what_python_says")
def numerics_checked() -> World:
    def fn(x):
        y = tf.debugging.check_numerics(1.0 / x, "not finite")
        return y * 2.0
    return fn, each(f32(1.0), f32(0.0), f32(2.0))
