"""The views of a dict: its keys, values or items as they are when somebody looks."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from imp2tf.alternatives import over
from imp2tf.containers import new, static
from imp2tf.heap import contents
from imp2tf.table_items import listed_view
from imp2tf.values import Deferred, StandIn, Table, Union, call_method

__all__ = ["DictView"]


class DictView(StandIn):
    """``owner.keys()``, ``owner.values()`` or ``owner.items()``: what the dict holds when it is looked at."""

    what = "a view of a dict"

    def __init__(self, owner: dict[Any, Any] | Union, name: str) -> None:
        self.owner: Any = owner
        self.name = name
        self._outside = None if isinstance(owner, Union) else Deferred(call_method, (owner, name))

    def after_run(self) -> Deferred | None:
        return self._outside

    def __iter__(self) -> Iterator[Any]:
        found = self.found()
        several = isinstance(found, (Table, Union))
        return iter(static(self.listed(), f"dict.{self.name}") if several else self.of(found))

    def found(self) -> Any:
        """The contents of the dict, or a union: of dicts, or of what the one dict may hold."""
        return self.owner if isinstance(self.owner, Union) else contents(self.owner)

    def listed(self) -> list[Any]:
        """A new list of the keys, values or items that the view shows. It may be of run-time length."""

        def items(view: DictView) -> Any:
            found = view.found()
            if isinstance(found, Table):
                return listed_view(view.owner, view.name)
            return over(found, lambda one: new(list(self.of(one)))) if isinstance(found, Union) else new(list(self.of(found)))

        return self.over(items)

    def over(self, operation: Callable[[DictView], Any]) -> Any:
        """`operation` on the view of the one dict that the run finds, where the view may be of several."""
        return over(self.owner, lambda one: operation(DictView(one, self.name))) if isinstance(self.owner, Union) else operation(self)

    def of(self, found: dict[Any, Any]) -> Any:
        """Python's view of a dict with these contents."""
        return getattr(found, self.name)()
