"""Run-time ints that Python can calculate before the run, and what they choose.

    worker = self.workers[self.turn % 2]   -->   self.workers[0] in one graph, self.workers[1] in another

Ints that vary are inputs of the graph. Where such a one is the place of an object in a list, all that is done with the object would be
traced for each object of the list, and chosen by the run. If the int is an input, or was calculated from inputs, a guard can know it:
so each object has a graph of its own, as long as there are few.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.session import active
from imp2tf.sources import Calculated, Choice, Source
from imp2tf.values import PyNumber

__all__ = ["calculated", "chosen"]

MOST_GRAPHS = 4  # for the objects of one list
DEEPEST = 8  # operations, one on the other: a loop that is unrolled may have thousands
# One graph serves all of these: it gathers them, or chooses by an operation.
VALUES = (tf.Tensor, PyNumber, bool, int, float, complex, str, bytes, type(None))


def calculated(op: str, a: Any, b: Any, result: PyNumber) -> PyNumber:
    """The result of arithmetic; noted, if Python can calculate it before the run."""
    session = active()
    if session is None or not session.foreknown or result.kind != "int" or op not in Calculated.FUNCTIONS:
        return result
    left, right = _operand(session, a), _operand(session, b)
    if left is None or right is None or (op in ("//", "%") and (isinstance(right, Source) or right == 0)):
        return result
    source = Calculated(op, left, right)
    if op == "+" and isinstance(left, Calculated) and left.op == "+" and isinstance(left.right, int) and isinstance(right, int):
        source = Calculated("+", left.left, left.right + right)  # steps by constants, one after the other
    if source.depth <= DEEPEST:
        session.foreknown[id(result.tensor)] = source
        session.kept.append(result)
    return result


def _operand(session: Any, value: Any) -> Source | int | None:
    if type(value) is int:
        return value
    return session.foreknown.get(id(value.tensor)) if isinstance(value, PyNumber) else None


def chosen(items: Sequence[Any], key: Any) -> int | None:
    """The index into a list of objects, if a guard can know it, and each object is to have a graph of its own."""
    session = active()
    if session is None or not isinstance(key, PyNumber) or key.kind != "int":
        return None
    source = _operand(session, key)
    if not isinstance(source, Source) or not 1 < len(items) <= MOST_GRAPHS or all(map(_is_value, items)):
        return None
    choice = Choice(source)
    if session.relaxations.choices[choice] >= MOST_GRAPHS:
        return None
    found: int = choice.fetch(session.run.args)
    session.guard(choice, "literal", found)
    return found


def _is_value(item: Any) -> bool:
    return all(map(_is_value, item)) if isinstance(item, tuple) else isinstance(item, VALUES)
