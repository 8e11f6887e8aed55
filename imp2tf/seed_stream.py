"""The stream of seeds that eager gives to random operations, as a place that a trace reads and writes.

Under a global seed, TensorFlow draws a seed for each random operation that has none of its own from a generator of Python's,
and the operation's numbers are a function of both seeds. So a graph can draw eager's numbers itself: it is given the seeds to
come, and its place in them is a part of the program's state, carried and committed like an attribute.
"""
from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import ForeignCall, fall_back
from imp2tf.lifting import Fetch, itself
from imp2tf.places import Place
from imp2tf.remembered import NumberMemory
from imp2tf.session import Session
from imp2tf.sources import Setting
from imp2tf.tf_compat import capture_at_call_time, global_seed, seed_generator, set_seed_generator
from imp2tf.values import PyNumber

__all__ = ["SEEDS_TO_COME", "draws_as_eager", "draws_can_be_inputs", "leave_draws_to_host", "look_further_ahead", "next_seed"]

LARGEST = 2**31 - 1  # TensorFlow takes seeds modulo this
AHEAD_OF_LOOPS = 1 << 18
SEEDS_TO_COME = "seeds_of_random_operations"  # the name of the operation that fails where a run needs more of them than it was given


class OperationSeeds:
    """Gives TensorFlow the seeds that a generator of Python's would give it, which are made many at a time."""

    ahead = 1 << 12  # how many seeds are made before a run

    def __init__(self, generator: random.Random) -> None:
        *words, place = map(int, generator.getstate()[1])
        self._words = np.random.RandomState()
        self._words.set_state(("MT19937", np.array(words, np.uint32), place, 0, 0.0))
        self.lock = threading.RLock()  # a run holds it, since it knows all its seeds when it begins
        self.global_seed = int(global_seed() or 0) % LARGEST
        self.position, self._found_at = 0, 0
        self._seeds = np.zeros([0], np.uint32)
        self.key = tf.constant([self.global_seed], tf.uint64)
        self.rows = self._extend()

    def randint(self, low: int, high: int) -> int:
        """The next seed, as `random.Random` gives it; TensorFlow asks for no other bounds."""
        assert (low, high) == (0, LARGEST)
        if self.position == len(self._seeds):
            self._extend()
        self.position += 1
        return int(self._seeds[self.position - 1])

    def look_ahead(self) -> int:
        """The position of the next seed; enough of the seeds from there on are known. It stays the position until the next call."""
        if len(self._seeds) - self.position < self.ahead:
            self._extend()
        self._found_at = self.position
        return self.position

    def many(self) -> tf.Tensor:
        """The seeds, with as many ahead as loops may need."""
        if len(self._seeds) - self.position < AHEAD_OF_LOOPS:
            position, self.position = self.position, 0
            self._extend(AHEAD_OF_LOOPS)
            self.position = position
        return self.rows

    def go_to(self, position: int) -> None:
        """A run has used the seeds before `position`."""
        used = position - self._found_at
        self.position += used
        if 4 * used > OperationSeeds.ahead:
            OperationSeeds.ahead = 4 * used

    def _extend(self, ahead: int = 0) -> tf.Tensor:
        """Forget used seeds and make more: Python takes one word of 32 bits after the other until one is not above the bound."""
        words = self._words.randint(0, 2**32, size=4 * max(ahead, self.ahead), dtype=np.uint32)
        self._seeds = np.concatenate([self._seeds[self.position:], words[words <= LARGEST]])
        self.position = 0
        seeds = self._seeds % LARGEST
        if self.global_seed == 0:
            seeds = np.where(seeds == 0, LARGEST, seeds)  # both seeds 0 would mean none
        with tf.init_scope():
            self.rows = tf.constant(np.stack([np.zeros_like(seeds), seeds], axis=1), tf.uint64)
        return self.rows


