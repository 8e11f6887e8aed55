"""What a value is at one moment, so that it can be compared and carried after the heap has been rolled back.

Containers and objects born inside a region are described by their elements; those that are older stay references.
"""
from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from imp2tf.errors import Contents, fall_back
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.links import fields_with_links
from imp2tf.purity import has_plain_new
from imp2tf.session import current
from imp2tf.values import LOST, Deferred, Growable, PyNumber, Table, Union

__all__ = ["Alias", "Snapshot", "fields_of", "freeze", "has_sealed", "is_record", "objects_in", "seal"]

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


class Alias:
    """An object that a frozen state holds at another place too; `path` says where (`imp2tf.sharing`)."""

    __slots__ = ("path",)

    def __init__(self, path: Any) -> None:
        self.path = path


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
    return Snapshot(value, frozen_elements(contents(value, for_copy=True), depth, level), inner=True)


def frozen_elements(found: Any, depth: int, level: int = 0) -> Any:
    """The elements of a container, frozen."""
    if isinstance(found, list):
        return [freeze(item, depth, level + 1) for item in found]
    if isinstance(found, (dict, set)) and any(_is_inner_key(key, depth) for key in found):
        fall_back(Contents, "an object made in a branch or loop is a key of a dict or set after it")
    if isinstance(found, dict):
        return {key: freeze(item, depth, level + 1) for key, item in found.items()}
    return current().run.detached(found, depth) if isinstance(found, (Growable, Table)) else found


def _is_inner_key(key: Any, depth: int) -> bool:
    if isinstance(key, (tuple, frozenset)):
        return any(_is_inner_key(one, depth) for one in key)
    return not isinstance(key, type) and current().birth_depth(key) >= depth


def _inner_object(value: Any, depth: int, level: int) -> Any:
    session = current()
    older = session.birth_depth(value) < session.depth  # known to the region that is traced now
    if isinstance(value, types.FunctionType):
        return value if older or _cells_are_older(value, depth) else LOST
    if isinstance(value, tf.__internal__.CompositeTensor):
        return value
    if level > MAX_DEPTH or not is_record(value):
        return value if older and level <= MAX_DEPTH else LOST
    return Snapshot(value, {name: freeze(field, depth, level + 1) for name, field in fields_of(value).items()}, inner=True)


def fields_of(record: Any) -> dict[str, Any]:
    """What an object holds, by name; of an exception also what it is linked to."""
    return fields_with_links(record) if isinstance(record, BaseException) else record.__dict__


def _cells_are_older(function: types.FunctionType, depth: int) -> bool:
    """Whether a function made in a region closes over nothing that the region made."""
    session = current()
    return all(session.birth_depth(cell) < depth for cell in function.__closure__ or ())


def seal(frozen: Any) -> None:
    """What stands in a list of run-time length is a copy from now on: its objects may not be changed."""
    sealed = current().sealed
    for snapshot in objects_in(frozen):
        sealed.add(id(snapshot.value))


def has_sealed(frozen: Any) -> bool:
    """Whether a value is, or holds, an object that stands in a list of run-time length."""
    return any(id(snapshot.value) in current().sealed for snapshot in objects_in(frozen))


def objects_in(frozen: Any) -> Iterator[Snapshot]:
    """The objects of the region in a frozen value."""
    if isinstance(frozen, Snapshot) and frozen.inner:
        yield frozen
        elements = frozen.elements
        for item in elements.values() if isinstance(elements, dict) else elements if isinstance(elements, list) else ():
            yield from objects_in(item)
    elif isinstance(frozen, (tuple, Union)):
        for item in frozen if isinstance(frozen, tuple) else frozen.alternatives:
            yield from objects_in(item)


def is_record(value: Any) -> bool:
    """Whether an object can be taken apart into fields and put together again."""
    cls = type(value)
    if type(getattr(value, "__dict__", None)) is not dict or cls.__module__.partition(".")[0] in ("tensorflow", "keras", "numpy"):
        return False
    return has_plain_new(cls) or isinstance(value, BaseException)


