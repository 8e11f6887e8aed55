"""Tensors that are the items of one other tensor, one after the other: together they are a part of it, and need not be put together."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import tensorflow as tf

__all__ = ["Item", "Run", "item_of", "placed_item", "runs_of"]

FEWEST = 3  # items that are worth it: XLA takes long to compile what puts many tensors together


class Item(NamedTuple):
    """An item of a tensor at a position along an axis; `key` says which tensor that is."""

    key: Hashable
    axis: int
    position: int


class Run(NamedTuple):
    """Some of several tensors that follow each other: items at ascending (or descending) positions of one tensor, or a single tensor."""

    first: int
    length: int
    item: Item | None  # the one at the lowest position
    backward: bool


def item_of(tensor: tf.Tensor, place: Callable[[tf.Tensor], Hashable]) -> Item | None:
    """The item that a tensor is, None if it is none that is known before the run."""
    op = tensor.op
    if op.type == "Unpack":
        axis = op.get_attr("axis")
        return Item(place(op.inputs[0]), axis if axis >= 0 else axis + op.inputs[0].shape.rank, tensor.value_index)
    if op.type != "StridedSlice":
        return None
    picked = _picked(op, op.inputs[1], op.inputs[3], op.inputs[0].shape)
    return None if picked is None else Item(place(op.inputs[0]), *picked)


def placed_item(tensor: tf.Tensor) -> Item | None:
    """The item that a tensor holds which is zero elsewhere: the gradient of one that was picked, ``inputs[-1]`` of its operation."""
    op = tensor.op
    if op.type != "StridedSliceGrad":
        return None
    picked = _picked(op, op.inputs[1], op.inputs[3], tensor.shape)
    return None if picked is None else Item((tensor.dtype, *tensor.shape.as_list()), *picked)


def _picked(op: tf.Operation, begin: tf.Tensor, strides: tf.Tensor, shape: tf.TensorShape) -> tuple[int, int] | None:
    """The axis and the position at which a slice picks one item, None if it does more or less."""
    picked, begins, ends, ellipsis, new = (op.get_attr(name) for name in (
        "shrink_axis_mask", "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"))
    first, step = (tf.get_static_value(one) for one in (begin, strides))
    axis = picked.bit_length() - 1
    whole = (1 << begin.shape[0]) - 1 & ~picked
    if first is None or step is None or ellipsis or new or picked != 1 << axis or any(step != 1) or begins & ends & whole != whole:
        return None
    position = int(first[axis])
    return axis, position if position >= 0 else position + shape[axis]


def runs_of(items: Sequence[Item | None]) -> Iterator[Run]:
    """The runs among tensors that are such items, or None where they are none."""
    first = 0
    while first < len(items):
        count, step = 1, 0
        while first + count < len(items) and _follows(items[first + count - 1], items[first + count], step):
            step = items[first + count].position - items[first + count - 1].position  # type: ignore[union-attr]
            count += 1
        if count < FEWEST:
            yield Run(first, 1, None, False)
            first += 1
        else:
            yield Run(first, count, items[first if step > 0 else first + count - 1], step < 0)
            first += count


def _follows(one: Item | None, other: Item | None, step: int) -> bool:
    if one is None or other is None or one[:2] != other[:2]:
        return False
    found = other.position - one.position
    return found in (1, -1) and step in (0, found)
