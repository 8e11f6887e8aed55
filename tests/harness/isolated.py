"""Programs judged in another process, since a backend may take the process with it."""
from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tests.harness.comparison import Difference
from tests.harness.judging import Verdict
from tests.harness.world import Record

Judge = Callable[[int], Verdict]


class Judging:
    """A process that judges one program after the other; a new one when it has died.

    `start()` is called in the process, and gives what judges the program of a number. Both have to be picklable.
    """

    def __init__(self, start: Callable[[], Judge]) -> None:
        self.start = start
        self._process: multiprocessing.process.BaseProcess | None = None
        self._wire: Connection | None = None

    def __enter__(self) -> Judging:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, number: int) -> Verdict:
        """The verdict on a program; one that says so if the process died of it."""
        wire = self._wire or self._begin()
        try:
            wire.send(number)
            found: Verdict = wire.recv()
        except (EOFError, OSError):
            self._end()
            died = Difference("time", "the whole program", "came to its end", "ended the process, or did not come back")
            return Verdict((died,), raised=False, in_graph=None, record=Record(0))
        return found

    def _begin(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._wire, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.start), daemon=True)
        self._process.start()
        theirs.close()
        return self._wire

    def _end(self) -> None:
        if self._process is not None and self._wire is not None:
            self._process.kill()
            self._process.join()
            self._wire.close()
        self._process = self._wire = None


def _serve(wire: Any, start: Callable[[], Judge]) -> None:
    judge = start()
    while True:
        wire.send(judge(wire.recv()))
