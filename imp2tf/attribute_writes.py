"""Attributes set and deleted as Python does it: hooks, properties, slots, frozen classes, and what refuses."""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, stripped
from imp2tf.arithmetic import run_operation
from imp2tf.attributes import AS_THEY_ARE, class_attribute, no_attribute
from imp2tf.calls import call
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.heap import view
from imp2tf.kinds import is_container, is_user_function
from imp2tf.module_attributes import is_users_module, set_module_attribute
from imp2tf.places import Attribute
from imp2tf.session import active, current
from imp2tf.values import UNBOUND, Deferred, PyNumber, StandIn, Union

__all__ = ["delete_attribute", "keep_as", "remove_attribute", "set_attribute", "store_attribute"]


# ------------------------------------------------------------------------------------------------ writing
def set_attribute(owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``."""
    if active() is None:
        setattr(owner, name, value)
        return
    if isinstance(owner, Union):
        over(owner, lambda one: set_attribute(one, name, value))
        return
    if isinstance(owner, StandIn):
        owner.refuse()
    hook = class_attribute(type(owner), "__setattr__")
    if hook is not None and is_user_function(hook[1]):
        call(hook[1], owner, name, value)
    elif _is_frozen(owner):
        _refused(owner, name, value)
    else:
        store_attribute(owner, name, value)


_kept_as: list[tuple[type, Callable[[Any], Any]]] = []


def keep_as(cls: type, transform: Callable[[Any], Any]) -> None:
    """Objects of a library class keep `transform(value)` of what is assigned to their attributes."""
    _kept_as.append((cls, transform))


def store_attribute(owner: Any, name: str, value: Any) -> None:
    """``object.__setattr__(owner, name, value)``: past a hook of the class."""
    for cls, transform in _kept_as:
        if isinstance(owner, cls):
            value = transform(value)
    found = class_attribute(type(owner), name)
    if found is not None and isinstance(found[1], property):
        setter = found[1].fset
        if setter is None:
            raise_error(_refusal(owner, name, value))
        call(setter, owner, value)
        return
    setter = getattr(type(found[1]), "__set__", None) if found is not None else None
    if found is not None and is_user_function(setter):
        call(setter, found[1], owner, value)
        return
    if is_users_module(owner):
        set_module_attribute(owner, name, value)
        return
    if _refuses_attributes(owner, found):
        _refused(owner, name, value)
    current().write(Attribute(owner, name), value)


def _refusal(owner: Any, name: str, value: Any) -> BaseException:
    try:
        setattr(owner, name, value)
    except AttributeError as error:
        return error
    return AttributeError(name)


def _refuses_attributes(owner: Any, found: tuple[type, Any] | None) -> bool:
    if isinstance(owner, (tf.Tensor, PyNumber, Deferred, *AS_THEY_ARE)) or is_container(owner):
        return True
    if found is not None and hasattr(type(found[1]), "__set__"):
        return not isinstance(found[1], types.MemberDescriptorType)
    return not hasattr(owner, "__dict__") and found is None


def _is_frozen(owner: Any) -> bool:
    frozen = getattr(type(owner), "__dataclass_params__", None)
    return frozen is not None and bool(frozen.frozen)


def _refused(owner: Any, name: str, value: Any) -> None:
    """Objects that take no attributes say so themselves; others have effects of their own."""
    if isinstance(owner, (int, float, str, bytes, tuple)) or _is_frozen(owner) or not hasattr(owner, "__dict__"):
        run_operation(setattr, owner, name, value)
    fall_back(ForeignCall, f"setting {name!r} of a {type(owner).__name__}")


def delete_attribute(owner: Any, name: str) -> None:
    """``del owner.name``."""
    if active() is None:
        delattr(owner, name)
        return
    if isinstance(owner, Union):
        over(owner, lambda one: delete_attribute(one, name))
        return
    if isinstance(owner, StandIn):
        owner.refuse()
    hook = class_attribute(type(owner), "__delattr__")
    if hook is not None and is_user_function(hook[1]):
        call(hook[1], owner, name)
    else:
        remove_attribute(owner, name)


def remove_attribute(owner: Any, name: str) -> None:
    """``object.__delattr__(owner, name)``: past a hook of the class."""
    found = class_attribute(type(owner), name)
    deleter = getattr(type(found[1]), "__delete__", None) if found is not None else None
    if found is not None and isinstance(found[1], property) and found[1].fdel is not None:
        call(found[1].fdel, owner)
        return
    if found is not None and is_user_function(deleter):
        call(deleter, found[1], owner)
        return
    if _refuses_attributes(owner, found):
        fall_back(ForeignCall, f"deleting {name!r} of a {type(owner).__name__}")
    place = Attribute(owner, name)
    value = view(place)
    if isinstance(value, Union):
        stripped(value, UNBOUND, no_attribute(owner, name))
    elif value is UNBOUND:
        raise_error(AttributeError(*_deletion_error(owner, name).args))
    current().write(place, UNBOUND)


def _deletion_error(owner: Any, name: str) -> AttributeError:
    """This Python's own wording, from another class or object of that name."""
    try:
        delattr(type(owner.__name__, (), {}) if isinstance(owner, type) else type(type(owner).__name__, (), {})(), name)
    except AttributeError as error:
        return error
    return AttributeError(name)
