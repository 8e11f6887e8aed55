"""Gradients that a converted function takes itself: None where eager's are None.

    tape.gradient(y, [x, limit])   -->   [dy/dx, None], if `limit` only steers the branches and loops on the way from x to y

The If and While of a graph would answer zeros for `limit`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.aliases import refuse_other_names
from imp2tf.alternatives import over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.connectivity import connections_around, enclosing
from imp2tf.effects import has_effects_so_far
from imp2tf.errors import ForeignCall, UnsupportedSyntax, fall_back
from imp2tf.junctions import Outcomes, decided, junctions_of, where_loops_turn
from imp2tf.lowering import adopted, lowered
from imp2tf.parted import parted_around
from imp2tf.quick_graphs import constants_shared
from imp2tf.region import leave_to_python_if
from imp2tf.session import current
from imp2tf.states import Box
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.unrecorded import refuse_unrecorded
from imp2tf.values import Union, number_kind

__all__ = ["none_where_unconnected"]

NONE = tf.UnconnectedGradients.NONE


@replace_call(tf.GradientTape.gradient)
def gradient(tape: tf.GradientTape, target: Any, sources: Any, output_gradients: Any = None,
             unconnected_gradients: Any = NONE) -> Any:
    """``tape.gradient(target, sources, ...)``."""
    _refuse_callers(tape)
    if isinstance(target, Union):
        return over(target, lambda one: _not_of_number(one, sources) if number_kind(one) else gradient(
            tape, one, sources, output_gradients, unconnected_gradients))
    if target is None:
        return run_operation(tape.gradient, None, [])
    ask = functools.partial(tape.gradient, output_gradients=lowered(output_gradients), unconnected_gradients=unconnected_gradients)
    return adopted(run_operation(_asked, tape, ask, lowered(target), lowered(sources), unconnected_gradients))


@replace_call(tf.GradientTape.jacobian)
def jacobian(tape: tf.GradientTape, target: Any, sources: Any, unconnected_gradients: Any = NONE, *how: Any, **named: Any) -> Any:
    """``tape.jacobian(target, sources, ...)``."""
    _refuse_callers(tape)

    def ask(target: Any, sources: Any) -> Any:
        return tape.jacobian(target, sources, unconnected_gradients, *how, **named)

    return adopted(run_operation(_asked, tape, ask, lowered(target), lowered(sources), unconnected_gradients))


@replace_call(tf.GradientTape.batch_jacobian)
def batch_jacobian(tape: tf.GradientTape, target: Any, source: Any, *how: Any, **named: Any) -> Any:
    """``tape.batch_jacobian(target, source, ...)``, which gives zeros for None."""
    _refuse_callers(tape)

    def ask(target: Any, source: Any) -> Any:
        return tape.batch_jacobian(target, source, *how, **named)

    return adopted(run_operation(_asked, tape, ask, lowered(target), lowered(source), tf.UnconnectedGradients.ZERO))


@replace_call(tf.GradientTape.reset)
def reset(tape: tf.GradientTape) -> None:
    """``tape.reset()``."""
    _refuse_outer(tape, "is reset")
    tape.reset()


@replace_call(tf.GradientTape.watch)
def watch(tape: tf.GradientTape, tensor: Any) -> None:
    """``tape.watch(tensor)``."""
    _refuse_callers(tape)
    graph = tf.compat.v1.get_default_graph()
    if any(isinstance(one, tf.Variable) or one.graph is not graph for one in tf.nest.flatten(tensor, expand_composites=True)
           if isinstance(one, tf.Variable) or is_symbolic_tensor(one)):
        _refuse_outer(tape, "watches what is older")
    watched = lowered(tensor)
    for one in tf.nest.flatten(watched, expand_composites=True):
        if is_symbolic_tensor(one):
            current().kept.append(one)
            current().watched.setdefault(id(one), len(one.graph.get_operations()))
    run_operation(tape.watch, watched)


@replace_call(tf.GradientTape.stop_recording)
def stop_recording(tape: tf.GradientTape) -> Any:
    """``tape.stop_recording()``."""
    _refuse_outer(tape, "stops recording")
    return adopted(tape.stop_recording())


def _refuse_outer(tape: tf.GradientTape, what: str) -> None:
    """Refuse to change, in a branch or loop, a tape that is older: it would see the change on the other ways of the run, too."""
    session = current()
    _refuse_callers(tape)
    if session.is_born(tape) and session.birth_depth(tape) < session.depth:
        fall_back(UnsupportedSyntax, f"a tape {what} under a condition on a tensor")


def _refuse_callers(tape: tf.GradientTape) -> None:
    """Refuse a tape of the caller: it records what eager code does, and knows nothing of the operations in the graph."""
    session = current()
    if not session.is_born(tape) and not session.embedded:
        fall_back(ForeignCall, "a tape that was made outside of the function is used in it")


def _not_of_number(target: Any, sources: Any) -> Any:
    """Leave a target that is a Python number (such as a sum after a loop without a turn) to Python, which refuses it."""
    if number_kind(target) == "float" and has_effects_so_far(current()):
        raise_error(call(TypeError, call("Cannot convert the argument `type_value`: {!r} to a TensorFlow DType.".format, target)))
    leave_to_python_if(tf.constant(True), f"the gradient of a Python {number_kind(target)} is asked for")
    return adopted(tf.nest.map_structure(tf.zeros_like, lowered(sources)))


def _asked(tape: tf.GradientTape, ask: Callable[..., Any], target: Any, sources: Any, unconnected: Any) -> Any:
    """What a tape answers, None where eager does."""
    targets = [one for one in tf.nest.flatten(target, expand_composites=True) if is_symbolic_tensor(one)]
    flat = tf.nest.flatten(sources, expand_composites=True)
    refuse_other_names(targets, [one for one in flat if is_symbolic_tensor(one)])
    refuse_unrecorded(tape, targets, flat)
    session = current()
    try:
        with constants_shared():
            found = ask(target, sources)
    except RuntimeError:
        if any(one is tape and not session.is_of_open_region(asking) for one, asking in session.spent):
            fall_back(UnsupportedSyntax, "a tape that can be asked once was asked in a branch, or in code that is traced again")
        raise
    session.spent.append((tape, session.born(Box())))
    return none_where_unconnected(tf.nest.map_structure(_own, found), target, sources, unconnected)


def _own(gradient: Any) -> Any:
    """A gradient that the program may watch, and then watches nothing else."""
    return tf.identity(gradient) if is_symbolic_tensor(gradient) and gradient.op.type == "Const" else gradient


def none_where_unconnected(found: Any, target: Any, sources: Any, unconnected: Any = NONE) -> Any:
    """Gradients that a tape gave, None where eager's are."""
    targets = [one for one in tf.nest.flatten(target, expand_composites=True) if is_symbolic_tensor(one)]
    whole = tf.nest.flatten(sources)
    if tf.UnconnectedGradients(unconnected) is not NONE or not targets or not all(map(_is_dense, whole)):
        return found
    reached = connections_around(targets, whole)
    session = current()
    parted = parted_around(targets, whole) if not session.interposed else None
    flat, sure = tf.nest.flatten(found), -1 if parted is None else parted()
    if reached is None:
        return _packed(sources, [_asserted(one, sure >> bit & 1) for bit, one in enumerate(flat)])
    junctions = [junctions_of(session, graph) for graph in enclosing(targets)]
    outcome = decided(reached, junctions)
    if isinstance(outcome, int):
        return _packed(sources, [_asserted(one, sure >> bit & 1) if outcome >> bit & 1 else None for bit, one in enumerate(flat)])
    if session.interposed:  # Keras takes the gradients: what is not there is left out where they are applied
        session.uncertain.extend((source, bit, outcome) for bit, source in enumerate(whole))
        return found
    usual = 0 if has_effects_so_far(session) else where_loops_turn(reached, junctions)
    return _packed(sources, [_present(one, outcome, usual, sure, bit) for bit, one in enumerate(flat)])


