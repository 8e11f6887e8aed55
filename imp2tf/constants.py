"""``tf.constant`` of what only the run knows.

    tf.constant([float(x), 1.0])   -->   the numbers packed, with the dtype that TensorFlow gives Python's
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from imp2tf.arithmetic import as_number, number_tensor, run_operation
from imp2tf.effects import detached
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import contents, is_container
from imp2tf.lowering import lowered
from imp2tf.specs import Number
from imp2tf.values import Deferred, Growable, PyNumber, Union

__all__ = ["constant", "holds_run_time_values"]

NUMBERS = {"bool": tf.bool, "int": tf.int32, "float": tf.float32}


def holds_run_time_values(value: Any) -> bool:
    """Whether a value is, or has among its parts, what only the run knows."""
    return any(isinstance(leaf, (PyNumber, Union, Deferred, Growable, tf.Tensor)) for leaf in _leaves(_nested(value)))


def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> tf.Tensor:
    """``tf.constant(value, dtype, shape)``; no gradient flows through."""
    del name
    made = detached(_made(value, None if dtype is None else tf.as_dtype(dtype)))
    return made if shape is None else _shaped(made, tf.TensorShape(shape))


def _made(value: Any, dtype: tf.DType | None) -> tf.Tensor:
    nested = _nested(value)
    if isinstance(nested, Growable) and isinstance(nested.element, Number):
        return lowered(value).stack(dtype)
    if isinstance(value, Deferred):
        return run_operation(tf.convert_to_tensor, lowered(value), dtype)
    kinds = {_kind(leaf) for leaf in _leaves(nested)}
    if None in kinds:  # of lists of tensors eager makes a constant only in some cases
        fall_back(NeedsValue, "tf.constant needs the values of tensors, or of something known at run time only")
    kind = "float" if "float" in kinds else "int" if "int" in kinds else "bool"
    if "bool" in kinds and len(kinds) > 1:
        fall_back(NeedsValue, "tf.constant of bools and other numbers")
    return number_tensor(PyNumber(kind, _packed(nested, kind)), dtype or NUMBERS[kind])


def _nested(value: Any) -> Any:
    """A value with the lists and tuples in it as lists of what they hold."""
    found = contents(value) if is_container(value) else value
    return [_nested(item) for item in found] if isinstance(found, (list, tuple)) else found


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for item in nested:
            yield from _leaves(item)
    else:
        yield nested


def _kind(leaf: Any) -> str | None:
    """The kind of a Python number."""
    if isinstance(leaf, PyNumber):
        return leaf.kind
    return type(leaf).__name__ if type(leaf) in (bool, int, float) else None


def _packed(nested: Any, kind: str) -> tf.Tensor:
    return tf.stack([_packed(item, kind) for item in nested]) if isinstance(nested, list) else as_number(nested, kind)


def _shaped(made: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    """A constant of a shape: its elements in another order of axes, or a single one again and again."""
    count, wanted = made.shape.num_elements(), shape.num_elements()
    if count is None or wanted is None or count not in (1, wanted):
        fall_back(NeedsValue, "tf.constant of another shape")
    return tf.reshape(made, shape) if count == wanted else tf.fill(shape, tf.reshape(made, []))
