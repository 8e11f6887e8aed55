"""Arrays, and lists made of arrays, that the call itself makes and then changes in place.

    counts = np.zeros(3)   -->   the run makes the array here
    counts[i] += 1         -->   the run changes it here

As long as nobody changes such an array, it is a constant of the trace, or a value that is known after the run. Where it is changed,
the trace begins again: the run then makes it where the program does, and whatever is done with it is done by the run, in order. So
views and aliases are right by themselves.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from imp2tf.effects import host_value, site_of
from imp2tf.results import Object
from imp2tf.session import Session, current
from imp2tf.values import Deferred

__all__ = ["is_left_to_run", "learn_to_change", "made_by_run", "note_made"]


def note_made(value: Any) -> None:
    """The program makes this value here."""
    current().made.append((value, site_of("")))


def is_left_to_run() -> bool:
    """Whether what the program makes here is changed later."""
    made = current().relaxations.made
    return bool(made) and site_of("") in made


def made_by_run(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], array: np.ndarray) -> Any:
    """An array that a function of known values has made: a constant, or made by the run if it is changed later."""
    if not is_left_to_run():
        note_made(array)
        return array
    kind = Object(np.ndarray, array.dtype.name if array.dtype.kind in "biufc" else None, array.ndim, shared=(), dims=array.shape)
    names, count = tuple(kwargs), len(args)

    def make(*values: Any) -> Any:
        return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    return host_value(make, kind, [*args, *kwargs.values()], getattr(function, "__name__", "a function"), pure=True)


def learn_to_change(session: Session, value: Any) -> None:
    """A value is changed in place: the next trace leaves it, and all that may share its memory, to the run."""
    if isinstance(value, (tuple, list)):
        for one in value:
            learn_to_change(session, one)
    elif isinstance(value, Deferred):
        _learn(session, lambda one: one is value)
        learn_to_change(session, (*value.args, *value.kwargs.values()))
    elif isinstance(value, np.ndarray):
        _learn(session, lambda one: isinstance(one, np.ndarray) and np.may_share_memory(one, value))


def _learn(session: Session, is_same: Callable[[Any], bool]) -> None:
    relaxations = session.relaxations
    relaxations.made.update(site for made, site in session.made if is_same(made))
    relaxations.live.update(session.origins[id(one)] for one in session.kept if id(one) in session.origins and is_same(one))
