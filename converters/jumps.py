"""``return``, ``break`` and ``continue`` inside control statements set the exit under way; what follows is skipped.

    if x > 0:
        return x   -->   _result = x; _exit = 1   (in the block's function), then  rt.rest(_rest_2, state)

See `imp2tf.exits`. A ``return`` that nothing surrounds stays.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast
import tensorflow as tf

from imp2tf.exits import BREAK, CONTINUE, NONE, RAISE, RETURN, run_rest
from imp2tf.namespace import operator
from imp2tf.quote import quote
from imp2tf.records import split_records
from imp2tf.region import cond, select
from imp2tf.rewrite import Converter
from imp2tf.states import State
from imp2tf.targets import constant
from imp2tf.try_state import raise_record
from imp2tf.values import PyNumber


class Returns(Converter, lowers=(gast.Return,)):
    """``return value``."""

    def lower(self, node: gast.Return) -> list[gast.stmt]:
        value = self.rw.visit(node.value) if node.value is not None else constant(None)
        if not self.rw.frame.in_closure and not self.rw.frame.tries:
            return quote("return value", node, value=value)
        return quote("_result = value\n_exit = code", node, value=value, code=constant(RETURN))


class Jumps(Converter, lowers=(gast.Break, gast.Continue)):
    """``break`` and ``continue``."""

    def lower(self, node: gast.stmt) -> list[gast.stmt]:
        return quote("_exit = code", node, code=constant(BREAK if isinstance(node, gast.Break) else CONTINUE))


@operator
def rest(block: Callable[[], None], state: State) -> None:
    """Run the code that follows a statement that may exit, unless an exit is under way."""
    run_rest(block, state)


@operator
def returned(code: Any, result: Any) -> Any:
    """The return value of a function, given the exit under way at its end. An exception on its way is raised."""
    if not isinstance(code, PyNumber):
        if code == RAISE:
            raise_record(result)
        return None if code == NONE else result
    result = _without_exception(code, result)
    return select(tf.equal(code.tensor, NONE), lambda: None, lambda: result)


@operator
def left(code: Any, result: Any) -> Any:
    """As `returned`, for a function in which every path ends in a ``return`` or an exception."""
    return _without_exception(code, result) if isinstance(code, PyNumber) else returned(code, result)


def _without_exception(code: PyNumber, result: Any) -> Any:
    """`result` without the exceptions that it may be; if the run finds one there, it is raised."""
    records, rest_of_result = split_records(result)
    if records is None:
        return result
    cond(tf.equal(code.tensor, RAISE), lambda: raise_record(records), lambda: None, State(tuple, lambda values: None))
    return rest_of_result


