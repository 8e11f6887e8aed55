"""The graph of a gradient made anew so that NaN spreads through it: to all that is connected in eager, and to nothing else.

    given NaN for what is differentiated   -->   NaN in whatever has a gradient, not in what a list's elements were not taken of

Each operation on floats gives NaN everywhere if anything that it is given holds NaN, and never otherwise. So what a slice leaves out
counts as connected, as it is in eager. Elements of lists stay apart: nothing spreads in what moves them as a whole, and in what picks some
of them (`imp2tf.growable`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, LOOPS
from imp2tf.growable import PICKED
from imp2tf.tf_compat import FuncGraph, copied_operation, copy_handle_data, function_graph, functions_of

__all__ = ["spreading"]

Known = dict[str, tf.Tensor]  # what stands for the tensors of a graph, by name
OPAQUE = (tf.resource, tf.variant)


def spreading(graph: FuncGraph) -> Callable[..., list[tf.Tensor]]:
    """A function of what a graph is given that returns its results, as they are found when NaN spreads."""
    specs = [tf.TensorSpec(one.shape, one.dtype) for one in graph.inputs]
    concrete = tf.function(lambda *args: _inside(graph, args), autograph=False).get_concrete_function(*specs)

    def run(given: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        found = concrete(*given)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    return run


def _inside(graph: FuncGraph, args: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The results of a graph on some tensors, in the graph that is being built."""
    known: Known = {}
    for one, arg in zip(graph.inputs, args, strict=True):
        if one.dtype in OPAQUE:
            copy_handle_data(one, arg)
        known[one.name] = arg
    apart: set[str] = set()
    for op in graph.get_operations():
        if op.type == "Placeholder":
            continue
        inputs = [known[one.name] for one in op.inputs]
        outputs = _block(op, inputs)
        if outputs is None:
            outputs = list(copied_operation(op, inputs).outputs)
            if _keeps_apart(op, apart):
                apart.update(one.name for one in op.outputs)
            else:
                outputs = _spread(inputs, outputs)
        known.update((one.name, made) for one, made in zip(op.outputs, outputs))
    return [known[one.name] for one in graph.outputs]


def _keeps_apart(op: tf.Operation, apart: set[str]) -> bool:
    """Whether an operation only moves elements of lists, or makes one list of the gradients by what was picked of another."""
    return op.type.startswith("TensorList") or PICKED in op.name or (
        op.type == "UnsortedSegmentSum" and op.inputs[0].name in apart and PICKED in op.inputs[0].op.name)


def _spread(inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Floats that are NaN if one of the inputs holds NaN, and not otherwise."""
    if not any(one.dtype.is_floating for one in outputs):
        return list(outputs)
    flags = [tf.reduce_any(tf.math.is_nan(one)) for one in inputs if one.dtype.is_floating]
    reached = tf.reduce_any(tf.stack(flags)) if flags else tf.constant(False)
    return [tf.where(reached, _filled(one, float("nan")), tf.where(tf.math.is_nan(one), _filled(one, 0.0), one))
            if one.dtype.is_floating else one for one in outputs]


def _filled(tensor: tf.Tensor, value: float) -> tf.Tensor:
    return tf.constant(value, tensor.dtype)


def _block(op: tf.Operation, inputs: list[tf.Tensor]) -> list[tf.Tensor] | None:
    """What a branch, loop or call leaves, made anew; None for other operations."""
    bodies = [function_graph(op.graph, name) for name in functions_of(op)]
    known = [one for one in bodies if one is not None]
    if not known or len(known) < len(bodies):
        return None
    if op.type in LOOPS:
        return _loop(known[0], known[1], inputs)
    if op.type not in BRANCHES:
        return _inside(known[0], inputs)
    if len(known) == 2 and inputs[0].dtype == tf.bool:
        return _flat(tf.cond(inputs[0], lambda: _inside(known[0], inputs[1:]), lambda: _inside(known[1], inputs[1:])))
    return _flat(tf.switch_case(inputs[0], [lambda one=one: _inside(one, inputs[1:]) for one in known]))


def _loop(test: FuncGraph, body: FuncGraph, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
    carried = [place for place, one in enumerate(inputs) if one.dtype != tf.resource]

    def all_of(turned: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        now = dict(zip(carried, turned))
        return [now.get(place, one) for place, one in enumerate(inputs)]

    def turn(*turned: tf.Tensor) -> list[tf.Tensor]:
        left = _inside(body, all_of(turned))
        return [left[place] for place in carried]

    shapes = [one.shape for one in body.inputs]
    turned = tf.while_loop(
        lambda *turned: _inside(test, all_of(turned))[0], turn, [inputs[place] for place in carried],
        shape_invariants=[shapes[place] for place in carried])
    return all_of(turned)


def _flat(results: Any) -> list[tf.Tensor]:
    return list(results) if isinstance(results, (list, tuple)) else [results]
