"""Reading the Python heap from inside a trace.

Attributes and elements of objects are read when the program reads them; what is read is lifted (`imp2tf.lifting`).
"""
from __future__ import annotations

import builtins
import collections
import types
from typing import Any

import numpy as np

from imp2tf.analysis.updates import NAME
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.kinds import METHODS
from imp2tf.lifting import lift, lift_literal
from imp2tf.places import Attribute, Cell, Contents, Global, Place, Tail
from imp2tf.session import NOT_STORED, Session, current
from imp2tf.sources import Item, Keys, Length, Source
from imp2tf.values import UNBOUND, Growable

__all__ = [
    "contents", "contents_without_tail", "has_written_fields", "is_unread", "length", "old_value", "read", "set_contents", "view",
    "with_tail",
]


def view(place: Place) -> Any:
    """The value of a place as the program sees it now, inside the trace."""
    session = current()
    raw = session.raw(place)
    if raw is not NOT_STORED:
        return raw
    return place.read() if session.is_born(place.owner) else read(place)


def read(place: Place) -> Any:
    """The value that a place had when the call began, as a guarded constant or an input of the graph."""
    session = current()
    if place not in session.reads:
        value, source = place.read(), session.source_of_place(place)
        if type(value) in (int, float, np.ndarray):
            session.relaxations.presume(source, _owners(place), place.key, value)
        session.reads[place] = lift(session, value, source)
    if not _holds_code(place, session.reads[place]):
        _note_data(session, place, place.owner)
        if session.outside.touched and id(place.read()) in session.outside.touched and isinstance(session.reads[place], np.ndarray):
            fall_back(ForeignCall, f"library code could have changed the array {place}")
    return session.reads[place]


def _owners(place: Place) -> list[str]:
    """The names of the classes that a value may be an attribute of, as `analysis.updates` has them."""
    if isinstance(place, Attribute):
        return ["", *(cls.__qualname__ for cls in type(place.owner).__mro__)]
    return [NAME] if isinstance(place, (Global, Cell)) else []


def _holds_code(place: Place, value: Any) -> bool:
    """Whether a place is a name, or a class's attribute, of a function, class or module: what programs do not replace while they run.

    So is the attribute of an object where its class has a method.
    """
    if value is UNBOUND and isinstance(place, Attribute) and not isinstance(place.owner, type):
        found = next((base.__dict__[place.key] for base in type(place.owner).__mro__ if place.key in base.__dict__), None)
        return isinstance(found, METHODS)
    if value is UNBOUND and isinstance(place, Global):
        return hasattr(builtins, place.key)
    of_name = isinstance(place, (Global, Cell)) or isinstance(place.owner, type)
    return of_name and isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, types.FunctionType, np.ufunc, property,
                                          staticmethod, classmethod))


def _note_data(session: Session, place: object, owner: Any) -> None:
    """Data is read that a call which the trace could not look into may have changed."""
    session.has_read_data = True
    session.outside.read_owners[id(owner)] = owner
    if session.opaque is not None:
        fall_back(ForeignCall, f"{session.opaque}, and could have changed the {place}")
    if id(owner) in session.outside.touched:
        fall_back(ForeignCall, f"library code could have changed the {place}")


def old_value(place: Place) -> Any:
    """The value of a place in a region that did not write it: the value from before the region."""
    if isinstance(place, Contents):
        return contents(place.owner)
    if isinstance(place, Tail):
        raw = current().raw(place)
        return [] if raw is NOT_STORED else raw
    return view(place)


# ------------------------------------------------------------------------------------------------ containers
def contents(container: Any, for_copy: bool = False) -> Any:
    """The elements of a list, deque, dict or set as the program sees them: list, dict, set or `Growable`.

    Reading the elements of a container that existed before the call guards its length or keys. `for_copy` is for the machinery.
    """
    session, place = current(), Contents(container)
    element = session.elements.get(id(container))
    if element is not None:
        return element.read()
    if session.changed_elements and not for_copy and id(container) in session.sealed:
        fall_back(ContentsError, "an element of a list of run-time length is read by another name after it was changed")
    raw = session.raw(place)
    if raw is not NOT_STORED:
        return raw
    if session.is_born(container):
        return place.read()
    base = _outer_contents(session, container, place)
    tail = session.raw(Tail(container))
    if tail is NOT_STORED or (isinstance(tail, list) and not tail):
        return base
    whole = with_tail(base, tail, getattr(container, "maxlen", None))
    session.write(place, whole)
    session.write(Tail(container), [])
    return whole


def contents_without_tail(container: list[Any]) -> list[Any]:
    """The elements that a list of the program had before the call, unless the trace has written them since."""
    session, place = current(), Contents(container)
    raw = session.raw(place)
    return _outer_contents(session, container, place) if raw is NOT_STORED else raw


def with_tail(base: list[Any], tail: Any, limit: int | None = None) -> Any:
    """The elements of a list followed by what was appended to it; the last of them, for a deque of a greatest length."""
    run = current().run
    if isinstance(tail, list):
        whole = run.extended(base, tail) if isinstance(base, Growable) else base + tail
    else:
        whole = run.prepend(base, tail)
    return whole if limit is None else run.last(whole, limit)


def _outer_contents(session: Session, container: Any, place: Contents) -> Any:
    if place not in session.reads:
        source = session.source_of(container)
        session.reads[place] = _lift_elements(session, container, source)
    _note_data(session, place, container)
    found = session.reads[place]
    return found if isinstance(found, Growable) else found.copy()


def _lift_elements(session: Session, container: Any, source: Source) -> Any:
    if isinstance(container, dict):
        session.guard(Keys(source), "keys", tuple(container))
        return {key: lift(session, value, Item(source, key)) for key, value in container.items()}
    if isinstance(container, set):
        session.guard(source, "set", frozenset(container))
        return set(container)
    varies = type(container) in (list, collections.deque) and session.relaxations.takes_any_length(source, container)
    grown = session.run.listed(container, source) if varies else None
    if grown is not None:
        session.relaxations.constant.discard(Length(source))
        return grown
    session.relaxations.constant.add(Length(source))
    session.guard(Length(source), "literal", len(container))
    return [lift(session, value, Item(source, i)) for i, value in enumerate(container)]


def is_unread(container: Any) -> bool:
    """Whether nobody has read the elements of a list that existed before the call."""
    session, place = current(), Contents(container)
    return not session.is_born(container) and place not in session.reads and not session.is_written(place)


def length(container: Any) -> Any:
    """``len`` of a container that existed before the call and whose elements nobody has read: guarded, then an input."""
    session = current()
    source = Length(session.source_of(container))
    _note_data(session, source, container)
    return lift_literal(session, len(container), source)


def has_written_fields(value: Any) -> bool:
    """Whether this trace has written attributes of an object that is older, which nobody outside sees yet."""
    session = current()
    return not session.is_born(value) and any(place.owner is value for place in session.store)


def set_contents(container: Any, value: Any) -> None:
    """Replace all elements of a container."""
    session = current()
    session.versions[id(container)] += 1
    session.put_contents(container, value)
