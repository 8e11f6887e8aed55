"""Raising from converted code what is an exception, or one of several."""
from __future__ import annotations

from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.exceptions import ProgramRaise
from imp2tf.exits import NONE, RAISE
from imp2tf.records import Frames, split_records
from imp2tf.region import cond
from imp2tf.session import current
from imp2tf.states import NO_STATE, State
from imp2tf.values import DEAD, PyNumber, Union

__all__ = ["exception_instance", "leave_raising", "raise_at", "raise_record", "set_exit"]


def exception_instance(value: Any) -> Any:
    """What ``raise value`` raises: classes are called."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return current().run.call(value)
    if not isinstance(value, BaseException):
        raise ProgramRaise(TypeError("exceptions must derive from BaseException"))
    return value


def raise_record(record: Any) -> NoReturn:
    """Go on raising an exception that was on its way, or one of several."""
    if current().trying:
        raise ProgramRaise(None, fresh=False, record=record)
    if isinstance(record, Union):
        over(record, raise_record)
        raise ProgramRaise(RuntimeError("unreachable"))
    if isinstance(record.error, Union):
        over(record.error, lambda error: raise_at(error, record.frames))
    raise_at(record.error, record.frames)


def raise_at(error: Any, frames: Any) -> NoReturn:
    """Raise an exception that shows these lines of the user, which may be one of several stacks."""
    if isinstance(frames, Union):
        over(frames, lambda one: raise_at(error, one))
    raised = ProgramRaise(error, fresh=False)
    if isinstance(frames, Frames):
        raised.frames = list(frames.lines)
    raise raised


def set_exit(state: State, code: Any, result: Any) -> None:
    """Replace the exit under way."""
    state.set((code, result, *state.get()[2:]))


def leave_raising(state: State) -> None:
    """At the end of a statement: an exception on its way that found no handler in it is raised, to find one further out."""
    code, result = state.get()[:2]
    if not isinstance(code, PyNumber):
        if code == RAISE:
            set_exit(state, NONE, DEAD)
            raise_record(result)
        return
    records, others = split_records(result)
    if records is not None:
        set_exit(state, code, others)
        cond(tf.equal(code.tensor, RAISE), lambda: raise_record(records), lambda: None, NO_STATE)
