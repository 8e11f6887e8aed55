"""Python's int, float and bool as values of a run: their tensors, and operators between them, with Python's rules and errors."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.foreknown import calculated
from imp2tf.quick_graphs import constants_shared
from imp2tf.region import stop_if
from imp2tf.values import NUMBER_DTYPES, PyNumber, number_kind

__all__ = [
    "BINARY", "COMPARE", "OVERFLOW", "UNARY", "UNUSUAL_POWER", "Function", "as_number", "as_tensor", "divided", "in_int_range",
    "is_check_of_number", "number_tensor", "of_numbers",
]

Function = Callable[..., Any]
BINARY: dict[str, Function] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}
COMPARE: dict[str, Function] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}
UNARY: dict[str, Function] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
# ------------------------------------------------------------------------------------------------ numbers
TAKE_BOOLS = (tf.bool, tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)  # of the dtypes, those that eager makes of True


def as_number(value: Any, kind: str) -> tf.Tensor:
    """A Python or run-time number as a scalar of a kind's dtype."""
    dtype = NUMBER_DTYPES[kind]
    if isinstance(value, PyNumber):
        return value.tensor if value.tensor.dtype == dtype else tf.cast(value.tensor, dtype)
    with constants_shared():
        return tf.constant(value, dtype)


def number_tensor(value: PyNumber, dtype: tf.DType | None = None, name: str | None = None, as_ref: bool = False) -> tf.Tensor:
    """What TensorFlow makes of a Python number in the place of `value`."""
    del name, as_ref
    if not isinstance(value, PyNumber):  # the run makes the call again, to find how eager refuses it
        return tf.convert_to_tensor(value, dtype)
    if dtype is None:
        dtype = {"int": tf.int32, "float": tf.float32, "bool": tf.bool}[value.kind]
    if not _converts(value.kind, dtype):
        raise TypeError(f"Cannot convert a run-time {value.kind} to a tensor of dtype {dtype.name}")
    return tf.cast(value.tensor, dtype)


def _converts(kind: str, dtype: tf.DType) -> bool:
    """Whether eager TensorFlow takes a Python number of this kind where a tensor of this dtype is needed."""
    if kind == "bool":
        return dtype in TAKE_BOOLS
    return dtype != tf.bool and (kind == "int" or dtype.is_floating or dtype.is_complex)


tf.register_tensor_conversion_function(PyNumber, number_tensor, 0)


def as_tensor(value: Any) -> Any:
    """A run-time number as the tensor TensorFlow makes of it; anything else unchanged."""
    return number_tensor(value) if isinstance(value, PyNumber) else value


def of_numbers(op: str, a: Any, b: Any) -> PyNumber:
    """Arithmetic of two Python numbers, at least one of them known at run time only, by Python's rules."""
    return calculated(op, a, b, _of_numbers(op, a, b))


def _of_numbers(op: str, a: Any, b: Any) -> PyNumber:
    kinds = number_kind(a), number_kind(b)
    if op in ("&", "|", "^") and kinds == ("bool", "bool"):
        logical = {"&": tf.logical_and, "|": tf.logical_or, "^": tf.math.logical_xor}[op]
        return PyNumber("bool", logical(as_number(a, "bool"), as_number(b, "bool")))
    kind = "float" if "float" in kinds or op == "/" else "int"
    if op in ("/", "//", "%"):
        return _division(op, a, b, kind)
    if op == "**":
        return _power(a, b, kind)
    if op in ("<<", ">>", "&", "|", "^"):
        return _bitwise(op, a, b, kind)
    if op not in ("+", "-", "*"):
        raise ProgramRaise(_type_error(op, kinds))
    x, y = as_number(a, kind), as_number(b, kind)
    result = BINARY[op](x, y)
    return PyNumber(kind, _within_range(op, a, b, x, y, result) if kind == "int" else result)


OVERFLOW = "imp2tf: a Python int left the range of int64"
CHECK = "check_of_number"
UNUSUAL_POWER = "imp2tf: a power of Python numbers is of another kind, an error or out of range"
SMALL = 2**31


def _within_range(op: str, a: Any, b: Any, x: tf.Tensor, y: tf.Tensor, result: tf.Tensor) -> tf.Tensor:
    """Python's ints have no bounds: where the result leaves int64 the run stops, and the call runs as Python.

    A step by a small constant is not checked: no loop makes four billion of them.
    """
    small = any(isinstance(one, int) and abs(one) < SMALL for one in (a, b))
    if (op in ("+", "-") and small) or (op == "*" and any(isinstance(one, int) and abs(one) <= 1 for one in (a, b))):
        return result
    function = {"+": tf.add, "-": tf.subtract, "*": tf.multiply, "**": tf.pow}[op]
    return in_int_range(function(tf.cast(x, tf.float64), tf.cast(y, tf.float64)), result)


def in_int_range(wide: tf.Tensor, result: tf.Tensor) -> tf.Tensor:
    """`result`, an int64, where `wide`, the same number as float64, says that it is in range; else the run stops."""
    return _run_stops_unless(tf.abs(wide) < 2.0**62, result, OVERFLOW)


def _type_error(op: str, kinds: tuple[str | None, str | None]) -> TypeError:
    return TypeError(f"unsupported operand type(s) for {op}: '{kinds[0]}' and '{kinds[1]}'")


