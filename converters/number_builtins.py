"""``int``, ``float``, ``bool``, ``abs``, ``round``, ``pow`` and ``divmod`` of tensors and run-time numbers.

    int(t)   -->   a run-time int in the graph, a Python int after the run
"""
from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import number_of, over, truth
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.forcing import computed, example_or_none
from imp2tf.kinds import is_user_function
from imp2tf.operations import binary_operation, truth_as_number
from imp2tf.python_numbers import as_number, divided, in_int_range
from imp2tf.region import stop_if
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import NUMBER_TYPES, Deferred, PyNumber, Union, is_tensor, is_variable, number_kind, numpy_value

ROUNDED = (int, float, np.integer, np.floating)


def _number_of(kind: str, value: Any) -> Any:
    """``int(value)`` and the like, for one value."""
    if isinstance(value, Union):
        return over(value, lambda one: _number_of(kind, one))
    if isinstance(value, Deferred):
        if value.function is numpy_value:
            return _number_of(kind, value.args[0])
        return number_of(NUMBER_TYPES[kind], value)
    if isinstance(value, PyNumber):
        return _convert_number(kind, value)
    if is_variable(value):
        value = tf.convert_to_tensor(value)
    if is_symbolic_tensor(value):
        return _convert_number(kind, _scalar_number(value))
    dunder = getattr(type(value), f"__{kind}__", None)
    if is_user_function(dunder):
        return call(dunder, value)
    return run_operation(NUMBER_TYPES[kind], value)


def _scalar_number(value: tf.Tensor) -> PyNumber:
    if value.shape.rank != 0:
        fall_back(NeedsValue, "a Python number of a tensor that may have several elements")
    if value.dtype == tf.bool:
        return PyNumber("bool", value)
    if value.dtype.is_floating:
        return PyNumber("float", tf.cast(tf.stop_gradient(value), tf.float64))  # no gradient flows through Python
    if value.dtype.is_integer:
        return PyNumber("int", tf.cast(value, tf.int64))
    return fall_back(NeedsValue, f"a Python number of a {value.dtype.name} tensor")


def _convert_number(kind: str, value: PyNumber) -> PyNumber:
    if kind == "bool":
        return PyNumber("bool", truth(value))
    if kind == "int" and value.kind == "float":
        stop_if(tf.math.is_nan(value.tensor), ValueError("cannot convert float NaN to integer"))
        stop_if(tf.math.is_inf(value.tensor), OverflowError("cannot convert float infinity to integer"))
        return PyNumber("int", in_int_range(value.tensor, as_number(value, "int")))
    return PyNumber(kind, as_number(value, kind))


@replace_call(int)
def int_(value: Any = 0, *base: Any, **kwargs: Any) -> Any:
    """``int(value)``."""
    return run_operation(int, value, *base, **kwargs) if base or kwargs else _number_of("int", value)


@replace_call(float)
def float_(value: Any = 0.0) -> Any:
    """``float(value)``."""
    return _number_of("float", value)


@replace_call(bool)
def bool_(value: Any = False) -> Any:
    """``bool(value)``."""
    return truth_as_number(value)


# ------------------------------------------------------------------------------------------------ numbers
@replace_call(abs)
def abs_(value: Any) -> Any:
    """``abs(value)``."""
    if isinstance(value, Union):
        return over(value, abs_)
    if isinstance(value, PyNumber):
        kind = "int" if value.kind == "bool" else value.kind
        return PyNumber(kind, tf.abs(as_number(value, kind)))
    if isinstance(value, Deferred):
        return computed(abs, (value,))
    dunder = getattr(type(value), "__abs__", None)
    return call(dunder, value) if is_user_function(dunder) else run_operation(abs, value)


@replace_call(round)
def round_(value: Any, digits: Any = None) -> Any:
    """``round(value, digits)``; text-like rounding to digits is done after the run."""
    if isinstance(value, Union):
        return over(value, lambda one: round_(one, digits))
    if isinstance(value, Deferred) and isinstance(example_or_none(value), ROUNDED):
        return computed(round, (value, digits)) if digits is not None else round_(_number_of(_kind_of_example(value), value))
    if not isinstance(value, PyNumber):
        return run_operation(round, value) if digits is None else run_operation(round, value, digits)
    if value.kind != "float" and digits is None:
        return PyNumber("int", as_number(value, "int"))
    if digits is None:
        return _convert_number("int", PyNumber("float", tf.round(value.tensor)))
    return Deferred(round, (value, digits))


def _kind_of_example(value: Deferred) -> str:
    return "int" if isinstance(example_or_none(value), (int, np.integer)) else "float"


@replace_call(pow)
def pow_(base: Any, exponent: Any, *modulus: Any) -> Any:
    """``pow(base, exponent)``."""
    return run_operation(pow, base, exponent, *modulus) if modulus else binary_operation("**", base, exponent)


@replace_call(divmod)
def divmod_(a: Any, b: Any) -> Any:
    """``divmod(a, b)``."""
    if is_tensor(a) or is_tensor(b):  # tensors have no divmod
        return run_operation(divmod, a, b)
    if (isinstance(a, PyNumber) and number_kind(b)) or (isinstance(b, PyNumber) and number_kind(a)):
        return divided(a, b)
    return binary_operation("//", a, b), binary_operation("%", a, b)
