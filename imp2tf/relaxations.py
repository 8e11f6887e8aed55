"""What the traces of a function have learned: which places vary from call to call, and so must be inputs."""
from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.sources import Source

__all__ = ["Guard", "Relaxations"]


@dataclasses.dataclass(frozen=True)
class Guard:
    """What a trace assumed of the value a source gives: `check` is one of the checks in `imp2tf.guards`."""

    source: Source
    check: str
    expected: Any


@dataclasses.dataclass
class Relaxations:
    """What the misses so far have taught: which numbers vary, which shapes, and what must stay constant."""

    numbers: set[Source] = dataclasses.field(default_factory=set)
    presumed: set[Source] = dataclasses.field(default_factory=set)  # not varied yet, but will, to judge by the program
    presuming: bool = True  # whether numbers may be presumed to vary
    shapes: dict[tuple[Source, int | None], tf.TensorShape] = dataclasses.field(default_factory=dict)
    constant: set[Source] = dataclasses.field(default_factory=set)
    declared: dict[Source, tf.TypeSpec] = dataclasses.field(default_factory=dict)  # the kinds that an input signature declares
    arrays: dict[Source, tf.TensorShape] = dataclasses.field(default_factory=dict)  # NumPy arrays that vary
    choices: collections.Counter[Source] = dataclasses.field(default_factory=collections.Counter)  # how often each was another one
    lists: set[Source] = dataclasses.field(default_factory=set)  # lists whose elements are read and whose length varies
    changed_lists: set[Source] = dataclasses.field(default_factory=set)  # lists whose length the function changes
    fixed: set[Source] = dataclasses.field(default_factory=set)  # lists that need a graph for each length
    kinds_of_lists: dict[Source, Any] = dataclasses.field(default_factory=dict)  # the kind of the elements of `lists`
    live: set[Source] = dataclasses.field(default_factory=set)  # NumPy arrays that the function changes
    made: set[Any] = dataclasses.field(default_factory=set)  # where it makes those that it changes itself
    seeded: bool = False  # the function sets a seed itself
    drawn_by_host: bool = False  # Python that the graph calls may draw random numbers too
    ends_by_run: bool = False  # only the run knows where an iterator of the program ends
    profile: Any = None  # the results of library calls, as watched runs in Python have shown them
    # Lines of branches that must not be left out any more, since they were entered too often; None: no branch may be left out.
    given_up: set[tuple[str, int]] | None = None
    budget: float | None = None  # seconds that tracing with relaxed shapes may take

    def active(self) -> bool:
        """Whether anything is relaxed now."""
        return bool(self.shapes or self.arrays or self.lists or self.numbers - self.constant)

    def presume(self, source: Source, owners: Sequence[str], name: str, value: Any) -> None:
        """A number or an array is read; `owners` are the classes that it may be an attribute of."""
        updates = self.profile.updates if self.presuming and self.profile is not None else ()
        if updates and any((owner, name, True) in updates or ((owner, name, False) in updates and type(value) is not int)
                           for owner in owners):
            self.presumed.add(source)
            if not isinstance(value, (int, float)):
                self.arrays.setdefault(source, tf.TensorShape(value.shape))

    def takes_any_length(self, source: Source, container: Any) -> bool:
        """Whether the graph takes a list whose elements are read with any length: it varied, or a run in Python has changed it."""
        resized = self.profile.resized if self.presuming and self.profile is not None and source not in self.fixed else ()
        if any(container is one for one in resized):
            self.lists.add(source)
        return source in self.lists

    def presume_nothing(self) -> None:
        """Give up what was only presumed: it may be the reason why there is no graph."""
        for source in self.presumed:
            self.arrays.pop(source, None)
        self.presumed, self.presuming = set(), False

    def shape(self, source: Source, value: tf.Tensor) -> tf.TensorShape:
        """The shape, in the graph, of a tensor that is found there."""
        spec = self.declared.get(source)
        if isinstance(spec, tf.TensorSpec):
            return spec.shape
        relaxed = self.shapes.get((source, value.shape.rank), value.shape)
        return relaxed if relaxed.is_compatible_with(value.shape) else value.shape

    def learned(self) -> tuple[Any, ...]:
        """What traces find out themselves; where it differs after one that failed, another may not."""
        return self.seeded, self.drawn_by_host, self.ends_by_run, len(self.live), len(self.made), len(self.numbers)

    def number(self, source: Source) -> bool:
        """Whether a Python number found there is an input of the graph rather than a constant."""
        return (source in self.numbers or source in self.presumed) and source not in self.constant
