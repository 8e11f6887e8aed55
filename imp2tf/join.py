"""The lattice: what a name may be where paths meet.

`describe` says how one value is carried, `join` what covers two. Joining never promotes a dtype and never turns an
int into a float: a loop of zero turns must give back what it began with, so a `OneOf` keeps both.
"""
from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.compound_specs import ConstSet, DeferredSpec, Items, Mapping, OneOf, Record, SameAs
from imp2tf.growable import GrowableList
from imp2tf.kinds import is_container
from imp2tf.session import current
from imp2tf.snapshots import Alias, Snapshot, fields_of, freeze, is_record
from imp2tf.specs import BOTTOM, Composite, Constant, Dense, Number, Spec, same_constant
from imp2tf.tables import TableSpec, as_table
from imp2tf.tf_compat import dtype_of_list
from imp2tf.values import DEAD, Deferred, Growable, PyNumber, Table, Union, number_kind

__all__ = ["by_elements", "describe", "is_bottom", "join", "join_all", "settled", "without_stale"]


def is_bottom(spec: Spec) -> bool:
    """Whether no path gives a value."""
    return isinstance(spec, Constant) and spec.value is DEAD


def describe(value: Any) -> Spec:
    """How a frozen value is carried when it is not the same constant everywhere."""
    kind = number_kind(value)
    if kind is not None:
        return Number(kind)
    if isinstance(value, tf.Tensor):
        return Dense(value.dtype, value.shape, dtype_of_list(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return Constant(value)
    if isinstance(value, Snapshot):
        return _describe_snapshot(value)
    if isinstance(value, tuple) and value:
        return Items(value, [settled(Constant(item)) for item in value])
    if isinstance(value, Union):
        return _one_of([settled(Constant(one)) for one in value.alternatives])
    if isinstance(value, Growable):
        return GrowableList(value.element, shifted=value.shifted)
    if isinstance(value, Alias):
        return SameAs(value.path)
    if isinstance(value, Deferred):
        parts = [settled(Constant(part)) for part in (*value.args, *value.kwargs.values())]
        return DeferredSpec(value.function, tuple(value.kwargs), parts)
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        return Composite(value._type_spec)
    return Constant(value)


def family_of(value: Any) -> Hashable:
    """The family of a frozen value; an object that is older than the region counts as the record it would be."""
    if current().is_born(value) and is_record(value):
        fields = {name: freeze(field) for name, field in fields_of(value).items()}
        value = Snapshot(value, fields, inner=True)
    return describe(value).family()


OneOf.family_of = staticmethod(family_of)


def _describe_snapshot(snapshot: Snapshot) -> Spec:
    spec = _describe_object(snapshot)
    if id(snapshot.value) in current().sealed and not isinstance(spec, (Constant, OneOf)):
        spec.sealed = True
    return spec


def _describe_object(snapshot: Snapshot) -> Spec:
    elements, value = snapshot.elements, snapshot.value
    if elements is None:
        return Constant(snapshot)
    if isinstance(elements, Growable):
        return GrowableList(elements.element, value, elements.shifted)
    if isinstance(elements, Union):
        return _one_of([_describe_snapshot(Snapshot(value, one, inner=True)) for one in elements.alternatives])
    if isinstance(elements, Table):
        return TableSpec(elements.kind, elements.values.element if elements.values else None, value)
    if isinstance(elements, list):
        return Items(value, [settled(Constant(item)) for item in elements])
    if isinstance(elements, set):
        return ConstSet(elements)
    parts = [settled(Constant(item)) for item in elements.values()]
    if isinstance(value, dict):
        return Mapping(value, tuple(elements), parts)
    args = [settled(Constant(freeze(arg))) for arg in getattr(value, "args", ())] if isinstance(value, BaseException) else ()
    return Record(type(value), tuple(elements), parts, args)


def settled(spec: Spec) -> Spec:
    """A constant, unless the value belongs to the region and must be carried out of it."""
    if not isinstance(spec, Constant):
        return spec
    value = spec.value
    if isinstance(value, Snapshot):
        return describe(value) if value.inner else spec
    if isinstance(value, (tf.Tensor, PyNumber, Union, Growable, Deferred, Alias, tuple, tf.__internal__.CompositeTensor)):
        return describe(value)
    return spec


def without_stale(spec: Spec) -> Spec:
    """A spec of an earlier trace, without what refers to objects of that trace."""
    if isinstance(spec, Constant):
        value = spec.value.value if isinstance(spec.value, Snapshot) else spec.value
        stale = current().is_born(value) or isinstance(value, (tf.Tensor, PyNumber, Union, Growable, Deferred))
        return BOTTOM if stale else spec
    if isinstance(spec, OneOf):
        kept = [part for part in map(without_stale, spec.parts) if not is_bottom(part)]
        return _one_of(kept) if kept else BOTTOM
    if isinstance(spec, SameAs):
        return BOTTOM if current().is_born(getattr(spec.path[0], "owner", None)) else spec
    if isinstance(spec, GrowableList):
        return spec.with_element(without_stale(spec.element))
    parts = getattr(spec, "parts", None)
    return spec if parts is None else _with_parts(spec, [without_stale(part) for part in parts])


def by_elements(spec: Spec, depth: int) -> Spec:
    """A spec of elements in which objects born at log depth `depth` or deeper are described, not referred to."""
    if isinstance(spec, Constant):
        value = spec.value.value if isinstance(spec.value, Snapshot) else spec.value
        inner = current().birth_depth(value) >= depth and (is_container(value) or is_record(value))
        return describe(freeze(value, depth)) if inner else spec
    if isinstance(spec, OneOf):
        return _one_of([by_elements(part, depth) for part in spec.parts])
    if isinstance(spec, GrowableList):
        return spec.with_element(by_elements(spec.element, depth))
    parts = getattr(spec, "parts", None)
    return spec if not parts else _with_parts(spec, [by_elements(part, depth) for part in parts])


def _with_parts(spec: Any, parts: list[Spec], sealed: bool = False) -> Spec:
    made = _made_of(spec, parts)
    made.sealed = spec.sealed or sealed
    return made


def _made_of(spec: Any, parts: list[Spec]) -> Spec:
    if isinstance(spec, Items):
        return Items(spec.like, parts)
    if isinstance(spec, Mapping):
        return Mapping(spec.like, spec.keys, parts)
    if isinstance(spec, TableSpec):
        return TableSpec(spec.kind, parts[0] if parts else None, spec.like)
    if isinstance(spec, Record):
        return Record(spec.cls, spec.names, parts[spec.args:], parts[: spec.args])
    return DeferredSpec(spec.function, spec.names, parts)


def join_all(specs: list[Spec]) -> Spec:
    """The spec that covers all of them."""
    bottom: Spec = BOTTOM
    return functools.reduce(join, specs, bottom)


def join(a: Spec, b: Spec) -> Spec:
    """The spec that covers both."""
    if is_bottom(a):
        return settled(b)
    if is_bottom(b):
        return settled(a)
    if isinstance(a, Constant) and isinstance(b, Constant) and same_constant(a.value, b.value) and not _must_carry(a.value):
        return a
    if _is_outer_reference(a) or _is_outer_reference(b):
        return _unite(settled(a), settled(b))
    a, b = _as_record(a, b), _as_record(b, a)
    return _join_described(_general(a), _general(b))


def _must_carry(value: Any) -> bool:
    return isinstance(value, Snapshot) and value.inner


def _general(spec: Spec) -> Spec:
    return describe(spec.value) if isinstance(spec, Constant) else spec


def _is_outer_reference(spec: Spec) -> bool:
    return isinstance(spec, Constant) and isinstance(spec.value, Snapshot) and not spec.value.inner


def _as_record(spec: Spec, other: Spec) -> Spec:
    """The object that a loop was entered with, as a record, when its body puts a new one of its class in its place."""
    if not isinstance(spec, Constant) or not current().is_born(spec.value) or not is_record(spec.value):
        return spec
    if isinstance(other, Record) or (isinstance(other, Constant) and isinstance(other.value, Snapshot)):
        fields = {name: freeze(field) for name, field in fields_of(spec.value).items()}
        return describe(Snapshot(spec.value, fields, inner=True))
    return spec


def _as_tables(a: Spec, b: Spec) -> tuple[Spec, Spec]:
    """Dicts and sets of known keys as tables, where they meet one."""
    tables = [one for spec in (a, b) for one in _alternatives(spec) if isinstance(one, TableSpec)]
    return (_tabled(a, tables[0]), _tabled(b, tables[0])) if tables else (a, b)


def _tabled(spec: Spec, table: TableSpec) -> Spec:
    if isinstance(spec, OneOf):
        return _one_of([_tabled(part, table) for part in spec.parts])
    found = as_table(spec, table)
    if found is None:
        return spec
    empty, values = found
    return _with_parts(empty, [join_all([_general(value) for value in values])] if table.parts else [], spec.sealed)


def _join_described(a: Spec, b: Spec) -> Spec:
    a, b = _as_tables(a, b)
    if isinstance(a, Dense) and isinstance(b, Dense) and a.dtype == b.dtype:
        return Dense(a.dtype, relaxed_shape(a.shape, b.shape), a.listed or b.listed)
    if isinstance(a, Number) and isinstance(b, Number) and a.kind == b.kind:
        return a
    if isinstance(a, Composite) and isinstance(b, Composite):
        return _join_composites(a, b)
    if a.family() == b.family():
        joined = _join_parts(a, b)
        if joined is not None:
            return joined
    return _unite(a, b)


def relaxed_shape(a: tf.TensorShape, b: tf.TensorShape) -> tf.TensorShape:
    """The most specific shape that covers both."""
    if a.rank is None or b.rank is None or a.rank != b.rank:
        return tf.TensorShape(None)
    return tf.TensorShape([x if x == y else None for x, y in zip(a.as_list(), b.as_list(), strict=True)])


def _join_composites(a: Composite, b: Composite) -> Spec:
    common = a.type_spec.most_specific_common_supertype([b.type_spec])
    return _unite(a, b) if common is None else Composite(common)


def _join_parts(a: Any, b: Any) -> Spec | None:
    if isinstance(a, (Items, GrowableList)) and isinstance(b, (Items, GrowableList)) and not _is_tuple(a):
        return _join_lists(a, b)
    if type(a) is not type(b) or isinstance(a, OneOf) or not hasattr(a, "parts") or len(a.parts) != len(b.parts):
        return None
    return _with_parts(a, [join(x, y) for x, y in zip(a.parts, b.parts, strict=True)], b.sealed)


def _note_repeated(spec: Items | GrowableList) -> None:
    """An object that stands in a list twice is taken for two when the list becomes one of run-time length."""
    held = [part.key() for part in getattr(spec, "parts", ()) if _is_outer_reference(part)]
    if len(set(held)) < len(held):
        current().shared_elements = 2


def _is_tuple(spec: Items | GrowableList) -> bool:
    return isinstance(spec, Items) and isinstance(spec.like, tuple)


def _join_lists(a: Items | GrowableList, b: Items | GrowableList) -> Spec:
    if isinstance(a, Items) and isinstance(b, Items) and len(a.parts) == len(b.parts):
        return _with_parts(a, [join(x, y) for x, y in zip(a.parts, b.parts, strict=True)], b.sealed)
    elements = [part for side in (a, b) for part in (side.parts if isinstance(side, Items) else [side.element])]
    for side in (a, b):
        _note_repeated(side)
    grown = a if isinstance(a, GrowableList) else b if isinstance(b, GrowableList) else GrowableList(BOTTOM, a.like)
    shifted = isinstance(b, GrowableList) and b.shifted
    made = grown.with_element(join_all([_general(element) for element in elements]), shifted)
    made.sealed = a.sealed or b.sealed
    return made


def _unite(a: Spec, b: Spec) -> Spec:
    """A tagged alternative for each family."""
    return _one_of([*_alternatives(a), *_alternatives(b)])


def _alternatives(spec: Spec) -> list[Spec]:
    return list(spec.parts) if isinstance(spec, OneOf) else [spec]


def _one_of(specs: list[Spec]) -> Spec:
    found: list[Spec] = []
    for spec in (part for one in specs for part in _alternatives(one if _is_outer_reference(one) else _general(one))):
        for i, other in enumerate(found):
            if spec == other:
                break
            if not _is_outer_reference(spec) and not _is_outer_reference(other) and spec.family() == other.family():
                found[i] = _join_described(spec, other)
                break
        else:
            found.append(spec)
    return found[0] if len(found) == 1 else OneOf(found)
