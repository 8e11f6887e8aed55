"""Calls of a graph while a gradient tape records: None where eager's gradient is None, where the graph's own would be zeros.

An input that no result depends on is handed to the graph as an alias that no tape watches. One that only some results
depend on, or only on some ways, passes a gate: it is open if a result that depends on it, on the way the run went, is what is
differentiated. The tape tells: it comes by those results before it comes to the gates.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.connectivity import CALLS, Connections, Junction, is_differentiable
from imp2tf.junctions import ways_told
from imp2tf.tf_compat import call_concrete, gated, variable_accessed, watched_result

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
        self._results = [place for place, tensor in enumerate(concrete.graph.outputs) if is_differentiable(tensor)]
        self._open: dict[bytes, list[int]] = {}

    @property
    def has_ways(self) -> bool:
        """Whether the graph tells the way of its run."""
        return bool(self._junctions)

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
        outputs = list(call_concrete(self._concrete, captured))
        if self._junctions:
            run.way = outputs[-1]
        if gates and len(self._results) > 1:
            for bit, place in enumerate(self._results):
                outputs[place] = watched_result(outputs[place], functools.partial(run.asked, bit))
        return outputs

    @functools.cached_property
    def _inputs(self) -> tuple[list[int], list[int]]:
        """Places of the inputs that no result depends on, and of those that not every result depends on on every way."""
        if len(self._results) < 2 and not any(op.type in CALLS for op in self._graph.get_operations()):
            return [], []  # gradients are None by themselves
        places = [place for place, tensor in enumerate(self._graph.inputs) if self._may_be_watched(place, tensor)]
        possible = self._dependents(Connections())
        certain = self._dependents(Connections(certain=True)) if self._junctions else possible
        every = (1 << len(self._results)) - 1
        closed = [place for place in places if not possible[place]]
        return closed, [place for place in places if possible[place] and certain[place] != every]

    def _may_be_watched(self, place: int, tensor: tf.Tensor) -> bool:
        if tensor.dtype in (tf.resource, tf.variant):
            return place in self._variables
        return is_differentiable(tensor)

    def _dependents(self, connections: Connections) -> list[int]:
        """For each input, the mask of the differentiable results that depend on it."""
        outputs, inputs = self._graph.outputs, self._graph.inputs
        reached = connections.reached(self._graph, inputs, [outputs[place] for place in self._results])
        return [sum(1 << bit for bit, mask in enumerate(reached) if mask >> place & 1) for place in range(len(inputs))]

    def dependents_on(self, way: tf.Tensor | None) -> list[int]:
        """For each input, the mask of the results that depend on it if the run goes this way."""
        taken = np.zeros(0, bool) if way is None else way.numpy()
        key = taken.tobytes()
        if key not in self._open:
            if len(self._open) >= MAX_WAYS:
                self._open.clear()
            self._open[key] = self._dependents(Connections(ways_told(self._junctions, taken.tolist())))
        return self._open[key]


class _Run:
    """One call: the way it went, and which of its results a gradient is asked of, are known when the tape comes by."""

    def __init__(self, taped: Taped) -> None:
        self._taped = taped
        self.way: tf.Tensor | None = None
        self._asked = 0
        self._answered = False

    def asked(self, result: int) -> None:
        """A gradient comes to a result, by its number."""
        if self._answered:  # this is another gradient
            self._asked, self._answered = 0, False
        self._asked |= 1 << result

    def connects(self, place: int) -> bool:
        """Whether a result that is differentiated depends on an input."""
        self._answered = True
        if self.way is None and self._taped.has_ways:  # forward mode asks before the run
            return True
        dependents = self._taped.dependents_on(self.way)[place]
        return bool(dependents & self._asked if self._asked else dependents)
