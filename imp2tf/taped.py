"""Calls of a graph while a gradient tape records: None where eager's gradient is None, where the graph's own would be zeros.

An input that no result depends on is not told to the tape. One that only some results depend on, or only on some ways, passes
a gate: it is open if a result that depends on it, on the way the run went, is what is differentiated. The tape tells: it comes
by those results before it comes to the gates.

The usual tape, one that is asked once, is served here: the graph that keeps what its gradient needs is run, and one record
made. For other tapes and for forward accumulators TensorFlow makes the call, on aliases of the inputs.
"""
from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from imp2tf.connectivity import CALLS, LOOPS, Connections, Wiring, is_differentiable
from imp2tf.junctions import Told, ways_told
from imp2tf.parted import NOTHING, Mask, Parted
from imp2tf.spreading import spreading
from imp2tf.tf_compat import (
    DirectCall,
    FuncGraph,
    TapeFunctions,
    call_concrete,
    direct_call,
    function_graph,
    functions_of,
    gated,
    in_eager_mode,
    record,
    tape_functions,
    tape_may_record,
    variables_accessed,
    watched_result,
    watching,
    with_rows_told,
)
from imp2tf.trials import Compiler

__all__ = ["Taped"]

SEVERAL = 2
MAX_WAYS = 256  # so many ways of a run are remembered for one graph
MOST_ELEMENTS = 1 << 20  # larger gradients are not searched for zeros


class Taped:
    """A concrete function as gradient tapes see it. If it has `junctions`, its last result tells the way of the run."""

    def __init__(self, concrete: Any, captures: Sequence[Any], junctions: Sequence[Told], may_inline: Callable[[], bool],
                 may_switch: bool, compiler: Compiler | None = None) -> None:
        self._concrete = concrete
        variables = concrete.graph.variables
        handles = {id(variable.handle) for variable in variables}
        self._variables = {place for place, one in enumerate(captures) if id(one) in handles}
        self._trainable = [weakref.ref(variable) for variable in variables if variable.trainable]
        self._junctions = junctions
        self._graph = concrete.graph
        self._wiring = Wiring()
        self._count = len(concrete.graph.outputs)
        self._results = [place for place, tensor in enumerate(concrete.graph.outputs) if is_differentiable(tensor)]
        self._open: dict[bytes, list[int]] = {}
        self._may_inline, self._may_switch = may_inline, may_switch
        self._unrecorded = direct_call(concrete, may_inline, may_switch, compiler)
        self._functions: TapeFunctions | Literal[False] | None = None  # False: TensorFlow has none that can be used
        self._making = threading.Lock()

    @property
    def has_ways(self) -> bool:
        """Whether the graph tells the way of its run."""
        return bool(self._junctions)

    @property
    def tier(self) -> str:
        """How the calls run that no tape records."""
        return self._unrecorded.tier if isinstance(self._unrecorded, DirectCall) else "graph"

    def __call__(self, captured: list[Any]) -> list[tf.Tensor]:
        """The results on the captured inputs."""
        if not tape_may_record():
            return self._unrecorded(captured)
        variables_accessed([reference() for reference in self._trainable])
        closed, _ = self._inputs
        kind = watching([one for place, one in enumerate(captured) if place not in closed] if closed else captured)
        if kind == 0:
            return self._unrecorded(captured)
        functions = self._functions_on(captured) if kind == 1 else None
        return self._by_tensorflow(captured) if functions is None else _FirstOrder(self, functions).call(captured)

    def _functions_on(self, captured: list[Any]) -> TapeFunctions | None:
        """The functions for a tape that is asked once, made for the first one that comes."""
        if self._functions is None:
            with self._making:
                if self._functions is None:
                    found = tape_functions(self._concrete, captured, self._count, self._may_inline, self._may_switch)
                    self._functions = False if found is None else found
        return self._functions or None

    def _by_tensorflow(self, captured: list[Any]) -> list[tf.Tensor]:
        """Whatever tapes and accumulators there are: aliases stand for the inputs that they must not see, or not always."""
        closed, gates = self._inputs
        for place in closed:
            captured[place] = tf.stop_gradient(captured[place])
        run = _Run(self)
        for place in gates:
            captured[place] = gated(captured[place], functools.partial(run.connects, place))
        return run.told(list(call_concrete(self._concrete, captured)), bool(gates))

    @functools.cached_property
    def _inputs(self) -> tuple[frozenset[int], frozenset[int]]:
        """Places of the inputs that no result depends on, and of those that not every result depends on on every way."""
        if len(self._results) < 2 and not any(op.type in CALLS for op in self._graph.get_operations()):
            return frozenset(), frozenset()  # gradients are None by themselves
        places = [place for place, tensor in enumerate(self._graph.inputs) if self._may_be_watched(place, tensor)]
        possible = self._dependents(Connections(wiring=self._wiring))
        certain = self._dependents(Connections(certain=True, wiring=self._wiring)) if self._junctions else possible
        every = (1 << len(self._results)) - 1
        closed = frozenset(place for place in places if not possible[place])
        return closed, frozenset(place for place in places if possible[place] and certain[place] != every)

    def cannot_tell(self, captured: list[Any]) -> bool:
        """Whether a tape that may be asked more than once records an input that is not told from other elements of a list."""
        if not self.holds_lists or not self._parted or watching(captured) < SEVERAL:
            return False
        return bool(watching([captured[place] for place in self._parted]))

    @functools.cached_property
    def _parted(self) -> list[int]:
        """Places of the inputs that results depend on or not according to which elements of lists are read."""
        inputs = self._graph.inputs
        masks = {id(one): Mask.of(1 << place) for place, one in enumerate(inputs)}
        Parted(inputs).spread(self._graph, masks)
        possible = self._dependents(Connections(wiring=self._wiring))
        results = [masks.get(id(self._graph.outputs[place]), NOTHING).some for place in self._results]
        sure = [sum(1 << bit for bit, mask in enumerate(results) if mask >> place & 1) for place in range(len(inputs))]
        return [place for place, one in enumerate(inputs) if possible[place] & ~sure[place] and self._may_be_watched(place, one)]

    @functools.cached_property
    def holds_lists(self) -> bool:
        """Whether inputs may be elements of lists of the graph, which connections do not tell apart."""
        return any(kind.startswith("TensorList") for kind in kinds_within(self._graph))

    @functools.cached_property
    def is_vague(self) -> bool:
        """Whether connections may count what no run has: of elements of lists, and of early turns of loops."""
        return self.holds_lists or not LOOPS.isdisjoint(kinds_within(self._graph))

    @functools.cached_property
    def spread(self) -> Callable[[Sequence[tf.Tensor]], list[tf.Tensor]]:
        """The gradient for a tape that is asked once, made anew so that NaN arrives where something flows, and only there."""
        assert self._functions
        return spreading(self._functions.backward_graph)

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
                self._wiring.tables.clear()
            self._open[key] = self._dependents(Connections(ways_told(self._junctions, taken.tolist()), wiring=self._wiring))
        return self._open[key]


