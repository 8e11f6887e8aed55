"""Lists, dicts, sets and deques as the trace keeps them: making them, asking them, adding to them.

The container object is only an identity; its elements are a place of the heap (`imp2tf.heap.contents`), which
branches and loops carry like a local variable. A list whose elements differ in number from path to path becomes growable.
"""
from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import run_operation
from imp2tf.compound_specs import holds_objects
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import fall_back
from imp2tf.growable import empty_growable, growable_length, joined, popped_first, pushed, widened
from imp2tf.heap import contents, is_unread, length, set_contents
from imp2tf.join import by_elements, describe, join, join_all
from imp2tf.kinds import is_container
from imp2tf.object_keys import check_keys
from imp2tf.places import Contents, Tail
from imp2tf.region import select
from imp2tf.searches import is_equal, place_of
from imp2tf.session import NOT_STORED, current
from imp2tf.snapshots import freeze, has_sealed, objects_in, seal
from imp2tf.specs import Spec, constants_in
from imp2tf.tables import key_form, key_kind, keys_tensor
from imp2tf.values import Deferred, Growable, PyNumber, Table, Union, is_runtime

__all__ = [
    "any_equal", "append", "by_alternative", "concatenated", "container_length", "copied", "covering", "detached", "grow", "grown",
    "has_element",
    "holding", "listed",
    "new", "new_list", "note_shared", "static", "tuple_of", "within",
]


def new(container: Any) -> Any:
    """A container that converted code has just made."""
    return current().born(container)


def note_shared(elements: Any, level: int = 1) -> None:
    """Elements of a list of run-time length stand in another list too from now on (1), or in the same once more (2)."""
    if isinstance(elements, Growable) and holds_objects(elements.element):
        session = current()
        if session.changed_elements:
            fall_back(ContentsError, "elements of a list of run-time length that were changed are put in another list")
        session.shared_elements = max(session.shared_elements, level)


def new_list(elements: Any) -> list[Any]:
    """A new list with these elements, which may be of run-time length."""
    if isinstance(elements, Growable):
        note_shared(elements)
        made: list[Any] = new([])
        set_contents(made, elements)
        return made
    return new(list(elements))


def tuple_of(made: list[Any]) -> Any:
    """``tuple(made)`` of a list that nobody else knows: a tuple, made after the run if only the run knows its length."""
    found = contents(made)
    return Deferred(tuple, (made,)) if isinstance(found, (Growable, Union)) else tuple(found)


def listed(value: Any) -> Any:
    """The list behind a tuple of run-time length, None for anything else."""
    return value.args[0] if isinstance(value, Deferred) and value.function is tuple and isinstance(value.args[0], list) else None


def holding(like: Any, elements: Any) -> Any:
    """A new list, or deque as `like` is one, with these elements."""
    note_shared(elements)
    made = new(collections.deque(maxlen=like.maxlen) if isinstance(like, collections.deque) else [])
    set_contents(made, elements)
    return made


def static(container: Any, action: str) -> Any:
    """The elements of a container, which must be known while tracing."""
    found = contents(container)
    if isinstance(found, (Growable, Table, Union)):
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
    if isinstance(found, Table):
        return PyNumber("int", tf.size(found.keys, out_type=tf.int64))
    return PyNumber("int", tf.cast(growable_length(found), tf.int64)) if isinstance(found, Growable) else len(found)


def _unread_length(container: Any) -> Any:
    tail = current().raw(Tail(container))
    before = length(container)
    if tail is NOT_STORED:
        return before
    after = PyNumber("int", tf.cast(growable_length(tail), tf.int64)) if isinstance(tail, Growable) else len(tail)
    limit = getattr(container, "maxlen", None)
    return before + after if limit is None else current().run.call(min, before + after, limit)


