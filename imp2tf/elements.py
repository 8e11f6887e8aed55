"""Containers that are elements of lists and dicts of run-time length: read and changed where they stand.

Such an element has no object of its own while tracing, only tensors in the list that holds it. What the program gets is a
container whose contents are a part of the holder's (`Element`). As there may be copies of the same element elsewhere, which a change
would not reach, a change falls back where a copy was made before, and reading a copy falls back after a change.
"""
from __future__ import annotations

import collections
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.compound_specs import Items, Mapping
from imp2tf.containers import copied, covering, holding
from imp2tf.errors import Contents, fall_back
from imp2tf.growable import GrowableList, element_at, replaced
from imp2tf.heap import contents
from imp2tf.join import describe
from imp2tf.places import Contents as ContentsOf
from imp2tf.session import NOT_STORED, Session, current
from imp2tf.specs import Spec
from imp2tf.tables import TableSpec
from imp2tf.values import Growable, Table

__all__ = ["check_uses", "element_of"]


class Element:
    """Where the contents of an element are: at a position of a holder, as long as the holder's order does not change."""

    def __init__(self, holder: Any, index: tf.Tensor) -> None:
        self.holder = holder
        self.index = index
        self.version = current().versions[id(holder)]
        self.loop_depth = current().loop_depth
        self._read: tuple[Any, Any, Any] | None = None

    def read(self) -> Any:
        """The contents now."""
        found, graph = self._values(), tf.compat.v1.get_default_graph()
        if self._read is None or self._read[0] is not found or self._read[1] is not graph:
            place = ContentsOf(element_at(found, self.index))
            raw = current().raw(place)
            self._read = found, graph, place.read() if raw is NOT_STORED else raw
        held = self._read[2]
        return held.copy() if isinstance(held, (list, dict, set)) else held

    def write(self, like: Any, value: Any) -> None:
        """Put other contents there."""
        session, found = current(), self._values()
        if session.shared_elements:
            fall_back(Contents, "an element of a list of run-time length is changed that may stand in another list, too")
        session.changed_elements = True
        frozen = copied(_made(like, value))
        wider = covering(found, describe(frozen))
        changed = replaced(wider, self.index, wider.element.pack(frozen))
        whole = contents(self.holder)
        session.put_contents(self.holder, Table(whole.kind, whole.keys, changed) if isinstance(whole, Table) else changed)

    def _values(self) -> Growable:
        whole = contents(self.holder)
        found = whole.values if isinstance(whole, Table) else whole
        session = current()
        if session.versions[id(self.holder)] != self.version or not isinstance(found, Growable):
            _refuse()
        if session.loop_depth > self.loop_depth:
            session.uses_in_loops.append(self)
        return found


def _refuse() -> NoReturn:
    fall_back(Contents, "an element of a list of run-time length is used after the list has changed")


def check_uses(session: Session) -> None:
    """At the end of a loop: an element used in it may not have lost its place later in the turn."""
    for element in session.uses_in_loops:
        if session.versions[id(element.holder)] != element.version:
            _refuse()
    session.uses_in_loops[:] = [one for one in session.uses_in_loops if one.loop_depth < session.loop_depth]


def _made(like: Any, value: Any) -> Any:
    """A new container of the class of `like` with these contents."""
    if isinstance(like, (list, collections.deque)):
        return holding(like, value)
    session = current()
    made = session.born(type(like)(like.default_factory) if isinstance(like, collections.defaultdict) else type(like)())
    session.write(ContentsOf(made), value)
    return made


def element_of(holder: Any, found: Growable, index: tf.Tensor) -> Any:
    """The element at a run-time index (int32, in range) of the values of a holder."""
    like = _container_of(found.element)
    if like is None:
        return element_at(found, index)
    session = current()
    session.born(like)
    session.sealed.add(id(like))
    session.elements[id(like)] = Element(holder, index)
    return like


def _container_of(element: Spec) -> Any:
    """An empty container of the class of the elements, None if they are no containers or of several kinds."""
    if isinstance(element, GrowableList):
        return element.empty()
    if isinstance(element, (TableSpec, Mapping)):
        like = element.like
        return type(like)(like.default_factory) if isinstance(like, collections.defaultdict) else type(like)()
    if isinstance(element, Items) and type(element.like) is list:
        return []
    if isinstance(element, Items) and isinstance(element.like, collections.deque):
        return collections.deque(maxlen=element.like.maxlen)
    return None
