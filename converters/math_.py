"""Functions of the `math` module on run-time numbers: the same values and the same errors.

    math.cos(n / 10)   -->   tf.cos in float64, a Python float after the run
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.calls import replace_call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.python_numbers import as_number, in_int_range
from imp2tf.region import stop_if
from imp2tf.values import Deferred, PyNumber, Union, is_variable, number_kind

Function = Callable[..., Any]

TOTAL: dict[Function, Function] = {
    math.sin: tf.sin, math.cos: tf.cos, math.tan: tf.tan, math.atan: tf.atan, math.tanh: tf.tanh, math.asinh: tf.asinh, math.fabs: tf.abs,
    math.erf: tf.math.erf, math.radians: lambda x: x * (math.pi / 180.0), math.degrees: lambda x: x * (180.0 / math.pi),
}
TESTS: dict[Function, Function] = {math.isnan: tf.math.is_nan, math.isinf: tf.math.is_inf, math.isfinite: tf.math.is_finite}
POSITIVE: dict[Function, Function] = {
    math.log: tf.math.log, math.log2: lambda x: tf.math.log(x) / math.log(2.0), math.log10: lambda x: tf.math.log(x) / math.log(10.0),
}
LARGEST_EXPONENT = 709.782712893384


def _error_of(function: Function, *args: float) -> BaseException:
    """The error that this Python raises, in its own words."""
    try:
        function(*args)
    except (ValueError, OverflowError) as error:
        return type(error)(*error.args)
    raise AssertionError(f"{function} accepts {args}")


def _value(function: Function, x: tf.Tensor) -> PyNumber:
    if function in TOTAL:
        return PyNumber("float", TOTAL[function](x))
    if function in TESTS:
        return PyNumber("bool", TESTS[function](x))
    if function is math.sqrt:
        stop_if(x < 0.0, _error_of(math.sqrt, -1.0))
        return PyNumber("float", tf.sqrt(x))
    if function is math.exp:
        stop_if(tf.logical_and(x > LARGEST_EXPONENT, tf.math.is_finite(x)), _error_of(math.exp, 1000.0))
        return PyNumber("float", tf.exp(x))
    if function in POSITIVE:
        stop_if(x <= 0.0, _error_of(function, 0.0))
        return PyNumber("float", POSITIVE[function](x))
    whole = tf.floor(x) if function is math.floor else tf.math.ceil(x)
    return PyNumber("int", in_int_range(whole, tf.cast(whole, tf.int64)))


def _apply(function: Function, *args: Any) -> Any:
    """One function of `math`, where an argument is known at run time only."""
    place = next((i for i, one in enumerate(args) if isinstance(one, Union)), None)
    if place is not None:
        return over(args[place], lambda one: _apply(function, *args[:place], one, *args[place + 1:]))
    if any(isinstance(one, Deferred) for one in args) or (len(args) > 1 and any(isinstance(one, PyNumber) for one in args)):
        return fall_back(NeedsValue, f"math.{function.__name__} of values that only the run knows")
    if len(args) == 1 and (isinstance(args[0], (PyNumber, tf.Tensor)) or is_variable(args[0])):
        return _of_one(function, args[0])
    return run_operation(function, *args)


def _of_one(function: Function, value: Any) -> Any:
    if number_kind(value) is None:  # as math does: float(tensor)
        value = tf.convert_to_tensor(value)
        if value.shape.rank != 0 or not (value.dtype.is_floating or value.dtype.is_integer):
            fall_back(NeedsValue, f"math.{function.__name__} of a tensor that is no scalar number")
        return _value(function, tf.cast(tf.stop_gradient(value) if value.dtype.is_floating else value, tf.float64))
    if value.kind == "int" and function in (math.floor, math.ceil):
        return value
    return _value(function, as_number(value, "float"))


for _function in (*TOTAL, *TESTS, *POSITIVE, math.sqrt, math.exp, math.floor, math.ceil):
    replace_call(_function)(functools.partial(_apply, _function))
