"""A converted function called while somebody else builds a graph: tf.function, tf.data, Keras.

The outer graph is traced once and decides when to trace again, so nothing is guarded; tensors are captured as the outer graph
captures them, and writes to Python objects become a host call at the end.
"""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf import calls
from imp2tf.effects import commits
from imp2tf.errors import Fallback, user_location
from imp2tf.exceptions import ProgramRaise
from imp2tf.foreign import lowered
from imp2tf.plan import Build, Recorder
from imp2tf.region import scope
from imp2tf.session import Relaxations, Session, resumed
from imp2tf.trace import Run

__all__ = ["call_in_graph"]


def call_in_graph(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a call into the graph that is being built. Raises `Fallback` where that cannot be."""
    session = Session(tf.compat.v1.get_default_graph(), Relaxations())
    session.run = Run(embedded=True)
    session.embedded = True
    try:
        with resumed(session), scope():
            result = lowered(calls.call(function, *args, **kwargs), inside=True)
            _commit(session)
    except ProgramRaise as raised:
        error = raised.error
    except Fallback as fallback:
        if fallback.error.location is None:
            fallback.error.location = user_location(fallback.__traceback__)
        raise
    else:
        return result
    raise error


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


