"""Cursors over lists, deques, dicts and sets, which the program may change meanwhile."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import raise_error, truth
from imp2tf.arithmetic import compare
from imp2tf.container_items import get_item, item_within
from imp2tf.containers import container_length
from imp2tf.cursors import IndexedCursor, StaticCursor, Truth
from imp2tf.heap import contents
from imp2tf.region import stop_if
from imp2tf.table_items import shown_entry
from imp2tf.values import is_runtime

__all__ = ["ContainerCursor", "DequeCursor", "ListCursor", "ReversedCursor", "TableCursor", "ViewCursor"]


class ContainerCursor(StaticCursor):
    """Over a dict, set or deque, which must keep its size meanwhile."""

    def __init__(self, container: Any, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.container = container

    def has_next(self) -> Truth:
        changed = truth(compare("!=", container_length(self.container), len(self.items)))
        if changed is True:
            raise_error(_changed_size(self.container))
        elif changed is not False:
            stop_if(tf.convert_to_tensor(changed), _changed_size(self.container))
        return super().has_next()


class ViewCursor(ContainerCursor):
    """Over a view of a dict of known keys: values are those of the moment when their turn comes."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, contents(owner))
        self.name = name

    def next(self) -> Any:
        return self._shown(super().next())

    def known_items(self) -> list[Any]:
        return [self._shown(key) for key in super().known_items() or ()]

    def _shown(self, key: Any) -> Any:
        if self.name == "keys":
            return key
        value = get_item(self.container, key)
        return value if self.name == "values" else (key, value)


def _changed_size(container: Any) -> RuntimeError:
    kinds = {dict: "dictionary changed size during iteration", set: "Set changed size during iteration"}
    return RuntimeError(next((text for cls, text in kinds.items() if isinstance(container, cls)), "deque mutated during iteration"))


class ListCursor(IndexedCursor):
    """Over a list, which the loop may change meanwhile."""

    def __init__(self, container: Any) -> None:
        super().__init__()
        self.container = container

    def length(self) -> Any:
        return container_length(self.container)

    def item(self, index: Any) -> Any:
        return item_within(self.container, index)

    def known_items(self) -> list[Any] | None:
        known = isinstance(contents(self.container), list) and not is_runtime(self.index.value)
        return self._known_items() if known else None


class DequeCursor(ListCursor):
    """Over a deque of run-time length, which must keep its length meanwhile."""

    def __init__(self, container: Any) -> None:
        super().__init__(container)
        self.count = container_length(container)

    def has_next(self) -> Truth:
        changed = truth(compare("!=", self.count, container_length(self.container)))
        stop_if(tf.convert_to_tensor(changed), _changed_size(self.container))
        return super().has_next()


class TableCursor(IndexedCursor):
    """Over a dict under run-time keys, or a view of it; the dict must keep its size meanwhile."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__()
        self.owner = owner
        self.name = name
        self.count = container_length(owner)

    def length(self) -> Any:
        return self.count

    def has_next(self) -> Truth:
        changed = truth(compare("!=", self.count, container_length(self.owner)))
        stop_if(tf.convert_to_tensor(changed), _changed_size(self.owner))
        return super().has_next()

    def item(self, index: Any) -> Any:
        return shown_entry(self.owner, index, self.name)


class ReversedCursor(IndexedCursor):
    """Over a list of run-time length from its end; it ends where the index leaves the list."""

    def __init__(self, container: Any) -> None:
        super().__init__(container_length(container) - 1)
        self.container = container

    def has_next(self) -> Truth:
        inside = tf.logical_and(truth(compare(">=", self.index.value, 0)), truth(compare("<", self.index.value, self.length())))
        return tf.convert_to_tensor(inside)

    def length(self) -> Any:
        return container_length(self.container)

    def next(self) -> Any:
        index = self.index.value
        self.index.value = index - 1
        return item_within(self.container, index)
