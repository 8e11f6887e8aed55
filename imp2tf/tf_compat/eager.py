"""Eager tensors, the context that they live in, and the state of its random numbers."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import switches
from imp2tf.tf_compat.private import EagerTensor
from imp2tf.tf_compat.private import config as _config
from imp2tf.tf_compat.private import context as _context
from imp2tf.tf_compat.private import iterators as _iterators
from imp2tf.tf_compat.private import op_callbacks as _op_callbacks
from imp2tf.tf_compat.private import runtime as _runtime


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
    return not context._thread_local_data.device_name and switches.PRIVATE_CALLS and _has_cpus_only(context)


@functools.lru_cache(maxsize=8)
def _has_cpus_only(context: Any) -> bool:
    return all(device.device_type == "CPU" for device in tf.config.list_logical_devices())


def from_dlpack(capsule: Any) -> tf.Tensor:
    """`tf.experimental.dlpack.from_dlpack` once TensorFlow is set up."""
    return _runtime.TFE_FromDlpackCapsule(capsule, _context.context()._handle)


def eager_context() -> object:
    """The eager context, to which graphs belong. It is another one after TensorFlow was set up anew."""
    return _context.context()


def in_eager_mode() -> bool:
    """Whether operations run at once on this thread (no graph is being built)."""
    return bool(_context.executing_eagerly())


def fetching(iterator: Any) -> Callable[[Any], Any]:
    """A function that gives the next element of a dataset's iterator. For plain tensors, it makes no executor for each call.

    It takes the iterator and holds nothing of it: one that outlives its loop keeps threads, and a process may wait for these as it ends.
    """
    names = ("_iterator_resource", "_flat_output_types", "_flat_output_shapes")
    if not switches.PRIVATE_CALLS or type(iterator) is not _iterators.OwnedIterator or not all(hasattr(iterator, name) for name in names):
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


def operations_are_watched() -> bool:
    """Whether a debugger is told of each operation."""
    return bool(_op_callbacks.should_invoke_op_callbacks())


def global_seed() -> int | None:
    """The seed that was last given to `tf.random.set_seed`."""
    return _context.global_seed()


def seed_generator() -> Any:
    """The generator that gives a seed to each random operation without one of its own."""
    return getattr(_context.context(), "_rng", None)


def set_seed_generator(generator: Any) -> None:
    """Replace `seed_generator()`; setting a global seed puts another one there."""
    _context.context()._rng = generator


def copied_variable(handle: tf.Tensor) -> tf.Variable:
    """A new variable with the value of the one that has this handle."""
    data = handle._handle_data.shape_and_type[0]
    return tf.Variable(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.as_dtype(data.dtype)), trainable=False)


def is_deterministic() -> bool:
    """Whether operations were asked to give the same result every time."""
    return bool(_config.is_op_determinism_enabled())
