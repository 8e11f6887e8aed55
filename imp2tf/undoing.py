"""What a run that failed has done to variables, and how it is undone: then Python can make the call from its beginning.

An operation that may fail waits for the changes that stand before it in the program, and later changes wait for it (`imp2tf.ordering`).
So a finished graph tells which variables may have changed when something fails: the *exposed* ones. Their values are kept from before
the run while it goes on; of those that are changed in place, TensorFlow then makes a copy. What an optimizer changes at the end of a
step, when all is done that may fail, is not exposed and costs nothing.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from imp2tf.effects import MAY_SURPRISE
from imp2tf.inspection import CHANGES_VARIABLES, effects_of
from imp2tf.ordering import REGIONS, changes_state, may_fail_in_program
from imp2tf.profile import Done, History
from imp2tf.python_numbers import is_check_of_number
from imp2tf.runs import COUNTS_PRINTS
from imp2tf.tf_compat import FuncGraph, direct_call, function_graph, functions_of, is_stateful_op, tape_may_record

__all__ = ["Before", "Remains", "Undo", "changes_only_variables", "may_fail", "undo_of"]

FEWEST_AT_ONCE = 3  # variables
AFTER_CHOICE = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})  # their first input is no input of the branches


class Undo:
    """The variables that may have changed when an operation of a graph fails, the counter of ``tf.print`` among them."""

    def __init__(self, exposed: Mapping[int, tf.DType], captures: Sequence[Any], counter: int | None) -> None:
        self._exposed = exposed
        self._counter = None if counter is None else list(exposed).index(counter)
        self._handles = [captures[place] for place in exposed]

    @property
    def is_needed(self) -> bool:
        """Whether any variable may have changed."""
        return bool(self._exposed)

    def before(self, captured: Sequence[Any]) -> Before:
        """The variables before a run; whoever changes one in place while their values are kept works on a copy."""
        handles = [captured[place] for place in self._exposed]
        read_here = len(handles) < FEWEST_AT_ONCE or tape_may_record()
        return Before(handles, self._values(*handles) if read_here else self._at_once(handles), self._counter)

    def _values(self, *handles: Any) -> list[tf.Tensor]:
        return [tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype) for handle, dtype in zip(handles, self._exposed.values())]

    @functools.cached_property
    def _at_once(self) -> Callable[[list[Any]], list[tf.Tensor]]:
        """Reads all variables by one call of the runtime."""
        concrete = tf.function(lambda: self._values(*self._handles), autograph=False).get_concrete_function()
        return direct_call(concrete, lambda: True, may_switch=False)


@dataclasses.dataclass
class Before:
    """Variables and the values that they had before a run."""

    handles: list[Any]
    values: list[tf.Tensor]
    counter: int | None

    def put_back(self) -> int:
        """Give the variables these values again; how many times ``tf.print`` has printed since, which cannot be undone."""
        printed = 0
        for place, (handle, value) in enumerate(zip(self.handles, self.values, strict=True)):
            if place == self.counter:
                printed = int(tf.raw_ops.ReadVariableOp(resource=handle, dtype=value.dtype) - value)
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)
        return printed


class Remains(NamedTuple):
    """What a run has left behind that ended early.

    Attributes:
      is_final: whether it may have done what can neither be undone nor left out.
      history: the calls of Python that it has made, and what they returned.
      before: the variables before the run, if any may have changed.
    """

    is_final: bool
    history: History
    before: Before | None

    def undone(self) -> Done:
        """Let the variables be as they were before the run; what Python must not do again."""
        return Done(self.history, 0 if self.before is None else self.before.put_back())


def undo_of(concrete: Any, captures: Sequence[Any], counter: tf.Variable | None) -> Undo | None:
    """What has to be undone when an operation of a graph fails; None if something that may have changed by then is no variable.

    Args:
      concrete: the concrete function of the graph.
      captures: what it captures.
      counter: counts what ``tf.print`` prints in the graph.
    """
    variables = {id(one.handle): one.dtype for one in (*concrete.graph.variables, counter) if one is not None}
    exposed: dict[int, tf.DType] = {}
    for place in _Changes(concrete.graph).exposed:
        dtype = variables.get(id(captures[place])) if place is not None else None
        if place is None or dtype is None:
            return None
        exposed[place] = dtype
    return Undo(exposed, captures, next((place for place in exposed if counter is not None and captures[place] is counter.handle), None))


def changes_only_variables(concrete: Any) -> bool:
    """Whether all effects of a graph are changes of variables, calls of Python, and ``tf.print`` where it is counted."""
    effects = effects_of(concrete)
    counts = sum(node.op == "AssignAddVariableOp" and COUNTS_PRINTS in node.name for node in effects)
    others = [node.op for node in effects if not node.op.startswith(CHANGES_VARIABLES)]
    return len(others) == counts and all(kind == "PrintV2" for kind in others)


class _Changes:
    """Which inputs of a graph, by their places, it changes, and which before something may fail. None is a resource that is no input."""

    def __init__(self, graph: FuncGraph) -> None:
        self.changed: set[int | None] = set()
        self.exposed: set[int | None] = set()
        places = {id(tensor): place for place, tensor in enumerate(graph.inputs)}
        for op in graph.get_operations():
            if not self.changed <= self.exposed and _may_stop(op):
                self.exposed |= self.changed
            kind = op.type
            if kind in REGIONS:
                self._add_region(op, places)
            elif is_stateful_op(kind) and changes_state(op):
                self.changed.update(places.get(id(tensor)) for tensor in op.inputs if tensor.dtype == tf.resource)

    def _add_region(self, op: tf.Operation, places: Mapping[int, int]) -> None:
        given = op.inputs[1:] if op.type in AFTER_CHOICE else op.inputs
        for graph in _graphs_in(op):
            inner = _Changes(graph) if graph is not None else UNKNOWN
            exposed = inner.changed if op.type == "While" and _may_stop(op) else inner.exposed  # by the next turn
            for ours, theirs in ((self.changed, inner.changed), (self.exposed, exposed)):
                ours.update(None if place is None else places.get(id(given[place])) for place in theirs)


class _Unknown(NamedTuple):
    """Changes of a graph that was not traced here."""

    changed: set[int | None]
    exposed: set[int | None]


UNKNOWN = _Unknown({None}, {None})


def _graphs_in(op: tf.Operation) -> Iterator[FuncGraph | None]:
    return (function_graph(op.graph, name) for name in functions_of(op))


def _may_stop(op: tf.Operation) -> bool:
    """Whether a run may end early at an operation: one of the program may fail, or Python may return something else than was foretold."""
    return _is_or_holds(op, lambda one: _fails(one) or one.name.rpartition("/")[2].startswith(MAY_SURPRISE))


def may_fail(op: tf.Operation) -> bool:
    """Whether an operation of the program may fail, or it is one of its assertions, or a region with one."""
    return _is_or_holds(op, _fails)


def _fails(op: tf.Operation) -> bool:
    return may_fail_in_program(op) or (op.type == "Assert" and not is_check_of_number(op))


def _is_or_holds(op: tf.Operation, test: Callable[[tf.Operation], bool]) -> bool:
    if test(op):
        return True
    inner = _graphs_in(op) if op.type in REGIONS else ()
    return any(graph is None or any(_is_or_holds(one, test) for one in graph.get_operations()) for graph in inner)
