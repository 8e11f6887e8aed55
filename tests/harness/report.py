"""Verdicts for people: the text of a failed check and the table of features by backend."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from tests.harness.judging import Verdict

SHOWN_DIFFERENCES = 6
WIDTH = 120    # of the table where the output is no terminal


def explanation(
    name: str, verdict: Verdict, wanted_graph: bool | None = None, shown: int = SHOWN_DIFFERENCES
) -> str:
    """Why a check failed: what parted, where it ran, and imp2tf's own reasons for falling back."""
    lines = [f"{name}: {len(verdict.found)} differences from eager"]
    lines += [f"  {difference}" for difference in verdict.found[:shown]]
    if len(verdict.found) > shown:
        lines.append(f"  and {len(verdict.found) - shown} more")
    if wanted_graph is not None:
        wanted = "in the graph" if wanted_graph else "outside the graph"
        lines.append(f"  expected {wanted}, but {_whereabouts(verdict)}")
    lines += _unexpected_trace(verdict)[-4 * shown:]
    lines += [f"  fallback {line}" for line in verdict.record.fallbacks]
    counters = {name: value for name, value in verdict.record.stats.items() if name != "fallbacks"}
    if counters:
        lines.append(f"  stats: {counters}")
    return "\n".join(lines)


def failure_lines(label: str, verdict: Verdict, graph: bool, shown: int) -> Iterator[str]:
    """Nothing for a program that is right and, if `graph`, not outside of graphs, else its explanation."""
    misplaced = graph and verdict.in_graph is False
    if not verdict.right or misplaced:
        yield explanation(label, verdict, True if misplaced else None, shown)


@dataclass
class Tally:
    """Counts of verdicts by feature."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def wrong(self) -> int:
        """How many programs are not right."""
        return sum(counter["programs"] - counter["right"] for counter in self.counts.values())

    def add(self, feature: str, verdict: Verdict) -> None:
        """Count one verdict."""
        counter = self.counts.setdefault(feature, Counter())
        kind = "right" if verdict.right else "raised" if verdict.raised else "wrong"
        counter.update(["programs", kind])
        counter.update(["graph"] if verdict.right and verdict.in_graph else [])


def table(tallies: Mapping[str, Tally]) -> None:
    """Print one row for each feature and, for each backend, right, right and in the graph, wrong, raised."""
    grid = Table(title="programs as in plain eager", header_style="bold")
    grid.add_column("feature", no_wrap=True)
    grid.add_column("programs", justify="right")
    for backend in tallies:
        for heading in ("right", "graph", "wrong", "raised"):
            grid.add_column(f"{backend}\n{heading}", justify="right")
    features = next(iter(tallies.values())).counts
    for feature in features:
        grid.add_row(feature, str(features[feature]["programs"]),
                     *_cells([tally.counts[feature] for tally in tallies.values()]))
    totals = [sum(tally.counts.values(), Counter()) for tally in tallies.values()]
    grid.add_section()
    grid.add_row("all", str(totals[0]["programs"]), *_cells(totals))
    Console(width=max(Console().width, WIDTH)).print(grid)


def _cells(counters: list[Counter[str]]) -> Iterator[str]:
    for counter in counters:
        yield f"[green]{counter['right']}[/]"
        yield str(counter["graph"])
        yield f"[red]{counter['wrong']}[/]" if counter["wrong"] else "0"
        yield f"[red]{counter['raised']}[/]" if counter["raised"] else "0"


def _whereabouts(verdict: Verdict) -> str:
    if verdict.in_graph is None:
        return "plain Python executes no operations at all"
    if verdict.in_graph:
        return "all of it ran in graphs"
    ops = Counter(verdict.record.eager_ops).most_common(5)
    many = ", ".join(f"{name} x{count}" for name, count in ops)
    return (f"the last round executed {len(verdict.record.eager_ops)} operations eagerly ({many})"
            f" and ran {verdict.record.python_calls} calls as plain Python")


def _unexpected_trace(verdict: Verdict) -> list[str]:
    """The traceback of the first exception that eager does not raise."""
    if not verdict.raised:
        return []
    raised = {difference.place for difference in verdict.found if difference.aspect == "exception"}
    for call in verdict.record.calls:
        if call.label in raised and call.raised:
            return ["  " + line for line in call.raised.trace.splitlines()]
    return []
