"""What ``while`` and ``for`` share: run in Python while Python decides, in the graph from the moment a tensor does."""
from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from imp2tf.alternatives import over, truth
from imp2tf.container_cursors import ListCursor
from imp2tf.cursors import Cursor, RangeCursor, StaticCursor
from imp2tf.errors import Fallback, NeedsValue, fall_back
from imp2tf.exits import CONTINUE, NONE, clear, end_of_loop, exit_code, none_under_way
from imp2tf.heap import contents
from imp2tf.looping import Seen, loop
from imp2tf.places import Attribute, Place
from imp2tf.region import cond, select
from imp2tf.rolling import FirstTurn
from imp2tf.session import active
from imp2tf.speculation import undone
from imp2tf.states import Position, State
from imp2tf.values import SKIP, PyNumber, Union, python_bool

__all__ = ["LoopParts", "finish_loop", "run_for", "run_loop", "visit_item"]

MAX_PYTHON_TURNS = 20000
MAX_OPERATIONS_IN_BRANCH = 4000  # a loop that perhaps no run enters is not unrolled any further
MAX_SECONDS_IN_BRANCH = 15.0
MOST_OBJECTS = 32  # a list of no more objects is unrolled, whatever ends the loop


Sets: TypeAlias = Callable[[], Sequence[tuple[Any, str]]]


def nothing_set() -> Sequence[tuple[Any, str]]:
    """The attributes that a loop sets which sets none."""
    return ()


@dataclasses.dataclass(frozen=True)
class Expected:
    """What the text of a loop lets expect: it counts on values of the `state`, at places seen from its end, and sets attributes."""

    state: State
    counts: Sequence[int]
    sets: Sets

    def values(self) -> tuple[Any, ...]:
        """The values of the state; those that are counted on are other ones."""
        values = list(self.state.get())
        for place in self.counts:
            values[place] = values[place] + 1 if type(values[place]) in (int, float) else values[place]
        return tuple(values)

    def places(self) -> list[Place]:
        """Attributes that are set and that plain objects have."""
        found = [Attribute(owner, key) for owner, key in self.sets() if _is_plain(type(owner)) and key in getattr(owner, "__dict__", ())
                 and not hasattr(type(owner), key)]
        return list(dict.fromkeys(found))


def _is_plain(cls: Any) -> bool:
    """Whether objects of a class, which is none of imp2tf's own, take attributes as they come."""
    return bool(cls.__setattr__ is object.__setattr__) and not cls.__module__.startswith("imp2tf")


@dataclasses.dataclass(frozen=True)
class LoopParts:
    """A loop: `test` gives a bool or a scalar bool tensor, `turn` runs the body once.

    `exits` is None, "inner" where the state begins with an exit that the loop itself ends (break, continue), or "outer" where
    the exit may also leave the loop. There are at most `most` turns, if that is known. `positions`: which of the last values of the
    state are positions in what is iterated over.
    """

    test: Callable[[], Any]
    turn: Callable[[], None]
    orelse: Callable[[], None] | None
    state: State
    exits: str | None
    site: Hashable
    most: int | None = None
    positions: tuple[bool, ...] = ()
    expected: Expected | None = None


def run_loop(parts: LoopParts) -> None:
    """Run a loop and its else block."""
    _turns(parts)
    finish_loop(parts.orelse, parts.state, parts.exits)


def finish_loop(orelse: Callable[[], None] | None, state: State, exits: str | None) -> None:
    """Run a loop's else block unless the loop was left by break, and end its own exits."""
    if exits is None:
        if orelse is not None:
            orelse()
        return
    end_of_loop(orelse or (lambda: None), state)
    if exits == "inner":
        state.set((NONE, *state.get()[1:]))


def _one(parts: LoopParts) -> None:
    parts.turn()
    if parts.exits:
        clear(parts.state, CONTINUE)


def _goes_on(parts: LoopParts) -> Any:
    """Whether there is another turn: a bool or a scalar bool tensor. The test is not run after an exit."""
    clean = none_under_way(exit_code(parts.state)) if parts.exits else True
    if isinstance(clean, bool):
        return parts.test() if clean else False
    return truth(select(clean, lambda: python_bool(parts.test()), lambda: False, parts.state))


class _Budget:
    """How much of a loop is unrolled in a branch: its Python may be endless for the values that never come there."""

    def __init__(self) -> None:
        self.graph = tf.compat.v1.get_default_graph()
        self.operations = len(self.graph.get_operations())
        self.started = time.monotonic()

    def check(self, turn: int) -> None:
        """Falls back when the budget is used up; to count is not for free."""
        if turn % 64 != 63:
            return
        if time.monotonic() - self.started > MAX_SECONDS_IN_BRANCH or (
                len(self.graph.get_operations()) - self.operations > MAX_OPERATIONS_IN_BRANCH):
            fall_back(NeedsValue, f"a loop that Python decides goes on for more than {turn} turns in a branch that may never be taken")


def _turns(parts: LoopParts) -> None:
    session = active()
    budget = _Budget() if session is not None and session.regions else None
    seen: Seen | None = None
    for turn in range(MAX_PYTHON_TURNS):
        if budget is not None:
            budget.check(turn)
        go = _goes_on(parts)
        if not isinstance(go, bool):
            break
        if not go:
            return
        if session is None or turn:
            _one(parts)
            continue
        before, written = parts.state.get(), {place: session.raw(place) for place in session.logs[-1]}
        _one(parts)
        seen = Seen.of_turn(session, before, written)
    else:
        fall_back(NeedsValue, f"a loop that Python decides runs more than {MAX_PYTHON_TURNS} turns")
    _loop(parts, go, seen)


