"""Which tensors of a graph depend differentiably on which others, found without running it.

Eager gradients are None for what only steers a program: what is compared, tested, rounded or cast to an integer. The
functional If and While of a graph give zeros for it instead. What is found here is a safe estimate: a tensor may count
as connected that is not on the path the run takes, but never the other way round.

Connections are kept as bit masks, one bit for each source, and flow through a graph in one pass over its operations.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import FuncGraph, function_graph, has_gradient

__all__ = ["connected_sources", "unconnected_inputs"]

# The attributes of control flow operations that name the functions they may run, and how many inputs come before theirs.
CALLS: dict[str, tuple[tuple[str, ...], int]] = {
    "If": (("then_branch", "else_branch"), 1), "StatelessIf": (("then_branch", "else_branch"), 1),
    "Case": (("branches",), 1), "StatelessCase": (("branches",), 1),
    "While": (("body",), 0), "StatelessWhile": (("body",), 0),
    "PartitionedCall": (("f",), 0), "StatefulPartitionedCall": (("f",), 0),
}
LOOPS = frozenset({"While", "StatelessWhile"})
# Their gradient functions are registered, but answer None.
FLAT = frozenset({"Floor", "Ceil", "Round", "Rint", "FloorDiv", "TruncateDiv"})

Masks = dict[int, int]


def is_differentiable(tensor: tf.Tensor) -> bool:
    """Whether a gradient may flow through a tensor, by its dtype."""
    dtype = tensor.dtype
    return dtype.is_floating or dtype.is_complex or dtype in (tf.variant, tf.resource)


class Connections:
    """Follows sources through graphs; what the functions of a graph connect is worked out once for each."""

    def __init__(self) -> None:
        self._functions: dict[int, list[int]] = {}
        self._flows: dict[str, bool] = {}

    def spread(self, graph: FuncGraph, masks: Masks) -> None:
        """Carry the masks of some tensors (by id) to all tensors of `graph` that depend on them."""
        for op in graph.get_operations():
            given = [masks.get(id(tensor), 0) for tensor in op.inputs]
            if not any(given):
                continue
            for tensor, mask in zip(op.outputs, self._through(graph, op, given)):
                if mask and is_differentiable(tensor):
                    masks[id(tensor)] = masks.get(id(tensor), 0) | mask

    def _through(self, graph: FuncGraph, op: tf.Operation, given: Sequence[int]) -> list[int]:
        """The masks of an operation's outputs, from those of its inputs."""
        everything = [_union(given)] * len(op.outputs)
        if op.type in CALLS:
            return self._through_call(graph, op, given, everything)
        return everything if self._lets_flow(op.type) else [0] * len(op.outputs)

    def _lets_flow(self, kind: str) -> bool:
        if kind not in self._flows:
            self._flows[kind] = kind not in FLAT and has_gradient(kind)
        return self._flows[kind]

    def _through_call(self, graph: FuncGraph, op: tf.Operation, given: Sequence[int], everything: list[int]) -> list[int]:
        attributes, skipped = CALLS[op.type]
        names = [name for attribute in attributes for name in _function_names(op, attribute)]
        results = [0] * len(op.outputs)
        for name in names:
            called = function_graph(graph, name)
            if called is None:
                return everything
            table = self._table(called)
            if op.type in LOOPS:
                table = _closure(table)
            for place, sources in enumerate(table[: len(results)]):
                results[place] |= _union(mask for bit, mask in enumerate(given[skipped:]) if sources >> bit & 1)
        return results

    def _table(self, graph: FuncGraph) -> list[int]:
        """For each output of a function, the mask of the inputs that it depends on."""
        if id(graph) not in self._functions:
            masks = {id(tensor): 1 << bit for bit, tensor in enumerate(graph.inputs) if is_differentiable(tensor)}
            self.spread(graph, masks)
            self._functions[id(graph)] = [masks.get(id(tensor), 0) for tensor in graph.outputs]
        return self._functions[id(graph)]


def _function_names(op: tf.Operation, attribute: str) -> list[str]:
    value = op.get_attr(attribute)
    return [one.name for one in (value if isinstance(value, list) else [value])]


def _union(masks: Iterable[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total


def _closure(body: list[int]) -> list[int]:
    """What the loop variables depend on after any number of turns."""
    after = [1 << bit for bit in range(len(body))]
    while True:
        turned = [
            mine | _union(mask for bit, mask in enumerate(after) if sources >> bit & 1)
            for mine, sources in zip(after, body)
        ]
        if turned == after:
            return after
        after = turned


def unconnected_inputs(graph: FuncGraph) -> list[int]:
    """Positions of the inputs of a finished graph that a gradient could reach by their dtype, but no output depends on.

    A graph without control flow needs none of this: its gradients are None by themselves.
    """
    if not _has_control_flow(graph):
        return []
    sources = {place: tensor for place, tensor in enumerate(graph.inputs) if is_differentiable(tensor)}
    masks = {id(tensor): 1 << place for place, tensor in sources.items()}
    Connections().spread(graph, masks)
    reached = _union(masks.get(id(tensor), 0) for tensor in graph.outputs)
    return [place for place in sources if not reached >> place & 1]


def connected_sources(targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> list[bool]:
    """For each source, a tensor or variable, whether one of the targets depends on it.

    The targets are tensors of graphs under construction; sources may belong to the graphs around theirs.
    """
    graphs = _enclosing(targets)
    if not any(_has_control_flow(graph) for graph in graphs):
        return [True] * len(sources)
    seeds: Masks = {}
    for bit, source in enumerate(sources):
        tensor = getattr(source, "handle", source)
        seeds[id(tensor)] = seeds.get(id(tensor), 0) | 1 << bit
    masks, connections = dict(seeds), Connections()
    for graph in graphs:
        for outer, inner in graph.captures:
            masks[id(inner)] = masks.get(id(inner), 0) | masks.get(id(outer), 0)
        connections.spread(graph, masks)
    reached = _union(masks.get(id(target), 0) for target in targets)
    return [bool(reached >> bit & 1) for bit in range(len(sources))]


def _enclosing(tensors: Sequence[tf.Tensor]) -> list[FuncGraph]:
    """The graphs that hold some tensors and all graphs around them, outermost first."""
    found: dict[int, FuncGraph] = {}
    for tensor in tensors:
        graph = tensor.graph
        while hasattr(graph, "captures"):
            found.setdefault(id(graph), graph)
            graph = graph.outer_graph
    return sorted(found.values(), key=_depth)


def _depth(graph: FuncGraph) -> int:
    return 1 + _depth(graph.outer_graph) if hasattr(graph, "captures") else 0


def _has_control_flow(graph: FuncGraph) -> bool:
    return any(op.type in CALLS for op in graph.get_operations())
