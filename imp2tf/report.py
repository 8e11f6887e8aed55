"""`Report` is what `explain` returns: text for people, a dict for machines."""
from __future__ import annotations

import dataclasses
import io
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Report"]

TIERS = {"graph": "by TensorFlow", "inline": "by TensorFlow on the calling thread", "xla": "compiled by XLA"}


@dataclasses.dataclass(frozen=True)
class Report:
    """What runs as a graph and what as Python, and why; ``print`` shows it as text.

    Attributes:
      name: the qualified name of the function.
      stats: what ``stats()`` of the function returns.
      guards: what the newest graph assumes.
      misses: why the function was traced again.
      python_calls: the calls of Python that the newest graph makes, with their places.
    """

    name: str
    stats: dict[str, Any]
    guards: list[str]
    misses: list[str]
    python_calls: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict of plain Python values, with the attributes as keys."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        out = io.StringIO()
        console = Console(file=out, width=110, highlight=False)
        console.print(self._counts())
        for fallback in self.stats["fallbacks"]:
            where = f"{fallback['file']}:{fallback['line']}" if fallback["file"] else "unknown line"
            console.print(f"runs as Python ({fallback['count']}x) {fallback['code']}: {fallback['reason']}", markup=False)
            console.print(f"    at {where}\n    hint: {fallback['hint']}", markup=False)
        if self.stats.get("tiers"):
            console.print(f"graphs run, newest first: {', '.join(TIERS[tier] for tier in self.stats['tiers'])}", markup=False)
        for title, lines in (("the newest graph calls Python", self.python_calls), ("traced again because", self.misses),
                             ("the newest graph assumes", self.guards)):
            if lines:
                console.print(f"{title}:", markup=False)
                for line in lines:
                    console.print(f"    {line}", markup=False)
        return out.getvalue()

    def _counts(self) -> Table:
        table = Table(title=f"{self.name}", title_justify="left")
        names = [name for name, value in self.stats.items() if isinstance(value, int)]
        for name in names:
            table.add_column(name.replace("_", " "), justify="right")
        table.add_row(*[str(self.stats[name]) for name in names])
        return table
