"""Attributes of objects, looked up as Python does and read through the heap of the trace."""
from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over, raise_error, stripped
from imp2tf.arrays import TracedArray
from imp2tf.calls import call
from imp2tf.container_methods import ContainerMethod
from imp2tf.deferred_calls import method_of_deferred
from imp2tf.errors import ForeignCall, LostValue, NeedsValue, fall_back
from imp2tf.forcing import kept_class
from imp2tf.heap import view
from imp2tf.kinds import AS_PROGRAM, is_container, is_user_function
from imp2tf.lifting import lift
from imp2tf.links import LINKS, linked
from imp2tf.module_attributes import is_users_module, module_attribute
from imp2tf.object_fields import FieldsOf
from imp2tf.places import Attribute
from imp2tf.session import active, current
from imp2tf.sources import Member
from imp2tf.tf_compat import EagerTensor, is_symbolic_tensor
from imp2tf.values import LOST, UNBOUND, Deferred, PyNumber, StandIn, Union, is_variable

__all__ = ["AS_THEY_ARE", "bind_by", "class_attribute", "get_attribute", "has_attribute", "no_attribute"]

MISSING = object()
AS_THEY_ARE = (
    types.ModuleType, types.BuiltinFunctionType, types.MethodType, str, bytes, int, float, complex, type(None), tuple,
    tf.DType, tf.TensorShape, tf.Variable, np.ndarray, np.generic, functools.partial, range, slice, frozenset, types.GeneratorType,
    TracedArray,
)
LIBRARIES = frozenset({"tensorflow", "numpy", "keras", "builtins", "collections", "math", "functools", "threading", "contextlib", "io"})


def get_attribute(owner: Any, name: str, default: Any = MISSING) -> Any:
    """``owner.name``, or ``getattr(owner, name, default)``."""
    if active() is None:
        return getattr(owner, name) if default is MISSING else getattr(owner, name, default)
    if isinstance(owner, Union):
        return _of_union(owner, name, default)
    if isinstance(owner, PyNumber):
        return _of_number(owner, name)
    if isinstance(owner, Deferred):
        if name in OF_MEMORY and id(owner) in current().origins and kept_class(owner) is None:
            fall_back(NeedsValue, f".{name} of an array tells of its memory")
        return method_of_deferred(owner, name)
    if isinstance(owner, StandIn):
        return owner.attribute(name)
    if name == "numpy" and is_variable(owner):
        return Deferred(getattr, (tf.convert_to_tensor(owner), "numpy"))
    if isinstance(owner, tf.Tensor):
        return _of_tensor(owner, name, default)
    if is_container(owner) and not _has_own_fields(owner):
        return _of_container(owner, name, default)
    if isinstance(owner, super):
        return _of_super(owner, name, default)
    if isinstance(owner, AS_THEY_ARE) or (_is_library_object(owner) and not isinstance(owner, tf.Module)):
        return _plain(owner, name, default)
    return _of_class(owner, name, default) if isinstance(owner, type) else _of_object(owner, name, default)


DEFAULTS = ("__defaults__", "__kwdefaults__")
OF_MEMORY = frozenset({"__array_interface__", "__array_struct__", "base", "ctypes", "data", "flags"})


def _plain(owner: Any, name: str, default: Any) -> Any:
    if name == "__traceback__" and isinstance(owner, BaseException):
        fall_back(NeedsValue, "the traceback of an exception")
    if isinstance(owner, np.ndarray) and name in OF_MEMORY and not current().is_born(owner):
        fall_back(NeedsValue, f".{name} of an array tells of its memory")
    if is_users_module(owner):
        value = module_attribute(owner, name)
        if isinstance(value, Union) and default is not MISSING:
            value = over(value, lambda one: default if one is UNBOUND else one)
        elif isinstance(value, Union):
            value = stripped(value, UNBOUND, AttributeError(f"module {owner.__name__!r} has no attribute {name!r}"))
        if value is not UNBOUND:
            return value
    try:
        value = getattr(owner, name) if default is MISSING else getattr(owner, name, default)
    except AttributeError as error:
        return raise_error(error)
    if isinstance(owner, types.ModuleType) and isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
        current().source_of(value)  # a method of an object of the module, such as the one that `random.random` belongs to
    return value


def _is_library_object(owner: Any) -> bool:
    cls = owner if isinstance(owner, type) else type(owner)
    return cls.__module__.partition(".")[0] in LIBRARIES and not isinstance(owner, types.FunctionType) and cls not in AS_PROGRAM


def _of_union(owner: Union, name: str, default: Any) -> Any:
    if any(one is LOST for one in owner.alternatives):
        fall_back(LostValue, f"an object made anew in a branch or loop is asked for {name!r} after it")
    if default is MISSING and any(one is None for one in owner.alternatives):
        error = AttributeError(f"'NoneType' object has no attribute {name!r}", name=name, obj=None)
        return get_attribute(stripped(owner, None, error), name)
    return over(owner, lambda one: get_attribute(one, name, default))


