"""The one door to TensorFlow's private symbols.

Nothing else in the package imports ``tensorflow.python``. `tf_probes` exercises each symbol on a tiny program, so
that a TensorFlow version that moved one is named by a failing test rather than by a strange error.
"""
from __future__ import annotations

import contextlib
import functools
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe as _runtime
from tensorflow.python.client import pywrap_tf_session as _graphs
from tensorflow.python.data.ops import iterator_ops as _iterators
from tensorflow.python.eager import cancellation as _cancellation
from tensorflow.python.eager import context as _context
from tensorflow.python.eager import core as _core
from tensorflow.python.eager import record as _record
from tensorflow.python.eager.polymorphic_function import atomic_function as _atomic_function
from tensorflow.python.eager.polymorphic_function import concrete_function as _concrete_function
from tensorflow.python.framework import auto_control_deps as _control_deps
from tensorflow.python.framework import config as _config
from tensorflow.python.framework import op_callbacks as _op_callbacks
from tensorflow.python.framework import op_def_library as _op_def_library
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
from tensorflow.python.util import tf_stack as _stack

from imp2tf.trials import APART, COMPILED, QUICK, Compiler, Form, Trial

__all__ = [
    "DEFAULT_GRAPH_SEED",
    "IMPURE_TENSORFLOW",
    "PRIVATE_CALLS",
    "AutomaticControlDependencies",
    "DirectCall",
    "EagerTensor",
    "FuncGraph",
    "TapeFunctions",
    "add_control_input",
    "array_with_flow",
    "attribute_value",
    "belongs_to_strategy",
    "branch_graph",
    "build_cond",
    "build_while",
    "builds_inside",
    "call_concrete",
    "capture_at_call_time",
    "captures_of",
    "compiled_copy",
    "copied_variable",
    "copy_handle_data",
    "devices_of",
    "direct_call",
    "dtype_of_list",
    "dtype_test",
    "eager_array",
    "eager_context",
    "eager_scalar",
    "fetching",
    "from_dlpack",
    "function_bodies",
    "function_graph",
    "gated",
    "global_seed",
    "has_gradient",
    "in_eager_mode",
    "in_replica",
    "is_deterministic",
    "is_stateful_op",
    "is_symbolic_tensor",
    "made_on_host",
    "new_operation",
    "op_definition",
    "operations_are_watched",
    "operations_made_by",
    "read_stack",
    "record",
    "redirect",
    "replica_of_call",
    "seed_generator",
    "set_seed_generator",
    "shape_text",
    "stop_watching",
    "tape_functions",
    "tape_may_record",
    "variable_accessed",
    "variables_accessed",
    "watch_operations",
    "watching",
]

# Modules of TensorFlow and Keras whose functions do what no operation stands for: files, settings, training loops.
IMPURE_TENSORFLOW = (
    "tensorflow.python.saved_model", "tensorflow.python.checkpoint", "tensorflow.python.lib.io", "tensorflow.python.framework.config",
    "tensorflow.python.profiler", "tensorflow.python.training.saver", "tensorflow.python.platform", "keras.src.saving",
    "keras.src.backend.common.global_state", "keras.src.utils", "keras.src.backend.config",
)

MOST_MISSES = 3  # calls that the twin of a graph may not be able to serve
OTHER: Form = ()  # of a call that says nothing about the form on trial
PRIVATE_CALLS = True  # False: graphs are called as TensorFlow documents it

REFUSALS = (tf.errors.OpError, _core._NotOkStatusException)
EagerTensor: type = _ops.EagerTensor
DEFAULT_GRAPH_SEED: int = _random_seed.DEFAULT_GRAPH_SEED
FuncGraph = Any


def shape_text(tensor: str) -> str:
    """Python text for the shape, as a tuple, of an eager tensor: less work than a `tf.TensorShape`."""
    return f"{tensor}._shape_tuple()"


def dtype_test(tensor: str, dtype: tf.DType) -> str:
    """Python text for the question whether an eager tensor is of a dtype."""
    return f"{tensor}._datatype_enum() == {dtype.as_datatype_enum}"


