"""The order of effects in a finished graph.

TensorFlow keeps no program order between effects of different kinds: an assignment may run after a failed assertion, a print
before a loop may come after one in it. Nor does it keep one between effects and operations that fail: where eager stops, a graph
may have assigned more, or less. `order_effects` makes them wait for each other, graph by graph.
"""
from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.random_ops import RANDOM_OPS, read_draws
from imp2tf.session import Session
from imp2tf.tf_compat import FuncGraph, add_control_input, function_bodies, function_graph, functions_of, is_stateful_op, keep_unread

__all__ = ["REGIONS", "changes_state", "has_effects", "made_by_program", "may_fail_in_program", "order_effects"]

QUIET_STATEFUL = frozenset({
    "LookupTableFindV2", "LookupTableSizeV2", "Placeholder", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "StatelessCase",
    "StatelessIf", "StatelessWhile", "VarHandleOp", "VarIsInitializedOp", "VariableShape",
}) | RANDOM_OPS
HOST_OPS = frozenset({"EagerPyFunc", "PyFunc", "Assert", "PrintV2"})
READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})  # effects on them may hide in opaque calls
CALLS = frozenset({"If", "While", "Case", "StatefulPartitionedCall"})
REGIONS = CALLS | {"PartitionedCall", "StatelessCase", "StatelessIf", "StatelessWhile"}


def order_effects(session: Session, graph: Any, outputs: Sequence[tf.Tensor], goes_on: tf.Operation | None = None) -> bool:
    """Chain everything in a finished graph that has an effect, in program order; whether Python is called in it.

    Of a turn of a loop, `goes_on` gives what the next one waits for: it must come last.
    """
    read_draws(session, graph)
    kept = _kept(graph, graph.get_operations(), outputs)
    graph.control_outputs.extend(kept)
    operations = graph.get_operations()
    _keep_apart(operations, [*(tensor.op for tensor in outputs), *kept], goes_on)
    hosts = {op for op in operations if op.type in HOST_OPS or (id(graph), op.name) in session.host_ops}
    if not hosts:
        return False
    hosts = hosts if goes_on is None else {*hosts, goes_on}
    _let_wait(operations, hosts, _needed(operations, [*hosts, *kept, *(tensor.op for tensor in outputs)]))
    _chain([op for op in operations if _has_effect(op) or (session.opaque and op.type in READS)])
    return True


def has_effects(graph: FuncGraph) -> bool:
    """Whether a graph may do more than compute."""
    return any(is_stateful_op(op.type) and _has_effect(op) for op in graph.get_operations())


EXCHANGES = ("Collective", "Nccl")


def _chain(effects: Sequence[tf.Operation]) -> None:
    """Let each wait for the one before; but what replicas exchange they do at the same time."""
    before: list[tf.Operation] = []
    for _, group in itertools.groupby(enumerate(effects), lambda pair: "together" if pair[1].type.startswith(EXCHANGES) else pair[0]):
        members = [op for _, op in group]
        for op in members:
            for one in before:
                add_control_input(op, one)
        before = members


def _needed(operations: Sequence[tf.Operation], roots: Sequence[tf.Operation]) -> set[tf.Operation]:
    """The operations that a run makes: those on which a result or an effect depends. The others must not be made only to be waited for."""
    needed = {*roots, *(op for op in operations if _has_effect(op))}
    pending = list(needed)
    while pending:
        op = pending.pop()
        for before in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if before not in needed:
                needed.add(before)
                pending.append(before)
    return needed


def _let_wait(operations: Sequence[tf.Operation], hosts: set[tf.Operation], needed: set[tf.Operation]) -> None:
    """Let Python be called only when all is computed that stands before the call: had it failed, there would be no call."""
    pending: dict[tf.Operation, None] = {}  # those on whose results nothing depends so far
    for op in operations:
        if op not in needed:
            continue
        for before in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            pending.pop(before, None)
        if op in hosts:
            for before in pending:
                add_control_input(op, _ended(before))
            pending.clear()
        if op.type not in NEVER_FAILS:
            pending[op] = None


# And random operations: those for which eager's numbers are drawn stay behind in the graph.
NEVER_FAILS = frozenset({"Const", "NoOp", "Placeholder", "VarHandleOp"}) | RANDOM_OPS


def _has_effect(op: tf.Operation) -> bool:
    if op.type in CALLS:
        return True
    return bool(op.op_def.is_stateful) and op.type not in QUIET_STATEFUL


