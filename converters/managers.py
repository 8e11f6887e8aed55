"""``contextlib.contextmanager``, and managers as decorators.

    with scope(x) as y: body   -->   the body of ``scope``, which where it yields y runs the body (`imp2tf.managers`)
"""
from __future__ import annotations

import contextlib
from typing import Any

from imp2tf.calls import call, invoke, replace_call, replace_calls_of_code
from imp2tf.managers import managed
from imp2tf.session import current, out_of_text


@replace_call(contextlib.contextmanager)
def contextmanager(function: Any) -> Any:
    """``contextlib.contextmanager`` of a function that this trace has made."""
    return current().born(contextlib.contextmanager(function))


@replace_calls_of_code(contextlib.contextmanager(lambda: iter(())).__code__)
def made(helper: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function under ``contextlib.contextmanager``."""
    return managed(helper.__wrapped__, *args, **kwargs)


@replace_calls_of_code(contextlib.ContextDecorator()(lambda: None).__code__)
def decorated(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function decorated with ``@manager``. A manager that a generator function makes is made anew for each call."""
    cells = dict(zip(function.__code__.co_freevars, (one.cell_contents for one in function.__closure__), strict=True))
    manager, inner = cells["self"], cells["func"]
    if isinstance(manager, contextlib._GeneratorContextManager):
        with out_of_text():
            manager = managed(manager.func, *manager.args, **manager.kwds)
    elif type(manager)._recreate_cm is not contextlib.ContextDecorator._recreate_cm:
        manager = call(manager._recreate_cm)
    return invoke(_within, (manager, inner, args, kwargs), {})


def _within(manager: Any, function: Any, args: Any, kwargs: Any) -> Any:
    with manager:
        return function(*args, **kwargs)
