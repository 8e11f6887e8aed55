"""How operations of a graph are made: their registered definitions, and the two functions of TensorFlow that all of them pass."""
from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat.private import FuncGraph
from imp2tf.tf_compat.private import control_deps as _control_deps
from imp2tf.tf_compat.private import func_graph as _func_graph
from imp2tf.tf_compat.private import graphs as _graphs
from imp2tf.tf_compat.private import op_def_library as _op_def_library
from imp2tf.tf_compat.private import op_def_registry as _op_def_registry
from imp2tf.tf_compat.private import ops as _ops
from imp2tf.tf_compat.private import stack as _stack
from imp2tf.tf_compat.private import util as _util


def op_definition(kind: str) -> Any:
    """What is registered of a kind of operation; None for other kinds."""
    return _op_def_registry.get(kind)


_making = threading.Lock()
_makers: list[Any] = []  # of the threads that trace
_usual_maker: Any = getattr(_op_def_library, "_apply_op_helper", None)
_usual_constant: Any = getattr(_ops, "_create_graph_constant", None)
_usual_resources: Any = getattr(_control_deps, "_get_resource_inputs", None)
_usual_building: Any = getattr(_func_graph, "func_graph_from_py_func", None)
BLOCK_GRAPHS = tuple(
    getattr(_util, name) for name in ("CondBranchFuncGraph", "WhileCondFuncGraph", "WhileBodyFuncGraph") if hasattr(_util, name))


@contextlib.contextmanager
def operations_made_by(make: Callable[..., Any], make_constant: Callable[..., Any], prepare: Callable[[Any], Any]) -> Iterator[None]:
    """While this runs, TensorFlow's functions make operations of graphs by ``make(usual, kind, name, **what they were given)``.

    And constants by ``make_constant(usual, value, dtype, shape, name, verify_shape, allow_broadcast)``. The graphs of branches and loops
    that they build, those of gradients too, are passed to `prepare` first.
    """
    if _usual_maker is None or _usual_constant is None or _usual_resources is None or _usual_building is None:
        yield
        return

    def building(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("func_graph"), BLOCK_GRAPHS):
            prepare(kwargs["func_graph"])
        return _usual_building(*args, **kwargs)

    with _making:
        _makers.append(make)
        _op_def_library._apply_op_helper = functools.partial(make, _usual_maker)
        _ops._create_graph_constant = functools.partial(make_constant, _usual_constant)
        _control_deps._get_resource_inputs = _resources_of
        _func_graph.func_graph_from_py_func = building
    try:
        yield
    finally:
        with _making:
            _makers.remove(make)
            if not _makers:
                _op_def_library._apply_op_helper, _ops._create_graph_constant = _usual_maker, _usual_constant
                _control_deps._get_resource_inputs, _func_graph.func_graph_from_py_func = _usual_resources, _usual_building


def _resources_of(op: tf.Operation) -> Any:
    """The resources that an operation touches; most can touch none, which is told by the dtypes of their inputs."""
    if any(one.dtype.base_dtype in (tf.resource, tf.variant) for one in op.inputs):
        return _usual_resources(op)
    return ()


def attribute_value(kind: str, attribute: Any, value: Any) -> Any:
    """An attribute of an operation, encoded and checked."""
    found: dict[str, Any] = {}
    _op_def_library._ExtractAttrProto(kind, types.SimpleNamespace(attr=[attribute]), {attribute.name: value}, found)
    return found[attribute.name]


def devices_of(graph: FuncGraph) -> tuple[str, ...] | None:
    """The devices that a graph's next operation is for, by name; None if functions choose them."""
    devices = tuple(one._device_name_or_function for one in graph._device_function_stack.peek_objs())
    return None if any(map(callable, devices)) else tuple(map(str, devices))


def read_stack() -> Any:
    """The stack as operations keep it, for error messages."""
    return _stack.extract_stack(stacklevel=5)  # without the four frames of ours that make an operation


def new_operation(
    graph: FuncGraph, kind: str, name: str, inputs: Sequence[Any], control: Sequence[tf.Operation], attributes: Mapping[str, Any],
    stack: Any,
) -> tf.Operation | None:
    """A new operation of a graph as the runtime makes it, from tensors and lists of tensors; None where it refuses."""
    with graph._c_graph.get() as c_graph:
        new = _graphs.TF_NewOperation(c_graph, kind, name)
    for one in inputs:
        if isinstance(one, list):
            _graphs.TF_AddInputList(new, [tensor._as_tf_output() for tensor in one])
        else:
            _graphs.TF_AddInput(new, one._as_tf_output())
    for one in control:
        _graphs.TF_AddControlInput(new, one._c_op)
    for key, value in attributes.items():
        _graphs.TF_SetAttrValueProto(new, key, value.SerializeToString())
    try:
        made = _graphs.TF_FinishOperation(new)
    except tf.errors.OpError:
        return None
    _graphs.TF_SetOpStackTrace(made, stack)
    op = _ops.Operation(made, _ops.SymbolicTensor)
    op._init(graph)
    op._original_op = graph._default_original_op
    return op


def copied_operation(op: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Operation:
    """The same operation on other inputs, in the graph that is being built."""
    graph: Any = tf.compat.v1.get_default_graph()
    attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith("_")}
    return graph._create_op_internal(op.type, list(inputs), [one.dtype for one in op.outputs], attrs=attributes, op_def=op.op_def)


def is_stateful_op(name: str) -> bool:
    """Whether an operation type is registered as stateful; unknown types count as such."""
    definition = _op_def_registry.get(name)
    return definition is None or bool(definition.is_stateful)


def has_gradient(kind: str) -> bool:
    """Whether gradients flow through operations of a kind; one that nobody registered raises when it is asked for."""
    try:
        return _ops.gradient_registry.lookup(kind) is not None
    except LookupError:
        return True
