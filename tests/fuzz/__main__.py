"""Command line of the random programs: ``python -m tests.fuzz --count 200 --seed 3 --shrink --out failures``."""
from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.fuzz.outcome import Outcome
from tests.fuzz.programs import Program, write_program
from tests.fuzz.shrinking import shrink
from tests.fuzz.workers import Worker

SHOWN_REASONS = 25
SHOWN_SLOWEST = 5
SHRUNK_PER_KIND = 2    # what differs in the same way as two programs before is left as it is


@dataclass
class Tally:
    """Counts over all programs."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, seed: str, outcome: Outcome) -> None:
        """Count one program."""
        self.seconds[seed] = outcome.seconds
        if outcome.invalid:
            self.counts["invalid"] += 1
            return
        self.counts["programs"] += 1
        self.counts["different" if outcome.differences else "equal"] += 1
        if outcome.in_graph:
            self.counts["in the graph"] += 1
        self.counts["no fallback"] += not outcome.fallbacks
        self.kinds.update(outcome.kinds)
        self.reasons.update({f"{code} {_general(reason)}" for code, reason in outcome.fallbacks})


def _general(reason: str) -> str:
    """A reason without the names and numbers of the program that had it."""
    first = reason.splitlines()[0] if reason else ""
    return re.sub(r"'[^']*'?|0x[0-9a-f]+|\d+", "..", first)[:80]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run random programs; the exit code is 1 if any differs."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150)
    tally = Tally()
    workers: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(options.jobs):
        workers.put(Worker({"profile_runs": options.profile_runs}))

    def one(number: int) -> tuple[Program, Outcome, Outcome]:
        worker = workers.get()
        try:
            program = write_program(f"{options.seed}:{number}")
            first = outcome = worker.run(program)
            if options.shrink and any(tally.kinds[kind] < SHRUNK_PER_KIND for kind in outcome.kinds):
                program, outcome = shrink(program, outcome, worker.run)
            return program, outcome, first
        finally:
            workers.put(worker)

    numbers = range(options.start, options.start + options.count)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress, ThreadPoolExecutor(options.jobs) as pool:
        task = progress.add_task("programs", total=options.count)
        for program, outcome, first in pool.map(one, numbers):
            tally.add(program.seed, dataclasses.replace(outcome, seconds=first.seconds))
            progress.update(task, advance=1, description=f"programs ({tally.counts['different']} different)")
            if outcome.differences:
                _report(program, outcome, console, options.out)
    while not workers.empty():
        workers.get().close()
    _summary(tally, console)
    return int(bool(tally.counts["different"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=main.__doc__)
    parser.add_argument("--count", type=int, default=200, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other programs")
    parser.add_argument("--start", type=int, default=0, help="number of the first program of the seed")
    parser.add_argument("--jobs", type=int, default=1, help="child processes")
    parser.add_argument("--profile-runs", type=int, default=0, help="first calls that run as plain Python")
    parser.add_argument("--shrink", action="store_true", help="make failing programs small")
    parser.add_argument("--out", type=Path, help="folder for failing programs")
    return parser


def _report(program: Program, outcome: Outcome, console: Console, out: Path | None) -> None:
    lines = [f"program {program.seed}{' with gradients' * program.grad}: {', '.join(sorted(outcome.kinds))}", *(str(one) for one in outcome.differences[:4])]
    console.print("\n".join(lines), markup=False, highlight=False)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        comment = "".join(f"# {line}\n" for line in "\n".join([*lines, *outcome.trace.splitlines()[-14:]]).splitlines())
        (out / f"program_{program.seed.replace(':', '_')}.py").write_text(program.text + "\n\n" + comment, encoding="utf-8")


def _summary(tally: Tally, console: Console) -> None:
    grid = Table(title="random programs, converted against eager", header_style="bold")
    grid.add_column("what")
    grid.add_column("programs", justify="right")
    for name in ("programs", "equal", "different", "in the graph", "no fallback", "invalid"):
        grid.add_row(name, str(tally.counts[name]))
    grid.add_section()
    seconds = sorted(tally.seconds.values())
    grid.add_row("seconds for a program, mean and median", f"{sum(seconds) / len(seconds):.2f}, {seconds[len(seconds) // 2]:.2f}" if seconds else "")
    for seed, one in tally.seconds.most_common(SHOWN_SLOWEST):
        grid.add_row(f"slowest: {seed}", f"{one:.1f}")
    for title, counter in (("differences", tally.kinds), ("fallback reasons", tally.reasons)):
        grid.add_section()
        grid.add_row(f"[bold]{title}[/]", "")
        for name, count in counter.most_common(SHOWN_REASONS):
            grid.add_row(name.replace("[", r"\["), str(count))
    console.print(grid)


if __name__ == "__main__":
    sys.exit(main())
