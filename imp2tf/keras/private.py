"""The one door to Keras's private symbols.

Nothing else imports ``keras.src`` or touches a name of Keras that is not public. `self_test` says which of them a version of Keras
does not have, so that a new version is named by a failing test rather than by a strange error.
"""
from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf
from keras.src import backend as _backend
from keras.src.backend.tensorflow import trainer as _trainer
from keras.src.saving.keras_saveable import KerasSaveable
from keras.src.trainers.compile_utils import CompileLoss
from keras.src.utils import traceback_utils as _tracebacks

__all__ = [
    "BASES",
    "BOOKKEEPING",
    "CALLED_AT_ONCE",
    "FILTERING",
    "FIXED_IN_VARIABLES",
    "LOOPING",
    "MADE_BY",
    "STEPS",
    "TRACKING",
    "TRAINER",
    "TensorFlow",
    "build_symbolically",
    "converts_optionals",
    "described_call",
    "flat_layers",
    "forget_functions",
    "gives_python_logs",
    "has_own_strategy",
    "is_trainer",
    "joined_batches",
    "makers",
    "mask_of",
    "reads_static_batch",
    "reduced",
    "replace_building",
    "replace_call",
    "self_test",
    "settings",
    "specs_through",
    "strategy_of",
    "tells_arguments",
    "variables_of",
]

# The classes whose instances Keras reads and writes while it runs a step. None of them has hooks of its own for attribute reads.
BASES: tuple[type, ...] = (
    KerasSaveable, keras.regularizers.Regularizer, keras.constraints.Constraint, keras.optimizers.schedules.LearningRateSchedule,
    keras.initializers.Initializer, keras.DTypePolicy, keras.Variable, keras.random.SeedGenerator,
)


def _first_constructor(cls: type) -> type:
    """The base of a class of Keras whose ``__init__`` runs first."""
    return next(base for base in reversed(cls.__mro__) if base.__module__.startswith("keras.") and "__init__" in vars(base))


# The classes whose ``__init__`` every such object goes through.
MADE_BY: tuple[type, ...] = tuple(map(_first_constructor, (
    keras.Operation, keras.losses.Loss, keras.metrics.Metric, keras.optimizers.Optimizer, keras.Variable)))
# Objects that keep copies of the lists, dicts and sets that are assigned to their attributes, and watch these.
TRACKING: tuple[type, ...] = (keras.Layer, keras.Metric, keras.Optimizer)
# What Keras notes for itself at every call, or once and for all: no part of what a step computes.
BOOKKEEPING = frozenset({
    "_allow_non_tensor_positional_args", "_call_has_mask_arg", "_call_has_training_arg", "_compute_loss_has_training_arg",
    "_convert_input_args", "_functional", "_inputs", "_inputs_struct", "_nnx_op_mapping", "_nodes", "_nodes_by_depth", "_operations",
    "_operations_by_depth", "_outputs", "_outputs_struct", "compiled",
    "_build_shapes_dict", "_call_context_args", "_call_has_context_arg", "_call_signature", "_called", "_eval_epoch_iterator",
    "_inbound_nodes", "_initial_epoch", "_lock", "_loss_ids", "_losses", "_losses_override", "_name", "_obj_reference_counts_dict",
    "_outbound_nodes", "_parent_path", "_path", "_saved_model_arg_spec", "_saved_model_inputs_spec", "_self_setattr_tracking", "_tracked",
    "_tracker", "built", "call_signature_parameters", "history", "name", "predict_function", "stop_evaluating", "stop_predicting",
    "stop_training", "test_function", "train_function", "_self_unconditional_checkpoint_dependencies",
    "_self_unconditional_dependency_names", "_self_update_uid", "_self_name_based_restores",
})
TRAINER = _trainer
# The modules whose loops call the user's code. The package has a function of the name of one of them.
LOOPING = tuple(sys.modules[f"keras.src.backend.tensorflow.{name}"] for name in ("rnn", "core"))


class TensorFlow:
    """The module ``tensorflow`` as a module of Keras is to see it: some of its names replaced."""

    def __init__(self, **replaced: Any) -> None:
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(tf, name)


# The method of an optimizer that every `apply` calls to leave out the variables whose gradient is None.
FILTERING = "_filter_empty_gradients"
# What a variable is made with, and keeps.
FIXED_IN_VARIABLES = frozenset({
    "_aggregation", "_autocast", "_dtype", "_initializer", "_layout", "_ndim", "_shape", "_synchronization", "_value",
    "_should_act_as_resource_variable",
})
# Attributes under which Keras keeps functions of the user that it reads only to call them.
CALLED_AT_ONCE = frozenset({"activation", "call", "fn", "_fn", "function", "recurrent_activation", "update_state"})
STEPS = {"train": "train_step", "test": "test_step", "predict": "predict_step"}
_MADE = tuple(f"make_{kind}_function" for kind in STEPS)


def is_trainer(value: object) -> bool:
    """Whether a value is a model that Keras can fit."""
    return isinstance(value, _trainer.TensorFlowTrainer)


def makers() -> Iterator[tuple[str, Callable[..., Any], Callable[[Callable[..., Any]], None]]]:
    """For each kind of step, the method that makes its function, and a way to replace that method."""
    for kind in STEPS:
        name = f"make_{kind}_function"

        def replace(method: Callable[..., Any], name: str = name) -> None:
            setattr(_trainer.TensorFlowTrainer, name, method)

        yield kind, getattr(_trainer.TensorFlowTrainer, name), replace


