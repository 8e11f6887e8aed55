"""Calls of a converted function: find the graph whose guards hold, run it, else trace, else run as Python and say so once."""
from __future__ import annotations

import collections
import dataclasses
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.errors import ConversionError, Fallback, Location, RecompileLimit
from imp2tf.guards import Miss, find_misses, relax
from imp2tf.heap import contents
from imp2tf.logs import log
from imp2tf.options import Options
from imp2tf.session import Relaxations
from imp2tf.trace import AlwaysRaises, Graph, trace_call

__all__ = ["Dispatcher", "FallbackRecord", "Parameters"]


class Parameters:
    """Binds the arguments of a call to a flat list, one value per parameter."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = inspect.unwrap(getattr(function, "__func__", function))
        self.defaults = self._defaults()
        self.signature = inspect.signature(function)
        parameters = list(self.signature.parameters.values())
        self.names = [one.name for one in parameters]
        self.kinds = [one.kind for one in parameters]
        self.simple = all(one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)

    def _defaults(self) -> tuple[Any, Any]:
        return getattr(self.function, "__defaults__", None), getattr(self.function, "__kwdefaults__", None)

    def are_stale(self) -> bool:
        """Whether the function's defaults were replaced since."""
        now = self._defaults()
        return now[0] is not self.defaults[0] or now[1] is not self.defaults[1]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """One value per parameter, defaults included. Raises TypeError as the call itself would."""
        if self.simple and not kwargs and len(args) == len(self.names):
            return args
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return list(bound.arguments.values())

    def unbind(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments that give these values."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, kind, value in zip(self.names, self.kinds, values, strict=True):
            if kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                kwargs.update(contents(value))
            elif kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return tuple(args), kwargs


MAX_ALWAYS_RAISED = 16
LEAST_BUDGET, BUDGET_FACTOR = 1.0, 8.0  # seconds, times the first trace: library code may unroll for unknown shapes


@dataclasses.dataclass
class FallbackRecord:
    """A reason why calls ran as Python."""

    code: str
    reason: str
    hint: str
    location: Location | None
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "code": self.code, "file": self.location.filename if self.location else None, "line": self.location.line if self.location else None,
            "reason": self.reason, "hint": self.hint, "count": self.count,
        }