class _Run:
    """One call: the way it went, and which of its results a gradient is asked of, are known when the tape comes by."""

    def __init__(self, taped: Taped) -> None:
        self._taped = taped
        self.way: tf.Tensor | None = None
        self._asked = 0
        self._answered = False

    def told(self, outputs: list[tf.Tensor], tell: bool) -> list[tf.Tensor]:
        """The results; if they are to tell that a gradient comes to them, aliases."""
        taped = self._taped
        if taped._junctions:
            self.way = outputs[-1]
        if tell and len(taped._results) > 1:
            for bit, place in enumerate(taped._results):
                outputs[place] = watched_result(outputs[place], functools.partial(self.asked, bit))
        return outputs

    def asked(self, result: int) -> None:
        """A gradient comes to a result, by its number."""
        if self._answered:  # this is another gradient
            self._asked, self._answered = 0, False
        self._asked |= 1 << result

    def connects(self, place: int) -> bool:
        """Whether a result that is differentiated depends on an input."""
        if self.way is None and self._taped.has_ways:
            return True  # a forward accumulator asks before the run
        self._answered = True
        dependents = self._taped.dependents_on(self.way)[place]
        return bool(dependents & self._asked if self._asked else dependents)


class _FirstOrder(_Run):
    """A call that one tape records, which will be asked once."""

    def __init__(self, taped: Taped, functions: TapeFunctions) -> None:
        super().__init__(taped)
        self._functions = functions
        self._closed, self._gates = taped._inputs
        self._residuals: list[tf.Tensor] = []

    def call(self, captured: list[Any]) -> list[tf.Tensor]:
        """Run and record."""
        functions, taped = self._functions, self._taped
        outputs = functions.forward(captured)
        self._residuals = functions.kept(captured, outputs)
        inputs = [one for place, one in enumerate(captured) if place not in self._closed] if self._closed else captured
        record(functions.forward.name, outputs[: functions.recorded], inputs, self._gradients)
        return self.told(outputs[: taped._count], bool(self._gates) or taped.is_vague)

    def _gradients(self, *given: Any) -> list[Any]:
        """The gradients by the inputs, given those of the results."""
        found = self._of_all([self._dense(given[place], i) for i, place in enumerate(self._functions.differentiable)])
        if self._taped.is_vague and in_eager_mode() and not tape_may_record():
            found = self._told_apart(found, given)
        if self._closed or self._gates:
            found = [one if place not in self._gates or self.connects(place) else None
                     for place, one in enumerate(found) if place not in self._closed]
        return found

    def _told_apart(self, found: list[Any], given: Sequence[Any]) -> list[Any]:
        """Make gradients (or rows of stacked ones) that are zero None where nothing flows: where not even NaN arrives."""
        is_zero = _has_zero_rows if self._taped.holds_lists else _is_all_zero
        suspects = [place for place, one in enumerate(found) if isinstance(one, tf.Tensor) and is_zero(one)]
        if not suspects:
            return found
        results = self._taped._results
        unasked = {place for bit, place in enumerate(results) if not self._asked >> bit & 1} if len(results) > 1 else set()
        flows = self._structured(self._taped.spread([
            *(_poisoned(self._dense(given[place], i), place not in unasked) for i, place in enumerate(self._functions.differentiable)),
            *self._residuals]))
        for place in suspects:
            reached = np.isnan(flows[place].numpy())
            if not reached.any():
                found[place] = None
            elif reached.ndim:
                found[place] = with_rows_told(found[place], reached.reshape(len(reached), -1).any(axis=1).tolist())
        return found

    def _dense(self, gradient: Any, i: int) -> tf.Tensor:
        if gradient is None:
            placeholder = self._functions.placeholders[i]
            return tf.zeros(placeholder.shape, placeholder.dtype)
        return gradient if isinstance(gradient, tf.Tensor) else tf.convert_to_tensor(gradient)

    def _of_all(self, given: list[tf.Tensor]) -> list[Any]:
        functions = self._functions
        if tape_may_record() or not in_eager_mode():  # somebody wants the gradient of the gradient
            return list(functions.slow_backward(given, self._residuals))
        has_any = any(one is not None for one in functions.structure)
        return self._structured(functions.backward([*given, *self._residuals]) if has_any else ())

    def _structured(self, flat: Iterable[tf.Tensor]) -> list[Any]:
        found = iter(flat)
        return [_part(one, found) for one in self._functions.structure]


