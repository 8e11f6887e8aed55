"""The functions with which Keras runs the steps of a wrapped model: a batch from Python, then one graph for the whole step.

The first step runs as plain Python. What Keras would do eagerly around a step is done here likewise, so that callbacks see
what they see with ``run_eagerly=True``, and what they change is seen by the next step.
"""
from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from imp2tf.dispatch import Dispatcher
from imp2tf.graph import Graph
from imp2tf.keras import private
from imp2tf.keras.interposition import interposed, observed
from imp2tf.keras.replicas import is_distributed, on_all_replicas, reduced
from imp2tf.options import Options
from imp2tf.profile import Done, Recording
from imp2tf.tf_compat import fetching

__all__ = ["Step", "StepDispatcher", "predict_function", "running_as_python", "step_function"]

RECOMPILE_LIMIT = 32
ARRAY_KINDS = "biuf"


class _Thread(threading.local):
    as_python = 0


_thread = _Thread()


def running_as_python() -> bool:
    """Whether a step of this thread runs as plain Python: then everything in it does."""
    return _thread.as_python > 0


@contextlib.contextmanager
def _in_python() -> Iterator[None]:
    _thread.as_python += 1
    try:
        yield
    finally:
        _thread.as_python -= 1


class StepDispatcher(Dispatcher):
    """The graphs of one step of a model."""

    def _plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with _in_python():
            return super()._plain(args, kwargs)

    def _profiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with _in_python(), observed():
            return super()._profiled(args, kwargs)

    def _replayed(
        self, done: Done, args: tuple[Any, ...], kwargs: dict[str, Any], recording: Recording | None = None,
    ) -> tuple[Any, bool]:
        with _in_python(), observed():
            return super()._replayed(done, args, kwargs, recording)

    def _traced(self, values: Sequence[Any]) -> Graph:
        with interposed():
            return super()._traced(values)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        values = super()._bound(args, kwargs)
        return None if values is None else [_with_tensors(value) for value in values]

    def stats(self) -> dict[str, Any]:
        """What happened so far."""
        names = ("calls", "graph_calls", "eager_calls", "host_calls", "traces", "guard_misses")
        found: dict[str, Any] = {name: self.counts[name] for name in names}
        found["fallbacks"] = [record.to_dict() for record in self.fallbacks.values()]
        found["misses"] = list(self.misses)
        return found


def _with_tensors(data: Any) -> Any:
    """Data with tensors for arrays, which a graph takes as inputs. Plain Python is given the arrays."""
    if isinstance(data, np.ndarray) and data.dtype.kind in ARRAY_KINDS:
        return tf.convert_to_tensor(data)
    if type(data) in (tuple, list):
        return type(data)(map(_with_tensors, data))
    return {key: _with_tensors(item) for key, item in data.items()} if type(data) is dict else data


class Step:
    """One step of a model on one batch."""

    def __init__(self, model: keras.Model, kind: str) -> None:
        self.model = model
        self.reduction = "concat" if kind == "predict" else "auto"
        self.function: Callable[[Any], Any] = getattr(model, private.STEPS[kind])
        self.distributed = is_distributed(model)
        function = on_all_replicas(model, self.function) if self.distributed else self.function
        self.dispatcher = StepDispatcher(function, Options(
            jit_compile=True if model.jit_compile is True else None, recompile_limit=RECOMPILE_LIMIT))

    def __call__(self, data: Any) -> Any:
        if private.converts_optionals():
            data = keras.tree.map_structure(lambda one: None if isinstance(one, tf.experimental.Optional) else one, data)
        found = self.dispatcher((data,), {})
        return reduced(found, self.model, self.reduction) if self.distributed else found

    def stats(self) -> dict[str, Any]:
        """What happened so far."""
        return self.dispatcher.stats()


def step_function(model: keras.Model, kind: str) -> Callable[[Any], Any]:
    """The function that ``fit`` and ``evaluate`` call with an iterator: it runs one or more steps and returns the logs of the last one."""
    step, batches = Step(model, kind), _Batches()

    def function(iterator: Any) -> Any:
        outputs: Any = None
        if isinstance(iterator, (tf.data.Iterator, tf.distribute.DistributedIterator)):
            for data in _window(batches.of(iterator), model.steps_per_execution):
                outputs = _as_logs(step(data))
        else:
            for _, data in zip(range(model.steps_per_execution), iterator):
                outputs = step(data)
        return outputs

    function.__imp2tf_step__ = step  # type: ignore[attr-defined]
    return function


class _Batches:
    """How the next batch is fetched from the iterator that the steps of an epoch share."""

    def __init__(self) -> None:
        self.iterator: Callable[[], Any] = lambda: None
        self.fetch: Callable[[Any], Any] = lambda _: None

    def of(self, iterator: Any) -> Callable[[], Any]:
        """A function that gives the next batch."""
        if self.iterator() is not iterator:
            self.iterator, self.fetch = weakref.ref(iterator), fetching(iterator)
        return functools.partial(self.fetch, iterator)


def _window(fetch: Callable[[], Any], size: int) -> Iterator[Any]:
    """Up to `size` batches; the iterator's own error if there is none."""
    yield fetch()
    for _ in range(size - 1):
        try:
            data = fetch()
        except tf.errors.OutOfRangeError:
            return
        yield data


def _as_logs(outputs: Any) -> Any:
    """The results of a step as they come out of the optional that Keras puts them in: Python values are tensors then."""
    if all(isinstance(one, tf.Tensor) for one in tf.nest.flatten(outputs)):
        return outputs
    return tf.experimental.Optional.from_value(outputs).get_value()


def predict_function(model: keras.Model) -> Callable[[list[Any]], Any]:
    """The function that ``predict`` calls with a list of batches: it returns their outputs as one batch."""
    step = Step(model, "predict")

    def function(data: list[Any]) -> Any:
        outputs = step(data[0])
        for one in data[1:]:
            outputs = private.joined_batches(outputs, step(one))
        return outputs

    function.__imp2tf_step__ = step  # type: ignore[attr-defined]
    return function
