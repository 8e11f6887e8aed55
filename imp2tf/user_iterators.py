"""Iteration over objects of the user's own classes: their ``__iter__`` and ``__next__`` are converted like any method."""
from __future__ import annotations

from typing import Any

from imp2tf.calls import call
from imp2tf.cursors import Cursor
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.iteration import cursor_of
from imp2tf.kinds import is_user_function

__all__ = ["user_cursor"]


class UserCursor(Cursor):
    """Over an iterator whose ``__next__`` is the user's and ends it by Python's decision."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.item: Any = None

    def has_next(self) -> bool:
        try:
            self.item = call(type(self.iterator).__next__, self.iterator)
        except ProgramRaise as raised:
            if isinstance(raised.error, StopIteration):
                return False
            raise
        return True

    def next(self) -> Any:
        return self.item


class SequenceCursor(Cursor):
    """Over an object with the old protocol: ``__getitem__`` until IndexError."""

    def __init__(self, sequence: Any) -> None:
        self.sequence = sequence
        self.index = 0
        self.item: Any = None

    def has_next(self) -> bool:
        try:
            self.item = call(type(self.sequence).__getitem__, self.sequence, self.index)
        except ProgramRaise as raised:
            if isinstance(raised.error, IndexError):
                return False
            raise
        self.index += 1
        return True

    def next(self) -> Any:
        return self.item


def user_cursor(value: Any) -> Cursor | None:
    """A cursor over an object of a user's class, None for any other value."""
    method = getattr(type(value), "__iter__", None)
    if is_user_function(method):
        iterator = call(method, value)
        return _of_iterator(iterator)
    if method is None and is_user_function(getattr(type(value), "__getitem__", None)):
        return SequenceCursor(value)
    return None


def _of_iterator(iterator: Any) -> Cursor:
    if is_user_function(getattr(type(iterator), "__next__", None)):
        return UserCursor(iterator)
    if type(iterator).__name__ == "generator":
        return fall_back(ForeignCall, "iteration over a generator")
    return cursor_of(iterator)
