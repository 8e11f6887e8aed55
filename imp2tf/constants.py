"""``tf.constant`` and ``tf.convert_to_tensor`` of what only the run knows: numbers in lists, and arrays.

    tf.constant([n, 1.0])   -->   tf.stack([n, 1.0]) in the dtype that eager finds for Python numbers
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from imp2tf.arithmetic import run_operation
from imp2tf.heap import contents
from imp2tf.lowering import lowered
from imp2tf.python_numbers import number_tensor
from imp2tf.specs import Number
from imp2tf.values import Deferred, Growable, PyNumber

__all__ = ["constant", "is_constant_of_run"]

MAKERS = (tf.constant, tf.convert_to_tensor)
MOST_NUMBERS = 256


def is_constant_of_run(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call makes a tensor of an array, or of numbers, that only the run knows."""
    if function not in MAKERS:
        return False
    value = args[0] if args else kwargs.get("value")
    if isinstance(value, Deferred):
        return function is tf.constant
    if function is tf.constant and _grows(value):
        return True
    if type(value) not in (list, tuple) and not (function is tf.constant and isinstance(value, PyNumber)):
        return False
    if "dtype_hint" in kwargs:
        return False
    numbers = list(_numbers_in(value))
    return 0 < len(numbers) <= MOST_NUMBERS and None not in numbers and any(isinstance(one, PyNumber) for one in numbers)


def constant(value: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
    """The tensor that ``tf.constant(value, dtype)`` gives in eager."""
    shape = options.get("shape", rest[0] if rest else None)
    wanted = None if dtype is None else tf.as_dtype(dtype)
    if isinstance(value, Deferred):
        made = run_operation(tf.convert_to_tensor, lowered(value), wanted)
    elif _grows(value):
        made = run_operation(lowered(value).stack, wanted)
    else:
        made = run_operation(_of_numbers, value, wanted)
    if shape is None:
        return made
    as_many = made.shape.is_fully_defined() and made.shape.num_elements() != 1
    return run_operation(tf.reshape, made, shape) if as_many else run_operation(tf.broadcast_to, tf.squeeze(made), shape)


def _grows(value: Any) -> bool:
    """Whether a value is a list of Python numbers of run-time length."""
    found = contents(value) if type(value) is list else None
    return isinstance(found, Growable) and isinstance(found.element, Number)


def _numbers_in(value: Any) -> Iterator[Any]:
    """The numbers in nested lists; None for anything else."""
    if type(value) in (list, tuple):
        found = contents(value) if isinstance(value, list) else value
        if not isinstance(found, (list, tuple)):
            yield None
            return
        for item in found:
            yield from _numbers_in(item)
    else:
        yield value if isinstance(value, PyNumber) or type(value) in (bool, int, float) else None


def _dtype_of(kinds: set[str], wanted: tf.DType | None) -> tf.DType:
    """The dtype that TensorFlow gives to Python numbers; what it refuses, as it refuses it."""
    if "bool" in kinds and len(kinds) > 1:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    found = tf.bool if "bool" in kinds else tf.float32 if "float" in kinds else tf.int32
    if wanted is None or wanted is found:
        return found
    if found is tf.bool or wanted is tf.bool or (found is tf.float32 and not (wanted.is_floating or wanted.is_complex)):
        raise TypeError(f"Cannot convert a Python {'bool' if found is tf.bool else 'number'} to EagerTensor of dtype {wanted.name}")
    return wanted


def _of_numbers(value: Any, wanted: tf.DType | None) -> tf.Tensor:
    kinds = {one.kind if isinstance(one, PyNumber) else type(one).__name__ for one in _numbers_in(value)}
    return _stacked(value, _dtype_of(kinds, wanted))


def _stacked(value: Any, dtype: tf.DType) -> tf.Tensor:
    if isinstance(value, PyNumber):
        return tf.cast(value.tensor, dtype) if dtype is not tf.int32 else number_tensor(value, dtype)
    if type(value) not in (list, tuple):
        return tf.constant(value, dtype)
    found = contents(value) if isinstance(value, list) else value
    return tf.stack([_stacked(one, dtype) for one in found])