def _packed(sources: Any, gradients: list[Any]) -> Any:
    return tf.nest.pack_sequence_as(sources, gradients)


def _asserted(gradient: Any, is_sure: int, present: tf.Tensor | None = None) -> Any:
    """A gradient. If it may be that of an element of a list that was not read, and is zero, the run is left to Python."""
    if gradient is not None and not is_sure:
        values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
        zero = tf.reduce_all(tf.equal(values, tf.zeros([], values.dtype)))
        is_vague = zero if present is None else tf.logical_and(zero, present)
        leave_to_python_if(is_vague, "a gradient is zero, or None, because of which elements of a list were read")
    return gradient


def _present(gradient: Any, outcome: Outcomes, usual: int, sure: int, bit: int) -> Any:
    """A gradient, or None where the run does not find the source of this number connected.

    One that only a loop without a turn makes None is taken to be there; a run that finds it is not is left to Python.
    """
    if gradient is None or all(mask >> bit & 1 for mask in outcome.masks):
        return _asserted(gradient, sure >> bit & 1)
    present = outcome.holds(bit)
    if usual >> bit & 1:
        leave_to_python_if(tf.logical_not(present), "a gradient is None because a loop had no turn")
        return _asserted(gradient, sure >> bit & 1)
    return Union(tf.cast(present, tf.int32), [None, _asserted(gradient, sure >> bit & 1, present)])


def _is_dense(source: Any) -> bool:
    return isinstance(source, (tf.Tensor, tf.Variable)) or hasattr(type(source), "handle")  # the variables of Keras have one
