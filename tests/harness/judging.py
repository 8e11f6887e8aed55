"""Two records side by side: where the backend parts from plain eager, and whether it ran in graphs."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.harness.comparison import Difference, differences
from tests.harness.exceptions import exception_differences
from tests.harness.world import CallRecord, Record

Text = dict[str, list[str]]
SLACK_OPS = 2    # eagerly executed operations allowed beside one for each call


@dataclass(frozen=True)
class Verdict:
    """The judgement of one program on one backend. `in_graph` is None if nothing could be in a graph."""

    found: tuple[Difference, ...]
    raised: bool
    in_graph: bool | None
    record: Record

    @property
    def right(self) -> bool:
        """Whether nothing parted."""
        return not self.found


def judge(eager: Record, other: Record) -> Verdict:
    """Compare call by call all that was recorded."""
    pairs = list(zip(eager.calls, other.calls, strict=False))
    found = [difference for pair in pairs for difference in _call_differences(*pair)]
    if eager.timed_out or other.timed_out:
        ends = [_end(record) for record in (eager, other)]
        found.append(Difference("time", "the whole program", *ends))
    raised = any(two.raised and not one.raised for one, two in pairs)
    return Verdict(tuple(found), raised, _in_graph(eager, other), other)


def _end(record: Record) -> str:
    return f"took too long after {len(record.calls)} calls" if record.timed_out else "came to its end"


def _in_graph(eager: Record, other: Record) -> bool | None:
    """Whether the last round executed fewer operations eagerly than plain Python does, and next to none."""
    if not eager.eager_ops:
        return None
    few = min(len(eager.eager_ops) - 1, other.calls_per_round + SLACK_OPS)
    return len(other.eager_ops) <= few and not other.python_calls


def _call_differences(eager: CallRecord, other: CallRecord) -> Iterator[Difference]:
    place = eager.label
    if eager.raised and other.raised:
        yield from exception_differences(place, eager.raised, other.raised)
    elif eager.raised or other.raised:
        shown = [str(record.raised or f"returned {record.result}") for record in (eager, other)]
        yield Difference("exception", place, *shown)
    else:
        yield from differences("result", f"{place}: result", eager.result, other.result)
        yield from differences("gradient", f"{place}: gradients", eager.gradients, other.gradients)
    yield from differences("argument", f"{place}: arguments", eager.arguments, other.arguments)
    yield from differences("state", f"{place}: state", eager.state, other.state)
    yield from _alias_differences(place, eager.aliases, other.aliases)
    yield from _text_differences(place, eager.text, other.text)


def _alias_differences(place: str, eager: dict[str, str], other: dict[str, str]) -> Iterator[Difference]:
    for path in sorted(eager.keys() | other.keys()):
        if eager.get(path) != other.get(path):
            yield Difference("identity", f"{place}: {path}", *(f"is {paths.get(path, 'an object of its own')}"
                                                               for paths in (eager, other)))


def _text_differences(place: str, eager: Text, other: Text) -> Iterator[Difference]:
    if eager["all"] != other["all"]:
        yield Difference("text", place, repr(eager["all"]), repr(other["all"]))
        return
    for stream in ("stdout", "stderr"):
        left = iter(other[stream])
        if not all(line in left for line in eager[stream]):
            yield Difference("text", f"{place}: sys.{stream}", repr(eager[stream]), repr(other[stream]))
