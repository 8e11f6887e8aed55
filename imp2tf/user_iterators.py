"""Iteration over objects of the user's own classes: their ``__iter__`` and ``__next__`` are converted like any method."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.calls import call, call_in_text
from imp2tf.courses import handled
from imp2tf.cursors import Cursor, Truth
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.iteration import cursor_of
from imp2tf.kinds import is_user_function
from imp2tf.operations import binary_operation
from imp2tf.records import OnItsWay, sorted_out, split_records
from imp2tf.region import cond
from imp2tf.session import Session, current
from imp2tf.states import NO_STATE, Box, Position
from imp2tf.try_state import raise_record
from imp2tf.values import DEAD

__all__ = ["user_cursor"]


class AskingCursor(Cursor):
    """Over something of the user's that gives an item or raises."""

    ending: type[Exception]

    def __init__(self) -> None:
        self.item = Box(DEAD)
        self.boxes: Sequence[Box] = (self.item,)

    def ask(self) -> Any:
        """The next item, or the exception that says there is none."""
        raise NotImplementedError

    def has_next(self) -> Truth:
        session = current()
        if session.trying or session.relaxations.ends_by_run:
            return self._handled(session)
        around, session.ending = session.ending, (*session.ending, self.ending)
        try:
            self.item.value = self.ask()
        except ProgramRaise as raised:
            if isinstance(raised.error, self.ending):
                return False
            raise
        finally:
            session.ending = around
        return True

    def next(self) -> Any:
        return self.item.value

    def _handled(self, session: Session) -> Truth:
        """Asked as under ``try``: only the run may know whether there is an item."""
        pending = Box()

        def ask() -> None:
            self.item.value = self.ask()

        def leave(record: Any) -> None:
            self.item.value, pending.value = DEAD, record

        around, session.ending = session.ending, ()
        try:
            handled(ask, NO_STATE.plus(self.item).plus(pending), leave)
        finally:
            session.ending = around
        records, others = split_records(pending.value)
        if records is None:
            return True
        _, passing, ends = sorted_out(records, self.ending)
        if others is DEAD:
            return self._certain(passing, ends)
        raises = tf.gather(tf.constant([isinstance(one, OnItsWay) for one in pending.value.alternatives]), pending.value.tag)
        if ends is not True:
            cond(raises if ends is False else tf.logical_and(raises, tf.logical_not(ends)),
                 lambda: raise_record(passing), lambda: None, NO_STATE)
        return True if ends is False else tf.logical_not(raises)

    def _certain(self, passing: Any, ends: Any) -> bool:
        """Something is raised for certain: the end, or what passes."""
        if ends is False:
            raise_record(passing)
        if ends is not True:
            cond(ends, lambda: None, lambda: raise_record(passing), NO_STATE)
        return False


class UserCursor(AskingCursor):
    """Over an iterator whose ``__next__`` is the user's."""

    ending = StopIteration

    def __init__(self, iterator: Any, in_text: bool) -> None:
        super().__init__()
        self.iterator = iterator
        self.caller = call_in_text if in_text else call

    def ask(self) -> Any:
        return self.caller(type(self.iterator).__next__, self.iterator)


class SequenceCursor(AskingCursor):
    """Over an object with the old protocol: ``__getitem__`` until IndexError."""

    ending = IndexError

    def __init__(self, sequence: Any) -> None:
        super().__init__()
        self.sequence = sequence
        self.index = Position(0)
        self.boxes = (self.item, self.index)

    def ask(self) -> Any:
        return call(type(self.sequence).__getitem__, self.sequence, self.index.value)

    def next(self) -> Any:
        self.index.value = binary_operation("+", self.index.value, 1)
        return self.item.value


def user_cursor(value: Any, in_text: bool) -> Cursor | None:
    """A cursor over an object of a user's class, None for any other value; `in_text`: see `imp2tf.calls.call_in_text`."""
    method = getattr(type(value), "__iter__", None)
    if is_user_function(method):
        iterator = (call_in_text if in_text else call)(method, value)
        return _of_iterator(iterator, in_text and current().in_text)
    if method is None and is_user_function(getattr(type(value), "__getitem__", None)):
        return SequenceCursor(value)
    return None


def _of_iterator(iterator: Any, in_text: bool) -> Cursor:
    if is_user_function(getattr(type(iterator), "__next__", None)):
        return UserCursor(iterator, in_text)
    if type(iterator).__name__ == "generator":
        return fall_back(ForeignCall, "iteration over a generator")
    return cursor_of(iterator)
