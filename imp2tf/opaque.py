"""Calls of functions that imp2tf must not look into, made by the run.

What such a function does to Python state is not known. So the trace may neither have written anything before that the
function could see, nor read anything afterwards that the function could have changed (`imp2tf.heap` sees to that). The
result is an object of the run, which can be returned, stored or printed, but not computed with.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from imp2tf.effects import has_pending_writes, host_result
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.heap import is_container
from imp2tf.session import current
from imp2tf.values import Deferred

__all__ = ["call_opaque"]


def call_opaque(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Deferred:
    """Call `function` in program order when the graph runs; its result is known after the run."""
    session, name = current(), function.__qualname__
    if session.embedded:
        fall_back(ForeignCall, f"{name} is disabled")
    if has_pending_writes(session):
        fall_back(ForeignCall, f"{name} is disabled, and could see what was written before")
    if any(_is_born(value) for value in (*args, *kwargs.values())):
        fall_back(ForeignCall, f"{name} is disabled, and could change an object that was made before")
    if session.regions and session.has_read_data:
        fall_back(ForeignCall, f"{name} is disabled, and could change what a loop or branch has read")
    session.opaque = name
    names = tuple(kwargs)

    def call(*values: Any) -> Any:
        count = len(values) - len(names)
        return function(*values[:count], **dict(zip(names, values[count:])))

    return host_result(call, *args, *kwargs.values())


def _is_born(value: Any) -> bool:
    """Whether a value is, or holds, a mutable object that only this trace knows."""
    if isinstance(value, tuple):
        return any(map(_is_born, value))
    return current().is_born(value) and (is_container(value) or isinstance(value, types.FunctionType) or hasattr(value, "__dict__"))