def _of_number(owner: PyNumber, name: str) -> Any:
    if name == "real":
        return owner
    if name in ("numpy", "shape", "dtype"):
        return raise_error(AttributeError(f"'{owner.kind}' object has no attribute {name!r}"))
    return fall_back(NeedsValue, f".{name} of a run-time {owner.kind}")


GRAPH_ATTRIBUTES = ("backing_device", "consumers", "cpu", "device", "gpu", "graph", "name", "op", "ref", "value_index")


def _of_tensor(owner: tf.Tensor, name: str, default: Any) -> Any:
    if name == "numpy" and is_symbolic_tensor(owner):
        return Deferred(getattr, (owner, "numpy"))
    if name == "shape" and not owner.shape.is_fully_defined():
        fall_back(NeedsValue, "the static shape of a tensor whose shape only the run knows")
    if name == "__class__":
        fall_back(NeedsValue, "the class of a tensor")
    if name in GRAPH_ATTRIBUTES and is_symbolic_tensor(owner):
        fall_back(NeedsValue, f".{name} of a tensor")
    if default is MISSING and not hasattr(owner, name):
        raise_error(_missing_in_tensor(owner, name))
    return _plain(owner, name, default)


def _missing_in_tensor(owner: tf.Tensor, name: str) -> AttributeError:
    """What eager says of an attribute that tensors do not have: a tensor of the graph gives itself another class."""
    try:
        getattr(owner, name)
    except AttributeError as error:
        text = str(error).replace("'SymbolicTensor'", f"'{EagerTensor.__module__}.EagerTensor'")
        return AttributeError(text.replace("SymbolicTensor", "EagerTensor"), name=name)
    raise AssertionError(f"tensors have {name}")


def _has_own_fields(owner: Any) -> bool:
    """Whether a container is of a user's subclass with attributes or methods of its own."""
    return type(owner).__module__.partition(".")[0] not in LIBRARIES and type(owner).__name__ != "ListWrapper"


def _of_container(owner: Any, name: str, default: Any) -> Any:
    if not hasattr(owner, name):
        return _plain(owner, name, default)
    value = getattr(type(owner), name, None)
    return ContainerMethod(owner, name) if callable(value) else getattr(owner, name)


