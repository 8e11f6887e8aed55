"""Dicts and sets under keys that only the run knows: a vector of keys of one kind, and a growable list of values.

Entries stand in the order they were made. A key is found by comparing it with all of them.
"""
from __future__ import annotations

import collections
from collections.abc import Hashable
from typing import Any

import tensorflow as tf

from imp2tf.compound_specs import ConstSet, Mapping, sealed_object
from imp2tf.errors import NoFixpoint, fall_back
from imp2tf.growable import GrowableList, growable_of
from imp2tf.places import Contents
from imp2tf.session import current
from imp2tf.snapshots import Snapshot
from imp2tf.specs import BOTTOM, Component, Spec, Tensors
from imp2tf.values import NUMBER_DTYPES, NUMBER_TYPES, Deferred, PyNumber, Table, Union, call_method, numpy_value

__all__ = ["TableSpec", "as_table", "key_form", "key_kind", "key_of", "keys_as_list", "keys_tensor", "python_keys", "run_key",
           "table_length"]

Kind = Any  # "int", "float", "bool", "str", "bytes", or the dtype of NumPy scalars
DTYPES: dict[Any, tf.DType] = {**NUMBER_DTYPES, "str": tf.string, "bytes": tf.string}
DECODINGS = ((), ("utf-8",), ("utf8",))
INT64 = range(-2**63, 2**63)


def key_form(value: Any) -> tuple[Kind, tf.Tensor] | None:
    """The kind of a key and the scalar that stands for it; None if there is none."""
    if isinstance(value, PyNumber):
        return value.kind, value.tensor
    if isinstance(value, Deferred):
        return _deferred_form(value)
    kind = key_kind(value)
    return None if kind is None else (kind, tf.constant(value, DTYPES[kind]))


def key_kind(value: Any) -> Kind | None:
    """The kind of a key that is known while tracing."""
    kind = {int: "int", float: "float", bool: "bool", str: "str", bytes: "bytes"}.get(type(value))
    return None if kind == "int" and value not in INT64 else kind


def _deferred_form(value: Deferred) -> tuple[Kind, tf.Tensor] | None:
    if value.function is numpy_value and isinstance(value.args[0], tf.Tensor) and value.args[0].shape.rank == 0:
        tensor = value.args[0]
        return ("bytes" if tensor.dtype == tf.string else tensor.dtype), tensor
    if value.function is call_method and len(value.args) > 1 and value.args[1] == "decode" and not value.kwargs:
        owner = key_form(value.args[0]) if isinstance(value.args[0], Deferred) and value.args[2:] in DECODINGS else None
        return ("str", owner[1]) if owner is not None and owner[0] == "bytes" else None
    return None


def key_of(kind: Kind, scalar: tf.Tensor) -> Any:
    """The key that a scalar stands for."""
    if kind in NUMBER_DTYPES:
        return PyNumber(kind, scalar)
    held = Deferred(numpy_value, (scalar,))
    return Deferred(call_method, (held, "decode")) if kind == "str" else held


def run_key(key: Any) -> Any:
    """A key of a dict that only the run knows: one of several texts or numbers as the one that the run finds."""
    kinds = {key_kind(one) for one in key.alternatives} if isinstance(key, Union) else {None}
    if len(kinds) != 1 or None in kinds:
        return key
    (kind,) = kinds
    return key_of(kind, tf.gather(keys_tensor(kind, key.alternatives), key.tag))


def keys_tensor(kind: Kind, keys: list[Any]) -> tf.Tensor:
    """Keys that are known while tracing."""
    return tf.constant(keys, DTYPES.get(kind, kind), [len(keys)])


def table_length(table: Table) -> tf.Tensor:
    """Number of entries, int32."""
    return tf.size(table.keys)


def python_keys(kind: Kind, keys: tf.Tensor) -> list[Any]:
    """The keys of an eager vector."""
    found = keys.numpy()
    if kind in NUMBER_TYPES or kind == "bytes":
        return list(found.tolist())
    return [key.decode() for key in found] if kind == "str" else list(found)


class TableSpec(Spec):
    """A dict, or a set where there is no spec of its values, under keys of one kind that only the run knows."""

    grows = True

    def __init__(self, kind: Kind, element: Spec | None, like: Any) -> None:
        self.kind = kind
        self.parts = [] if element is None else [element]
        self.like = like

    def __repr__(self) -> str:
        return f"TableSpec({self.kind}, {self.parts})"

    @property
    def values(self) -> GrowableList | None:
        """The spec of the values."""
        return GrowableList(self.parts[0]) if self.parts else None

    def components(self) -> list[Component]:
        dtype = DTYPES.get(self.kind, self.kind)
        return [(dtype, tf.TensorShape([None])), *(self.values.components() if self.values else ())]

    def filler(self) -> list[tf.Tensor]:
        return [keys_tensor(self.kind, []), *(self.values.filler() if self.values else ())]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        found = value.elements if isinstance(value, Snapshot) else value
        if isinstance(found, Union):
            return self._pack_union(found)
        if isinstance(found, Table):
            if found.kind != self.kind:
                fall_back(NoFixpoint, "the keys of a dict change their kind")
            return [tf.identity(found.keys), *(self.values.pack(found.values) if self.values else ())]
        return [keys_tensor(self.kind, list(found)), *(self.values.pack(list(found.values())) if self.values else ())]

    def _pack_union(self, found: Union) -> list[tf.Tensor]:
        packed = self.pack(found.alternatives[0])
        for number, one in enumerate(found.alternatives[1:], 1):
            these, those = self.pack(one), packed
            packed = list(tf.cond(tf.equal(found.tag, number), lambda these=these: these, lambda those=those: those))
        return packed

    def unpack(self, tensors: Tensors) -> Any:
        session = current()
        made = session.born(self._empty())
        session.write(Contents(made), self.unpack_elements(tensors))
        return sealed_object(made) if self.sealed else made

    def unpack_elements(self, tensors: Tensors) -> Any:
        keys = next(tensors)
        return Table(self.kind, keys, self.values.unpack_elements(tensors) if self.values else None)

    def realize(self, tensors: Tensors) -> Any:
        keys, made = python_keys(self.kind, next(tensors)), self._empty()
        made.update(zip(keys, self.values.realize(tensors), strict=True) if self.values else keys)
        return made

    def _empty(self) -> Any:
        if isinstance(self.like, collections.defaultdict):
            return type(self.like)(self.like.default_factory)
        return type(self.like)()

    def key(self) -> Hashable:
        return self.family(), self.sealed, tuple(part.key() for part in self.parts)

    def layout(self) -> Hashable:
        return self.family(), tuple(part.layout() for part in self.parts)

    def family(self) -> Hashable:
        return "table", self.kind, type(self.like), getattr(self.like, "default_factory", None), len(self.parts)


def as_table(spec: Spec, table: TableSpec) -> tuple[TableSpec, list[Spec]] | None:
    """The empty table of the class of `table`, and the specs of the values, for a dict or set of known keys of its kind."""
    if isinstance(spec, Mapping) and type(spec.like) is type(table.like) and table.parts:
        fits = all(key_kind(key) == table.kind for key in spec.keys)
        return (TableSpec(table.kind, BOTTOM, table.like), list(spec.parts)) if fits else None
    if isinstance(spec, ConstSet) and not table.parts and all(key_kind(key) == table.kind for key in spec.elements):
        return TableSpec(table.kind, None, table.like), []
    return None


def keys_as_list(table: Table, element: Spec) -> Any:
    """The keys, as a growable list of elements of a spec with one tensor."""
    return growable_of(element, [table.keys], table_length(table))
