"""What results depend on whichever elements of lists are read: connections that hold for each element of a list, not just for some.

A list of a graph stands for all its elements in `imp2tf.connectivity`: what is read from it counts as connected to whatever went in. Here
a list has two masks, of what some elements depend on and of what all do, and an element that is read has the second one. Where both ways
of counting differ, only the run knows whether a gradient is None.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, CALLS, LOOPS, Wiring, called_names, enclosing
from imp2tf.growable import PICKED
from imp2tf.tf_compat import FuncGraph, function_graph

__all__ = ["Parted", "parted_around"]

EVERYTHING = -1
Mask = tuple[int, int]  # of what a tensor, or some element of a list, depends on; of what all elements do
NOTHING: Mask = (0, 0)


class Parted:
    """Follows sources through graphs; `stacked` are tensors that are made of the elements of lists."""

    def __init__(self, stacked: Sequence[tf.Tensor] = ()) -> None:
        self._wiring = Wiring()
        self._stacked = set(map(id, stacked))

    def spread(self, graph: FuncGraph, masks: dict[int, Mask]) -> None:
        """Carry the masks of some tensors (by id) to all tensors of `graph`."""
        for op in graph.get_operations():
            if op.type == "EmptyTensorList":
                masks[id(op.outputs[0])] = 0, EVERYTHING
        for step in self._wiring.steps(graph):
            if step.op.type == "EmptyTensorList":
                continue
            given = [masks.get(one, NOTHING) for one in step.inputs]
            found = self._block(step.op, given) if step.calls is not None else [self._through(step.op, given)] * len(step.op.outputs)
            for place, one in step.outputs:
                masks[one] = _either(masks[one], found[place]) if one in masks else found[place]

    def _block(self, op: tf.Operation, given: list[Mask]) -> list[Mask]:
        graphs = [function_graph(op.graph, name) for attribute in CALLS[op.type] for name in called_names(op, attribute)]
        known = [one for one in graphs if one is not None]
        if len(known) < len(graphs):
            return [(_union(given), 0)] * len(op.outputs)
        if op.type in LOOPS:
            return self._loop(known[0], given)
        given = given[1:] if op.type in BRANCHES else given
        found = self._inside(known[0], given)
        for one in known[1:]:
            found = [_either(a, b) for a, b in zip(found, self._inside(one, given))]
        return found

    def _loop(self, body: FuncGraph, given: list[Mask]) -> list[Mask]:
        now = given
        while True:
            after = [_either(a, b) for a, b in zip(now, self._inside(body, now))]
            if after == now:
                return now
            now = after

    def _inside(self, graph: FuncGraph, given: Sequence[Mask]) -> list[Mask]:
        masks = {id(one): mask for one, mask in zip(graph.inputs, given)}
        self.spread(graph, masks)
        return [masks.get(id(one), NOTHING) for one in graph.outputs]

    def _through(self, op: tf.Operation, given: Sequence[Mask]) -> Mask:
        """The mask of what an operation gives."""
        some, of_all = _union(given), given[0][1]
        if op.type == "TensorListPushBack":
            return some, of_all & given[1][0]
        if op.type == "TensorListSetItem":  # what it overwrites has gone
            return of_all | given[-1][0], of_all & given[-1][0]
        if op.type in ("TensorListGetItem", "TensorListPopBack", "TensorListResize") or PICKED in op.name:
            return of_all, of_all
        if op.type == "TensorListStack" or (op.type == "Identity" and op.inputs[0].dtype == tf.variant):
            return some, of_all
        if op.type == "TensorListFromTensor":
            return some, 0 if id(op.inputs[0]) in self._stacked else of_all if _is_stacked(op.inputs[0]) else some
        return some, of_all if len(given) == 1 and op.outputs[0].dtype == tf.variant else some


def _is_stacked(tensor: tf.Tensor) -> bool:
    """Whether a tensor is made of the elements of a list."""
    return PICKED in tensor.op.name or tensor.op.type == "TensorListStack"


def _either(a: Mask, b: Mask) -> Mask:
    return a[0] | b[0], a[1] & b[1]


def _union(given: Sequence[Mask]) -> int:
    found = 0
    for one in given:
        found |= one[0]
    return found


def has_lists(graphs: Sequence[FuncGraph]) -> bool:
    """Whether there are lists of run-time length in some graphs, or in what they call."""
    return any(
        op.type.startswith("TensorList") or any(
            (inner := function_graph(graph, name)) is not None and has_lists([inner])
            for attribute in CALLS.get(op.type, ()) for name in called_names(op, attribute))
        for graph in graphs for op in graph.get_operations())


def parted_around(targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> Callable[[], int] | None:
    """As `connections_around`: what the targets depend on whichever elements were read; None where there are no lists."""
    graphs = enclosing(targets)
    if not has_lists(graphs):
        return None

    def reached() -> int:
        masks: dict[int, Mask] = {}
        for bit, source in enumerate(sources):
            tensor = getattr(source, "handle", source)
            before = masks.get(id(tensor), NOTHING)[0]
            masks[id(tensor)] = (before | 1 << bit,) * 2
        parted = Parted()
        for graph in graphs:
            for outer, inner in graph.captures:
                if id(outer) in masks and id(inner) not in masks:
                    masks[id(inner)] = masks[id(outer)]
            parted.spread(graph, masks)
        return _union([masks.get(id(target), NOTHING) for target in targets])

    return reached
