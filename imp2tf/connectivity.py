"""Which tensors of a graph depend differentiably on which others, found without running it.

Eager gradients are None for what only steers a program: what is compared, tested, rounded or cast to an integer, and
for what is used on another path than the one taken. The functional If and While of a graph give zeros for it instead.

Connections are kept as bit masks, one bit for each source, and flow through a graph in one pass over its operations.
Where it is not known which way a run goes, connections count that hold on some way, or only those that hold on each.
Of the last turns of a loop it is known what each did. Of those before it is known which ways some turn went: what they connect in
some order counts as connected.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import FuncGraph, function_graph, has_gradient

__all__ = ["BOTH", "BRANCHES", "CALLS", "LOOPS", "Connections", "Junction", "Taken", "Turns", "Ways", "Wiring", "called_names",
           "connections_around", "enclosing", "is_differentiable", "order_matters", "turned"]

# An operation at which a run may go one way or the other: its graph, by id, and its name.
Junction = tuple[int, str]
# Whether it took the first branch, or entered the loop, and whether it took the other way; in a loop it may be both.
Ways = tuple[bool, bool]
BOTH: Ways = (True, True)
Taken = tuple[tuple[Junction, "Ways | Turns"], ...]  # what a run, or one turn of a loop, did at its junctions


@dataclass(frozen=True)
class Turns:
    """The turns of a loop: its ways, what all but the last turns did together (None: there were none), and what each last one did."""

    ways: Ways
    before: Taken | None
    last: tuple[Taken, ...]


Masks = dict[int, int]
Table = list[int]  # for each output of a function, the mask of the inputs that it depends on

BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
LOOPS = frozenset({"While", "StatelessWhile"})
MOST_POWERS = 100
# The attributes that name the functions that an operation may run.
CALLS: dict[str, tuple[str, ...]] = {
    "If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch"),
    "Case": ("branches",), "StatelessCase": ("branches",), "While": ("body",), "StatelessWhile": ("body",),
    "PartitionedCall": ("f",), "StatefulPartitionedCall": ("f",),
}
# Their gradient functions are registered, but answer None.
FLAT = frozenset({"Floor", "Ceil", "Round", "Rint", "FloorDiv", "TruncateDiv"})


def is_differentiable(tensor: tf.Tensor) -> bool:
    """Whether a gradient may flow through a tensor, by its dtype."""
    dtype = tensor.dtype
    return dtype.is_floating or dtype.is_complex or dtype in (tf.variant, tf.resource)


@dataclass(frozen=True)
class Step:
    """An operation that may carry connections: the ids of its inputs, and the places and ids of outputs with gradients."""

    op: tf.Operation
    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, int], ...]
    calls: tuple[FuncGraph | None, ...] | None


class Wiring:
    """The steps of graphs, read once for following them many times; good while no graph is added to."""

    def __init__(self) -> None:
        self._steps: dict[int, list[Step]] = {}
        self._flows: dict[str, bool] = {}
        self._inside: dict[int, set[int]] = {}
        self.tables: dict[tuple[int, bool, frozenset[tuple[Junction, Ways | Turns]]], Table] = {}

    def steps(self, graph: FuncGraph) -> list[Step]:
        """The steps of a graph in its order."""
        if id(graph) not in self._steps:
            self._steps[id(graph)] = [step for op in graph.get_operations() if (step := self._step(graph, op)) is not None]
        return self._steps[id(graph)]

    def inside(self, graph: FuncGraph) -> set[int]:
        """A graph and those that it may run, by id."""
        if id(graph) not in self._inside:
            found = self._inside[id(graph)] = {id(graph)}
            for step in self.steps(graph):
                found.update(*(self.inside(one) for one in step.calls or () if one is not None))
        return self._inside[id(graph)]

    def _step(self, graph: FuncGraph, op: tf.Operation) -> Step | None:
        if not op.inputs:
            return None
        outputs = tuple((place, id(tensor)) for place, tensor in enumerate(op.outputs) if is_differentiable(tensor))
        if not outputs or (op.type not in CALLS and not self._lets_flow(op.type)):
            return None
        calls = tuple(function_graph(graph, name) for attribute in CALLS[op.type] for name in called_names(op, attribute)) \
            if op.type in CALLS else None
        return Step(op, tuple(map(id, op.inputs)), outputs, calls)

    def _lets_flow(self, kind: str) -> bool:
        if kind not in self._flows:
            self._flows[kind] = kind not in FLAT and has_gradient(kind)
        return self._flows[kind]


class Connections:
    """Follows sources through graphs.

    `taken` tells the ways taken at some junctions; `certain` counts at the others only what holds on every way.
    """

    def __init__(self, taken: Mapping[Junction, Ways | Turns] | None = None, certain: bool = False, wiring: Wiring | None = None) -> None:
        self._taken = taken or {}
        self._certain = certain
        self._wiring = wiring or Wiring()

    def reached(self, graph: FuncGraph, sources: Sequence[tf.Tensor], targets: Sequence[tf.Tensor]) -> Table:
        """For each target, the mask of the sources in the same graph that it depends on."""
        masks = {id(source): 1 << bit for bit, source in enumerate(sources)}
        self.spread(graph, masks)
        return [masks.get(id(target), 0) for target in targets]

    def spread(self, graph: FuncGraph, masks: Masks) -> None:
        """Carry the masks of some tensors (by id) to all tensors of `graph` that depend on them."""
        for step in self._wiring.steps(graph):
            given = [masks.get(one, 0) for one in step.inputs]
            if not any(given):
                continue
            if step.calls is None:
                union = _union(given)
                for _, one in step.outputs:
                    masks[one] = masks.get(one, 0) | union
                continue
            through = self._through(graph, step, step.calls, given)
            for place, one in step.outputs:
                if through[place]:
                    masks[one] = masks.get(one, 0) | through[place]

    def _through(self, graph: FuncGraph, step: Step, calls: Sequence[FuncGraph | None], given: list[int]) -> list[int]:
        """The masks of the outputs of an operation that calls functions, from those of its inputs."""
        count = len(step.op.outputs)
        tables, known = self._ways(graph, step.op, calls)
        if tables is None:
            return [_union(given)] * count
        if not tables:  # no run comes by
            return [0] * count
        if step.op.type in BRANCHES:
            del given[0]  # the predicate
        through = [[_selected(given, sources) for sources in table[:count]] for table in tables]
        combined: Callable[[int, int], int] = operator.and_ if self._certain and not known else operator.or_
        return [reduce(combined, masks) for masks in zip(*through)]

    def _ways(self, graph: FuncGraph, op: tf.Operation, calls: Sequence[FuncGraph | None]) -> tuple[list[Table] | None, bool]:
        """What the operation may connect, one table for each way, and whether these are the ways taken.

        None if its functions cannot be looked into.
        """
        called = [one for one in calls if one is not None]
        taken = self._taken.get((id(graph), op.name))
        if len(called) < len(calls):
            return None, False
        tables = self._of_loop(called[0]) if op.type in LOOPS else [self._table(one) for one in called]
        if taken is None or op.type not in LOOPS | BRANCHES:
            return tables, False
        if op.type in LOOPS:
            tables.reverse()
        if isinstance(taken, Turns):
            return [self._after(called[0], taken)] if taken.ways[0] else tables[1:] if taken.ways[1] else [], True
        return [table for table, one in zip(tables, taken) if one], True

    def _of_loop(self, body: FuncGraph) -> list[Table]:
        """What the loop variables depend on after no turn, and after one or more; certainly, where that is asked for."""
        table = self._table(body)
        return [[1 << bit for bit in range(len(table))], _always(table)] if self._certain else _turned(table)

    def _after(self, body: FuncGraph, turns: Turns) -> Table:
        """What the loop variables depend on after turns that did this."""
        found = [1 << bit for bit in range(len(body.outputs))]
        if turns.before is not None:
            found = _turned(self._in_a_turn(turns.before)._table(body))[1]
        for one in turns.last:
            table = self._in_a_turn(one)._table(body)
            found = [_selected(found, sources) for sources in table]
        return found

    def _in_a_turn(self, taken: Taken) -> Connections:
        return Connections(dict(taken), self._certain, self._wiring)

    def _table(self, graph: FuncGraph) -> Table:
        inside = self._wiring.inside(graph)
        key = id(graph), self._certain, frozenset(item for item in self._taken.items() if item[0][0] in inside)
        found = self._wiring.tables.get(key)
        if found is None:
            masks = {id(tensor): 1 << bit for bit, tensor in enumerate(graph.inputs) if is_differentiable(tensor)}
            self.spread(graph, masks)
            found = self._wiring.tables[key] = [masks.get(id(tensor), 0) for tensor in graph.outputs]
        return found


def called_names(op: tf.Operation, attribute: str) -> list[str]:
    """The functions that an attribute of an operation names."""
    value = op.get_attr(attribute)
    return [one.name for one in (value if isinstance(value, list) else [value])]


def _union(masks: Iterable[int]) -> int:
    return reduce(operator.or_, masks, 0)


def _selected(masks: Sequence[int], bits: int) -> int:
    """The union of the masks whose positions are set in `bits`."""
    found, bits = 0, bits & (1 << len(masks)) - 1    # a graph may have got inputs that no call gives
    while bits:
        lowest = bits & -bits
        found |= masks[lowest.bit_length() - 1]
        bits ^= lowest
    return found


def _turned(body: Table) -> list[Table]:
    """What the loop variables depend on after no turn, and after one or more."""
    straight = [1 << bit for bit in range(len(body))]
    before = straight
    while True:
        after = [_selected(before, sources) for sources in body]
        wider = [mine | more for mine, more in zip(before, after)]
        if wider == before:
            return [straight, after]
        before = wider


def turned(body: Table) -> Table:
    """What the loop variables depend on after one or more turns."""
    return _turned(body)[1]


def _always(body: Table) -> Table:
    """What the loop variables depend on after one turn, after two, and after any other number."""
    found, after = list(body), body
    seen = {tuple(body)}
    while len(seen) < MOST_POWERS:
        after = [_selected(after, sources) for sources in body]
        if tuple(after) in seen:
            return found
        seen.add(tuple(after))
        found = [one & other for one, other in zip(found, after)]
    return [0] * len(body)


def order_matters(body: FuncGraph, variables: Sequence[tf.Tensor], results: Sequence[tf.Tensor]) -> bool:
    """Whether what a loop connects depends on how many turns it has, beyond the first."""
    places = {id(tensor): place for place, tensor in enumerate(body.inputs)}
    once = [1 << place for place in range(len(places))]
    for variable, mask in zip(variables, Connections().reached(body, body.inputs, results), strict=True):
        once[places[id(variable)]] = mask
    return [_selected(once, mask) for mask in once] != once


# ------------------------------------------------------------------------------------------------ across graphs
def connections_around(targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> Callable[[Connections], int] | None:
    """Finds, for some knowledge of the ways, the mask of the sources (tensors or variables) that one of the targets depends on.

    The targets are tensors of graphs under construction; sources may belong to the graphs around theirs. None for graphs
    without control flow: their gradients are None by themselves.
    """
    graphs = enclosing(targets)
    if not any(op.type in CALLS for graph in graphs for op in graph.get_operations()):
        return None

    def reached(connections: Connections) -> int:
        masks: Masks = {}
        for bit, source in enumerate(sources):
            tensor = getattr(source, "handle", source)
            masks[id(tensor)] = masks.get(id(tensor), 0) | 1 << bit
        for graph in graphs:
            for outer, inner in graph.captures:
                masks[id(inner)] = masks.get(id(inner), 0) | masks.get(id(outer), 0)
            connections.spread(graph, masks)
        return _union(masks.get(id(target), 0) for target in targets)

    return reached


def enclosing(tensors: Sequence[tf.Tensor]) -> list[FuncGraph]:
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
