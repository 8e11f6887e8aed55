"""The one door to TensorFlow's private symbols.

Nothing else in the package imports ``tensorflow.python``. `self_test` exercises each symbol on a tiny program, so
that a TensorFlow version that moved one is named by a failing test rather than by a strange error.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context as _context
from tensorflow.python.eager import record as _record
from tensorflow.python.framework import op_def_registry as _op_def_registry
from tensorflow.python.framework import ops as _ops
from tensorflow.python.framework import random_seed as _random_seed
from tensorflow.python.framework.auto_control_deps import AutomaticControlDependencies
from tensorflow.python.ops import cond_v2 as _cond_v2
from tensorflow.python.ops import control_flow_util_v2 as _util
from tensorflow.python.ops import handle_data_util as _handle_data
from tensorflow.python.ops import resource_variable_ops as _variables
from tensorflow.python.ops import tensor_array_ops as _arrays
from tensorflow.python.ops import while_v2 as _while_v2

__all__ = [
    "DEFAULT_GRAPH_SEED",
    "IMPURE_TENSORFLOW",
    "AutomaticControlDependencies",
    "EagerTensor",
    "FuncGraph",
    "add_control_input",
    "array_with_flow",
    "belongs_to_strategy",
    "branch_graph",
    "build_cond",
    "build_while",
    "builds_inside",
    "call_concrete",
    "capture_at_call_time",
    "captures_of",
    "dtype_of_list",
    "function_bodies",
    "function_graph",
    "gated",
    "global_seed",
    "has_gradient",
    "in_eager_mode",
    "in_replica",
    "is_stateful_op",
    "is_symbolic_tensor",
    "redirect",
    "replica_of_call",
    "self_test",
    "stop_watching",
    "tape_may_record",
    "variable_accessed",
    "watch_operations",
]

# Modules of TensorFlow and Keras whose functions do what no operation stands for: files, settings, training loops.
IMPURE_TENSORFLOW = (
    "tensorflow.python.saved_model", "tensorflow.python.checkpoint", "tensorflow.python.lib.io", "tensorflow.python.framework.config",
    "tensorflow.python.profiler", "tensorflow.python.training.saver", "tensorflow.python.platform", "keras.src.saving",
    "keras.src.backend.common.global_state", "keras.src.utils", "keras.src.backend.config",
)

EagerTensor: type = _ops.EagerTensor
DEFAULT_GRAPH_SEED: int = _random_seed.DEFAULT_GRAPH_SEED
FuncGraph = Any


def is_symbolic_tensor(value: object) -> bool:
    """Whether `value` is a tensor of a graph under construction."""
    return isinstance(value, tf.Tensor) and not isinstance(value, EagerTensor)


def in_eager_mode() -> bool:
    """Whether operations run at once on this thread (no graph is being built)."""
    return bool(_context.executing_eagerly())


def branch_graph(name: str, outer: FuncGraph) -> FuncGraph:
    """An empty graph for one branch of a conditional, whose captures come from `outer`."""
    return _util.CondBranchFuncGraph(_util.unique_fn_name("imp2tf_", name), collections=outer._collections)


def build_cond(pred: tf.Tensor, then_graph: FuncGraph, else_graph: FuncGraph) -> list[tf.Tensor]:
    """The functional If over two traced branch graphs with equal outputs."""
    with tf.name_scope("if_") as scope:
        outputs = _cond_v2._build_cond(
            _cond_v2._normalize_pred(pred), then_graph, else_graph, then_graph.external_captures, else_graph.external_captures,
            building_gradient=False, name=scope)
    if isinstance(outputs, _ops.Operation) or outputs is None:
        return []
    return tf.nest.flatten(outputs)


def build_while(body: Callable[..., Any], init: Sequence[tf.Tensor], shapes: Sequence[tf.TensorShape]) -> list[tf.Tensor]:
    """The functional While; the first carried value is the flag that the loop goes on."""
    return _while_v2.while_loop(
        lambda go, *rest: go, body, list(init), shape_invariants=list(shapes), return_same_structure=True, name="while_")


def capture_at_call_time(graph: FuncGraph, fetch: Callable[[], Any], spec: tf.TypeSpec) -> Any:
    """An input of the graph whose value is `fetch()` at each call; equal `fetch` objects share one."""
    return graph.capture_call_time_value(fetch, spec, key=fetch)


def builds_inside(graph: FuncGraph) -> bool:
    """Whether the graph that this thread builds is `graph`, or one inside it."""
    inner = None if in_eager_mode() else tf.compat.v1.get_default_graph()
    while inner is not None and inner is not graph:
        inner = getattr(inner, "outer_graph", None)
    return inner is not None


def is_stateful_op(name: str) -> bool:
    """Whether an operation type is registered as stateful; unknown types count as such."""
    definition = _op_def_registry.get(name)
    return definition is None or bool(definition.is_stateful)


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


def replica_of_call() -> tuple[Any, Any]:
    """The strategy in scope and the number of the replica that calls; None for what there is not."""
    strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
    context = tf.distribute.get_replica_context() if strategy is not None else None
    return strategy, None if context is None else _number(getattr(context, "_replica_id_in_sync_group", context.replica_id_in_sync_group))


def in_replica() -> bool:
    """Whether this is code of one replica of a strategy."""
    return tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()


def _number(replica: Any) -> Any:
    """A replica's number, be it a tensor."""
    known = tf.get_static_value(replica) if isinstance(replica, tf.Tensor) else replica
    return int(known) if known is not None else None


