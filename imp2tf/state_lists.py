"""Lists of the program that come with another length at every call, as inputs of one graph.

    self.history: [(s, y), (s, y), ...]   -->   the s and the y stacked, and how many there are

That holds for lists of tensors of one shape, of Python numbers, and of tuples of these; others need a graph for each length.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import tensorflow as tf

from imp2tf.compound_specs import Items
from imp2tf.containers import grown
from imp2tf.eager_tensors import scalar
from imp2tf.growable import growable_of
from imp2tf.lifting import INT_RANGE, Fetch
from imp2tf.remembered import ListMemory
from imp2tf.session import Session, current
from imp2tf.sources import Source
from imp2tf.specs import Dense, Number, Spec
from imp2tf.tf_compat import capture_at_call_time, stacked_apart, tape_may_record
from imp2tf.values import NUMBER_DTYPES, Growable, number_kind

__all__ = ["extended", "listed"]


def listed(container: Sequence[Any], source: Source) -> Growable | None:
    """The elements of a list or deque that varies in length; None where they are not of one kind."""
    session = current()
    element = _kind_of_all(container) if container else session.relaxations.kinds_of_lists.get(source)
    if element is None:
        return None
    session.relaxations.kinds_of_lists[source] = element
    parts = _parts(element)
    memory = ListMemory([_column(part, path) for part, path in parts], element)
    count = _input(session, source, _length, tf.TensorSpec([], tf.int32), 0)
    memory = session.fetches[source, 0].memory = session.memory_of(source) or memory
    session.guard(source, "elements", Elements(element, type(container), memory))
    specs = [tf.TensorSpec([None, *shape], dtype) for part, _ in parts for dtype, shape in part.components()]
    columns = [_input(session, source, memory.column(number), spec, number + 1) for number, spec in enumerate(specs)]
    with session.graph.as_default(), tf.control_dependencies(None):
        return growable_of(element, columns, count)


def extended(base: Growable, items: Sequence[Any]) -> Growable:
    """The elements of such a list, followed by others."""
    for item in items:
        base = grown(base, item)
    return base


class Elements:
    """The kind of all elements of a list, as a guard checks it."""

    def __init__(self, element: Spec, kind: type, memory: ListMemory) -> None:
        self._kind, self._memory = kind, memory
        self._parts = [(_test(part), path) for part, path in _parts(element)]
        self._tuples = [(part, path) for part, path in _tuples(element)]

    def holds(self, value: Any) -> bool:
        """Whether a list consists of such elements."""
        found = cast("list[Any]", value)
        return type(value) is self._kind and (self._memory.knows(found) or all(map(self._fits, found)))

    def _fits(self, item: Any) -> bool:
        shaped = all(type(found := _at(item, path)) is tuple and len(found) == count for count, path in self._tuples)
        return shaped and all(test(_at(item, path)) for test, path in self._parts)


# ------------------------------------------------------------------------------------------------ kinds of elements
Path = tuple[int, ...]


def _kind_of_all(items: Sequence[Any]) -> Spec | None:
    kinds = list(map(_kind_of, items))
    first = kinds[0]
    return first if first is not None and all(one is not None and one.key() == first.key() for one in kinds) else None


def _kind_of(item: Any) -> Spec | None:
    if isinstance(item, tf.Tensor):
        return Dense(item.dtype, item.shape) if item.dtype not in (tf.variant, tf.resource) else None
    if type(item) is tuple:
        parts = [_kind_of(part) for part in item]
        return Items(item, [part for part in parts if part is not None]) if parts and None not in parts else None
    kind = number_kind(item)
    return Number(kind) if kind is not None and (kind != "int" or abs(item) < INT_RANGE) else None


def _parts(element: Any, path: Path = ()) -> list[tuple[Any, Path]]:
    """The tensors and numbers in an element, and where they are."""
    if not isinstance(element, Items):
        return [(element, path)]
    return [one for place, part in enumerate(element.parts) for one in _parts(part, (*path, place))]


def _tuples(element: Any, path: Path = ()) -> list[tuple[int, Path]]:
    """The sizes of the tuples in an element, outermost first."""
    if not isinstance(element, Items):
        return []
    return [(len(element.parts), path), *(one for place, part in enumerate(element.parts) for one in _tuples(part, (*path, place)))]


def _at(item: Any, path: Path) -> Any:
    for place in path:
        item = item[place]
    return item


def _test(part: Any) -> Callable[[Any], bool]:
    if isinstance(part, Number):
        kind = part.kind
        return lambda found: number_kind(found) == kind and (kind != "int" or abs(found) < INT_RANGE)
    dtype, shape = part.dtype, part.shape
    return lambda found: isinstance(found, tf.Tensor) and found.dtype == dtype and found.shape == shape


# ------------------------------------------------------------------------------------------------ inputs
def _length(found: list[Any]) -> tf.Tensor:
    return scalar(len(found), tf.int32)


def _column(part: Any, path: Path) -> Callable[[list[Any]], tf.Tensor]:
    """A function of a list: what stands at one place of each element, stacked."""
    if isinstance(part, Number):
        dtype = NUMBER_DTYPES[part.kind]
        return lambda found: tf.constant([_at(item, path) for item in found], dtype, [len(found)])
    with tf.init_scope():
        empty = tf.zeros([0, *part.shape], part.dtype)

    def stacked(found: list[Any]) -> tf.Tensor:
        items = [_at(item, path) for item in found]
        if not items:
            return empty
        return stacked_apart(items) if tape_may_record() else tf.constant(np.stack([item.numpy() for item in items]))

    return stacked


def _input(session: Session, source: Source, convert: Callable[[Any], tf.Tensor], spec: tf.TensorSpec, number: int) -> tf.Tensor:
    """An input of the graph; the parts of one list are told apart by `number`."""
    key = source, number
    if key not in session.fetches:
        session.fetches[key] = Fetch(session.run, source, convert)
    return capture_at_call_time(session.graph, session.fetches[key], spec)
