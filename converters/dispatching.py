"""Functions that choose by the class of their argument: ``functools.singledispatch`` and ``singledispatchmethod``.

    area(shape)   -->   area.dispatch(type(shape))(shape)
"""
from __future__ import annotations

import functools
from typing import Any

from imp2tf.alternatives import over, raise_error
from imp2tf.attributes import bind_by
from imp2tf.calls import call, replace_call, replace_calls_of_code
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.session import current
from imp2tf.sources import Length, Member
from imp2tf.tf_compat import EagerTensor, is_symbolic_tensor
from imp2tf.values import NUMBER_TYPES, Deferred, PyNumber, StandIn, Union


def _class_of(value: Any) -> Any:
    if isinstance(value, PyNumber):
        return NUMBER_TYPES[value.kind]
    if isinstance(value, StandIn):
        value.refuse()
    if isinstance(value, Deferred):
        fall_back(NeedsValue, f"the class of {value!r}")
    return EagerTensor if is_symbolic_tensor(value) else value.__class__


def _chosen(function: Any, args: tuple[Any, ...], told: str) -> Any:
    """The implementation for the first argument; what is registered is guarded by number."""
    if not args:
        raise_error(TypeError(f"{told} requires at least 1 positional argument"))
    session = current()
    if not session.is_born(function):
        session.guard(Length(Member(session.source_of(function), "registry")), "literal", len(function.registry))
    return function.dispatch(_class_of(args[0]))


@replace_calls_of_code(functools.singledispatch(lambda value: value).__code__)  # type: ignore[attr-defined]
def dispatched(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function under ``functools.singledispatch``."""
    if args and isinstance(args[0], Union):
        return over(args[0], lambda one: dispatched(function, one, *args[1:], **kwargs))
    return call(_chosen(function, args, getattr(function, "__name__", "singledispatch function")), *args, **kwargs)


def _dispatched_method(found: Any, owner: Any, cls: type, /, *args: Any, **kwargs: Any) -> Any:
    if args and isinstance(args[0], Union):
        return over(args[0], lambda one: _dispatched_method(found, owner, cls, one, *args[1:], **kwargs))
    method = _chosen(found.dispatcher, args, getattr(found.func, "__name__", "singledispatchmethod method"))
    return call(method.__get__(owner, cls), *args, **kwargs)


replace_call(_dispatched_method)(_dispatched_method)


@bind_by(functools.singledispatchmethod)
def bound(found: Any, owner: Any, cls: type) -> Any:
    """``owner.method`` of such a method."""
    return functools.partial(_dispatched_method, found, owner, cls)
