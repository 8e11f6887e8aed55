"""Command line of the benchmarks.

    python -m benchmarks                      # everything, some minutes
    python -m benchmarks --quick              # a first impression
    python -m benchmarks --only dispatch      # one suite, or one case: --only lstm
    python -m benchmarks --json out.json      # for other programs
    python -m benchmarks --plot out.png       # a picture of the programs' speed; needs matplotlib
    python -m benchmarks --memory             # also the peak of memory, each in a process of its own

The exit code is 1 where imp2tf gave another result than eager Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from benchmarks import conversion, dispatch, guards, keras_fit, plot, report, retention, steps, tiers
from benchmarks.contenders import CONVERTED
from benchmarks.protocol import Result, Settings


@dataclass(frozen=True)
class Suite:
    """The cases of a suite, and how to run one of them."""

    cases: tuple[str, ...]
    run: Callable[[str, Settings], list[Result]]


SUITES = {
    "conversion": Suite(conversion.CASES, conversion.run),
    "dispatch": Suite(dispatch.CASES, dispatch.run),
    "guards": Suite(guards.CASES, guards.run),
    "keras": Suite(keras_fit.CASES, keras_fit.run),
    "retention": Suite(retention.CASES, retention.run),
    "step": Suite(steps.CASES, steps.run),
    "tiers": Suite(tiers.CASES, tiers.run),
}


def chosen(only: list[str]) -> list[tuple[str, str]]:
    """The suites and cases to run: all, or those named."""
    everything = [(suite, case) for suite, content in SUITES.items() for case in content.cases]
    known = sorted({name for pair in everything for name in pair})
    for name in only:
        if name not in known:
            raise SystemExit(f"no suite or case is called {name!r}; there are: {', '.join(known)}")
    return [pair for pair in everything if not only or set(pair) & set(only)]


def main(arguments: list[str] | None = None) -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="imp2tf against eager Python and tf.function."
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results to this file too")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="one suite or case; repeatable"
    )
    parser.add_argument("--plot", type=Path, metavar="OUT", help="draw the programs' speed into this PNG file")
    parser.add_argument("--memory", action="store_true", help="measure the peak of memory too")
    options = parser.parse_args(arguments)
    settings = replace(Settings.quick() if options.quick else Settings(), memory=options.memory)
    console = Console()
    machine = report.machine()
    results: list[Result] = []
    with console.status("measuring") as status:
        for suite, case in chosen(options.only):
            status.update(f"measuring: {suite}, {case}")
            results += SUITES[suite].run(case, settings)
    report.show(console, results, machine)
    if options.json:
        report.write_json(options.json, results, settings, machine)
    if options.plot:
        console.print(plot.draw(options.plot, results))
    return 1 if any(result.contender == CONVERTED and result.difference for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
