"""Elements and slices, attributes.

    x[i]      -->   rt.get_item(x, i)
    x[a:b]    -->   rt.get_item(x, rt.slice(a, b, None))
    o.name    -->   rt.get_attribute(o, 'name')
"""
from __future__ import annotations

import builtins
import operator as python
from typing import Any

import gast
import numpy as np
import tensorflow as tf

from imp2tf import attribute_writes, attributes, container_items
from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call
from imp2tf.containers import listed, tuple_of
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.forcing import computed
from imp2tf.growable_items import position_of
from imp2tf.kinds import is_container, is_user_function
from imp2tf.namespace import operator, rt
from imp2tf.object_fields import FieldsOf
from imp2tf.opaque import change_array
from imp2tf.quote import quote_expr
from imp2tf.refusals import eager_error, refuse
from imp2tf.region import stop_if
from imp2tf.rewrite import Converter
from imp2tf.targets import constant
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import Deferred, PyNumber, StandIn, Union, is_runtime, numpy_value

rt.slice = builtins.slice


class Subscripts(Converter, lowers=(gast.Subscript,)):
    """``owner[key]`` that is read."""

    def lower(self, node: gast.Subscript) -> gast.expr:
        owner = self.rw.visit(node.value)
        return quote_expr("rt.get_item(owner, key)", node, owner=owner, key=self.rw.visit(node.slice))


class Slices(Converter, lowers=(gast.Slice,)):
    """``a:b:c`` inside brackets."""

    def lower(self, node: gast.Slice) -> gast.expr:
        parts = [self.rw.visit(part) if part is not None else constant(None) for part in (node.lower, node.upper, node.step)]
        call_ = quote_expr("rt.slice()", node)
        call_.args = parts
        return call_


class Attributes(Converter, lowers=(gast.Attribute,)):
    """``owner.name`` that is read."""

    def lower(self, node: gast.Attribute) -> gast.expr:
        return quote_expr("rt.get_attribute(owner, attr)", node, owner=self.rw.visit(node.value), attr=constant(node.attr))


operator(attributes.get_attribute)
operator(attribute_writes.set_attribute)


@operator
def get_item(owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    if isinstance(owner, Union):
        return over(owner, lambda one: get_item(one, key))
    if isinstance(key, Union):
        return over(key, lambda one: get_item(owner, one))
    method = getattr(type(owner), "__getitem__", None)
    if is_user_function(method):
        return call(method, owner, key)
    if is_container(owner) or (isinstance(owner, tuple) and not isinstance(owner, tf.TensorShape)):
        return container_items.get_item(owner, key)
    held = listed(owner)
    if held is not None:
        item = container_items.get_item(held, key, "tuple")
        return tuple_of(item) if isinstance(key, slice) else item
    if isinstance(owner, (tf.Tensor, tf.Variable, tf.RaggedTensor)):
        if any(number.kind != "int" for number in _numbers_in(key)):
            refuse(tf.constant(True), python.getitem, owner, key)
        return run_operation(python.getitem, owner, tensor_key(key))
    if isinstance(owner, Deferred) or is_runtime(key) or (isinstance(owner, (np.ndarray, str, bytes)) and _holds_runtime(key)):
        return _deferred_item(owner, key)
    return owner.refuse() if isinstance(owner, StandIn) else run_operation(python.getitem, owner, key)


def _holds_runtime(key: Any) -> bool:
    """Whether a part of an index into an array is known after the run only."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else key if type(key) is tuple else ()
    return is_runtime(key) or isinstance(key, Deferred) or any(map(_holds_runtime, parts))


def _numbers_in(key: Any) -> list[PyNumber]:
    """The run-time numbers of an index into a tensor."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else key if isinstance(key, tuple) else ()
    return [key] if isinstance(key, PyNumber) else [number for part in parts for number in _numbers_in(part)]


def tensor_key(key: Any) -> Any:
    """An index into a tensor; run-time numbers in it as int32."""
    if isinstance(key, PyNumber):
        return tf.cast(key.tensor, tf.int32)
    if isinstance(key, Deferred):
        return tf.cast(position_of(key), tf.int32)
    if isinstance(key, slice):
        return slice(*[tensor_key(part) for part in (key.start, key.stop, key.step)])
    return tuple(tensor_key(part) for part in key) if isinstance(key, tuple) else key


def _deferred_item(owner: Any, key: Any) -> Any:
    if isinstance(owner, Deferred) and owner.function is numpy_value and _is_scalar_within(owner.args[0].shape, key):
        return Deferred(numpy_value, (owner.args[0][key],))
    if isinstance(owner, (Deferred, np.ndarray, str, bytes)):
        if isinstance(owner, (str, bytes)) and is_symbolic_tensor(key) and not key.dtype.is_integer:
            refuse(tf.constant(True), python.getitem, owner, key)
        if isinstance(owner, (str, bytes)) and not isinstance(key, (slice, Deferred, tuple)):
            _refuse_outside(owner, key)
        return computed(python.getitem, (owner, key))
    return fall_back(NeedsValue, f"an element of a {type(owner).__name__} at a position that only the run knows")


def _is_scalar_within(shape: tf.TensorShape, key: Any) -> bool:
    """Whether an index known while tracing surely finds one number of an array, which nobody can change."""
    keys = key if type(key) is tuple else (key,)
    if shape.rank != len(keys) or not keys:
        return False
    return all(type(one) is int and size is not None and -size <= one < size for one, size in zip(keys, shape, strict=True))


def _refuse_outside(text: str | bytes, key: Any) -> None:
    """An index of text is looked at where it stands, as one of a list is: nobody may read the character."""
    index = key.tensor if isinstance(key, PyNumber) else key
    if isinstance(index, tf.Tensor) and index.shape.rank == 0 and (index.dtype.is_integer or index.dtype == tf.bool):
        place = tf.cast(index, tf.int64)
        stop_if(tf.logical_or(place >= len(text), place < -len(text)), eager_error(python.getitem, text, len(text)))


@operator
def set_item(owner: Any, key: Any, value: Any) -> None:
    """``owner[key] = value``."""
    if isinstance(owner, Union):
        over(owner, lambda one: set_item(one, key, value))
        return
    if isinstance(key, Union):
        over(key, lambda one: set_item(owner, one, value))
        return
    if isinstance(owner, (Deferred, np.ndarray)):
        change_array(python.setitem, owner, key, value)
        return
    method = getattr(type(owner), "__setitem__", None)
    if is_user_function(method):
        call(method, owner, key, value)
    elif is_container(owner):
        container_items.set_item(owner, key, value)
    elif isinstance(owner, FieldsOf) and isinstance(key, str):
        owner[key] = value
    elif isinstance(owner, StandIn):
        owner.refuse()
    elif isinstance(owner, (tf.Tensor, tuple, str, bytes, range, frozenset)) or method is None:
        run_operation(python.setitem, owner, key, value)
    else:
        fall_back(ForeignCall, f"an element of a {type(owner).__name__} is assigned")
