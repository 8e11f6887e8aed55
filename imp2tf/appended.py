"""Which tensors of the program are elements of a list of run-time length, followed through the branches and loops of a finished graph."""
from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from imp2tf.connectivity import BRANCHES, CALLS, LOOPS, called_names
from imp2tf.tf_compat import FuncGraph, function_graph

__all__ = ["Elements", "elements_of"]


@dataclasses.dataclass
class Elements:
    """What is known: the first elements (after those of the list that was appended to), the last ones, and what each one between is."""

    first: list[tf.Tensor] = dataclasses.field(default_factory=list)
    between: tf.Tensor | None = None
    last: list[tf.Tensor] = dataclasses.field(default_factory=list)


class _Unknown(Exception):
    """Something else was done to a list than to append to it, or to what was appended."""


def elements_of(handle: tf.Tensor, base: tf.Tensor | None = None) -> Elements | None:
    """The elements of a list of the outermost graph that began empty; or those that were appended to `base`, None if more was done."""
    found = Elements()
    found.last, handle = _pushes_before(handle, base)
    if _is_root(handle, base):
        return found
    try:
        appended, entry = _through_block(handle)
    except _Unknown:
        return found if base is None else None
    if entry is not None:
        first, root = _pushes_before(entry, base)
        listed = [] if _is_root(root, base) else _listed(root) if base is None else None
        if listed is None:
            return found if base is None else None
        found.first = [*listed, *first]
    elif base is not None:
        return None
    found.between = next(iter(appended.values())) if len(appended) == 1 else None
    return found


def _pushes_before(handle: tf.Tensor, base: tf.Tensor | None) -> tuple[list[tf.Tensor], tf.Tensor]:
    """What was appended last, in order, and the list to which that was done."""
    found: list[tf.Tensor] = []
    while not _is(handle, base) and handle.op.type in ("Identity", "TensorListPushBack"):
        if handle.op.type == "TensorListPushBack":
            found.append(_itself(handle.op.inputs[1]))
        handle = handle.op.inputs[0]
    return found[::-1], handle


def _is_root(handle: tf.Tensor, base: tf.Tensor | None) -> bool:
    return handle.op.type == "EmptyTensorList" if base is None else _is(handle, base)


def _is(handle: tf.Tensor, other: tf.Tensor | None) -> bool:
    """Whether two objects stand for one tensor of a graph."""
    return other is not None and handle.name == other.name and handle.graph is other.graph


def _listed(handle: tf.Tensor) -> list[tf.Tensor] | None:
    """The elements of a list that was made of one tensor of all."""
    op = handle.op
    if op.type != "TensorListFromTensor" or op.inputs[0].op.type != "Pack" or op.inputs[0].op.get_attr("axis") != 0:
        return None
    return [_itself(one) for one in op.inputs[0].op.inputs]


def _itself(tensor: tf.Tensor) -> tf.Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


# ------------------------------------------------------------------------------------------------ branches and loops
@dataclasses.dataclass(frozen=True)
class _Inside:
    """A branch, or the turn of a loop: its graph, the operation that runs it, what it is given, and where that operation is."""

    graph: FuncGraph
    op: tf.Operation
    given: Sequence[tf.Tensor]
    around: _Inside | None

    def place(self, tensor: tf.Tensor) -> int | None:
        """Which of its inputs a tensor is, if it is one."""
        return next((place for place, one in enumerate(self.graph.inputs) if one is tensor), None)


def _through_block(handle: tf.Tensor) -> tuple[dict[int, tf.Tensor], tf.Tensor | None]:
    """What a branch or loop has appended to a list, by id, and the list as it was before; None if it began empty inside."""
    if handle.op.type not in LOOPS | BRANCHES:
        raise _Unknown
    for entry in (*(one for one in handle.op.inputs if one.dtype == tf.variant), None):
        try:
            return _Following(entry).appended(handle, None), entry
        except _Unknown:
            continue
    raise _Unknown


class _Following:
    """Follows a list back to what it was before a branch or loop, or to an empty list."""

    def __init__(self, entry: tf.Tensor | None, looks_up: bool = True) -> None:
        self.entry, self.looks_up = entry, looks_up
        self.seen: set[tuple[int, str]] = set()    # lists that were followed, or are being followed: all that is found is united

    def appended(self, handle: tf.Tensor, at: _Inside | None) -> dict[int, tf.Tensor]:
        """The tensors of the outermost graph that were appended, by id."""
        found: dict[int, tf.Tensor] = {}
        if (id(handle.graph), handle.name) in self.seen:
            return found
        self.seen.add((id(handle.graph), handle.name))
        while True:
            op = handle.op
            if (at is None and _is(handle, self.entry)) or (self.entry is None and op.type == "EmptyTensorList"):
                return found
            if op.type == "TensorListPushBack":
                found |= _values(*_outermost(op.inputs[1], at), self.looks_up)
            elif op.type != "Identity":
                break
            handle = op.inputs[0]
        return found | (self._given(handle, at) if op.type == "Placeholder" else self._of_block(handle, at))

    def _given(self, handle: tf.Tensor, at: _Inside | None) -> dict[int, tf.Tensor]:
        if at is None:
            raise _Unknown
        place = at.place(handle)
        if place is None:
            raise _Unknown
        return self._of_loop(at.op, place, at.around) if at.op.type in LOOPS else self.appended(at.given[place], at.around)

    def _of_block(self, handle: tf.Tensor, at: _Inside | None) -> dict[int, tf.Tensor]:
        """What a branch or loop has appended to a list that it leaves."""
        op, place = handle.op, handle.value_index
        if op.type in LOOPS:
            return self._of_loop(op, place, at)
        if op.type not in BRANCHES:
            raise _Unknown
        found: dict[int, tf.Tensor] = {}
        for graph in _graphs_of(op):
            found |= self.appended(graph.outputs[place], _Inside(graph, op, op.inputs[1:], at))
        return found

    def _of_loop(self, op: tf.Operation, place: int, at: _Inside | None) -> dict[int, tf.Tensor]:
        body, = _graphs_of(op)
        return self.appended(op.inputs[place], at) | self.appended(body.outputs[place], _Inside(body, op, op.inputs, at))


def _graphs_of(op: tf.Operation) -> list[FuncGraph]:
    graphs = [function_graph(op.graph, name) for attribute in CALLS[op.type] for name in called_names(op, attribute)]
    known = [one for one in graphs if one is not None]
    if len(known) < len(graphs):
        raise _Unknown
    return known


def _values(tensor: tf.Tensor, at: _Inside | None, looks_up: bool) -> dict[int, tf.Tensor]:
    """What an appended tensor may be: itself, perhaps of a graph inside and so none of the program's; or any element of another list."""
    if looks_up and tensor.op.type == "TensorListGetItem":
        with contextlib.suppress(_Unknown):
            return _Following(None, looks_up=False).appended(tensor.op.inputs[0], at)
    return {id(tensor): tensor}


def _outermost(tensor: tf.Tensor, at: _Inside | None) -> tuple[tf.Tensor, _Inside | None]:
    """The tensor that one inside of branches and loops is, as far out as it comes from, and where that is."""
    while at is not None:
        tensor = _itself(tensor)
        place = at.place(tensor)
        if place is None or (at.op.type in LOOPS and _itself(at.graph.outputs[place]) is not tensor):
            break    # it is computed here, or turns change it
        tensor, at = at.given[place], at.around
    return _itself(tensor), at
