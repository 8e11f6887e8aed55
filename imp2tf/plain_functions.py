"""Functions of the program that the run calls as plain Python, on threads of TensorFlow.

A function that the trace has made is converted code, which means nothing without a trace. What runs is the program's own code,
over the values that its variables have when it is given away.
"""
from __future__ import annotations

import types
from typing import Any

import tensorflow as tf

from imp2tf.errors import ForeignCall, fall_back
from imp2tf.purity import IMMUTABLE
from imp2tf.session import current
from imp2tf.values import StandIn

__all__ = ["plain_function", "plain_twin"]

CONSTANT = (*IMMUTABLE, type, types.ModuleType, types.BuiltinFunctionType)


def plain_function(function: Any) -> Any:
    """What the run may call in the place of a function of the trace; whatever else it is, it is older than the call."""
    if isinstance(function, types.MethodType) and current().is_born(function.__self__):
        return fall_back(ForeignCall, f"Python is given a method of a {type(function.__self__).__name__} made in this call")
    made = plain_twin(function)
    if made is not None:
        return made
    name = getattr(function, "__name__", type(function).__name__)
    return fall_back(ForeignCall, f"Python is given {name}, which uses what only this call knows")


def plain_twin(function: Any) -> Any:
    """The program's own code of a function that the trace has made, None if it uses more than constants and older variables."""
    if not getattr(function, "__imp2tf_converted__", False):
        return None if isinstance(function, types.FunctionType) and current().is_born(function) else function
    original: types.CodeType | None = getattr(function, "__imp2tf_code__", None)
    inner = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if original is None or not _is_constant((function.__defaults__, tuple((function.__kwdefaults__ or {}).values()))):
        return None
    found = [_plain_cell(name, inner, function.__imp2tf_cells__) for name in original.co_freevars]
    cells = [cell for cell in found if cell is not None]
    if len(cells) < len(found):
        return None
    made = types.FunctionType(original, function.__globals__, function.__name__, function.__defaults__, tuple(cells))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def _plain_cell(name: str, inner: dict[str, types.CellType], outer: dict[str, types.CellType]) -> types.CellType | None:
    if name not in inner:
        return outer.get(name)
    try:
        value = inner[name].cell_contents
    except ValueError:
        return None
    if getattr(value, "__imp2tf_converted__", False):
        value = plain_twin(value)
        return None if value is None else types.CellType(value)
    return types.CellType(value) if _is_constant(value) or _is_guarded(value) else None


def _is_guarded(value: Any) -> bool:
    """Whether a value is an older object of the program, which each call must then have there."""
    session = current()
    if session.is_born(value) or isinstance(value, (tf.Tensor, StandIn)) or id(value) not in session.sources:
        return False
    session.guard(session.sources[id(value)], "identity", value)
    return True


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, CONSTANT)
