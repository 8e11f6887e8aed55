"""Any iterable as a cursor, as a list of known items, or visited item by item."""
from __future__ import annotations

from typing import Any

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.iteration import (
    Cursor,
    cursor_of,
    drained,
)
from imp2tf.loops import run_for
from imp2tf.region import NO_STATE, State
from imp2tf.user_iterators import user_cursor


def cursor(value: Any) -> Cursor:
    """A cursor over any iterable."""
    return user_cursor(value) or cursor_of(value)


def known_items(value: Any, what: str) -> list[Any]:
    """All items, which must be known while tracing."""
    user = user_cursor(value)
    items = drained(user if user is not None else value)
    if items is None:
        return fall_back(NeedsValue, f"{what} of a run-time length")
    return items


def each(value: Any, visit: Any, state: State = NO_STATE) -> None:
    """Visit all items, of whatever number."""
    run_for(cursor(value), visit, None, state, None, visit.__code__)
