"""Operators that classes of the program define, asked in Python's order.

    a + b     a.__add__(b), then b.__radd__(a); the other way round if b's class is derived from a's and has a __radd__ of its own
    a < b     a.__lt__(b), then b.__gt__(a); the other way round if b's class is derived from a's
    a != b    not a.__eq__(b), unless the class has a __ne__

A method that answers ``NotImplemented`` passes the question on.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import truth
from imp2tf.arithmetic import SWAPPED
from imp2tf.calls import call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.generated_methods import compared
from imp2tf.kinds import is_user_function
from imp2tf.python_numbers import BINARY, COMPARE
from imp2tf.values import PyNumber, Union, negated_bool

__all__ = ["ARRAYS", "binary_by_methods", "called_method", "compared_by_methods", "has_comparison", "has_operator", "method_of", "refused"]

ARRAYS = (tf.Tensor, tf.Variable, np.ndarray)
INHERITED_NE: Any = object.__ne__
WORDED_BY_CLASS = (str, bytes, int, float, complex, bool, type(None), list, tuple, dict, set)


def method_of(value: Any, name: str) -> Any:
    """The method of a value's class if the program defines it, else None."""
    method = getattr(type(value), name, None)
    return method if is_user_function(method) else None


def called_method(method: Any, this: Any, other: Any) -> Any:
    """What a method answers; whether it is NotImplemented must not depend on the run."""
    result = call(method, this, other)
    if isinstance(result, Union) and any(one is NotImplemented for one in result.alternatives):
        fall_back(NeedsValue, f"{method.__qualname__} returns NotImplemented in a branch")
    return result


def binary_by_methods(op: str, a: Any, b: Any) -> Any:
    """``a op b`` by the methods of the operands; NotImplemented if none of them answers."""
    name = BINARY[op].__name__.strip("_")
    reflected = f"__r{name}__"
    questions = [(method_of(a, f"__{name}__"), a, b)]
    if type(b) is not type(a) and not isinstance(a, ARRAYS):
        is_first = isinstance(b, type(a)) and getattr(type(b), reflected, None) is not getattr(type(a), reflected, None)
        questions.insert(0 if is_first else 1, (method_of(b, reflected), b, a))
    answers = (called_method(method, this, other) for method, this, other in questions if method is not None)
    return next((one for one in answers if one is not NotImplemented), NotImplemented)


def has_operator(op: str, a: Any, b: Any) -> bool:
    """Whether one of the operands has a method of the program that was asked."""
    name = BINARY[op].__name__.strip("_")
    return method_of(a, f"__{name}__") is not None or (not isinstance(a, ARRAYS) and method_of(b, f"__r{name}__") is not None)


def has_comparison(value: Any, op: str) -> bool:
    """Whether a value's class has a method of the program for a comparison."""
    return method_of(value, _name_of(op)) is not None or _negates_equal(value, op)


def compared_by_methods(op: str, a: Any, b: Any, compare: Callable[[str, Any, Any], Any]) -> Any:
    """``a op b`` by the methods of the operands, or those that are generated from fields; NotImplemented if none of them answers."""
    questions = [(op, a, b), (SWAPPED[op], b, a)]
    if type(b) is not type(a) and isinstance(b, type(a)):
        questions.reverse()
    answers = (_comparison(one, this, other, compare) for one, this, other in questions)
    return next((one for one in answers if one is not NotImplemented), NotImplemented)


def _comparison(op: str, this: Any, other: Any, compare: Callable[[str, Any, Any], Any]) -> Any:
    method = method_of(this, _name_of(op))
    if method is not None:
        return called_method(method, this, other)
    if _negates_equal(this, op):
        equal = called_method(method_of(this, "__eq__"), this, other)
        return equal if equal is NotImplemented else negated_bool(truth(equal))
    return compared(op, this, other, compare)


def _name_of(op: str) -> str:
    return f"__{COMPARE[op].__name__}__"


def _negates_equal(value: Any, op: str) -> bool:
    return op == "!=" and type(value).__ne__ is INHERITED_NE and method_of(value, "__eq__") is not None


def refused(op: str, a: Any, b: Any, apply: Callable[..., Any], function: Callable[[Any, Any], Any] | None = None) -> Any:
    """Raise what Python raises if all methods answer NotImplemented: `apply` gets objects without methods, of classes of those names."""
    given = () if function is None else (function,)
    return apply(op, _without_methods(op, a), _without_methods(op, b), *given)


def _without_methods(op: str, value: Any) -> Any:
    if isinstance(value, (PyNumber, *WORDED_BY_CLASS)):
        return value
    if not any(is_user_function(one) for base in type(value).__mro__ for one in vars(base).values()):
        fall_back(NeedsValue, f"{op} is not implemented for a {type(value).__name__}")
    return type(type(value).__name__, (), {})()
