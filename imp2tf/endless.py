"""Iterators without an end: ``itertools.count``, ``cycle`` and ``repeat``. How far they are is a place of the heap."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from imp2tf.container_items import get_item
from imp2tf.cursors import Cursor
from imp2tf.heap import view
from imp2tf.operations import binary_operation
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.values import StandIn

__all__ = ["Endless", "EndlessCursor", "counting", "cycling", "repeating"]


class Endless(StandIn):
    """An iterator that gives `item(position)` and goes on to `after(position)`."""

    ends = False

    def __init__(self, position: Any, item: Callable[[Any], Any], after: Callable[[Any], Any]) -> None:
        self.position = position
        self.item = item
        self.after = after


def counting(start: Any, step: Any) -> Endless:
    """``itertools.count(start, step)``."""
    return Endless(start, lambda position: position, lambda position: binary_operation("+", position, step))


def cycling(items: list[Any]) -> Endless:
    """``itertools.cycle`` of some items."""
    count = len(items)
    return Endless(0, lambda position: get_item(current().born(list(items)), position),
                   lambda position: binary_operation("%", binary_operation("+", position, 1), count))


def repeating(value: Any) -> Endless:
    """``itertools.repeat(value)``."""
    return Endless(0, lambda position: value, lambda position: position)


class EndlessCursor(Cursor):
    """Over such an iterator, which goes on from where it is."""

    def __init__(self, iterator: Endless) -> None:
        self.iterator = iterator
        self.place = Attribute(iterator, "position")

    def has_next(self) -> bool:
        return True

    def next(self) -> Any:
        position = view(self.place)
        current().write(self.place, self.iterator.after(position))
        return self.iterator.item(position)