def _loop(parts: LoopParts, go: Any, seen: Seen | None) -> None:
    """The loop in the graph, at first as what was seen of its turns lets expect it."""

    def step() -> Any:
        if parts.exits:
            parts.state.set((NONE, *parts.state.get()[1:]))  # or there would be no other turn
        _one(parts)
        return tf.convert_to_tensor(_goes_on(parts))

    session = active()
    if seen is None and session is not None:
        seen = _as_written(parts)
    if session is None or seen is None or parts.site in session.unlike_seen:
        return loop(go, step, parts.state, parts.site, parts.most)
    learned = session.relaxations.learned()
    try:
        with undone():
            return loop(go, step, parts.state, parts.site, parts.most, seen=seen)
    except Fallback:
        if session.relaxations.learned() != learned:
            raise
        session.unlike_seen.add(parts.site)
    return loop(go, step, parts.state, parts.site, parts.most)


def _as_written(parts: LoopParts) -> Seen | None:
    """What is known of the turns of a loop of which none was seen: positions move on, and its text tells what it counts and sets.

    A break or continue may come: the exit code, the first value, is not always the same.
    """
    values = parts.state.get()
    first = len(values) - len(parts.positions)
    last = zip(values[first:], parts.positions, strict=True)
    moved = [value + 1 if is_position and type(value) is int else value for value, is_position in last]
    if parts.expected is None:
        return Seen((*values[:first], *moved), []) if moved else None
    others = [*parts.expected.values(), *moved]
    if parts.exits == "inner" and type(values[0]) is int:
        others[0] = values[0] + 1
    return Seen(tuple(others), parts.expected.places())


# ------------------------------------------------------------------------------------------------ for
def run_for(cursor: Cursor, visit: Callable[[Any], None], orelse: Callable[[], None] | None, state: State, exits: str | None,
            site: Hashable, unread: bool = False, expected: Expected | None = None) -> None:
    """Visit each item: a loop of the graph, unrolled where all items are known while tracing.

    `unread`: nobody looks at the items, so turns may be alike.
    """
    if (isinstance(cursor, StaticCursor) or _over_objects(cursor)) and _unrolled(cursor, visit, state, exits):
        finish_loop(orelse, state, exits)
        return
    if unread and exits is None and _rolled(cursor, visit, state, site):
        finish_loop(orelse, state, exits)
        return
    for box in cursor.boxes:
        state = state.plus(box)
    parts = LoopParts(cursor.has_next, lambda: visit_item(cursor.next(), visit, state), orelse, state, exits, site, cursor.most,
                      tuple(isinstance(box, Position) for box in cursor.boxes), expected)
    with _over_array(cursor):
        run_loop(parts)


@contextlib.contextmanager
def _over_array(cursor: Cursor) -> Iterator[None]:
    session = active()
    if session is None or not cursor.of_array:
        yield
        return
    session.over_arrays += 1
    try:
        yield
    finally:
        session.over_arrays -= 1


def _rolled(cursor: Cursor, visit: Callable[[Any], None], state: State, site: Hashable) -> bool:
    """Make a loop of turns that are known to be many and found to be alike; else at most the first turn, and False."""
    if not isinstance(cursor, RangeCursor) or active() is None:
        return False
    left = cursor.turns_left()
    first = FirstTurn.begun(state, left)
    if first is None:
        return False
    visit(cursor.next())
    last = cursor.index.value - cursor.bounds.step
    return first.is_followed_by(lambda: visit(last), left - 1, site)


def visit_item(item: Any, visit: Callable[[Any], None], state: State) -> None:
    """Visit an item, unless a generator expression's condition left it out."""
    if not isinstance(item, Union) or not any(one is SKIP for one in item.alternatives):
        if item is not SKIP:
            visit(item)
        return
    kept = [one for one in item.alternatives if one is not SKIP]
    value = kept[0] if len(kept) == 1 else over(item, lambda one: kept[0] if one is SKIP else one)
    skipped = tf.gather(tf.constant([one is SKIP for one in item.alternatives]), item.tag)
    cond(skipped, lambda: None, lambda: visit(value), state)


def _over_objects(cursor: Cursor) -> bool:
    """Whether it is over a list of few items that a loop of the graph would have to carry as one of several objects."""
    if not isinstance(cursor, ListCursor) or cursor.index.value != 0:
        return False
    found = contents(cursor.container)
    known = isinstance(found, list) and len(found) <= MOST_OBJECTS
    return known and any(not isinstance(item, (tf.Tensor, tf.Variable, PyNumber, bool, int, float)) for item in found)


def _unrolled(cursor: Cursor, visit: Callable[[Any], None], state: State, exits: str | None) -> bool:
    """Visit item after item; whether this came to the end, and not to a list whose length only the run knows."""
    while True:
        more = cursor.has_next()
        if not isinstance(more, bool):
            return False
        clean = none_under_way(exit_code(state)) if exits else True
        if clean is False or not more:
            return True
        item = cursor.next()

        def turn(item: Any = item) -> None:
            visit_item(item, visit, state)
            if exits:
                clear(state, CONTINUE)

        turn() if clean is True else cond(clean, turn, lambda: None, state)
