"""Which models are wrapped, and the step functions that Keras makes for them."""
from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import keras

from imp2tf.keras import private
from imp2tf.keras.forward import KEPT, call_model
from imp2tf.keras.replicas import build
from imp2tf.keras.steps import predict_function, step_function

__all__ = ["is_wrapped", "stats", "unwrap", "wrap", "wrapping"]

M = TypeVar("M", keras.Model, type[keras.Model])

_models: dict[int, weakref.ref[Any]] = {}
_classes: weakref.WeakSet[type] = weakref.WeakSet()


class _Thread(threading.local):
    wrapping = 0


_thread = _Thread()


def wrap(model: M) -> M:
    """Let a model train, evaluate and predict as with ``run_eagerly=True``, at the speed of graphs.

        model = imp2tf.keras.wrap(model)

        @imp2tf.keras.wrap
        class Classifier(keras.Model): ...

    Args:
      model: a Keras model of any kind, built or not, compiled or not. Or a class of models: then all its instances are wrapped.

    Returns:
      The same model or class. Copies, clones and loaded models are not wrapped, unless their class is.

    Raises:
      TypeError: it is neither a Keras model nor a class of Keras models.
    """
    if isinstance(model, type) and issubclass(model, keras.Model):
        _classes.add(model)
    elif private.is_trainer(model):
        key = id(model)
        _models[key] = weakref.ref(model, lambda _: _models.pop(key, None))
        private.forget_functions(model)
    else:
        raise TypeError(f"model must be a Keras model or a class of such, not {type(model).__name__}")
    return model


def unwrap(model: M) -> M:
    """Undo `wrap`: the model, or the models of the class, run as Keras runs them.

    Args:
      model: a model or a class of models. It need not be wrapped.

    Returns:
      The same model or class.
    """
    if isinstance(model, type):
        _classes.discard(model)
    else:
        _models.pop(id(model), None)
        vars(model).pop(KEPT, None)
        private.forget_functions(model)
    return model


@contextlib.contextmanager
def wrapping() -> Iterator[None]:
    """Inside the block, all models are wrapped that this thread trains, evaluates or predicts with.

        with imp2tf.keras.wrapping():
            model.fit(x, y)
    """
    _thread.wrapping += 1
    try:
        yield
    finally:
        _thread.wrapping -= 1


def is_wrapped(model: Any) -> bool:
    """Whether a model is wrapped: by itself, by its class, or by `wrapping` on this thread."""
    return id(model) in _models or _thread.wrapping > 0 or any(cls in _classes for cls in type(model).__mro__)


def stats(model: keras.Model) -> dict[str, dict[str, Any]]:
    """What happened in the steps of a wrapped model so far.

        imp2tf.keras.stats(model)["train"]["fallbacks"]

    Returns:
      A dict for each kind of step that has run: "train", "test", "predict", and "call" for ``model(x)``. Its entries are those of
      `imp2tf.ConvertedFunction.stats`: ``calls``, ``graph_calls``, ``eager_calls``, ``host_calls``, ``traces``, ``guard_misses`` and
      ``fallbacks``; and ``misses``, the reasons why the step was traced again.
    """
    found = {}
    for kind in private.STEPS:
        step = getattr(getattr(model, f"{kind}_function", None), "__imp2tf_step__", None)
        if step is not None:
            found[kind] = step.stats()
    if KEPT in vars(model):
        found["call"] = vars(model)[KEPT].dispatcher.stats()
    return found


def _making(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """``make_train_function`` and its like."""
    name = f"{kind}_function"

    @functools.wraps(original)
    def make(self: Any, force: bool = False) -> Any:
        made = getattr(self, name)
        ours = hasattr(made, "__imp2tf_step__")
        if not is_wrapped(self) or self.run_eagerly:
            return original(self, force=force or ours)
        if ours and not force:
            return made
        setattr(self, name, predict_function(self) if kind == "predict" else step_function(self, kind))
        return None

    return make


def _calling(original: Callable[..., Any]) -> Callable[..., Any]:
    """``model(...)``."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_wrapped(self) or self.run_eagerly:
            return original(self, *args, **kwargs)
        return call_model(self, original, args, kwargs)

    return call


def _building(original: Callable[..., Any]) -> Callable[..., Any]:
    """What Keras does before the first step of a model that was made under a strategy."""

    @functools.wraps(original)
    def build_model(self: Any, iterator: Any = None, data_batch: Any = None) -> Any:
        if not is_wrapped(self) or self.run_eagerly or not private.has_own_strategy(self):
            return original(self, iterator=iterator, data_batch=data_batch)
        if iterator is not None:
            data_batch = next(next(batches for _, _, batches in iterator))
        return build(self, data_batch)

    return build_model


private.replace_call(_calling)
private.replace_building(_building)
for _kind, _original, _replace in private.makers():
    _replace(_making(_kind, _original))
