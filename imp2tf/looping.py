"""Loops of the graph.

A loop body is traced until its state no longer widens, starting from where the same loop ended before, so that nested
loops do not explode. Then the functional While is built.
"""
from __future__ import annotations

import copy
import dataclasses
import sys
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.compound_specs import Items, OneOf
from imp2tf.connectivity import order_matters
from imp2tf.courses import Course, leaving_in, raise_pending
from imp2tf.errors import NoFixpoint, fall_back, is_own_file
from imp2tf.exceptions import ProgramRaise
from imp2tf.heap import old_value
from imp2tf.join import describe, join, without_stale
from imp2tf.junctions import Told, junctions_of, note_loop, results_vary, turns_told, ways_are_told, width_of
from imp2tf.kinds import LITERALS
from imp2tf.ordering import has_effects, order_effects
from imp2tf.paths import arrive, check, frozen_place, last_call, note_cells, scope
from imp2tf.places import Contents, Place, Tail
from imp2tf.quick_graphs import make_quick
from imp2tf.random_ops import draw_eagerly, readable
from imp2tf.recording_tapes import has_first_order_only
from imp2tf.region import emit_raise
from imp2tf.session import Log, Session, current
from imp2tf.sharing import untouched, with_aliases
from imp2tf.snapshots import Snapshot, freeze
from imp2tf.specs import SCALAR, Constant, Spec
from imp2tf.states import Box, State, Variables
from imp2tf.tf_compat import build_while, tape_may_record
from imp2tf.values import DEAD, Deferred, PyNumber, Union

__all__ = ["Seen", "Uniform", "kept", "loop"]

MAX_WIDENINGS = 12
MOST_LENGTHS = 4


class _Widen(BaseException):
    """A loop body was traced and its state does not fit the assumed specs."""

    def __init__(self, layout: _Layout) -> None:
        super().__init__()
        self.layout = layout


@dataclasses.dataclass
class _Layout:
    """How a loop's state is carried: specs of the local variables, and the places of the heap with theirs."""

    locals: list[Spec]
    places: list[Place]
    place_specs: list[Spec]
    told: int = 0  # how many flags tell the ways that turns took (`imp2tf.junctions`)
    guessed: dict[int, Spec] = dataclasses.field(default_factory=dict)  # specs of constants that are carried on a guess, by place

    @property
    def specs(self) -> list[Spec]:
        return [*self.locals, *self.place_specs]


