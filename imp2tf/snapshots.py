"""What a value is at one moment, so that it can be compared and carried after the heap has been rolled back.

Containers and objects born inside a region are described by their elements; those that are older stay references.
"""
from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from imp2tf.heap import contents, is_container
from imp2tf.purity import has_plain_new
from imp2tf.session import current
from imp2tf.values import LOST, Deferred, Growable, PyNumber, Union

__all__ = ["Snapshot", "fields_of", "freeze", "is_record", "seal", "shares_objects"]

MAX_DEPTH = 8


class Snapshot:
    """A container or object and, if it was born inside the region, its elements or fields.

    `inner` tells whether it was; `elements` is a list, dict, set or `Growable`, for an object its fields by name.
    """

    __slots__ = ("elements", "inner", "value")

    def __init__(self, value: Any, elements: Any, inner: bool) -> None:
        self.value = value
        self.elements = elements
        self.inner = inner

    def __repr__(self) -> str:
        return f"<{'inner' if self.inner else 'outer'} {type(self.value).__name__} {self.elements!r}>"


def freeze(value: Any, depth: int | None = None, level: int = 0) -> Any:
    """`value` as it is now. Objects born at log depth `depth` or deeper are described by their elements."""
    session = current()
    if depth is None:
        depth = session.depth + 1
    inner = session.birth_depth(value) >= depth
    if is_container(value):
        return _container(value, depth, inner, level)
    if isinstance(value, tuple) and value:
        return _rebuilt(value, [freeze(item, depth, level + 1) for item in value])
    if isinstance(value, Deferred):
        return Deferred(value.function, [freeze(arg, depth, level + 1) for arg in value.args],
                        {name: freeze(arg, depth, level + 1) for name, arg in value.kwargs.items()})
    if isinstance(value, Union):
        return Union(value.tag, [freeze(one, depth, level + 1) for one in value.alternatives])
    if not inner or isinstance(value, (tf.Tensor, PyNumber, Growable)):
        return value
    return _inner_object(value, depth, level)


def _rebuilt(value: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)


def _container(value: Any, depth: int, inner: bool, level: int) -> Any:
    if not inner:
        return Snapshot(value, None, inner=False)
    if level > MAX_DEPTH:
        return LOST
    return Snapshot(value, frozen_elements(contents(value), depth, level), inner=True)


def frozen_elements(found: Any, depth: int, level: int = 0) -> Any:
    """The elements of a container, frozen."""
    if isinstance(found, list):
        return [freeze(item, depth, level + 1) for item in found]
    if isinstance(found, dict):
        return {key: freeze(item, depth, level + 1) for key, item in found.items()}
    return found


def _inner_object(value: Any, depth: int, level: int) -> Any:
    if isinstance(value, types.FunctionType):
        return value if _cells_are_older(value, depth) else LOST
    if isinstance(value, tf.__internal__.CompositeTensor):
        return value
    if level > MAX_DEPTH or not is_record(value):
        return LOST
    return Snapshot(value, {name: freeze(field, depth, level + 1) for name, field in fields_of(value).items()}, inner=True)


def fields_of(record: Any) -> dict[str, Any]:
    """What an object holds, by name; of an exception also its cause, if it was given one."""
    if isinstance(record, BaseException) and record.__suppress_context__:
        return {**record.__dict__, "__cause__": record.__cause__}
    return record.__dict__


def _cells_are_older(function: types.FunctionType, depth: int) -> bool:
    """Whether a function made in a region closes over nothing that the region made."""
    session = current()
    return all(session.birth_depth(cell) < depth for cell in function.__closure__ or ())


def seal(frozen: Any) -> None:
    """What stands in a list of run-time length is a copy from now on: its objects may not be changed."""
    if isinstance(frozen, Snapshot) and frozen.inner:
        current().sealed.add(id(frozen.value))
        elements = frozen.elements
        for item in elements.values() if isinstance(elements, dict) else elements if isinstance(elements, list) else ():
            seal(item)
    elif isinstance(frozen, tuple):
        for item in frozen:
            seal(item)
    elif isinstance(frozen, Union):
        for item in frozen.alternatives:
            seal(item)


def shares_objects(frozen: Iterable[Any]) -> bool:
    """Whether an object born in the region stands in two places of what it leaves: taken apart, it would become two."""
    seen: set[int] = set()

    def visit(value: Any) -> bool:
        if isinstance(value, Snapshot):
            if not value.inner:
                return False
            if id(value.value) in seen:
                return True
            seen.add(id(value.value))
            elements = value.elements
            return any(map(visit, elements.values() if isinstance(elements, dict) else elements if isinstance(elements, list) else ()))
        if isinstance(value, tuple):
            return any(map(visit, value))
        return isinstance(value, Union) and any(map(visit, value.alternatives))

    return any(map(visit, frozen))


def is_record(value: Any) -> bool:
    """Whether an object can be taken apart into fields and put together again."""
    cls = type(value)
    if type(getattr(value, "__dict__", None)) is not dict or cls.__module__.partition(".")[0] in ("tensorflow", "keras", "numpy"):
        return False
    return has_plain_new(cls) or isinstance(value, BaseException)


