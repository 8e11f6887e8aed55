"""Code under ``try`` or ``with``, in which an exception that only some runs raise does not end the run.

What follows it, up to the handler, goes on in a branch of its own (`Course`): the call that raised, and all calls around it, just go
on being traced.
"""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.errors import RaisesUnderTry, fall_back
from imp2tf.exceptions import ProgramRaise, user_frames
from imp2tf.paths import Side, build_if, note_cells, open_branch, scope, what_is_left
from imp2tf.records import OnItsWay, record_of, renewed, split_records
from imp2tf.session import Log, Session, current
from imp2tf.states import Box, State
from imp2tf.values import DEAD

__all__ = ["Course", "contained", "handled", "leaving_in", "raise_pending"]


MAX_FORKS = 32


@dataclasses.dataclass
class _Fork:
    """A conditional under construction: one branch raises, the other is being traced."""

    pred: tf.Tensor
    outer: Any
    raising: Side
    graph: Any
    deps: Any
    log: Log
    stack: contextlib.ExitStack


class Course:
    """A stretch of the program that ends at a handler, or with a region; it may go on in branches of branches.

    `leave` puts an exception in the variables of `state`, which is what a run leaves that raises it.
    """

    def __init__(self, session: Session, state: State, leave: Callable[[Any], None], handles: bool = False) -> None:
        self.session = session
        self.state = state
        self.leave = leave
        self.handles = handles
        self.graph = tf.compat.v1.get_default_graph()
        self.forks: list[_Fork] = []

    def run(self, block: Callable[[], Any]) -> None:
        """Trace a block; afterwards the state holds what any run leaves."""
        self.session.courses.append(self)
        try:
            try:
                block()
            except ProgramRaise as raised:
                if raised.retry is not None:
                    fall_back(RaisesUnderTry, "an operation under try or with refuses its arguments", raised)
                self.leave(renewed(record_of(raised)))
            while self.forks:
                self._join(self.forks.pop())
        except BaseException:
            while self.forks:
                self.forks.pop().stack.close()
            raise
        finally:
            self.session.courses.pop()

    def fork(self, pred: tf.Tensor, record: Any) -> None:
        """Go on where `pred` does not hold; where it does, the exception leaves."""
        if len(self.forks) >= MAX_FORKS:
            fall_back(RaisesUnderTry, f"more than {MAX_FORKS} calls and operations under one try or with may raise")
        session, state, outer = self.session, self.state, self.graph
        note_cells(session, state.get, state.set)
        session.regions += 1
        raising, deps = open_branch(session, "raise", outer)
        before = state.get()
        with raising.as_default():
            deps.__enter__()
            with session.log() as log:
                self.leave(renewed(record))
                side = raising, deps, what_is_left(session, state, log)
            state.set(before)
        graph, deps = open_branch(session, "onward", outer)
        stack = contextlib.ExitStack()
        stack.enter_context(graph.as_default())
        deps.__enter__()
        log = stack.enter_context(session.log())
        stack.enter_context(scope())
        self.graph = graph
        self.forks.append(_Fork(pred, outer, side, graph, deps, log, stack))

    def _join(self, fork: _Fork) -> None:
        with fork.stack:
            path = what_is_left(self.session, self.state, fork.log)
        self.graph = fork.outer
        build_if(self.session, fork.outer, fork.pred, [fork.raising, (fork.graph, fork.deps, path)], self.state)


def handled(block: Callable[[], Any], state: State, leave: Callable[[Any], None]) -> None:
    """Run a block whose exceptions have a handler; `leave` puts an exception in the variables of the state."""
    session = current()
    session.trying += 1
    session.outside.handles = True
    session.handlers.append(len(user_frames()) - 1)
    try:
        Course(session, state.also(session.consumers), leave, handles=True).run(block)
    finally:
        session.trying -= 1
        session.handlers.pop()


def leaving_in(state: State, rest: tuple[Any, ...] = ()) -> Callable[[Any], None]:
    """How an exception leaves a region: it waits in a variable; other variables are of use only to the function that handles it.

    The variable in which it waits is the last one of the state before those that become `rest`.
    """
    session = current()
    handler = next(course for course in reversed(session.courses) if course is not None and course.handles)
    keeps = state.shares(handler.state)

    def leave(record: Any) -> None:
        values = state.get()
        count = len(values) - 1 - len(rest)
        state.set((*(values[:count] if keeps else [DEAD] * count), record, *rest))

    return leave


def raise_pending(session: Session, value: Any) -> None:
    """After a region: what it may have raised goes on to the end of the course, or is raised if it is certain."""
    records, others = split_records(value)
    if records is None:
        return
    if others is DEAD:
        raise ProgramRaise(None, fresh=False, record=records)
    course = session.courses[-1]
    if course is None or course.graph is not tf.compat.v1.get_default_graph():
        fall_back(RaisesUnderTry, "what library code calls may raise an exception under try or with")
    course.fork(tf.gather(tf.constant([isinstance(one, OnItsWay) for one in value.alternatives]), value.tag), records)


def contained(block: Callable[[], Any], state: State) -> Callable[[], None]:
    """Run a block inside a manager of a library; what is returned raises afterwards what the block raises."""
    session = current()
    if not session.trying:
        block()
        return lambda: None
    pending = Box()
    state = state.plus(pending)
    Course(session, state, leaving_in(state)).run(block)
    return lambda: raise_pending(session, pending.value)
