"""Run the digits program as plain eager Python, converted by imp2tf, and under tf.function, side by side.

    python examples/digits/demo.py --steps 300

Every run starts from the same weights and sees the same batches. The table says whether what each run
computed, left on the trainer and printed is what plain Python gives, and how fast it was. The exit code is 1
where imp2tf differs from plain Python in anything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from runs import Run, Step, Verdict, judge
from train import accuracy, batches

import imp2tf

EAGER, CONVERTED, AUTOGRAPH = "eager", "imp2tf", "tf.function"
WAYS: dict[str, Callable[[Step], Step]] = {
    EAGER: lambda step: step,
    CONVERTED: imp2tf.convert,
    AUTOGRAPH: tf.function,
}
SHOWN_DIFFERENCES = 3


def run_all(steps: int, console: Console, quiet: bool) -> dict[str, Run]:
    """The runs in turn, step by step, so that whatever else the machine does falls on all of them."""
    columns = [TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.fields[line]}", style="dim")]
    # The runs capture what the program prints; rich must not come between.
    bars = Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=False, disable=quiet)
    results = {name: Run(wrap) for name, wrap in WAYS.items()}
    tasks = {name: bars.add_task(name, total=steps, line="") for name in results}
    warm_up = Run(WAYS[EAGER])  # so that TensorFlow's own start is charged to nobody
    with bars:
        for batch in batches(steps):
            if not warm_up.returned:
                warm_up.advance(*batch)
            for name, run in results.items():
                run.advance(*batch)
                bars.update(tasks[name], completed=len(run.returned), line=run.last_line)
                if run.error is not None:
                    bars.stop_task(tasks[name])
    return results


def mark(problems: list[str]) -> str:
    """``equal``, or the first few differences."""
    if not problems:
        return "[green]equal[/green]"
    shown = problems[:SHOWN_DIFFERENCES]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    return "[red]" + "\n".join(line.replace("[", r"\[") for line in shown) + "[/red]"


def equality_rows(verdicts: dict[str, Verdict]) -> list[tuple[str, ...]]:
    """The rows on what each run computed, left behind and printed; not for a run that an error ended."""

    def row(label: str, show: Callable[[Verdict], str]) -> tuple[str, ...]:
        return (label, "-", *("-" if verdict.error else show(verdict) for verdict in verdicts.values()))

    return [
        ("stopped by an error", "-", *(mark([v.error]) if v.error else "no" for v in verdicts.values())),
        row("losses returned", lambda v: mark(v.losses)),
        row("losses kept, largest difference", lambda v: f"{v.loss_distance:.1e}"),
        row("variables, counters, list of losses", lambda v: mark(v.state)),
        row("printed text", lambda v: mark(v.text)),
    ]


def speed_rows(results: dict[str, Run], verdicts: dict[str, Verdict]) -> list[tuple[str, ...]]:
    """The rows on time; a speed counts only where the results are equal."""

    def row(label: str, show: Callable[[Run], str]) -> tuple[str, ...]:
        counts = {name: name == EAGER or verdicts[name].equal for name in results}
        return (label, *(show(result) if counts[name] else "-" for name, result in results.items()))

    eager = results[EAGER]
    return [
        row("time to first step", lambda r: f"{r.seconds[0] * 1e3:.0f} ms"),
        row("slowest step", lambda r: f"{max(r.seconds) * 1e3:.0f} ms"),
        row("steps per second, warm", lambda r: f"{r.rate:.0f}"),
        row("speed-up, warm", lambda r: f"[bold]{r.rate / eager.rate:.1f}x[/bold]"),
        row("all steps", lambda r: f"{r.total:.1f} s"),
        row("speed-up, conversion included", lambda r: f"{eager.total / r.total:.1f}x"),
    ]


def engine_rows(stats: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows on what imp2tf did."""
    rows = [("calls run as a graph", f"{stats['graph_calls']} of {stats['calls']}"),
            ("Python calls made from graphs", str(stats["host_calls"])), ("traces", str(stats["traces"])),
            ("guard misses", str(stats["guard_misses"])), ("fallbacks", str(len(stats["fallbacks"])))]
    return [(label, "-", value, "-") for label, value in rows]


def table(results: dict[str, Run], verdicts: dict[str, Verdict], stats: dict[str, Any]) -> Table:
    """Everything in one table."""
    shown = Table(title=f"{len(results[EAGER].seconds)} steps of training on handwritten digits, "
                        f"accuracy {accuracy(results[EAGER].trainer):.1%}")
    shown.add_column("")
    for name in results:
        shown.add_column(name)
    for rows in (equality_rows(verdicts), speed_rows(results, verdicts), engine_rows(stats)):
        for row in rows:
            shown.add_row(*row)
        shown.add_section()
    return shown


def summary(results: dict[str, Run], verdict: Verdict, stats: dict[str, Any]) -> str:
    """One line; it claims no speed for what was not equal or did not run as a graph."""
    if not verdict.equal:
        return "imp2tf and plain Python: [red]NOT EQUAL[/red]"
    graphs = f"{stats['graph_calls']} of {stats['calls']} calls as a graph"
    if stats["graph_calls"] == 0:
        return f"imp2tf and plain Python: [green]equal[/green], [red]{graphs}[/red]"
    speedup = results[CONVERTED].rate / results[EAGER].rate
    return f"imp2tf and plain Python: [green]equal[/green], {speedup:.1f} times as fast, {graphs}"


def main() -> int:
    """Run, show, and judge."""
    parser = argparse.ArgumentParser(description="The digits program in three ways, side by side.")
    parser.add_argument("--steps", type=int, default=300, help="steps of training (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="one line instead of progress bars and table")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error("--steps must be at least 1")
    # Bound to today's stdout: the runs replace sys.stdout to capture what the program prints.
    console = Console(file=sys.stdout)
    results = run_all(options.steps, console, options.quiet)
    failure = results[EAGER].error
    if failure is not None:
        raise failure
    verdicts = {name: judge(results[EAGER], results[name]) for name in (CONVERTED, AUTOGRAPH)}
    stats = results[CONVERTED].step.stats()
    if not options.quiet:
        console.print(table(results, verdicts, stats))
        for fallback in stats["fallbacks"]:
            text = "ran as plain Python: {file}:{line}: {reason} ({hint})".format(**fallback)
            console.print(text, markup=False)
    console.print(summary(results, verdicts[CONVERTED], stats))
    return 0 if verdicts[CONVERTED].equal else 1


if __name__ == "__main__":
    sys.exit(main())
