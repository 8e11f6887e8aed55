"""What ``dataclasses`` generates, done as the program's own code would do it: fields are read and written through the heap.

    P(x) == P(y)              -->   (x,) == (y,)
    dataclasses.replace(p, a=x)   -->   P(a=x, b=p.b)
"""
from __future__ import annotations

import argparse
import dataclasses
import inspect
import types
from collections.abc import Callable
from typing import Any

from imp2tf.alternatives import raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.attribute_writes import set_attribute, store_attribute
from imp2tf.attributes import get_attribute
from imp2tf.calls import call
from imp2tf.kinds import is_user_function
from imp2tf.object_fields import fields_of_object
from imp2tf.purity import has_plain_new
from imp2tf.python_numbers import COMPARE
from imp2tf.session import current

__all__ = ["compared", "constructed", "field_names", "is_generated", "makes_by_fields"]

GENERATED = "<string>"
NAMESPACES = (types.SimpleNamespace, argparse.Namespace)  # equal if their fields are


def is_generated(method: Any) -> bool:
    """Whether a method was made from a class's fields."""
    return isinstance(method, types.FunctionType) and method.__code__.co_filename == GENERATED


def _owner_of(cls: Any, name: str) -> Any:
    """The class that a method of `cls` is defined in, if it was generated there from fields."""
    owner = next((base for base in cls.__mro__ if name in base.__dict__), None)
    return owner if owner is not None and "__dataclass_fields__" in owner.__dict__ and is_generated(owner.__dict__[name]) else None


def field_names(cls: Any, counts: Callable[[Any], bool] = lambda field: True) -> list[str]:
    """The fields of a dataclass that count."""
    return [field.name for field in dataclasses.fields(cls) if counts(field)]


def compared(op: str, a: Any, b: Any, compare: Callable[[str, Any, Any], Any]) -> Any:
    """``a op b`` by a generated method of `a`'s class; NotImplemented where there is none, or it does not compare with `b`."""
    if op in ("==", "!=") and any(isinstance(a, kind) and isinstance(b, kind) for kind in NAMESPACES):
        return compare(op, *(current().born(fields_of_object(one)) for one in (a, b)))
    owner = _owner_of(type(a), f"__{COMPARE[op].__name__}__" if op != "!=" else "__eq__")
    if owner is None or type(b) is not type(a):
        return NotImplemented
    names = field_names(owner, lambda field: field.compare)
    return compare(op, tuple(get_attribute(a, name) for name in names), tuple(get_attribute(b, name) for name in names))


def makes_by_fields(cls: Any) -> bool:
    """Whether objects of a class are made by a generated ``__init__`` that calls code of the program."""
    owner = _owner_of(cls, "__init__") if dataclasses.is_dataclass(cls) and has_plain_new(cls) else None
    if owner is None:
        return False
    factories = [field.default_factory for field in owner.__dataclass_fields__.values() if field.default_factory is not dataclasses.MISSING]
    return hasattr(cls, "__post_init__") or is_user_function(cls.__setattr__) or any(
        is_user_function(one) or is_user_function(getattr(one, "__init__", None)) for one in factories)


def constructed(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``cls(*args, **kwargs)`` of such a class."""
    made = current().born(object.__new__(cls))
    given = run_operation(inspect.signature(cls.__init__).bind, made, *args, **kwargs).arguments
    put = store_attribute if cls.__dataclass_params__.frozen else set_attribute
    passed = []
    for field in _owner_of(cls, "__init__").__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_CLASSVAR" or not (field.init or field.default_factory is not dataclasses.MISSING):
            continue
        if field.name in given and field.init:
            value = given[field.name]
        else:
            value = call(field.default_factory) if field.default_factory is not dataclasses.MISSING else field.default
        if kind == "_FIELD_INITVAR":
            passed.append(value)
        else:
            put(made, field.name, value)
    if hasattr(cls, "__post_init__"):
        call(get_attribute(made, "__post_init__"), *passed)
    return made


def replaced(value: Any, changes: dict[str, Any]) -> Any:
    """``dataclasses.replace(value, **changes)``."""
    fields = dict(changes)
    for field in type(value).__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_CLASSVAR":
            continue
        if not field.init:
            if field.name in fields:
                raise_error(ValueError(f"field {field.name} is declared with init=False, it cannot be specified with replace()"))
        elif field.name not in fields:
            if kind == "_FIELD_INITVAR" and field.default is dataclasses.MISSING:
                raise_error(ValueError(f"InitVar {field.name!r} must be specified with replace()"))
            if kind != "_FIELD_INITVAR":
                fields[field.name] = get_attribute(value, field.name)
    return call(type(value), **fields)