# ------------------------------------------------------------------------------------------------ objects
def class_attribute(cls: type, name: str) -> tuple[type, Any] | None:
    """The class of the hierarchy that holds an attribute, and the attribute."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base, base.__dict__[name]
        if active() is not None and not _is_library_object(base):
            value = view(Attribute(base, name))  # absent now, but it may be set in this call, or before the next
            if value is not UNBOUND:
                return base, value
    return None


def _of_object(owner: Any, name: str, default: Any) -> Any:
    cls, found = type(owner), class_attribute(type(owner), name)
    session = current()
    if not session.is_born(owner):
        session.guard(session.source_of(owner), "type", cls)
    hook = class_attribute(cls, "__getattribute__")
    if hook is not None and is_user_function(hook[1]):
        return call(hook[1], owner, name)
    if name == "__dict__":
        return FieldsOf(owner)
    if isinstance(owner, FieldsOf):
        return owner.method(name)
    if found is not None:
        if isinstance(found[1], property):
            return call(found[1].fget, owner)
        if isinstance(found[1], functools.cached_property):
            return _cached_property(owner, name, found[1])
        if name in DEFAULTS and isinstance(owner, types.FunctionType) and not session.is_born(owner):
            return lift(session, getattr(owner, name), Member(session.source_of(owner), name))
        if _is_foreign_descriptor(found[1]):
            getter = getattr(type(found[1]), "__get__", None)
            if is_user_function(getter):
                return call(getter, found[1], owner, cls)
            return linked(owner, name) if isinstance(owner, BaseException) and name in LINKS else _plain(owner, name, default)
    value = view(Attribute(owner, name))
    if isinstance(value, Union) and any(one is UNBOUND for one in value.alternatives):
        return over(value, lambda one: _not_in_instance(owner, name, default, found) if one is UNBOUND else one)
    return _not_in_instance(owner, name, default, found) if value is UNBOUND else value


def _not_in_instance(owner: Any, name: str, default: Any, found: tuple[type, Any] | None) -> Any:
    """The attribute of an object that does not hold it itself."""
    cls = type(owner)
    if found is not None and not isinstance(found[1], types.MemberDescriptorType):
        return _bound(owner, cls, found[0], name)
    return _missing(owner, cls, name, default)


def _instance_value(owner: Any, name: str) -> Any:
    value = view(Attribute(owner, name))
    if isinstance(value, Union) and any(one is UNBOUND for one in value.alternatives):
        return stripped(value, UNBOUND, no_attribute(owner, name))
    return value


def no_attribute(owner: Any, name: str) -> AttributeError:
    kind = f"type object {owner.__name__!r}" if isinstance(owner, type) else f"{type(owner).__name__!r} object"
    return AttributeError(f"{kind} has no attribute {name!r}", name=name, obj=owner)


def _is_foreign_descriptor(value: Any) -> bool:
    """A data descriptor that is neither a property nor a slot."""
    return hasattr(type(value), "__set__") and not isinstance(value, (types.MemberDescriptorType, types.FunctionType))


def _cached_property(owner: Any, name: str, found: functools.cached_property[Any]) -> Any:
    value = _instance_value(owner, name)
    if value is UNBOUND:
        value = call(found.func, owner)
        current().write(Attribute(owner, name), value)
    return value


def _bound(owner: Any, cls: type, holder: type, name: str) -> Any:
    """A class attribute as its instance sees it."""
    value = view(Attribute(holder, name))
    if isinstance(value, Union):
        return over(value, lambda one: _bind(one, owner, cls))
    return _bind(value, owner, cls)


def _of_super(owner: Any, name: str, default: Any) -> Any:
    """``super().name``: what a class after that of the method has, as the object of the method sees it."""
    me, cls = owner.__self__, owner.__self_class__
    for base in cls.__mro__[cls.__mro__.index(owner.__thisclass__) + 1:]:
        if name not in base.__dict__:
            continue
        value = base.__dict__[name]
        if isinstance(value, property) and me is not cls:
            return call(value.fget, me)
        if isinstance(value, functools.cached_property) and me is not cls:
            return _cached_property(me, name, value)
        if isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)) and me is not cls:
            found = class_attribute(cls, name)
            is_hidden = found is not None and found[1] is not value and name != "__dict__"
            return fall_back(ForeignCall, f"super().{name}") if is_hidden else _of_object(me, name, default)
        is_ours = not _is_library_object(base) and not isinstance(value, types.BuiltinFunctionType)
        return _bound(None if me is cls else me, cls, base, name) if is_ours else _plain(owner, name, default)
    return _plain(owner, name, default)


_binders: dict[type, Callable[[Any, Any, type], Any]] = {}


def bind_by(kind: type) -> Callable[[Callable[[Any, Any, type], Any]], Callable[[Any, Any, type], Any]]:
    """Inside a trace, class attributes of this kind are bound to objects by the decorated function."""

    def register(bind: Callable[[Any, Any, type], Any]) -> Callable[[Any, Any, type], Any]:
        _binders[kind] = bind
        return bind

    return register


def _bind(value: Any, owner: Any, cls: type) -> Any:
    if isinstance(value, types.FunctionType):
        return value if owner is None else types.MethodType(value, owner)
    get = _binders.get(type(value)) or getattr(type(value), "__get__", None)
    if is_user_function(get):
        return call(get, value, owner, cls)
    return value if get is None else get(value, owner, cls)


def _missing(owner: Any, cls: type, name: str, default: Any) -> Any:
    hook = class_attribute(cls, "__getattr__")
    if hook is not None and is_user_function(hook[1]):
        return call(hook[1], owner, name) if default is MISSING else _hooked_default(name, default, hook[1])
    if hook is not None or name.startswith("__"):
        return _plain(owner, name, default)
    return raise_error(no_attribute(owner, name)) if default is MISSING else default


def _hooked_default(name: str, default: Any, hook: types.FunctionType) -> Any:
    return fall_back(ForeignCall, f"getattr with a default on an object with __getattr__ ({name!r}, {default!r}, {hook.__name__})")


def _of_class(owner: type, name: str, default: Any) -> Any:
    found = class_attribute(owner, name)
    meta = class_attribute(type(owner), name)
    if found is None or (meta is not None and hasattr(type(meta[1]), "__set__")):
        return _plain(owner, name, default)
    getter = getattr(type(found[1]), "__get__", None)
    if getter is not None and not isinstance(found[1], types.FunctionType):
        view(Attribute(found[0], name))
        if is_user_function(getter):
            return call(getter, found[1], None, owner)
        return getattr(owner, name)
    return _bound(None, owner, found[0], name)


def has_attribute(owner: Any, name: str) -> Any:
    """``hasattr(owner, name)``."""
    if isinstance(owner, Union):
        return over(owner, lambda one: has_attribute(one, name))
    if active() is not None and is_users_module(owner) and not name.startswith("__") and "__getattr__" not in vars(owner):
        return _is_present(module_attribute(owner, name))
    if active() is None or isinstance(owner, (tf.Tensor, *AS_THEY_ARE)) or is_container(owner):
        return hasattr(owner, name)
    if not isinstance(owner, type) and class_attribute(type(owner), "__getattr__") is not None:
        fall_back(ForeignCall, "hasattr on an object with __getattr__")
    if isinstance(owner, StandIn):
        owner.refuse()
    value = view(Attribute(owner, name)) if not isinstance(owner, (PyNumber, Deferred)) else UNBOUND
    present = _is_present(value)
    if isinstance(present, PyNumber):
        return present
    return present or class_attribute(type(owner) if not isinstance(owner, type) else owner, name) is not None


def _is_present(value: Any) -> Any:
    """Whether a place holds something: a bool, or a run-time one."""
    if isinstance(value, Union) and any(one is UNBOUND for one in value.alternatives):
        return PyNumber("bool", tf.gather(tf.constant([one is not UNBOUND for one in value.alternatives]), value.tag))
    return value is not UNBOUND
