"""How much longer the first call takes than an eager one: reading, rewriting, tracing, the first graph run.

imp2tf converts at once here (``profile_runs=0``), as tf.function does. Each sample is a first call of new
code. A function that stays plain Python has no conversion time.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from types import ModuleType

import tensorflow as tf

import imp2tf
from benchmarks import models
from benchmarks.contenders import AUTOGRAPH, CONVERTED, EAGER, Step, autograph, converted
from benchmarks.protocol import Result, Settings, Timing, seconds_of

CASES = models.CORE


def run(case: str, settings: Settings) -> list[Result]:
    """Convert one model again and again, in alternation."""
    model = models.load(case)
    checked = [autograph(model), converted(model, profile_runs=0)]
    ways: dict[str, Callable[[ModuleType], float]] = {EAGER: _eager_call}
    if not checked[0].difference:
        ways[AUTOGRAPH] = _first_adapted_call if checked[0].adapted else _first_autograph_call
    if not checked[1].difference and checked[1].in_graph:
        ways[CONVERTED] = _first_converted_call
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(settings.conversions):
        for name, way in ways.items():
            gc.collect()
            with models.fresh_copy(case) as copy:
                seconds[name].append(way(copy))
    eager = statistics.median(seconds.pop(EAGER))
    timings = {name: Timing.of([s - eager for s in found]) for name, found in seconds.items()}
    return [c.result("conversion", case, timings.get(c.name)) for c in checked]


def _eager_call(model: ModuleType) -> float:
    step, batch = model.PROGRAM().step, model.batches(1)[0]
    step(*batch)
    return seconds_of(lambda: step(*batch))


def _first_call(model: ModuleType, make: Callable[[], Step]) -> float:
    batch = model.batches(1)[0]
    return seconds_of(lambda: make()(*batch))


def _first_autograph_call(model: ModuleType) -> float:
    program = model.PROGRAM()
    return _first_call(model, lambda: tf.function(program.step))


def _first_adapted_call(model: ModuleType) -> float:
    program = model.ADAPTED()
    return _first_call(model, program.compiled)


def _first_converted_call(model: ModuleType) -> float:
    program = model.PROGRAM()
    return _first_call(model, lambda: imp2tf.convert(program.step, profile_runs=0))
