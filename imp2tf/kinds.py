"""What kind of Python value something is to a trace: a literal, a container, the user's own, or known by its identity."""
from __future__ import annotations

import collections
import enum
import types
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import is_library_file

__all__ = [
    "BY_IDENTITY", "LITERALS", "METHODS", "by_identity", "is_container", "is_drop_in", "is_user_function", "is_users_iterable",
    "known_by_identity",
]

LITERALS = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis), type(NotImplemented), slice, range)
BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, tf.DType, np.ufunc, enum.Enum)
METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
           types.ClassMethodDescriptorType, staticmethod, classmethod)
CONTAINERS = (list, dict, set, collections.deque)
by_identity: list[type] = []


def known_by_identity(cls: type) -> None:
    """Objects of this class are the same ones at every call, and not told apart by what they hold."""
    by_identity.append(cls)


def is_user_function(value: object) -> bool:
    """Whether `value` is a Python function of the user's program."""
    return isinstance(value, types.FunctionType) and not is_library_file(value.__code__.co_filename) and (
        value.__code__.co_filename != "<string>")  # what dataclasses and namedtuples generate


def is_users_iterable(value: Any) -> bool:
    """Whether code of the program says what the items of an object are."""
    method = getattr(type(value), "__iter__", None)
    return is_user_function(method or getattr(type(value), "__getitem__", None))


def is_drop_in(value: object) -> bool:
    """Whether `value` is a converted function, which stands for a plain one."""
    return hasattr(type(value), "__imp2tf_function__")


def is_container(value: object) -> bool:
    """Whether `value` is a mutable container whose elements the journal keeps."""
    return isinstance(value, CONTAINERS)
