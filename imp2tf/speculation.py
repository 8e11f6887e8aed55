"""Branches that no graph can hold, taken for never entered.

Where one side of an ``if`` on a tensor cannot be traced and the other can, the graph holds the other one, and a check that the
run goes there (after JANUS: speculative graphs with assertions). Where the check fails, Python makes the call; what the run has done
by then is undone, or answered with what it gave (`imp2tf.undoing`, `imp2tf.profile.Replay`). Sides are given up by site: the dispatcher
counts how often an assumption was wrong.
"""
from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from imp2tf.effects import has_effects_so_far
from imp2tf.errors import AssumptionFailed, Fallback
from imp2tf.exceptions import ProgramRaise, innermost, user_frames
from imp2tf.outside import LeftOut, Outside
from imp2tf.region import cond, go_on_as_python_if, leave_to_python_if, select
from imp2tf.session import Session, current
from imp2tf.states import NO_STATE, State

__all__ = ["branch", "choice", "undone"]

MOST_ASSUMPTIONS = 8  # in one trace: each costs a branch that is traced in vain

# What a trace has found out of the program, and what it has put in the outermost graph, holds whether or not a part of it is given up.
LASTING = frozenset({
    "births", "deadline", "fetches", "graph", "guarded", "guards", "junctions", "kept", "origins", "reads", "references", "relaxations",
    "run", "seeded", "sources", "spent", "unlike_seen",
})


def branch(pred: tf.Tensor, then: Callable[[], Any], orelse: Callable[[], Any], state: State) -> None:
    """As `region.cond`; if one block cannot be traced, the other one with a check that the run goes there."""
    session = current()
    if not _may_assume(session):
        cond(pred, then, orelse, state)
        return
    learned, wanted = session.relaxations.learned(), session.relaxations.profile.wanted
    try:
        with undone():
            cond(pred, then, orelse, state)
    except Fallback as fallback:
        lasting = fallback.block not in (then, orelse) or not fallback.error.avoidable
        is_late = has_effects_so_far(session)
        if lasting or _tells_more(session, learned) or (is_late and _is_unrepeatable(session)):
            raise
        failure = fallback
    else:
        return
    if is_late:
        session.outside.left_out = LeftOut(_site(), failure.error, session.relaxations.profile.wanted)
    session.relaxations.profile.wanted = wanted
    _assume(session, pred if failure.block is then else tf.logical_not(pred), failure)
    try:
        orelse() if failure.block is then else then()
    except ProgramRaise:
        raise failure from None


def choice(pred: tf.Tensor, a: Callable[[], Any], b: Callable[[], Any], state: State = NO_STATE) -> Any:
    """As `region.select`; if one expression cannot be traced, the other one with a check."""
    return select(pred, a, b, state, branch)


def _may_assume(session: Session) -> bool:
    """Whether this call of the function may be left to Python, and the assumption was not wrong too often."""
    given_up = session.relaxations.given_up
    if given_up is None or session.trying or session.embedded or len(session.assumptions) >= MOST_ASSUMPTIONS:
        return False
    return _site() not in given_up


def _tells_more(session: Session, learned: tuple[Any, ...]) -> bool:
    """Whether another trace, or a watched run in Python, may do without the assumption."""
    relaxations = session.relaxations
    return relaxations.learned() != learned or (relaxations.profile.wanted and not relaxations.profile.runs)


def _is_unrepeatable(session: Session) -> bool:
    """Whether Python cannot make a call again where a run has come as far as this."""
    drawn = session.outside.unrepeatable is not None or session.counts["native_random"] > 0
    return drawn or bool(session.opaque) or tf.distribute.has_strategy()


def _site() -> tuple[str, int]:
    where = innermost(user_frames())
    return (where.filename, where.line) if where else ("", 0)


def _assume(session: Session, wrong: tf.Tensor, failure: Fallback) -> None:
    """Leave the call to Python where the run would enter the side that could not be traced."""
    where = innermost(user_frames())
    session.assumptions.append(f"{where.filename}:{where.line}: no entry of the branch with {failure.error.reason}" if where else "")
    error = AssumptionFailed(f"a branch was entered that no graph can hold: {failure.error.reason}", location=where)
    if session.outside.left_out is None:
        leave_to_python_if(wrong, error)
    else:
        go_on_as_python_if(wrong, error)


@contextmanager
def undone() -> Iterator[None]:
    """Undo everything that the trace did inside if it gives up there."""
    session = current()
    before = {name: _copied(value) for name, value in vars(session).items() if name not in LASTING}
    try:
        yield
    except Fallback:
        for name, value in before.items():
            _put_back(session, name, value)
        raise


def _copied(value: Any) -> Any:
    if isinstance(value, Outside):
        return dataclasses.replace(value, **{field.name: _copied(getattr(value, field.name)) for field in dataclasses.fields(value)})
    return copy.copy(value) if isinstance(value, (list, dict, set)) else value


def _put_back(owner: Any, name: str, value: Any) -> None:
    """Put a field back; containers stay the objects they are, since threads of a trace share them."""
    found = getattr(owner, name)
    if isinstance(value, Outside):
        for field in dataclasses.fields(value):
            _put_back(found, field.name, getattr(value, field.name))
    elif isinstance(value, list):
        found[:] = value
    elif isinstance(value, (dict, set)):
        found.clear()
        found.update(value)
    else:
        setattr(owner, name, value)
