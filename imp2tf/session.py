"""One trace: a transaction over the Python heap, the guards it relies on, and the graph it fills.

Nothing outside the trace sees its writes. Values for places that other code can reach are kept in `Session.store`
until the call commits; objects born in the trace hold their attributes themselves. Every write first notes the old
value in the innermost log, so that a region (a branch, a loop body) can be rolled back.
"""
from __future__ import annotations

import collections
import contextlib
import copy
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from imp2tf.errors import Contents, ConversionError, ForeignCall, Location, fall_back
from imp2tf.outside import Outside
from imp2tf.places import Attribute, Place
from imp2tf.places import Contents as ContentsOf
from imp2tf.relaxations import Guard, Relaxations
from imp2tf.sources import Held, Pinned, PlacePart, Source
from imp2tf.tf_compat import global_seed
from imp2tf.values import Sentinel

__all__ = ["NOT_STORED", "Log", "Session", "active", "current", "hosting", "in_host_call", "interposing", "out_of_text",
           "resumed", "suspended"]

NOT_STORED = Sentinel("NOT_STORED")
Log = dict[Place, Any]


class _Thread(threading.local):
    session: Session | None = None
    in_host_call = False
    interposed = False


_thread = _Thread()


def active() -> Session | None:
    """The session that traces on this thread, or None."""
    return _thread.session


def current() -> Session:
    """The session that traces on this thread; there must be one."""
    assert _thread.session is not None
    return _thread.session


@contextlib.contextmanager
def out_of_text() -> Iterator[None]:
    """Trace what a watched run of the program would not see: what Python's own functions, operators and properties call."""
    session = active()
    if session is None:
        yield
        return
    before, session.in_text = session.in_text, False
    try:
        yield
    finally:
        session.in_text = before


@contextlib.contextmanager
def resumed(session: Session) -> Iterator[Session]:
    """Make `session` the one that traces on this thread."""
    before, _thread.session = _thread.session, session
    try:
        yield session
    finally:
        _thread.session = before


@contextlib.contextmanager
def interposing() -> Iterator[None]:
    """Traces that begin inside see what library objects read and write themselves: `imp2tf.keras.interposition` does that."""
    before, _thread.interposed = _thread.interposed, True
    try:
        yield
    finally:
        _thread.interposed = before


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Run plain Python from inside a trace: operators act as Python's own."""
    before, _thread.session = _thread.session, None
    try:
        yield
    finally:
        _thread.session = before


@contextlib.contextmanager
def hosting() -> Iterator[None]:
    """Run plain Python that a running graph calls."""
    before, _thread.in_host_call = _thread.in_host_call, True
    try:
        with suspended():
            yield
    finally:
        _thread.in_host_call = before


def in_host_call() -> bool:
    """Whether this thread runs Python that a running graph called."""
    return _thread.in_host_call


