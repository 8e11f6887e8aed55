"""tf.TensorArray in a trace: the object that eager has, over a TensorList of the graph.

A `TracedArray` is made by the trace; its fields are attributes that the journal keeps, so branches and loops carry them
like those of a user's object. Where it leaves the graph, it becomes the array that eager would have.
"""
from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.values import Facts, Union

__all__ = ["CLEARED", "UNWRITTEN", "WRITTEN", "Elements", "Settings", "TracedArray", "dims_of"]

UNWRITTEN, WRITTEN, CLEARED = range(3)  # the status of an element
Dims = tuple[int | None, ...] | None


def dims_of(shape: Any) -> Dims:
    """A static shape as a tuple; None for an unknown rank."""
    known = tf.TensorShape(shape)
    return None if known.rank is None else tuple(known.as_list())


@dataclasses.dataclass(frozen=True)
class Settings(Facts):
    """The arguments with which an array was made."""

    dtype: tf.DType
    dynamic: bool
    clear: bool
    infer: bool
    declared: Dims

    @property
    def shape(self) -> tf.TensorShape:
        """The shape of elements that was declared."""
        return tf.TensorShape(self.declared)

    @property
    def keeps_status(self) -> bool:
        """Whether only the run knows which elements are there: their shapes may differ, and reading a missing one fails."""
        return not self.infer and not self.shape.is_fully_defined()

    def empty(self, size: int) -> tf.TensorArray:
        """An eager array made so."""
        return tf.TensorArray(self.dtype, size, self.dynamic, self.clear, infer_shape=self.infer, element_shape=self.declared)


@dataclasses.dataclass(frozen=True)
class Elements(Facts):
    """What the trace knows of the elements of an array.

    `dims` is their shape as eager knows it, `count` their number if it is static. `loaded` tells that eager knows less
    than the trace, and `dims` is what the trace knows: all elements came at once from a tensor, or the array does not
    infer shapes and some were written.
    """

    dims: Dims
    count: int | None
    loaded: bool = False

    @property
    def shape(self) -> tf.TensorShape:
        """The static shape of an element."""
        return tf.TensorShape(self.dims)

    @property
    def blank(self) -> bool:
        """Whether, in an array that infers shapes, no element was written and none can be read."""
        return not self.loaded and not self.shape.is_fully_defined()


class TracedArray(tf.TensorArray):
    """An array that the trace made.

    `_status` is a TensorList that may be shorter than the array, or longer. It counts only where `_was_read` is not False,
    or where the array keeps status.
    """

    handle = None

    def __init__(self, settings: Settings, elements: Elements, items: tf.Tensor, status: tf.Tensor | None) -> None:
        self._settings: Settings | Union = settings
        self._elements: Elements | Union = elements
        self._items = items
        self._status = status
        self._was_read: Any = False

    def put(self, **fields: Any) -> None:
        """Write fields, through the journal."""
        for name, value in fields.items():
            current().write(Attribute(self, f"_{name}"), value)

    @property
    def settings(self) -> Settings:
        """What the array was made with."""
        found = self._settings
        return found if isinstance(found, Settings) else fall_back(NeedsValue, "one of several TensorArrays made with other settings")

    @property
    def alternatives(self) -> list[Elements]:
        """What may be known of the elements: one, or one for each tag of a union."""
        return list(self._elements.alternatives) if isinstance(self._elements, Union) else [self._elements]

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the elements."""
        return self.settings.dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the array grows when it is written beyond its end."""
        return self.settings.dynamic

    @property
    def element_shape(self) -> tf.TensorShape:
        """The shape of the elements as eager knows it."""
        known = {self.settings.declared if one.loaded else one.dims for one in self.alternatives}
        return tf.TensorShape(known.pop()) if len(known) == 1 else fall_back(NeedsValue, "the element shape of a TensorArray")

    @property
    def flow(self) -> tf.Tensor:
        """The attribute ``flow``, which has no meaning in eager mode."""
        return fall_back(NeedsValue, "the flow of a TensorArray")

    def mark_used(self) -> None:
        """What `write` returns has this eagerly: it silences a reminder."""

    def functional(self) -> tf.TensorArray:
        """The array as a graph around this one has it."""
        return tf.TensorArray(self.dtype, dynamic_size=self.dynamic_size, infer_shape=self.settings.infer, flow=self._items)

    # -------------------------------------------------------------------------------------- after the run
    def eager(self) -> tf.TensorArray:
        """The array as eager would have it; the fields are those of the end of a run."""
        settings, elements = self.settings, self.alternatives[0]
        size = int(tf.raw_ops.TensorListLength(input_handle=self._items))
        array = settings.empty(size)
        status = self._statuses(size) if settings.keeps_status or self._was_read else [WRITTEN] * size
        if elements.loaded and not settings.keeps_status:
            _load(array, [self._element(i) for i in range(size)])
        elif not elements.blank or settings.keeps_status:
            for i in range(size):
                if status[i] != UNWRITTEN or not settings.keeps_status:
                    array.write(i, self._element(i)).mark_used()
        for i in range(size):
            if status[i] == CLEARED:
                array.read(i)
        return array

    def _statuses(self, size: int) -> list[int]:
        stacked = tf.raw_ops.TensorListStack(input_handle=self._status, element_shape=[], element_dtype=tf.int32)
        found = stacked.numpy().tolist()[:size]
        return found + [UNWRITTEN] * (size - len(found))

    def _element(self, index: int) -> tf.Tensor:
        shape = self.alternatives[0].shape
        known = shape.as_list() if shape.is_fully_defined() else -1
        get = tf.raw_ops.TensorListGetItem
        return get(input_handle=self._items, index=index, element_shape=known, element_dtype=self.settings.dtype)


def _load(array: tf.TensorArray, parts: list[tf.Tensor]) -> None:
    if len({dims_of(part.shape) for part in parts}) > 1:
        array.split(tf.concat(parts, 0), [part.shape[0] for part in parts])
    else:
        array.unstack(tf.stack(parts) if parts else tf.zeros([0], array.dtype))
