"""Turns of a loop that was unrolled, found again among the operations of a graph.

    a1 b1 c1  a2 b2 c2  a3 b3 c3      the same kinds of operations, over and over: three turns of three

What an operation reads, it reads in every turn from the same place: from its own turn, from the turn before, from outside, where that is
one tensor for all turns or another for each. Operations for which that does not hold are no turns. XLA has to know some operands when it
compiles, the place of a slice for example. What has another one in each turn is left out of the loop: it is computed for all turns before
it, or after it.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import is_stateful_op
from imp2tf.xla.rules import OPAQUE, REGIONS, is_static, weight_of

__all__ = ["Carried", "Inner", "Place", "Plan", "Repeat", "Result", "Same", "Scanned", "Source", "planned", "weight_of_turns"]

FEWEST_TURNS, FEWEST_OPERATIONS = 4, 6  # what a loop costs itself is to be small
FEWEST_SAVED = 100  # operations that need not be compiled
LONGEST_TURN, MOST_OPERATIONS = 1500, 30_000  # those that are looked for, and in graphs of that size
MOST_TRIED = 4  # lengths of turns

Place = tuple[str, int]  # an operation by its name, and which of its results


Result = tuple[int, int]  # of a turn: an operation by its number in it, and which of its results


class Inner(NamedTuple):
    """Read from the same turn."""

    result: Result


class Carried(NamedTuple):
    """Read from the turn before; in the first turn from outside."""

    result: Result
    first: tf.Tensor


class Same(NamedTuple):
    """Read from one place outside in all turns."""

    tensor: tf.Tensor


class Scanned(NamedTuple):
    """Read from outside, from another place in each turn."""

    places: tuple[Place, ...]
    tensors: tuple[tf.Tensor, ...]


Source = Inner | Carried | Same | Scanned


@dataclasses.dataclass
class Repeat:
    """Turns that do the same: for each the operations that a loop may do, what these read, and what is left to be done outside."""

    turns: list[list[tf.Operation]]
    sources: dict[int, list[Source]]  # of those that the loop does, by their number in the turn
    before: list[tf.Operation]
    after: list[tf.Operation]

    def __post_init__(self) -> None:
        self.where = {self.turns[t][k].name: (t, k) for t in range(len(self.turns)) for k in self.sources}


@dataclasses.dataclass
class Plan:
    """Operations and repeats in an order in which they can be done; an operation that computes what another one does is left out."""

    steps: list[tf.Operation | Repeat]
    values: Values

    @property
    def weight(self) -> int:
        """How many operations are compiled, roughly."""
        return sum(len(one.sources) if isinstance(one, Repeat) else weight_of(one) for one in self.steps)


def planned(ops: Sequence[tf.Operation]) -> Plan | None:
    """The repeats among some operations, which are in an order in which they can be done. None if there are none."""
    if len(ops) > MOST_OPERATIONS:
        return None
    values = Values(ops)
    steps = list(_steps(values, [op for op in ops if values.first(op) is op]))
    return Plan(steps, values) if any(isinstance(one, Repeat) for one in steps) else None


def weight_of_turns(ops: Sequence[tf.Operation]) -> int:
    """How many operations need not be compiled if those that seem to be turns are a loop, roughly: only their kinds are compared."""
    saved, kinds = 0, _numbered([op.type for op in ops])
    pending = [kinds] if len(kinds) <= MOST_OPERATIONS else []
    while pending:
        part = pending.pop()
        for start, end, length in _stretches(part)[:1]:
            turns = (end - start) // length
            saved += length * (turns - 1)
            pending.extend((part[:start], part[start + length * turns:]))
    return saved


# ------------------------------------------------------------------------------------------------ what computes the same
class Values:
    """Which operations compute the same: their kinds, attributes and operands are equal. They must not change anything."""

    def __init__(self, ops: Sequence[tf.Operation]) -> None:
        self._firsts: dict[object, tf.Operation] = {}
        self._first_of: dict[str, tf.Operation] = {}
        for op in ops:
            self._add(op)

    def first(self, op: tf.Operation) -> tf.Operation:
        """The first of the operations that computes what `op` does; others than these, but for constants, stand for themselves."""
        if op.name not in self._first_of:
            self._first_of[op.name] = self._add(op) if op.type == "Const" else op
        return self._first_of[op.name]

    def original(self, tensor: tf.Tensor) -> tf.Tensor:
        """The tensor that is computed first of those equal to `tensor`."""
        return self.first(tensor.op).outputs[tensor.value_index]

    def place(self, tensor: tf.Tensor) -> Place:
        """Where a tensor is computed first."""
        return self.first(tensor.op).name, tensor.value_index

    def _add(self, op: tf.Operation) -> tf.Operation:
        found = op
        if op.type not in REGIONS and op.type != "Placeholder" and (op.type == "ReadVariableOp" or not is_stateful_op(op.type)):
            attributes = tuple((name, value.SerializeToString()) for name, value in sorted(op.node_def.attr.items()) if name[0] != "_")
            found = self._firsts.setdefault((op.type, attributes, *map(self.place, op.inputs)), op)
        self._first_of[op.name] = found
        return found


# ------------------------------------------------------------------------------------------------ where kinds repeat
def _steps(values: Values, ops: list[tf.Operation]) -> Iterator[tf.Operation | Repeat]:
    """The operations, with repeats for the turns among them."""
    kinds = _numbered([_kind(op) for op in ops])
    for start, end, length in _stretches(kinds)[:MOST_TRIED]:
        for first in range(start, start + length):
            turns = (end - first) // length
            found = _repeat(values, [ops[first + t * length:first + (t + 1) * length] for t in range(turns)])
            if found is not None:
                yield from _steps(values, ops[:first])
                yield from found.before
                yield found
                yield from found.after
                yield from _steps(values, ops[first + turns * length:])
                return
    yield from ops


def _kind(op: tf.Operation) -> object:
    """What has to be equal in all turns; regions are no part of any."""
    if op.type in REGIONS:
        return op.name
    return op.type, *((one.dtype, tuple(one.shape.as_list())) for one in (*op.inputs, *op.outputs) if one.shape.rank is not None)


def _numbered(kinds: Sequence[object]) -> np.ndarray:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds], np.int64)


def _stretches(kinds: np.ndarray) -> list[tuple[int, int, int]]:
    """For each length of a turn the longest stretch that repeats with it, as start, end and length; those that save most come first."""
    found = []
    for length in range(FEWEST_OPERATIONS, min(len(kinds) // FEWEST_TURNS, LONGEST_TURN) + 1):
        unequal = np.flatnonzero(kinds[length:] != kinds[:-length])
        borders = np.concatenate(([-1], unequal, [len(kinds) - length]))
        widest = int(np.argmax(np.diff(borders)))
        start, end = int(borders[widest]) + 1, int(borders[widest + 1]) + length
        turns = (end - start) // length
        if turns >= FEWEST_TURNS and length * (turns - 1) >= FEWEST_SAVED:
            found.append((start, end, length))
    return sorted(found, key=lambda one: (-(one[1] - one[0]) + 2 * one[2], one[2]))


# ------------------------------------------------------------------------------------------------ what turns read
def _repeat(values: Values, turns: list[list[tf.Operation]]) -> Repeat | None:
    """The turns as a repeat, None if they do not read from the same places, or too little is left for a loop."""
    if len(turns) < FEWEST_TURNS:
        return None
    where = {op.name: (t, k) for t, turn in enumerate(turns) for k, op in enumerate(turn)}
    sources: dict[int, list[Source]] = {}
    for k, column in enumerate(zip(*turns)):
        read = [_source(values, where, [op.inputs[i] for op in column]) for i in range(len(column[0].inputs))]
        if None in read:
            return None
        sources[k] = [one for one in read if one is not None]
    before, after = _outside(turns, sources)
    inside = {k: [_from_before(values, turns, before, one) for one in read] for k, read in sources.items() if k not in before | after}
    if len(inside) < FEWEST_OPERATIONS or len(inside) * (len(turns) - 1) < FEWEST_SAVED:
        return None
    first, last = ([op for turn in turns for k, op in enumerate(turn) if k in those] for those in (before, after))
    return Repeat(turns, inside, first, last)


def _source(values: Values, where: dict[str, tuple[int, int]], tensors: list[tf.Tensor]) -> Source | None:
    """Where an operand comes from that is one of these tensors in each turn."""
    places = [values.place(tensor) for tensor in tensors]
    found = [where.get(name) for name, _ in places]
    results = {result for _, result in places}
    if all(one is None for one in found):
        if len(set(places)) == 1:
            return Same(tensors[0])
        return None if tensors[0].dtype in OPAQUE else Scanned(tuple(places), tuple(tensors))
    numbers = {one[1] for one in found[1:] if one is not None}
    distances = {t - one[0] if one is not None else None for t, one in enumerate(found)}
    if len(numbers) != 1 or len(results if distances == {0} else {result for _, result in places[1:]}) != 1:
        return None
    if distances == {0}:
        return Inner((numbers.pop(), results.pop()))
    if found[0] is not None or distances != {1, None} or found.count(None) != 1 or tensors[0].dtype in OPAQUE:
        return None
    return Carried((numbers.pop(), places[1][1]), tensors[0])


def _outside(turns: list[list[tf.Operation]], sources: dict[int, list[Source]]) -> tuple[set[int], set[int]]:
    """Which operations of a turn must be done before the loop, and which after it, as an operand that XLA has to know varies."""
    varying = {k for k, read in sources.items() for i, one in enumerate(read)
               if isinstance(one, Scanned) and all(is_static(turn[k].inputs[i]) and turn[k].inputs[i].dtype.is_integer for turn in turns)}
    bound: set[int] = set()  # those that depend on a turn before
    grown = True
    while grown:
        more = {k for k, read in sources.items() if any(isinstance(one, Carried) or (isinstance(one, Inner) and one.result[0] in bound)
                                                        for one in read)}
        grown, bound = not more <= bound, bound | more
    before, after = varying - bound, varying & bound
    grown = True
    while grown:
        needed = {one.result[0] for k in before for one in sources[k] if isinstance(one, Inner)}
        reading = {k for k, read in sources.items() if any(isinstance(one, (Inner, Carried)) and one.result[0] in after for one in read)}
        grown = not (needed <= before and reading <= after)
        before, after = before | needed, after | reading
    return before, after


def _from_before(values: Values, turns: list[list[tf.Operation]], before: set[int], source: Source) -> Source:
    """What is done before the loop is read from outside, another tensor in each turn."""
    if not isinstance(source, (Inner, Carried)) or source.result[0] not in before:
        return source
    number, place = source.result
    tensors = [turn[number].outputs[place] for turn in turns]
    if isinstance(source, Carried):
        tensors = [source.first, *tensors[:-1]]
    return Scanned(tuple(map(values.place, tensors)), tuple(tensors))
