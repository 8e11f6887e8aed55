"""Counts operations that run eagerly, one by one, rather than inside a graph."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import tensorflow as tf

# The one private symbol of the tests: TensorFlow has no public hook that sees every operation.
from tensorflow.python.framework import op_callbacks


@contextmanager
def eager_ops(names: list[str] | None) -> Iterator[None]:
    """Put into `names`, if given, the operations this thread executes eagerly, calls of graphs left out."""
    if names is None:
        yield
        return
    callback = _recorder(names)
    op_callbacks.add_op_callback(callback)
    try:
        yield
    finally:
        op_callbacks.remove_op_callback(callback)


def _is_work(name: str) -> bool:
    """Whether an operation computes: neither calls a graph nor unpacks a list that a graph returned."""
    # A graph function that is run by its own name is no registered operation.
    registered = hasattr(tf.raw_ops, name)
    return registered and not name.endswith("PartitionedCall") and not name.startswith("TensorList")


def _recorder(names: list[str]) -> Callable[..., None]:
    def record(op_type: str | bytes, inputs: object, attrs: object, outputs: object,
               op_name: object = None, graph: object = None) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        if graph is None and _is_work(name):
            names.append(name)
    return record
