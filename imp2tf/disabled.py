"""`disable` marks functions that imp2tf leaves to plain Python."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["disable", "is_disabled"]

P = ParamSpec("P")
R = TypeVar("R")


def disable(func: Callable[P, R]) -> Callable[P, R]:
    """Leave a function, and what it calls, to plain Python.

        @imp2tf.disable
        def report(loss):
            history.append(float(loss))

    The graph of a converted function calls it, in program order, if nothing in the graph depends on it: neither on its result, nor
    on Python state that it might have changed. Otherwise the converted function runs as Python, too.

    Args:
      func: a function, method, class method or static method, converted or not.

    Returns:
      A plain function (or class method, or static method) that does what `func` does.

    Raises:
      TypeError: `func` is not callable.
    """
    if isinstance(func, (staticmethod, classmethod)):
        return type(func)(disable(func.__func__))
    function = getattr(func, "python_function", func)
    if not callable(function):
        raise TypeError(f"func must be callable, not {type(func).__name__} {func!r}")

    @functools.wraps(function)
    def plain(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    plain.__imp2tf_disabled__ = True  # type: ignore[attr-defined]
    return plain


def is_disabled(function: Any) -> bool:
    """Whether `function` is what `disable` returned."""
    return isinstance(function, types.FunctionType) and getattr(function, "__imp2tf_disabled__", False)
