"""Wrapped models under a distribution strategy: one graph for the step of all replicas, and a build that runs nothing.

Keras builds a model under a strategy before the first step, in a graph that is thrown away. The user's code in it is converted, so
that it may branch on tensors; what it writes or prints is part of that graph, and is never done.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from imp2tf.calls import call_in_text
from imp2tf.embedding import call_in_graph
from imp2tf.errors import Fallback
from imp2tf.keras import private
from imp2tf.keras.interposition import interposed
from imp2tf.session import active

__all__ = ["build", "is_distributed", "on_all_replicas", "reduced"]


class _Thread(threading.local):
    building = False


_thread = _Thread()


def is_distributed(model: Any) -> bool:
    """Whether the steps of a model run under a strategy."""
    strategy = private.strategy_of(model)
    return tf.distribute.has_strategy() or type(strategy).__name__ != "_DefaultDistributionStrategy"


def on_all_replicas(model: Any, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A step as the function that runs it on all replicas."""

    def one_replica(data: Any) -> Any:
        return step(data) if active() is None else call_in_text(step, data)

    def all_replicas(data: Any) -> Any:
        strategy = private.strategy_of(model)
        return strategy.run(one_replica, (data,)) if active() is None else call_in_text(strategy.run, one_replica, (data,))

    for made in (one_replica, all_replicas):
        made.__imp2tf_converted__ = True  # type: ignore[attr-defined]
    return all_replicas


def reduced(values: Any, model: Any, reduction: str) -> Any:
    """One value that combines those of all replicas of all workers."""
    strategy = private.strategy_of(model)
    if reduction == "concat" or not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return private.reduced(values, strategy, reduction)
    return keras.tree.map_structure(lambda one: strategy.reduce("MEAN", one, axis=None), values)


# ------------------------------------------------------------------------------------------------ building
def build(model: Any, batch: Any) -> None:
    """Make the variables of a model, its metrics and its optimizer, given a batch as the strategy distributes it."""
    strategy = private.strategy_of(model)
    batch = keras.tree.map_structure(lambda one: _of_one_replica(one, strategy), batch)
    with strategy.scope(), private.specs_through(_converted):
        private.build_symbolically(model, batch)


def _of_one_replica(value: Any, strategy: Any) -> Any:
    if isinstance(value, tf.experimental.Optional):
        return None
    return strategy.experimental_local_results(value)[0] if isinstance(value, tf.distribute.DistributedValues) else value


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """What Keras runs in a graph of its own to learn shapes, with the user's code in it converted."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if _thread.building or active() is not None:
            return function(*args, **kwargs)
        _thread.building = True
        try:
            with interposed():
                return call_in_graph(function, args, kwargs)
        except Fallback:
            return function(*args, **kwargs)
        finally:
            _thread.building = False

    return run
