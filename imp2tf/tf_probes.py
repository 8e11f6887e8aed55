"""Whether TensorFlow's private symbols do what `tf_compat` needs them for: each is used once, on a tiny program."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import (
    AutomaticControlDependencies,
    DirectCall,
    array_with_flow,
    attribute_value,
    belongs_to_strategy,
    branch_graph,
    build_cond,
    build_while,
    call_concrete,
    capture_at_call_time,
    captures_of,
    compiled_copy,
    copied_variable,
    copy_handle_data,
    devices_of,
    direct_call,
    dtype_of_list,
    dtype_test,
    eager_scalar,
    fetching,
    from_dlpack,
    function_graph,
    gated,
    global_seed,
    has_gradient,
    is_deterministic,
    new_operation,
    op_definition,
    operations_are_watched,
    operations_made_by,
    read_stack,
    record,
    redirect,
    replica_of_call,
    seed_generator,
    set_seed_generator,
    shape_text,
    tape_functions,
    tape_may_record,
    variable_accessed,
    variables_accessed,
    watch_operations,
    watching,
)

__all__ = ["self_test"]


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


def _either(pred: tf.Tensor, x: tf.Tensor, *sides: Callable[[tf.Tensor], tf.Tensor]) -> list[tf.Tensor]:
    """An If of two functions of a tensor."""
    outer, graphs = tf.compat.v1.get_default_graph(), []
    for name, side in zip("tf", sides, strict=True):
        graph = branch_graph(name, outer)
        with graph.as_default(), AutomaticControlDependencies() as deps:
            out = deps.mark_as_return(side(graph.capture(x)))
            graph.structured_outputs = [out]
            graph.outputs.append(out)
        graphs.append(graph)
    return build_cond(pred, *graphs)


def _probe_cond() -> bool:
    run = tf.function(lambda x: _either(x > 0.0, x, lambda y: y * 2.0, lambda y: y * 3.0), autograph=False)
    return float(run(tf.constant(1.0))[0]) == 2.0 and float(run(tf.constant(-1.0))[0]) == -3.0


def _probe_sums() -> bool:
    """Whether sums in branches, which the optimizer gets wrong if it may, come out right."""
    x, y = tf.ones([3]), tf.constant(2.0)

    def program() -> list[tf.Tensor]:
        return [*_either(y > 0.0, x, lambda z: (z + y) + (z + y), lambda z: z), *_either(y > 0.0, x, lambda z: z + z * 1.0, lambda z: z)]

    concrete = tf.function(program, autograph=False).get_concrete_function()
    return [found.numpy().tolist() for found in call_concrete(concrete, captures_of(concrete))] == [[6.0] * 3, [2.0] * 3]


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


def _probe_seed() -> bool:
    return global_seed() is None or isinstance(global_seed(), int)


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


def _probe_array() -> bool:
    def both() -> tf.Tensor:
        empty = tf.TensorArray(tf.int32, 1, element_shape=[])
        return array_with_flow(empty, empty.write(0, 7).flow).stack()

    return tf.function(both, autograph=False)().numpy().tolist() == [7]


def _probe_direct_call() -> bool:
    x = tf.constant([2.0])
    concrete = tf.function(lambda: [x * x], autograph=False).get_concrete_function()
    call = direct_call(concrete, lambda: True, True)
    found = [float(call([x * factor])[0][0]) for factor in (1.0, 2.0, 3.0) for _ in range(20)]  # the trial comes and goes
    return isinstance(call, DirectCall) and found == [4.0] * 20 + [16.0] * 20 + [36.0] * 20


def _probe_tape_functions() -> bool:
    x = tf.constant([2.0])
    concrete = tf.function(lambda: [x * x], autograph=False).get_concrete_function()
    with tf.GradientTape() as tape:
        tape.watch(x)
        first_order = watching([x]) == 1
        functions = tape_functions(concrete, [x], 1, lambda: False, True)
        if functions is None:
            return False
        outputs = functions.forward([x])
        kept = functions.kept([x], outputs)
        record("run", outputs[: functions.recorded], [x], lambda gradient: functions.backward([gradient, *kept]))
    with tf.autodiff.ForwardAccumulator(x, x):
        other = watching([x]) == 2
    return first_order and other and watching([x]) == 0 and float(tape.gradient(outputs[0], x)[0]) == 4.0


def _probe_tensors() -> bool:
    x = tf.zeros([2, 3])
    made = eager_scalar(2.0, tf.float64)
    return bool(eval(dtype_test("x", tf.float32), {"x": x})) and eval(shape_text("x"), {"x": x}) == (2, 3) and (
        made.dtype == tf.float64 and float(made) == 2.0)


def _probe_dlpack() -> bool:
    """Memory that is passed on is neither copied nor given up while the tensor lives."""
    memory = np.zeros([32])
    start = -(memory.ctypes.data // 8) % 8  # kernels count on memory that is aligned to 64 bytes
    array = memory[start:start + 2]
    made = from_dlpack(array.__dlpack__())
    array[:] = 1.0, 2.0
    del memory, array
    return made.dtype == tf.float64 and made.numpy().tolist() == [1.0, 2.0] and float(tf.reduce_sum(made)) == 3.0


def _probe_watching_variables() -> bool:
    variable = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        variables_accessed([variable])
    return tape.watched_variables() == (variable,)


def _probe_new_operation() -> bool:
    taken = op_definition("AddN")

    def program(x: tf.Tensor) -> list[tf.Tensor]:
        graph = tf.compat.v1.get_default_graph()
        doubled = tf.raw_ops.AddV2(x=x, y=x)
        made = new_operation(graph, "AddN", "sum_of_two", [[x, doubled]], [doubled.op], {"T": doubled.op.node_def.attr["T"]}, read_stack())
        return list(made.outputs) if made is not None else [x]

    concrete = tf.function(program, autograph=False).get_concrete_function(tf.TensorSpec([]))
    refused = new_operation(concrete.graph, "LogicalNot", "refused", [concrete.inputs[0]], [], {}, read_stack()) is None
    return refused and taken.input_arg[0].number_attr == "N" and float(concrete(tf.constant(1.0))[0]) == 3.0


def _probe_compiled_copy() -> bool:
    concrete = tf.function(lambda x: [x * x], autograph=False).get_concrete_function(tf.TensorSpec([]))
    copy = compiled_copy(concrete)
    compiled = copy.function_def.attr["_XlaMustCompile"].b and not concrete.function_def.attr["_XlaMustCompile"].b
    return bool(compiled) and float(copy(tf.constant(3.0))[0]) == 9.0


def _probe_variable_copy() -> bool:
    variable = tf.Variable(2.0)
    copy = copied_variable(variable.handle)
    variable.assign(3.0)

    def read(handle: tf.Tensor) -> tf.Tensor:
        copy_handle_data(source.graph.inputs[0], handle)
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    source = tf.function(lambda: variable + 0.0, autograph=False).get_concrete_function()
    concrete = tf.function(read, autograph=False).get_concrete_function(tf.TensorSpec([], tf.resource))
    return float(copy) == 2.0 and float(concrete(variable.handle)) == 3.0 and concrete.output_shapes == [] and not is_deterministic()


def _probe_seed_generator() -> bool:
    class Fixed:
        def randint(self, low: int, high: int) -> int:
            return 5 if (low, high) == (0, 2**31 - 1) else -1

    before = seed_generator()
    if before is None:
        return global_seed() is None
    try:
        set_seed_generator(Fixed())
        return hasattr(before, "getstate") and tf.compat.v1.get_seed(None)[1] in (5, None)
    finally:
        set_seed_generator(before)


def _probe_fetching() -> bool:
    iterator = iter(tf.data.Dataset.from_tensor_slices(([1.0, 2.0], {"b": [3, 4], "a": [5, 6]})))
    fetch = fetching(iterator)
    first, named = fetch(iterator)
    second = fetch(iterator)[0]
    try:
        fetch(iterator)
    except tf.errors.OutOfRangeError:
        return fetch.__name__ == "fetch" and [float(first), float(second), int(named["a"]), int(named["b"])] == [1.0, 2.0, 5, 3]
    return False


def _probe_making() -> bool:
    made: list[str] = []

    def make(usual: Callable[..., Any], kind: str, name: str | None = None, **given: Any) -> Any:
        made.append(kind)
        return usual(kind, name, **given)

    def make_constant(usual: Callable[..., tf.Tensor], value: Any, *others: Any, **more: Any) -> tf.Tensor:
        made.append("Const")
        return usual(value, *others, **more)

    def program(x: tf.Tensor) -> tf.Tensor:
        y = tf.raw_ops.Tanh(x=x) + tf.constant(1.0)
        return tf.while_loop(lambda y: y > 0.0, lambda y: y - 1.0, [y])

    built: list[Any] = []
    with operations_made_by(make, make_constant, built.append):
        graph = tf.function(program, autograph=False).get_concrete_function(tf.TensorSpec([])).graph
    (attribute,) = op_definition("Tanh").attr
    encoded = attribute_value("Tanh", attribute, tf.float64).type == tf.float64.as_datatype_enum
    with graph.as_default(), tf.device("/cpu:0"):
        placed = devices_of(graph)
    return made[:3] == ["Tanh", "Const", "AddV2"] and encoded and devices_of(graph) == () and placed == ("/cpu:0",) \
        and not operations_are_watched() and len(built) == 2  # the condition and the body


PROBES = (
    ("cond", _probe_cond), ("sums", _probe_sums), ("while", _probe_while), ("capture", _probe_capture), ("tape", _probe_tape),
    ("functions", _probe_functions), ("list", _probe_list), ("redirect", _probe_redirect), ("seed", _probe_seed),
    ("replica", _probe_replica), ("array", _probe_array), ("direct call", _probe_direct_call),
    ("tape functions", _probe_tape_functions), ("tensors", _probe_tensors),
    ("seed generator", _probe_seed_generator), ("watching variables", _probe_watching_variables), ("variable copy", _probe_variable_copy),
    ("compiled copy", _probe_compiled_copy), ("new operation", _probe_new_operation), ("fetching", _probe_fetching),
    ("dlpack", _probe_dlpack),
    ("making operations", _probe_making),
)
