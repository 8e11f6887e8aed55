"""``print`` and other calls that only show something: made by the run, in program order, with eager's text.

    print('step', int(k))   -->   a host call of the graph that prints the values of this run

`print`, ``write`` of the standard streams and the methods of loggers return nothing that the graph needs.
"""
from __future__ import annotations

import builtins
import functools
import io
import logging
import sys
import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.effects import host_call, note_if_unseen, site_of
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.forcing import kept_class
from imp2tf.foreign import register_host_method
from imp2tf.heap import contents
from imp2tf.kinds import LITERALS, is_container
from imp2tf.lowering import lowered
from imp2tf.opaque import keep_apart, refuse_looking
from imp2tf.python_numbers import as_number
from imp2tf.reach import reach_of
from imp2tf.results import name_of_callee
from imp2tf.session import current
from imp2tf.texts import has_own_text, settled
from imp2tf.values import Deferred, PyNumber, StandIn, Union, is_runtime

STREAMS = ("stdout", "stderr")


@replace_call(builtins.print)
def print_(*values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    """``print(...)``."""
    stream = _stream_name(file)
    if stream is None and file is not None and not _is_file(file):
        fall_back(ForeignCall, f"print to a {type(file).__name__}")

    def show(file: Any, sep: Any, end: Any, flush: Any, *shown: Any) -> None:
        print(*shown, sep=sep, end=end, flush=flush, file=_stream(stream) if file is None else file)

    host_call(show, file if stream is None else None, sep, end, flush, *map(printable, values), name="print")


def _is_file(value: Any) -> bool:
    """Whether a value is a file, or text that is written like one, of the standard library: the program's, or made by the run."""
    cls = kept_class(value) if isinstance(value, Deferred) else type(value) if id(value) in current().sources else None
    return cls is not None and issubclass(cls, io.TextIOBase) and cls.__module__ == "_io"


@replace_call(tf.print)
def tf_print(*values: Any, output_stream: Any = None, **options: Any) -> Any:
    """``tf.print(...)``: an operation, or the eager call made by the run where the words are those of Python."""
    stream = sys.stderr if output_stream is None else output_stream
    if all(map(_is_worded_alike, values)) and not any(map(is_runtime, (stream, *options.values()))):
        shown = [as_number(value, value.kind) if isinstance(value, PyNumber) else lowered(value) for value in values]
        printed = run_operation(tf.print, *shown, output_stream=stream, **options)
        with tf.control_dependencies([printed]):
            current().run.count_print()
            current().outside.prints.add(site_of(name_of_callee(tf.print)))
            note_if_unseen(current())
        return printed
    name, names = _stream_name(stream), tuple(options)

    def show(stream: Any, *shown: Any) -> None:
        count = len(shown) - len(names)
        named = dict(zip(names, shown[count:], strict=True))
        tf.print(*shown[:count], output_stream=stream if name is None else _stream(name), **named)

    given = [stream if name is None else None, *map(_as_tensorflow_words, values), *options.values()]
    host_call(show, *given, name=name_of_callee(tf.print))
    return None


def _is_worded_alike(value: Any) -> bool:
    """Whether an operation shows a value of the run as eager does: text, arrays, other numbers and objects are worded by Python."""
    if isinstance(value, PyNumber):
        return value.kind == "int"
    if is_container(value):
        value = contents(value)
    if isinstance(value, (list, tuple, dict)):
        return all(map(_is_worded_alike, value.values() if isinstance(value, dict) else value))
    is_plain = isinstance(value, (tf.__internal__.types.Tensor, tf.__internal__.CompositeTensor, LITERALS))
    return is_plain or not (is_runtime(value) or _has_parts(value))


def _has_parts(value: Any) -> bool:
    return isinstance(value, StandIn) or (type(getattr(value, "__dict__", None)) is dict and not isinstance(value, types.FunctionType))


def _as_tensorflow_words(value: Any) -> Any:
    """A value as ``tf.print`` shows it: of objects it asks ``repr``."""
    if isinstance(value, Union):
        return over(value, _as_tensorflow_words) if any(map(has_own_text, value.alternatives)) else value
    return call(repr, value) if has_own_text(value) else settled(value, at_once=True)


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
