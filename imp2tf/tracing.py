"""The graphs of one function: which one serves a call, when another one is made, what the misses teach."""
from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from imp2tf.accounts import Account
from imp2tf.errors import (
    ConversionError,
    Fallback,
    ForeignCall,
    Location,
    Recompiled,
    RecompileLimit,
    TraceFailed,
    XlaRefused,
)
from imp2tf.exceptions import ProgramRaise, innermost
from imp2tf.graph import Graph, refused_by_xla
from imp2tf.guards import describe_guard, find_misses, is_superseded, relax
from imp2tf.input_signature import InputSignature
from imp2tf.inspection import nodes_of
from imp2tf.kept_profiles import kept_profile
from imp2tf.logs import is_logged, log
from imp2tf.options import Options
from imp2tf.parameters import Parameters, name_of
from imp2tf.relaxations import Relaxations
from imp2tf.results import Profile
from imp2tf.stance import stance
from imp2tf.structures import Structures
from imp2tf.substitution import substitutions
from imp2tf.tf_compat import eager_context, tape_may_record
from imp2tf.trace import AlwaysRaises, trace_call

__all__ = ["FallbackRecord", "Tracer"]

MAX_ALWAYS_RAISED = 16
MOST_IN_FRONT = 3  # a graph that is used is moved to the front if more graphs than that are tried before it
MOST_MISSES_SHOWN = 5
COMMON_SHARE = 0.25  # a structure is common if at least that part of the calls came with it
CALLS_THAT_PAY = 4  # so many calls of graphs pay for one trace
MOST_GRAPHS = 16  # times `recompile_limit`: graphs for that many objects of a class
# With relaxed shapes, a trace may take so many seconds, or so many times as long as the first: library code may unroll for unknown shapes.
LEAST_BUDGET, BUDGET_FACTOR = 1.0, 8.0


