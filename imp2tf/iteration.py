"""Iteration: one protocol for everything a ``for`` may run over.

A `Cursor` answers whether there is a next item (a Python bool, or a bool tensor) and gives it. What it keeps between items is
in its `boxes`, which a loop carries like the program's variables; zip, enumerate, reversed, map and filter are cursors
over cursors.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import compare, run_operation
from imp2tf.container_items import get_item
from imp2tf.containers import container_length, listed
from imp2tf.dict_views import DictView
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.heap import contents, is_container, view
from imp2tf.places import Attribute
from imp2tf.region import stop_if
from imp2tf.session import current
from imp2tf.states import Box
from imp2tf.table_items import shown_entry
from imp2tf.values import SKIP, Deferred, GeneratorCall, Growable, PyNumber, StandIn, Table, Union, is_runtime

__all__ = [
    "Cursor", "EnumerateCursor", "GeneratorValue", "IteratorCursor", "MapCursor", "RunRange", "StaticCursor", "StaticIterator",
    "ZipCursor", "certain", "cursor_of", "drained", "reversed_cursor",
]

Truth = Any
MAX_UNROLLED = 256


class Cursor(StandIn):
    """A position in an iteration."""

    boxes: Sequence[Box] = ()

    def has_next(self) -> Truth:
        """Whether there is another item: a Python bool or a scalar bool tensor."""
        raise NotImplementedError

    def next(self) -> Any:
        """The next item; only after `has_next` holds. SKIP for one that a condition left out."""
        raise NotImplementedError

    def known_items(self) -> list[Any] | None:
        """All items, without those left out, if their number is known while tracing, else None. Uses the cursor up."""
        return None

    def __iter__(self) -> Iterator[Any]:
        """For library code, which sees the items if their number is known."""
        items = self.known_items()
        return iter(items) if items is not None else fall_back(NeedsValue, "library code iterates over items of run-time length")


class StaticCursor(Cursor):
    """Over items that are all known while tracing. Beside items that only the run counts, its position is the run's as well."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = list(items)
        self.index = Box(0)
        self.boxes = (self.index,)

    def has_next(self) -> Truth:
        return truth(compare("<", self.index.value, len(self.items)))

    def next(self) -> Any:
        index = self.index.value
        self.index.value = index + 1
        return get_item(current().born(list(self.items)), index) if is_runtime(index) else self.items[index]

    def known_items(self) -> list[Any] | None:
        if is_runtime(self.index.value):
            return None
        items, self.index.value = self.items[self.index.value:], len(self.items)
        return items


class StaticIterator(StandIn):
    """What ``iter`` gives over items that are known while tracing; its position is a place of the heap."""

    def __init__(self, items: list[Any]) -> None:
        self.items = tuple(items)
        self.position = 0


class IteratorCursor(Cursor):
    """Over the items that a `StaticIterator` has left; uses the iterator up."""

    def __init__(self, iterator: StaticIterator) -> None:
        self.iterator = iterator
        self.place = Attribute(iterator, "position")

    def _position(self) -> int:
        position = view(self.place)
        return fall_back(NeedsValue, "the position of an iterator is known only when the graph runs") if is_runtime(position) else position

    def has_next(self) -> Truth:
        return self._position() < len(self.iterator.items)

    def next(self) -> Any:
        position = self._position()
        current().write(self.place, position + 1)
        return self.iterator.items[position]

    def known_items(self) -> list[Any]:
        items = self.iterator.items[self._position():]
        current().write(self.place, len(self.iterator.items))
        return list(items)


