"""One world: a fresh function, its calls one after the other, and a record of all that can be observed."""
from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from tests.harness.aliasing import aliases, variables_in
from tests.harness.backends import Backend, Function, fallback_lines, stats, wrap
from tests.harness.capture import Capture
from tests.harness.description import Description, describe
from tests.harness.eager_ops import eager_ops
from tests.harness.exceptions import Raised, describe_exception

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
# With a third part: a step that changes the surroundings before the call.
Call = tuple[Args, Kwargs] | tuple[Args, Kwargs, Callable[[], object]]
Snapshot = Callable[[], Any]
World = tuple[Function, list[Call]] | tuple[Function, list[Call], Snapshot]
Make = Callable[[], World]
TIME_LIMIT = 60.0
PATIENCE = 4    # how much longer than its processor time a program may take, on a machine that has other things to do


@dataclass
class CallRecord:
    """All that one call did."""

    label: str
    result: Description | None = None
    raised: Raised | None = None
    arguments: Description | None = None
    state: Description | None = None
    gradients: Description | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    text: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Record:
    """All that one world did. `eager_ops` and `python_calls` count within the last round."""

    calls_per_round: int
    calls: list[CallRecord] = field(default_factory=list)
    eager_ops: list[str] = field(default_factory=list)
    python_calls: int = 0
    stats: dict[str, Any] = field(default_factory=dict)
    timed_out: bool = False

    @property
    def fallbacks(self) -> list[str]:
        """Why something ran as plain Python, as imp2tf tells it."""
        return fallback_lines(self.stats)


class TimeLimit(BaseException):
    """A world took longer than a program of this size ever should."""


@dataclass(frozen=True)
class Plan:
    """How a world is run: `grad` is the order of the gradients taken (False is none, True is 1)."""

    backend: Backend
    grad: int = 0
    repeat: int = 2
    convert_kw: Mapping[str, Any] = field(default_factory=dict)
    time_limit: float = TIME_LIMIT


def run_world(make: Make, plan: Plan) -> Record:
    """Make a fresh world and run all its rounds of calls.

    The last round counts operations. It runs without a tape, since recording executes operations of its own:
    a plan with gradients has one round more.
    """
    fn, calls, *rest = make()
    snapshot = rest[0] if rest else lambda: None
    _seed()
    record = Record(len(calls))
    try:
        with Capture() as capture, _time_limit(plan.time_limit):
            wrapped = wrap(plan.backend, fn, plan.convert_kw)
            runner = _Runner(wrapped, snapshot, make.__code__.co_filename, capture, plan.backend == "eager")
            _run_rounds(runner, calls, plan, record)
    except TimeLimit:
        record.timed_out = True
    return record


def _run_rounds(runner: _Runner, calls: list[Call], plan: Plan, record: Record) -> None:
    rounds = plan.repeat + bool(plan.grad)
    for turn in range(1, rounds):
        for i, call in enumerate(calls, 1):
            record.calls.append(runner.run(call, f"round {turn}, call {i}", grad=plan.grad))
    before = stats(runner.fn).get("eager_calls", 0)
    for i, call in enumerate(calls, 1):
        record.calls.append(runner.run(call, f"round {rounds}, call {i}", count_into=record.eager_ops))
    record.stats = stats(runner.fn)
    record.python_calls = record.stats.get("eager_calls", 0) - before


class _Runner:
    """Runs single calls of one wrapped function and records them."""

    def __init__(self, fn: Function, snapshot: Snapshot, user_file: str, capture: Capture, is_eager: bool) -> None:
        self.fn, self.snapshot, self.user_file, self.capture, self.is_eager = fn, snapshot, user_file, capture, is_eager
        self.earlier: object = None

    def run(self, call: Call, label: str, grad: int = 0, count_into: list[str] | None = None) -> CallRecord:
        record = CallRecord(label)
        result = None
        args, kwargs, *steps = call
        broken = self._take(steps)
        try:
            if broken is not None:
                raise broken
            if grad:
                result = self._taped_call(args, kwargs, record, grad)
            else:
                result = self._counted_call(args, kwargs, record, count_into)
        except (KeyboardInterrupt, TimeLimit):
            raise
        except BaseException as error:  # what the program raises is an outcome, SystemExit too
            if TimeLimit.__name__ in str(error):  # raised within a call of C++, which told it as an error of its own
                raise TimeLimit(str(error)) from error
            record.raised = describe_exception(error, self.user_file)
        record.text = self.capture.take()
        state = self._state()
        record.arguments, record.state = describe((args, kwargs)), describe(state)
        record.aliases = aliases({"state": state, "arguments": (args, kwargs), "result": result,
                                  "earlier result": self.earlier})
        self.earlier = result
        return record

    def _take(self, steps: Sequence[Callable[[], object]]) -> Exception | None:
        """What the program does between two calls. In a world gone wrong it may fail, which counts as what the call raises."""
        try:
            for step in steps:
                step()
        except Exception as error:
            if self.is_eager:
                raise
            return error
        finally:
            self.capture.take()
        return None

    def _state(self) -> object:
        """The snapshot, or why there is none: a world gone wrong may lack what the snapshot reads."""
        try:
            return self.snapshot()
        except Exception as error:
            return error

    def _counted_call(
        self, args: Args, kwargs: Kwargs, record: CallRecord, names: list[str] | None
    ) -> object:
        with eager_ops(names):
            result = self.fn(*args, **kwargs)
        record.result = describe(result)
        return result

    def _taped_call(self, args: Args, kwargs: Kwargs, record: CallRecord, order: int) -> object:
        sources = [*_float_tensors((args, kwargs)), *variables_in(self._state())]
        result, _, gradients = _with_gradients(
            lambda: self._counted_call(args, kwargs, record, None), sources, order)
        record.gradients = describe(gradients)
        return result


def _with_gradients(
    run: Callable[[], object], sources: list[Any], order: int
) -> tuple[object, tf.Tensor | None, list[Any]]:
    """The result of `run`, the total of the highest gradients, the gradients of each order by `sources`."""
    if not order:
        result = run()
        return result, _total(result), []
    with tf.GradientTape() as tape:
        tape.watch([source for source in sources if not isinstance(source, tf.Variable)])
        result, total, lower = _with_gradients(run, sources, order - 1)
    taken = None if total is None else [_dense(gradient) for gradient in tape.gradient(total, sources)]
    return result, _total(taken), [*lower, taken]


def _dense(gradient: Any) -> Any:
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient


def _float_tensors(tree: object) -> list[tf.Tensor]:
    if isinstance(tree, tf.Tensor):
        return [tree] if tree.dtype.is_floating else []
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [leaf for part in tree for leaf in _float_tensors(part)] if isinstance(tree, (list, tuple)) else []


def _total(tree: object) -> tf.Tensor | None:
    sums = [tf.cast(tf.reduce_sum(leaf), tf.float64) for leaf in _float_tensors(tree)]
    return tf.add_n(sums) if sums else None


def _seed() -> None:
    random.seed(20)
    np.random.seed(20)
    tf.random.set_seed(20)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` after `seconds` of the processor, or `PATIENCE` times as many of the clock.

    Only the main thread can be interrupted this way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise TimeLimit(f"not done after {seconds} s")

    timers = [(signal.SIGALRM, signal.ITIMER_REAL, PATIENCE * seconds), (signal.SIGPROF, signal.ITIMER_PROF, seconds)]
    previous = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, previous):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