@dataclasses.dataclass
class FallbackRecord:
    """A reason why calls ran as Python."""

    code: str
    reason: str
    hint: str
    location: Location | None
    count: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The record as ``stats()`` shows it."""
        return {
            "code": self.code,
            "file": self.location.filename if self.location else None,
            "line": self.location.line if self.location else None,
            "reason": self.reason,
            "hint": self.hint,
            "count": self.count,
        }


Ready = tuple[Graph, list[Any]]  # a graph, and what it is to be run on


class Tracer:
    """The graphs of one function, and what is known of its calls."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self.function = function
        self.name = name_of(function)
        self.options = options
        self.parameters = Parameters(function)
        specs = options.input_signature
        self.signature = InputSignature(specs, self.parameters, self.name) if specs is not None else None
        self.lock = threading.RLock()
        self.counting = threading.Lock()
        self.reset(kept_profile(function))

    def reset(self, profile: Profile | None = None) -> None:
        """Forget all graphs and everything learned, but for a profile that is given."""
        self.profile_runs = 0 if self.options.fullgraph or self.signature or profile else self.options.profile_runs
        self.graphs: list[Graph] = []
        self.substitutions = substitutions()
        self.profile, self.account, self.structures = profile or Profile(), Account(), Structures()
        declared = self.signature.declared if self.signature else {}
        self.relaxations = Relaxations(declared=declared, profile=self.profile, presuming=self.options.reduce_retracing)
        if self.options.speculate and not self.options.fullgraph:
            self.relaxations.given_up = set()
        self.reconsidered = False  # whether it was tried again to relax what steered Python
        self.failed_assumptions: collections.Counter[Location | None] = collections.Counter()
        self.counts: collections.Counter[str] = collections.Counter()
        self.fallbacks: dict[tuple[str, Location | None], FallbackRecord] = {}
        self.settled: FallbackRecord | None = None
        self.watches = 0  # how many more calls are watched although tracing has been given up
        self.last_failure: FallbackRecord | None = None
        self.failures_in_a_row = 0
        self.misses: collections.deque[str] = collections.deque(maxlen=100)
        self.exhausted: RecompileLimit | None = None
        self.seen: list[Any] | None = None  # the kinds of arguments of the last call that was profiled
        self.jit_compile = self.options.jit_compile
        self.context = eager_context()

    def _forget_graphs(self) -> None:
        """Forget all graphs, because substitutes were registered since: everything may be traced differently now."""
        with self.lock:
            self.substitutions = substitutions()
            self.graphs, self.settled, self.failures_in_a_row = [], None, 0

    def _count(self, what: str, by: int = 1) -> int:
        with self.counting:
            self.counts[what] += by
            return self.counts[what]

    def _ready(self, values: Sequence[Any]) -> Ready | None:
        """The graph that serves a call, and its inputs."""
        if self.context is not eager_context():
            self._start_anew()
        for place, graph in enumerate(self.graphs):
            captured = None if graph.untold and tape_may_record() else graph.admit(values)
            if captured is not None:
                if place > MOST_IN_FRONT:
                    self._bring_forward(graph)
                return graph, captured
        return None

    def _bring_forward(self, graph: Graph) -> None:
        """Move a graph that is used to the front. Graphs that are not used come to the end, where they are dropped."""
        with contextlib.suppress(ValueError):  # another thread did it, or it was dropped
            self.graphs.remove(graph)
            self.graphs.insert(0, graph)

    def _start_anew(self) -> None:
        """Forget all graphs, because TensorFlow was set up anew and has forgotten them."""
        self.graphs, self.context = [], eager_context()

    def _new_graph(self, values: Sequence[Any]) -> Ready | ConversionError:
        """A new graph with its inputs, or why there is none."""
        with self.lock:
            ready = self._ready(values)  # another thread may have made it meanwhile
            if ready is not None:
                return ready
            if self.exhausted is not None and len(self.graphs) >= self.options.recompile_limit:
                return self.exhausted
            too_much = self._costs_too_much(values)
            if too_much is not None:
                return RecompileLimit(f"traced {self.counts['traces']} times, {too_much}")
            rivals = self._learn(values)
            if self.graphs and stance() == "fail_on_recompile":
                raise Recompiled(f"{self.name} needs another graph: {self._last_miss()}")
            if not self._pays(rivals):
                return RecompileLimit(f"traced {self.counts['traces']} times; {self._last_miss()}")
            self._reconsider(rivals)
            try:
                with self.account.tracing():
                    return self._trace(values)
            except AlwaysRaises as raises:
                self._count("always_raised")
                return _certainly(raises)
            except Fallback as fallback:
                fallback.error.__cause__ = fallback.__cause__
                return fallback.error

    def _costs_too_much(self, values: Sequence[Any]) -> str | None:
        """Why a trace is not expected to pay. One for a structure that is one of many has to be paid for before."""
        traces, served = self.counts["traces"], self.counts["graph_calls"]
        if self.profile.recursive and not self.options.fullgraph and self.structures.note(values) < COMMON_SHARE:
            rare = "the function calls itself, and few calls share a structure of objects"
            return None if self.account.has_earned(traces, served) else rare
        seldom = bool(self.graphs) and not self.account.affords(traces, served)
        return f"for graphs that are seldom used; {self._last_miss()}" if seldom else None

    def _trace(self, values: Sequence[Any]) -> Ready:
        graph = None
        while graph is None:
            learned, self.profile.wanted = self.relaxations.learned(), False
            try:
                graph = self._traced(values)
            except Fallback:
                if self.relaxations.learned() != learned or self._presumed_too_much():
                    continue
                if not self.relaxations.active():
                    self.relaxations.presuming = self.options.reduce_retracing  # that was not what stood in the way
                    raise
                self._give_up_relaxing()
        self.profile.resized.clear()
        self._drop_superseded(graph, values)
        self._count("traces")
        self._log_graph(graph)
        graph.run.count_host_call = functools.partial(self._count, "host_calls")
        self.graphs.insert(0, graph)
        graph.when_useless(functools.partial(_forget, weakref.ref(self)))
        self.last_failure = None
        return graph, graph.inputs(values)

    def _drop_superseded(self, new: Graph, values: Sequence[Any]) -> None:
        """Graphs that take for constant what varies make room for one that serves their values too, as does one that serves no tape."""
        self.graphs = [graph for graph in self.graphs if not is_superseded(graph.guards, new.guards, self.relaxations)
                       and not (graph.untold and not new.untold and graph.admit(values) is not None)]

    def _log_graph(self, graph: Graph) -> None:
        if is_logged("graph"):
            log("graph", "%s: a graph of %d operations", self.name, len(nodes_of(graph.concrete)))
        if is_logged("guards"):
            for guard in graph.guards:
                log("guards", "%s: %s", self.name, describe_guard(guard))

    def _traced(self, values: Sequence[Any]) -> Graph:
        started = time.monotonic()
        options = dataclasses.replace(self.options, jit_compile=self.jit_compile)
        graph = trace_call(self.function, self.parameters, values, self.relaxations, options)
        if self.relaxations.budget is None:
            self.relaxations.budget = max(LEAST_BUDGET, BUDGET_FACTOR * (time.monotonic() - started))
        if self.options.fullgraph and graph.python_calls:
            reason, location = graph.python_calls[0]
            raise Fallback(ForeignCall(f"{reason} while the graph runs", location=location))
        refusal = refused_by_xla(graph) if graph.xla else None
        if refusal is not None:
            self._give_up_xla(XlaRefused(refusal))
            return self._traced(values)
        return graph

    def _without_xla(self, graph: Graph, values: Sequence[Any], failure: ConversionError) -> Ready:
        """The same graph for TensorFlow's own executor; later ones are made for it at once."""
        with self.lock:
            self._give_up_xla(failure)
            self.graphs = [one for one in self.graphs if one is not graph]
            return self._trace(values)

    def _give_up_xla(self, failure: ConversionError) -> None:
        if self.options.fullgraph:
            raise failure
        self.jit_compile = False
        self.note(failure).count += 1

    def _presumed_too_much(self) -> bool:
        """Whether numbers were taken to vary that have not varied yet: they may be what stands in the way."""
        found = bool(self.relaxations.presumed) and not self.profile.wanted
        if found:
            self.relaxations.presume_nothing()
        return found

    def _reconsider(self, rivals: int) -> None:
        """Once, before the limit is reached, try again to relax what was in the way: the program may have come to its steady state."""
        if not self.reconsidered and rivals >= max(self.options.recompile_limit // 2, 2):
            self.reconsidered = True
            self.relaxations.constant.clear()

    def _give_up_relaxing(self) -> None:
        """Keep what was relaxed constant from now on, because it steers Python."""
        relaxed = {source for source, _ in self.relaxations.shapes} | set(self.relaxations.arrays)
        self.relaxations.constant |= self.relaxations.numbers | relaxed
        self.relaxations.presume_nothing()
        self.relaxations.fixed |= self.relaxations.lists
        self.relaxations.arrays.clear()
        self.relaxations.shapes.clear()
        self.relaxations.lists.clear()

    def _pays(self, rivals: int) -> bool:
        """Whether another graph is worth its trace, besides `rivals` that were made for the same objects."""
        traces, limit = self.counts["traces"], self.options.recompile_limit
        if self.counts["always_raised"] >= MAX_ALWAYS_RAISED:
            return False
        if rivals >= limit:
            if rivals == len(self.graphs):
                self.exhausted = RecompileLimit(f"traced {traces} times; {self._last_miss()}")
            return False
        others = len(self.graphs) - rivals + self.counts["forgotten"]
        if others and traces >= limit and self.counts["graph_calls"] < CALLS_THAT_PAY * traces:
            return False  # objects come and go, and each is used too seldom
        del self.graphs[MOST_GRAPHS * limit - 1:]
        return True

    def _learn(self, values: Sequence[Any]) -> int:
        """Learn from the misses; returns how many graphs were made for the very objects of this call."""
        if not self.graphs:
            return 0
        self._count("guard_misses")
        missed = [find_misses(graph.guards, values) for graph in self.graphs]
        for found in missed if self.options.reduce_retracing else ():
            relax(found, self.relaxations)
        nearest = min(missed, key=len)
        shown = [str(miss) for miss in nearest[:MOST_MISSES_SHOWN]]
        taped = tape_may_record() and any(graph.untold for graph in self.graphs)
        self.misses.append("; ".join(shown) or ("a tape records" if taped else "a guard failed and held again"))
        log("recompiles", "%s: traced again because %s", self.name, self.misses[-1])
        return sum(not any(miss.guard.check == "identity" for miss in found) for found in missed)

    def _last_miss(self) -> str:
        return self.misses[-1] if self.misses else "no guard failed"

    def note(self, error: ConversionError) -> FallbackRecord:
        """The record of a reason; a new one is told."""
        key = (error.code, error.location)
        with self.counting:
            record = self.fallbacks.get(key)
            if record is not None:
                return record
            record = self.fallbacks[key] = FallbackRecord(error.code, error.reason, error.hint, error.location)
        log("fallbacks", "%s: %s", self.name, error)
        return record


def _forget(tracer: weakref.ref[Tracer], graph: Graph) -> None:
    """Drop a graph that can serve no call again."""
    found = tracer()
    if found is not None:
        with contextlib.suppress(ValueError):
            found.graphs.remove(graph)
            found._count("forgotten")


def _certainly(raises: AlwaysRaises) -> TraceFailed:
    """Why there is no graph if the error that tracing met is not the program's own after all."""
    raised = raises.__cause__
    met = raised.told if isinstance(raised, ProgramRaise) else f"{type(raises).__name__}: {raises}"
    failure = TraceFailed(
        f"tracing met what plain Python does not raise, {met}",
        location=innermost(raised.frames) if isinstance(raised, ProgramRaise) else None)
    failure.__cause__ = raises
    return failure


