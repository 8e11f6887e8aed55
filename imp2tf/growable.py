"""Lists whose length is known only at run time, as TensorLists.

There is one handle per tensor of the element spec, and one more that counts, since elements may hold no tensor. The
element shape is left open: gradients through push, get, pop and stack are right for elements of differing shapes.

Taking from the front shortens the handle that counts and nothing else: the elements are the last ones of the other
handles, as many as it counts. Such a list is `shifted`.
"""
from __future__ import annotations

import collections
from collections.abc import Hashable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.compound_specs import Items, list_family, may_be_lost, sealed_object
from imp2tf.errors import LostValue, fall_back
from imp2tf.places import Contents
from imp2tf.recording_tapes import has_first_order_only
from imp2tf.session import current
from imp2tf.snapshots import Snapshot, freeze, seal
from imp2tf.specs import BOTTOM, SCALAR, Component, Dense, Number, Spec, Tensors, empty_tensor_list
from imp2tf.tf_compat import build_while
from imp2tf.values import Growable

__all__ = [
    "PICKED", "GrowableList", "compact", "element_at", "element_ids", "empty_growable", "growable_length", "growable_of", "has_one_shape",
    "is_stackable", "items_of", "joined", "last_pushed",
    "picked", "popped", "popped_first", "pushed", "pushes_since", "replaced", "stacked_column", "widened",
    "without_element",
]

PICKED = "imp2tf_picked"  # operations of this name take elements out of a list: what they leave has no gradient


class GrowableList(Spec):
    """A list or deque whose length is known only at run time; `like` is one of its class."""

    grows = True

    def __init__(self, element: Spec, like: Any = (), shifted: bool = False) -> None:
        self.element = element
        self.maxlen = like.maxlen if isinstance(like, collections.deque) else None
        self.is_deque = isinstance(like, collections.deque)
        self.shifted = shifted

    def __repr__(self) -> str:
        return f"GrowableList({self.element})"

    def empty(self) -> Any:
        """An empty container of the class."""
        return collections.deque(maxlen=self.maxlen) if self.is_deque else []

    def with_element(self, element: Spec, shifted: bool = False) -> GrowableList:
        """The same with other elements."""
        made = GrowableList(element, self.empty(), self.shifted or shifted)
        made.sealed = self.sealed
        return made

    def components(self) -> list[Component]:
        return [(tf.variant, SCALAR)] * (len(self.element.components()) + 1)

    def filler(self) -> list[tf.Tensor]:
        return empty_growable(self.element).handles

    def _pack(self, value: Any) -> list[tf.Tensor]:
        found = value.elements if isinstance(value, Snapshot) else value
        if isinstance(found, Growable):
            held = widened(found, self.element)
            held = held if self.shifted else compact(held)
            return held.handles
        grown = empty_growable(self.element)
        for item in found:
            grown = pushed(grown, self.element.pack(item))
        return grown.handles

    def unpack(self, tensors: Tensors) -> Any:
        session = current()
        made = session.born(self.empty())
        session.write(Contents(made), self.unpack_elements(tensors))
        return sealed_object(made) if self.sealed else made

    def unpack_elements(self, tensors: Tensors) -> Any:
        return Growable([next(tensors) for _ in self.components()], self.element, self.shifted)

    def realize(self, tensors: Tensors) -> Any:
        handles = [next(tensors) for _ in self.components()]
        length = int(tf.raw_ops.TensorListLength(input_handle=handles[0]).numpy())
        columns = [items_of(handle, dtype, length) for handle, (dtype, _) in zip(handles[1:], self.element.components(), strict=True)]
        made = self.empty()
        made.extend(self.element.realize(iter(row)) for row in (zip(*columns, strict=True) if columns else [()] * length))
        return made

    def key(self) -> Hashable:
        return "growable", self.family(), self.shifted, self.sealed, self.element.key()

    def family(self) -> Hashable:
        return list_family(self.empty())

    def layout(self) -> Hashable:
        return "growable", self.family(), self.shifted, self.element.layout()


def items_of(handle: tf.Tensor, dtype: tf.DType, length: int) -> list[tf.Tensor]:
    """The last so many tensors of an eager TensorList."""
    get, first = tf.raw_ops.TensorListGetItem, int(_count(handle).numpy()) - length
    return [get(input_handle=handle, index=first + i, element_shape=-1, element_dtype=dtype) for i in range(length)]


def _count(handle: tf.Tensor) -> tf.Tensor:
    return tf.raw_ops.TensorListLength(input_handle=handle)


def empty_growable(element: Spec) -> Growable:
    """A growable list without elements."""
    return Growable([empty_tensor_list(tf.bool), *(empty_tensor_list(dtype) for dtype, _ in element.components())], element)


def growable_of(element: Spec, columns: Sequence[tf.Tensor], count: tf.Tensor) -> Growable:
    """The list of `count` elements whose tensors are the rows of `columns`."""
    make = tf.raw_ops.TensorListFromTensor
    return Growable([make(tensor=column, element_shape=-1) for column in (tf.fill([count], True), *columns)], element)