class ContainerCursor(StaticCursor):
    """Over a dict, set or deque, which must keep its size meanwhile."""

    def __init__(self, container: Any, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.container = container

    def has_next(self) -> Truth:
        found = contents(self.container)
        if isinstance(found, Table):
            stop_if(tf.not_equal(tf.size(found.keys), len(self.items)), _changed_size(self.container))
        elif not isinstance(found, (Growable, Union)) and len(found) != len(self.items):
            raise_error(_changed_size(self.container))
        return super().has_next()


class ViewCursor(ContainerCursor):
    """Over a view of a dict of known keys: values are those of the moment when their turn comes."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, contents(owner))
        self.name = name

    def next(self) -> Any:
        return self._shown(super().next())

    def known_items(self) -> list[Any]:
        return [self._shown(key) for key in super().known_items() or ()]

    def _shown(self, key: Any) -> Any:
        if self.name == "keys":
            return key
        value = get_item(self.container, key)
        return value if self.name == "values" else (key, value)


def _changed_size(container: Any) -> RuntimeError:
    kinds = {dict: "dictionary changed size during iteration", set: "Set changed size during iteration"}
    return RuntimeError(next((text for cls, text in kinds.items() if isinstance(container, cls)), "deque mutated during iteration"))


class _Indexed(Cursor):
    """Over something with a length and an item at each index."""

    def __init__(self, start: Any = 0) -> None:
        self.index = Box(start)
        self.boxes = (self.index,)

    def length(self) -> Any:
        """Number of items, as a Python int, `PyNumber` or scalar tensor."""
        raise NotImplementedError

    def item(self, index: Any) -> Any:
        """The item at an index."""
        raise NotImplementedError

    def has_next(self) -> Truth:
        return truth(compare("<", self.index.value, self.length()))

    def next(self) -> Any:
        index = self.index.value
        self.index.value = index + 1
        return self.item(index)

    def _known_items(self) -> list[Any]:
        items = []
        while self.has_next() is True:
            items.append(self.next())
        return items


class ListCursor(_Indexed):
    """Over a list, which the loop may change meanwhile."""

    def __init__(self, container: Any) -> None:
        super().__init__()
        self.container = container

    def length(self) -> Any:
        return container_length(self.container)

    def item(self, index: Any) -> Any:
        return get_item(self.container, index)

    def known_items(self) -> list[Any] | None:
        known = isinstance(contents(self.container), list) and not is_runtime(self.index.value)
        return self._known_items() if known else None


class DequeCursor(ListCursor):
    """Over a deque of run-time length, which must keep its length meanwhile."""

    def __init__(self, container: Any) -> None:
        super().__init__(container)
        self.count = container_length(container)

    def has_next(self) -> Truth:
        changed = truth(compare("!=", self.count, container_length(self.container)))
        stop_if(tf.convert_to_tensor(changed), _changed_size(self.container))
        return super().has_next()


class TableCursor(_Indexed):
    """Over a dict under run-time keys, or a view of it; the dict must keep its size meanwhile."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__()
        self.owner = owner
        self.name = name
        self.count = container_length(owner)

    def length(self) -> Any:
        return self.count

    def has_next(self) -> Truth:
        changed = truth(compare("!=", self.count, container_length(self.owner)))
        stop_if(tf.convert_to_tensor(changed), _changed_size(self.owner))
        return super().has_next()

    def item(self, index: Any) -> Any:
        return shown_entry(self.owner, index, self.name)


class ReversedCursor(_Indexed):
    """Over a list of run-time length from its end; it ends where the index leaves the list."""

    def __init__(self, container: Any) -> None:
        super().__init__(container_length(container) - 1)
        self.container = container

    def has_next(self) -> Truth:
        inside = tf.logical_and(truth(compare(">=", self.index.value, 0)), truth(compare("<", self.index.value, self.length())))
        return tf.convert_to_tensor(inside)

    def length(self) -> Any:
        return container_length(self.container)

    def next(self) -> Any:
        index = self.index.value
        self.index.value = index - 1
        return get_item(self.container, index)


class TensorCursor(_Indexed):
    """Over the first axis of a tensor, by a TensorList, whose gradient is linear in the length."""

    def __init__(self, tensor: tf.Tensor) -> None:
        super().__init__(tf.constant(0))
        self.tensor = tensor
        self.shape = tensor.shape[1:]
        known = self.shape.as_list() if self.shape.is_fully_defined() else tf.shape(tensor)[1:]
        self.items = tf.raw_ops.TensorListFromTensor(tensor=tensor, element_shape=tf.cast(known, tf.int32))

    def length(self) -> Any:
        static = self.tensor.shape[0]
        return tf.shape(self.tensor)[0] if static is None else tf.constant(static)

    def item(self, index: Any) -> Any:
        known = self.shape.as_list() if self.shape.is_fully_defined() else -1
        item = tf.raw_ops.TensorListGetItem(input_handle=self.items, index=index, element_shape=known, element_dtype=self.tensor.dtype)
        item.set_shape(self.shape)
        return item

    def known_items(self) -> list[Any] | None:
        count = self.tensor.shape[0]
        return None if count is None or count > MAX_UNROLLED else list(tf.unstack(self.tensor))


class RaggedCursor(_Indexed):
    """Over the rows of a ragged tensor."""

    def __init__(self, ragged: tf.RaggedTensor) -> None:
        super().__init__(tf.constant(0, ragged.row_splits.dtype))
        self.ragged = ragged

    def length(self) -> Any:
        return self.ragged.nrows()

    def item(self, index: Any) -> Any:
        return self.ragged[index]


class RunRange(StandIn):
    """``range`` with a bound that only the run knows."""

    what = "a range of run-time length"

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step


class RangeCursor(Cursor):
    """Over Python ints, from `start` by `step` up to `stop`."""

    def __init__(self, bounds: RunRange | range) -> None:
        self.bounds = bounds
        self.index = Box(bounds.start)
        self.boxes = (self.index,)

    def has_next(self) -> Truth:
        return truth(compare("<" if self.bounds.step > 0 else ">", self.index.value, self.bounds.stop))

    def next(self) -> Any:
        value = self.index.value
        self.index.value = value + self.bounds.step
        return value

    def known_items(self) -> list[Any] | None:
        if any(is_runtime(bound) for bound in (self.bounds.start, self.bounds.stop, self.index.value)):
            return None
        return list(range(self.index.value, self.bounds.stop, self.bounds.step))


class ZipCursor(Cursor):
    """Over several cursors at once, until the first ends."""

    def __init__(self, cursors: Sequence[Cursor]) -> None:
        self.cursors = cursors
        self.boxes = [box for cursor in cursors for box in cursor.boxes]

    def has_next(self) -> Truth:
        return _all([cursor.has_next for cursor in self.cursors])

    def next(self) -> Any:
        items = tuple(certain(cursor.next()) for cursor in self.cursors)
        if any(item is SKIP for item in items):
            fall_back(NeedsValue, "zip() of items that a condition leaves out")
        return items

    def known_items(self) -> list[Any] | None:
        columns = [cursor.known_items() for cursor in self.cursors]
        return None if any(column is None for column in columns) else list(zip(*columns, strict=False))


def certain(item: Any) -> Any:
    """An item of a cursor, or SKIP; falls back where only the run knows which of the two."""
    if isinstance(item, Union) and any(one is SKIP for one in item.alternatives):
        fall_back(NeedsValue, "which items a condition leaves out is known only when the graph runs")
    return item


def _all(tests: list[Callable[[], Truth]]) -> Truth:
    if not tests:
        return False
    first = tests[0]()
    if len(tests) == 1 or first is False:
        return first
    rest = _all(tests[1:])
    if isinstance(first, bool):
        return rest
    return first if rest is True else tf.logical_and(first, rest)


class EnumerateCursor(Cursor):
    """Items with their numbers."""

    def __init__(self, cursor: Cursor, start: Any) -> None:
        self.cursor = cursor
        self.number = Box(start)
        self.boxes = (self.number, *cursor.boxes)

    def has_next(self) -> Truth:
        return self.cursor.has_next()

    def next(self) -> Any:
        item = certain(self.cursor.next())
        if item is SKIP:
            return SKIP
        number = self.number.value
        self.number.value = number + 1
        return number, item

    def known_items(self) -> list[Any] | None:
        items = self.cursor.known_items()
        return None if items is None else [(self.number.value + i, item) for i, item in enumerate(items)]


class MapCursor(Cursor):
    """A function of each item of a cursor; the function may answer SKIP."""

    def __init__(self, function: Callable[[Any], Any], cursor: Cursor) -> None:
        self.function = function
        self.cursor = cursor
        self.boxes = cursor.boxes

    def has_next(self) -> Truth:
        return self.cursor.has_next()

    def next(self) -> Any:
        item = certain(self.cursor.next())
        return item if item is SKIP else self.function(item)

    def known_items(self) -> list[Any] | None:
        items = self.cursor.known_items()
        if items is None:
            return None
        found = [certain(self.function(item)) for item in items]
        return [item for item in found if item is not SKIP]


class DatasetCursor(Cursor):
    """Over a `tf.data` iterator: the next element is fetched when it is asked for."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator
        self.element = Box()
        self.boxes = (self.element,)

    def has_next(self) -> Truth:
        self.element.value = self.iterator.get_next_as_optional()
        return self.element.value.has_value()

    def next(self) -> Any:
        element = self.element.value
        if isinstance(element, Union):  # of an earlier loop, or of this one
            element = over(element, lambda one: raise_error(StopIteration()) if one is None else one)
        return element.get_value()


class GeneratorValue(StandIn):
    """A generator expression: its items are computed when they are asked for, once."""

    def __iter__(self) -> Iterator[Any]:
        return iter(cursor_of(self))

    def __init__(self, iterable: Any, step: Callable[[Any], Any]) -> None:
        self.iterable = iterable
        self.step = step


def cursor_of(value: Any) -> Cursor:
    """A cursor at the start of an iteration over `value`."""
    if isinstance(value, Cursor):
        return value
    if isinstance(value, GeneratorValue):
        return MapCursor(value.step, cursor_of(value.iterable))
    if isinstance(value, GeneratorCall):
        return value.refuse()
    if isinstance(value, StaticIterator):
        return IteratorCursor(value)
    if isinstance(value, RunRange):
        return RangeCursor(value)
    if isinstance(value, range):
        return RangeCursor(value)
    if is_container(value):
        return _container_cursor(value)
    if isinstance(value, DictView):
        if isinstance(value.found(), Table):
            return TableCursor(value.owner, value.name)
        return cursor_of(value.listed()) if isinstance(value.found(), Union) else ViewCursor(value.owner, value.name)
    if isinstance(value, Union):
        items = _drained_union(value)
        return StaticCursor(items) if items is not None else _no_cursor(value)
    if listed(value) is not None:
        return ListCursor(listed(value))
    if isinstance(value, (PyNumber, Deferred)):
        return _no_cursor(value)
    return _object_cursor(value)


def _no_cursor(value: Any) -> Cursor:
    if isinstance(value, PyNumber):
        raise_error(TypeError(f"'{value.kind}' object is not iterable"))
    return fall_back(NeedsValue, "iteration over one of several sequences of differing or unknown length")


def _container_cursor(value: Any) -> Cursor:
    if isinstance(value, list):
        return ListCursor(value)
    found = contents(value)
    if isinstance(found, Growable):
        return DequeCursor(value)
    if isinstance(found, Table) and isinstance(value, dict):
        return TableCursor(value, "keys")
    if isinstance(found, Table):
        return fall_back(NeedsValue, "iteration over a set whose elements only the run knows")
    if isinstance(found, Union):
        return fall_back(NeedsValue, f"iteration over a {type(value).__name__} of run-time contents")
    return ContainerCursor(value, found)


def _object_cursor(value: Any) -> Cursor:
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return _tensor_cursor(tf.convert_to_tensor(value))
    if isinstance(value, tf.RaggedTensor):
        return RaggedCursor(value)
    if isinstance(value, tf.data.Dataset):
        return DatasetCursor(iter(value))
    if isinstance(value, tf.data.Iterator):
        return DatasetCursor(value)
    if isinstance(value, tf.TensorShape):
        return StaticCursor(_dimensions(value))
    method = getattr(type(value), "__iter__", None)
    if isinstance(value, (tuple, str, bytes, frozenset, dict)) or _is_fresh_iterator(value):
        return StaticCursor(value)
    if method is None:
        run_operation(iter, value)
    return fall_back(ForeignCall, f"iteration over a {type(value).__name__}")


def _is_fresh_iterator(value: Any) -> bool:
    """An iterator or view that a pure call of this trace made: nobody else can see it being used up."""
    return current().is_born(value) and type(value).__module__ in ("builtins", "itertools", "collections")


def _tensor_cursor(tensor: tf.Tensor) -> Cursor:
    if tensor.shape.rank == 0:
        raise_error(TypeError("Cannot iterate over a scalar tensor."))
    if tensor.shape.rank is None:
        fall_back(NeedsValue, "iteration over a tensor of unknown rank")
    return TensorCursor(tensor)


def reversed_cursor(value: Any) -> Cursor:
    """A cursor from the end to the start."""
    if isinstance(value, range):
        return RangeCursor(value[::-1])
    if isinstance(value, Union):
        return StaticCursor(reversed(drained(value) or fall_back(NeedsValue, f"reversed() of {value!r}")))
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return cursor_of(tf.reverse(tf.convert_to_tensor(value), [0]))
    found = contents(value) if is_container(value) else value
    if isinstance(found, Growable):
        return ReversedCursor(value)
    if listed(value) is not None:
        return ReversedCursor(listed(value))
    if isinstance(found, RunRange):
        fall_back(NeedsValue, "reversed() of a range with a run-time bound")
    return StaticCursor(run_operation(reversed, list(found) if isinstance(found, dict) else found))


def drained(value: Any) -> list[Any] | None:
    """All items of an iteration if their number is known while tracing, else None."""
    if isinstance(value, (tf.Tensor, tf.Variable)):
        tensor = tf.convert_to_tensor(value)
        if tensor.shape.rank in (None, 0) or tensor.shape[0] is None:
            return None
        return list(tf.unstack(tensor))
    if isinstance(value, Union):
        return _drained_union(value)
    if isinstance(value, (tuple, range, str, bytes, frozenset)):
        return list(value)
    if isinstance(value, tf.TensorShape):
        return _dimensions(value)
    return cursor_of(value).known_items()


def _drained_union(value: Union) -> list[Any] | None:
    """The items of whichever sequence the run finds, if all are of one known length."""
    lengths = {None if items is None else len(items) for items in map(_items_of_sequence, value.alternatives)}
    if len(lengths) != 1 or None in lengths:
        return None
    return list(over(value, lambda one: tuple(_items_of_sequence(one) or ())))


def _items_of_sequence(value: Any) -> list[Any] | None:
    """The items of a list, tuple or tensor; asking for them has no effect."""
    return drained(value) if isinstance(value, (list, tuple, tf.Tensor)) else None


def _dimensions(shape: tf.TensorShape) -> list[Any]:
    if not shape.is_fully_defined():
        fall_back(NeedsValue, "the static shape of a tensor whose shape only the run knows")
    return list(shape)
