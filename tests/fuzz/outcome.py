"""What came of one program, in plain data that can be sent between processes."""
from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.harness.comparison import Difference


@dataclass(frozen=True)
class Outcome:
    """`fallbacks` are pairs of code and reason; `invalid` says why the program does not count."""

    differences: tuple[Difference, ...] = ()
    fallbacks: tuple[tuple[str, str], ...] = ()
    in_graph: bool | None = None
    invalid: str = ""
    trace: str = ""
    seconds: float = 0.0
    kinds: frozenset[str] = field(default_factory=frozenset)


def kind_of(difference: Difference) -> str:
    """A difference without its particulars: two programs that part in the same way have the same kind."""
    if difference.aspect == "internal error":
        return f"internal {difference.place}"
    if difference.aspect not in ("exception", "gradient", "result"):
        return difference.aspect
    sides = [re.match(r"[\w.]+", text) for text in (difference.eager, difference.other)]
    names = [match[0].rsplit(".", 1)[-1] if match else "" for match in sides]
    return f"{difference.aspect} {names[0]} / {names[1]}"
