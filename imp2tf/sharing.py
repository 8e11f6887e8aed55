"""Objects made in a region that stand in two places of what it leaves: they are one object after it, too.

Taken apart into tensors and put together again, such an object would become two. So only its first place carries it; the others
say where that is (`Alias`, as a spec `SameAs`) and get the object when all is put together.

A path is the slot it begins in, and for each step the family of the value stepped from and the key: an index, a key of a
dict or the name of a field. The families tell which alternative of a value of several kinds is meant.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.compound_specs import Items, Mapping, OneOf, Record, SameAs
from imp2tf.errors import SeveralKinds, fall_back
from imp2tf.growable import GrowableList
from imp2tf.join import describe
from imp2tf.links import set_links
from imp2tf.snapshots import Alias, Snapshot, fields_of, objects_in
from imp2tf.specs import Spec
from imp2tf.values import Union

__all__ = ["patched", "shares_objects", "untouched", "with_aliases", "with_untouched"]

Steps = tuple[Any, ...]


def with_aliases(slots: Sequence[Hashable], frozen: list[Any]) -> list[Any]:
    """What a region leaves in each slot, with all places but the first of each object as aliases."""
    if not shares_objects(frozen):
        return frozen
    paths: dict[int, Any] = {}
    return [_marked(value, slot, (), paths) for slot, value in zip(slots, frozen, strict=True)]


def shares_objects(frozen: list[Any]) -> bool:
    """Whether an object born in the region stands in two places of what it leaves."""
    seen: set[int] = set()
    for value in frozen:
        for snapshot in objects_in(value):
            if id(snapshot.value) in seen:
                return True
            seen.add(id(snapshot.value))
    return False


def _marked(value: Any, slot: Hashable, steps: Steps, paths: dict[int, Any]) -> Any:
    if isinstance(value, Union):
        return Union(value.tag, [_marked(one, slot, steps, paths) for one in value.alternatives])
    if isinstance(value, tuple):
        items = [_marked(item, slot, (*steps, (describe(value).family(), i)), paths) for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    if not isinstance(value, Snapshot) or not value.inner:
        return value
    if id(value.value) in paths:
        return Alias(paths[id(value.value)])
    family = describe(value).family()
    paths[id(value.value)] = slot, steps, family
    elements = _marked_elements(value.elements, lambda item, key: _marked(item, slot, (*steps, (family, key)), paths))
    return Snapshot(value.value, elements, inner=True)


def _marked_elements(elements: Any, mark: Callable[[Any, Any], Any]) -> Any:
    if isinstance(elements, list):
        return [mark(item, i) for i, item in enumerate(elements)]
    if isinstance(elements, dict):
        return {key: mark(item, key) for key, item in elements.items()}
    return elements


# ------------------------------------------------------------------------------------------------ what stays itself
def untouched(before: Any, after: Any) -> dict[Any, Any]:
    """Of the elements of a container those that are the same object before and after, and are tensors or made of some; by index or key."""
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs: Iterable[tuple[Any, Any]] = enumerate(before)
    elif isinstance(before, dict) and isinstance(after, dict):
        pairs = [(key, one) for key, one in before.items() if key in after]
    else:
        return {}
    return {key: one for key, one in pairs if one is after[key] and isinstance(one, (tf.Tensor, tuple, tf.__internal__.CompositeTensor))}


def with_untouched(elements: Any, kept: dict[Any, Any]) -> Any:
    """The elements of a container after a region, where some stand that the region has only carried through."""
    if isinstance(elements, Union) and kept:
        return Union(elements.tag, [with_untouched(one, kept) for one in elements.alternatives])
    if isinstance(elements, (list, dict)) and kept:
        elements = elements.copy()
        for key, one in kept.items():
            if isinstance(elements, list) or key in elements:
                elements[key] = one
    return elements


# ------------------------------------------------------------------------------------------------ putting together
def patched(slots: Sequence[Hashable], specs: Sequence[Spec], values: list[Any]) -> list[Any]:
    """The values of the slots, with the objects themselves in the place of aliases."""
    if not any(map(_has_alias, specs)):
        return values
    known = {slot: (spec, value) for slot, spec, value in zip(slots, specs, values, strict=True)}
    return [_patch(spec, value, known) for spec, value in zip(specs, values, strict=True)]


def _has_alias(spec: Spec) -> bool:
    if isinstance(spec, GrowableList):
        return _has_alias(spec.element)
    return isinstance(spec, SameAs) or any(map(_has_alias, getattr(spec, "parts", ())))


def _patch(spec: Spec, value: Any, known: dict[Hashable, tuple[Spec, Any]]) -> Any:
    if not _has_alias(spec):
        return value
    if isinstance(spec, SameAs):
        return _find(spec.path, known)
    if isinstance(spec, OneOf):
        value.alternatives[:] = [_patch(part, one, known) for part, one in zip(spec.parts, value.alternatives, strict=True)]
        return value
    if isinstance(spec, Items) and isinstance(value, tuple):
        items = [_patch(part, item, known) for part, item in zip(spec.parts, value, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    if isinstance(spec, (Items, Mapping)):
        for key, part in zip(spec.keys if isinstance(spec, Mapping) else range(len(spec.parts)), spec.parts, strict=True):
            value[key] = _patch(part, value[key], known)
        return value
    if isinstance(spec, Record):
        for name, part in zip(spec.names, spec.parts[spec.args:], strict=True):
            patch = {name: _patch(part, fields_of(value)[name], known)}
            if isinstance(value, BaseException):
                set_links(value, patch)
            value.__dict__.update(patch)
        return value
    return _refuse()


def _refuse() -> Any:
    return fall_back(SeveralKinds, "an object made in a branch or loop has two names after it")


def _find(path: Any, known: dict[Hashable, tuple[Spec, Any]]) -> Any:
    slot, steps, family = path
    if slot not in known:
        return _refuse()
    spec, value = known[slot]
    for of, key in steps:
        spec, value = _alternative(spec, value, of)
        if isinstance(spec, Record) and key in spec.names:
            spec, value = spec.parts[spec.args + spec.names.index(key)], fields_of(value)[key]
        elif isinstance(spec, Mapping) and key in spec.keys:
            spec, value = spec.parts[spec.keys.index(key)], value[key]
        elif isinstance(spec, Items):
            spec, value = spec.parts[key], value[key]
        else:
            return _refuse()
    return _alternative(spec, value, family)[1]


def _alternative(spec: Spec, value: Any, family: Hashable) -> tuple[Spec, Any]:
    """The alternative of a family; the value itself where there is only that."""
    if isinstance(spec, OneOf):
        for part, one in zip(spec.parts, value.alternatives, strict=True):
            if part.family() == family:
                return part, one
    return (spec, value) if spec.family() == family else (_refuse(), None)