def _part(structure: Any, flat: Iterator[tf.Tensor]) -> Any:
    """A gradient: none, a tensor, or slices of one."""
    if structure is None or isinstance(structure, tf.Tensor):
        return None if structure is None else next(flat)
    parts = [next(flat) for _ in tf.nest.flatten(structure, expand_composites=True)]
    return tf.nest.pack_sequence_as(structure, parts, expand_composites=True)


def _has_zero_rows(gradient: tf.Tensor) -> bool:
    """Whether a small gradient, or one of its rows, is zero."""
    if not gradient.dtype.is_floating or not 0 < gradient.shape.num_elements() <= MOST_ELEMENTS:
        return False
    array = gradient.numpy()
    return not (array.reshape(len(array), -1).any(axis=1).all() if array.ndim else array)


def _is_all_zero(gradient: tf.Tensor) -> bool:
    """Whether a small gradient is zero."""
    if not gradient.dtype.is_floating or gradient.shape.num_elements() > MOST_ELEMENTS:
        return False
    return not gradient.numpy().any()


def _poisoned(gradient: tf.Tensor, is_asked: bool) -> tf.Tensor:
    """NaN in place of the gradient of a result that is asked for; of stacked elements, where that of the element is not zero."""
    array = gradient.numpy()
    nothing = (array == 0) & (np.any(array != 0) | (not is_asked))
    return tf.constant(np.where(nothing, 0, np.nan).astype(array.dtype))


def kinds_within(graph: FuncGraph) -> set[str]:
    """The types of the operations that a graph may run, of those that give floats or lists."""
    found: set[str] = set()
    for op in graph.get_operations():
        if any(map(is_differentiable, op.outputs)):
            found.add(op.type)
        for name in functions_of(op):
            inner = function_graph(graph, name)
            if inner is not None:
                found |= kinds_within(inner)
    return found
