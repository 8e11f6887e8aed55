"""Calls of a graph while a gradient tape records: None where eager's gradient is None, where the graph's own would be zeros.

An input that no result depends on is handed to the graph as an alias that no tape watches. One that the results depend on
only on some ways passes a gate, which is open if the run went one of them.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.connectivity import CALLS, Connections, Junction, is_differentiable
from imp2tf.tf_compat import call_concrete, gated, variable_accessed

__all__ = ["Taped"]

MAX_WAYS = 256  # remembered for one graph


class Taped:
    """A concrete function as tapes are to see it; if it has `junctions`, its last result tells the way of the run."""

    def __init__(self, concrete: Any, captures: Sequence[Any], junctions: Sequence[Junction]) -> None:
        self._concrete = concrete
        handles = {id(variable.handle): variable for variable in concrete.graph.variables}
        self._variables = {place: handles[id(one)] for place, one in enumerate(captures) if id(one) in handles}
        self._junctions = junctions
        self._graph = concrete.graph
        self._results = list(concrete.graph.outputs)
        self._open: dict[bytes, list[bool]] = {}

    def __call__(self, captured: list[Any]) -> list[tf.Tensor]:
        """The results on the captured inputs."""
        closed, gates = self._inputs
        for place in closed:
            captured[place] = tf.stop_gradient(captured[place])
        run = _Run(self)
        for place in gates:
            if place in self._variables:
                variable_accessed(self._variables[place])
            captured[place] = gated(captured[place], functools.partial(run.connects, place))
        outputs = call_concrete(self._concrete, captured)
        if self._junctions:
            run.way = outputs[-1]
        return outputs

    @functools.cached_property
    def _inputs(self) -> tuple[list[int], list[int]]:
        """Places of the inputs that no result depends on, and of those that some may depend on."""
        if not any(op.type in CALLS for op in self._graph.get_operations()):
            return [], []  # gradients are None by themselves
        places = [place for place, tensor in enumerate(self._graph.inputs) if self._may_be_watched(place, tensor)]
        possible = self._connected(Connections())
        certain = self._connected(Connections(certain=True)) if self._junctions else possible
        closed = [place for place in places if not possible[place]]
        return closed, [place for place in places if possible[place] and not certain[place]]

    def _may_be_watched(self, place: int, tensor: tf.Tensor) -> bool:
        if tensor.dtype in (tf.resource, tf.variant):
            return place in self._variables
        return is_differentiable(tensor)

    def _connected(self, connections: Connections) -> list[bool]:
        return connections.reached(self._graph, self._graph.inputs, self._results)

    def connected_on(self, way: tf.Tensor) -> list[bool]:
        """For each input, whether a result depends on it if the run goes this way."""
        taken = way.numpy()
        key = taken.tobytes()
        if key not in self._open:
            if len(self._open) >= MAX_WAYS:
                self._open.clear()
            ways = dict(zip(self._junctions, taken.tolist(), strict=True))
            self._open[key] = self._connected(Connections(ways))
        return self._open[key]


class _Run:
    """One call: the way it went is known when its gradient is asked for."""

    def __init__(self, taped: Taped) -> None:
        self._taped = taped
        self.way: tf.Tensor | None = None

    def connects(self, place: int) -> bool:
        """Whether a result depends on an input."""
        return self.way is None or self._taped.connected_on(self.way)[place]