class _Stream:
    """Where TensorFlow's stream is found; there is one."""

    @staticmethod
    def seeds() -> OperationSeeds:
        """TensorFlow's generator of seeds, which is made one of ours."""
        generator = seed_generator()
        if type(generator) is random.Random:
            generator = OperationSeeds(generator)
            set_seed_generator(generator)
        if not isinstance(generator, OperationSeeds):
            raise TypeError("TensorFlow's generator of seeds is not Python's")
        return generator


class _Position(Place):
    """How far TensorFlow's stream has been used."""

    __slots__ = ()
    kind = "position"

    def read(self) -> int:
        return self.owner.seeds().look_ahead()

    def write(self, value: Any) -> None:
        self.owner.seeds().go_to(value)

    def saved(self) -> Callable[[], None]:
        seeds = self.owner.seeds()
        return functools.partial(setattr, seeds, "position", seeds.position)

    def written(self, value: Any) -> Callable[[], Any]:
        return lambda: self.owner.seeds().position


STREAM = _Stream()
POSITION = _Position(STREAM)


def _is_seeded() -> bool:
    return global_seed() is not None


def _key() -> tf.Tensor:
    return STREAM.seeds().key


def _rows() -> tf.Tensor:
    seeds = STREAM.seeds()
    seeds.look_ahead()
    return seeds.rows


def _many_rows() -> tf.Tensor:
    seeds = STREAM.seeds()
    seeds.look_ahead()
    return seeds.many()


def _lock() -> Any:
    return STREAM.seeds().lock


def draws_can_be_inputs() -> bool:
    """Whether TensorFlow's stream is known, and on this machine a graph draws as eager does."""
    return isinstance(seed_generator(), (random.Random, OperationSeeds)) and _is_seeded() and draws_as_eager()


def draws_as_eager() -> bool:
    """Whether stateless random operations, given eager's seeds, give eager's numbers on this machine."""
    return not tf.config.list_logical_devices("GPU")


def look_further_ahead() -> None:
    """A run needed more seeds than it was given."""
    OperationSeeds.ahead *= 8


def leave_draws_to_host(session: Session, reason: str) -> None:
    """Code that the graph calls may draw too, so the graph cannot know the seeds to come: trace again, with all draws by host calls."""
    if session.draws_inside and POSITION in session.reads:
        session.relaxations.drawn_by_host = True
        fall_back(ForeignCall, f"{reason}, and may draw random numbers")


def next_seed(session: Session) -> tuple[tf.Tensor, tf.Tensor]:
    """The global seed and the next operation's, as the key and the counter from which it counts."""
    if POSITION not in session.reads:
        _enter(session)
    if session.opaque is not None:
        leave_draws_to_host(session, session.opaque)
    session.outside.lock_of_seeds = Setting("the lock of the seeds", _lock)
    now = session.raw(POSITION)
    now = now if isinstance(now, PyNumber) else session.reads[POSITION]
    session.write(POSITION, PyNumber("int", now.tensor + 1))
    endless = session.loops > session.rolled
    rows = Setting("many seeds to come", _many_rows) if endless else Setting("the seeds to come", _rows)
    counter = tf.gather(_input(session, rows, [None, 2]), now.tensor, name=SEEDS_TO_COME)
    return _input(session, Setting("the global seed", _key), [1]), counter


def _enter(session: Session) -> None:
    """The stream becomes an input of the graph."""
    session.guard(Setting("a global seed is set", _is_seeded), "literal", True)
    source = session.source_of_place(POSITION)
    session.guard(source, "int64", int)
    tensor = capture_at_call_time(session.graph, _fetch(session, source, NumberMemory("int")), tf.TensorSpec([], tf.int64))
    session.reads[POSITION] = PyNumber("int", tensor)


def _input(session: Session, source: Setting, shape: list[int | None]) -> tf.Tensor:
    return capture_at_call_time(session.graph, _fetch(session, source, itself), tf.TensorSpec(shape, tf.uint64))


def _fetch(session: Session, source: Any, convert: Any) -> Fetch:
    return session.fetches.setdefault((source, 0), Fetch(session.run, source, convert))
