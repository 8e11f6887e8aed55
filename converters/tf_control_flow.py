"""``tf.cond``, ``tf.while_loop``, ``tf.case`` and ``tf.switch_case`` do what they do eagerly: they are plain control flow.

    tf.while_loop(c, b, [i, s])   -->   values = (i, s); while c(*values): values = b(*values)

The functions below are converted like a user's, so that Python state, kinds and structures are as in eager.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.arithmetic import run_operation
from imp2tf.calls import invoke, replace_call
from imp2tf.containers import new_list
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import contents
from imp2tf.iteration import drained
from imp2tf.lowering import lowered


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """``tf.cond``."""
    if pred:
        return true_fn()
    return false_fn()


def while_loop(test: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Any) -> Any:
    """``tf.while_loop``: the variables at the end, in the structure that the body gave them last."""
    values = values_of(loop_vars)
    last = kind_of(loop_vars)
    turns = 0
    while (limit is None or turns < limit) and test(*values):
        found = body(*values)
        values = values_of(found)
        last = kind_of(found)
        turns += 1
    return last(values)


def switch_case(branch_index: Any, branches: Any, default: Callable[[], Any]) -> Any:
    """``tf.switch_case``: the branch of the index, else the default."""
    for place, branch in branches:
        if branch_index == place:
            return branch()
    return default()


def case(pairs: Any, default: Callable[[], Any]) -> Any:
    """``tf.case``: the first branch whose condition holds, else the default."""
    for pred, branch in pairs:
        if pred:
            return branch()
    return default()


def values_of(structure: Any) -> tuple[Any, ...]:
    """The loop variables of a list, tuple or single value."""
    items = drained(structure) if isinstance(structure, (list, tuple)) else [structure]
    return tuple(items) if items is not None else fall_back(NeedsValue, "loop variables in a list of run-time length")


def as_list(values: tuple[Any, ...]) -> list[Any]:
    """Loop variables as tensors, in a list."""
    return new_list([_tensors(value) for value in values])


def as_tuple(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Loop variables as tensors, in a tuple."""
    return tuple(_tensors(value) for value in values)


def _tensors(value: Any) -> Any:
    if isinstance(value, tf.TensorArray):
        return value
    return run_operation(tf.nest.map_structure, tf.convert_to_tensor, lowered(value, inside=True))


def kind_of(structure: Any) -> Callable[[tuple[Any, ...]], Any]:
    """How loop variables are put together at the end."""
    if type(structure) in (list, tuple):
        return as_list if isinstance(structure, list) else as_tuple
    return fall_back(NeedsValue, f"loop variables in a {type(structure).__name__}")


for _helper in (values_of, kind_of, as_list, as_tuple):
    replace_call(_helper)(_helper)


@replace_call(tf.cond)
def cond_(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """``tf.cond``."""
    del name
    return invoke(cond, (pred, true_fn, false_fn), {})


@replace_call(tf.while_loop)
def while_loop_(cond: Any, body: Any, loop_vars: Any, shape_invariants: Any = None, parallel_iterations: int = 10, back_prop: bool = True,
                swap_memory: bool = False, maximum_iterations: Any = None, name: str | None = None) -> Any:
    """``tf.while_loop``; invariants and hints are not needed."""
    del shape_invariants, parallel_iterations, back_prop, swap_memory, name
    return invoke(while_loop, (cond, body, loop_vars, maximum_iterations), {})


@replace_call(tf.switch_case)
def switch_case_(branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = None) -> Any:
    """``tf.switch_case``."""
    del name
    found = contents(branch_fns)
    pairs = list(found.items()) if isinstance(found, dict) else [one if isinstance(one, tuple) else (i, one) for i, one in enumerate(found)]
    rest = pairs if default is not None else pairs[:-1]
    return invoke(switch_case, (branch_index, tuple(rest), default or pairs[-1][1]), {})


@replace_call(tf.case)
def case_(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """``tf.case``."""
    if exclusive or strict or default is None:
        fall_back(NeedsValue, "tf.case with exclusive, strict or without a default")
    del name
    return invoke(case, (tuple(contents(pred_fn_pairs)), default), {})


@replace_call(tf.control_dependencies)
def control_dependencies(control_inputs: Any) -> Any:
    """``tf.control_dependencies``: operations run in program order anyhow, and those without a result gave None, as in eager."""
    items = None if callable(control_inputs) else drained(control_inputs)
    return tf.control_dependencies(control_inputs if items is None else [one for one in items if one is not None])
