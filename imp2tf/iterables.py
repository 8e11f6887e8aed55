"""Any iterable as a cursor, as a list of known items, or visited item by item."""
from __future__ import annotations

import functools
from typing import Any

from imp2tf.containers import append, new_list
from imp2tf.cursors import Cursor
from imp2tf.errors import NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.generators import Pushed, as_pushed, push_for
from imp2tf.heap import contents
from imp2tf.iteration import GeneratorValue, cursor_of, drained
from imp2tf.kinds import is_users_iterable
from imp2tf.loops import run_for
from imp2tf.states import NO_STATE, State
from imp2tf.user_iterators import user_cursor
from imp2tf.values import GeneratorCall


def cursor(value: Any, in_text: bool = False) -> Cursor:
    """A cursor over any iterable but a generator, which runs by itself. `in_text`: see `imp2tf.calls.call_in_text`."""
    if as_pushed(value) is not None:
        fall_back(UnsupportedSyntax, "a generator is used other than by a loop over all its items")
    return user_cursor(value, in_text) or cursor_of(value)


def known_items(value: Any, what: str) -> list[Any]:
    """All items, which must be known while tracing."""
    pushed = as_pushed(value)
    if pushed is not None:
        return _collected(pushed, what)
    user = user_cursor(value, in_text=False)
    items = drained(user if user is not None else value)
    if items is None:
        return fall_back(NeedsValue, f"{what} of a run-time length")
    return items


def _collected(pushed: Pushed, what: str) -> list[Any]:
    made = new_list([])
    push_for(pushed, functools.partial(append, made), None, NO_STATE, None)
    found = contents(made)
    return found if isinstance(found, list) else fall_back(NeedsValue, f"{what} of a generator of run-time length")


def is_lazy(value: Any) -> bool:
    """Whether items are computed when they are asked for, so that asking has effects."""
    return isinstance(value, (GeneratorValue, Cursor, Pushed, GeneratorCall)) or is_users_iterable(value)


def each(value: Any, visit: Any, state: State = NO_STATE) -> None:
    """Visit all items, of whatever number."""
    pushed = as_pushed(value)
    if pushed is not None:
        return push_for(pushed, visit, None, state, None)
    run_for(cursor(value), visit, None, state, None, visit.__code__)
