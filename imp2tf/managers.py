"""Context managers that ``contextlib.contextmanager`` makes of a generator function: the body of the ``with`` runs in its ``yield``.

What the body raises comes out of the ``yield``; a body that is left by ``return``, ``break`` or ``continue`` lets the generator go on.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.calls import call_in_text
from imp2tf.courses import handled
from imp2tf.errors import ForeignCall, UnsupportedSyntax, fall_back
from imp2tf.exits import NONE, RAISE
from imp2tf.generators import as_pushed, push
from imp2tf.records import split_records
from imp2tf.region import cond
from imp2tf.session import current
from imp2tf.states import NO_STATE, State
from imp2tf.try_state import leave_raising, raise_record, set_exit
from imp2tf.values import GeneratorCall, PyNumber, StandIn

__all__ = ["Managed", "managed", "run_managed"]


class Managed(StandIn):
    """Such a manager, made in this trace."""

    what = "a context manager"
    ends = False

    def __init__(self, generator: GeneratorCall) -> None:
        self.generator = generator


def managed(function: Any, *args: Any, **kwargs: Any) -> Managed:
    """The manager that a generator function makes."""
    made = call_in_text(function, *args, **kwargs)
    if not isinstance(made, GeneratorCall):
        fall_back(ForeignCall, f"with {function.__qualname__}()")
    manager: Managed = current().born(Managed(made))
    return manager


def run_managed(manager: Managed, enter: Callable[[Any], None], state: State) -> None:
    """Run a ``with`` statement; `enter` runs its target and body, `state` is what they may change."""
    session = current()
    regions, yielded = session.regions, False

    def visit(item: Any) -> bool:
        nonlocal yielded
        if yielded or session.regions != regions:
            fall_back(UnsupportedSyntax, "a context manager yields in a branch or loop, or more than once")
        yielded = True
        handled(lambda: enter(item), state, lambda record: set_exit(state, RAISE, record))
        _raise_from_yield(state)
        return False

    pushed = as_pushed(manager.generator)
    assert pushed is not None
    push(pushed, visit, state)
    if not yielded:
        raise_error(RuntimeError("generator didn't yield"))


def _raise_from_yield(state: State) -> None:
    """What the body raised comes out of the yield; it is on its way no more if the generator goes on."""
    code, result = state.get()[:2]
    if isinstance(code, PyNumber):
        records, others = split_records(result)
        if records is not None:
            raised = tf.equal(code.tensor, RAISE)
            set_exit(state, PyNumber("int", tf.where(raised, tf.cast(NONE, code.tensor.dtype), code.tensor)), others)
            cond(raised, lambda: raise_record(records), lambda: None, NO_STATE)
    else:
        leave_raising(state)
