"""Objects of the program as keys of dicts and elements of sets.

While tracing, Python looks a key up by the class's own ``__hash__`` and ``__eq__``, on the objects as they are. That is what the program
does where the class compares by identity, as built-in classes do, or by fields that do not change. Other keys are left to Python.
"""
from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import types
from collections.abc import Iterable
from typing import Any

from imp2tf.errors import ForeignCall, fall_back
from imp2tf.heap import view
from imp2tf.places import Attribute
from imp2tf.session import Session, current
from imp2tf.values import is_runtime

__all__ = ["as_key", "check_keys"]

READING = frozenset({"hash", "isinstance", "type", "tuple", "str", "repr", "int", "float", "bool", "len", "frozenset", "sorted",
                     "NotImplemented"})
WRITING = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR", "STORE_NAME", "DELETE", "IMPORT", "YIELD", "RAISE", "MAKE_FUNCTION")
FIELDS = (str, bytes, bool, int, float, complex, type(None), frozenset, type, types.FunctionType, enum.Enum)


def as_key(key: Any) -> Any:
    """A key, after `check_keys`."""
    check_keys((key,))
    return key


def check_keys(keys: Iterable[Any]) -> None:
    """Make sure that Python finds these keys while tracing as the program will."""
    session = current()
    for key in keys:
        if is_runtime(key):
            continue
        if not _compares_as_python(type(key)):
            _check_fields(session, key)
        elif type(key) is tuple:
            check_keys(key)


_plain: dict[type, bool] = {}


def _compares_as_python(cls: type) -> bool:
    known = _plain.get(cls)
    if known is None:
        methods = (getattr(cls, name, None) for name in ("__eq__", "__hash__"))
        known = issubclass(cls, enum.Enum) or not any(isinstance(method, types.FunctionType) for method in methods)
        known = _plain[cls] = known or cls.__module__.partition(".")[0] in ("tensorflow", "keras", "numpy")
    return known


def _check_fields(session: Session, key: Any) -> None:
    """A key is compared by its fields: they are constants of the trace, and stay as they are."""
    if id(key) in session.keys_of_dicts:
        return
    cls = type(key)
    if not (_is_frozen(cls) or all(_only_reads(getattr(cls, name)) for name in ("__eq__", "__hash__"))):
        fall_back(ForeignCall, f"a {cls.__name__} is a key of a dict or set, whose __eq__ or __hash__ may have effects")
    if not hasattr(key, "__dict__") or any(_is_written(session, key, name) for name in vars(key)):
        fall_back(ForeignCall, f"a {cls.__name__} is a key of a dict or set, and its fields are not known")
    fields = {name: view(Attribute(key, name)) for name in vars(key)}
    if not all(_is_constant(value) for value in fields.values()):
        fall_back(ForeignCall, f"a {cls.__name__} is a key of a dict or set, and its fields may change")
    session.keys_of_dicts.add(id(key))
    session.kept.append(key)


def _is_written(session: Session, key: Any, name: str) -> bool:
    return not session.is_born(key) and session.is_written(Attribute(key, name))


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, FIELDS) and not is_runtime(value)


def _is_frozen(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__eq__.__code__.co_filename == "<string>"


def _only_reads(method: Any) -> bool:
    """Whether a method is seen to do nothing but read."""
    if not isinstance(method, types.FunctionType):
        return True
    for step in dis.get_instructions(method):
        if step.opname.startswith(WRITING):
            return False
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and not _is_harmless(method, str(step.argval)):
            return False
        if step.opname == "LOAD_METHOD":
            return False
        if step.opname == "LOAD_DEREF" and not isinstance(_in_cell(method, str(step.argval)), type):
            return False
    return True


def _is_harmless(method: types.FunctionType, name: str) -> bool:
    found = method.__globals__.get(name, getattr(builtins, name, None))
    return isinstance(found, type) or (name in READING and found is getattr(builtins, name, None))


def _in_cell(method: types.FunctionType, name: str) -> Any:
    cells = dict(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents
    except (KeyError, ValueError):
        return None