class Session:
    """The state of one trace."""

    def __init__(self, graph: Any, relaxations: Relaxations) -> None:
        self.graph = graph
        self.relaxations = relaxations
        self.deadline = time.monotonic() + relaxations.budget if relaxations.budget and relaxations.shapes else None
        self.run: Any = None
        self.embedded = False
        self.interposed = _thread.interposed
        self.counts: collections.Counter[str] = collections.Counter()
        self._begin_heap()
        self._begin_elements()
        self._begin_control_flow()
        self._begin_effects()
        self._begin_gradients()

    def _begin_heap(self) -> None:
        """What the program reads and writes, and how it is found again at the next call."""
        self.logs: list[Log] = [{}]
        self.store: dict[Place, Any] = {}
        self.reads: dict[Place, Any] = {}
        self.guards: list[Guard] = []
        self.guarded: set[tuple[Source, str]] = set()
        self.sources: dict[int, Source] = {}
        self.origins: dict[int, Source] = {}
        self.foreknown: dict[int, Source] = {}  # how Python finds run-time ints before the run, by the tensors that hold them
        self.fetches: dict[tuple[Source, int], Any] = {}
        self.references: list[tuple[Any, Source]] = []
        self.births: dict[int, int] = {}  # the log depth at which each object of this trace was made, by id
        self._births_under: dict[int, Log | None] = {}  # for each of them, the log that was open when it was made
        self.keys_of_dicts: set[int] = set()  # ids of objects that dicts and sets compare by their fields
        self.kept: list[Any] = []  # objects that the trace knows by id: they must live as long as it
        self.made: list[tuple[Any, Any]] = []  # arrays of the call, and where it makes them (`imp2tf.own_arrays`)
        self.has_read_data = False

    def _begin_elements(self) -> None:
        """Containers whose contents stand in a list of run-time length."""
        self.sealed, self.taken = set[int](), set[int]()  # ids of elements of lists of run-time length; of those taken out
        self.elements: dict[int, Any] = {}  # containers whose contents stand in a list of run-time length (`imp2tf.elements`)
        self.uses_in_loops: list[Any] = []  # those of `elements` that were used in a loop and are older than it
        self.versions: collections.Counter[int] = collections.Counter()  # how often the order of a container has changed
        # Whether elements were changed. And 1 if an object may stand in two lists of run-time length, 2 if also twice in one list.
        self.changed_elements, self.shared_elements = False, 0

    def _begin_control_flow(self) -> None:
        """Where in the program the trace is: in which calls, handlers, branches and loops."""
        self.activations: list[Any] = []
        self.in_text = True  # whether a watched run of the program sees the call that is traced now (`imp2tf.calls.call_in_text`)
        self.ending: tuple[Any, ...] = ()  # classes of exceptions by which the iterators end that are being asked for an item
        self.trying = 0  # how many handlers of the program are around the code that is traced now
        self.handlers: list[int] = []  # how deep in the program's calls each handler is
        self.courses: list[Any] = []  # stretches of the program that exceptions with a handler leave (`imp2tf.courses`)
        self.caught: list[Any] = []
        self.disguises: list[Any] = []  # how libraries that the program runs in change its exceptions, innermost last
        self.consumers: list[Any] = []  # what the consumers of running generators may change: a State for each
        self.scopes: list[Any] = []
        self.known: list[tuple[Any, bool]] = []  # the conditions of the branches being traced, and whether they hold
        self.regions = 0
        self.region_graphs: list[Any] = []  # the graph of each region being traced, innermost last
        self.loop_depth = 0  # the log depth of the innermost body of a loop
        self.loops = 0  # how many of the regions are bodies of loops
        self.rolled = 0  # how many of these stand for turns of a known number
        self.loop_memo: dict[Hashable, Any] = {}
        # What the variables of each loop being traced begin with, and what they are in its body, by the graph of that.
        self.carried: weakref.WeakKeyDictionary[Any, tuple[list[Any], list[Any]]] = weakref.WeakKeyDictionary()
        self.over_arrays = 0  # how many loops over the items of arrays are being traced
        self.unrolled: set[Hashable] = set()  # loops whose turns were found to differ
        self.unlike_seen: set[Hashable] = set()  # loops that cannot be traced as their first turn lets expect
        self.assumptions: list[str] = []  # branches that the graph does without, and where they are
        self.left_in_loop: str | None = None  # why a turn of a loop may find that Python has to make the call

    def _begin_effects(self) -> None:
        """What the run does besides computing: calls of Python, random numbers, stops."""
        self.callbacks: list[Any] = []  # see `callback`
        self.python_calls: list[tuple[str, Location | None]] = []
        self.host_ops: set[tuple[int, str]] = set()
        self.region_ops: set[Any] = set()
        self.seeded = self.relaxations.seeded or global_seed() is not None  # whether random numbers come from eager's stream
        self.draws_inside = False  # whether the graph computes them itself
        self.draws: dict[int, list[Any]] = {}
        self.opaque: str | None = None  # a call that may have changed any Python state, as a reason
        self.outside = Outside()
        self.stop: Callable[[Any], None] | None = None  # how an exception of the program ends a run without Python
        self.refused: list[ConversionError] | None = None  # what a run without Python cannot do; tracing goes on, to find more

    def _begin_gradients(self) -> None:
        """What tapes of the program have to know of branches and loops."""
        self.junctions: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.tells_ways = True  # whether of all junctions, or only of those that a tape of the program records
        self.spent: list[tuple[Any, Any]] = []  # tapes that were asked, each with an object made where that was
        self.watched: dict[int, int] = {}  # how many operations there were when a tape of the program first watched a tensor, by id
        self.selected: set[Any] = set()  # operations that choose what one of two branches has left
        self.uncertain: list[tuple[Any, int, Any]] = []  # sources of gradients that may be None in eager, with the ways of the run

    def in_another_thread(self) -> Session:
        """The same trace as another thread goes on with it: what stands for the depth of calls is that thread's own."""
        other = copy.copy(self)
        other.activations, other.region_graphs = list(self.activations), list(self.region_graphs)
        other.scopes, other.caught, other.consumers, other.known = [], [], [], list(self.known)
        return other

    def learn_from(self, other: Session) -> None:
        """Take over what another thread has found."""
        self.opaque, self.left_in_loop = self.opaque or other.opaque, self.left_in_loop or other.left_in_loop
        self.has_read_data, self.seeded = self.has_read_data or other.has_read_data, self.seeded or other.seeded

    def callback(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """What TensorFlow is given where the graph calls Python.

        TensorFlow keeps some graphs for ever, and would keep all of the program that `call` refers to. So what runs our graph keeps `call`,
        unless somebody else runs it.
        """
        if self.embedded:
            return call
        self.callbacks.append(call)
        kept = weakref.ref(call)

        def calling(*args: Any) -> Any:
            return kept()(*args)  # type: ignore[misc]  # a graph that runs is kept

        return calling

    # -------------------------------------------------------------------------------------- births
    @property
    def depth(self) -> int:
        """Number of logs open now; objects born at this depth or deeper belong to the innermost region."""
        return len(self.logs)

    def born(self, value: Any) -> Any:
        """Note that `value` was made by this trace (and is not yet known to anybody else)."""
        self.births[id(value)] = self.depth
        self._births_under[id(value)] = self.logs[-1] if self.logs else None
        self.kept.append(value)
        return value

    def is_born(self, value: Any) -> bool:
        """Whether `value` was made by this trace."""
        return id(value) in self.births

    def is_abandoned(self, value: Any) -> bool:
        """Whether `value` was made in a region that has ended, maybe without being kept."""
        under = self._births_under.get(id(value))
        return under is not None and all(log is not under for log in self.logs)

    def is_of_open_region(self, value: Any) -> bool:
        """Whether `value` was made in a region that is being traced, and nothing of that was undone since."""
        under = self._births_under.get(id(value))
        return under is not None and any(log is under for log in self.logs)

    def birth_depth(self, value: Any) -> int:
        """The depth `value` was born at; 0 if it existed before the trace."""
        return self.births.get(id(value), 0)

    # -------------------------------------------------------------------------------------- sources and guards
    def source_of(self, value: Any) -> Source:
        """The road to an object that existed before the trace."""
        source = self.sources.get(id(value))
        if source is None:
            source = self.sources[id(value)] = Pinned(value)
            self.kept.append(value)
        return source

    def source_of_place(self, place: Place) -> Source:
        """The road to a place of an object that existed before the trace."""
        return PlacePart(self.source_of(place.owner), type(place), place.key)

    def memory_of(self, source: Source) -> Any:
        """What remembers the input that comes from there (`imp2tf.remembered`), None if nothing does."""
        fetch = self.fetches.get((source, 0))
        return fetch.memory if fetch is not None else None

    def guard(self, source: Source, check: str, expected: Any) -> None:
        """Assume something of the value that `source` gives at each call."""
        if (source, check) not in self.guarded:
            self.guarded.add((source, check))
            self.guards.append(Guard(source, check, Held(expected) if check == "identity" else expected))

    # -------------------------------------------------------------------------------------- the journal
    def holds_itself(self, place: Place) -> bool:
        """Whether the place's owner holds its current value: attributes of objects born in this trace."""
        return isinstance(place, Attribute) and id(place.owner) in self.births

    def raw(self, place: Place) -> Any:
        """The journalled value of a place, NOT_STORED if this trace has not written it."""
        return place.read() if self.holds_itself(place) else self.store.get(place, NOT_STORED)

    def is_written(self, place: Place) -> bool:
        """Whether this trace has written the place (and not rolled it back)."""
        return self.holds_itself(place) or place in self.store

    def write(self, place: Place, value: Any) -> None:
        """Write a place, noting the old value in the innermost log."""
        if id(place.owner) in self.sealed and not self._unsealed(place.owner):
            fall_back(Contents, "an object that was put in a list of run-time length is changed afterwards")
        if id(place.owner) in self.keys_of_dicts and isinstance(place, Attribute):
            fall_back(ForeignCall, f"a {type(place.owner).__name__} that is a key of a dict or set is changed")
        log = self.logs[-1]
        if place not in log:
            log[place] = self.raw(place)
        self._put(place, value)

    def _unsealed(self, owner: Any) -> bool:
        """What was taken out of a list of run-time length may be changed, unless it may stand in a list still."""
        if id(owner) not in self.taken or self.shared_elements:
            return False
        self.changed_elements = True
        self.sealed.discard(id(owner))
        return True

    def put_contents(self, container: Any, value: Any) -> None:
        """Write all elements of a container whose order stays as it is."""
        element = self.elements.get(id(container))
        if element is not None:
            element.write(container, value)
        else:
            self.write(ContentsOf(container), value)

    def _put(self, place: Place, value: Any) -> None:
        if self.holds_itself(place):
            assert isinstance(place, Attribute)
            place.restore(value)
        elif value is NOT_STORED:
            self.store.pop(place, None)
        else:
            self.store[place] = value

    @contextlib.contextmanager
    def log(self) -> Iterator[Log]:
        """Open a log; on leaving, everything written under it is undone. Read the new values before that."""
        opened: Log = {}
        self.logs.append(opened)
        try:
            yield opened
        finally:
            assert self.logs.pop() is opened
            self.undo(opened)

    def undo(self, log: Log) -> None:
        """Put back the values that a log noted."""
        for place, old in reversed(list(log.items())):
            self._put(place, old)

    def outlives(self, place: Place) -> bool:
        """Whether a place belongs to an object that is older than the innermost region."""
        return self.birth_depth(place.owner) < self.depth
