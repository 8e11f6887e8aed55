"""Exceptions on their way to a handler, as values that a join can carry."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any

import tensorflow as tf

from imp2tf.errors import RaisesUnderTry, fall_back
from imp2tf.exceptions import ProgramRaise, user_frames
from imp2tf.heap import view
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.tracebacks import RAISED_AT, Frame
from imp2tf.values import DEAD, UNBOUND, Facts, Union

__all__ = ["Frames", "OnItsWay", "frames_of", "narrowed", "on_its_way", "record_of", "renewed",
           "sorted_out", "split_records"]


class OnItsWay:
    """An exception that was raised and not yet caught; an object of the trace, so it joins field by field."""

    error: Any
    frames: Any

    def handled(self) -> Any:
        """What is the context of exceptions that are raised while this one is handled."""
        return self.error


def on_its_way(error: Any, frames: Any = None) -> OnItsWay:
    """An exception of the program, raised here."""
    record = current().born(OnItsWay())
    record.error = error
    record.frames = frames_of(error) if frames is None else frames
    for one in error.alternatives if isinstance(error, Union) else (error,):
        if current().is_born(one) and hasattr(one, "__dict__"):
            current().write(Attribute(one, RAISED_AT), _below_handler(record.frames))
    return record


def record_of(raised: ProgramRaise) -> Any:
    """What was raised, as a value: an `OnItsWay`, or a Union of some."""
    session = current()
    if raised.record is not None:
        return raised.record
    if raised.fresh and not session.is_born(raised.error):
        session.born(raised.error)
    return on_its_way(raised.error, frames_at(tuple(raised.frames)))


def renewed(record: Any) -> Any:
    """A record of this moment, which joins field by field with others."""
    if isinstance(record, Union):
        return Union(record.tag, [renewed(one) for one in record.alternatives])
    return on_its_way(record.error, record.frames)


def frames_of(error: Any) -> Any:
    """Where an exception was raised: here, or where it was raised first if it is raised again."""
    caught = current().caught
    if caught and caught[-1].error is error:
        return caught[-1].frames
    before = view(Attribute(error, RAISED_AT)) if current().is_born(error) and hasattr(error, "__dict__") else UNBOUND
    return _above(tuple(user_frames()), before)


def _above(lines: tuple[Frame, ...], before: Any) -> Any:
    """Lines that raise again an exception which was raised before and kept; it still shows where that was."""
    if isinstance(before, Union):
        return Union(before.tag, [_above(lines, one) for one in before.alternatives])
    return frames_at((*lines, *before.lines) if isinstance(before, Frames) else lines)


@dataclasses.dataclass(frozen=True)
class Frames(Facts):
    """The user's lines that raised an exception."""

    lines: tuple[Frame, ...]


def _below_handler(frames: Any) -> Any:
    """The lines from the innermost handler on: the traceback that it sees."""
    above = (current().handlers or [0])[-1]
    if isinstance(frames, Union):
        return Union(frames.tag, [_below_handler(one) for one in frames.alternatives])
    return frames_at(frames.lines[min(above, len(frames.lines) - 1):]) if isinstance(frames, Frames) and frames.lines else frames


@functools.cache
def frames_at(lines: tuple[Frame, ...]) -> Frames:
    """The one `Frames` of these lines."""
    return Frames(lines)


def split_records(result: Any) -> tuple[Any, Any]:
    """The exceptions that a value may be, and the value without them."""
    if isinstance(result, OnItsWay):
        return result, DEAD
    if not isinstance(result, Union):
        return None, result
    records = [one for one in result.alternatives if isinstance(one, OnItsWay)]
    others = [one for one in result.alternatives if not isinstance(one, OnItsWay)]
    if not records:
        return None, result
    return narrowed(result, records), narrowed(result, others) if others else DEAD


def narrowed(union: Union, kept: list[Any]) -> Any:
    """A union of some of its alternatives; the tag of the others is not read."""
    if len(kept) == 1:
        return kept[0]
    places = {id(one): i for i, one in enumerate(kept)}
    moved = [places.get(id(one), 0) for one in union.alternatives]
    return Union(tf.gather(tf.constant(moved, tf.int32), union.tag), kept)


def sorted_out(record: Any, kind: Any) -> tuple[Any, Any, Any]:
    """The exceptions on their way that are of a class or one of several, those that are not, and whether it is one of the first."""
    if isinstance(record, OnItsWay) and not isinstance(record.error, Union):
        return record, record, isinstance(record.error, kind)
    several = record if isinstance(record, Union) else record.error
    hits = [_is_of(one, kind) for one in several.alternatives]
    if all(hits) or not any(hits):
        return record, record, hits[0]
    sides = []
    for side in (True, False):
        kept = narrowed(several, [one for one, hit in zip(several.alternatives, hits, strict=True) if hit is side])
        sides.append(kept if isinstance(record, Union) else on_its_way(kept, record.frames))
    return sides[0], sides[1], tf.gather(tf.constant(hits), several.tag)


def _is_of(one: Any, kind: Any) -> bool:
    error = one.error if isinstance(one, OnItsWay) else one
    if not isinstance(error, Union):
        return isinstance(error, kind)
    hits = [isinstance(other, kind) for other in error.alternatives]
    return hits[0] if all(hits) or not any(hits) else fall_back(RaisesUnderTry, "a handler sees one of several exceptions")
