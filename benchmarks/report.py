"""The results as tables and as JSON, with a description of the machine they come from."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tensorflow as tf
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import AUTOGRAPH, COMPILED, CONCRETE, CONVERTED, EAGER, HANDWRITTEN, TORCH, TORCH_COMPILED
from benchmarks.protocol import Result, Settings

RIVALS = (EAGER, AUTOGRAPH, CONCRETE, HANDWRITTEN, COMPILED, TORCH, TORCH_COMPILED)
FAILED = re.compile(r"\w+(Error|Exception|Fallback): ")
COUNTS = "second line: traces / calls as plain Python / speculations that failed"
Cases = dict[tuple[str, str], dict[str, Result]]


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code; to be asked before measuring, for the sake of ``load``."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "gpus": len(tf.config.list_physical_devices("GPU")),
        "system": platform.platform(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "torch": _version("torch"),
        "imp2tf": _version("imp2tf"),
    }


def by_case(results: Iterable[Result]) -> Cases:
    """The results of each suite and case, by contender."""
    cases: Cases = {}
    for result in results:
        cases.setdefault((result.suite, result.case), {})[result.contender] = result
    return cases


def ratio(case: dict[str, Result], rival: str) -> float | None:
    """How many times as fast as a rival imp2tf is; None where either was not timed."""
    ours, theirs = case.get(CONVERTED), case.get(rival)
    if ours is None or theirs is None or ours.timing is None or theirs.timing is None or ours.unit != "s":
        return None
    return theirs.timing.median / ours.timing.median


def means(cases: Cases) -> dict[str, dict[str, float]]:
    """For each suite and rival, the geometric mean of imp2tf's ratios."""
    ratios: dict[str, dict[str, list[float]]] = {}
    for (suite, _), case in cases.items():
        for rival in RIVALS:
            found = ratio(case, rival)
            if found is not None and found > 0:
                ratios.setdefault(suite, {}).setdefault(rival, []).append(found)
    return {
        suite: {rival: statistics.geometric_mean(found) for rival, found in rivals.items()}
        for suite, rivals in ratios.items()
    }


def write_json(
    path: Path, results: list[Result], settings: Settings, described: dict[str, Any]
) -> None:
    """All of it, for other programs: times in seconds; ``speedup``, how many times as fast imp2tf is."""
    cases = by_case(results)
    document = {
        "machine": described,
        "settings": asdict(settings),
        "results": [asdict(result) for result in results],
        "speedup": [
            {"suite": suite, "case": name, "over": {r: ratio(case, r) for r in RIVALS if r in case}}
            for (suite, name), case in cases.items()
        ],
        "geometric_mean_speedup": means(cases),
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def show(console: Console, results: list[Result], described: dict[str, Any]) -> None:
    """One table for each suite, then the notes, then the machine."""
    cases = by_case(results)
    for suite in dict.fromkeys(suite for suite, _ in cases):
        own = {name: case for (its_suite, name), case in cases.items() if its_suite == suite}
        console.print(_table(suite, own, means(cases).get(suite, {})))
        if any(result.figures.first_step is not None for case in own.values() for result in case.values()):
            console.print(_figures_table(suite, own))
    for (suite, name), case in cases.items():
        for result in case.values():
            wrong = result.difference and f"not equal to eager: {result.difference}"
            for text in filter(None, [wrong, result.note]):
                console.print(f"{suite}, {name}, {result.contender}: {text}", style="dim", markup=False)
    console.print(", ".join(f"{key} {value}" for key, value in described.items()), style="dim", markup=False)


def _table(suite: str, cases: dict[str, dict[str, Result]], mean: dict[str, float]) -> Table:
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    table = Table(title=suite, caption="second line: how many times as fast imp2tf is", show_lines=True)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for label, case in cases.items():
        table.add_row(label, *(_cell(case, name) for name in names))
    table.add_row("geometric mean", *(_times(mean.get(name)) for name in names))
    return table


def _figures_table(suite: str, cases: dict[str, dict[str, Result]]) -> Table:
    """First step, a hundred steps, memory; for imp2tf also what it took to get there."""
    names = list(dict.fromkeys(name for case in cases.values() for name in case))
    table = Table(title=f"{suite}: first step / 100 steps / memory", caption=COUNTS, show_lines=True)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for label, case in cases.items():
        table.add_row(label, *(_figures(case[name]) if name in case else "-" for name in names))
    return table


def _figures(result: Result) -> str:
    figures = result.figures
    times = " / ".join("-" if value is None else _seconds(value) for value in (figures.first_step, figures.hundred_steps))
    lines = [times if figures.memory is None else f"{times} / {figures.memory / 2**20:.0f} MiB"]
    if figures.traces is not None:
        lines.append(f"{figures.traces} / {figures.fallbacks} / {figures.speculation_failures}")
    return "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1.0 else f"{value * 1e3:.3g} ms"


def _cell(case: dict[str, Result], name: str) -> str:
    """The time of a contender, and below it how imp2tf compares."""
    if name not in case:
        return "-"
    return f"{_time(case[name])}\n{_times(ratio(case, name) if name in RIVALS else None)}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _time(result: Result) -> str:
    if result.timing is None:
        if result.difference:
            return "fails" if FAILED.match(result.difference) else "not equal"
        return "skipped" if result.note.startswith("skipped") else "no graph"
    median = result.timing.median
    if result.unit == "B":
        return f"{median:.0f} B per call"
    unit, scale = ("s", 1.0) if abs(median) >= 1.0 else ("ms", 1e3) if abs(median) >= 1e-3 else ("us", 1e6) if abs(
        median) >= 1e-6 else ("ns", 1e9)
    spread = (result.timing.high - result.timing.low) / 2 / abs(median or 1.0)
    return f"{median * scale:.3g} {unit} ±{spread:.0%}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