def pushed(grown: Growable, tensors: Sequence[tf.Tensor]) -> Growable:
    """`grown` with one element more, given as tensors."""
    push = tf.raw_ops.TensorListPushBack
    values = [tf.constant(True), *tensors]
    return grown.over([push(input_handle=handle, tensor=value) for handle, value in zip(grown.handles, values, strict=True)])


def pushes_since(grown: Growable, base: Growable) -> int | None:
    """How many elements were appended to `base`, where nothing else was done to it; None if that is not to be seen."""
    found = {_pushes(handle, first) for handle, first in zip(grown.handles, base.handles)}
    return found.pop() if len(found) == 1 and len(grown.handles) == len(base.handles) else None


def last_pushed(grown: Growable, count: int) -> list[tf.Tensor]:
    """The last elements of a list of single tensors, as they were appended; none of other lists."""
    found: list[tf.Tensor] = []
    handle = grown.handles[-1]
    while len(grown.handles) == 2 and len(found) < count:
        found.append(handle.op.inputs[1])
        handle = handle.op.inputs[0]
    return found[::-1]


def _pushes(handle: tf.Tensor, first: tf.Tensor) -> int | None:
    count = 0
    while handle.name != first.name or handle.graph is not first.graph:
        if handle.op.type != "TensorListPushBack":
            return None
        handle, count = handle.op.inputs[0], count + 1
    return count


def growable_length(grown: Growable) -> tf.Tensor:
    """Number of elements, int32."""
    return _count(grown.handles[0])