def eager_scalar(value: float, dtype: tf.DType) -> tf.Tensor:
    """``tf.constant`` of a Python number in eager mode, without its checks.

    Given the number itself, TensorFlow would remember it for ever, and take -0.0 for 0.0 then.
    """
    return EagerTensor(np.array(value, dtype.as_numpy_dtype), _context.context().device_name, dtype.as_datatype_enum)


def eager_array(value: np.ndarray) -> tf.Tensor:
    """An eager tensor of what an array, or scalar, of NumPy holds by now."""
    return EagerTensor(np.array(value), _context.context().device_name, tf.as_dtype(value.dtype).as_datatype_enum)


def made_on_host() -> bool:
    """Whether a tensor that is made of an array on this thread is in plain memory, so that `from_dlpack` may make it."""
    context = _context.context()
    return not context._thread_local_data.device_name and PRIVATE_CALLS and _has_cpus_only(context)


@functools.lru_cache(maxsize=8)
def _has_cpus_only(context: Any) -> bool:
    return all(device.device_type == "CPU" for device in tf.config.list_logical_devices())


def from_dlpack(capsule: Any) -> tf.Tensor:
    """`tf.experimental.dlpack.from_dlpack` once TensorFlow is set up."""
    return _runtime.TFE_FromDlpackCapsule(capsule, _context.context()._handle)


def is_symbolic_tensor(value: object) -> bool:
    """Whether `value` is a tensor of a graph under construction."""
    return isinstance(value, tf.Tensor) and not isinstance(value, EagerTensor)


def eager_context() -> object:
    """What graphs belong to; another one after TensorFlow was set up anew."""
    return _context.context()


def in_eager_mode() -> bool:
    """Whether operations run at once on this thread (no graph is being built)."""
    return bool(_context.executing_eagerly())


def fetching(iterator: Any) -> Callable[[Any], Any]:
    """What gives the next element of a dataset's iterator, without an executor made for each call where elements are plain tensors.

    It takes the iterator and holds nothing of it: one that outlives its loop keeps threads, and a process may wait for these as it ends.
    """
    names = ("_iterator_resource", "_flat_output_types", "_flat_output_shapes")
    if not PRIVATE_CALLS or type(iterator) is not _iterators.OwnedIterator or not all(hasattr(iterator, name) for name in names):
        return _next_of
    spec = iterator.element_spec
    leaves = tf.nest.flatten(spec)
    if not all(type(leaf) is tf.TensorSpec for leaf in leaves):
        return _next_of
    types, shapes = iterator._flat_output_types, iterator._flat_output_shapes
    is_flat = type(spec) is tuple and all(type(one) is tf.TensorSpec for one in spec)

    def fetch(iterator: Any) -> Any:
        if not _context.executing_eagerly() or not tf.config.experimental.get_synchronous_execution():
            return iterator.get_next()
        flat = tf.raw_ops.IteratorGetNext(iterator=iterator._iterator_resource, output_types=types, output_shapes=shapes)
        return tuple(flat) if is_flat else tf.nest.pack_sequence_as(spec, flat)

    return fetch


def _next_of(iterator: Any) -> Any:
    return iterator.get_next()


def branch_graph(name: str, outer: FuncGraph) -> FuncGraph:
    """An empty graph for one branch of a conditional, whose captures come from `outer`."""
    return _util.CondBranchFuncGraph(_util.unique_fn_name("imp2tf_", name), collections=outer._collections)


def build_cond(pred: tf.Tensor, then_graph: FuncGraph, else_graph: FuncGraph) -> list[tf.Tensor]:
    """The functional If over two traced branch graphs with equal outputs."""
    _keep_sums(then_graph)
    _keep_sums(else_graph)
    with tf.name_scope("if_") as scope:
        outputs = _cond_v2._build_cond(
            _cond_v2._normalize_pred(pred), then_graph, else_graph, then_graph.external_captures, else_graph.external_captures,
            building_gradient=False, name=scope)
    if isinstance(outputs, _ops.Operation) or outputs is None:
        return []
    return tf.nest.flatten(outputs)


