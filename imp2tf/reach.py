"""What a call of library code can see and change: what can be reached from its arguments.

Library code knows the program's data only by what it is given, or was given before. Where the way leads to code of the program,
that may do anything.
"""
from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import is_library_file

__all__ = ["reach_of"]

MOST_OBJECTS = 4000
LEAVES = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), range, np.generic, np.dtype, types.ModuleType, types.CodeType,
          types.BuiltinFunctionType, tf.DType, tf.TensorShape, tf.Tensor, weakref.ref, bytearray)


def reach_of(values: Sequence[Any]) -> dict[int, Any] | None:
    """The mutable objects that can be reached from `values`, by id; None if code of the program can, or too much."""
    found: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in found or isinstance(value, LEAVES):
            continue
        if len(found) > MOST_OBJECTS or _may_run_user_code(value):
            return None
        found[id(value)] = value
        if isinstance(value, np.ndarray):
            if value.base is not None:
                waiting.append(value.base)
        elif isinstance(value, types.FunctionType):
            waiting.extend(value.__defaults__ or ())
            waiting.extend(value.__closure__ or ())
        elif not isinstance(value, type):
            waiting.extend(one for one in gc.get_referents(value) if one is not type(value))
    return found


def _may_run_user_code(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return not is_library_file(value.__code__.co_filename)
    if isinstance(value, types.GeneratorType):
        return not is_library_file(value.gi_code.co_filename)
    if isinstance(value, (tf.Variable, tf.Module)):
        return True
    return not _is_library_class(value if isinstance(value, type) else type(value))


def _is_library_class(cls: type) -> bool:
    """Whether a class, with its bases, comes with Python or an installed package."""
    return all(_is_library_module(base.__module__) for base in cls.__mro__)


def _is_library_module(name: str) -> bool:
    if name.partition(".")[0] in sys.stdlib_module_names:
        return name != "__main__"
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and (is_library_file(file) or not file.endswith(".py"))
