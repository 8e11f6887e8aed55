"""Branches of the graph: each is traced once, and what they leave is joined (`imp2tf.paths`).

A region opens a log, runs a block, freezes what the block leaves behind, and rolls the heap back. Loops are in `imp2tf.looping`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.courses import Course, leaving_in, raise_pending
from imp2tf.effects import MAY_SURPRISE, has_effects_so_far, stop_run
from imp2tf.errors import AssumptionFailed, Fallback, GraphRefused, TraceFailed, fall_back
from imp2tf.exceptions import ProgramRaise, Retry, rebuilder
from imp2tf.paths import Path, build_if, note_cells, open_branch, scope, what_is_left
from imp2tf.session import Session, current
from imp2tf.states import NO_STATE, Box, State, Variables
from imp2tf.values import DEAD

__all__ = ["cond", "emit_raise", "go_on_as_python_if", "leave_to_python_if", "select", "stop_if"]


def _trace_path(session: Session, block: Callable[[], Any], state: State, pending: Box | None) -> Path:
    """Run a block in the graph being built now, and freeze what it leaves.

    An exception of the program ends the run, unless there is a handler for it: then it is left in `pending`.
    """
    with session.log() as log, scope():
        if pending is not None:
            Course(session, state, leaving_in(state)).run(block)
            return what_is_left(session, state, log)
        try:
            block()
        except ProgramRaise as raised:
            emit_raise(session, raised)
            return Path([DEAD] * len(state.get()), {}, dead=True)
        return what_is_left(session, state, log)


def emit_raise(session: Session, raised: ProgramRaise) -> None:
    """Make the program's own exception end the run at this point of the graph."""
    if isinstance(raised.error, session.ending):
        session.relaxations.ends_by_run = True
        fall_back(TraceFailed, "an iterator ends where only the run knows")
    if session.stop is not None:
        session.stop(raised)
        return
    if raised.retry is not None and has_effects_so_far(session):
        fall_back(TraceFailed, f"an operation refuses its arguments: {raised.error}")
    make, values = rebuilder(session, raised)
    stop_run(make, *values, name=MAY_SURPRISE if isinstance(raised.error, AssumptionFailed) else None)


# ------------------------------------------------------------------------------------------------ if
def cond(pred: tf.Tensor, then: Callable[[], Any], orelse: Callable[[], Any], state: State) -> None:
    """Run one of two blocks, by a scalar bool tensor; afterwards `state` and the heap hold the joined values."""
    session = current()
    session.counts["conds"] += 1
    session.regions += 1
    outer = tf.compat.v1.get_default_graph()
    note_cells(session, then, orelse, state.get, *(one.get for one in session.consumers))
    state = state.also(session.consumers)
    pending = Box() if session.trying else None
    if pending is not None:
        state = state.plus(pending)
    before, variables = state.get(), Variables(then, orelse, *session.consumers)
    sides = []
    for name, block in (("then", then), ("else", orelse)):
        graph, deps = open_branch(session, name, outer)
        with graph.as_default():
            deps.__enter__()
            session.known.append((pred, name == "then"))
            try:
                path = _trace_path(session, block, state, pending)
            except Fallback as fallback:
                fallback.block = block
                raise
            finally:
                session.known.pop()
                variables.restore()
                state.set(before)
        sides.append((graph, deps, path))
    build_if(session, outer, pred, sides, state)
    if pending is not None:
        raise_pending(session, pending.value)


def select(pred: tf.Tensor, a: Callable[[], Any], b: Callable[[], Any], state: State = NO_STATE,
           fork: Callable[[tf.Tensor, Callable[[], Any], Callable[[], Any], State], None] = cond) -> Any:
    """The value of one of two expressions, by a scalar bool tensor."""
    box = Box()

    def into(expression: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            box.value = expression()

        return run

    fork(pred, into(a), into(b), state.plus(box))
    return box.value


def stop_if(pred: tf.Tensor, error: BaseException, retry: Retry | None = None) -> None:
    """Raise `error` in the program where `pred` holds; or, more exactly, what the call `retry` raises when the run makes it."""

    def raising() -> None:
        raise ProgramRaise(error, retry)

    cond(tf.reshape(pred, []), raising, lambda: None, NO_STATE)


def leave_to_python_if(pred: tf.Tensor, reason: str | GraphRefused) -> None:
    """Where `pred` holds, the run ends and Python makes the call instead; there is no graph if it could repeat an effect.

    No handler of the program sees it.
    """
    session = current()
    refusal = GraphRefused(reason) if isinstance(reason, str) else reason
    if has_effects_so_far(session):
        fall_back(GraphRefused, refusal.reason)
    if session.loops:
        session.left_in_loop = refusal.reason
    go_on_as_python_if(pred, refusal)


def go_on_as_python_if(pred: tf.Tensor, refusal: GraphRefused) -> None:
    """Where `pred` holds, the run ends and Python makes the call instead. What the run has done by then must be such that it can."""
    session = current()
    trying, session.trying = session.trying, 0
    try:
        stop_if(pred, refusal)
    finally:
        session.trying = trying
