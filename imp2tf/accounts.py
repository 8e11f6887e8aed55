"""Whether a function can afford another graph: what its traces have cost, against what its calls may spend and have saved.

A function that needs another graph at nearly every call is traced a few times on credit. After that it is traced so seldom that tracing
takes only a small part of its time, unless graphs are used again and so pay for more of them. A function that walks over structures
(`imp2tf.structures`) has credit for its first trace only.
"""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Account"]

FREE_TRACES = 6  # every function may be traced that often
FREE_SECONDS = 2.0  # and may spend that much time on traces
SHARE_FOR_TRACES = 0.05  # the part of the time in Python that may be spent on traces
CALLS_OF_A_TRACE = 10  # a first trace is expected to take as long as so many calls in Python
SAVED_BY_GRAPH = 0.5  # a call of a graph is taken to save that part of the time of a call in Python: a cautious guess


class Account:
    """What the traces of one function have cost, and what its calls have saved."""

    def __init__(self) -> None:
        self._traced = self._in_python = 0.0
        self._calls = 0

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Count the time spent inside as tracing."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._traced += time.perf_counter() - started

    @contextmanager
    def python(self) -> Iterator[None]:
        """Count the time spent inside as a call that ran as Python."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._in_python += time.perf_counter() - started
            self._calls += 1

    def affords(self, traces: int, graph_calls: int) -> bool:
        """Whether there may be another trace. If no call ran as Python yet, it is not known what a graph saves, and there may be one."""
        return traces < FREE_TRACES or not self._calls or self._traced <= FREE_SECONDS + self._earned(graph_calls)

    def has_earned(self, traces: int, graph_calls: int) -> bool:
        """Whether another trace is paid for already."""
        if not self._calls:
            return not traces
        expected = self._traced / traces if traces else CALLS_OF_A_TRACE * self._in_python / self._calls
        return self._traced + expected <= self._earned(graph_calls)

    def _earned(self, graph_calls: int) -> float:
        return SHARE_FOR_TRACES * self._in_python + SAVED_BY_GRAPH * graph_calls * self._in_python / self._calls
