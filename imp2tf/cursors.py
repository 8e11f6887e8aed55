"""Cursors: positions in an iteration, over anything but containers.

A `Cursor` answers whether there is a next item (a Python bool, or a bool tensor) and gives it. What it keeps between items is
in its `boxes`, which a loop carries like the program's variables; zip, enumerate and map are cursors over cursors.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import tensorflow as tf

from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import compare
from imp2tf.container_items import item_within
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import view
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.states import Box, Position
from imp2tf.values import SKIP, StandIn, Union, is_runtime

__all__ = [
    "Cursor", "DatasetCursor", "EnumerateCursor", "IndexedCursor", "IteratorCursor", "MapCursor", "RaggedCursor", "RangeCursor",
    "RunRange", "StaticCursor", "StaticIterator", "TensorCursor", "Truth", "ZipCursor", "certain",
]

Truth = Any
MAX_UNROLLED = 256


class Cursor(StandIn):
    """A position in an iteration."""

    boxes: Sequence[Box] = ()
    is_shared = False  # whether it is at the position of an iterator that the program holds
    of_array = False  # whether items are those of an array that a tensor has become

    @property
    def most(self) -> int | None:
        """A number that there are no more items than, if one is known while tracing."""
        return None

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
        self.index = Position(0)
        self.boxes = (self.index,)

    def has_next(self) -> Truth:
        return truth(compare("<", self.index.value, len(self.items)))

    def next(self) -> Any:
        index = self.index.value
        self.index.value = index + 1
        return item_within(current().born(list(self.items)), index) if is_runtime(index) else self.items[index]

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

    is_shared = True

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


class IndexedCursor(Cursor):
    """Over something with a length and an item at each index."""

    def __init__(self, start: Any = 0) -> None:
        self.index = Position(start)
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


class TensorCursor(IndexedCursor):
    """Over the first axis of a tensor, by a TensorList, whose gradient is linear in the length."""

    def __init__(self, tensor: tf.Tensor) -> None:
        super().__init__(tf.constant(0))
        self.tensor = tensor
        self.shape = tensor.shape[1:]
        known = self.shape.as_list() if self.shape.is_fully_defined() else tf.shape(tensor)[1:]
        self.items = tf.raw_ops.TensorListFromTensor(tensor=tensor, element_shape=tf.cast(known, tf.int32))

    @property
    def most(self) -> int | None:
        return cast("int | None", self.tensor.shape[0])

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


class RaggedCursor(IndexedCursor):
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

    def __hash__(self) -> int:
        self.refuse()


class RangeCursor(Cursor):
    """Over Python ints, from `start` by `step` up to `stop`."""

    def __init__(self, bounds: RunRange | range) -> None:
        self.bounds = bounds
        self.index = Position(bounds.start)
        self.boxes = (self.index,)

    def has_next(self) -> Truth:
        return truth(compare("<" if self.bounds.step > 0 else ">", self.index.value, self.bounds.stop))

    def next(self) -> Any:
        value = self.index.value
        self.index.value = value + self.bounds.step
        return value

    def turns_left(self) -> int:
        """How many items are to come, if that is known while tracing, else 0."""
        known = isinstance(self.bounds, range) and not is_runtime(self.index.value)
        return len(range(self.index.value, self.bounds.stop, self.bounds.step)) if known else 0

    def known_items(self) -> list[Any] | None:
        if any(is_runtime(bound) for bound in (self.bounds.start, self.bounds.stop, self.index.value)):
            return None
        return list(range(self.index.value, self.bounds.stop, self.bounds.step))


class ZipCursor(Cursor):
    """Over several cursors at once, until the first ends.

    Iterators that the program holds, and such as are given twice, give their items as in Python: one after the other, and those
    before the one that ends are lost.
    """

    def __init__(self, cursors: Sequence[Cursor]) -> None:
        self.cursors = cursors
        self.boxes = [box for cursor in cursors for box in cursor.boxes]
        self.of_array = any(cursor.of_array for cursor in cursors)
        self.is_shared = any(cursor.is_shared for cursor in cursors) or len({id(cursor) for cursor in cursors}) < len(cursors)
        self._fetched: tuple[Any, ...] | None = None

    @property
    def most(self) -> int | None:
        return min((cursor.most for cursor in self.cursors if cursor.most is not None), default=None)

    def has_next(self) -> Truth:
        if not self.is_shared:
            return _all([cursor.has_next for cursor in self.cursors])
        if self._fetched is None:
            self._fetched = self._fetch()
        return self._fetched is not None

    def _fetch(self) -> tuple[Any, ...] | None:
        items = []
        for cursor in self.cursors:
            more = cursor.has_next()
            if not isinstance(more, bool):
                fall_back(NeedsValue, "zip() of an iterator whose position only the run knows")
            if not more:
                return None
            items.append(certain(cursor.next()))
        return tuple(items)

    def next(self) -> Any:
        fetched, self._fetched = self._fetched, None
        items = fetched or tuple(certain(cursor.next()) for cursor in self.cursors)
        if any(item is SKIP for item in items):
            fall_back(NeedsValue, "zip() of items that a condition leaves out")
        return items

    def known_items(self) -> list[Any] | None:
        if self.is_shared:
            items = []
            while self.has_next():
                items.append(self.next())
            return items
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
        self.number = Position(start)
        self.boxes = (self.number, *cursor.boxes)
        self.is_shared, self.of_array = cursor.is_shared, cursor.of_array

    @property
    def most(self) -> int | None:
        return self.cursor.most

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

    def __init__(self, function: Callable[[Any], Any], cursor: Cursor, filters: bool = False) -> None:
        self.function = function
        self.cursor = cursor
        self.is_shared, self.of_array = cursor.is_shared, cursor.of_array
        self.filters: bool = filters or (isinstance(cursor, MapCursor) and cursor.filters)
        self.boxes = cursor.boxes

    @property
    def most(self) -> int | None:
        return self.cursor.most

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
