"""The one module that imports private modules of TensorFlow; the rest of the package takes them from here."""
from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe as runtime
from tensorflow.python.client import pywrap_tf_session as graphs
from tensorflow.python.data.ops import iterator_ops as iterators
from tensorflow.python.eager import cancellation, context, core, record
from tensorflow.python.eager.polymorphic_function import atomic_function, concrete_function
from tensorflow.python.framework import auto_control_deps as control_deps
from tensorflow.python.framework import config, func_graph, op_callbacks, op_def_library, op_def_registry, ops, random_seed
from tensorflow.python.framework.auto_control_deps import AutomaticControlDependencies
from tensorflow.python.ops import cond_v2, while_v2
from tensorflow.python.ops import control_flow_util_v2 as util
from tensorflow.python.ops import handle_data_util as handle_data
from tensorflow.python.ops import resource_variable_ops as variables
from tensorflow.python.ops import tensor_array_ops as arrays
from tensorflow.python.util import tf_stack as stack

__all__ = [
    "DEFAULT_GRAPH_SEED",
    "IMPURE_TENSORFLOW",
    "AutomaticControlDependencies",
    "EagerTensor",
    "FuncGraph",
    "arrays",
    "atomic_function",
    "cancellation",
    "concrete_function",
    "cond_v2",
    "config",
    "context",
    "control_deps",
    "core",
    "func_graph",
    "graphs",
    "handle_data",
    "is_symbolic_tensor",
    "iterators",
    "op_callbacks",
    "op_def_library",
    "op_def_registry",
    "ops",
    "random_seed",
    "record",
    "runtime",
    "stack",
    "util",
    "variables",
    "while_v2",
]

# Modules of TensorFlow and Keras whose functions do what no operation stands for: files, settings, training loops.
IMPURE_TENSORFLOW = (
    "tensorflow.python.saved_model", "tensorflow.python.checkpoint", "tensorflow.python.lib.io", "tensorflow.python.framework.config",
    "tensorflow.python.profiler", "tensorflow.python.training.saver", "tensorflow.python.platform", "keras.src.saving",
    "keras.src.backend.common.global_state", "keras.src.utils", "keras.src.backend.config",
)
EagerTensor: type = ops.EagerTensor
DEFAULT_GRAPH_SEED: int = random_seed.DEFAULT_GRAPH_SEED
FuncGraph = Any


def is_symbolic_tensor(value: object) -> bool:
    """Whether `value` is a tensor of a graph under construction."""
    return isinstance(value, tf.Tensor) and not isinstance(value, EagerTensor)
