"""Functions that come out of the rewriting as they went in, each with the reason why."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]

NOOPS: list[tuple[str, Function]] = []


def noop(why: str) -> Callable[[Function], Function]:
    """Register a function that must stay as it is."""
    def register(fn: Function) -> Function:
        NOOPS.append((why, fn))
        return fn
    return register


@noop("a constant is the same in Python and in the graph")
def constant():
    return 1


@noop("a parameter is always bound")
def identity(x):
    return x


@noop("a plain assignment binds the same value")
def assignment(x):
    y = x
    z = y
    return z


@noop("a return that nothing surrounds ends the function as it is")
def early_end(x):
    y = x
    return y


@noop("pass does nothing")
def nothing(x):
    pass


@noop("a docstring is no statement to run")
def documented(x):
    """Give x back."""
    return x


@noop("defaults are evaluated by Python when the function is made")
def defaults(x, y=2, *rest, z="name"):
    return z
