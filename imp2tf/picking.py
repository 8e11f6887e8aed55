"""Items of a Python sequence at positions that only the run knows.

Where all items are carried as tensors of the same shapes they are stacked, column by column, and gathered; otherwise a
chain of conditionals chooses. So it does under a tape if the items depend on different things: a gradient by what the items
not chosen depend on is None, and that of a gather would be zeros.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.join import describe, is_bottom, join_all
from imp2tf.region import select
from imp2tf.session import current
from imp2tf.snapshots import Snapshot, freeze, seal
from imp2tf.specs import Spec
from imp2tf.tf_compat import is_symbolic_tensor, tape_may_record
from imp2tf.values import Union

__all__ = ["item_at", "permuted"]

Columns = list[tf.Tensor]
PARTS = ("Cast", "GatherV2", "Identity", "Split", "StridedSlice", "Unpack")
MOST_CONDITIONALS = 20


def item_at(items: Sequence[Any], position: tf.Tensor) -> Any:
    """The item at a position in range (a scalar integer tensor)."""
    if len(items) > 2 and not any(map(_holds_mutable, items)) and not _are_apart(items, len(items) - 1):
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
    stacked = None if _are_apart(items, len(items) * (len(items) - 1)) else _stacked(frozen)
    if stacked is None:
        return [item_at(items, order[place]) for place in range(len(items))]
    spec, columns = stacked
    rows = zip(*[tf.unstack(tf.gather(column, order), len(items)) for column in columns], strict=True)
    values = [spec.unpack(iter(row)) for row in rows] if columns else list(items)
    for one in (*frozen, *(freeze(value, current().depth) for value in values)):
        seal(one)
    return values


def _are_apart(items: Sequence[Any], conditionals: int) -> bool:
    """Whether a tape may record, and the tensors of the items come from different ones, so that a gradient depends on the choice."""
    if not tape_may_record():
        return False
    origins = {tuple(_origin(one) for one in tf.nest.flatten(freeze(item)) if isinstance(one, tf.Tensor) and one.dtype.is_floating)
               for item in items}
    if len(origins) > 1 and conditionals > MOST_CONDITIONALS:
        fall_back(NeedsValue, f"one of {len(items)} tensors is taken under a tape at a position that only the run knows")
    return len(origins) > 1


def _origin(tensor: tf.Tensor) -> int:
    """What tells the tensor apart of which this one is a part; all constants are alike."""
    while is_symbolic_tensor(tensor) and tensor.op.type in PARTS:
        tensor = tensor.op.inputs[1 if tensor.op.type == "Split" else 0]
    return id(tensor) if is_symbolic_tensor(tensor) and tensor.op.type != "Const" else 0


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