@dataclasses.dataclass
class _Built:
    """A While of the graph: its results, whether it calls Python; of how many turns it tells, and the junctions in it.

    If there are such junctions, the first result tells what these turns did at them.
    `carried_through`: of containers, the indices or keys of elements that a turn leaves as they are.
    """

    outputs: list[tf.Tensor] = dataclasses.field(default_factory=list)
    calls_python: bool = False
    turns: int = 0
    junctions: list[Told] = dataclasses.field(default_factory=list)
    carried_through: dict[Place, list[Any]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Loop:
    """What a loop is made of: see `loop`; and where an exception under way is kept, if it may have a handler."""

    go: tf.Tensor
    step: Callable[[], tf.Tensor]
    state: State
    pending: Box | None
    most: int | None
    uniform: Uniform | None
    seen: Seen | None


@dataclasses.dataclass
class Seen:
    """What is known of the turns to come: `others` are values that the variables had before the last turn, or will have after the next.

    Numbers that differ from these vary, and so do dimensions; places that the last turn has written are carried. To find that out by a
    trace of the body that does not fit would take as long as the trace that does.
    """

    others: tuple[Any, ...]
    places: list[Place]

    @classmethod
    def of_turn(cls, session: Session, before: tuple[Any, ...], written: dict[Place, Any]) -> Seen:
        """Of a turn traced as Python's: the values of the variables before it, and what had been written to the heap by then."""
        log = session.logs[-1]
        return cls(before, [place for place in log if place not in written or session.raw(place) is not written[place]])

    def first_layout(self, session: Session, entry: list[Any]) -> _Layout:
        """The specs of the variables, and the places that other turns will find again."""
        others = [*self.others, *entry[len(self.others):]]
        places = [place for place in _places_again(session, self.places) if not isinstance(place, Contents | Tail)]
        specs = [_first_guess(frozen_place(place, session.depth + 1)) for place in places]
        guesses = [_guess_of_two(*pair) for pair in zip(others, entry, strict=True)]
        guessed: dict[int, Spec] = {
            place: Constant(value) for place, (spec, value) in enumerate(zip(guesses, entry, strict=True))
            if isinstance(value, int | float) and not isinstance(spec, Constant)}
        return _Layout(guesses, places, list(map(kept, specs)), guessed=guessed)


def _guess_of_two(other: Any, value: Any) -> Spec:
    """What covers a number or tensor before and after a turn; other values may well stay what they are for the rest of the loop."""
    numbers = type(value) is type(other) and type(value) in (int, float) and value != other
    tensors = isinstance(value, tf.Tensor) and isinstance(other, tf.Tensor) and value.dtype == other.dtype \
        and value.shape.rank is not None and value.shape.rank == other.shape.rank
    if numbers:
        return join(Constant(other), Constant(value))
    return join(describe(other), describe(value)) if tensors else _first_guess(value)


def _places_again(session: Session, places: Sequence[Place]) -> list[Place]:
    """Those of some places that a loop can carry that begins now."""
    return [place for place in places if session.birth_depth(place.owner) <= session.depth and not session.is_abandoned(place.owner)
            and id(place.owner) not in session.sealed]


@dataclasses.dataclass
class Uniform:
    """What is expected of a loop whose turns are all alike: the variables and places that a turn changed before.

    There is no such loop where a turn gives a variable or place another kind of value than it had, changes a constant or calls Python.
    """

    unchanged: list[bool]
    places: list[Place]

    def first_layout(self, session: Session, entry: list[Any]) -> _Layout:
        """The specs of the variables, and the places that other turns will find again."""
        specs = [Constant(value) if same else _first_guess(value) for value, same in zip(entry, self.unchanged, strict=True)]
        places = _places_again(session, self.places)
        found = [Constant(frozen_place(place, session.depth + 1)) for place in places]
        return _Layout(specs, places, [kept(join(spec, spec)) for spec in found])

    @staticmethod
    def check(session: Session, entry: list[Any], layout: _Layout) -> None:
        """Falls back where a spec covers more than the value that the loop begins with."""
        for value, spec in zip([*entry, *(frozen_place(place, session.depth + 1) for place in layout.places)], layout.specs, strict=True):
            if spec != (Constant(value) if isinstance(value, LITERALS) else describe(value)) and spec != Constant(value):
                fall_back(NoFixpoint, "the turns of a loop differ")


def loop(go: tf.Tensor, step: Callable[[], tf.Tensor], state: State, site: Hashable, most: int | None = None,
         uniform: Uniform | None = None, seen: Seen | None = None) -> None:
    """A While of the graph: `go` says whether it is entered; `step` runs the body and says whether it goes on, `most` times at most."""
    session = current()
    session.counts["loops"] += 1
    site = site, _where()
    note_cells(session, step, state.get, *(one.get for one in session.consumers))
    state = state.also(session.consumers)
    pending = Box() if session.trying else None
    if pending is not None:
        state = state.plus(pending)
    session.regions += 1
    session.loops += 1
    try:
        layout, built = _settled(session, _Loop(go, step, state, pending, most, uniform, seen), site)
    finally:
        session.regions -= 1
        session.loops -= 1
    session.loop_memo[site] = layout
    session.run.check_uses(session)
    graph = tf.compat.v1.get_default_graph()
    op = last_call(session, graph)
    tensors = iter(built.outputs)
    told = [next(tensors)[:built.turns * width_of(built.junctions)]] if layout.told else []
    note_loop(session, graph, op, go, built.turns, built.junctions, told if built.junctions else [])
    if built.calls_python:
        session.host_ops.add((id(graph), op.name))
        check(op)
    itself = {place: {key: old_value(place)[key] for key in keys} for place, keys in built.carried_through.items()}
    arrive(session, state, layout.places, layout.specs, tensors, itself)
    if pending is not None:
        raise_pending(session, pending.value)


def _where() -> tuple[Hashable, ...]:
    """Which of the program's calls lead here; two on one line are told apart."""
    frames: list[Hashable] = []
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        if not is_own_file(frame.f_code.co_filename):
            frames.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(frames)


def _settled(session: Session, parts: _Loop, site: Hashable) -> tuple[_Layout, _Built]:
    """The layout at which the loop's state no longer widens, and the loop built with it."""
    before, variables = parts.state.get(), Variables(parts.step, *session.consumers)
    entry = [freeze(value) for value in before]
    layout = _first_layout(session, site, entry, parts)
    for _ in range(MAX_WIDENINGS):
        if parts.uniform is not None:
            parts.uniform.check(session, entry, layout)
        try:
            return layout, _build(session, parts, entry, layout)
        except _Widen as wider:
            layout = wider.layout
        finally:
            variables.restore()
            parts.state.set(before)
        if any(map(_holds_tuples_of_many_lengths, layout.specs)):
            break
    return fall_back(NoFixpoint, "the state of a loop changes its kind on every turn")


def _holds_tuples_of_many_lengths(spec: Spec) -> bool:
    """Whether a tuple seems to get longer on every turn: to trace a turn for each length would take ever longer."""
    lengths = {len(part.parts) for part in spec.parts if isinstance(part, Items)} if isinstance(spec, OneOf) else ()
    return len(lengths) >= MOST_LENGTHS


def _first_layout(session: Session, site: Hashable, entry: list[Any], parts: _Loop) -> _Layout:
    memo: _Layout | None = session.loop_memo.get(site)
    if memo is None or len(memo.locals) != len(entry):
        known = parts.uniform or parts.seen
        return known.first_layout(session, entry) if known else _Layout([_first_guess(value) for value in entry], [], [])
    places = _places_again(session, memo.places)
    specs = {place: without_stale(spec) for place, spec in zip(memo.places, memo.place_specs, strict=True)}
    return _Layout(
        [join(Constant(value), without_stale(spec)) for value, spec in zip(entry, memo.locals, strict=True)], places,
        [join(Constant(frozen_place(place, session.depth + 1)), specs[place]) for place in places], memo.told)


def _first_guess(value: Any) -> Spec:
    """Tensors and run-time numbers are likely to change in the loop; Python values stay constants until they do."""
    return describe(value) if isinstance(value, (tf.Tensor, PyNumber, Deferred)) or _is_frozen_union(value) else Constant(value)


def _is_frozen_union(value: Any) -> bool:
    """Whether a value is one of several, among them containers that were frozen."""
    return isinstance(value, Union) and any(isinstance(one, Snapshot) or _is_frozen_union(one) for one in value.alternatives)


def _build(session: Session, parts: _Loop, entry: list[Any], layout: _Layout) -> _Built:
    places = [frozen_place(place, session.depth + 1) for place in layout.places]
    ways = [tf.zeros([layout.told], tf.bool)] if layout.told else []
    init = [parts.go, *ways, *(tensor for value, spec in zip([*entry, *places], layout.specs, strict=True) for tensor in spec.pack(value))]
    shapes = [SCALAR, *(one.shape for one in ways), *(shape for spec in layout.specs for _, shape in spec.components())]
    built = _Built()

    def body(_: tf.Tensor, *tensors: tf.Tensor) -> list[tf.Tensor]:
        graph = make_quick(tf.compat.v1.get_default_graph())
        draw_eagerly(session, graph)
        session.carried[graph] = init[1:], list(tensors)
        session.counts["loop_traces"] += 1
        with session.log() as log, scope():
            outer, session.loop_depth = session.loop_depth, session.depth
            try:
                arrive(session, parts.state, layout.places, layout.specs, iter(tensors[len(ways):]))
                arrived = parts.state.get()
                entered = {place: copy.copy(old_value(place)) for place in layout.places if isinstance(place, Contents)}
                try:
                    go_on, *packed = _turn(session, parts, layout, log, arrived)
                except _Widen as wider:
                    junctions = junctions_of(session, graph)
                    wider.layout.told = max(wider.layout.told, _room(turns_told(session, junctions) * width_of(junctions.told)))
                    raise
                built.carried_through = {place: list(untouched(found, old_value(place))) for place, found in entered.items()}
            finally:
                session.loop_depth = outer
            told = _told(session, layout, built, packed, tensors)
            waits = tf.identity(go_on) if has_effects(graph) else go_on
            outputs = readable([waits, *told, *packed])
            built.calls_python = order_effects(session, graph, outputs, waits.op if waits is not go_on else None)
            if built.calls_python and parts.uniform is not None:
                fall_back(NoFixpoint, "a turn of the loop calls Python")
            return outputs

    most = parts.most if tape_may_record() else None  # XLA makes room for what gradients keep of turns
    outputs = build_while(body, init, shapes, most, has_first_order_only())
    built.outputs = outputs[1:]
    return built


def _told(session: Session, layout: _Layout, built: _Built, packed: list[tf.Tensor], tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """What this turn and those before did at the junctions in it, if gradients depend on it."""
    graph = tf.compat.v1.get_default_graph()
    junctions = junctions_of(session, graph)
    turns = turns_told(session, junctions)
    size = turns * width_of(junctions.told)
    if size > layout.told and results_vary(graph, packed):
        raise _Widen(dataclasses.replace(layout, told=_room(size)))
    if size and size <= layout.told:
        built.turns, built.junctions = turns, junctions.told
        return [tf.concat([junctions.turned(tensors[0][:size], turns), tensors[0][size:]], 0)]
    built.turns = turns if ways_are_told(session) and order_matters(graph, tensors[len(tensors) - len(packed):], packed) else 0
    return list(tensors[:1]) if layout.told else []


def _room(size: int) -> int:
    """How many flags to carry where so many are needed: the next trace of the turn may need some more."""
    return size + max(8, size // 4) if size else 0


def _turn(session: Session, parts: _Loop, layout: _Layout, log: Log, arrived: tuple[Any, ...]) -> list[tf.Tensor]:
    """One traced turn: the packed state at its end, or `_Widen`; `arrived` is what the variables began with."""
    depth, dead, go = session.depth, False, Box()
    try:
        _step(session, parts, go)
    except ProgramRaise as raised:
        emit_raise(session, raised)
        go.value, dead = False, True
    left = [DEAD] * len(layout.locals) if dead else parts.state.get()
    values = [freeze(value, depth) for value in left]
    written = [DEAD if dead else frozen_place(place, depth) for place in layout.places]
    known = set(layout.places)
    fresh = {} if dead else {place: frozen_place(place, depth) for place in list(log) if place not in known and session.outlives(place)}
    marked = with_aliases([*range(len(values)), *layout.places, *fresh], [*values, *written, *fresh.values()])
    count = len(values), len(values) + len(written)
    values, written = marked[: count[0]], marked[count[0]: count[1]]
    fresh = dict(zip(fresh, marked[count[1]:], strict=True))
    wider = [join(spec, Constant(value)) for spec, value in zip(layout.specs, [*values, *written], strict=True)]
    for place, constant in layout.guessed.items():
        if left[place] is arrived[place] or Constant(left[place]) == constant:
            wider[place] = constant  # the guess was wrong: it stays what it is
    if fresh or wider != layout.specs:
        raise _Widen(_widened(session, layout, wider, fresh, log))
    packed = [tensor for spec, value in zip(layout.specs, [*values, *written], strict=True) for tensor in spec.pack(value)]
    return [go.value.tensor if isinstance(go.value, PyNumber) else tf.constant(go.value), *packed]


def _step(session: Session, parts: _Loop, go: Box) -> None:
    """Run a turn; an exception that has a handler ends the loop."""

    def run() -> None:
        go.value = PyNumber("bool", tf.convert_to_tensor(parts.step(), tf.bool))

    if parts.pending is None:
        run()
    else:
        turn = parts.state.plus(go)
        Course(session, turn, leaving_in(turn, rest=(False,))).run(run)


def _widened(session: Session, layout: _Layout, wider: list[Spec], fresh: dict[Place, Any], log: Log) -> _Layout:
    """The next layout to try; places found in this turn enter with the join of their old and new values."""
    session.undo(log)
    log.clear()
    count = len(layout.locals)
    specs = [kept(join(Constant(frozen_place(place, session.depth)), Constant(value))) for place, value in fresh.items()]
    return _Layout(wider[:count], [*layout.places, *fresh], [*wider[count:], *specs], layout.told)


def kept(spec: Spec) -> Spec:
    """A spec in which nothing of an abandoned trace survives as a constant."""
    if isinstance(spec, Constant) and isinstance(spec.value, (tf.Tensor, PyNumber, Union, Deferred)):
        return describe(spec.value)
    return spec
