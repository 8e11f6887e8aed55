"""The time of a training step (or of what a program has for one), from the first one on, and what it takes besides."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace

from benchmarks import memory, models, twins
from benchmarks.contenders import EAGER, contenders
from benchmarks.protocol import Result, Settings, measure, settled

CASES = models.NAMES


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one program, from a fresh copy of its file, so that converting it is new work."""
    lacking = models.lacking(case)
    if lacking:
        return [Result("step", case, EAGER, None, note=f"skipped: {lacking} is not installed")]
    with models.fresh_copy(case) as model, redirect_stdout(io.StringIO()):
        twin = twins.twin_of(case) if twins.installed() else None
        found = [settled(one, settings) for one in contenders(model, settings.xla, twin)]
        results = measure("step", case, found, settings)
    return [_with_memory(result) for result in results] if settings.memory else results


def _with_memory(result: Result) -> Result:
    if result.difference:
        return result
    found = memory.in_process_of_its_own(result.case, result.contender)
    return replace(result, figures=replace(result.figures, memory=found))
