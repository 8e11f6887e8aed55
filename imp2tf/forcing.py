"""Python values that are known after the run, needed while it runs.

What is computed from values of the run by NumPy or on text is mostly left until after it (`imp2tf.values.Deferred`). Where the graph
needs the value, or where an object takes part that later calls may change, Python is called at once. What kind of value it
gives is found by computing it from examples of the same kinds.
"""
from __future__ import annotations

import contextlib
import dataclasses
import operator as python
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.effects import host_check, host_value, site_of
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.fallible import may_refuse
from imp2tf.own_arrays import is_left_to_run, note_made
from imp2tf.purity import TEXT_METHODS
from imp2tf.region import cond, stop_if
from imp2tf.results import ANYTHING, Array, Kept, Kind, Live, Object, Parts, Plain, join_kinds, kind_of
from imp2tf.session import current
from imp2tf.states import NO_STATE
from imp2tf.values import NUMBER_TYPES, Deferred, PyNumber, call_method, is_runtime, numpy_value

__all__ = ["RunArray", "computed", "example_or_none", "forced", "kept_class", "kept_kind", "known_class", "tensor_of", "worded", "words_of"]

MOST_ELEMENTS = 1 << 16
HEAVY, HEAVY_IN_LOOP = 1 << 10, 6  # the weight of values that are computed at once
TEXTS = (str, repr, ascii, format, chr)
KEEPING_SHAPE = frozenset({"copy", "flatten", "ravel", "reshape", "transpose"})  # methods whose results have a shape known from arguments
UNCHANGING = (str, bytes, int, float, complex, tuple, range, np.generic)


class _Unknown(Exception):
    """There is no example of a value."""


