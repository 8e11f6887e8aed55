"""Lists, dicts, sets and deques as the trace keeps them: making them, asking them, adding to them.

The container object is only an identity; its elements are a place of the heap (`imp2tf.heap.contents`), which
branches and loops carry like a local variable. A list whose elements differ in number from path to path becomes growable.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, truth
from imp2tf.arithmetic import compare, run_operation
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import fall_back
from imp2tf.growable import GrowableList, empty_growable, growable_length, pushed
from imp2tf.heap import contents, is_container, is_unread, length, set_contents
from imp2tf.join import describe, join, join_all
from imp2tf.places import Contents, Tail
from imp2tf.region import select
from imp2tf.session import NOT_STORED, current
from imp2tf.snapshots import freeze, seal
from imp2tf.values import Growable, PyNumber, Union, is_runtime

__all__ = [
    "any_equal", "append", "by_alternative", "container_length", "copied", "grow", "has_element", "new", "new_list", "static",
]


def new(container: Any) -> Any:
    """A container that converted code has just made."""
    return current().born(container)


def new_list(elements: Any) -> list[Any]:
    """A new list with these elements, which may be of run-time length."""
    if isinstance(elements, Growable):
        made: list[Any] = new([])
        set_contents(made, elements)
        return made
    return new(list(elements))


def static(container: Any, action: str) -> Any:
    """The elements of a container, which must be known while tracing."""
    found = contents(container)
    if isinstance(found, (Growable, Union)):
        fall_back(ContentsError, f"{action} needs a {type(container).__name__}'s contents, which only the run knows")
    return found


def by_alternative(container: Any, found: Union, operation: Callable[[], Any]) -> Any:
    """Do an operation once for each of the contents that a container may have."""

    def with_contents(one: Any) -> Any:
        set_contents(container, one)
        return operation()

    return over(found, with_contents)


# ------------------------------------------------------------------------------------------------ queries
def container_length(container: Any) -> Any:
    """``len(container)``."""
    if is_unread(container) and not isinstance(container, set):
        return _unread_length(container)
    found = contents(container)
    if isinstance(found, Union):
        return over(found, len)
    return PyNumber("int", tf.cast(growable_length(found), tf.int64)) if isinstance(found, Growable) else len(found)


def _unread_length(container: Any) -> Any:
    tail = current().raw(Tail(container))
    before = length(container)
    if tail is NOT_STORED:
        return before
    after = PyNumber("int", tf.cast(growable_length(tail), tf.int64)) if isinstance(tail, Growable) else len(tail)
    return before + after


def has_element(container: Any, value: Any) -> Any:
    """``value in container`` for containers and tuples: identity first, then equality, as Python does."""
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: has_element(one, value))
    if isinstance(found, Growable):
        return fall_back(ContentsError, "`in` on a list of run-time length")
    if isinstance(found, (dict, set)) and not is_runtime(value):
        return run_operation(lambda: value in found)
    return any_equal(list(found), value)


def any_equal(items: list[Any], value: Any) -> Any:
    """Whether an element is `value` or equals it."""
    if not items:
        return False
    first, rest = items[0], items[1:]
    equal = True if first is value else truth(compare("==", value, first))
    if isinstance(equal, bool):
        return True if equal else any_equal(rest, value)
    others = select(equal, lambda: True, lambda: any_equal(rest, value))
    return others


# ------------------------------------------------------------------------------------------------ growth
def append(owner: list[Any], value: Any) -> None:
    """``owner.append(value)``; a list that nobody has read is not read for it."""
    place: Contents | Tail = Tail(owner) if is_unread(owner) else Contents(owner)
    session = current()
    found = session.raw(place)
    if found is NOT_STORED:
        found = [] if isinstance(place, Tail) else contents(owner)
    if isinstance(found, Union):
        by_alternative(owner, found, lambda: append(owner, value))
        return
    session.write(place, _grown(found, value) if isinstance(found, Growable) else [*found, value])


def _grown(found: Growable, value: Any) -> Growable:
    """`found` with one element more, of any kind."""
    frozen = copied(value)
    element = join(found.element, describe(frozen))
    if element != found.element:
        found = Growable(GrowableList(element).pack(found), element)
    return pushed(found, element.pack(frozen))


def copied(value: Any) -> Any:
    """A value frozen by its elements, to be put in a list of run-time length; its objects may not be changed any more."""
    frozen = freeze(value, current().depth)
    seal(frozen)
    return frozen


def grow(items: list[Any]) -> Growable:
    """A static list as a growable one."""
    frozen = [copied(item) for item in items]
    element = join_all([describe(item) for item in frozen])
    found = empty_growable(element)
    for item in frozen:
        found = pushed(found, element.pack(item))
    return found