def changes_state(op: tf.Operation) -> bool:
    """Whether an operation, or one in the functions it calls, has an effect other than calling Python."""
    if op.type not in CALLS:
        return _has_effect(op)
    inner = [function_graph(op.graph, name) for name in functions_of(op)]
    if all(one is not None for one in inner):
        return any(map(_holds_changes, inner))
    nodes = (node for body in function_bodies(op) for node in body.node_def)
    return any(is_stateful_op(node.op) and node.op not in QUIET_STATEFUL | HOST_OPS | CALLS for node in nodes)


_changing: weakref.WeakKeyDictionary[FuncGraph, bool] = weakref.WeakKeyDictionary()


def _holds_changes(graph: FuncGraph) -> bool:
    if graph not in _changing:
        _changing[graph] = any(op.type not in HOST_OPS and changes_state(op) for op in graph.get_operations())
    return _changing[graph]


# ------------------------------------------------------------------------------------------------ what nobody reads
_program_made: weakref.WeakKeyDictionary[FuncGraph, list[tuple[int, int]]] = weakref.WeakKeyDictionary()
_checking: weakref.WeakKeyDictionary[FuncGraph, frozenset[str]] = weakref.WeakKeyDictionary()   # operations of the program that may fail
_with_unread: weakref.WeakSet[FuncGraph] = weakref.WeakSet()   # of their graphs, those in whose branches or loops nobody reads the result


@contextlib.contextmanager
def made_by_program() -> Iterator[None]:
    """Operations that are made meanwhile are the program's: they have to fail where they do in eager, whoever reads their results."""
    graph = tf.compat.v1.get_default_graph()
    first = graph.version
    yield
    if graph.version > first:
        _program_made.setdefault(graph, []).append((first, graph.version))


def _kept(graph: FuncGraph, operations: Sequence[tf.Operation], outputs: Sequence[tf.Tensor]) -> list[tf.Operation]:
    """Operations of the program that may fail and on which nothing depends: TensorFlow would leave them out of the run."""
    spans = _program_made.pop(graph, [])
    own = {place for first, last in spans for place in range(first, last)} if spans else set()
    failing = [op for place, op in enumerate(operations) if _is_checked(op, place in own)]
    if not failing:
        return []
    _checking[graph] = frozenset(op.name for op in failing)
    needed = _needed(operations, [tensor.op for tensor in outputs])
    kept = [op for op in failing if op not in needed and not _runs_anyway(op)]
    inner = isinstance(graph.outer_graph, tf.__internal__.FuncGraph)
    inside = any(inner or op.type in REGIONS for op in kept) or any(
        function_graph(graph, name) in _with_unread for op in failing if op.type in REGIONS for name in functions_of(op))
    if inside:
        _with_unread.add(graph)
    if inside or kept:
        keep_unread(graph, inside)
    return kept


def _runs_anyway(op: tf.Operation) -> bool:
    """Whether TensorFlow itself lets an operation run that nothing needs: its automatic control dependencies keep stateful ones."""
    return bool(op.op_def.is_stateful) and (op.type not in READS or any(tensor.consumers() for tensor in op.outputs))


def may_fail_in_program(op: tf.Operation) -> bool:
    """Whether an operation of an ordered graph may fail as in eager: it is the program's, or a region with one that is."""
    return op.name in _checking.get(op.graph, ())


def _is_checked(op: tf.Operation, is_of_program: bool) -> bool:
    """Whether an operation may fail, and eager would have it run."""
    if op.type in REGIONS:
        return any(function_graph(op.graph, name) in _checking for name in functions_of(op))
    return is_of_program and _may_fail(op) and not any(part in op.name for part in OF_GRADIENTS)


OF_GRADIENTS = ("gradient_tape/", "gradients/")   # backward functions compute more than they are asked for


# ------------------------------------------------------------------------------------------------ what may fail
def _keep_apart(operations: Sequence[tf.Operation], roots: Sequence[tf.Operation], goes_on: tf.Operation | None) -> None:
    """Let changes of state, and the next turn of a loop, wait for all before that may fail; what may fail waits for all changes before."""
    writes = {op for op in operations if op.type not in HOST_OPS and changes_state(op)}
    if not writes or any(op.type.startswith(EXCHANGES) for op in operations):
        return
    needed = _needed(operations, roots)
    failing, changes = _Fence(), _Fence()
    for op in operations:
        if op in writes or op is goes_on:
            failing.let_wait(op)
        if op in needed and _may_fail(op):
            changes.let_wait(op)
            failing.add(_ended(op))
        if op in writes:
            changes.add(op)


