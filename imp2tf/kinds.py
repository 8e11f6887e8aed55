"""What kind of Python value something is to a trace: a literal, a container, the user's own, or known by its identity."""
from __future__ import annotations

import collections
import enum
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import is_library_file

__all__ = [
    "AS_PROGRAM", "BY_IDENTITY", "LITERALS", "METHODS", "by_identity", "is_container", "is_drop_in", "is_user_function",
    "is_users_iterable", "known_by_identity",
]

LITERALS = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis), type(NotImplemented), slice, range)
BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, tf.DType, np.ufunc, enum.Enum)
METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
           types.ClassMethodDescriptorType, staticmethod, classmethod)
CONTAINERS = (list, dict, set, collections.deque)
# Classes of the standard library that are plain Python over lists and dicts: their methods are converted like the program's.
AS_PROGRAM: tuple[Any, ...] = (collections.ChainMap, collections.UserDict, collections.UserList)
by_identity: list[type] = []


def known_by_identity(cls: type) -> None:
    """Objects of this class are the same ones at every call, and not told apart by what they hold."""
    by_identity.append(cls)


def is_user_function(value: object) -> bool:
    """Whether `value` is a Python function of the user's program."""
    if not isinstance(value, types.FunctionType):
        return False
    name = value.__code__.co_filename
    return (not is_library_file(name) and name != "<string>") or value.__code__ in _CODES  # "<string>": what dataclasses generate


def _codes() -> Iterator[types.CodeType]:
    for cls in AS_PROGRAM:
        for member in vars(cls).values():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(function, types.FunctionType):
                yield function.__code__
    for name, function in vars(functools).items():
        if isinstance(function, types.FunctionType) and "_from_" in name:  # the methods that `total_ordering` adds
            yield function.__code__


_CODES = frozenset(_codes())


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
