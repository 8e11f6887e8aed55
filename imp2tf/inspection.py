"""What a finished graph holds, and so how it may be run."""
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.random_ops import RANDOM_OPS
from imp2tf.tf_compat import function_bodies, has_unread, is_stateful_op

__all__ = ["CHANGES_VARIABLES", "draws_random_numbers", "effects_of", "has_state", "may_inline", "nodes_of"]

INLINE_NODES, INLINE_BYTES = 200, 1 << 16
CALLS = frozenset({"If", "While", "Case", "StatefulPartitionedCall"})
QUIET = CALLS | {"Placeholder", "ReadVariableOp", "ResourceGather", "VarHandleOp", "VariableShape"}
CHECKED = QUIET | {"Assert", "CheckNumerics", "CheckNumericsV2", "EagerPyFunc", "ResourceGatherNd", "VarIsInitializedOp"}
WITHOUT_STATE = CHECKED | {"PrintV2", "PyFunc", "RngReadAndSkip", "RngSkip"}
WITHOUT_EFFECT = CHECKED | RANDOM_OPS | {"LookupTableFindV2", "LookupTableSizeV2"}
MAKES_DATASET = re.compile(r"(?<!Reduce)Dataset(V\d)?$|^DatasetCardinality$")  # stateful to TensorFlow, but nothing happens
CHANGES_VARIABLES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply", "ResourceStridedSliceAssign")


def nodes_of(concrete: Any) -> list[Any]:
    """The definitions of all operations of a graph and of the functions it calls, but for random operations that a twin replaces."""
    graph_def = concrete.graph.as_graph_def()
    results = [tensor.op.name for tensor in concrete.graph.outputs]
    return [*_used(graph_def.node, results), *(node for function in graph_def.library.function for node in _used_in(function))]


def _used(nodes: Sequence[Any], results: Iterable[str]) -> list[Any]:
    """The nodes without random operations that nobody reads: they do not run."""
    if not any(node.op in RANDOM_OPS for node in nodes):
        return list(nodes)
    read = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}.union(results)
    return [node for node in nodes if node.op not in RANDOM_OPS or node.name in read]


def _used_in(function: Any) -> list[Any]:
    """The nodes of a function."""
    return _used(function.node_def, [text.partition(":")[0] for text in (*function.ret.values(), *function.control_ret.values())])


def effects_of(concrete: Any) -> list[Any]:
    """The definitions of the operations of a graph that do more than compute and call Python."""
    return [node for node in nodes_of(concrete)
            if node.op not in WITHOUT_EFFECT and not MAKES_DATASET.search(node.op) and is_stateful_op(node.op)]


def draws_random_numbers(concrete: Any) -> bool:
    """Whether a graph draws random numbers from a stream of its own."""
    return any(node.op in RANDOM_OPS for node in nodes_of(concrete))


def may_inline(concrete: Any) -> bool:
    """Whether a graph is small, has no effects, and holds nothing that waits for another operation or another thread."""
    if len(concrete.graph.get_operations()) > INLINE_NODES or has_unread(concrete.graph) or tf.config.list_logical_devices("GPU"):
        return False
    nodes = nodes_of(concrete)
    return len(nodes) <= INLINE_NODES and sum(node.ByteSize() for node in nodes) <= INLINE_BYTES and all(
        node.op in QUIET or not is_stateful_op(node.op) for node in nodes)


def has_state(graph: Any) -> bool:
    """Whether operations of a graph keep something between its runs (random ones do), which another instance of it would not share."""
    results = {id(tensor.op) for tensor in graph.outputs}
    kinds: set[str] = set()
    for op in graph.get_operations():
        if op.type not in RANDOM_OPS or id(op) in results or any(tensor.consumers() for tensor in op.outputs):
            kinds.add(op.type)
            kinds.update(node.op for body in function_bodies(op) for node in _used_in(body))
    return any(kind not in WITHOUT_STATE and not kind.startswith(CHANGES_VARIABLES) and is_stateful_op(kind) for kind in kinds)
