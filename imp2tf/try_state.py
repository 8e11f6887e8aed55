"""Exceptions on their way through converted code: values that a join can carry."""
from __future__ import annotations

import functools
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.exceptions import Frame, ProgramRaise, user_frames
from imp2tf.session import current
from imp2tf.values import DEAD, Union

__all__ = ["Frames", "OnItsWay", "exception_instance", "frames_of", "on_its_way", "raise_record", "split_records"]


class OnItsWay:
    """An exception that was raised and not yet caught; an object of the trace, so it joins field by field."""

    error: Any
    frames: Any


def on_its_way(error: Any) -> OnItsWay:
    """An exception of the program, raised here."""
    record = current().born(OnItsWay())
    record.error = error
    record.frames = frames_of(error)
    return record


def frames_of(error: Any) -> Any:
    """Where an exception was raised: here, or where it was raised first if it is raised again."""
    caught = current().caught
    return caught[-1].frames if caught and caught[-1].error is error else frames_at(tuple(user_frames()))


class Frames:
    """The user's lines that raised an exception; the same object for the same lines, so that it joins as a constant."""

    __slots__ = ("lines",)

    def __init__(self, lines: tuple[Frame, ...]) -> None:
        self.lines = lines


@functools.cache
def frames_at(lines: tuple[Frame, ...]) -> Frames:
    """The one `Frames` of these lines."""
    return Frames(lines)


def exception_instance(value: Any) -> Any:
    """What ``raise value`` raises: classes are called."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return current().run.call(value)
    if not isinstance(value, BaseException):
        raise ProgramRaise(TypeError("exceptions must derive from BaseException"))
    return value


def raise_record(record: Any) -> NoReturn:
    """Go on raising an exception that was on its way, or one of several."""
    if isinstance(record, list):
        record = record[0] if len(record) == 1 else record
    if isinstance(record, Union):
        over(record, raise_record)
        raise ProgramRaise(RuntimeError("unreachable"))
    if isinstance(record.frames, Union):
        over(record.frames, lambda frames: _raise_at(record.error, frames))
    _raise_at(record.error, record.frames)


def _raise_at(error: Any, frames: Any) -> NoReturn:
    raised = ProgramRaise(error, fresh=False)
    if isinstance(frames, Frames):
        raised.frames = list(frames.lines)
    raise raised


def split_records(result: Any) -> tuple[Any, Any]:
    """The exceptions that a function's result may be, and the result without them."""
    if isinstance(result, OnItsWay):
        return result, DEAD
    if not isinstance(result, Union):
        return None, result
    records = [one for one in result.alternatives if isinstance(one, OnItsWay)]
    others = [one for one in result.alternatives if not isinstance(one, OnItsWay)]
    if not records:
        return None, result
    return _narrowed(result, records), _narrowed(result, others) if others else DEAD


def _narrowed(union: Union, kept: list[Any]) -> Any:
    """A union of some of its alternatives; the tag of the others is not read."""
    if len(kept) == 1:
        return kept[0]
    places = {id(one): i for i, one in enumerate(kept)}
    moved = [places.get(id(one), 0) for one in union.alternatives]
    return Union(tf.gather(tf.constant(moved, tf.int32), union.tag), kept)
