"""Items of a Python sequence at positions that only the run knows.

Where all items are carried as tensors of the same shapes they are stacked, column by column, and gathered; otherwise a
chain of conditionals chooses.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.join import describe, is_bottom, join_all
from imp2tf.region import select
from imp2tf.session import current
from imp2tf.snapshots import Snapshot, freeze, seal
from imp2tf.specs import Spec
from imp2tf.values import Union

__all__ = ["item_at", "permuted"]

Columns = list[tf.Tensor]


def item_at(items: Sequence[Any], position: tf.Tensor) -> Any:
    """The item at a position in range (a scalar integer tensor)."""
    if len(items) > 2 and not any(map(_holds_mutable, items)):
        stacked = _stacked([freeze(item) for item in items])
        if stacked is not None:
            spec, columns = stacked
            return spec.unpack(iter([tf.gather(column, position) for column in columns]))

    def at(index: int) -> Any:
        if index == len(items) - 1:
            return items[index]
        return select(tf.equal(position, index), lambda: items[index], lambda: at(index + 1))

    return at(0)


def permuted(items: Sequence[Any], order: tf.Tensor) -> list[Any]:
    """The items in another order (positions, one for each item).

    Mutable items are copied by their elements; the originals and the copies may not be changed any more.
    """
    frozen = [freeze(item, current().depth) for item in items]
    stacked = _stacked(frozen)
    if stacked is None:
        return [item_at(items, order[place]) for place in range(len(items))]
    spec, columns = stacked
    rows = zip(*[tf.unstack(tf.gather(column, order), len(items)) for column in columns], strict=True)
    values = [spec.unpack(iter(row)) for row in rows] if columns else list(items)
    for one in (*frozen, *(freeze(value, current().depth) for value in values)):
        seal(one)
    return values


def _holds_mutable(value: Any) -> bool:
    """Whether a value is, or holds, an object with an identity that the program may change."""
    frozen = freeze(value)
    if isinstance(frozen, tuple):
        return any(map(_holds_mutable, frozen))
    if isinstance(frozen, Union):
        return any(map(_holds_mutable, frozen.alternatives))
    return isinstance(frozen, Snapshot)


def _stacked(frozen: Sequence[Any]) -> tuple[Spec, Columns] | None:
    """What covers all items, and each of its tensors for all items at once; None if shapes differ or are unknown."""
    spec = join_all([describe(item) for item in frozen])
    if is_bottom(spec):
        return None
    if any(dtype in (tf.variant, tf.resource) or not shape.is_fully_defined() for dtype, shape in spec.components()):
        return None
    return spec, [tf.stack(column) for column in zip(*[spec.pack(item) for item in frozen], strict=True)]