def build_while(
    body: Callable[..., Any], init: Sequence[tf.Tensor], shapes: Sequence[tf.TensorShape], most: int | None = None,
) -> list[tf.Tensor]:
    """The functional While; the first carried value is the flag that the loop goes on."""

    def turn(*carried: tf.Tensor) -> Any:
        left = body(*carried)
        _keep_sums(tf.compat.v1.get_default_graph())
        return left

    return _while_v2.while_loop(
        lambda go, *rest: go, turn, list(init), shape_invariants=list(shapes), return_same_structure=True, maximum_iterations=most,
        name="while_")


def turn_count(loop: tf.Operation) -> tf.Tensor:
    """How many turns a While has had that `build_while` has built: TensorFlow counts them in the first of its variables."""
    return loop.outputs[0]


class _CallTimeValue:
    """What gives an input of a graph at each call; the graph knows it by this object."""

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch: Callable[[], Any] = lambda: fetch
        self._hash = hash(fetch)

    def __call__(self) -> Any:
        return self.fetch()()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CallTimeValue) and self.fetch() is other.fetch()

    def __hash__(self) -> int:
        return self._hash

    def weaken(self) -> None:
        """Let the graph not keep `fetch`."""
        self.fetch = weakref.ref(self.fetch())


def capture_at_call_time(graph: FuncGraph, fetch: Callable[[], Any], spec: tf.TypeSpec) -> Any:
    """An input of the graph whose value is `fetch()` at each call; each `fetch` object has one."""
    value = _CallTimeValue(fetch)
    return graph.capture_call_time_value(value, spec, key=value)


def builds_inside(graph: FuncGraph) -> bool:
    """Whether the graph that this thread builds is `graph`, or one inside it."""
    inner = None if in_eager_mode() else tf.compat.v1.get_default_graph()
    while inner is not None and inner is not graph:
        inner = getattr(inner, "outer_graph", None)
    return inner is not None


def op_definition(kind: str) -> Any:
    """What is registered of a kind of operation; None for other kinds."""
    return _op_def_registry.get(kind)


_making = threading.Lock()
_makers: list[Any] = []  # of the threads that trace
_usual_maker: Any = getattr(_op_def_library, "_apply_op_helper", None)
_usual_constant: Any = getattr(_ops, "_create_graph_constant", None)
_usual_resources: Any = getattr(_control_deps, "_get_resource_inputs", None)


@contextlib.contextmanager
def operations_made_by(make: Callable[..., Any], make_constant: Callable[..., Any]) -> Iterator[None]:
    """While this runs, TensorFlow's functions make operations of graphs by ``make(usual, kind, name, **what they were given)``.

    And constants by ``make_constant(usual, value, dtype, shape, name, verify_shape, allow_broadcast)``.
    """
    if _usual_maker is None or _usual_constant is None or _usual_resources is None:
        yield
        return
    with _making:
        _makers.append(make)
        _op_def_library._apply_op_helper = functools.partial(make, _usual_maker)
        _ops._create_graph_constant = functools.partial(make_constant, _usual_constant)
        _control_deps._get_resource_inputs = _resources_of
    try:
        yield
    finally:
        with _making:
            _makers.remove(make)
            if not _makers:
                _op_def_library._apply_op_helper, _ops._create_graph_constant = _usual_maker, _usual_constant
                _control_deps._get_resource_inputs = _usual_resources


def _resources_of(op: tf.Operation) -> Any:
    """The resources that an operation touches; most can touch none, which is told by the dtypes of their inputs."""
    if any(one.dtype.base_dtype in (tf.resource, tf.variant) for one in op.inputs):
        return _usual_resources(op)
    return ()


def operations_are_watched() -> bool:
    """Whether a debugger is told of each operation."""
    return bool(_op_callbacks.should_invoke_op_callbacks())


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


def seed_generator() -> Any:
    """What gives a seed to each random operation that has none of its own."""
    return getattr(_context.context(), "_rng", None)


def set_seed_generator(generator: Any) -> None:
    """Replace `seed_generator()`; setting a global seed puts another one there."""
    _context.context()._rng = generator


def captures_of(concrete: Any) -> list[Any]:
    """What a concrete function captures, in the order of its inputs: tensors, then the objects that fetch one.

    From then on the caller keeps these objects, not the graph. TensorFlow keeps a graph with a custom gradient for ever, as the gradient
    is registered by name, and each step of a Keras optimizer has one.
    """
    at_call_time = []
    for key, fetch in concrete.graph._function_captures.by_ref_external.items():
        is_ours = isinstance(key, _CallTimeValue)  # TensorFlow's own have keys that mean nothing
        at_call_time.append(key.fetch() if is_ours else fetch)
        if is_ours:
            key.weaken()
    return [*concrete.graph.external_captures, *at_call_time]


