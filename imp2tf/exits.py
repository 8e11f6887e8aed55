"""The exit mechanism: break, continue, return and raise are one thing, a code and a value carried as ordinary state.

In converted code `_exit` and `_result` are the first two variables of the state of every statement that may exit. While the
code is a Python constant nothing of this is in the graph.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.region import cond
from imp2tf.states import State
from imp2tf.values import PyNumber

__all__ = ["BREAK", "CONTINUE", "NONE", "RAISE", "RETURN", "cleared", "end_of_loop", "exit_code", "none_under_way", "run_rest"]

NONE, RETURN, BREAK, CONTINUE, RAISE = range(5)


def exit_code(state: State) -> Any:
    """The exit under way: an int, or a `PyNumber` where only the run knows."""
    return state.get()[0]


def none_under_way(code: Any) -> Any:
    """Whether no exit is under way: a bool or a scalar bool tensor."""
    return tf.equal(code.tensor, NONE) if isinstance(code, PyNumber) else code == NONE


def cleared(code: Any, which: int) -> Any:
    """`code` without one exit."""
    if isinstance(code, PyNumber):
        return PyNumber("int", tf.where(tf.equal(code.tensor, which), tf.zeros([], tf.int64), code.tensor))
    return NONE if code == which else code


def clear(state: State, which: int) -> None:
    """End one sort of exit, where the statement it leaves ends."""
    code, *rest = state.get()
    state.set((cleared(code, which), *rest))


def run_rest(rest: Callable[[], None], state: State) -> None:
    """Run what follows a statement, unless the statement exited."""
    clean = none_under_way(exit_code(state))
    if not isinstance(clean, bool):
        cond(clean, rest, lambda: None, state)
    elif clean:
        rest()


def end_of_loop(orelse: Callable[[], None], state: State) -> None:
    """Run a loop's else block unless the loop was left; a break ends here."""
    clean = none_under_way(exit_code(state))
    if not isinstance(clean, bool):
        cond(clean, orelse, lambda: clear(state, BREAK), state)
    elif clean:
        orelse()
    else:
        clear(state, BREAK)
