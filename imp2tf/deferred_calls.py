"""Methods of values that are known after the run."""
from __future__ import annotations

import inspect
import operator as python
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.forcing import computed, example_or_none, forced, kept_class
from imp2tf.lowering import materialized
from imp2tf.opaque import call_method_of_kept, change_array
from imp2tf.purity import (
    CHANGING_ARRAYS,
    MUTATING_ARRAY_METHODS,
    MUTATING_CONTAINER_METHODS,
    is_numpy_function,
)
from imp2tf.refusals import eager_error
from imp2tf.results import Kept
from imp2tf.values import Deferred, call_method, numpy_value

__all__ = ["call_deferred", "may_change", "method_of_deferred"]


def method_of_deferred(value: Deferred, name: str) -> Any:
    """``value.name`` where the value is known after the run."""
    known = kept_class(value)
    if known is not None and not issubclass(known, (np.ndarray, np.generic)):
        method = callable(inspect.getattr_static(known, name, None))
        return Deferred(getattr, (value, name)) if method else forced(Deferred(getattr, (value, name)))
    if _changes_array(value, name):
        return Deferred(getattr, (value, name))
    if name in MUTATING_ARRAY_METHODS or name in MUTATING_CONTAINER_METHODS:
        fall_back(NeedsValue, f".{name}() of a value that is known after the run")
    if known is not None and issubclass(known, np.ndarray) and not callable(getattr(known, name, None)):
        return computed(getattr, (value, name))
    example = example_or_none(value)
    if example is not None and not hasattr(example, name):
        raise_error(eager_error(getattr, example, name))
    return Deferred(getattr, (value, name))


def call_deferred(function: Deferred, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a value that is known after the run."""
    if function.function is not getattr:
        fall_back(NeedsValue, "a function that is known after the run is called")
    owner, name = function.args
    if kwargs.get("out") is not None:
        fall_back(ForeignCall, f".{name}() writes into an array that it is given")
    if name == "numpy" and isinstance(owner, tf.Tensor):
        return computed(numpy_value, (owner,))
    if _changes_array(owner, name):
        return change_array(call_method, owner, name, *map(materialized, args), **{key: materialized(one) for key, one in kwargs.items()})
    known = kept_class(owner)
    if known is not None and not _is_pure_method_of(known, name):
        return call_method_of_kept(owner, known, name, args, kwargs)
    return computed(call_method, (owner, name, *map(materialized, args)), {key: materialized(value) for key, value in kwargs.items()})


def _changes_array(value: Any, name: str) -> bool:
    return name in CHANGING_ARRAYS and isinstance(example_or_none(value), np.ndarray)


READING: dict[type, tuple[str, ...]] = {
    list: ("copy", "count", "index"), dict: ("copy", "get", "items", "keys", "values"),
    set: ("copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"),
}


def _is_immutable(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, (str, bytes, int, float, complex, tuple, frozenset, range, np.generic))


def _is_pure_method_of(cls: type, name: str) -> bool:
    """Whether a method changes nothing: one of an immutable object, or one that only reads."""
    if issubclass(cls, (np.ndarray, str, bytes, int, float, complex, tuple, frozenset, range, np.generic)):
        return cls.__module__ in ("builtins", "numpy")
    return name in READING.get(cls, ())


NEW_LISTS = ("rsplit", "split", "splitlines", "tolist")


def may_change(value: Deferred) -> bool:
    """Whether what a deferred call gives may be an object that changes in place: an array or a container, not text or a number."""
    if value.function is numpy_value:
        return value.args[0].shape.rank != 0
    if isinstance(value.function, Kept):
        return not _is_immutable(value.function.kind.cls)
    if value.function is python.getitem and isinstance(example_or_none(value), np.generic):
        return False
    if value.function is call_method and value.args[1] in NEW_LISTS:
        return True
    if isinstance(value.function, type) and issubclass(value.function, (str, int, float, bool)):
        return False
    return is_numpy_function(value.function) or any(may_change(arg) for arg in value.args if isinstance(arg, Deferred))
