"""Calls of a converted function: find the graph whose guards hold, run it, else trace, else run as Python and say so once."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.errors import (
    AssumptionFailed,
    ConversionError,
    Fallback,
    ForeignCall,
    NeedsValue,
    RaisesUnderTry,
    XlaRefused,
    first_line,
    said_by_kernel,
)
from imp2tf.graph import CannotGoOn, Graph, OperationFailed
from imp2tf.kept_profiles import keep_profile
from imp2tf.parameters import Parameters
from imp2tf.profile import Done, Recording, Replay, is_passed, watching
from imp2tf.session import in_host_call
from imp2tf.stance import stance
from imp2tf.substitution import substitutions
from imp2tf.tf_compat import tape_may_record
from imp2tf.trace import AlwaysRaises, kinds_of
from imp2tf.tracing import FallbackRecord, Tracer
from imp2tf.undoing import Remains
from imp2tf.verify import unverifiable, verified

__all__ = ["Dispatcher"]

PATIENCE_WITH_PROFILES = 3  # tracing is given up after so many watched runs that did not show what a call returns
MOST_WATCHED = 100  # after that, so many more runs in Python are watched
FAILURES_ALLOWED, CALLS_PER_FAILURE = 2, 10  # an assumption that fails more often than this costs more than it gains
NESTED = "Python that a running graph calls calls it: TensorFlow may wait for ever for a graph inside a graph"
TAPED = "a tape records, and would not see where a tensor comes from that Python returns to the graph"
PARTED = "tapes of gradients of gradients record, and would not see which elements of a list the graph reads"


class Dispatcher(Tracer):
    """What a call of one function does: a graph if one serves it, else plain Python."""

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        if self.substitutions != substitutions():
            self._forget_graphs()
        chosen = stance()
        profiled = self._count("calls") <= self.profile_runs and chosen != "verify"
        values = self._bound(args, kwargs)
        if values is not None and self.signature is not None:
            values = self.signature.conform(values)
            args, kwargs = self.parameters.unbind(values)
        if values is None or chosen == "force_eager" or tf.config.functions_run_eagerly():
            return self._plain(args, kwargs)
        if profiled:
            self.seen = kinds_of(self.relaxations, self.parameters, values)
            self.structures.note(values)
            return self._profiled(args, kwargs)
        if in_host_call():
            return self._python(args, kwargs, self.note(ForeignCall(NESTED)))
        if self.settled is not None:
            return (self._watched if self.watches else self._python)(args, kwargs, self.settled)
        ready = self._ready(values) or self._new_graph(values)
        if isinstance(ready, ConversionError):
            return (self._certain if isinstance(ready.__cause__, AlwaysRaises) else self._fall_back)(ready, args, kwargs)
        if ready[0].outside.gives_tensors and tape_may_record():
            return self._python(args, kwargs, self.note(ForeignCall(TAPED)))
        if tape_may_record() and ready[0].taped.cannot_tell(ready[1]):
            return self._python(args, kwargs, self.note(NeedsValue(PARTED)))
        return (self._verified if chosen == "verify" else self._run)(*ready, values, args, kwargs)

    def _certain(self, failure: ConversionError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run plain Python, which raises the program's own error. If it does not, tracing met another problem, which is the reason."""
        result = self._plain(args, kwargs)
        if self.options.fullgraph:
            raise failure
        self._noted(failure).count += 1
        return result

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """The arguments, one for each parameter. None if they do not fit; Python then says what is wrong with them."""
        if self.parameters.are_stale():
            self.parameters = Parameters(self.function)
        try:
            return self.parameters.bind(*args, **kwargs)
        except TypeError:
            return None

    def _plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._count("eager_calls")
        with self.account.python():
            return self.function(*args, **kwargs)

    def _python(self, args: tuple[Any, ...], kwargs: dict[str, Any], record: FallbackRecord) -> Any:
        with self.counting:
            record.count += 1
        return self._plain(args, kwargs)

    def _run(self, graph: Graph, captured: list[Any], values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a graph. If it cannot do the call after all, Python does, outside of the handler of the error that said so."""
        failure: ConversionError | None = None
        failed: OperationFailed | None = None
        stuck: CannotGoOn | None = None
        held = False
        try:
            with graph.locked(values) if graph.needs_lock else contextlib.nullcontext(captured) as inputs:
                held = inputs is not None
                result = graph(inputs, values) if inputs is not None else None
        except Fallback as fallback:
            failure = fallback.error
        except OperationFailed as operation:
            failed = operation
        except CannotGoOn as stopped:
            stuck = stopped
        except BaseException:
            self._count("graph_calls")
            raise
        else:
            if held:
                self._count("graph_calls")
                return result
        if stuck is not None:
            return self._go_on(graph, stuck, args, kwargs)
        if failed is not None and failed.is_of_kernel and graph.xla:
            failure = XlaRefused(f"XLA does not run the graph: {first_line(failed.error)}")
        elif failed is not None:
            return self._repeated(failed, args, kwargs)
        if isinstance(failure, XlaRefused):
            return self._run(*self._without_xla(graph, values, failure), values, args, kwargs)
        return self._plain(args, kwargs) if failure is None else self._fall_back(failure, args, kwargs)

    def _repeated(self, failed: OperationFailed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let plain Python make the call after an operation failed: the error is eager's, with all that the program does before.

        What the run has done is undone; calls of Python are not made again. Where that cannot be, the error of the run is raised.
        """
        if failed.remains.is_final or not self._is_passed(failed.remains):
            self._count("graph_calls")
            raise failed.error
        done = failed.remains.undone()
        if not failed.is_of_kernel and (self.options.fullgraph or not any(done)):
            return self._fall_back(failed.error, args, kwargs)
        result, _ = self._replayed(done, args, kwargs)
        reason = failed.error
        if failed.is_of_kernel:
            reason = RaisesUnderTry(f"an operation failed in the graph, and Python goes on: {said_by_kernel(failed.error)}")
            if self.options.fullgraph:
                raise reason from failed.error
        record = self.note(reason)
        with self.counting:
            record.count += 1
        return result

    def _is_passed(self, remains: Remains) -> bool:
        """Whether Python comes by all calls that a run has made."""
        return all(is_passed(site, self.profile) for site, _ in remains.history)

    def _replayed(
        self, done: Done, args: tuple[Any, ...], kwargs: dict[str, Any], recording: Recording | None = None,
    ) -> tuple[Any, bool]:
        """Make the call as plain Python, which does not do again what a run has done; whether it came by all of that."""
        if not any(done):
            return (self._plain if recording is None else self._profiled)(args, kwargs), True
        self._count("eager_calls")
        replay = Replay(done, recording)
        with watching(replay):
            result = replay.entered(self.function)(*args, **kwargs)
        return result, replay.is_over

    def _go_on(self, graph: Graph, stuck: CannotGoOn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let Python go on where a run had to stop. The calls of Python that the run has made are answered with what they returned."""
        if isinstance(stuck.error, AssumptionFailed):
            return self._entered_branch(stuck.error, lambda: self._gone_on(stuck, args, kwargs, Recording(self.profile)))
        if not stuck.raised:
            with self.lock:
                self.graphs = [one for one in self.graphs if one is not graph]
        record = self.note(stuck.error)
        with self.counting:
            record.count += 1
        return self._gone_on(stuck, args, kwargs)

    def _gone_on(self, stuck: CannotGoOn, args: tuple[Any, ...], kwargs: dict[str, Any], recording: Recording | None = None) -> Any:
        if stuck.remains.is_final or not all(site in self.profile.seen for site, _ in stuck.remains.history):
            self._count("graph_calls")
            stuck.give_up()
        result, is_over = self._replayed(stuck.remains.undone(), args, kwargs, recording)
        return result if is_over else stuck.give_up()

    def _verified(self, graph: Graph, captured: list[Any], values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the graph and plain Python, and compare them; the result is plain Python's."""
        reason = unverifiable(graph)
        if reason is not None:
            return self._python(args, kwargs, self.note(reason))
        try:
            return verified(graph, captured, values, functools.partial(self._beside_graph, args, kwargs))
        except Fallback as fallback:
            failure = fallback.error
        return self._fall_back(failure, args, kwargs)

    def _beside_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._count("graph_calls")
        return self._plain(args, kwargs)

    # -------------------------------------------------------------------------------------- falling back
    def _fall_back(self, error: ConversionError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.options.fullgraph:
            raise error
        if isinstance(error, AssumptionFailed):
            return self._entered_branch(error, lambda: self._profiled(args, kwargs))
        record = self._noted(error)
        return self._recorded(args, kwargs, record) if self.profile.wanted else self._python(args, kwargs, record)

    def _entered_branch(self, error: AssumptionFailed, run: Callable[[], Any]) -> Any:
        """Let Python `run` a call that entered a branch which its graph leaves out; watched, it shows what the branch calls."""
        record, where, known = self.note(error), error.location, dict(self.profile.kinds)
        failures, rarely = self._count("speculation_failures"), self.counts["graph_calls"]
        with self.counting:
            record.count += 1
            self.failed_assumptions[where] += 1
        try:
            return run()
        finally:
            too_often = self.failed_assumptions[where] > FAILURES_ALLOWED and failures * CALLS_PER_FAILURE > rarely
            if too_often and where and self.relaxations.given_up is not None:
                self.relaxations.given_up.add((where.filename, where.line))
            if self.profile.kinds != known or too_often:
                with self.lock:
                    self.graphs = [one for one in self.graphs if not one.assumptions]

    def _noted(self, error: ConversionError) -> FallbackRecord:
        """Note a reason and return its record. If it came often enough in a row, there are no more attempts to trace."""
        record = self.note(error)
        self.failures_in_a_row = self.failures_in_a_row + 1 if self.last_failure is record else 1
        self.last_failure = record
        if self.failures_in_a_row >= error.patience and not self.profile.wanted:
            self.settled = record
        return record

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any], record: FallbackRecord) -> Any:
        """Run plain Python, watched, to learn what the calls return that the last trace did not know."""
        self.profile.wanted = False
        known = dict(self.profile.kinds)
        with self.counting:
            record.count += 1
        try:
            return self._profiled(args, kwargs)
        finally:
            if self.profile.kinds != known:
                self.failures_in_a_row = 0
            elif self.failures_in_a_row >= PATIENCE_WITH_PROFILES:
                self.settled, self.watches = record, MOST_WATCHED

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any], record: FallbackRecord) -> Any:
        """Run plain Python, watched. If it shows what the calls return that stood in the way of a graph, tracing is tried again."""
        self.watches -= 1
        with self.counting:
            record.count += 1
        known = dict(self.profile.kinds)
        try:
            return self._profiled(args, kwargs)
        finally:
            if self.profile.kinds != known:
                self.settled, self.watches, self.failures_in_a_row = None, 0, 0

    def _profiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._count("eager_calls")
        self.profile.runs += 1
        recording = Recording(self.profile)
        try:
            with watching(recording), self.account.python():
                return recording.entered(self.function)(*args, **kwargs)
        finally:
            recording.ended()
            keep_profile(self.function, self.profile)
