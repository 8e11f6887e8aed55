"""What a trace finds out about the code that it cannot look into: library code, Python that the run calls, branches left out."""
from __future__ import annotations

import dataclasses
from typing import Any

from imp2tf.errors import ConversionError
from imp2tf.sources import Source

__all__ = ["LeftOut", "Outside"]


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A branch that a graph does without: where it is, why, and whether a watched run in Python may show what a trace of it lacks."""

    site: tuple[str, int]
    error: ConversionError
    wanted: bool


@dataclasses.dataclass
class Outside:
    """What a trace knows of code that it cannot look into, and what its calls mean for the graph.

    Attributes:
      touched: objects that calls of library code may have changed, by id.
      read_owners: objects whose data the trace has read, by id.
      unrepeatable: an effect of the run that a repetition by Python could not leave out.
      unseen: whether Python is called where a repetition would not see it: by Python's own functions, operators, properties.
      needs_replay: why the run may find that Python has to go on.
      left_out: the last branch that the graph does without, and before which the run may have had effects.
      handles: whether the program handles exceptions, or cleans up after them, by code that the graph may not hold.
      calls_program: whether the run calls Python that may change what the graph changes, variables for instance.
      sites: the calls of Python that the graph makes.
      prints: the calls of ``tf.print`` in it.
      gives_tensors: whether Python that the graph calls gives it tensors, past eager's tape.
      locks: locks that the run holds from before its guards are checked.
      lock_of_seeds: what keeps runs apart that draw from one stream.
      locks_held: how many of them the program holds here.
      substituting: functions whose substitutes are being traced.
    """

    touched: dict[int, Any] = dataclasses.field(default_factory=dict)
    read_owners: dict[int, Any] = dataclasses.field(default_factory=dict)
    unrepeatable: str | None = None
    unseen: bool = False
    needs_replay: str | None = None
    left_out: LeftOut | None = None
    handles: bool = False
    calls_program: bool = False
    sites: set[tuple[str, int, str]] = dataclasses.field(default_factory=set)
    prints: set[tuple[str, int, str]] = dataclasses.field(default_factory=set)
    gives_tensors: bool = False
    locks: list[Source] = dataclasses.field(default_factory=list)
    lock_of_seeds: Source | None = None
    locks_held: int = 0
    substituting: list[Any] = dataclasses.field(default_factory=list)

    def forget(self) -> None:
        """Let go of the objects of the program that only the trace needed."""
        self.touched.clear()
        self.read_owners.clear()
