"""Arithmetic and comparison on run-time numbers, tensors and values of several kinds.

Run-time numbers follow Python's rules among themselves and are weakly typed beside tensors: ``f16 * n`` stays f16.
"""
from __future__ import annotations

import collections
import contextlib
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over, raise_error
from imp2tf.errors import NeedsValue, TraceFailed, fall_back, first_line
from imp2tf.exceptions import ProgramRaise, Retry
from imp2tf.forcing import RunArray, computed, tensor_of, worded
from imp2tf.ordering import made_by_program
from imp2tf.own_arrays import made_by_run
from imp2tf.python_numbers import BINARY, COMPARE, UNARY, Function, as_number, number_tensor, of_numbers
from imp2tf.quick_graphs import constants_shared
from imp2tf.session import active, current, suspended
from imp2tf.tf_compat import in_replica, is_symbolic_tensor
from imp2tf.values import Deferred, PyNumber, Union, call_method, is_runtime, is_variable, number_kind

__all__ = ["SWAPPED", "binary", "compare", "holds_runtime", "run_operation", "unary"]

OPERATORS = frozenset({*BINARY.values(), *COMPARE.values(), *UNARY.values(), operator.getitem})  # what they make, nobody else can name
NOT_IN_GRAPH = (tf.errors.OperatorNotAllowedInGraphError, NotImplementedError)


def run_operation(function: Function, *args: Any, **kwargs: Any) -> Any:
    """Call a pure function; what it raises on real values is the program's error.

    What it raises on tensors of the graph may be worded otherwise than eager's error, or not be an error in eager at
    all: inside a branch the call is left to the run, elsewhere the whole call runs as Python.
    """
    session = active()
    if session is None:
        return function(*args, **kwargs)
    session.courses.append(None)  # what it calls cannot go on in a branch
    try:
        sharing = constants_shared() if type(function) is types.BuiltinFunctionType and function in OPERATORS else contextlib.nullcontext()
        with made_by_program(), sharing:
            result = function(*args, **kwargs)
    except Exception as error:
        if isinstance(error, NOT_IN_GRAPH) or (isinstance(error, RuntimeError) and in_replica()):  # replicas cannot meet in a branch
            fall_back(TraceFailed, f"{type(error).__name__} while tracing: {first_line(error)}", error)
        if any(holds_runtime(value) for value in (getattr(function, "__self__", None), *args, *kwargs.values())):
            if not isinstance(error, (ValueError, TypeError, tf.errors.OpError)):
                fall_back(TraceFailed, f"{type(error).__name__} while tracing: {first_line(error)}", error)
            raise ProgramRaise(error, retry=_unbound(function, args, kwargs)) from error
        raise ProgramRaise(_as_eager_says(error, function, args, kwargs)) from error
    finally:
        session.courses.pop()
    return made_by_run(function, args, kwargs, result) if type(result) is np.ndarray else result


