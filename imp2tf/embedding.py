"""A converted function called while somebody else builds a graph: tf.function, tf.data, Keras.

The outer graph is traced once and decides when to trace again, so nothing is guarded; tensors are captured as the outer graph
captures them, and writes to Python objects become a host call at the end.
"""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf import calls
from imp2tf.effects import commits, has_pending_writes
from imp2tf.errors import Fallback, ForeignCall, fall_back, user_location
from imp2tf.exceptions import ProgramRaise
from imp2tf.lowering import lowered
from imp2tf.paths import scope
from imp2tf.plan import Recorder
from imp2tf.recipes import Build
from imp2tf.refusals import REFUSED
from imp2tf.relaxations import Relaxations
from imp2tf.runs import Run
from imp2tf.session import Session, resumed
from imp2tf.values import Deferred, PyNumber

__all__ = ["assert_instead", "call_in_graph"]


def call_in_graph(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], alone: bool = False) -> Any:
    """Trace a call into the graph that is being built. Raises `Fallback` where that cannot be.

    A graph that runs `alone` has no Python process beside it: what needs Python is refused, and exceptions are assertions.
    """
    session = Session(tf.compat.v1.get_default_graph(), Relaxations())
    session.run = Run(embedded=True)
    session.embedded = True
    session.stop = assert_instead if alone else None
    try:
        with resumed(session), scope():
            result = lowered(calls.call(function, *args, **kwargs), inside=True)
            _refuse_python(session) if alone else _commit(session)
    except ProgramRaise as raised:
        error = raised.error
    except Fallback as fallback:
        if fallback.error.location is None:
            fallback.error.location = user_location(fallback.__traceback__)
        raise
    else:
        return result
    raise error


def _refuse_python(session: Session) -> None:
    if session.python_calls:
        what, where = session.python_calls[0]
        fall_back(ForeignCall, f"{what} while the graph runs", location=where)
    if has_pending_writes(session):
        fall_back(ForeignCall, "Python state is changed, which a graph that runs in another process cannot do")


def assert_instead(raised: ProgramRaise) -> None:
    """End a run in which there is no Python to raise: an assertion with the exception's class and text."""
    tf.raw_ops.Assert(condition=tf.constant(False), data=_shown(raised), summarize=8)


def _shown(raised: ProgramRaise) -> list[Any]:
    """The class and text of an exception as far as they are known, with the run-time values in it."""
    if raised.retry is not None:
        what = "its arguments" if raised.error is REFUSED else str(raised.error)
        return [f"{getattr(raised.retry[0], '__name__', 'an operation')} refuses {what}"]
    data: list[Any] = []
    texts = [type(raised.error).__name__ + ":"]
    for arg in raised.error.args:
        for part in arg.args if isinstance(arg, Deferred) else (arg,):
            if isinstance(part, (PyNumber, tf.Tensor)):
                data.append(part.tensor if isinstance(part, PyNumber) else part)
            else:
                texts.append(str(part) if isinstance(part, (str, int, float)) else type(part).__name__)
    return [" ".join(texts), *data]


def _commit(session: Session) -> None:
    """Write what the call wrote, each time the graph runs."""
    recorder = Recorder(session)
    writes = commits(session, recorder)
    if not writes:
        return

    def call(*tensors: tf.Tensor) -> None:
        build = Build(tensors, ())
        for place, value in [(place(build), value(build)) for place, value in writes]:
            place.write(value)

    tf.py_function(call, recorder.tensors, [])


