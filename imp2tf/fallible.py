"""Functions of text and numbers that refuse some values, and so have to be asked when the run gets there, used or not.

What they give is known after the run (`imp2tf.values.Deferred`); what they raise is raised in its turn, as Python does.
"""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from imp2tf.values import Deferred, PyNumber, call_method, is_runtime, numpy_value

__all__ = ["may_refuse"]

BY_VALUE = (bytes, bytearray, complex, float, int, ord)    # of text; `chr` is checked in the graph
ALWAYS = ("as_integer_ratio", "index", "rindex", "to_bytes")
WITH_ARGUMENTS = ("decode", "encode")
SEPARATED = ("partition", "rpartition", "rsplit", "split")    # refuse an empty separator
FILLED = ("center", "ljust", "rjust")    # refuse to fill with more than one character
_AS_CHARACTER = re.compile(r"%[^%a-zA-Z]*c|:[^{}]*c\}")


def may_refuse(function: Callable[..., Any], args: Sequence[Any], example: Callable[[Any], Any]) -> bool:
    """Whether a function may raise for some values of the kinds given; `example` shows a value of a kind, or None."""
    if function in BY_VALUE:
        return any(isinstance(one, Deferred) for one in args) or function in (bytes, bytearray)
    if function is call_method:
        return _method_may_refuse(args[1], args[2:])
    if function is operator.getitem:
        return _item_may_be_missing(args[0], args[1], example)
    if function in (format, operator.mod):
        return _refuses_some_number(args[1] if function is format else args[0], function is format)
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, str) and name in ("format", "format_map"):
        return _AS_CHARACTER.search(owner) is not None
    return isinstance(owner, (str, bytes, tuple, int, float)) and _method_may_refuse(name, args)


def _method_may_refuse(name: str, args: Sequence[Any]) -> bool:
    if name in ALWAYS:
        return True
    if name in WITH_ARGUMENTS:
        return bool(args)
    if name in SEPARATED:
        return bool(args) and is_runtime(args[0])
    return name in FILLED and len(args) > 1 and is_runtime(args[1])


def _item_may_be_missing(owner: Any, key: Any, example: Callable[[Any], Any]) -> bool:
    if isinstance(key, slice):
        return False
    if isinstance(owner, Deferred) and owner.function is numpy_value and owner.args[0].shape.is_fully_defined():
        return isinstance(key, PyNumber)    # of a constant, the kind of the array tells
    shown = example(owner)
    return isinstance(shown, (str, bytes, tuple, list, dict)) or (isinstance(shown, np.ndarray) and isinstance(key, PyNumber))


def _refuses_some_number(text: Any, is_spec: bool) -> bool:
    if not isinstance(text, (str, bytes)):
        return isinstance(text, Deferred)
    shown = text if isinstance(text, str) else text.decode("latin-1")
    return shown.endswith("c") if is_spec else _AS_CHARACTER.search(shown) is not None
