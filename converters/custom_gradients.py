"""Functions with a gradient of their own, ``@tf.custom_gradient``: they and their gradients are the user's code, and converted.

A gradient may be asked for inside the trace, by a tape of the program, or after it, by a tape around the call, when TensorFlow builds
the graph of the gradient. What it reads of the program then would be read once: such calls are left to Python.
"""
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.calls import call, replace_calls_of_objects
from imp2tf.errors import Fallback
from imp2tf.exceptions import ProgramRaise
from imp2tf.lowering import adopted, lowered
from imp2tf.paths import scope
from imp2tf.quick_graphs import constants_apart
from imp2tf.relaxations import Relaxations
from imp2tf.runs import Run
from imp2tf.session import Session, active, current, resumed

Gradient = Callable[..., Any]
DECORATED = type(tf.custom_gradient(lambda x: (x, lambda dy: dy)))


@replace_calls_of_objects(DECORATED)
def call_decorated(decorated: Any, *args: Any, **kwargs: Any) -> Any:
    """``f(...)`` of a decorated function."""

    def traced(*given: Any) -> tuple[Any, Gradient]:
        value, gradient = call(decorated.__wrapped__, *given, **kwargs)
        return lowered(value), functools.partial(_gradient, dict(current().births), gradient)

    return adopted(tf.custom_gradient(traced)(*map(lowered, args)))


def _gradient(births: dict[int, int], gradient: Gradient, *upstream: Any, **more: Any) -> Any:
    """The gradient, in the graph that is being built; `births` is what the trace had made that the function was called in."""
    if active() is not None:
        with constants_apart():
            return lowered(call(gradient, *upstream, **more))
    session = Session(tf.compat.v1.get_default_graph(), Relaxations())
    session.run, session.embedded, session.births = Run(embedded=True), True, births
    try:
        with resumed(session), scope():
            found = lowered(call(gradient, *upstream, **more))
    except (Fallback, ProgramRaise) as failure:
        raise LookupError("a gradient of the program's own cannot be traced") from failure
    changes = any(not session.is_born(place.owner) for place in session.store)
    if changes or session.python_calls or not all(map(_stays, session.reads.values())):
        raise LookupError("a gradient of the program's own reads or changes Python state")
    return found


def _stays(value: Any) -> bool:
    """Whether a name that was read will probably never be bound to another value."""
    return isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, tf.Variable))
