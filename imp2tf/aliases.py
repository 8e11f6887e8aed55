"""Tensors that on some way of the run are another, older one: what eager's gradient by them counts as well.

    with tf.GradientTape() as tape:
        a = 3 * x
        if c:
            x = 2 * x
        y = a + x
    tape.gradient(y, x)

If ``c`` is false, ``x`` is what it was, and eager's gradient counts ``a``, too. In the graph, ``x`` is a result of the If, which ``a`` does
not depend on. The same is so for what a branch or loop has made and used itself for something else that it leaves, and for elements of
lists of run-time length, which the graph reads anew each time.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, CALLS, LOOPS, Connections, Junction, Ways, Wiring, called_names, enclosing, turned
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.session import current
from imp2tf.tf_compat import FuncGraph, function_graph, is_wrapper

__all__ = ["refuse_other_names"]

MOST_NAMES = 200
Taken = dict[Junction, Ways]
Name = tuple[tf.Tensor, Taken]  # a tensor that carries what another one may be, and the ways of the run on which it does


def refuse_other_names(targets: Sequence[tf.Tensor], sources: Sequence[Any]) -> None:
    """Fall back if a gradient would miss what depends on a source by another name."""
    wiring = Wiring()
    for source in sources:
        if isinstance(source, tf.Tensor) and any(_depend(targets, source, name, wiring) for name in _names(source, wiring)):
            fall_back(NeedsValue, "a gradient is taken by a tensor that, on some way of the run, has another name")


def _depend(targets: Sequence[tf.Tensor], source: tf.Tensor, name: Name, wiring: Wiring) -> bool:
    """Whether one of the targets depends on a tensor on some way around the source."""
    masks = _Around({id(source), id(_unwrapped(source))})
    masks[id(name[0])] = 1
    connections = Connections(name[1], wiring=wiring)
    for graph in enclosing(targets):
        for outer, inner in graph.captures:
            masks[id(inner)] = masks.get(id(inner), 0) | masks.get(id(outer), 0)
        connections.spread(graph, masks)
    return any(masks.get(id(target)) for target in targets)


class _Around(dict[int, int]):
    """Masks of tensors that some tensors never get."""

    def __init__(self, closed: set[int]) -> None:
        super().__init__()
        self._closed = closed

    def __setitem__(self, key: int, mask: int) -> None:
        if key not in self._closed:
            super().__setitem__(key, mask)


def _unwrapped(tensor: tf.Tensor) -> tf.Tensor:
    return tensor.op.inputs[0] if tensor.op.type == "Identity" else tensor


def _resolved(tensor: tf.Tensor) -> tf.Tensor:
    """What a branch or turn leaves, without what has only packed it."""
    while tensor.op.type == "Identity" and tensor.op.inputs[0].op.type not in CALLS:
        tensor = tensor.op.inputs[0]
    return tensor


def _names(tensor: tf.Tensor, wiring: Wiring) -> list[Name]:
    """Tensors of the same graph that carry what a tensor may be, or depend on it inside of a branch or loop."""
    found: list[Name] = []
    for name in _other_names(tensor, wiring):
        found.append(name)
        if len(found) > MOST_NAMES:
            fall_back(NeedsValue, "a gradient is taken by a tensor that may be one of very many")
    return found


def _other_names(tensor: tf.Tensor, wiring: Wiring) -> Iterator[Name]:
    raw = _unwrapped(tensor)
    op = raw.op
    if op.type in BRANCHES:
        graphs = [function_graph(op.graph, name) for attribute in CALLS[op.type] for name in called_names(op, attribute)]
        for number, branch in enumerate(graphs):
            if branch is not None and len(graphs) == len(WAYS):
                yield from _left_by(raw, branch, list(op.inputs)[1:], {(id(op.graph), op.name): WAYS[number]}, wiring)
    elif op.type in LOOPS:
        body = function_graph(op.graph, called_names(op, "body")[0])
        if body is not None:
            yield from _left_by_loop(raw, body, wiring)
    elif op.type in CALLS:
        inner = function_graph(op.graph, called_names(op, "f")[0])
        if inner is not None and is_wrapper(inner):
            yield from _left_by(raw, inner, list(op.inputs), {}, wiring)
    elif op in current().selected:
        for one in list(op.inputs)[1:]:
            yield one, {}
            yield from _names(one, wiring)
    elif op.type in READS:  # it may be read once more
        yield op.inputs[0], {}
    elif op.type == "Placeholder":
        yield from _carried_alike(tensor, wiring)
    yield from _put_in_lists(tensor)


def _put_in_lists(tensor: tf.Tensor) -> Iterator[Name]:
    """Lists that a tensor was put in before a tape has watched it, which has not recorded that."""
    count = current().watched.get(id(tensor), 0)
    for op in tensor.graph.get_operations()[:count]:
        for made in op.outputs:
            if made.dtype == tf.variant and any(one is tensor for given in op.inputs for one in _stacked(given)):
                yield made, {}


def _stacked(tensor: tf.Tensor) -> list[tf.Tensor]:
    """The tensors that one is, or is stacked of."""
    tensor = _unwrapped(tensor)
    return [_unwrapped(one) for one in tensor.op.inputs] if tensor.op.type == "Pack" else [tensor]


READS = ("TensorListGetItem", "TensorListPopBack")
WAYS: tuple[Ways, ...] = (True, False), (False, True)


def _left_by(result: tf.Tensor, function: FuncGraph, inputs: Sequence[tf.Tensor], taken: Taken, wiring: Wiring) -> Iterator[Name]:
    """Names of what a branch has left as this result."""
    place, made = result.value_index, _resolved(function.outputs[result.value_index])
    places = {id(one): number for number, one in enumerate(function.inputs)}
    for one, ways in [(made, {}), *_names(made, wiring)]:
        known = {**taken, **ways}
        if id(one) in places:
            yield from _with_names(inputs, places[id(one)], known, wiring)
            continue
        reached = Connections(ways, wiring=wiring).reached(function, [one], function.outputs)
        yield from ((other, known) for other, mask in zip(result.op.outputs, reached) if mask and other.value_index != place)


def _with_names(inputs: Sequence[tf.Tensor], number: int, known: Taken, wiring: Wiring) -> Iterator[Name]:
    """An input and its own other names."""
    if number < len(inputs):
        yield inputs[number], known
        yield from ((one, {**known, **ways}) for one, ways in _names(inputs[number], wiring))


def _left_by_loop(result: tf.Tensor, body: FuncGraph, wiring: Wiring) -> Iterator[Name]:
    """Names of what a loop has left: what it began with, or what one of its turns has made."""
    op, place = result.op, result.value_index
    inputs, key = list(op.inputs), (id(op.graph), op.name)
    made = _resolved(body.outputs[place])
    if made is body.inputs[place]:
        yield from _with_names(inputs, place, {}, wiring)
        return
    yield from _with_names(inputs, place, {key: WAYS[1]}, wiring)
    places = {id(one): number for number, one in enumerate(body.inputs)}
    connections = Connections(wiring=wiring)
    for one, _ in [(made, {}), *_names(made, wiring)]:
        reached = connections.reached(body, [one], body.outputs)
        if id(one) in places:  # it may be older than the last turn
            number = places[id(one)]
            yield from _with_names(inputs, number, {key: WAYS[0]}, wiring)
            table = turned(connections.reached(body, body.inputs, body.outputs))
            reached = [mask >> number & 1 for mask in table]
        yield from ((other, {key: WAYS[0]}) for other, mask in zip(op.outputs, reached) if mask and other.value_index != place)


def _carried_alike(tensor: tf.Tensor, wiring: Wiring) -> Iterator[Name]:
    """What else in a turn, in a loop that is being traced, is what a variable of the loop begins with."""
    carried = current().carried.get(tensor.graph)
    number = next((number for number, one in enumerate(carried[1]) if one is tensor), None) if carried else None
    if carried is None or number is None:
        return
    init, variables = carried
    for first, _ in [(init[number], {}), *_names(init[number], wiring)]:
        yield from ((one, {}) for one, other in zip(variables, init, strict=True) if other is first and one is not tensor)
        yield from ((inner, {}) for outer, inner in tensor.graph.captures if outer is first)
