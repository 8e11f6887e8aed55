"""How things are measured: results compared first, contenders in turn within one process, medians.

Times on a shared machine drift, so contenders never run one after the other but in rounds, each round a
sample of every one of them, beginning with another one each time. What is compared are ratios of medians of
the same rounds.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Call = Callable[[], Any]
HUNDRED = 100


@dataclass(frozen=True)
class Settings:
    """How long to measure."""

    rounds: int = 15
    sample_seconds: float = 0.1
    warm_calls: int = 10
    settling_seconds: float = 6.0  # of each contender of the suite "step", before its steady step is measured
    conversions: int = 5
    retention_share: float = 1.0  # of the calls and rounds of the suite "retention"
    tier_seconds: float = 40.0  # of each contender of the suite "tiers"
    xla: bool = True
    memory: bool = False

    @classmethod
    def quick(cls) -> Settings:
        """For a first impression: shorter samples, and nothing is compiled by XLA."""
        return cls(rounds=5, sample_seconds=0.02, warm_calls=2, conversions=2, xla=False, retention_share=0.05, tier_seconds=2.0,
                   settling_seconds=0.7)


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of the samples and their quartiles."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, samples: list[float]) -> Timing:
        """The summary of some samples."""
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0], 1)
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high, len(samples))


@dataclass(frozen=True)
class Figures:
    """What is known of a contender besides the time of a warm call; None where it was not measured."""

    first_step: float | None = None
    hundred_steps: float | None = None
    """Seconds of the first hundred steps; of those that were not timed, what a steady one takes."""
    memory: int | None = None
    """Bytes by which the peak of a process of its own grew in some steps."""
    traces: int | None = None
    fallbacks: int | None = None
    """Calls that ran as plain Python for a reason."""
    speculation_failures: int | None = None


@dataclass(frozen=True)
class Contender:
    """One way to run a case.

    ``difference`` says how its results differ from eager's; then it is not timed. ``adapted`` says that it
    runs a version of the program changed for it. ``seconds`` are those of the calls that were compared.
    """

    name: str
    call: Call
    difference: str = ""
    note: str = ""
    adapted: bool = False
    stats: Callable[[], Mapping[str, Any]] | None = None
    seconds: tuple[float, ...] = ()

    @property
    def in_graph(self) -> bool:
        """False where imp2tf ran most calls as plain Python."""
        if self.stats is None:
            return True
        stats = self.stats()
        return bool(stats["graph_calls"] * 2 >= stats["calls"])

    def result(self, suite: str, case: str, timing: Timing | None) -> Result:
        """The row of the report."""
        return Result(suite, case, self.name, timing, self.difference, self._full_note(), self._figures(timing))

    def _figures(self, timing: Timing | None) -> Figures:
        hundred = None if timing is None else sum(self.seconds) + max(0, HUNDRED - len(self.seconds)) * timing.median
        stats = self.stats() if self.stats else None
        return Figures(
            first_step=self.seconds[0] if self.seconds and not self.difference else None,
            hundred_steps=hundred if self.seconds else None,
            traces=stats.get("traces") if stats else None,
            fallbacks=sum(found.get("count", 1) for found in stats["fallbacks"]) if stats else None,
            speculation_failures=stats.get("speculation_failures") if stats else None,
        )

    def _full_note(self) -> str:
        if self.stats is None:
            return self.note
        stats = self.stats()
        fell = [f"plain Python{_place(found)} ({found['code']})" for found in stats["fallbacks"]]
        few = "" if self.in_graph else f"only {stats['graph_calls']} of {stats['calls']} calls in a graph"
        return "; ".join(filter(None, [self.note, *fell, few]))


@dataclass(frozen=True)
class Result:
    """What was found for one contender in one case."""

    suite: str
    case: str
    contender: str
    timing: Timing | None
    difference: str = ""
    note: str = ""
    figures: Figures = Figures()
    unit: str = "s"  # of the timing: seconds, or "B" for bytes


def _place(fallback: Mapping[str, Any]) -> str:
    """Where a call fell back, or why where no line is to blame."""
    return f" at line {fallback['line']}" if fallback["line"] else f": {fallback['reason']}"


def seconds_of(call: Call, times: int = 1) -> float:
    """Mean seconds of a call made several times in a row, without garbage collection in between."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        turns = range(times)
        start = time.perf_counter()
        for _ in turns:
            call()
        return (time.perf_counter() - start) / times
    finally:
        if collecting:
            gc.enable()


def interleave(calls: Mapping[str, Call], settings: Settings) -> dict[str, Timing]:
    """Time warm calls in rounds."""
    times = {}
    for name, call in calls.items():
        seconds_of(call, settings.warm_calls)
        times[name] = max(1, round(settings.sample_seconds / seconds_of(call)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for _ in range(settings.rounds):
        gc.collect()
        for name in order:
            samples[name].append(seconds_of(calls[name], times[name]))
        order = order[1:] + order[:1]
    return {name: Timing.of(found) for name, found in samples.items()}


def settled(contender: Contender, settings: Settings) -> Contender:
    """The same after calls enough for it to have come to its steady step; the first hundred are timed one by one."""
    seconds, end = list(contender.seconds), time.perf_counter() + settings.settling_seconds
    while not contender.difference and time.perf_counter() < end:
        found = seconds_of(contender.call)
        if len(seconds) < HUNDRED:
            seconds.append(found)
    return replace(contender, seconds=tuple(seconds))


def measure(
    suite: str, case: str, contenders: list[Contender], settings: Settings, graphs_only: bool = False
) -> list[Result]:
    """Time those contenders whose results are eager's (with ``graphs_only``: and that run in a graph)."""
    calls = {c.name: c.call for c in contenders if not c.difference and (c.in_graph or not graphs_only)}
    timings = interleave(calls, settings)
    return [c.result(suite, case, timings.get(c.name)) for c in contenders]
