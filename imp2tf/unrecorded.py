"""Gradients that another tape is to differentiate, through branches and loops that it has not recorded.

    with tf.GradientTape() as first:
        first.watch(x)
        while y < 9.0:
            y = y * x
    with tf.GradientTape() as second:
        second.watch(x)
        g = first.gradient(y, x)
    second.gradient(g, x)

In eager the gradient reads ``x`` itself, which the second tape watches. In the graph it reads what the loop has kept for it, and of that
the second tape knows nothing. The same is so if a tape has watched too late, or has stopped recording in between; and if a persistent tape
is asked while it records.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, CALLS, LOOPS, Connections, Wiring, enclosing, is_differentiable
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.recording_tapes import recording_tapes
from imp2tf.tf_compat import FuncGraph, watching

__all__ = ["refuse_unrecorded"]

BLOCKS = BRANCHES | LOOPS  # where they are not wrapped, a tape that was alone has recorded them (`imp2tf.recording_tapes`)


def refuse_unrecorded(asked: tf.GradientTape, targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> None:
    """Fall back if a tape that records now has not recorded all that a gradient goes through, or not so that gradients have gradients."""
    recording = recording_tapes()
    passed = _passed(targets, sources) if recording else []
    for tape in recording if passed else ():
        with contextlib.ExitStack() as stack:
            for other in recording:
                if other is not tape:
                    stack.enter_context(other.stop_recording())
            if any(_is_missed(op) or (tape is asked and op.type in BLOCKS) for op in passed):
                fall_back(NeedsValue, "a gradient is taken under a tape that has not recorded a branch or loop that it goes through")


def _passed(targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> list[tf.Operation]:
    """The branches and loops between sources and targets."""
    wiring = Wiring()
    graphs = enclosing(targets)
    handles = [getattr(source, "handle", source) for source in sources]
    masks = _spread(graphs, {id(one): 1 for one in handles}, wiring)
    blocks = [op for graph in graphs for op in graph.get_operations() if op.type in CALLS]
    return [op for op in blocks if any(masks.get(id(one)) for one in op.outputs) and _leads_to(targets, graphs, op, wiring)]


def _leads_to(targets: Sequence[tf.Tensor], graphs: Sequence[FuncGraph], op: tf.Operation, wiring: Wiring) -> bool:
    masks = _spread(graphs, {id(one): 1 for one in op.outputs if is_differentiable(one)}, wiring)
    return any(masks.get(id(one)) for one in targets)


def _spread(graphs: Sequence[FuncGraph], masks: dict[int, int], wiring: Wiring) -> dict[int, int]:
    connections = Connections(wiring=wiring)
    for graph in graphs:
        for outer, inner in graph.captures:
            masks[id(inner)] = masks.get(id(inner), 0) | masks.get(id(outer), 0)
        connections.spread(graph, masks)
    return masks


def _is_missed(op: tf.Operation) -> bool:
    """Whether the one tape that records watches what an operation has used, and not what came of it."""
    if watching([one for one in op.outputs if is_differentiable(one)]):
        return False
    used = list(_used(op.inputs, set()))
    return None in used or bool(watching([one for one in used if one is not None]))


def _used(tensors: Sequence[tf.Tensor], seen: set[int]) -> Iterator[tf.Tensor | None]:
    """Tensors, and in the place of lists what is in them: None if that is not to be seen."""
    for tensor in tensors:
        if tensor.dtype != tf.variant:
            yield tensor
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            yield from _used(tensor.op.inputs, seen) if tensor.op.type != "Placeholder" else [None]
