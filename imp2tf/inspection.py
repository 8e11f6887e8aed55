"""What a finished graph holds, and so how it may be run."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import function_bodies, is_stateful_op

__all__ = ["has_state", "may_inline", "nodes_of"]

INLINE_NODES, INLINE_BYTES = 200, 1 << 16
CALLS = frozenset({"If", "While", "Case", "StatefulPartitionedCall"})
QUIET = CALLS | {"Placeholder", "ReadVariableOp", "ResourceGather", "VarHandleOp", "VariableShape"}
WITHOUT_STATE = QUIET | {
    "Assert", "CheckNumerics", "CheckNumericsV2", "EagerPyFunc", "PrintV2", "PyFunc", "ResourceGatherNd", "RngReadAndSkip", "RngSkip",
    "VarIsInitializedOp",
}
CHANGES_VARIABLES = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply", "ResourceStridedSliceAssign")


def nodes_of(concrete: Any) -> list[Any]:
    """The definitions of all operations of a graph and of the functions it calls."""
    graph_def = concrete.graph.as_graph_def()
    return [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]


def may_inline(concrete: Any) -> bool:
    """Whether a graph is small, has no effects, and holds nothing that waits for another operation or another thread."""
    if len(concrete.graph.get_operations()) > INLINE_NODES or tf.config.list_logical_devices("GPU"):
        return False
    nodes = nodes_of(concrete)
    return len(nodes) <= INLINE_NODES and sum(node.ByteSize() for node in nodes) <= INLINE_BYTES and all(
        node.op in QUIET or not is_stateful_op(node.op) for node in nodes)


def has_state(graph: Any) -> bool:
    """Whether operations of a graph keep something between its runs (random ones do), which another instance of it would not share."""
    kinds: set[str] = set()
    for op in graph.get_operations():
        kinds.add(op.type)
        kinds.update(node.op for body in function_bodies(op) for node in body.node_def)
    return any(kind not in WITHOUT_STATE and not kind.startswith(CHANGES_VARIABLES) and is_stateful_op(kind) for kind in kinds)
