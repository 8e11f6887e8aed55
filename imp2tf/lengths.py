"""What the trace knows of the length of a list of run-time length: how many elements it has at least.

    if history:                          within, the list has an element
        last = history[-1]               so there is nothing to check
    history.append(pair)
    if len(history) > 5:
        history.pop(0)                   nor here

It is read off the operations that made the list, and off the conditions of the branches that are being traced.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from imp2tf.session import current
from imp2tf.tf_compat import function_graph, is_symbolic_tensor
from imp2tf.values import Growable

__all__ = ["is_within"]

MOST_STEPS = 16  # appends and pops that are followed back
CHOICE = "SelectV2"  # what branches become that only choose (`imp2tf.choices`)
BRANCHES = ("If", "StatelessIf", CHOICE)
SAME_VALUE = frozenset({"Identity", "Reshape", "Squeeze", "Cast"})
MIRRORED = {"Greater": "Less", "GreaterEqual": "LessEqual", "Less": "Greater", "LessEqual": "GreaterEqual", "Equal": "Equal",
            "NotEqual": "NotEqual"}
OPPOSITE = {"Greater": "LessEqual", "GreaterEqual": "Less", "Less": "GreaterEqual", "LessEqual": "Greater", "Equal": "NotEqual",
            "NotEqual": "Equal"}


def is_within(grown: Growable, index: int) -> bool:
    """Whether an index, from the front or (below zero) from the end, is known to be in range."""
    needed = index + 1 if index >= 0 else -index
    return least_length(grown) >= needed


def least_length(grown: Growable) -> int:
    """A number of elements that a list is known to have at least."""
    handle, change, found = grown.handles[0], 0, 0
    for _ in range(MOST_STEPS):
        handle = _root(handle)
        if not is_symbolic_tensor(handle):
            break
        found = max(found, change + max((_told(pred, holds, handle) for pred, holds in current().known), default=0))
        if handle.op.type not in ("TensorListPushBack", "TensorListPopBack") or handle.value_index != 0:
            break
        change += 1 if handle.op.type == "TensorListPushBack" else -1
        found = max(found, change)  # the list before has at least none
        handle = handle.op.inputs[0]
    return found


def _told(pred: tf.Tensor, holds: bool, handle: tf.Tensor) -> int:
    """How many elements a list has at least if a condition holds, or does not."""
    pred = _root(pred)
    if not is_symbolic_tensor(pred):
        return 0
    op = pred.op
    if op.type in SAME_VALUE:
        return _told(op.inputs[0], holds, handle)
    if op.type == "LogicalNot":
        return _told(op.inputs[0], not holds, handle)
    if op.type == ("LogicalAnd" if holds else "LogicalOr"):
        return max(_told(one, holds, handle) for one in op.inputs)
    if op.type in OPPOSITE:
        return _compared(op, holds, handle)
    if op.type in BRANCHES:
        return max((_told(one, holds, handle) for one in _possible(pred, holds)), default=0)
    return 0


def _compared(op: tf.Operation, holds: bool, handle: tf.Tensor) -> int:
    left, right = op.inputs
    for side, other, relation in ((left, right, op.type), (right, left, MIRRORED[op.type])):
        number = _number(other)
        if number is not None and _counts(side, handle):
            return _least(relation if holds else OPPOSITE[relation], number)
    return 0


def _least(relation: str, number: int) -> int:
    """The least length that stands in a relation to a number."""
    if relation == "NotEqual":
        return int(number == 0)
    return {"Greater": number + 1, "GreaterEqual": number, "Equal": number}.get(relation, 0)


def _counts(tensor: tf.Tensor, handle: tf.Tensor) -> bool:
    """Whether a tensor is the length of a list."""
    tensor = _root(tensor)
    if not is_symbolic_tensor(tensor):
        return False
    op = tensor.op
    if op.type in SAME_VALUE:
        return _counts(op.inputs[0], handle)
    if op.type in BRANCHES:
        return any(_counts(one, handle) for one in _possible(tensor))
    return op.type == "TensorListLength" and _is_same(_root(op.inputs[0]), handle)


def _possible(tensor: tf.Tensor, value: bool | None = None) -> Iterator[tf.Tensor]:
    """Which result of a branch a result of an If is: where the branch is known, or the other one gives something else than `value`."""
    op, sides = tensor.op, _sides(tensor)
    if sides is None:
        return
    then, orelse = sides
    for one, other, way in ((then, orelse, True), (orelse, then, False)):
        if _is_known(op.inputs[0], way) or (value is not None and _number(other) == (not value)):
            yield one
            return


def _sides(tensor: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor] | None:
    """What the branches of an If give for one of its results."""
    op = tensor.op
    if op.type == CHOICE:
        condition, then, orelse = op.inputs
        return (then, orelse) if condition.shape.rank == 0 else None
    then, orelse = (function_graph(op.graph, op.get_attr(name).name) for name in ("then_branch", "else_branch"))
    place = tensor.value_index
    return None if then is None or orelse is None else (then.outputs[place], orelse.outputs[place])


def _is_known(pred: tf.Tensor, way: bool) -> bool:
    asked, holds = _condition(pred, way)
    return any(_is_same_condition(asked, known) and holds is told
               for known, told in (_condition(*condition) for condition in current().known))


def _condition(pred: tf.Tensor, holds: bool) -> tuple[tf.Tensor, bool]:
    """A condition without negations and without Ifs that only number their branches; and whether that condition holds."""
    while is_symbolic_tensor(pred := _root(pred)):
        op = pred.op
        if op.type == "LogicalNot":
            pred, holds = op.inputs[0], not holds
        elif op.type in SAME_VALUE:
            pred = op.inputs[0]
        else:
            numbered = _numbered(op) if op.type == "Equal" else None
            if numbered is None:
                break
            pred, holds = numbered[0], holds is numbered[1]
    return pred, holds


def _numbered(op: tf.Operation) -> tuple[tf.Tensor, bool] | None:
    """Of a comparison of a number that tells the branch of an If: the condition of the If, and whether it holds there."""
    number, source = _number(op.inputs[1]), _root(op.inputs[0])
    if number is None or not is_symbolic_tensor(source) or source.op.type not in BRANCHES:
        return None
    then, orelse = map(_number, _sides(source) or (op.inputs[0], op.inputs[0]))
    if then is None or orelse is None or (then == number) == (orelse == number):
        return None
    return source.op.inputs[0], then == number


def _is_same_condition(a: tf.Tensor, b: tf.Tensor) -> bool:
    """Whether two conditions are one, or ask for the same alternative of a value."""
    if _is_same(a, b):
        return True
    if not is_symbolic_tensor(a) or not is_symbolic_tensor(b) or a.op.type != "Equal" or b.op.type != "Equal":
        return False
    number = _number(a.op.inputs[1])
    return number is not None and number == _number(b.op.inputs[1]) and _is_same(_root(a.op.inputs[0]), _root(b.op.inputs[0]))


def _root(tensor: tf.Tensor) -> tf.Tensor:
    """The tensor of the outermost graph that this one is."""
    while is_symbolic_tensor(tensor):
        if tensor.op.type == "Identity":
            outer = tensor.op.inputs[0]
        else:
            outer = _captured(tensor) if tensor.op.type == "Placeholder" else None
        if outer is None:
            break
        tensor = outer
    return tensor


def _captured(tensor: tf.Tensor) -> tf.Tensor | None:
    return next((outer for outer, inner in getattr(tensor.graph, "captures", ()) if inner is tensor), None)


def _is_same(a: tf.Tensor, b: tf.Tensor) -> bool:
    if not is_symbolic_tensor(a) or not is_symbolic_tensor(b):
        return a is b
    return a.graph is b.graph and a.name == b.name


def _number(tensor: tf.Tensor) -> int | None:
    """An integer or bool that is known while tracing."""
    value = tf.get_static_value(_root(tensor))
    return int(value) if isinstance(value, np.generic | np.ndarray) and value.shape == () and value.dtype.kind in "biu" else None
