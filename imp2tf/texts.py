"""Values as library code can word them, now or after the run: what is in them then is what the program saw.

The text of an object tells its fields. They are read as the program reads them, and a copy that nobody changes stands for the
object. Where the user wrote ``__repr__``, its text is made by converted code.
"""
from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

from imp2tf.alternatives import over
from imp2tf.arithmetic import holds_runtime, run_operation
from imp2tf.attributes import get_attribute
from imp2tf.calls import call
from imp2tf.errors import Contents, NeedsValue, fall_back
from imp2tf.heap import contents, has_written_fields
from imp2tf.kinds import is_container, is_user_function
from imp2tf.links import new_exception, noted_by_class, set_noted
from imp2tf.lowering import same_mapping
from imp2tf.session import current
from imp2tf.values import Deferred, Growable, StandIn, Table, Union, is_variable

__all__ = ["argument", "has_own_text", "operand", "settled", "text_of"]


def text_of(function: Callable[..., str], value: Any, *args: Any) -> Any:
    """``str(value)`` or ``repr(value)``."""
    if isinstance(value, Union):
        return over(value, lambda one: text_of(function, one, *args))
    for name in ("__str__", "__repr__") if function is str else ("__repr__",):
        method = getattr(type(value), name, None)
        if is_user_function(method):
            return call(method, value)
        if method is not None and name in vars(type(value)):
            break  # the class has a text of its own, made by generated code
    value = settled(value)
    return Deferred(function, (value, *args)) if holds_runtime(value) else run_operation(function, value, *args)


def has_own_text(value: Any) -> bool:
    """Whether the user's code words a value."""
    return any(is_user_function(getattr(type(value), name, None)) for name in ("__str__", "__repr__"))


def settled(value: Any, at_once: bool = False, inside: bool = False) -> Any:
    """A value to be worded: its containers and objects are copies. `at_once`: by a call of Python that stands here in the program."""
    if isinstance(value, Union):
        return over(value, lambda one: settled(one, at_once, inside)) if any(map(_has_fields, value.alternatives)) else value
    if isinstance(value, StandIn):
        value.refuse()
    if is_variable(value) and not at_once:
        fall_back(NeedsValue, f"the text of a {type(value).__name__} tells its state")
    if inside and is_user_function(getattr(type(value), "__repr__", None)):
        return _worded(text_of(repr, value))
    if is_container(value):
        return _settled_container(value, at_once)
    if isinstance(value, tuple) and value:
        items = [settled(item, at_once, inside=True) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    if isinstance(value, BaseException) and not current().is_born(value):
        fall_back(NeedsValue, "the text of an exception that an earlier call has kept")
    if isinstance(value, BaseException) and holds_runtime(value.args):
        noted = noted_by_class(value)
        parts = [settled(one, at_once, inside=True) for one in (*noted.values(), *value.args)]
        return Deferred(_exception, (type(value), tuple(noted), *parts))
    return _settled_object(value, at_once)


def argument(value: Any) -> Any:
    """As `settled`, for an argument of a method of text: ``'%s'`` asks for another text than a list would."""
    if not has_own_text(value):
        return settled(value)
    if is_user_function(getattr(type(value), "__format__", None)):
        fall_back(NeedsValue, f"the text of a {type(value).__name__} with a format of its own")
    return _worded(text_of(repr, value), text_of(str, value) if is_user_function(getattr(type(value), "__str__", None)) else None)


def operand(value: Any) -> Any:
    """What stands behind ``%``: a tuple or dict of arguments, or a single one."""
    if type(value) is tuple:
        return tuple(map(argument, value))
    if isinstance(value, dict):
        return current().born({key: argument(item) for key, item in contents(value).items()})
    return argument(value)


def _worded(*texts: Any) -> Any:
    return Deferred(Worded, texts) if holds_runtime(texts) else Worded(*texts)


def _settled_container(value: Any, at_once: bool) -> Any:
    found = contents(value)
    if isinstance(found, (Growable, Table, Union)):
        fall_back(Contents, "library code needs the contents of a container of run-time length")
    if isinstance(found, dict):
        items = {settled(key, at_once, inside=True): settled(item, at_once, inside=True) for key, item in found.items()}
        return current().born(same_mapping(value, items))
    if isinstance(found, set):
        return current().born({settled(item, at_once, inside=True) for item in found})
    made = [settled(item, at_once, inside=True) for item in found]
    return current().born(made if isinstance(value, list) else type(value)(made, value.maxlen))


def _settled_object(value: Any, at_once: bool) -> Any:
    names = _fields_shown(value)
    if names is None:
        if has_written_fields(value):
            fall_back(NeedsValue, f"the text of a {type(value).__name__} that this call changes")
        return value
    parts = [settled(get_attribute(value, name), at_once, inside=True) for name in names]
    if holds_runtime(parts):
        return Deferred(_object, (type(value), names, *parts))
    return current().born(_object(type(value), names, *parts))


def _has_fields(value: Any) -> bool:
    return is_container(value) or isinstance(value, tuple) or has_own_text(value) or _fields_shown(value) is not None


def _fields_shown(value: Any) -> tuple[str, ...] | None:
    """The fields in the text of an object whose class has a generated one."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value) if field.repr)
    if hasattr(type(value), "__attrs_attrs__"):
        return tuple(field.name for field in type(value).__attrs_attrs__ if field.repr)
    if isinstance(value, types.SimpleNamespace):
        return tuple(vars(value)) if current().is_born(value) else fall_back(NeedsValue, "the text of a SimpleNamespace made elsewhere")
    return None


class Worded:
    """Stands for an object whose texts are known."""

    def __init__(self, text: str, shown: str | None = None) -> None:
        self.text = text
        self.shown = text if shown is None else shown

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.shown


def _object(cls: type, names: tuple[str, ...], *values: Any) -> Any:
    if issubclass(cls, types.SimpleNamespace):
        return cls(**dict(zip(names, values, strict=True)))
    made = cls.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _exception(cls: type[BaseException], noted: tuple[str, ...], *parts: Any) -> BaseException:
    made: BaseException = new_exception(cls, parts[len(noted):])
    set_noted(made, dict(zip(noted, parts, strict=False)))
    return made
