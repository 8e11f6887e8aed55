"""Graphs under construction: their captures, the operations that are added, and what their tensors are known to hold."""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat.eager import in_eager_mode
from imp2tf.tf_compat.private import FuncGraph, is_symbolic_tensor
from imp2tf.tf_compat.private import arrays as _arrays
from imp2tf.tf_compat.private import handle_data as _handle_data


class CallTimeValue:
    """What gives an input of a graph at each call; the graph knows it by this object."""

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch: Callable[[], Any] = lambda: fetch
        self._hash = hash(fetch)

    def __call__(self) -> Any:
        return self.fetch()()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallTimeValue) and self.fetch() is other.fetch()

    def __hash__(self) -> int:
        return self._hash

    def weaken(self) -> None:
        """Let the graph not keep `fetch`."""
        self.fetch = weakref.ref(self.fetch())


def capture_at_call_time(graph: FuncGraph, fetch: Callable[[], Any], spec: tf.TypeSpec) -> Any:
    """An input of the graph whose value is `fetch()` at each call; each `fetch` object has one."""
    value = CallTimeValue(fetch)
    return graph.capture_call_time_value(value, spec, key=value)


def builds_inside(graph: FuncGraph) -> bool:
    """Whether the graph that this thread builds is `graph`, or one inside it."""
    inner = None if in_eager_mode() else tf.compat.v1.get_default_graph()
    while inner is not None and inner is not graph:
        inner = getattr(inner, "outer_graph", None)
    return inner is not None


def add_control_input(op: tf.Operation, before: tf.Operation) -> None:
    """Make `op` wait for `before`."""
    op._add_control_input(before)


def watch_operations(graph: FuncGraph, types: frozenset[str], action: Callable[[tf.Operation], None]) -> None:
    """Call `action` with each operation of these types right after it is made in `graph`."""
    create = graph._create_op_internal

    def creating(op_type: str, *args: Any, **kwargs: Any) -> tf.Operation:
        op = create(op_type, *args, **kwargs)
        if op_type in types:
            action(op)
        return op

    graph._create_op_internal = creating


def stop_watching(graph: FuncGraph) -> None:
    """End `watch_operations`."""
    with contextlib.suppress(AttributeError):  # it was not watched
        del graph._create_op_internal


def redirect(old: tf.Tensor, new: tf.Tensor, readers: Sequence[tf.Operation]) -> None:
    """Make operations of a graph that read `old` read `new`."""
    for op in readers:
        for place, tensor in enumerate(op.inputs):
            if tensor is old:
                op._update_input(place, new)


def captures_of(concrete: Any) -> list[Any]:
    """What a concrete function captures, in the order of its inputs: tensors, then the objects that fetch one.

    From then on the caller keeps these objects, not the graph. TensorFlow keeps a graph with a custom gradient for ever, as the gradient
    is registered by name, and each step of a Keras optimizer has one.
    """
    at_call_time = []
    for key, fetch in concrete.graph._function_captures.by_ref_external.items():
        is_ours = isinstance(key, CallTimeValue)  # TensorFlow's own have keys that mean nothing
        at_call_time.append(key.fetch() if is_ours else fetch)
        if is_ours:
            key.weaken()
    return [*concrete.graph.external_captures, *at_call_time]


def array_with_flow(array: tf.TensorArray, flow: tf.Tensor) -> tf.TensorArray:
    """A `TensorArray` of a graph as it is after what `flow` holds was written."""
    return _arrays.build_ta_with_new_flow(array, flow)


def dtype_of_list(tensor: tf.Tensor) -> tf.DType | None:
    """The dtype of the elements if a tensor of a graph is known to be a TensorList."""
    if tensor.dtype != tf.variant or not is_symbolic_tensor(tensor):
        return None
    data = _handle_data.get_resource_handle_data(tensor)
    return tf.as_dtype(data.shape_and_type[0].dtype) if data.is_set and data.shape_and_type[0].dtype else None


def copy_handle_data(source: tf.Tensor, target: tf.Tensor) -> None:
    """Let a resource or variant of a graph be known to hold what another one does."""
    _handle_data.copy_handle_data(source, target)