def divided(a: Any, b: Any) -> tuple[PyNumber, PyNumber]:
    """``divmod(a, b)`` of numbers."""
    kind = "float" if "float" in (number_kind(a), number_kind(b)) else "int"
    divisor = _divisor("divmod", a, b, kind)
    if kind == "float":
        quotient, rest = _float_divmod(as_number(a, kind), divisor)
        return PyNumber(kind, quotient), PyNumber(kind, rest)
    dividend = as_number(a, kind)
    return PyNumber(kind, tf.math.floordiv(dividend, divisor)), PyNumber(kind, tf.math.floormod(dividend, divisor))


def _divisor(op: str, a: Any, b: Any, kind: str) -> tf.Tensor:
    divisor = as_number(b, kind)
    if isinstance(b, PyNumber) or not b:
        stop_if(tf.equal(divisor, 0), _division_error(op, kind, number_kind(a), number_kind(b)))
    return divisor


def _division(op: str, a: Any, b: Any, kind: str) -> PyNumber:
    divisor = _divisor(op, a, b, kind)
    if kind == "float" and op != "/":
        quotient, rest = _float_divmod(as_number(a, kind), divisor)
        return PyNumber(kind, quotient if op == "//" else rest)
    function = {"/": tf.divide, "//": tf.math.floordiv, "%": tf.math.floormod}[op]
    return PyNumber(kind, function(as_number(a, kind), divisor))


def _float_divmod(a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Python's floor division, which goes by the exact rest: 1.0 // 0.1 is 9.0, although 1.0 / 0.1 is 10.0; and the rest."""
    zero, one = tf.constant(0.0, a.dtype), tf.constant(1.0, a.dtype)
    signed_zero = tf.where(b < zero, -zero, zero)
    exact = tf.truncatemod(a, b)
    other_side = tf.not_equal(exact, zero) & tf.not_equal(b < zero, exact < zero)
    quotient = (a - exact) / b - tf.where(other_side, one, zero)
    whole = tf.floor(quotient)
    whole = tf.where(quotient - whole > 0.5, whole + one, whole)
    return tf.where(tf.equal(quotient, zero), a / b * zero, whole), tf.where(
        tf.equal(exact, zero), signed_zero, tf.where(other_side, exact + b, exact))


def _division_error(op: str, kind: str, kind_a: str | None, kind_b: str | None) -> ZeroDivisionError:
    zeros = {"int": 0, "float": 0.0, "bool": False}
    try:
        (divmod if op == "divmod" else BINARY[op])({"int": 1, "float": 1.0, "bool": True}[kind_a or kind], zeros[kind_b or kind])
    except ZeroDivisionError as error:  # this Python's own wording
        return ZeroDivisionError(*error.args)
    raise AssertionError("unreachable")


def _power(a: Any, b: Any, kind: str) -> PyNumber:
    x, y = as_number(a, kind), as_number(b, kind)
    if kind == "int":
        if isinstance(b, PyNumber):
            y = _run_stops_unless(y >= 0, y, UNUSUAL_POWER)
        elif b < 0:
            fall_back(NeedsValue, "a run-time int to a negative power is a float or an error")
        return PyNumber(kind, _within_range("**", a, b, x, y, tf.pow(x, y)))
    result = tf.pow(x, y)
    real = (x >= 0.0) | tf.equal(y, tf.round(y))
    regular = tf.math.is_finite(result) | ~tf.math.is_finite(x) | ~tf.math.is_finite(y)
    return PyNumber(kind, _run_stops_unless(real & regular, result, UNUSUAL_POWER))


def _run_stops_unless(condition: tf.Tensor, result: tf.Tensor, text: str) -> tf.Tensor:
    """`result` where a number has the kind and range that it is taken for; else the run stops with this text, and Python makes the call."""
    checked = tf.raw_ops.Assert(condition=condition, data=[text], summarize=1, name=CHECK)
    with tf.control_dependencies([checked]):
        return tf.identity(result)


def is_check_of_number(op: tf.Operation) -> bool:
    """Whether an operation stops runs in which a number is not what it was taken for."""
    return op.type == "Assert" and op.name.rpartition("/")[2].startswith(CHECK)


def _bitwise(op: str, a: Any, b: Any, kind: str) -> PyNumber:
    if kind != "int":
        raise ProgramRaise(_type_error(op, (number_kind(a), number_kind(b))))
    if op in ("<<", ">>"):
        return _shift(op, a, b)
    function = {"&": tf.bitwise.bitwise_and, "|": tf.bitwise.bitwise_or, "^": tf.bitwise.bitwise_xor}[op]
    return PyNumber("int", function(as_number(a, "int"), as_number(b, "int")))


def _shift(op: str, a: Any, b: Any) -> PyNumber:
    """A shift of an int of the run, or by one; no shift of 64 bits or more is one of TensorFlow."""
    x, y = as_number(a, "int"), as_number(b, "int")
    if isinstance(b, PyNumber) or b < 0:
        stop_if(y < 0, ValueError("negative shift count"))
    if op == ">>":
        return PyNumber("int", tf.bitwise.right_shift(x, tf.clip_by_value(y, 0, 63)))
    wide = tf.cast(x, tf.float64) * tf.pow(tf.constant(2.0, tf.float64), tf.cast(y, tf.float64))
    return PyNumber("int", in_int_range(wide, tf.bitwise.left_shift(x, tf.clip_by_value(y, 0, 63))))