def replace_call(wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a wrapper around what Keras does when a model is called."""
    _trainer.TensorFlowTrainer.__call__ = wrapper(keras.Layer.__call__)


def mask_of(tensor: Any) -> Any:
    """The mask that Keras has attached to a tensor, or None."""
    return getattr(tensor, "_keras_mask", None)


def forget_functions(model: Any) -> None:
    """Let the next call make its step functions anew."""
    model.train_function = model.test_function = model.predict_function = None


def replace_building(wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a wrapper around what builds models under a strategy."""
    _trainer.TensorFlowTrainer._maybe_symbolic_build = wrapper(_trainer.TensorFlowTrainer._maybe_symbolic_build)


def has_own_strategy(model: Any) -> bool:
    """Whether a model was made under a strategy, and is built under it before its first step."""
    return model._distribute_strategy is not None


def build_symbolically(model: Any, batch: Any) -> None:
    """Make all variables that steps on such batches need."""
    model._symbolic_build(data_batch=batch)


@contextlib.contextmanager
def specs_through(wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Inside, what Keras runs to learn shapes is wrapped."""
    original = _backend.compute_output_spec

    def compute_output_spec(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(wrapper(function), *args, **kwargs)

    _backend.compute_output_spec = compute_output_spec
    try:
        yield
    finally:
        _backend.compute_output_spec = original


def strategy_of(model: Any) -> Any:
    """The distribution strategy that a model was made under."""
    return model.distribute_strategy


def reduced(values: Any, strategy: Any, reduction: str) -> Any:
    """One value that combines those of all replicas."""
    return _trainer.reduce_per_replica(values, strategy, reduction=reduction)


def joined_batches(first: Any, second: Any) -> Any:
    """The outputs of two predict steps, one after the other."""
    return keras.tree.map_structure(lambda a, b: _trainer.concat([a, b]), first, second)


def converts_optionals() -> bool:
    """Whether this Keras turns optional data into None (since 3.12)."""
    return hasattr(_trainer.TensorFlowTrainer, "_autoconvert_optionals")


def gives_python_logs(owner: Any, name: str) -> bool:
    """Whether a method of a model gives its metrics as Python numbers where that can be (before 3.14)."""
    method = vars(keras.Model).get(name) or getattr(_trainer.TensorFlowTrainer, name, None)
    return name == "get_metrics_result" and is_trainer(owner) and "pythonify_logs" in getattr(method, "__code__", _NO_CODE).co_names


_NO_CODE = (lambda: None).__code__


def flat_layers(owner: Any) -> list[Any]:
    """A layer and all layers in it."""
    return list(owner._flatten_layers())


def variables_of(optimizer: Any) -> list[Any]:
    """The variables that an optimizer was built for."""
    return list(optimizer._trainable_variables)


def reads_static_batch(owner: Any, name: str) -> bool:
    """Whether Keras is about to weigh the losses of several outputs by the static size of the batch, which it takes for 1 if unknown."""
    return name == "_flat_losses" and isinstance(owner, CompileLoss) and len(owner.__dict__.get(name) or ()) > 1


def settings() -> tuple[Any, ...]:
    """The global settings of Keras on which the computation of a step depends."""
    config = keras.config
    return config.floatx(), config.epsilon(), config.image_data_format(), config.dtype_policy(), config.is_traceback_filtering_enabled()


def tells_arguments() -> bool:
    """Whether Keras adds to an exception what the layer was called with."""
    return bool(_tracebacks.is_traceback_filtering_enabled())


def described_call(method: Callable[..., Any], owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                   error: BaseException) -> BaseException:
    """An exception that left the `call` of a layer, as Keras hands it on."""

    def raising(*_: Any, **__: Any) -> None:
        raise error

    raising.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    try:
        _tracebacks.inject_argument_info_in_traceback(raising, object_name=f"{type(owner).__name__}.call()")(*args, **kwargs)
    except BaseException as told:
        return told
    raise AssertionError("unreachable")


def self_test() -> list[str]:
    """The private names of Keras that this version does not have as they are needed."""
    trainer = _trainer.TensorFlowTrainer
    of_trainer = (*_MADE, "_maybe_symbolic_build", "_symbolic_build", *STEPS.values())
    missing = [name for name in of_trainer if not callable(getattr(trainer, name, None))]
    missing += [name for name in ("reduce_per_replica", "concat") if not callable(getattr(_trainer, name, None))]
    missing += [base.__name__ for base in BASES if "__getattribute__" in vars(base)]
    missing += [made.__name__ for made in MADE_BY if not isinstance(vars(made).get("__init__"), types.FunctionType)]
    missing += [cls.__name__ for cls in (keras.Layer, keras.Loss, keras.Metric, keras.Optimizer) if not issubclass(cls, KerasSaveable)]
    missing += [FILTERING] if not callable(getattr(keras.optimizers.Optimizer, FILTERING, None)) else []
    missing += [] if callable(getattr(_backend, "compute_output_spec", None)) else ["compute_output_spec"]
    layer = keras.layers.Dense(1)
    layer(tf.zeros([1, 1]))
    missing += [name for name in ("_losses", "_loss_ids", "_called", "_tracker") if name not in vars(layer)]
    return missing + ([] if flat_layers(layer) == [layer] else ["_flatten_layers"])