def call_concrete(concrete: Any, captured: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Run a concrete function without arguments on its captured tensors; flat outputs. Gradients are recorded.

    Without `PRIVATE_CALLS`, TensorFlow fetches by itself what is captured.
    """
    with _careful(concrete.graph):
        outputs = concrete._call_flat([], list(captured)) if PRIVATE_CALLS else tf.nest.flatten(concrete())
    if outputs is None or isinstance(outputs, _ops.Operation):
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


class DirectCall:
    """A function of a graph, called by the runtime on flat tensors; no tape sees it.

    What a call may need beyond that (cancellation, callbacks, data of handles, a new context) is left to TensorFlow's own call.
    `may_inline` says whether the graph has no effects and nothing in it waits, so that it may run on the calling thread;
    `may_switch`, whether it has no state of its own, so that it may be optimised later; `compiler` may make a twin that XLA compiles.
    """

    def __init__(self, function: Any, may_inline: Callable[[], bool], may_switch: bool, compiler: Compiler | None = None) -> None:
        outputs = function.function_type.flat_outputs
        self.name = function.name.decode()
        self._function, self._count = function, len(outputs)
        self._special = any(output.dtype._handle_data for output in outputs)
        self._context: Any = None
        self._form: tuple[str, tuple[Any, ...]] = self.name, ()  # what is run, and its attributes: replaced at once, for other threads
        self._plain = self._form  # what serves any call
        self._trial = Trial(may_inline, may_switch, compiler)
        self._compiler = compiler
        self._misses = 0

    def __call__(self, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        """Flat outputs. No tape may be watching the inputs."""
        context = _context.context()
        local = context._thread_local_data
        special = self._special or context is not self._context or local.op_callbacks or _cancellation.context() is not None
        if special and self._needs_tensorflow(context):
            return self._by_tensorflow(inputs)
        if not self._trial.ended:
            return self._tried(inputs, context._handle, local.device_name)
        op, attrs = self._form
        if op is not self.name and self._is_for_others(op, inputs):
            op, attrs = self._plain
        try:
            return _runtime.TFE_Py_Execute(context._handle, local.device_name, op, inputs, attrs, self._count)
        except REFUSALS as refusal:
            error = refusal
        return self._failed(op, error, inputs)

    @property
    def tier(self) -> str:
        """How it runs."""
        op = self._form[0]
        if self._is_twin(op):
            return "xla"
        return "inline" if op != self.name else "graph"

    def _is_twin(self, op: str) -> bool:
        return self._compiler is not None and self._compiler.function is not None and op == self._compiler.function.name.decode()

    def _is_for_others(self, op: str, inputs: list[tf.Tensor]) -> bool:
        """Whether the twin was compiled for other shapes."""
        compiler = self._compiler
        return compiler is not None and bool(compiler.places) and self._is_twin(op) and compiler.shapes_of(inputs) != compiler.shapes

    def _tried(self, inputs: list[tf.Tensor], handle: Any, device: str) -> list[tf.Tensor]:
        """A call that shows how long a form takes."""
        trial = self._trial
        form, (op, attrs) = trial.form, self._form
        if self._compiler is not None and self._compiler.places and self._compiler.is_busy and self._is_other(inputs):
            form, (op, attrs) = OTHER, self._plain
        started = time.perf_counter()
        try:
            outputs = _runtime.TFE_Py_Execute(handle, device, op, inputs, attrs, self._count)
        except REFUSALS as refusal:
            error = refusal
        else:
            trial.took(form, time.perf_counter() - started)
            if trial.form != form and form is not OTHER:
                self._choose(trial)
            if self._compiler is not None and not self._compiler.ended:
                self._consult(self._compiler, trial, inputs)
            return outputs
        return self._failed(op, error, inputs)

    def _is_other(self, inputs: list[tf.Tensor]) -> bool:
        return self._compiler is not None and self._compiler.shapes_of(inputs) != self._compiler.shapes

    def _consult(self, compiler: Compiler, trial: Trial, inputs: list[tf.Tensor]) -> None:
        """Let the compiler see a call, and begin if it is asked to."""
        if not compiler.is_busy:
            compiler.saw(inputs)
            if trial.asks:
                compiler.start(inputs)

    def _choose(self, trial: Trial) -> None:
        """Run what the trial says from now on."""
        self._plain = self._attributes(self._context, trial.best)
        self._form = self._plain if trial.form == trial.best else self._attributes(self._context, trial.form)

    def _attributes(self, context: Any, form: Form) -> tuple[str, tuple[Any, ...]]:
        config = context.function_call_options.config_proto_serialized
        config = _without_optimizer(config) if form[0] == QUICK else _optimised_once(config, _has_blocks(self._function.graph))
        if form == COMPILED and self._compiler is not None:
            return self._compiler.function.name.decode(), ("executor_type", "", "config_proto", config)
        if form[1] == APART:
            return self.name, ("executor_type", "", "config_proto", config)
        signature = self._function.cached_definition.signature
        kind = "StatefulPartitionedCall" if self._function.call_options.is_stateful else "PartitionedCall"
        inputs, outputs = ([one.type for one in args] for args in (signature.input_arg, signature.output_arg))
        return kind, ("Tin", inputs, "Tout", outputs, "f", _Named(self.name), "config_proto", config)

    def _needs_tensorflow(self, context: Any) -> bool:
        """Whether TensorFlow is to make the call itself; not if the runtime was only not asked for this function yet."""
        if self._context is None:
            context.ensure_initialized()
            self._form = self._plain = self._attributes(context, self._trial.form)
            self._context = context
        special = self._special or bool(context._thread_local_data.op_callbacks) or _cancellation.context() is not None
        return special or context is not self._context

    def _by_tensorflow(self, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        with _careful(self._function.graph):
            return list(self._function.call_flat(*inputs) or [])

    def _failed(self, op: str, error: Exception, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        """The error with the user's lines; for an inlined graph, which has no effects, the run that is made again knows them."""
        error = _core._status_to_exception(error) if isinstance(error, _core._NotOkStatusException) else error
        if self._is_twin(op) and self._compiler is not None and self._compiler.missed in str(error):
            return self._missed(inputs)
        if op != self.name and not self._is_twin(op):
            return self._by_tensorflow(inputs)
        with _atomic_function.InterpolateRuntimeError(self._function):
            raise error

    def _missed(self, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        """A call that XLA would compute otherwise, made without it; nothing has been done yet. A twin that misses often is left."""
        self._misses += 1
        if self._misses >= MOST_MISSES:
            self._form, self._trial.form, self._trial.ended = self._plain, self._trial.best, True
        context = _context.context()
        op, attrs = self._plain
        try:
            return _runtime.TFE_Py_Execute(context._handle, context._thread_local_data.device_name, op, inputs, attrs, self._count)
        except REFUSALS as refusal:
            error = refusal
        return self._failed(op, error, inputs)


@functools.lru_cache(maxsize=64)
def _without_optimizer(config: bytes) -> bytes:
    """The options of a call, without TensorFlow's optimizer of graphs."""
    options = tf.compat.v1.ConfigProto.FromString(config)
    options.graph_options.rewrite_options.disable_meta_optimizer = True
    return bytes(options.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=64)
def _optimised_once(config: bytes, has_blocks: bool) -> bytes:
    """The options of a call whose graph is optimised in one round, if the program does not say how many: a second one finds little."""
    options = tf.compat.v1.ConfigProto.FromString(_without_sums(config) if has_blocks else config)
    rewriting = options.graph_options.rewrite_options
    if rewriting.meta_optimizer_iterations == 0:
        rewriting.meta_optimizer_iterations = 1
    return bytes(options.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=64)
def _without_sums(config: bytes) -> bytes:
    """The options of a call of a graph with branches or loops, in which the optimizer does sums wrong.

    Of ``x + (x + 0.0)`` it leaves an empty tensor (seen with TensorFlow 2.21).
    """
    options = tf.compat.v1.ConfigProto.FromString(config)
    options.graph_options.rewrite_options.arithmetic_optimization = options.graph_options.rewrite_options.OFF
    return bytes(options.SerializeToString(deterministic=True))


BLOCKS = frozenset({"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"})
_have_blocks: weakref.WeakKeyDictionary[FuncGraph, bool] = weakref.WeakKeyDictionary()


def _has_blocks(graph: FuncGraph) -> bool:
    """Whether a finished graph has branches or loops."""
    found = _have_blocks.get(graph)
    if found is None:
        found = _have_blocks[graph] = any(op.type in BLOCKS for op in graph.get_operations())
    return found


@contextlib.contextmanager
def _careful(graph: FuncGraph) -> Iterator[None]:
    """TensorFlow's own call of a graph, with options under which it computes what it says."""
    if not PRIVATE_CALLS or not _has_blocks(graph):
        yield
        return
    context = _context.context()
    before = context.function_call_options
    context.function_call_options = _careful_options(before.executor_type, before.config_proto_serialized)
    try:
        yield
    finally:
        context.function_call_options = before


@functools.lru_cache(maxsize=64)
def _careful_options(executor: str | None, config: bytes) -> Any:
    without_sums = tf.compat.v1.ConfigProto.FromString(_without_sums(config))
    return _context.FunctionCallOptions(executor_type=executor, config_proto=without_sums)


SUMS = frozenset({"Add", "AddV2", "AddN", "Mul"})
DONE = ("_grappler_ArithmeticOptimizer_AddOpsRewriteStage", "_grappler_ArithmeticOptimizer_MinimizeBroadcasts")


def _keep_sums(graph: FuncGraph) -> None:
    """Tell the optimizer that it has been over the sums of a branch or loop: where calls are TensorFlow's own, it would do some wrong."""
    done = tf.compat.v1.AttrValue(b=True)
    for op in graph.get_operations():
        if op.type in SUMS:
            for name in DONE:
                op._set_attr(name, done)


class _Named:
    """A function by its name, as attributes of operations want it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def add_to_graph(self, graph: Any) -> None:
        """It is known already."""


def direct_call(
    concrete: Any, may_inline: Callable[[], bool], may_switch: bool, compiler: Compiler | None = None,
) -> Callable[[list[tf.Tensor]], list[tf.Tensor]]:
    """How to call a concrete function on what it captures while no tape watches that."""
    if PRIVATE_CALLS:
        with contextlib.suppress(AttributeError):
            return DirectCall(concrete._inference_function, may_inline, may_switch, compiler)
    return functools.partial(call_concrete, concrete)


def watching(tensors: Sequence[tf.Tensor]) -> int:
    """0 if nothing records what is done with tensors, 1 if one gradient tape does that is asked once, else 2."""
    kind = int(_runtime.TFE_Py_TapeSetPossibleGradientTypes(tensors))
    return 2 if kind and any(_runtime.TFE_Py_PackJVPs(tensors)[0]) else kind


class TapeFunctions:
    """The graph that a tape runs instead of a concrete function's own, and its gradient.

    `residuals` tells what the gradient needs: places of inputs, places of outputs (below zero, -1 for the first), and tensors.
    `recorded` outputs are known to the tape, and `differentiable` are the places of those whose gradients the gradient takes.
    """

    def __init__(self, functions: Any, results: int, may_inline: Callable[[], bool], may_switch: bool) -> None:
        forward, backward, graph = functions._forward, functions._backward, functions._forward_graph
        place_of = {id(tensor): ~place for place, tensor in enumerate(graph.outputs)}
        place_of.update((id(tensor), place) for place, tensor in enumerate(graph.inputs))
        self.residuals = [place_of.get(id(one), one) for one in backward.captured_inputs]
        if not all(isinstance(one, (int, EagerTensor)) for one in self.residuals):
            raise ValueError("the gradient needs tensors of another graph")
        self.differentiable = [i for i, one in enumerate(graph.outputs[:results]) if one.dtype.is_floating or one.dtype.is_complex]
        if len(self.differentiable) != len(backward.inputs) - len(self.residuals):
            raise ValueError("an output that is no number has a gradient")
        self.recorded = self.differentiable[-1] + 1 if self.differentiable else 0
        self.placeholders = backward.inputs[: len(self.differentiable)]
        self.forward = DirectCall(forward, may_inline, may_switch)
        self.backward = DirectCall(backward._inference_function, may_inline, may_switch and not _adds_lists(backward.graph))
        self.structure = backward.structured_outputs
        self._whole_backward = backward

    def slow_backward(self, given: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        """The gradient by TensorFlow's own call, for tapes that watch it."""
        with _careful(self._whole_backward.graph):
            return list(self._whole_backward._call_flat(given, residuals))

    def kept(self, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """What the gradient needs of a run."""
        return [one if not isinstance(one, int) else inputs[one] if one >= 0 else outputs[~one] for one in self.residuals]


def _adds_lists(graph: FuncGraph) -> bool:
    """Whether gradients of TensorLists are added. Of lists of bools nobody needs them, and only the optimizer takes them out."""
    return any(
        node.op == "AddN" and node.attr["T"].type == tf.variant.as_datatype_enum
        for op in graph.get_operations() for node in (op.node_def, *(one for body in function_bodies(op) for one in body.node_def)))


def tape_functions(
    concrete: Any, inputs: Sequence[tf.Tensor], results: int, may_inline: Callable[[], bool], may_switch: bool,
) -> TapeFunctions | None:
    """The functions for a tape that is asked once, as TensorFlow makes them; None if they cannot be used here."""
    if not PRIVATE_CALLS:
        return None
    try:
        concrete._select_forward_and_backward_functions(list(inputs), 1, True).forward()
        return TapeFunctions(concrete._first_order_tape_functions[(False, ())], results, may_inline, may_switch)
    except (AttributeError, KeyError, ValueError):
        return None


def record(name: str, outputs: Sequence[tf.Tensor], inputs: Sequence[tf.Tensor], backward: Callable[..., Any]) -> None:
    """Tell the tapes how `outputs` came of `inputs`."""
    _record.record_operation(name, outputs, inputs, backward)


def variables_accessed(variables: Sequence[tf.Variable]) -> None:
    """Let tapes watch variables, as reading them does."""
    for variable in variables:
        if type(variable) is _variables.ResourceVariable and variable.trainable:
            _runtime.TFE_Py_TapeVariableAccessed(variable)
            _runtime.TFE_Py_VariableWatcherVariableAccessed(variable)
        else:
            _variables.variable_accessed(variable)


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


def stacked_apart(items: Sequence[tf.Tensor]) -> tf.Tensor:
    """Eager tensors in one; where `with_rows_told` has told it, the gradient of an item may be None."""

    def apart(gradient: tf.Tensor) -> list[Any]:
        rows = tf.unstack(gradient, len(items))
        return [row if told else None for row, told in zip(rows, getattr(gradient, "_imp2tf_rows", [True] * len(items)), strict=True)]

    with _record.stop_recording():
        stacked = tf.raw_ops.Pack(values=items)
    _record.record_operation("Pack", [stacked], items, apart)
    return stacked


def with_rows_told(gradient: tf.Tensor, rows: Sequence[bool]) -> tf.Tensor:
    """A gradient of stacked items that tells for which of them there is one."""
    told = tf.identity(gradient)
    told._imp2tf_rows = rows
    return told


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


def copy_handle_data(source: tf.Tensor, target: tf.Tensor) -> None:
    """Let a resource or variant of a graph be known to hold what another one does."""
    _handle_data.copy_handle_data(source, target)


def compiled_copy(concrete: Any) -> Any:
    """A concrete function of the same graph that XLA compiles."""
    function = concrete._inference_function
    name = f"{function.name.decode()}_xla"
    copy = _atomic_function.from_func_graph(name, concrete.graph, {"_XlaMustCompile": True}, function_type=function.function_type)
    return _concrete_function.ConcreteFunction(copy)


def copied_variable(handle: tf.Tensor) -> tf.Variable:
    """A new variable with the value of the one that has this handle."""
    data = handle._handle_data.shape_and_type[0]
    return tf.Variable(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.as_dtype(data.dtype)), trainable=False)


def is_deterministic() -> bool:
    """Whether operations were asked to give the same result every time."""
    return bool(_config.is_op_determinism_enabled())