def _as_eager_says(error: Exception, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """The exception that eager raises where an operation refuses values that are known. A graph may refuse them for another reason."""
    if not isinstance(error, (ValueError, TypeError, tf.errors.OpError)) or any(map(is_variable, (*args, *kwargs.values()))):
        return error
    try:
        with tf.init_scope(), suspended():
            function(*args, **kwargs)
    except Exception as said:
        if said.__context__ is error:
            said.__context__ = None
        return said.with_traceback(None)
    return fall_back(TraceFailed, f"an operation is refused in a graph, but not eagerly: {first_line(error)}", error)


def _unbound(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Retry:
    """A call that the run can make: a method of a tensor is looked up again, in what the tensor is then."""
    for value in (*args, *kwargs.values()):
        _note_births(value)
    owner = getattr(function, "__self__", None)
    return (call_method, (owner, function.__name__, *args), kwargs) if holds_runtime(owner) else (function, args, kwargs)


def _note_births(value: Any) -> None:
    """Note that lists and dicts in the arguments of a deferred call belong to this trace, so that the run makes them anew."""
    session = current()
    if isinstance(value, (list, dict)) and holds_runtime(value) and id(value) not in session.sources and not session.is_born(value):
        session.born(value)
    if isinstance(value, (list, tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            _note_births(one)


def holds_runtime(value: Any, level: int = 0) -> bool:
    """Whether a value is, or holds, something that only the run knows."""
    if is_runtime(value):
        return True
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        return True
    if isinstance(value, (list, tuple, set, frozenset, collections.deque)) and level < 4:
        return any(holds_runtime(item, level + 1) for item in value)
    return isinstance(value, dict) and level < 4 and any(holds_runtime(item, level + 1) for item in value.values())


# ------------------------------------------------------------------------------------------------ operators
def binary(op: str, a: Any, b: Any, function: Function | None = None) -> Any:
    """``a op b``; `function` may stand for another function of the same operands, such as the in-place one."""
    if isinstance(a, Union):
        return over(a, lambda one: binary(op, one, b, function))
    if isinstance(b, Union):
        return over(b, lambda one: binary(op, a, one, function))
    if isinstance(a, PyNumber) or isinstance(b, PyNumber):
        return _with_number(op, BINARY[op], a, b)
    if isinstance(a, Deferred) or isinstance(b, Deferred):
        return _deferred(binary, op, a, b)
    if op == "%" and isinstance(a, (str, bytes)) and holds_runtime(b):
        return worded(operator.mod, (a, b))
    if (a is None and is_symbolic_tensor(b)) or (b is None and is_symbolic_tensor(a)):
        _refuse_none(function or BINARY[op], a, b)
    return run_operation(function or BINARY[op], a, b)


def _refuse_none(function: Function, a: Any, b: Any) -> None:
    """Raise what eager says of an operator between a tensor and None, which is the same for each tensor."""
    with tf.init_scope(), suspended():
        try:
            function(*[None if one is None else tf.zeros([], one.dtype) for one in (a, b)])
        except (TypeError, ValueError) as error:
            refused = error
        else:
            return
    raise ProgramRaise(refused)


def _with_number(op: str, function: Function, a: Any, b: Any) -> Any:
    if number_kind(a) and number_kind(b):
        return of_numbers(op, a, b)
    if isinstance(a, (str, bytes)) and op == "%":
        return worded(operator.mod, (a, b))
    if op == "*" and any(isinstance(one, (str, bytes)) for one in (a, b)) and all(number_kind(one) != "float" for one in (a, b)):
        return Deferred(operator.mul, (a, b))
    if isinstance(a, Deferred) or isinstance(b, Deferred):
        return computed(function, (a, b))
    if is_of_keras(a) or is_of_keras(b):
        return _with_keras_variable(f"__{METHODS[op]}__", f"__r{METHODS[op]}__", a, b)
    for this, other in ((a, b), (b, a)):
        if isinstance(this, PyNumber) and isinstance(other, (tf.Tensor, tf.Variable, tf.RaggedTensor)):
            dtype = other.dtype
            lowered = run_operation(number_tensor, this, dtype)
            return run_operation(function, lowered, b) if this is a else run_operation(function, a, lowered)
        if isinstance(this, PyNumber) and isinstance(other, (np.ndarray, np.generic)):
            return Deferred(function, (a, b))
    kinds = [number_kind(value) or type(value).__name__ for value in (a, b)]
    return fall_back(NeedsValue, f"{op} of {kinds[0]} and {kinds[1]} needs a run-time number's value")


def _deferred(again: Callable[[str, Any, Any], Any], op: str, a: Any, b: Any) -> Any:
    for this, other in ((a, b), (b, a)):
        if isinstance(this, Deferred) and isinstance(other, (tf.Tensor, tf.Variable)):
            found = tensor_of(this)
            if isinstance(found, tf.Tensor):
                found = run_operation(RunArray(found).converted, other.dtype)
            return again(op, found, b) if this is a else again(op, a, found)
    return computed({**BINARY, **COMPARE}[op], (a, b))


def unary(op: str, a: Any) -> Any:
    """``-a``, ``+a`` or ``~a``."""
    if isinstance(a, Union):
        return over(a, lambda one: unary(op, one))
    if isinstance(a, PyNumber):
        kind = "float" if a.kind == "float" else "int"
        if op == "~" and kind == "int":
            return PyNumber("int", -as_number(a, "int") - 1)
        if op == "~":
            raise ProgramRaise(TypeError("bad operand type for unary ~: 'float'"))
        number = as_number(a, kind)
        return PyNumber(kind, -number if op == "-" else number)
    if isinstance(a, Deferred):
        return computed(UNARY[op], (a,))
    return run_operation(UNARY[op], a)


# What is never equal to a number, and in no order with one.
NEVER_EQUAL = (str, bytes, list, tuple, dict, set, frozenset, type(None), range, slice, type, types.FunctionType, types.MethodType)
SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
METHODS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
           "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift"}


def compare(op: str, a: Any, b: Any) -> Any:
    """``a op b`` for one of ``< <= > >= == !=``."""
    if isinstance(a, Union):
        return over(a, lambda one: compare(op, one, b))
    if isinstance(b, Union):
        return over(b, lambda one: compare(op, a, one))
    if isinstance(a, PyNumber) or isinstance(b, PyNumber):
        return _compare_number(op, a, b)
    if isinstance(a, Deferred) or isinstance(b, Deferred):
        return _deferred(compare, op, a, b)
    return run_operation(COMPARE[op], a, b)


def _compare_number(op: str, a: Any, b: Any) -> Any:
    kinds = number_kind(a), number_kind(b)
    if kinds[0] and kinds[1]:
        kind = "float" if "float" in kinds else "int"
        x, y = as_number(a, kind), as_number(b, kind)
        function = {"==": tf.equal, "!=": tf.not_equal}.get(op, COMPARE[op])
        return PyNumber("bool", function(x, y))
    if any(isinstance(value, (tf.Tensor, tf.Variable, np.ndarray, np.generic, Deferred)) for value in (a, b)):
        return _with_number(op, COMPARE[op], a, b)
    if is_of_keras(a) or is_of_keras(b):
        return _with_keras_variable(f"__{COMPARE[op].__name__}__", f"__{COMPARE[SWAPPED[op]].__name__}__", a, b)
    if _may_compare(a) or _may_compare(b):
        fall_back(NeedsValue, f"{op} of a run-time number and an object that may compare with it")
    if op in ("==", "!="):
        return op == "!="
    names = [number_kind(value) or type(value).__name__ for value in (a, b)]
    return raise_error(TypeError(f"'{op}' not supported between instances of '{names[0]}' and '{names[1]}'"))


def _may_compare(value: Any) -> bool:
    """Whether a value that is no number may have its own way to compare with one."""
    inherited: Any = type(value).__eq__
    return not (number_kind(value) or inherited is object.__eq__ or isinstance(value, NEVER_EQUAL))


def is_of_keras(value: Any) -> bool:
    """Whether a value is a variable of Keras, which is none of TensorFlow's."""
    return is_variable(value) and not isinstance(value, tf.Variable)


def _with_keras_variable(method: str, reflected: str, a: Any, b: Any) -> Any:
    """A variable of Keras and a number, in the dtype that Keras finds for Python numbers of its kind."""
    number, variable, name = (a, b, reflected) if isinstance(a, PyNumber) else (b, a, method)
    kind = {"int": int, "float": float, "bool": bool}[number.kind]
    keras = sys.modules["keras"]
    dtype = keras.backend.result_type(variable.dtype, kind)
    if kind is float and "mod" in name:  # which makes a tensor of the number first
        dtype = keras.backend.result_type(variable.dtype, keras.config.floatx())
    if not hasattr(type(variable), name):
        fall_back(NeedsValue, f"{name} of a {type(variable).__name__} needs a run-time number's value")
    return run_operation(getattr(variable, name), tf.cast(number.tensor, dtype))


def _install(method: str, op: str, swapped: bool, function: Callable[[str, Any, Any], Any]) -> None:
    def method_(self: PyNumber, other: Any) -> Any:
        return function(op, other, self) if swapped else function(op, self, other)

    setattr(PyNumber, method, method_)


_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow"}


for _op, _name in _NAMES.items():
    _install(f"__{_name}__", _op, False, binary)
    _install(f"__r{_name}__", _op, True, binary)


for _op, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}.items():
    _install(f"__{_name}__", _op, False, compare)