def _ended(op: tf.Operation) -> tf.Operation:
    """What has run when all of an operation has: what waits for a region alone does not wait for what gives its results."""
    if op.type not in REGIONS or not op.outputs or not _may_fail(op):
        return op
    with op.graph.as_default(), tf.control_dependencies(None):
        return tf.raw_ops.IdentityN(input=list(op.outputs))[0].op


class _Fence:
    """What later operations wait for: one operation stands for all so far."""

    def __init__(self) -> None:
        self._behind: list[tf.Operation] = []

    def add(self, op: tf.Operation) -> None:
        """Put an operation behind the fence."""
        self._behind.append(op)

    def let_wait(self, op: tf.Operation) -> None:
        """Let `op` wait for all that is behind the fence."""
        if len(self._behind) > 1:
            with op.graph.as_default(), tf.control_dependencies(None):
                fence = tf.no_op()
            for one in self._behind:
                add_control_input(fence, one)
            self._behind = [fence]
        for one in self._behind:
            add_control_input(op, one)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANY_SHAPE = NEVER_FAILS | _names("""
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu EmptyTensorList Erf Erfc Exp Expm1 Floor Identity IdentityN Inv Invert
    IsFinite IsInf IsNan L2Loss LeakyRelu Log Log1p LogicalNot Neg OnesLike PreventGradient Rank ReadVariableOp Reciprocal Relu Relu6
    Rint Round Rsqrt Selu Shape ShapeN Sigmoid Sign Sin Sinh Size Softplus Softsign Sqrt Square StopGradient StringFormat Tan Tanh
    TensorListLength TensorListPushBack VariableShape ZerosLike
""")
KNOWN_SHAPES = _names("""
    Add AddN AddV2 All Any Atan2 BatchMatMul BatchMatMulV2 BatchMatMulV3 BiasAdd BiasAddGrad BroadcastArgs
    BroadcastGradientArgs BroadcastTo ConcatOffset ConcatV2 Conv2D Conv2DBackpropFilter Conv2DBackpropInput DivNoNan Equal ExpandDims
    Fill Greater GreaterEqual Less LessEqual LogSoftmax LogicalAnd LogicalOr MatMul Max Maximum Mean Min Minimum Mul MulNoNan NotEqual
    Pack Prod RealDiv Reshape Select SelectV2 SigmoidGrad Softmax SoftmaxCrossEntropyWithLogits Split SplitV SquaredDifference
    Squeeze Sub Sum TanhGrad Tile Transpose Unpack
""")
PLACES = _names("ArgMax ArgMin Cumprod Cumsum Slice")
FLOAT_ONLY = _names("FloorDiv FloorMod Div Pow TruncateDiv")    # ints refuse a divisor of zero, or a negative power
DENSE_WRITES = ("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceApply")
_fallible: weakref.WeakKeyDictionary[FuncGraph, bool] = weakref.WeakKeyDictionary()


def _may_fail(op: tf.Operation) -> bool:
    """Whether values or shapes that only the run knows may make an operation fail."""
    if op.type.startswith(DENSE_WRITES):
        return not all(one.shape.is_fully_defined() for one in op.inputs)
    if op.type == "Cast":
        return tf.string in (op.inputs[0].dtype, op.outputs[0].dtype)
    if op.type in ANY_SHAPE or op.type in HOST_OPS:
        return False
    if op.type in REGIONS:
        return any(_any_may_fail(op.graph, name) for name in functions_of(op))
    known = all(one.shape.is_fully_defined() for one in (*op.inputs, *op.outputs))
    if op.type in FLOAT_ONLY:
        return not known or not op.outputs[0].dtype.is_floating
    if op.type == "StridedSlice":
        return not known or any(one.op.type != "Const" for one in op.inputs[1:])
    if op.type in PLACES:
        return not known or _may_be_outside(op)
    return op.type not in KNOWN_SHAPES or not known


def _may_be_outside(op: tf.Operation) -> bool:
    """Whether the places that an operation is given may lie outside of its first input."""
    given = [tf.get_static_value(one) for one in op.inputs[1:]]
    if any(one is None for one in given):
        return True
    shape = op.inputs[0].shape
    if op.type == "Slice":
        begin, size = given
        return any(first < 0 or first + max(count, 0) > most for first, count, most in zip(begin, size, shape, strict=True))
    return not all(-shape.rank <= axis < shape.rank for axis in given)


def _any_may_fail(graph: FuncGraph, name: str) -> bool:
    inner = function_graph(graph, name)
    if inner is None:
        return True
    if inner not in _fallible:
        _fallible[inner] = any(map(_may_fail, inner.get_operations()))
    return _fallible[inner]
