"""Lists whose length is known only at run time, as TensorLists.

There is one handle per tensor of the element spec, and one more that counts, since elements may hold no tensor. The
element shape is left open: gradients through push, get, pop and stack are right for elements of differing shapes.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.errors import NoFixpoint, fall_back
from imp2tf.places import Contents
from imp2tf.session import current
from imp2tf.snapshots import Snapshot, freeze, seal
from imp2tf.specs import BOTTOM, SCALAR, Component, Items, OneOf, Spec, Tensors, empty_tensor_list
from imp2tf.tf_compat import build_while
from imp2tf.values import Growable

__all__ = ["GrowableList", "element_at", "empty_growable", "growable_length", "popped", "pushed", "replaced", "widened"]


class GrowableList(Spec):
    """A list whose length is known only at run time."""

    def __init__(self, element: Spec) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"GrowableList({self.element})"

    def components(self) -> list[Component]:
        return [(tf.variant, SCALAR)] * (len(self.element.components()) + 1)

    def filler(self) -> list[tf.Tensor]:
        return empty_growable(self.element).handles

    def _pack(self, value: Any) -> list[tf.Tensor]:
        found = value.elements if isinstance(value, Snapshot) else value
        if isinstance(found, Growable):
            return [tf.identity(handle) for handle in widened(found, self.element).handles]
        grown = empty_growable(self.element)
        for item in found:
            grown = pushed(grown, self.element.pack(item))
        return grown.handles

    def unpack(self, tensors: Tensors) -> Any:
        session = current()
        made = session.born([])
        session.write(Contents(made), self.unpack_elements(tensors))
        return made

    def unpack_elements(self, tensors: Tensors) -> Any:
        return Growable([next(tensors) for _ in self.components()], self.element)

    def realize(self, tensors: Tensors) -> Any:
        handles = [next(tensors) for _ in self.components()]
        length = int(tf.raw_ops.TensorListLength(input_handle=handles[0]).numpy())
        columns = [_column(handle, dtype, length) for handle, (dtype, _) in zip(handles[1:], self.element.components(), strict=True)]
        return [self.element.realize(iter(row)) for row in (zip(*columns, strict=True) if columns else [()] * length)]

    def key(self) -> Hashable:
        return "growable", self.element.key()

    def family(self) -> Hashable:
        return ("list",)


def _column(handle: tf.Tensor, dtype: tf.DType, length: int) -> list[tf.Tensor]:
    """The tensors of an eager TensorList."""
    get = tf.raw_ops.TensorListGetItem
    return [get(input_handle=handle, index=i, element_shape=-1, element_dtype=dtype) for i in range(length)]


def empty_growable(element: Spec) -> Growable:
    """A growable list without elements."""
    return Growable([empty_tensor_list(tf.bool), *(empty_tensor_list(dtype) for dtype, _ in element.components())], element)


def pushed(grown: Growable, tensors: Sequence[tf.Tensor]) -> Growable:
    """`grown` with one element more, given as tensors."""
    push = tf.raw_ops.TensorListPushBack
    values = [tf.constant(True), *tensors]
    return Growable([push(input_handle=handle, tensor=value) for handle, value in zip(grown.handles, values, strict=True)], grown.element)


def growable_length(grown: Growable) -> tf.Tensor:
    """Number of elements, int32."""
    return tf.raw_ops.TensorListLength(input_handle=grown.handles[0])


def element_at(grown: Growable, index: tf.Tensor) -> Any:
    """The element at a run-time index (int32, in range)."""
    tensors = []
    for handle, (dtype, shape) in zip(grown.handles[1:], grown.element.components(), strict=True):
        tensor = tf.raw_ops.TensorListGetItem(input_handle=handle, index=index, element_shape=-1, element_dtype=dtype)
        tensor.set_shape(shape)
        tensors.append(tensor)
    value = grown.element.unpack(iter(tensors))
    seal(freeze(value, current().depth))
    return value


def widened(grown: Growable, element: Spec) -> Growable:
    """The same elements, packed by a wider element spec."""
    if [dtype for dtype, _ in grown.element.components()] == [dtype for dtype, _ in element.components()] and (
            not isinstance(element, OneOf) or grown.element.key() == element.key()):
        return grown
    if grown.element.key() == BOTTOM.key():
        return empty_growable(element)
    if not isinstance(element, (OneOf, Items)):
        fall_back(NoFixpoint, "the elements of a growing list change their kind")
    return _repacked(grown, element)


def _repacked(grown: Growable, element: Spec) -> Growable:
    """A loop that takes each element apart and packs it anew."""
    count = growable_length(grown)

    def body(go: tf.Tensor, index: tf.Tensor, *handles: tf.Tensor) -> list[tf.Tensor]:
        value = element_at(grown, index)
        more = pushed(Growable(handles, element), element.pack(freeze(value, current().depth)))
        return [index + 1 < count, index + 1, *more.handles]

    init = [count > 0, tf.constant(0), *empty_growable(element).handles]
    outputs = build_while(body, init, [SCALAR] * len(init))
    return Growable(outputs[2:], element)


def popped(grown: Growable) -> tuple[Growable, Any]:
    """`grown` without its last element, and that element."""
    handle, _ = tf.raw_ops.TensorListPopBack(input_handle=grown.handles[0], element_shape=-1, element_dtype=tf.bool)
    handles, tensors = [handle], []
    for held, (dtype, shape) in zip(grown.handles[1:], grown.element.components(), strict=True):
        handle, tensor = tf.raw_ops.TensorListPopBack(input_handle=held, element_shape=-1, element_dtype=dtype)
        tensor.set_shape(shape)
        handles.append(handle)
        tensors.append(tensor)
    return Growable(handles, grown.element), grown.element.unpack(iter(tensors))


def replaced(grown: Growable, index: tf.Tensor, tensors: Sequence[tf.Tensor]) -> Growable:
    """`grown` with another element, given as tensors, at a run-time index (int32, in range)."""
    put = tf.raw_ops.TensorListSetItem
    handles = [put(input_handle=handle, index=index, item=value) for handle, value in zip(grown.handles[1:], tensors, strict=True)]
    return Growable([grown.handles[0], *handles], grown.element)