def has_element(container: Any, value: Any) -> Any:
    """``value in container`` for containers and tuples: identity first, then equality, as Python does."""
    found = contents(container) if is_container(container) else container
    if isinstance(found, Union):
        return over(found, lambda one: has_element(one, value))
    if isinstance(found, Growable):
        return PyNumber("bool", place_of(found, value) < growable_length(found))
    if isinstance(found, (dict, set)) and is_runtime(value):
        return _has_run_time_key(found, value)
    if isinstance(found, (dict, set)):
        check_keys((value, *found))
        return run_operation(lambda: value in found)
    return any_equal(list(found), value)


def _has_run_time_key(found: Any, value: Any) -> Any:
    """Whether a dict or set of known keys holds one that only the run knows."""
    form = key_form(value)
    if form is None or form[0] not in ("str", "bytes"):
        return any_equal(list(found), value)
    same = [key for key in found if key_kind(key) == form[0]]
    return PyNumber("bool", tf.reduce_any(tf.equal(keys_tensor(form[0], same), form[1]))) if same else False


def any_equal(items: list[Any], value: Any) -> Any:
    """Whether an element is `value` or equals it."""
    if not items:
        return False
    first, rest = items[0], items[1:]
    equal = is_equal(first, value)
    if isinstance(equal, bool):
        return True if equal else any_equal(rest, value)
    others = select(equal, lambda: True, lambda: any_equal(rest, value))
    return others


# ------------------------------------------------------------------------------------------------ growth
def append(owner: Any, value: Any) -> None:
    """``owner.append(value)`` of a list or deque; one that nobody has read is not read for it."""
    place: Contents | Tail = Tail(owner) if is_unread(owner) else Contents(owner)
    session = current()
    found = session.raw(place)
    if found is NOT_STORED:
        found = [] if isinstance(place, Tail) else contents(owner)
    if isinstance(found, Union):
        by_alternative(owner, found, lambda: append(owner, value))
        return
    whole = within(owner, grown(found, value) if isinstance(found, Growable) else [*found, value])
    session.put_contents(owner, whole) if isinstance(place, Contents) else session.write(place, whole)


def within(owner: Any, found: Any) -> Any:
    """The elements that a list or deque keeps, to which one was appended."""
    limit = owner.maxlen if isinstance(owner, collections.deque) else None
    if limit is None:
        return found
    if not isinstance(found, Growable):
        return found[max(0, len(found) - limit):]
    fits = growable_length(found) <= limit
    counter = tf.cond(fits, lambda: found.handles[0], lambda: popped_first(found)[0].handles[0])
    return Growable([counter, *found.handles[1:]], found.element, shifted=True)


def grown(found: Growable, value: Any) -> Growable:
    """`found` with one element more, of any kind."""
    frozen = copied(value)
    found = covering(found, describe(frozen))
    return pushed(found, found.element.pack(frozen))


def covering(found: Growable, other: Spec) -> Growable:
    """`found`, with an element spec that covers also other values."""
    element = join(found.element, other)
    return found if element == found.element else widened(found, element)


def detached(found: Any, depth: int) -> Any:
    """The elements of a list or dict of run-time length, none of which refers to an object born at log depth `depth` or deeper."""
    if isinstance(found, Table):
        return found if found.values is None else Table(found.kind, found.keys, detached(found.values, depth))
    element = by_elements(found.element, depth)
    if element.layout() == found.element.layout():
        return found
    for value in constants_in(found.element):
        seal(freeze(value, depth))
    return widened(found, element)


def concatenated(first: Growable, second: Growable) -> Growable:
    """The elements of one list, then those of another."""
    note_shared(second, level=2)
    return joined(covering(first, second.element), second)


def copied(value: Any) -> Any:
    """A value frozen by its elements, to be put in a list of run-time length; its objects may not be changed any more."""
    session = current()
    frozen = freeze(value, 1)
    if has_sealed(frozen) or any(session.birth_depth(one.value) < session.loop_depth for one in objects_in(frozen)):
        session.shared_elements = 2
        if session.changed_elements:
            fall_back(ContentsError, "an object is put in a list of run-time length again, whose elements were changed")
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
