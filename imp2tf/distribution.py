"""Lets `tf.distribute` take converted functions: in `Strategy.run` and in `ClusterCoordinator.schedule`.

``strategy.run(step)`` outside of any graph calls ``step`` once for each replica. If each replica had a graph of its own, these graphs
could not synchronise in their middle, as optimizers need to. So the call of all replicas becomes one graph, as for a `tf.function`.

A coordinator ships graphs to workers that have no Python. It is given a `tf.function`, and functions that need Python are refused.
"""
from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

import tensorflow as tf

from imp2tf.converted_function import BoundFunction, ConvertedFunction
from imp2tf.tf_compat import in_eager_mode, in_replica

__all__ = ["install"]

MAX_LIFTED = 16


def install() -> None:
    """Let strategies and coordinators take converted functions. Other functions are treated as before. May be called again."""
    strategy = tf.distribute.Strategy
    if not hasattr(strategy.run, "__imp2tf__"):
        strategy.run = _running(strategy.run)
        coordinator = tf.distribute.coordinator.ClusterCoordinator
        coordinator.schedule = _scheduling(coordinator.schedule)


def _running(run: Any) -> Any:
    @functools.wraps(run)
    def run_on_replicas(self: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        if isinstance(fn, (ConvertedFunction, BoundFunction)) and in_eager_mode() and not in_replica():
            return _lifted(fn, self, types.MethodType(run, self))(args, kwargs or {}, options)
        return run(self, fn, args, kwargs, options)

    run_on_replicas.__imp2tf__ = True  # type: ignore[attr-defined]
    return run_on_replicas


def _lifted(fn: Any, strategy: Any, run: Any) -> ConvertedFunction[..., Any]:
    """A converted function that makes the call on all replicas. Its calls count as calls of `fn`."""
    converted: ConvertedFunction[..., Any] = fn.__func__ if isinstance(fn, BoundFunction) else fn
    cache: dict[Any, ConvertedFunction[..., Any]] = converted.__dict__.setdefault("_lifted", {})
    key = id(strategy), id(getattr(fn, "__self__", None))  # both are held by what is cached
    if key not in cache:
        if len(cache) >= MAX_LIFTED:
            del cache[next(iter(cache))]
        options = dataclasses.replace(converted._options, input_signature=None, name=converted.name)
        cache[key] = ConvertedFunction(functools.partial(run, fn.__imp2tf_function__), options)
    return cache[key].counted_as(converted)


def _scheduling(schedule: Any) -> Any:
    @functools.wraps(schedule)
    def schedule_on_worker(self: Any, fn: Any, args: Any = None, kwargs: Any = None) -> Any:
        if isinstance(fn, (ConvertedFunction, BoundFunction)):
            fn = fn.as_tf_function()
        return schedule(self, fn, args, kwargs)

    return schedule_on_worker
