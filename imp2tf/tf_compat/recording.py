"""Gradient tapes: what they record, and the functions of a graph that they run."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import switches
from imp2tf.tf_compat.blocks import function_bodies
from imp2tf.tf_compat.calling import DirectCall
from imp2tf.tf_compat.optimizer import careful
from imp2tf.tf_compat.private import EagerTensor, FuncGraph
from imp2tf.tf_compat.private import record as _record
from imp2tf.tf_compat.private import runtime as _runtime
from imp2tf.tf_compat.private import variables as _variables


def watching(tensors: Sequence[tf.Tensor]) -> int:
    """0 if nothing records what is done with tensors, 1 if one gradient tape does that is asked once, else 2."""
    kind = int(_runtime.TFE_Py_TapeSetPossibleGradientTypes(tensors))
    return 2 if kind and any(_runtime.TFE_Py_PackJVPs(tensors)[0]) else kind


class TapeFunctions:
    """The graph that a tape runs instead of a concrete function's own, and its gradient.

    `residuals` tells what the gradient needs: places of inputs, places of outputs (below zero, -1 for the first), and tensors.
    `recorded` outputs are known to the tape, and `differentiable` are the places of those whose gradients the gradient takes.
    """

    def __init__(self, functions: Any, results: int, may_inline: Callable[[], bool], may_switch: bool) -> None:
        forward, backward, graph = functions._forward, functions._backward, functions._forward_graph
        place_of = {id(tensor): ~place for place, tensor in enumerate(graph.outputs)}
        place_of.update((id(tensor), place) for place, tensor in enumerate(graph.inputs))
        self.residuals = [place_of.get(id(one), one) for one in backward.captured_inputs]
        if not all(isinstance(one, (int, EagerTensor)) for one in self.residuals):
            raise ValueError("the gradient needs tensors of another graph")
        self.differentiable = [i for i, one in enumerate(graph.outputs[:results]) if one.dtype.is_floating or one.dtype.is_complex]
        if len(self.differentiable) != len(backward.inputs) - len(self.residuals):
            raise ValueError("an output that is no number has a gradient")
        self.recorded = self.differentiable[-1] + 1 if self.differentiable else 0
        self.placeholders = backward.inputs[: len(self.differentiable)]
        self.forward = DirectCall(forward, may_inline, may_switch)
        self.backward = DirectCall(backward._inference_function, may_inline, may_switch and not _adds_lists(backward.graph))
        self.structure = backward.structured_outputs
        self.backward_graph: FuncGraph = backward.graph
        self._whole_backward = backward

    def slow_backward(self, given: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        """The gradient by TensorFlow's own call, for tapes that watch it."""
        with careful(self._whole_backward.graph):
            return list(self._whole_backward._call_flat(given, residuals))

    def kept(self, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """What the gradient needs of a run."""
        return [one if not isinstance(one, int) else inputs[one] if one >= 0 else outputs[~one] for one in self.residuals]


def _adds_lists(graph: FuncGraph) -> bool:
    """Whether gradients of TensorLists are added. Of lists of bools nobody needs them, and only the optimizer takes them out."""
    return any(
        node.op == "AddN" and node.attr["T"].type == tf.variant.as_datatype_enum
        for op in graph.get_operations() for node in (op.node_def, *(one for body in function_bodies(op) for one in body.node_def)))


def tape_functions(
    concrete: Any, inputs: Sequence[tf.Tensor], results: int, may_inline: Callable[[], bool], may_switch: bool,
) -> TapeFunctions | None:
    """The functions for a tape that is asked once, as TensorFlow makes them; None if they cannot be used here."""
    if not switches.PRIVATE_CALLS:
        return None
    try:
        concrete._select_forward_and_backward_functions(list(inputs), 1, True).forward()
        return TapeFunctions(concrete._first_order_tape_functions[(False, ())], results, may_inline, may_switch)
    except (AttributeError, KeyError, ValueError):
        return None


def record(name: str, outputs: Sequence[tf.Tensor], inputs: Sequence[tf.Tensor], backward: Callable[..., Any]) -> None:
    """Tell the tapes how `outputs` came of `inputs`."""
    _record.record_operation(name, outputs, inputs, backward)


def variables_accessed(variables: Sequence[tf.Variable]) -> None:
    """Let tapes watch variables, as reading them does."""
    for variable in variables:
        if type(variable) is _variables.ResourceVariable and variable.trainable:
            _runtime.TFE_Py_TapeVariableAccessed(variable)
            _runtime.TFE_Py_VariableWatcherVariableAccessed(variable)
        else:
            _variables.variable_accessed(variable)


def tape_may_record() -> bool:
    """Whether a gradient tape or forward accumulator is recording on this thread."""
    return bool(_record.could_possibly_record())


def variable_accessed(variable: tf.Variable) -> None:
    """Let tapes watch a variable, as reading it does."""
    _variables.variable_accessed(variable)


def gated(tensor: tf.Tensor, is_open: Callable[[], bool]) -> tf.Tensor:
    """An alias of an eager tensor; its gradient is None unless `is_open()` by the time it is asked for."""
    with _record.stop_recording():
        alias = tf.identity(tensor)
    _record.record_operation("Identity", [alias], [tensor], lambda gradient: [gradient if is_open() else None])
    return alias


def stacked_apart(items: Sequence[tf.Tensor]) -> tf.Tensor:
    """Eager tensors in one; where `with_rows_told` has told it, the gradient of an item may be None."""

    def apart(gradient: tf.Tensor) -> list[Any]:
        rows = tf.unstack(gradient, len(items))
        return [row if told else None for row, told in zip(rows, getattr(gradient, "_imp2tf_rows", [True] * len(items)), strict=True)]

    with _record.stop_recording():
        stacked = tf.raw_ops.Pack(values=items)
    _record.record_operation("Pack", [stacked], items, apart)
    return stacked


def with_rows_told(gradient: tf.Tensor, rows: Sequence[bool]) -> tf.Tensor:
    """A gradient of stacked items that tells for which of them there is one."""
    told = tf.identity(gradient)
    told._imp2tf_rows = rows
    return told


def watched_result(tensor: tf.Tensor, told: Callable[[], None]) -> tf.Tensor:
    """An alias of an eager tensor; `told()` is called when a gradient comes to it."""

    def passed(gradient: tf.Tensor) -> list[tf.Tensor]:
        told()
        return [gradient]

    with _record.stop_recording():
        alias = tf.identity(tensor)
    _record.record_operation("Identity", [alias], [tensor], passed)
    return alias
