"""Python state that served calls change, kept in variables.

Saved functions are turns of one loop over the calls to come: what one call writes, a later call reads. So places of the heap
are carried as a loop of the graph carries them (`imp2tf.join`, `imp2tf.specs`), and their tensors live in variables between
the turns. `State` finds the places by tracing until nothing new is written and nothing widens.

A number is an int64, float64 or bool variable; a tensor is a variable of its dtype, whose shape is open where it changes; a value
of several kinds is the number of its kind beside a variable for each; a list that grows is its elements, stacked.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.compound_specs import Mapping, OneOf, Record, may_be_lost
from imp2tf.effects import is_unchanged
from imp2tf.errors import Contents, LostValue, SeveralKinds, fall_back
from imp2tf.growable import GrowableList
from imp2tf.join import join
from imp2tf.looping import kept
from imp2tf.paths import frozen_place, unpacked
from imp2tf.places import Place
from imp2tf.relaxations import Relaxations
from imp2tf.session import Session, resumed
from imp2tf.sharing import shares_objects
from imp2tf.specs import Constant, Spec
from imp2tf.trace import graph_name

__all__ = ["State", "Widened"]

MAX_WIDENINGS = 12


class Widened(BaseException):
    """A trace wrote what the state so far does not hold: the state has been widened, and everything is traced again."""


@dataclasses.dataclass(frozen=True)
class _Slot:
    """How one tensor of a spec is kept in a variable; `listed` says that it is a TensorList of such elements."""

    dtype: tf.DType
    shape: tf.TensorShape
    label: str
    listed: bool = False

    def stored(self, tensor: tf.Tensor) -> tf.Tensor:
        """What the variable holds."""
        if not self.listed:
            return tensor
        return tf.raw_ops.TensorListStack(input_handle=tensor, element_shape=self.shape[1:].as_list(), element_dtype=self.dtype)

    def loaded(self, tensor: tf.Tensor) -> tf.Tensor:
        """What the trace goes on with."""
        if not self.shape.is_fully_defined():
            tensor = tf.ensure_shape(tensor, self.shape)
        return tf.raw_ops.TensorListFromTensor(tensor=tensor, element_shape=-1) if self.listed else tensor


def _slots(spec: Spec, label: str = "") -> Iterator[_Slot]:
    if isinstance(spec, GrowableList):
        yield _Slot(tf.bool, tf.TensorShape([None]), f"{label}_count".lstrip("_"), listed=True)
        for dtype, shape in spec.element.components():
            if dtype == tf.variant or not shape.is_fully_defined():
                fall_back(Contents, "a list that grows from call to call holds tensors of differing shapes, or lists")
            yield _Slot(dtype, tf.TensorShape([None]).concatenate(shape), label, listed=True)
        return
    parts: Sequence[Spec] | None = getattr(spec, "parts", None)
    if parts is None:
        for dtype, shape in spec.components():
            if dtype in (tf.variant, tf.resource):
                fall_back(SeveralKinds, "a resource (a variable, an iterator, a table) is chosen anew by each call")
            yield _Slot(dtype, shape, label)
        return
    if isinstance(spec, OneOf):
        yield _Slot(tf.int32, tf.TensorShape([]), f"{label}_kind".lstrip("_"))
    for name, part in zip(_part_names(spec), parts, strict=True):
        yield from _slots(part, f"{label}_{name}".strip("_"))


def _part_names(spec: Any) -> Sequence[str]:
    if isinstance(spec, Mapping):
        return [str(key) for key in spec.keys]
    if isinstance(spec, Record):
        return [*(f"arg_{i}" for i in range(spec.args)), *spec.names]
    if isinstance(spec, OneOf) and sum(bool(part.components()) for part in spec.parts) <= 1:
        return [""] * len(spec.parts)
    return [str(i) for i in range(len(spec.parts))]


@dataclasses.dataclass
class _Kept:
    """One place: how it is carried, and the variables it lives in."""

    place: Place
    spec: Spec
    slots: list[_Slot]
    variables: list[tf.Variable]


class State:
    """The places that the saved functions write, shared by all of them."""

    def __init__(self) -> None:
        self.kept: dict[Place, _Kept] = {}
        self.widenings = 0

    # ------------------------------------------------------------------------------------ in a trace
    def enter(self, session: Session) -> Callable[[], list[tf.Operation]]:
        """Put what the variables hold in the places; what is returned writes the places back to them, as they are then."""
        entered = {}
        for place, one in self.kept.items():
            tensors = [slot.loaded(variable.read_value()) for slot, variable in zip(one.slots, one.variables, strict=True)]
            session.write(place, unpacked(place, one.spec, iter(tensors)))
            entered[place] = session.raw(place)
        depth = session.depth

        def write_back() -> list[tf.Operation]:
            self._widen(session, depth)
            changed = [place for place in self.kept if session.raw(place) is not entered[place] or place.kind == "contents"]
            return [op for place in changed for op in self._assigned(place, depth)]

        return write_back

    def _assigned(self, place: Place, depth: int) -> list[tf.Operation]:
        one = self.kept[place]
        tensors = one.spec.pack(frozen_place(place, depth))
        return [variable.assign(slot.stored(tensor)).op for slot, variable, tensor in zip(one.slots, one.variables, tensors, strict=True)]

    def _widen(self, session: Session, depth: int) -> None:
        """Compare what the trace has written with what the state can hold."""
        places = [place for log in session.logs[depth - 1:] for place in log if session.birth_depth(place.owner) < depth]
        written = {place: frozen_place(place, depth) for place in dict.fromkeys(places) if self._matters(session, place)}
        if shares_objects(list(written.values())):
            fall_back(SeveralKinds, "an object made in a call has two names after it")
        wider = {place: join(self.kept[place].spec, Constant(value)) for place, value in written.items() if place in self.kept}
        wider = {place: spec for place, spec in wider.items() if spec != self.kept[place].spec}
        fresh = [place for place in written if place not in self.kept]
        if not wider and not fresh:
            return
        _undo(session, depth)
        for place in fresh:
            wider[place] = kept(join(Constant(frozen_place(place, depth)), Constant(written[place])))
        self._keep(wider)
        raise Widened

    def _matters(self, session: Session, place: Place) -> bool:
        return place in self.kept or not is_unchanged(session, place, session.raw(place))

    # ------------------------------------------------------------------------------------ variables
    def _keep(self, specs: dict[Place, Spec]) -> None:
        self.widenings += 1
        if self.widenings > MAX_WIDENINGS * (1 + len(self.kept)):
            fall_back(SeveralKinds, "the state of the function changes its kind at every call")
        with tf.init_scope(), resumed(scratch_session()) as session:
            for place, spec in specs.items():
                if may_be_lost(spec):
                    fall_back(LostValue, f"the {_described(place)} is made anew by each call, and cannot be kept in variables")
                slots = list(_slots(spec, str(place.key) if isinstance(place.key, str) else ""))
                values = spec.pack(frozen_place(place, session.depth))
                self.kept[place] = _Kept(place, spec, slots, list(map(_variable, slots, values)))

    def variables(self) -> Iterator[tuple[Place, list[str], list[tf.Variable]]]:
        """Each place with the labels of its parts and their variables."""
        for place, one in self.kept.items():
            yield place, [slot.label for slot in one.slots], one.variables


def _undo(session: Session, depth: int) -> None:
    """The heap as it was when the trace began."""
    for log in reversed(session.logs[depth - 1:]):
        session.undo(log)
        log.clear()


def _variable(slot: _Slot, value: tf.Tensor) -> tf.Variable:
    """A variable for a tensor.

    An open shape is left open altogether: in loaded models Grappler takes what is read from a variable of partly known shape for as long
    as what the same call writes to it.
    """
    initial, shape = slot.stored(value), slot.shape if slot.shape.is_fully_defined() else tf.TensorShape(None)
    return tf.Variable(initial, trainable=False, dtype=slot.dtype, shape=shape, name=graph_name(slot.label))


def _described(place: Place) -> str:
    return f"{place.kind} {place.key}" if place.key else f"{place.kind} of a {type(place.owner).__name__}"


def scratch_session() -> Session:
    """A session for describing and packing values outside of any trace."""
    session = Session(None, Relaxations())
    session.embedded = True
    return session