class Dispatcher:
    """The graphs of one function, and the decision which of them, if any, serves a call."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.options = options
        self.parameters = Parameters(function)
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget all graphs and everything learned."""
        self.graphs: list[Graph] = []
        self.relaxations = Relaxations()
        self.counts: collections.Counter[str] = collections.Counter()
        self.fallbacks: dict[tuple[str, Location | None], FallbackRecord] = {}
        self.settled: FallbackRecord | None = None
        self.last_failure: FallbackRecord | None = None
        self.failures_in_a_row = 0
        self.misses: list[str] = []

    # -------------------------------------------------------------------------------------- calls
    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        counts = self.counts
        counts["calls"] += 1
        if self.settled is not None:
            return self._python(args, kwargs, self.settled)
        if counts["calls"] <= self.options.profile_runs:
            return self._profiled(args, kwargs)
        if self.parameters.are_stale():
            self.parameters = Parameters(self.function)
        try:
            values = self.parameters.bind(args, kwargs)
        except TypeError:  # Python itself says what is wrong with the arguments
            return self._profiled(args, kwargs)
        for graph in self.graphs:
            if graph.holds(values):
                return self._run(graph, values, args, kwargs)
        return self._new_graph(values, args, kwargs)

    def _profiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.counts["eager_calls"] += 1
        return self.function(*args, **kwargs)

    def _run(self, graph: Graph, values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before = graph.run.host_calls
        try:
            result = graph(values)
        except Fallback as fallback:
            failure: ConversionError | None = fallback.error
        except tf.errors.OpError:
            if graph.has_effects:
                self.counts["graph_calls"] += 1
                raise
            failure = None
        else:
            self.counts["graph_calls"] += 1
            return result
        finally:
            self.counts["host_calls"] += graph.run.host_calls - before
        if failure is not None:
            return self._fall_back(failure, args, kwargs)
        return self._profiled(args, kwargs)  # an operation failed and nothing was done yet: let eager say it

    def _python(self, args: tuple[Any, ...], kwargs: dict[str, Any], record: FallbackRecord) -> Any:
        record.count += 1
        self.counts["eager_calls"] += 1
        return self.function(*args, **kwargs)

    # -------------------------------------------------------------------------------------- tracing
    def _new_graph(self, values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.lock:
            for graph in self.graphs:
                if graph.holds(values):
                    return self._run(graph, values, args, kwargs)
            self._learn(values)
            traced, failure = self._attempt(values)
        if traced is None:
            return self._fall_back(failure, args, kwargs) if failure is not None else self._profiled(args, kwargs)
        return self._run(traced, values, args, kwargs)

    def _attempt(self, values: Sequence[Any]) -> tuple[Graph | None, ConversionError | None]:
        """A new graph, or why there is none; neither where the program raises whatever the tensors are."""
        if len(self.graphs) >= self.options.recompile_limit or self.counts["always_raised"] >= MAX_ALWAYS_RAISED:
            return None, RecompileLimit(f"traced {len(self.graphs)} times; {self._last_miss()}")
        try:
            return self._trace(values), None
        except AlwaysRaises:
            self.counts["always_raised"] += 1
            return None, None
        except Fallback as fallback:
            fallback.error.__cause__ = fallback.__cause__
            return None, fallback.error

    def _trace(self, values: Sequence[Any]) -> Graph:
        seeded = self.relaxations.seeded
        try:
            graph = self._traced(values)
        except Fallback:
            if self.relaxations.active():
                self._give_up_relaxing()
            elif self.relaxations.seeded == seeded:
                raise
            graph = self._traced(values)
        self.counts["traces"] += 1
        self.graphs.insert(0, graph)
        self.last_failure = None
        return graph

    def _traced(self, values: Sequence[Any]) -> Graph:
        started = time.monotonic()
        graph = trace_call(self.function, self.parameters.names, values, self.parameters.unbind, self.relaxations, self.options)
        if self.relaxations.budget is None:
            self.relaxations.budget = max(LEAST_BUDGET, BUDGET_FACTOR * (time.monotonic() - started))
        return graph

    def _give_up_relaxing(self) -> None:
        """What was relaxed steers Python: keep it constant from now on."""
        self.relaxations.constant |= self.relaxations.numbers | set(self.relaxations.shapes)
        self.relaxations.shapes.clear()

    def _learn(self, values: Sequence[Any]) -> None:
        if not self.graphs:
            return
        self.counts["guard_misses"] += 1
        misses: list[Miss] = []
        for graph in self.graphs:
            found = find_misses(graph.guards, values)
            if self.options.reduce_retracing:
                relax(found, self.relaxations)
            misses = misses or found
        self.misses.append(str(misses[0]) if misses else "a guard failed and held again")
        log("recompiles", "%s: traced again because %s", self.function, self.misses[-1])

    def _last_miss(self) -> str:
        return self.misses[-1] if self.misses else "no guard failed"

    # -------------------------------------------------------------------------------------- falling back
    def _fall_back(self, error: ConversionError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.options.fullgraph:
            raise error
        key = (error.code, error.location)
        record = self.fallbacks.get(key)
        if record is None:
            record = self.fallbacks[key] = FallbackRecord(error.code, error.reason, error.hint, error.location)
            log("fallbacks", "%s runs as Python: %s", getattr(self.function, "__qualname__", self.function), error)
        self.failures_in_a_row = self.failures_in_a_row + 1 if self.last_failure is record else 1
        self.last_failure = record
        if self.failures_in_a_row >= error.patience:
            self.settled = record
        return self._python(args, kwargs, record)


