"""What results depend on whichever elements of lists are read: connections that hold for each element of a list, not just for some.

A list of a graph stands for all its elements in `imp2tf.connectivity`: what is read from it counts as connected to whatever went in. Here
a list has masks of what some elements depend on and of what all do, and an element that is read has the second one. An element that a
branch has chosen depends for certain only on what it does either way. Where the ways of counting differ, only the run knows whether a
gradient is None.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, CALLS, LOOPS, Wiring, called_names, enclosing
from imp2tf.growable import PICKED
from imp2tf.tf_compat import FuncGraph, function_graph

__all__ = ["NOTHING", "Mask", "Parted", "parted_around"]

EVERYTHING = -1


class Mask(NamedTuple):
    """What a tensor depends on, or the elements of a list."""

    some: int  # of the elements
    each: int  # of all elements
    certain: int  # whichever branches a run takes

    @classmethod
    def of(cls, sources: int) -> Mask:
        """That of a tensor, not a list, that depends on the sources on every way."""
        return cls(sources, sources, sources)


NOTHING = Mask.of(0)


class Parted:
    """Follows sources through graphs; `stacked` are tensors that are made of the elements of lists."""

    def __init__(self, stacked: Sequence[tf.Tensor] = ()) -> None:
        self._wiring = Wiring()
        self._stacked = set(map(id, stacked))

    def spread(self, graph: FuncGraph, masks: dict[int, Mask]) -> None:
        """Carry the masks of some tensors (by id) to all tensors of `graph`."""
        for op in graph.get_operations():
            if op.type == "EmptyTensorList":
                masks[id(op.outputs[0])] = Mask(0, EVERYTHING, 0)
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
            return [Mask(_union(given), 0, 0)] * len(op.outputs)
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
        some, certain = _union(given), functools.reduce(operator.or_, (one.certain for one in given), 0)
        first, last = given[0], given[-1]
        if op.type == "TensorListPushBack":
            return Mask(some, first.each & last.certain, certain)
        if op.type == "TensorListSetItem":  # what it overwrites has gone
            return Mask(first.each | last.some, first.each & last.certain, certain)
        if op.type in ("TensorListGetItem", "TensorListPopBack", "TensorListResize") or PICKED in op.name:
            return Mask.of(first.each)
        if op.type == "TensorListStack" or (op.type == "Identity" and op.inputs[0].dtype == tf.variant):
            return Mask(some, first.each, certain)
        if op.type == "TensorListFromTensor":
            known = id(op.inputs[0]) in self._stacked
            return Mask(some, 0 if known else first.each if _is_stacked(op.inputs[0]) else some, certain)
        return Mask(some, first.each if len(given) == 1 and op.outputs[0].dtype == tf.variant else some, certain)


def _is_stacked(tensor: tf.Tensor) -> bool:
    """Whether a tensor is made of the elements of a list."""
    return PICKED in tensor.op.name or tensor.op.type == "TensorListStack"


def _either(a: Mask, b: Mask) -> Mask:
    return Mask(a.some | b.some, a.each & b.each, a.certain & b.certain)


def _union(given: Sequence[Mask]) -> int:
    found = 0
    for one in given:
        found |= one.some
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
            masks[id(tensor)] = Mask.of(masks.get(id(tensor), NOTHING).some | 1 << bit)
        parted = Parted()
        for graph in graphs:
            for outer, inner in graph.captures:
                if id(outer) in masks and id(inner) not in masks:
                    masks[id(inner)] = masks[id(outer)]
            parted.spread(graph, masks)
        return _union([masks.get(id(target), NOTHING) for target in targets])

    return reached
