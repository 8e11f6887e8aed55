"""What choosing costs: the time of all calls so far, compiling included, with imp2tf's choice and with XLA pinned on and off.

The regret is that time by that of the better pinned one. A contender whose time is up is reckoned on from its last calls.
"""

from __future__ import annotations

import io
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import tensorflow as tf

import imp2tf
from benchmarks import models
from benchmarks.contenders import CONVERTED
from benchmarks.protocol import Call, Result, Settings, Timing

PINNED = {"no XLA": False, "XLA": True}
CALLS = (10, 100, 1_000, 10_000)
LAST = 100


class LoopedLstm:
    """A training step with a loop over 35 time steps that is a loop in the graph too."""

    def __init__(self) -> None:
        normal = tf.random.stateless_normal
        self.kernel = tf.Variable(normal([32 + 64, 4 * 64], [1, 1]) * 0.1)
        self.bias = tf.Variable(tf.zeros([4 * 64]))
        self.last = tf.Variable(normal([64, 10], [1, 2]) * 0.1)
        self.steps = 0

    def step(self, inputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Plain gradient descent."""
        weights = [self.kernel, self.bias, self.last]
        with tf.GradientTape() as tape:
            output, cell = tf.zeros([16, 64]), tf.zeros([16, 64])
            for x in inputs:
                gates = tf.concat([x, output], 1) @ self.kernel + self.bias
                enter, new, forget, leave = tf.split(gates, 4, 1)
                cell = cell * tf.sigmoid(forget + 1.0) + tf.sigmoid(enter) * tf.tanh(new)
                output = tf.tanh(cell) * tf.sigmoid(leave)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, output @ self.last))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)
        self.steps += 1
        return loss


def smoothed(x: tf.Tensor) -> tf.Tensor:
    """Many small operations on one vector, which XLA makes one of."""
    for shift in range(1, 40):
        x = tf.tanh(x * 0.5 + tf.roll(x, shift % 4, 0) * 0.25) + 0.1 / float(shift)
    return x


@contextmanager
def _looped_lstm() -> Iterator[tuple[Callable[..., Any], list[tuple[Any, ...]]]]:
    yield LoopedLstm().step, [(tf.random.stateless_normal([35, 16, 32], [2, i]), tf.range(16) % 10) for i in range(4)]


@contextmanager
def _smoothed() -> Iterator[tuple[Callable[..., Any], list[tuple[Any, ...]]]]:
    yield smoothed, [(tf.random.stateless_normal([4096], [3, i]),) for i in range(4)]


@contextmanager
def _model(name: str) -> Iterator[tuple[Callable[..., Any], list[tuple[Any, ...]]]]:
    with models.fresh_copy(name) as model:
        yield model.PROGRAM().step, list(model.batches(8))


_OWN = {"looped LSTM": _looped_lstm, "elementwise": _smoothed}
CASES = (*_OWN, *(f"tiers of {name}" for name in ("cnn", "maml", "ode", "seq2seq")))


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one program, one contender after the other: they must not share the processor with another's compiler."""
    pinned: dict[str, bool | None] = {**PINNED, CONVERTED: None}
    calls = CALLS if settings.xla else CALLS[:2]
    found = {}
    for name, choice in pinned.items():
        program = _OWN[case]() if case in _OWN else _model(case.removeprefix("tiers of "))
        with program as (function, batches), redirect_stdout(io.StringIO()):
            step = imp2tf.convert(function, jit_compile=choice)
            feed = itertools.cycle(batches)
            found[name] = _totals(lambda step=step, feed=feed: step(*next(feed)), calls, settings.tier_seconds), step.stats()
    return [result for place, count in enumerate(calls) for result in _results(case, place, count, found)]


def _results(case: str, place: int, count: int, found: dict[str, tuple[list[float], dict[str, Any]]]) -> list[Result]:
    totals = {name: seconds[place] for name, (seconds, _) in found.items()}
    best = min(totals[name] for name in PINNED)
    results = []
    for name, seconds in totals.items():
        regret = f"{seconds / best:.2f} times the better pinned one; " if name == CONVERTED else ""
        tiers = ", ".join(found[name][1]["tiers"]) or "Python"
        total = Timing(seconds, seconds, seconds, 1)
        results.append(Result("tiers", f"{case}, {count} calls", name, total, note=f"{regret}at the end: {tiers}"))
    return results


def _totals(call: Call, calls: tuple[int, ...], most_seconds: float) -> list[float]:
    """The seconds that so many calls take together."""
    times: list[float] = []
    end = time.monotonic() + most_seconds
    while len(times) < calls[-1] and (len(times) < calls[0] or time.monotonic() < end):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    later = statistics.fmean(times[-LAST:])
    return [sum(times[:count]) + max(0, count - len(times)) * later for count in calls]
