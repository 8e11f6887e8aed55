"""What guards cost: a call of a graph that depends on 1, 10 or 100 Python values, and the guards of it alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

import imp2tf
from benchmarks.checks import difference, outcome
from benchmarks.contenders import AUTOGRAPH, CONVERTED, EAGER
from benchmarks.protocol import Contender, Result, Settings, Timing, interleave, measure

COUNTS = {"1 guard": 1, "10 guards": 10, "100 guards": 100}
CASES = tuple(COUNTS)
GUARDS_ALONE, PER_GUARD = "guards alone", "each guard"
WARM = 30


class Sum:
    """A method that depends on many Python values, of five sorts, and computes next to nothing."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.values = {str(i): (i, float(i), True, "text", None)[i % 5] for i in range(count)}

    def apply(self, x: tf.Tensor) -> tf.Tensor:
        """Each value is read."""
        total = 0
        for name in self.values:
            if self.values[name] is not None:
                total += 1
        return x + float(total)


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one number of guards."""
    program, x = Sum(COUNTS[case]), tf.ones([])
    converted = imp2tf.convert(program.apply, profile_runs=0)
    ways: dict[str, Callable[..., Any]] = {EAGER: program.apply, AUTOGRAPH: tf.function(program.apply), CONVERTED: converted}
    outcomes = {name: outcome(partial(_last_of, way, x)) for name, way in ways.items()}
    results = measure("guards", case, [
        Contender(name, partial(way, x), difference(outcomes[EAGER], outcomes[name]), stats=converted.stats if name == CONVERTED else None)
        for name, way in ways.items()
    ], settings, graphs_only=True)
    admit = converted._dispatcher.graphs[0].admit
    alone = interleave({GUARDS_ALONE: partial(admit, (x,))}, settings)[GUARDS_ALONE]
    share = len(converted.guards())
    each = Timing(alone.median / share, alone.low / share, alone.high / share, alone.samples)
    note = f"{share} guards in all"
    return [*results, Result("guards", case, GUARDS_ALONE, alone, note=note), Result("guards", case, PER_GUARD, each)]


def _last_of(way: Callable[..., Any], x: tf.Tensor) -> Any:
    return [way(x) for _ in range(WARM)][-1]
