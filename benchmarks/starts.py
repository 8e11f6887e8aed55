"""How much sooner a second process is ready that finds converted code and profiles on disk (``IMP2TF_CACHE_DIR``).

    python -m benchmarks.starts                  # the programs of the suite, some minutes
    python -m benchmarks.starts lstm mcmc

Each sample is a process of its own; first ones have an empty folder, second ones that of the process before. What counts is the time of
the first ten steps, since imp2tf watches the first one where it knows no profile.
"""
from __future__ import annotations

import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout

import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.table import Table

import imp2tf
from benchmarks import models

ROUNDS, STEPS, SECONDS = 5, 10, 600
CHILD = "--child"


def _first_steps(case: str) -> tuple[float, list[float]]:
    """Seconds of the first steps in this process, and what they return."""
    model = models.load(case)
    batches = model.batches(STEPS)
    program = model.PROGRAM()
    step = imp2tf.convert(program.step)
    with redirect_stdout(io.StringIO()):
        started = time.perf_counter()
        results = [step(*batch) for batch in batches]
        seconds = time.perf_counter() - started
    return seconds, [float(np.sum(leaf)) for result in results for leaf in tf.nest.flatten(result)]


def _in_process_of_its_own(case: str, folder: str) -> tuple[float, list[float]]:
    command = [sys.executable, "-m", "benchmarks.starts", CHILD, case]
    environment = {**os.environ, "IMP2TF_CACHE_DIR": folder}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=True)
    seconds, results = json.loads(found.stdout.splitlines()[-1])
    return seconds, results


def measure(case: str) -> tuple[float, float]:
    """Median seconds of the first steps of a first and of a second process, whose results were equal."""
    first, second = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            (before, results), (after, again) = (_in_process_of_its_own(case, folder) for _ in range(2))
        if not np.allclose(results, again, rtol=1e-3):  # the first step of one is eager, that of the other a graph
            raise SystemExit(f"{case}: the second process computes something else")
        first.append(before)
        second.append(after)
    return statistics.median(first), statistics.median(second)


def main(cases: list[str]) -> None:
    """Measure and show."""
    table = Table("program", "first process, s", "second process, s", "ratio", title=f"the first {STEPS} steps")
    ratios = []
    for case in cases:
        first, second = measure(case)
        ratios.append(second / first)
        table.add_row(case, f"{first:.2f}", f"{second:.2f}", f"{second / first:.2f}")
    table.add_row("geometric mean", "", "", f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    Console().print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        print(json.dumps(_first_steps(sys.argv[2])))
    else:
        main(sys.argv[1:] or list(models.CORE))
