"""The variables that a region of the graph may change, and how they are put back."""
from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from imp2tf.errors import is_own_file

__all__ = ["NO_STATE", "Box", "Position", "State", "Variables", "Visited"]


@dataclasses.dataclass(frozen=True)
class State:
    """The local variables that a block may change: how to read them all, and how to set them."""

    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]

    def plus(self, box: Box) -> State:
        """With one value more."""

        def put(values: tuple[Any, ...]) -> None:
            self.set(values[:-1])
            box.value = values[-1]

        return State(lambda: (*self.get(), box.value), put)

    def shares(self, other: State) -> bool:
        """Whether two states are of variables of one call of a function."""
        return not {id(cell) for cell in _cells(self.get, set())}.isdisjoint(id(cell) for cell in _cells(other.get, set()))

    def also(self, others: Sequence[State]) -> State:
        """With all values of some others."""
        if not others:
            return self
        first, *rest = others

        def put(values: tuple[Any, ...]) -> None:
            count = len(self.get())
            self.set(values[:count])
            first.set(values[count:])

        return State(lambda: (*self.get(), *first.get()), put).also(rest)


@dataclasses.dataclass(frozen=True)
class Visited(State):
    """What the consumer of a running generator may change, and what runs for each item."""

    visit: Callable[[Any], Any]


class Box:
    """A variable of the machinery itself, carried like the program's own."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Position(Box):
    """The position in an iteration: another one after each item."""


NO_STATE = State(tuple, lambda values: None)


class Variables:
    """All variables of the program that some blocks close over, with the values they have now.

    What a block binds and nothing needs afterwards is no part of its `State`, but what was traced may not stay in it.
    """

    def __init__(self, *blocks: Callable[..., Any]) -> None:
        cells = {id(cell): cell for block in blocks for cell in _cells(block, set())}
        self._values = [(cell, _content(cell)) for cell in cells.values()]

    def restore(self) -> None:
        """Put the values back."""
        for cell, value in self._values:
            if _content(cell) is not value:
                cell.cell_contents = value if value is not EMPTY else None
                if value is EMPTY:
                    del cell.cell_contents


EMPTY = object()


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def _cells(value: Any, seen: set[int]) -> Iterator[types.CellType]:
    """The cells of a block, or of the blocks that a function or record of imp2tf's own holds."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _cells(getattr(value, field.name), seen)
    if isinstance(value, types.FunctionType):
        own = is_own_file(value.__code__.co_filename)
        for cell in value.__closure__ or ():
            if own:
                yield from _cells(_content(cell), seen)
            else:
                yield cell
