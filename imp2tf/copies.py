"""Copies of the program's values, made as ``copy.copy`` and ``copy.deepcopy`` make them: through the heap of the trace."""
from __future__ import annotations

import collections
import copy
import types
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call
from imp2tf.compound_specs import holds_objects
from imp2tf.containers import holding, new
from imp2tf.deferred_calls import may_change
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.forcing import computed
from imp2tf.heap import contents, set_contents
from imp2tf.kinds import is_container, is_user_function
from imp2tf.object_fields import fields_of_object
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.snapshots import is_record
from imp2tf.values import Deferred, Growable, PyNumber, StandIn, Table, Union

__all__ = ["copied"]

AS_THEY_ARE = (str, bytes, bool, int, float, complex, type(None), type, types.FunctionType, types.BuiltinFunctionType, types.MethodType,
               range, slice, PyNumber, tf.Tensor, tf.DType, tf.TensorShape)
CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter)
HOOKS = ("__copy__", "__deepcopy__", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")


def copied(value: Any, deep: bool, memo: dict[int, Any] | None = None) -> Any:
    """A copy of a value; a deep one has copies of what is in it."""
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, Union):
        return over(value, lambda one: copied(one, deep, memo))
    if isinstance(value, AS_THEY_ARE):
        return value
    if isinstance(value, StandIn):
        value.refuse()
    current().kept.append(value)
    if isinstance(value, tuple):
        return _tuple(value, deep, memo)
    if is_container(value) and type(value) in CONTAINERS:
        return _container(value, deep, memo)
    if isinstance(value, Deferred):
        return computed(copy.deepcopy if deep else copy.copy, (value,)) if may_change(value) else value
    if isinstance(value, (np.ndarray, np.generic, frozenset)):
        return run_operation(copy.deepcopy if deep else copy.copy, value)
    return _object(value, deep, memo)


def _tuple(value: tuple[Any, ...], deep: bool, memo: dict[int, Any]) -> Any:
    items = [copied(item, deep, memo) for item in value] if deep else list(value)
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)


def _container(value: Any, deep: bool, memo: dict[int, Any]) -> Any:
    found = contents(value)
    if isinstance(found, (Growable, Table, Union)):
        if deep and not _holds_values(found):
            fall_back(ForeignCall, "a deep copy of a container of run-time length that holds objects")
        made = _empty(value)
        set_contents(made, contents(holding(value, found)) if isinstance(found, Growable) else found)
        return made
    made = memo[id(value)] = _empty(value)
    if isinstance(found, dict):
        set_contents(made, {key: copied(item, deep, memo) if deep else item for key, item in found.items()})
    elif isinstance(found, set):
        set_contents(made, set(found))
    else:
        set_contents(made, [copied(item, deep, memo) if deep else item for item in found])
    return made


def _empty(value: Any) -> Any:
    if isinstance(value, collections.defaultdict):
        return new(collections.defaultdict(value.default_factory))
    return new(collections.deque(maxlen=value.maxlen) if isinstance(value, collections.deque) else type(value)())


def _holds_values(found: Any) -> bool:
    """Whether elements have no parts that could be changed."""
    if isinstance(found, Union):
        return all(map(_holds_values, found.alternatives))
    if isinstance(found, (Growable, Table)):
        values = found.values if isinstance(found, Table) else found
        return values is None or not holds_objects(values.element)
    return all(isinstance(item, AS_THEY_ARE) for item in (found.values() if isinstance(found, dict) else found))


def _object(value: Any, deep: bool, memo: dict[int, Any]) -> Any:
    cls = type(value)
    hook = getattr(cls, "__deepcopy__" if deep else "__copy__", None)
    if is_user_function(hook):
        made = memo[id(value)] = call(hook, value, *([new({})] if deep else []))
        return made
    hooked = any(getattr(cls, name, None) is not getattr(object, name, None) for name in HOOKS)
    if not is_record(value) or isinstance(value, BaseException) or hooked:
        return fall_back(ForeignCall, f"a copy of a {cls.__name__}")
    made = memo[id(value)] = new(object.__new__(cls))
    for name, field in fields_of_object(value).items():
        current().write(Attribute(made, name), copied(field, deep, memo) if deep else field)
    return made
