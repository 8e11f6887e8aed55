"""``model(x)`` of a wrapped model: a graph where Keras would run it eagerly, and converted code in a graph of somebody else."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from imp2tf.embedding import call_in_graph
from imp2tf.errors import Fallback, NeedsValue, fall_back
from imp2tf.keras import private
from imp2tf.keras.interposition import interposed
from imp2tf.keras.steps import StepDispatcher, running_as_python
from imp2tf.lowering import lowered
from imp2tf.options import Options
from imp2tf.session import active, in_host_call
from imp2tf.tf_compat import in_eager_mode

__all__ = ["KEPT", "call_model"]

KEPT = "_imp2tf_forward"


class _Thread(threading.local):
    embedding = False


_thread = _Thread()


class _Forward:
    """The call of one model, as the function that is traced."""

    def __init__(self, model: keras.Model, original: Callable[..., Any]) -> None:
        self.model = model
        self.original = original
        self.dispatcher = StepDispatcher(self.run, Options(name="forward"))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What Keras does for ``model(*args, **kwargs)``."""
        if active() is None:
            return self.original(self.model, *args, **kwargs)
        outputs = self.original(self.model, *[lowered(one) for one in args], **{name: lowered(one) for name, one in kwargs.items()})
        if any(private.mask_of(one) is not None for one in keras.tree.flatten(outputs)):
            fall_back(NeedsValue, "a mask goes with the outputs of a model")
        return outputs


def call_model(model: Any, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``model(*args, **kwargs)`` for a wrapped model; `original` is Keras's own method."""
    if active() is not None or in_host_call() or running_as_python() or tf.distribute.has_strategy() or not _takes(model, args, kwargs):
        return original(model, *args, **kwargs)
    forward = model.__dict__.get(KEPT)
    if forward is None:
        forward = model.__dict__[KEPT] = _Forward(model, original)
    if in_eager_mode():
        return forward.dispatcher(args, kwargs)
    return _embedded(forward, args, kwargs)


def _takes(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is one on data, of a model that has its variables."""
    given = keras.tree.flatten((args, kwargs))
    return model.built and not any(isinstance(one, keras.KerasTensor) for one in given)


def _embedded(forward: _Forward, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call while somebody else builds a graph."""
    if _thread.embedding:
        return forward.original(forward.model, *args, **kwargs)
    _thread.embedding = True
    try:
        with interposed():
            return call_in_graph(forward.run, args, kwargs)
    except Fallback as fallback:
        failure = fallback.error
    finally:
        _thread.embedding = False
    forward.dispatcher.note(failure)
    return forward.original(forward.model, *args, **kwargs)
