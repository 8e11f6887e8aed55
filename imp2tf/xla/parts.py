"""A graph in three parts: what must come before, a core that XLA computes, and what must come after, all effects among it.

What XLA must not compute stands before the core with all that it needs, or after it with all that needs it, whichever leaves the
larger core. The core has no effects, so that it may be computed in vain, and nothing in front of it has. So a run whose checks fail is
made again as if it had not been.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import tensorflow as tf

from imp2tf.tf_compat import FuncGraph, is_stateful_op
from imp2tf.xla.rules import LOOPS, OPAQUE, is_alike, weight_of

__all__ = ["Parts", "in_order", "is_pure", "parts_of", "read_by"]

READS = frozenset({"ReadVariableOp", "ResourceGather", "VariableShape"})
QUIET = READS | {"Assert", "If", "While"}  # these are stateful only by what is in them
LEAST_WEIGHT, LEAST_SHARE = 8, 0.3  # a smaller core, or a smaller part of the graph, is not worth compiling


@dataclasses.dataclass(frozen=True)
class Parts:
    """The operations of each part, in an order in which they may run; constants and inputs are in none."""

    before: list[tf.Operation]
    core: list[tf.Operation]
    after: list[tf.Operation]


def parts_of(graph: FuncGraph) -> Parts | None:
    """The parts of a graph, None if there is no core worth compiling."""
    return _Partition(graph).parts()


def is_pure(op: tf.Operation) -> bool:
    """Whether an operation's place among others does not matter, except that loops must not run with what an assertion would stop."""
    return op.type in READS or op.type == "Assert" or not is_stateful_op(op.type)


def read_by(op: tf.Operation) -> list[tf.Tensor]:
    """What an operation is computed from: of an assertion, the condition."""
    return list(op.inputs)[:1] if op.type == "Assert" else list(op.inputs)


class _Partition:
    """Operations by number; sets of them are the bits of an int."""

    def __init__(self, graph: FuncGraph) -> None:
        self.ops = in_order(graph)
        self.number = {op.name: i for i, op in enumerate(self.ops)}
        self.needed = [self._needed(op) for op in self.ops]  # by each, directly
        self.alike = [_may_compile(op) for op in self.ops]
        self.weight = [weight_of(op) for op in self.ops]
        self.ancestors = _closure(self.needed)
        self.descendants = _closure_backward(self.needed)
        self.before = self.after = 0

    def _needed(self, op: tf.Operation) -> int:
        """What must come before an operation. Nothing that only computes needs to wait for an assertion or effect."""
        waits = op.type in LOOPS or not (_may_compile(op) and not is_stateful_op(op.type))
        wanted = [one.op for one in read_by(op)] + (list(op.control_inputs) if waits else [])
        return _bits(self.number[one.name] for one in wanted if one.name in self.number)

    def parts(self) -> Parts | None:
        """Decide for each operation that XLA must not compute, then see what is left."""
        for i, op in enumerate(self.ops):
            if not self.alike[i]:
                self._put(i, has_effects=not is_pure(op))
        self._keep_opaque_values_together()
        everything = (1 << len(self.ops)) - 1
        core = everything & ~self.before & ~self.after
        if self._weigh(core) < max(LEAST_WEIGHT, LEAST_SHARE * self._weigh(everything)):
            return None
        return Parts(*([self.ops[i] for i in _numbers(those)] for those in (self.before, core, self.after)))

    def _put(self, i: int, has_effects: bool) -> None:
        if (self.before | self.after) >> i & 1:
            return
        cannot_be_first = has_effects or self.ancestors[i] & self.after
        core = ~(self.before | self.after)
        if not cannot_be_first and self._weigh(self.ancestors[i] & core) <= self._weigh(self.descendants[i] & core):
            self.before |= self.ancestors[i] | 1 << i
        else:
            self.after |= self.descendants[i] | 1 << i

    def _keep_opaque_values_together(self) -> None:
        """TensorLists do not cross the border of what is compiled."""
        settled = False
        while not settled:
            settled = True
            for i, op in enumerate(self.ops):
                for j in (self.number.get(one.op.name) for one in op.inputs if one.dtype in OPAQUE):
                    if j is not None and self._part(i) != self._part(j):
                        settled = False
                        self.after |= self.descendants[j] | 1 << j
                        self.before &= ~self.after

    def _part(self, i: int) -> str:
        return "before" if self.before >> i & 1 else "after" if self.after >> i & 1 else "core"

    def _weigh(self, those: int) -> int:
        return sum(self.weight[i] for i in _numbers(those & (1 << len(self.ops)) - 1))


def _may_compile(op: tf.Operation) -> bool:
    return (is_pure(op) or op.type in QUIET) and is_alike(op)


def in_order(graph: FuncGraph) -> list[tf.Operation]:
    """The operations of a graph but constants and inputs, each after what it waits for; edges that were added later may point backward."""
    ops = [op for op in graph.get_operations() if op.type not in ("Placeholder", "Const")]
    known, order = {op.name: op for op in ops}, []
    done: set[str] = set()
    pending = [(op, False) for op in reversed(ops)]
    while pending:
        op, ready = pending.pop()
        if op.name in done:
            continue
        if ready:
            done.add(op.name)
            order.append(op)
            continue
        pending.append((op, True))
        wanted = [*(one.op for one in read_by(op)), *op.control_inputs]
        pending.extend((one, False) for one in reversed(wanted) if one.name in known and one.name not in done)
    return order


def _closure(needed: list[int]) -> list[int]:
    """All that comes before each, given what comes directly before."""
    found: list[int] = []
    for those in needed:
        everything = those
        for j in _numbers(those):
            everything |= found[j]
        found.append(everything)
    return found


def _closure_backward(needed: list[int]) -> list[int]:
    """All that comes after each."""
    found = [0] * len(needed)
    for i in range(len(needed) - 1, -1, -1):
        for j in _numbers(needed[i]):
            found[j] |= found[i] | 1 << i
    return found


def _bits(numbers: Iterable[int]) -> int:
    found = 0
    for i in numbers:
        found |= 1 << i
    return found


def _numbers(bits: int) -> Iterable[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
