"""Steady time of a training step of each model."""

from __future__ import annotations

from benchmarks import models
from benchmarks.contenders import contenders
from benchmarks.protocol import Result, Settings, measure

CASES = models.NAMES


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one model."""
    return measure("step", case, contenders(models.load(case)), settings)
