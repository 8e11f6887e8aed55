"""Whether a function can afford another graph: what its traces have cost, against what its calls may spend and have saved.

A function that needs another graph at nearly every call is traced a few times, and then so seldom that tracing takes a small part
of its time. Where graphs come to be used again, they pay for more. One that walks over structures gets none on credit but the first.
"""
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Account"]

FREE = 6  # traces that nobody asks for
LEAST = 2.0  # seconds that any function may spend
SHARE = 0.05  # of the time in Python that may go into traces
CALLS_OF_A_TRACE = 10  # in Python, that take as long
SAVED = 0.5  # of the time of a call in Python: what a call of a graph saves, by a cautious guess


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
        """Whether there may be another trace; where no call was made by Python, nobody knows what a graph saves."""
        return traces < FREE or not self._calls or self._traced <= LEAST + self._earned(graph_calls)

    def has_earned(self, traces: int, graph_calls: int) -> bool:
        """Whether another trace is paid for already."""
        if not self._calls:
            return not traces
        expected = self._traced / traces if traces else CALLS_OF_A_TRACE * self._in_python / self._calls
        return self._traced + expected <= self._earned(graph_calls)

    def _earned(self, graph_calls: int) -> float:
        return SHARE * self._in_python + SAVED * graph_calls * self._in_python / self._calls
