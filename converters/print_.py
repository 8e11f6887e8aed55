"""``print`` and other calls that only show something: made by the run, in program order, with eager's text.

    print('step', int(k))   -->   a host call of the graph that prints the values of this run

`print`, ``write`` of the standard streams and the methods of loggers return nothing that the graph needs.
"""
from __future__ import annotations

import builtins
import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.effects import host_call
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.foreign import register_host_method
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.lowering import lowered
from imp2tf.opaque import keep_apart, refuse_looking
from imp2tf.python_numbers import as_number
from imp2tf.reach import reach_of
from imp2tf.session import current
from imp2tf.texts import has_own_text, settled
from imp2tf.values import Deferred, PyNumber, Union

STREAMS = ("stdout", "stderr")


@replace_call(builtins.print)
def print_(*values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    """``print(...)``."""
    stream = _stream_name(file)
    if stream is None and file is not None:
        fall_back(ForeignCall, f"print to a {type(file).__name__}")

    def show(sep: Any, end: Any, flush: Any, *shown: Any) -> None:
        print(*shown, sep=sep, end=end, flush=flush, file=_stream(stream))

    host_call(show, sep, end, flush, *map(printable, values), name="print")


@replace_call(tf.print)
def tf_print(*values: Any, **options: Any) -> Any:
    """``tf.print(...)``: TensorFlow words run-time ints as Python does, other numbers it would not."""
    if any(map(_is_worded_otherwise, values)):
        fall_back(NeedsValue, "tf.print of a Python number that only the run knows")
    shown = [as_number(value, value.kind) if isinstance(value, PyNumber) else lowered(value) for value in values]
    printed = run_operation(tf.print, *shown, **options)
    with tf.control_dependencies([printed]):
        current().run.count_print()
    return printed


def _is_worded_otherwise(value: Any) -> bool:
    if isinstance(value, PyNumber):
        return value.kind != "int"
    if is_container(value):
        value = contents(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(map(_is_worded_otherwise, parts))


def _stream_name(file: Any) -> str | None:
    """The standard stream that `file` is now; the run looks it up again, so that redirection is seen."""
    return next((name for name in STREAMS if file is not None and file is getattr(sys, name)), None)


def _stream(name: str | None) -> Any:
    return sys.stdout if name is None else getattr(sys, name)


def printable(value: Any) -> Any:
    """A value as ``print`` shows it: the text of an object with a ``__str__`` of the user's is made by converted code."""
    if isinstance(value, Union):
        return over(value, printable) if any(map(has_own_text, value.alternatives)) else value
    return call(str, value) if has_own_text(value) else settled(value, at_once=True)


@register_host_method(lambda owner: any(owner is getattr(sys, name) for name in STREAMS), ("write", "flush", "writelines"))
def stream_method(owner: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``sys.stdout.write(text)``: returns the number of characters."""
    del kwargs
    stream = _stream_name(owner)
    host_call(lambda *shown: getattr(_stream(stream), name)(*shown), *args, name=name if name != "write" else None)
    if name != "write":
        return None
    return Deferred(len, args) if isinstance(args[0], Deferred) else len(args[0])


LEVELS = ("debug", "info", "warning", "error", "critical", "log")


@register_host_method(lambda owner: isinstance(owner, logging.Logger), LEVELS)
def logger_method(owner: logging.Logger, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``logger.info(...)``."""
    _log(getattr(owner, name), args, kwargs)


for _function in (logging.debug, logging.info, logging.warning, logging.error, logging.critical):
    replace_call(_function)(functools.partial(lambda function, *args, **kwargs: _log(function, args, kwargs), _function))


def _log(method: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    refuse_looking(method, kwargs)
    logger = getattr(method, "__self__", logging.root)
    if reach_of(_handlers(logger)) is None:
        keep_apart(current(), "a handler of the logger may run code of the program", ())
    host_call(lambda *shown: method(*shown, **kwargs), *map(printable, args), name=method.__name__)


def _handlers(logger: logging.Logger) -> list[Any]:
    """The handlers that see what is logged to a logger."""
    found: list[Any] = [*logger.filters]
    above: logging.Logger | None = logger
    while above is not None:
        for handler in above.handlers:
            found.extend([type(handler), *handler.filters, getattr(handler, "stream", None), handler.formatter])
        above = above.parent if above.propagate else None
    return found
