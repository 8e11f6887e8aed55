"""Loops of a known number of turns that do the same in each: a loop of the graph instead of a copy of the body for every turn.

    for _ in range(20):          one turn, then a While of 19
        self.propose()    -->

To unroll is right whatever the turns do, and costs a trace of each. So the first turn is traced as it is. Where it was dear and all is
there that a second one needs, the others are tried as a loop, which must keep every value of the kind it has: no constant that changes, no
list that grows, no shape that widens. Nor may it call Python, or stand under a tape, whose sums would come in another order.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import tensorflow as tf

from imp2tf.errors import Fallback
from imp2tf.junctions import UNTOLD, ways_are_told
from imp2tf.looping import Uniform, loop
from imp2tf.places import Place
from imp2tf.quick_graphs import operations_made
from imp2tf.session import Session, current
from imp2tf.speculation import undone
from imp2tf.states import Box, State

__all__ = ["FirstTurn"]

FEWEST_OPERATIONS = 30  # of a turn: what a While does for each turn itself is to be small beside it
FEWEST_SAVED = 500  # operations that the other turns would make; the While has to be traced too


@dataclasses.dataclass
class FirstTurn:
    """What there was before the first turn of a loop, to be compared with what it leaves."""

    session: Session
    state: State
    values: tuple[Any, ...]
    written: dict[Place, Any]
    born: frozenset[int]
    made: int

    @classmethod
    def begun(cls, state: State, turns: int) -> FirstTurn | None:
        """None where the turns are to be traced one by one, whatever the first one shows."""
        session = current()
        if turns < 2 or session.trying or session.consumers or session.embedded or session.stop is not None or ways_are_told(session):
            return None
        written = {place: session.raw(place) for place in session.logs[-1]}
        return cls(session, state, state.get(), written, frozenset(session.births), operations_made())

    def is_followed_by(self, turn: Callable[[], None], turns: int, site: Hashable) -> bool:
        """Make a loop of so many more turns, if that pays and nobody can tell it from them."""
        session, cost = self.session, operations_made() - self.made
        if cost < FEWEST_OPERATIONS or cost * turns < FEWEST_SAVED or site in session.unrolled:
            return False
        learned = session.relaxations.learned()
        session.rolled += 1
        try:
            with undone():
                self._loop(turn, turns, site)
        except Fallback:
            if session.relaxations.learned() != learned:
                raise
            session.unrolled.add(site)
            return False
        finally:
            session.rolled -= 1
        session.counts[UNTOLD] += 1  # under a tape the turns are traced one by one
        return True

    def _loop(self, turn: Callable[[], None], turns: int, site: Hashable) -> None:
        counter = Box(tf.constant(0))

        def step() -> tf.Tensor:
            turn()
            counter.value = counter.value + 1
            return counter.value < turns

        loop(tf.constant(True), step, self.state.plus(counter), ("rolled", site), turns, self._uniform())

    def _uniform(self) -> Uniform:
        session = self.session
        unchanged = [old is new for old, new in zip(self.values, self.state.get(), strict=True)]
        places = [place for place in session.logs[-1]
                  if (place not in self.written or session.raw(place) is not self.written[place])
                  and (id(place.owner) in self.born or not session.is_born(place.owner))]
        return Uniform([*unchanged, False], places)
