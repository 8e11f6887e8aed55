"""Values of the trace as library code can take them, and what it returns as values of the trace."""
from __future__ import annotations

import types
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arrays import TracedArray
from imp2tf.dict_views import DictView
from imp2tf.errors import Contents, ForeignCall, NeedsValue, fall_back
from imp2tf.forcing import RunArray, tensor_of
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.python_numbers import as_tensor
from imp2tf.session import current
from imp2tf.stacked_lists import as_stacked
from imp2tf.values import Deferred, GeneratorCall, Growable, PyNumber, Table, Union

__all__ = ["adopted", "lowered", "materialized", "same_mapping"]


def lowered(value: Any, inside: bool = False) -> Any:
    """A value as TensorFlow can take it: containers by their contents, run-time numbers inside them as tensors."""
    if isinstance(value, PyNumber):
        return as_tensor(value) if inside else value
    if isinstance(value, Union):
        return _one_tensor(value)
    if isinstance(value, Deferred):
        found = tensor_of(value)
        return RunArray(found) if isinstance(found, tf.Tensor) else lowered(found, inside)
    if is_container(value):
        return _lowered_container(value, inside)
    if type(value) is tuple or isinstance(value, tuple):
        items = [lowered(item, inside=True) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, slice):
        return slice(*[lowered(part, inside=True) for part in (value.start, value.stop, value.step)])
    if isinstance(value, DictView):
        return value.of(lowered(value.owner, inside))
    if isinstance(value, GeneratorCall):
        value.refuse()
    if isinstance(value, TracedArray):
        return value.functional() if current().embedded else fall_back(ForeignCall, "TensorFlow is given a TensorArray")
    return value


def _one_tensor(union: Union) -> tf.Tensor:
    """Tensors, variables and floats of one dtype as the tensor that TensorFlow makes of any of them."""
    values = [one for one in union.alternatives if not (type(one) is float or (isinstance(one, PyNumber) and one.kind == "float"))]
    dtypes = {tf.as_dtype(one.dtype) for one in values if isinstance(one, tf.__internal__.types.Tensor)}
    if len(dtypes) != 1 or not all(isinstance(one, tf.__internal__.types.Tensor) for one in values):
        fall_back(NeedsValue, f"TensorFlow is given {union!r}")
    dtype = dtypes.pop()
    if len(values) < len(union.alternatives) and not dtype.is_floating:
        fall_back(NeedsValue, f"TensorFlow is given {union!r}")
    found = over(union, lambda one: tf.cast(one.tensor, dtype) if isinstance(one, PyNumber) else tf.convert_to_tensor(one, dtype))
    return found if isinstance(found, tf.Tensor) else fall_back(NeedsValue, f"TensorFlow is given {union!r}")


def _lowered_container(value: Any, inside: bool) -> Any:
    found = contents(value)
    if isinstance(found, Growable):
        return as_stacked(found, inside)
    if isinstance(found, (Table, Union)):
        fall_back(Contents, "TensorFlow is given a container of unknown contents")
    if isinstance(found, dict):
        return same_mapping(value, {key: lowered(item, inside=True) for key, item in found.items()})
    if isinstance(found, set):
        return found
    return [lowered(item, inside=True) for item in found]


def same_mapping(like: Any, items: dict[Any, Any]) -> Any:
    """A dict of the class of another one, with other items."""
    return items if type(like) is dict or not hasattr(type(like), "fromkeys") else _rebuilt_mapping(like, items)


def _rebuilt_mapping(like: Any, items: dict[Any, Any]) -> Any:
    made = like.copy()
    made.clear()
    made.update(items)
    return made


def materialized(value: Any) -> Any:
    """A value with its containers as plain Python objects that hold what the program sees."""
    if is_container(value):
        found = contents(value)
        if isinstance(found, (Growable, Table, Union)):
            fall_back(Contents, "library code needs the contents of a container of run-time length")
        if isinstance(found, dict):
            return current().born(same_mapping(value, {key: materialized(item) for key, item in found.items()}))
        if isinstance(found, set):
            return current().born(found)
        items = [materialized(item) for item in found]
        return current().born(items if isinstance(value, list) else type(value)(items, value.maxlen))
    if isinstance(value, tuple) and value:
        items = [materialized(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    return value.refuse() if isinstance(value, (GeneratorCall, DictView)) else value


def adopted(value: Any, level: int = 0) -> Any:
    """A result of library code: containers and objects in it were made by this trace. An operation gives None in eager."""
    if isinstance(value, tf.Operation):
        return None
    session = current()
    if level > 6 or session.is_born(value) or id(value) in session.sources:
        return value
    if is_container(value):
        session.born(value)
        for item in value.values() if isinstance(value, dict) else value:
            adopted(item, level + 1)
    elif isinstance(value, tuple):
        for item in value:
            adopted(item, level + 1)
    elif level == 0 and _is_fresh_object(value):
        session.born(value)
    return value


def _is_fresh_object(value: Any) -> bool:
    if isinstance(value, (tf.Tensor, tf.Variable, types.FunctionType, types.MethodType, type, types.ModuleType, str, bytes, int, float)):
        return False
    return hasattr(value, "__dict__") or hasattr(value, "__next__")