def _place(grown: Growable, handle: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Where an element stands in a handle."""
    return index + _count(handle) - growable_length(grown) if grown.shifted else index


def _tensors_at(grown: Growable, index: tf.Tensor) -> list[tf.Tensor]:
    tensors = []
    for handle, (dtype, shape) in zip(grown.handles[1:], grown.element.components(), strict=True):
        place = _place(grown, handle, index)
        tensor = tf.raw_ops.TensorListGetItem(input_handle=handle, index=place, element_shape=-1, element_dtype=dtype)
        tensor.set_shape(shape)
        tensors.append(tensor)
    return tensors


def element_at(grown: Growable, index: tf.Tensor) -> Any:
    """The element at a run-time index (int32, in range)."""
    value = grown.element.unpack(iter(_tensors_at(grown, index)))
    seal(freeze(value, current().depth))
    return value


# ------------------------------------------------------------------------------------------------ kinds of elements
def widened(grown: Growable, element: Spec) -> Growable:
    """The same elements, packed by a wider element spec."""
    if grown.element.layout() == element.layout():
        return Growable(grown.handles, element, grown.shifted)
    if grown.element.key() == BOTTOM.key():
        return empty_growable(element)
    if may_be_lost(element):
        fall_back(LostValue, "an object made anew in a branch or loop is put in a list of run-time length")
    return joined(empty_growable(element), grown)


def joined(first: Growable, second: Growable) -> Growable:
    """`first` followed by the elements of `second`, each taken apart and packed as `first` packs its own."""
    count, element = growable_length(second), first.element
    same = second.element.layout() == element.layout()

    def body(go: tf.Tensor, index: tf.Tensor, *handles: tf.Tensor) -> list[tf.Tensor]:
        if same:
            tensors = _tensors_at(second, index)
        else:
            tensors = element.pack(freeze(element_at(second, index), current().depth))
        return [index + 1 < count, index + 1, *pushed(first.over(handles), tensors).handles]

    init = [count > 0, tf.constant(0), *first.handles]
    return first.over(build_while(body, init, [SCALAR] * len(init), None, has_first_order_only())[2:])


# ------------------------------------------------------------------------------------------------ other orders
def has_one_shape(component: Component) -> bool:
    """Whether this tensor has the same shape in all elements, so that it can be stacked."""
    dtype, shape = component
    return dtype not in (tf.variant, tf.resource) and shape.is_fully_defined()


def stacked_column(grown: Growable, column: int) -> tf.Tensor:
    """One of the tensors of all elements, which have the same shape."""
    dtype, shape = grown.element.components()[column]
    handle = grown.handles[column + 1]
    stacked = tf.raw_ops.TensorListStack(
        input_handle=handle, element_shape=shape.as_list() if shape.is_fully_defined() else -1, element_dtype=dtype)
    if shape.rank is not None:
        stacked.set_shape([None, *shape.as_list()])
    if not grown.shifted:
        return stacked
    first = tf.reshape(_place(grown, handle, tf.constant(0)), [1])
    return tf.strided_slice(stacked, first, [0], end_mask=1, name=PICKED)


def is_stackable(element: Spec) -> bool:
    """Whether elements are tensors or numbers of one shape, or tuples of these, so that they can leave a graph as stacked columns."""
    if isinstance(element, Items):
        return isinstance(element.like, tuple) and bool(element.parts) and all(map(is_stackable, element.parts))
    if not isinstance(element, (Dense, Number)):
        return False
    dtype, shape = element.components()[0]
    return shape.is_fully_defined() and dtype != tf.variant


def picked(grown: Growable, positions: tf.Tensor) -> Growable:
    """The elements at some positions (a vector of int32, each in range)."""
    if all(map(has_one_shape, grown.element.components())):
        columns = [tf.gather(stacked_column(grown, i), positions, name=PICKED) for i in range(len(grown.handles) - 1)]
        return growable_of(grown.element, columns, tf.size(positions))
    count, start = tf.size(positions), empty_growable(grown.element)

    def body(go: tf.Tensor, index: tf.Tensor, *handles: tf.Tensor) -> list[tf.Tensor]:
        more = pushed(start.over(handles), _tensors_at(grown, positions[index]))
        return [index + 1 < count, index + 1, *more.handles]

    init = [count > 0, tf.constant(0), *start.handles]
    return start.over(build_while(body, init, [SCALAR] * len(init), None, has_first_order_only())[2:])


def compact(grown: Growable) -> Growable:
    """The same list, not shifted."""
    return picked(grown, element_ids(grown)) if grown.shifted else grown


def element_ids(grown: Growable) -> tf.Tensor:
    """0, 1, ... for the elements."""
    return tf.range(growable_length(grown))


def without_element(grown: Growable, index: tf.Tensor) -> Growable:
    """`grown` without the element at a run-time index (int32, in range)."""
    places = tf.range(growable_length(grown) - 1)
    return picked(grown, tf.where(places < index, places, places + 1))


def popped(grown: Growable) -> tuple[Growable, Any]:
    """`grown` without its last element, and that element."""
    handle, _ = tf.raw_ops.TensorListPopBack(input_handle=grown.handles[0], element_shape=-1, element_dtype=tf.bool)
    handles, tensors = [handle], []
    for held, (dtype, shape) in zip(grown.handles[1:], grown.element.components(), strict=True):
        handle, tensor = tf.raw_ops.TensorListPopBack(input_handle=held, element_shape=-1, element_dtype=dtype)
        tensor.set_shape(shape)
        handles.append(handle)
        tensors.append(tensor)
    return grown.over(handles), grown.element.unpack(iter(tensors))


def popped_first(grown: Growable) -> tuple[Growable, Any]:
    """`grown` without its first element, and that element."""
    value = grown.element.unpack(iter(_tensors_at(grown, tf.constant(0))))
    handle, _ = tf.raw_ops.TensorListPopBack(input_handle=grown.handles[0], element_shape=-1, element_dtype=tf.bool)
    return Growable([handle, *grown.handles[1:]], grown.element, shifted=True), value


def replaced(grown: Growable, index: tf.Tensor, tensors: Sequence[tf.Tensor]) -> Growable:
    """`grown` with another element, given as tensors, at a run-time index (int32, in range).

    The gradient of an element that is replaced in place has the shape of the new one; where the run finds that
    they differ, the list is made anew.
    """
    if _holds_lists_with_gradients(grown.element):
        return _rebuilt(grown, index, tensors)
    if all(shape.is_fully_defined() for _, shape in grown.element.components()):
        return _put(grown, index, tensors)
    old = _tensors_at(grown, index)
    checks = [_same_shape(a, b) for a, b in zip(old, tensors, strict=True) if a.dtype != tf.variant]
    handles = tf.cond(tf.reduce_all(tf.stack(checks)), lambda: compact(_put(grown, index, tensors)).handles,
                      lambda: _rebuilt(grown, index, tensors).handles)
    return Growable(handles, grown.element)


def _holds_lists_with_gradients(element: Spec, inside: bool = False) -> bool:
    """Whether an element is, or holds, a list of run-time length of numbers that have gradients."""
    if inside and any(dtype.is_floating or dtype.is_complex for dtype, _ in element.components()):
        return True
    if isinstance(element, GrowableList):
        return _holds_lists_with_gradients(element.element, inside=True)
    return any(_holds_lists_with_gradients(part, inside or element.grows) for part in getattr(element, "parts", ()))


def _rebuilt(grown: Growable, index: tf.Tensor, tensors: Sequence[tf.Tensor]) -> Growable:
    places = element_ids(grown)
    return picked(pushed(grown, tensors), tf.where(tf.equal(places, index), tf.size(places), places))


def _same_shape(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    x, y = tf.shape(a), tf.shape(b)
    return tf.cond(tf.equal(tf.size(x), tf.size(y)), lambda: tf.reduce_all(tf.equal(x, y)), lambda: tf.constant(False))


def _put(grown: Growable, index: tf.Tensor, tensors: Sequence[tf.Tensor]) -> Growable:
    put = tf.raw_ops.TensorListSetItem
    handles = [put(input_handle=handle, index=_place(grown, handle, index), item=value)
               for handle, value in zip(grown.handles[1:], tensors, strict=True)]
    return grown.over([grown.handles[0], *handles])