def belongs_to_strategy(variable: tf.Variable) -> bool:
    """Whether a variable is, or is one replica's copy of, a variable of a strategy."""
    owners = (variable, getattr(variable, "handle", None))
    return isinstance(variable, tf.distribute.DistributedValues) or any(hasattr(one, "_distributed_container") for one in owners)


def global_seed() -> int | None:
    """What `tf.random.set_seed` was last given."""
    return _context.global_seed()


def captures_of(concrete: Any) -> list[Any]:
    """What a concrete function captures, in the order of its inputs: tensors, then the objects that fetch one."""
    graph = concrete.graph
    at_call_time = graph._function_captures.by_ref_external.items()  # TensorFlow's own have keys that mean nothing
    return [*graph.external_captures, *(key if callable(key) else fetch for key, fetch in at_call_time)]


def call_concrete(concrete: Any, captured: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Run a concrete function without arguments on its captured tensors; flat outputs. Gradients are recorded."""
    outputs = concrete._call_flat([], list(captured))
    if outputs is None or isinstance(outputs, _ops.Operation):
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def tape_may_record() -> bool:
    """Whether a gradient tape or forward accumulator is recording on this thread."""
    return bool(_record.could_possibly_record())


def variable_accessed(variable: tf.Variable) -> None:
    """Let tapes watch a variable, as reading it does."""
    _variables.variable_accessed(variable)


def gated(tensor: tf.Tensor, is_open: Callable[[], bool]) -> tf.Tensor:
    """An alias of an eager tensor; its gradient is None unless `is_open()` by the time it is asked for."""
    with _record.stop_recording():
        alias = tf.identity(tensor)
    _record.record_operation("Identity", [alias], [tensor], lambda gradient: [gradient if is_open() else None])
    return alias


def watched_result(tensor: tf.Tensor, told: Callable[[], None]) -> tf.Tensor:
    """An alias of an eager tensor; `told()` is called when a gradient comes to it."""

    def passed(gradient: tf.Tensor) -> list[tf.Tensor]:
        told()
        return [gradient]

    with _record.stop_recording():
        alias = tf.identity(tensor)
    _record.record_operation("Identity", [alias], [tensor], passed)
    return alias


def array_with_flow(array: tf.TensorArray, flow: tf.Tensor) -> tf.TensorArray:
    """A `TensorArray` of a graph as it is after what `flow` holds was written."""
    return _arrays.build_ta_with_new_flow(array, flow)


def dtype_of_list(tensor: tf.Tensor) -> tf.DType | None:
    """The dtype of the elements if a tensor of a graph is known to be a TensorList."""
    if tensor.dtype != tf.variant or not is_symbolic_tensor(tensor):
        return None
    data = _handle_data.get_resource_handle_data(tensor)
    return tf.as_dtype(data.shape_and_type[0].dtype) if data.is_set and data.shape_and_type[0].dtype else None


def has_gradient(kind: str) -> bool:
    """Whether gradients flow through operations of a kind; one that nobody registered raises when it is asked for."""
    try:
        return _ops.gradient_registry.lookup(kind) is not None
    except LookupError:
        return True


def function_graph(graph: FuncGraph, name: str) -> FuncGraph | None:
    """The traced graph of a function that operations of `graph` call, None if it was not traced in this process."""
    function = graph._get_function(name)
    return getattr(function, "graph", None)


def self_test() -> list[str]:
    """Use every private symbol once; returns the names of those that do not behave as needed."""
    broken = []
    for name, probe in PROBES:
        try:
            works = probe()
        except (AttributeError, TypeError, ValueError, tf.errors.OpError):
            works = False
        if not works:
            broken.append(name)
    return broken


def _probe_cond() -> bool:
    def both(x: tf.Tensor) -> list[tf.Tensor]:
        outer = tf.compat.v1.get_default_graph()
        graphs = []
        for name, factor in (("t", 2.0), ("f", 3.0)):
            graph = branch_graph(name, outer)
            with graph.as_default(), AutomaticControlDependencies() as deps:
                out = deps.mark_as_return(graph.capture(x) * factor)
                graph.structured_outputs = [out]
                graph.outputs.append(out)
            graphs.append(graph)
        return build_cond(x > 0.0, *graphs)

    run = tf.function(both, autograph=False)
    return float(run(tf.constant(1.0))[0]) == 2.0 and float(run(tf.constant(-1.0))[0]) == -3.0


def _probe_while() -> bool:
    def halve(x: tf.Tensor) -> tf.Tensor:
        return build_while(lambda go, y: [y > 2.0, y / 2.0], [x > 1.0, x], [tf.TensorShape([]), x.shape])[1]

    return float(tf.function(halve, autograph=False)(tf.constant(8.0))) == 1.0


def _probe_capture() -> bool:
    box = [tf.constant(1.0)]

    def read() -> tf.Tensor:
        graph = tf.compat.v1.get_default_graph()
        return tf.identity(capture_at_call_time(graph, lambda: box[0], tf.TensorSpec([], tf.float32)))

    concrete = tf.function(read, autograph=False).get_concrete_function()
    (fetch,) = captures_of(concrete)
    first = float(call_concrete(concrete, [fetch()])[0])
    box[0] = tf.constant(5.0)
    return first == 1.0 and float(call_concrete(concrete, [fetch()])[0]) == 5.0


def _probe_tape() -> bool:
    x, variable = tf.constant(1.0), tf.Variable(1.0)
    with tf.GradientTape(persistent=True) as tape:
        recording = tape_may_record()
        variable_accessed(variable)
        tape.watch(x)
        passed, held = (gated(x, lambda way=way: way) * 2.0 for way in (True, False))  # type: ignore[misc]
    watched = tape.watched_variables() == (variable,)
    return recording and watched and float(tape.gradient(passed, x)) == 2.0 and tape.gradient(held, x) is None


def _probe_list() -> bool:
    def run() -> tf.Tensor:
        items = tf.raw_ops.TensorListReserve(element_shape=-1, num_elements=1, element_dtype=tf.int32)
        found.append(dtype_of_list(items))
        return tf.raw_ops.TensorListLength(input_handle=items)

    found: list[tf.DType | None] = []
    tf.function(run, autograph=False)()
    return found == [tf.int32]


def _probe_functions() -> bool:
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(x > 0.0, lambda: x * 2.0, lambda: x)

    graph = tf.function(run, autograph=False).get_concrete_function(tf.TensorSpec([])).graph
    branch = next(op for op in graph.get_operations() if op.type == "StatelessIf").get_attr("then_branch")
    found = function_graph(graph, branch.name)
    return found is not None and len(found.outputs) == 1 and has_gradient("Mul") and not has_gradient("StopGradient")


def _probe_redirect() -> bool:
    def other_input(x: tf.Tensor) -> tf.Tensor:
        made: list[tf.Operation] = []
        watch_operations(tf.compat.v1.get_default_graph(), frozenset({"Square"}), made.append)
        out = tf.raw_ops.Square(x=x)
        redirect(x, tf.constant(3.0), made)
        return out

    return float(tf.function(other_input, autograph=False)(tf.constant(2.0))) == 9.0


def _probe_replica() -> bool:
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        crossing = replica_of_call()
    inside = strategy.run(replica_of_call)
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        mirrored = tf.Variable(0.0)
    plain = tf.Variable(0.0)
    return (replica_of_call(), crossing, inside) == ((None, None), (strategy, None), (strategy, 0)) and (
        belongs_to_strategy(mirrored) and not belongs_to_strategy(plain))


def _probe_seed() -> bool:
    return global_seed() is None or isinstance(global_seed(), int)


def _probe_array() -> bool:
    def both() -> tf.Tensor:
        empty = tf.TensorArray(tf.int32, 1, element_shape=[])
        return array_with_flow(empty, empty.write(0, 7).flow).stack()

    return tf.function(both, autograph=False)().numpy().tolist() == [7]


PROBES = (
    ("cond", _probe_cond), ("while", _probe_while), ("capture", _probe_capture), ("tape", _probe_tape),
    ("functions", _probe_functions), ("list", _probe_list), ("redirect", _probe_redirect), ("seed", _probe_seed),
    ("replica", _probe_replica), ("array", _probe_array),
)
