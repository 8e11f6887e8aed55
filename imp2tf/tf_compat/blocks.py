"""The functional If and While, and the functions that operations call."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat.optimizer import keep_sums
from imp2tf.tf_compat.private import FuncGraph
from imp2tf.tf_compat.private import cond_v2 as _cond_v2
from imp2tf.tf_compat.private import ops as _ops
from imp2tf.tf_compat.private import record as _record
from imp2tf.tf_compat.private import util as _util
from imp2tf.tf_compat.private import while_v2 as _while_v2


def branch_graph(name: str, outer: FuncGraph) -> FuncGraph:
    """An empty graph for one branch of a conditional, whose captures come from `outer`."""
    return _util.CondBranchFuncGraph(_util.unique_fn_name("imp2tf_", name), collections=outer._collections)


WRAPPER = "cflow_gradient_wrapper"


@contextlib.contextmanager
def _wrapped_as_needed(is_asked_once: bool) -> Iterator[None]:
    """Around what makes an If or While in the default graph.

    If a tape that is recording may be asked for gradients of gradients, which any persistent one may, TensorFlow wraps it in a function of
    which it makes gradients of all orders, but not inside of such a function, which it tells by the name of the graph.
    """
    graph: Any = tf.compat.v1.get_default_graph()
    if not is_asked_once or not hasattr(graph, "outer_graph"):
        yield
        return
    name, graph.name = graph.name, f"{graph.name}_{WRAPPER}"
    try:
        yield
    finally:
        graph.name = name


def build_cond(pred: tf.Tensor, then_graph: FuncGraph, else_graph: FuncGraph, is_asked_once: bool = False) -> list[tf.Tensor]:
    """The functional If over two traced branch graphs with equal outputs; with `is_asked_once`, for gradients of the first order only."""
    keep_sums(then_graph)
    keep_sums(else_graph)
    scalar = pred if pred.shape.rank == 0 else tf.squeeze(pred)  # as `tf.cond` takes it
    recording = _record.stop_recording() if is_asked_once else contextlib.nullcontext()
    with recording, _wrapped_as_needed(is_asked_once), tf.name_scope("if_") as scope:
        outputs = _cond_v2._build_cond(
            scalar, then_graph, else_graph, then_graph.external_captures, else_graph.external_captures, building_gradient=False, name=scope)
    if isinstance(outputs, _ops.Operation) or outputs is None:
        return []
    found = tf.nest.flatten(outputs)
    if is_asked_once and found:
        _record_branch(found)
    return found


def _record_branch(outputs: Sequence[tf.Tensor]) -> None:
    """Record an If as TensorFlow does, but so that a tape may be asked again, when its gradient has given it more outputs."""
    op = outputs[0].op.inputs[0].op
    places = [one.op.inputs[0].value_index for one in outputs]

    def backward(*gradients: Any) -> Any:
        given = dict(zip(places, gradients))
        all_given = [tf.zeros_like(one) if given.get(place) is None else given[place] for place, one in enumerate(op.outputs)]
        return _ops.gradient_registry.lookup(op.type)(op, *all_given)

    _record.record_operation(op.type, list(outputs), list(op.inputs), backward)


def build_while(
    body: Callable[..., Any], init: Sequence[tf.Tensor], shapes: Sequence[tf.TensorShape], most: int | None = None,
    is_asked_once: bool = False,
) -> list[tf.Tensor]:
    """The functional While; the first carried value is the flag that the loop goes on. `is_asked_once` as for `build_cond`."""

    def turn(*carried: tf.Tensor) -> Any:
        left = body(*carried)
        keep_sums(tf.compat.v1.get_default_graph())
        return left

    with _wrapped_as_needed(is_asked_once):
        return _while_v2.while_loop(
            lambda go, *rest: go, turn, list(init), shape_invariants=list(shapes), return_same_structure=True, maximum_iterations=most,
            name="while_")


def turn_count(loop: tf.Operation) -> tf.Tensor:
    """How many turns a While has had that `build_while` has built: TensorFlow counts them in the first of its variables."""
    return loop.outputs[0]


def is_wrapper(graph: FuncGraph) -> bool:
    """Whether TensorFlow has made a function of an If or While, for gradients of gradients."""
    return WRAPPER in graph.name


def function_bodies(op: tf.Operation) -> list[Any]:
    """The definitions of all functions that an operation calls, directly or not."""
    found: dict[str, Any] = {}
    pending = _called_functions(op.node_def) if any(one.type in ("func", "list(func)") for one in op.op_def.attr) else []
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = op.graph._get_function(name).cached_definition
            pending.extend(inner for node in found[name].node_def for inner in _called_functions(node))
    return list(found.values())


def _called_functions(node: Any) -> list[str]:
    values = node.attr.values()
    return [one.name for value in values for one in (value.func, *value.list.func) if one.name]


def function_graph(graph: FuncGraph, name: str) -> FuncGraph | None:
    """The traced graph of a function that operations of `graph` call, None if it was not traced in this process."""
    function = graph._get_function(name)
    while function is None and hasattr(graph, "outer_graph"):  # a graph that wraps an If or While may not know its functions
        graph = graph.outer_graph
        function = graph._get_function(name)
    return getattr(function, "graph", None)


CALLED = {
    "If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch"), "Case": ("branches",),
    "StatelessCase": ("branches",), "While": ("cond", "body"), "StatelessWhile": ("cond", "body"), "PartitionedCall": ("f",),
    "StatefulPartitionedCall": ("f",),
}


def functions_of(op: tf.Operation) -> list[str]:
    """The names of the functions that a branch, loop or call may run."""
    values = [op.get_attr(name) for name in CALLED.get(op.type, ())]
    return [one.name for value in values for one in (value if isinstance(value, list) else [value])]