def computed(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """What a pure function gives: after the run, or at once if an object of library code takes part, which may change."""
    later = Deferred(function, args, kwargs)
    if _depends_on_kept(later):
        return forced(later)
    if function not in TEXTS:
        if is_left_to_run() or _is_heavy(later):
            return forced(later)
        note_made(later)
    if function is chr:
        _check_character(later.args[0])
    elif may_refuse(function, later.args, example_or_none) or _refuses_kinds(later):
        host_check(function, later.args, later.kwargs, getattr(function, "__name__", "a function"))
    return later


def _is_heavy(later: Deferred) -> bool:
    """Whether a value is better computed at once: a loop that makes it of the one that it made before would never settle."""
    if later.weight > HEAVY:
        return True
    return current().loops > 0 and later.weight > HEAVY_IN_LOOP and isinstance(example_or_none(later), np.ndarray)


def _refuses_kinds(later: Deferred) -> bool:
    """Whether an operator or a method refuses values of these kinds, as far as there are examples."""
    if later.function is not call_method and getattr(later.function, "__module__", "") != "_operator":
        return False
    try:
        example_of(later)
    except _Unknown as unknown:
        return unknown.__cause__ is not None
    return False


def _check_character(number: Any) -> None:
    """``chr`` of a number that only the run knows."""
    if not isinstance(number, PyNumber) or number.kind == "float":
        return

    value = tf.cast(number.tensor, tf.int64)

    def refused() -> None:
        for wrong, sample in ((value > 2**31 - 1, 2**40), (value < -2**31, -2**40)):
            stop_if(wrong, _refusal(sample))
        raise ProgramRaise(_refusal(-1))

    cond(tf.logical_or(value < 0, value > sys.maxunicode), refused, lambda: None, NO_STATE)


def _refusal(number: int) -> Exception:
    try:
        chr(number)
    except (ValueError, OverflowError) as error:  # this Python's own wording
        return error
    raise AssertionError("it is a character")


def worded(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """Text made by a format of numbers and text of the run: a format that fits no such value is refused when the run gets here."""
    kwargs = kwargs or {}
    has_own_format = function is format and isinstance(args[1], Deferred)
    if not has_own_format and all(map(_shows_its_kind, (*args, *kwargs.values()))):
        with contextlib.suppress(_Unknown):
            _refuse_format(function, args, kwargs)
    return computed(function, args, kwargs)


def _shows_its_kind(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_shows_its_kind, value))
    return isinstance(value, (PyNumber, Deferred, str, bytes, int, float, type(None)))


def _refuse_format(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    examples = [example_of(one) for one in args]
    named = {name: example_of(one) for name, one in kwargs.items()}
    try:
        function(*examples, **named)
    except (ValueError, TypeError, LookupError) as error:
        refused = error
    else:
        return
    by_kind = not any(isinstance(one, Deferred) for one in (*args, *kwargs.values()))  # then no value is in the text of the error
    raise ProgramRaise(refused, retry=None if by_kind else (function, tuple(args), kwargs))


def _depends_on_kept(value: Any, level: int = 0) -> bool:
    if isinstance(value, Deferred):
        return isinstance(value.function, Kept) or any(_depends_on_kept(one, level + 1) for one in (*value.args, *value.kwargs.values()))
    return isinstance(value, (tuple, list)) and level < 4 and any(_depends_on_kept(one, level + 1) for one in value)


def kept_kind(value: Any) -> Object | None:
    """What is known of an object that the run keeps, None for anything else."""
    return value.function.kind if isinstance(value, Deferred) and isinstance(value.function, Kept) else None


def kept_class(value: Any) -> type | None:
    """The class of an object that the run keeps, if it is always the same."""
    kind = kept_kind(value)
    return None if kind is None else kind.cls


def known_class(value: Deferred) -> type | None:
    """The class of a value that is known after the run, if it is always the same."""
    if value.function in (ascii, format, repr, str):
        return str
    if value.function is call_method and isinstance(value.args[0], Deferred) and value.args[1] == "decode":
        return str if known_class(value.args[0]) is bytes else None
    if value.function is call_method and isinstance(value.args[0], Deferred) and value.args[1] in TEXT_METHODS:
        return known_class(value.args[0])
    if value.function is not numpy_value:
        return kept_class(value)
    tensor = value.args[0]
    if tensor.shape.rank != 0:
        return None if tensor.shape.rank is None else np.ndarray
    return bytes if tensor.dtype == tf.string else tensor.dtype.as_numpy_dtype


def forced(value: Deferred, number: str | None = None) -> Any:
    """The value, computed by the run when it gets here; `number`: it is known to be such a number."""
    if isinstance(value.function, Kept):
        return value
    if current().trying and may_refuse(value.function, value.args, example_or_none):
        host_check(value.function, value.args, value.kwargs, getattr(value.function, "__name__", "a function"))
    kind = Plain(number) if number is not None else _foretold(value)
    if isinstance(kind, Parts):
        shared = _shared_with(value)
        kind = dataclasses.replace(kind, parts=tuple(
            dataclasses.replace(one, shared=shared) if isinstance(one, Object) and one.cls is np.ndarray else one for one in kind.parts))
    if isinstance(kind, Object) and kind.cls is np.ndarray:
        dims = value.example.shape if _has_known_shape(value) else None
        kind = dataclasses.replace(kind, shared=_shared_with(value), dims=dims)
    return _called(list if isinstance(kind, Parts) and kind.cls is list else _same, kind, value)  # the caller's own list


def _has_known_shape(value: Any) -> bool:
    """Whether the example of an array has the very shape of the array: parts, attributes and arithmetic of others of which that is so."""
    kind = kept_kind(value)
    if kind is not None:
        return kind.dims is not None or kind.rank == 0
    if isinstance(value, Deferred):
        is_plain = value.function in (getattr, numpy_value) or getattr(value.function, "__module__", "") == "_operator"
        is_method = value.function is call_method and value.args[1] in KEEPING_SHAPE and not value.kwargs
        return (is_plain or is_method) and all(map(_has_known_shape, value.args))
    if isinstance(value, tf.Tensor):
        return value.shape.is_fully_defined()
    if isinstance(value, (tuple, slice)):
        parts = (value.start, value.stop, value.step) if isinstance(value, slice) else value
        return all(isinstance(one, (int, slice, type(None), type(Ellipsis))) and _has_known_shape(one) for one in parts)
    return isinstance(value, (int, float, str, PyNumber, type(None), type(Ellipsis)))


def _shared_with(value: Any) -> tuple[Any, ...] | None:
    """The arrays of the program with which an array may share its memory, None if that is not known."""
    if isinstance(value, (tuple, list)) or (isinstance(value, Deferred) and not isinstance(value.function, Kept)):
        parts = [_shared_with(one) for one in (value if isinstance(value, (tuple, list)) else (*value.args, *value.kwargs.values()))]
        return None if None in parts else tuple(live for part in parts for live in part or ())
    kind = kept_kind(value)
    if kind is not None:
        is_live = isinstance(value.function, Live)
        return (value.function,) if is_live else () if kind.cls is not None and issubclass(kind.cls, UNCHANGING) else kind.shared
    return None if isinstance(value, np.ndarray) and id(value) in current().origins else ()


def tensor_of(value: Deferred) -> Any:
    """The value as TensorFlow takes it: a tensor, or a run-time number."""
    if value.function is numpy_value and value.args[0].dtype.is_numpy_compatible and value.args[0].dtype != tf.string:
        return tf.stop_gradient(value.args[0])
    found = _foretold(value)
    if not isinstance(found, Object):
        return forced(value)
    if found.cls in (str, bytes):
        return _called(_as_tensor, Array(tf.string, 0), value)
    if found.dtype is None:
        fall_back(NeedsValue, f"TensorFlow needs the value of {value!r}")
    tensor = _called(_as_tensor, Array(tf.as_dtype(found.dtype), found.rank), value)
    kind = kept_kind(value)
    if kind is not None and kind.dims is not None:
        tensor.set_shape(kind.dims)
    return tensor


def words_of(value: Deferred) -> tf.Tensor | None:
    """The items of text that is split, as a vector; None for anything else."""
    if value.function is not call_method or value.args[1] not in ("split", "rsplit", "splitlines"):
        return None
    owner = value.args[0]
    is_text = isinstance(owner, str) or (isinstance(owner, Deferred) and known_class(owner) is str)
    return _called(_as_words, Array(tf.string, 1), value) if is_text else None


def _as_words(words: list[str]) -> tf.Tensor:
    return tf.constant(words, tf.string, [len(words)])


class RunArray:
    """An array of the run among the arguments of TensorFlow: it becomes a tensor of the dtype that is asked for."""

    def __init__(self, tensor: tf.Tensor) -> None:
        self.tensor = tensor

    def converted(self, dtype: tf.DType | None) -> tf.Tensor:
        """What eager makes of the array; raises what eager raises."""
        if dtype is None or dtype == self.tensor.dtype:
            return self.tensor
        with tf.init_scope():
            tf.constant(np.ones([], self.tensor.dtype.as_numpy_dtype), dtype)
        return tf.cast(self.tensor, dtype)


def _convert(value: RunArray, dtype: tf.DType | None = None, name: str | None = None, as_ref: bool = False) -> tf.Tensor:
    del name, as_ref
    return value.converted(dtype)


tf.register_tensor_conversion_function(RunArray, _convert, 0)


def _as_tensor(value: Any) -> tf.Tensor:
    return tf.constant(value)


def _same(value: Any) -> Any:
    return value


def _called(function: Callable[[Any], Any], kind: Kind, value: Deferred) -> Any:
    profile = current().relaxations.profile
    name = f"the value of {getattr(value.function, '__name__', 'a function')}"
    site = site_of(name)
    known = profile.kinds.get(site) if profile is not None else None
    if known is not None and join_kinds(kind, known) != kind:
        fall_back(NeedsValue, f"{name} is now of one kind, now of another")

    def note(seen: Kind) -> None:
        if profile is not None:
            profile.note(site, seen)

    return host_value(function, kind, [value], name, note, pure=True)


# ------------------------------------------------------------------------------------------------ examples
def _foretold(value: Deferred) -> Kind:
    """The kind of a value, found by an example."""
    try:
        found = example_of(value)
    except _Unknown:
        return ANYTHING
    kind = kind_of(found, fresh=True)
    return ANYTHING if isinstance(kind, Object) and kind.cls in (list, dict, set) else kind


def example_of(value: Any) -> Any:
    """A value of the kind that the run will find; raises where there is none."""
    if isinstance(value, Deferred):
        return _example_of_deferred(value)
    if isinstance(value, PyNumber):
        return NUMBER_TYPES[value.kind](1)
    if isinstance(value, tf.Tensor):
        return _example_of_tensor(value)
    if is_runtime(value):
        raise _Unknown
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([example_of(item) for item in value])
    if isinstance(value, slice):
        return slice(example_of(value.start), example_of(value.stop), example_of(value.step))
    return {key: example_of(item) for key, item in value.items()} if type(value) is dict else value


def example_or_none(value: Any) -> Any:
    """A value of the kind that the run will find, if there is one to show."""
    try:
        return example_of(value)
    except _Unknown:
        return None


def _example_of_deferred(value: Deferred) -> Any:
    if isinstance(value.function, Kept):
        return _example_of_kept(value.function.kind)
    if hasattr(value, "example"):
        return value.example
    args = [example_of(one) for one in value.args]
    if value.function is python.getitem:
        args[1] = _first_place(value.args[1], args[1], isinstance(args[0], np.ndarray) and not _has_known_shape(value))
    kwargs = {name: example_of(one) for name, one in value.kwargs.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), tf.init_scope():
            warnings.simplefilter("ignore")
            value.example = value.function(*args, **kwargs)
    except Exception as error:  # whatever it raises on the example, it says nothing of the run's own values
        raise _Unknown from error
    return value.example


def _first_place(key: Any, example: Any, always: bool) -> Any:
    """An example of an index, for which even the arrays that examples are have an item: the first, if only the run knows, or `always`."""
    if type(key) is tuple:
        return tuple(_first_place(one, its, always) for one, its in zip(key, example, strict=True))
    is_place = isinstance(example, np.integer) or type(example) is int
    return type(example)(0) if is_place and (always or is_runtime(key)) else example


def _example_of_kept(kind: Object) -> Any:
    if kind.dtype is not None:
        dims = kind.dims if kind.dims is not None and int(np.prod(kind.dims)) <= MOST_ELEMENTS else [1] * (kind.rank or 0)
        array: Any = np.ones(list(dims), kind.dtype)
        return array if kind.cls is np.ndarray else array[()]
    if kind.example is None:
        raise _Unknown
    return kind.example


def _example_of_tensor(value: tf.Tensor) -> Any:
    if value.shape.rank is None or value.dtype in (tf.string, tf.variant, tf.resource):
        raise _Unknown
    dims = [1 if size is None else size for size in value.shape]
    if int(np.prod(dims)) > MOST_ELEMENTS:
        raise _Unknown
    with tf.init_scope():
        return tf.ones(dims, value.dtype)
