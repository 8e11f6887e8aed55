"""The names that converted code calls: `rt.if_`, `rt.call` and the rest.

A converter's run-time half registers itself here with `operator`; converted functions see the namespace as the
closure variable ``rt``.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["operator", "rt"]

F = TypeVar("F", bound=Callable[..., Any])

rt = types.SimpleNamespace()


def operator(function: F) -> F:
    """Make a function callable from converted code, under its own name."""
    name = function.__name__
    if hasattr(rt, name):
        raise ValueError(f"two operators are called {name!r}")
    setattr(rt, name, function)
    return function
