"""Runs of the program, as it is or converted, that keep everything they leave behind."""

from __future__ import annotations

import contextlib
import io
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from comparison import differences, largest_difference
from train import Trainer

Step = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class Run:
    """One run with a trainer of its own, which trains with ``wrap(trainer.step)``."""

    def __init__(self, wrap: Callable[[Step], Step]) -> None:
        self.trainer = Trainer()
        self.step: Any = wrap(self.trainer.step)
        self.printed = io.StringIO()
        self.returned: list[Any] = []
        self.seconds: list[float] = []
        self.error: Exception | None = None

    def advance(self, images: tf.Tensor, labels: tf.Tensor) -> None:
        """One more step; an exception is kept, and ends the run."""
        if self.error is not None:
            return
        try:
            with contextlib.redirect_stdout(self.printed):
                start = time.perf_counter()
                self.returned.append(self.step(images, labels))
                self.seconds.append(time.perf_counter() - start)
        except Exception as error:
            self.error = error

    @property
    def text(self) -> str:
        """All that was printed."""
        return self.printed.getvalue()

    @property
    def last_line(self) -> str:
        """The line printed last, or what ended the run."""
        if self.error is not None:
            return f"stopped by {type(self.error).__name__}"
        return self.text.rstrip("\n").rpartition("\n")[2]

    @property
    def rate(self) -> float:
        """Steps per second once all is warm: by the median of the second half of the steps."""
        return 1.0 / statistics.median(self.seconds[len(self.seconds) // 2 :])

    @property
    def total(self) -> float:
        """Seconds for all steps, conversion included."""
        return sum(self.seconds)


@dataclass(frozen=True)
class Verdict:
    """How a run compares with the eager one: a list of differences for each thing compared."""

    error: str
    loss_distance: float
    losses: list[str]
    state: list[str]
    text: list[str]

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.error or self.losses or self.state or self.text)


def judge(eager: Run, other: Run) -> Verdict:
    """Compare what two runs returned, left on the trainer and printed."""
    return Verdict(
        error=describe(other.error) if other.error else "",
        loss_distance=largest_difference(eager.trainer.losses, other.trainer.losses),
        losses=differences(eager.returned, other.returned, "returned"),
        state=differences(vars(eager.trainer), vars(other.trainer), "trainer"),
        text=[] if eager.text == other.text else [_text_difference(eager.text, other.text)],
    )


def describe(error: Exception) -> str:
    """The class of an exception, the line of the program it came from, and its message in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    # AutoGraph puts a report of its own before the message.
    telling = [line for line in lines if line.startswith(f"{name}: ")] or lines or [""]
    return f"{name}{_place(error, lines)}: {telling[0].removeprefix(f'{name}: ')}"


def _place(error: Exception, lines: list[str]) -> str:
    """`` at train.py:88``: from the message, where AutoGraph puts it, or else from the traceback."""
    named = [line for line in lines if line.startswith("File ") and "train.py" in line]
    if named:
        return f" at train.py:{named[-1].split('line ')[1].split(',')[0]}"
    frames = traceback.extract_tb(error.__traceback__)
    numbers = [frame.lineno for frame in frames if frame.filename.endswith("train.py")]
    return f" at train.py:{numbers[-1]}" if numbers else ""


def _text_difference(expected: str, found: str) -> str:
    before, after = expected.splitlines(), found.splitlines()
    if len(before) != len(after):
        return f"printed: {len(before)} lines became {len(after)}"
    pairs = [(a, b) for a, b in zip(before, after) if a != b]
    return f"printed: {pairs[0][0]!r} became {pairs[0][1]!r}" if pairs else "printed: line ends differ"
