"""Calls of finished graphs: by the runtime on flat tensors, or as TensorFlow documents them."""
from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import switches
from imp2tf.tf_compat.optimizer import careful, config_for
from imp2tf.tf_compat.private import atomic_function as _atomic_function
from imp2tf.tf_compat.private import cancellation as _cancellation
from imp2tf.tf_compat.private import concrete_function as _concrete_function
from imp2tf.tf_compat.private import context as _context
from imp2tf.tf_compat.private import core as _core
from imp2tf.tf_compat.private import ops as _ops
from imp2tf.tf_compat.private import runtime as _runtime
from imp2tf.trials import APART, COMPILED, QUICK, Compiler, Form, Trial

MOST_MISSES = 3  # a twin that cannot serve so many calls is given up
OTHER: Form = ()  # the form of a call that says nothing about the form on trial
REFUSALS = (tf.errors.OpError, _core._NotOkStatusException)


def call_concrete(concrete: Any, captured: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Run a concrete function without arguments on its captured tensors; flat outputs. Gradients are recorded.

    Without `switches.PRIVATE_CALLS`, TensorFlow fetches by itself what is captured.
    """
    with careful(concrete.graph):
        outputs = concrete._call_flat([], list(captured)) if switches.PRIVATE_CALLS else tf.nest.flatten(concrete())
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
        config = config_for(self._function.graph, context.function_call_options.config_proto_serialized, form[0] == QUICK)
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
        with careful(self._function.graph):
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


class _Named:
    """A function by its name, as attributes of operations want it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def add_to_graph(self, graph: Any) -> None:
        """Do nothing: the graph knows the function already."""


def direct_call(
    concrete: Any, may_inline: Callable[[], bool], may_switch: bool, compiler: Compiler | None = None,
) -> Callable[[list[tf.Tensor]], list[tf.Tensor]]:
    """A function that calls a concrete function on the tensors it captures, while no tape watches them."""
    if switches.PRIVATE_CALLS:
        with contextlib.suppress(AttributeError):
            return DirectCall(concrete._inference_function, may_inline, may_switch, compiler)
    return functools.partial(call_concrete, concrete)


def compiled_copy(concrete: Any) -> Any:
    """A concrete function of the same graph that XLA compiles."""
    function = concrete._inference_function
    name = f"{function.name.decode()}_xla"
    copy = _atomic_function.from_func_graph(name, concrete.graph, {"_XlaMustCompile": True}, function_type=function.function_type)
    return _concrete_function.ConcreteFunction(copy)
