"""From anything a ``for`` may run over to a cursor, or to all its items."""
from __future__ import annotations

import enum
import functools
import operator as python
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import number_of, over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.container_cursors import ContainerCursor, DequeCursor, ListCursor, ReversedCursor, TableCursor, ViewCursor
from imp2tf.containers import append, listed, new_list
from imp2tf.cursors import (
    Cursor,
    DatasetCursor,
    IteratorCursor,
    MapCursor,
    RaggedCursor,
    RangeCursor,
    RunRange,
    StaticCursor,
    StaticIterator,
    TensorCursor,
)
from imp2tf.dict_views import DictView
from imp2tf.endless import Endless, EndlessCursor
from imp2tf.errors import ForeignCall, NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.forcing import computed, example_or_none, kept_class, kept_kind, tensor_of, words_of
from imp2tf.heap import contents
from imp2tf.kinds import is_container, is_users_iterable
from imp2tf.object_fields import FieldsOf
from imp2tf.places import Attribute
from imp2tf.purity import is_numpy_function
from imp2tf.refusals import as_eager, eager_error
from imp2tf.session import current, out_of_text
from imp2tf.values import (
    NUMBER_DTYPES,
    Deferred,
    GeneratorCall,
    Growable,
    PyNumber,
    StandIn,
    Table,
    Union,
    call_method,
    is_runtime,
    numpy_value,
)

MOST_LISTED = 32
LISTED_KINDS = {
    tf.int8: "int", tf.int16: "int", tf.int32: "int", tf.int64: "int", tf.uint8: "int", tf.uint16: "int", tf.uint32: "int",
    tf.float16: "float", tf.float32: "float", tf.float64: "float", tf.bool: "bool",
}  # what numbers of an array become in a list

__all__ = ["GeneratorValue", "cursor_of", "drained", "items_of_array", "refuse_without_items", "reversed_cursor"]


class GeneratorValue(StandIn):
    """A generator expression: its items are computed when they are asked for, once."""

    def __iter__(self) -> Iterator[Any]:
        return iter(cursor_of(self))

    what = "a generator expression"

    def __init__(self, iterable: Any, step: Callable[[Any], Any], filters: bool = False) -> None:
        self.iterable = iterable
        self.step = step if current().in_text else _out_of_text(step)
        self.filters = filters  # whether the step may answer SKIP
        self.begun: Any = False

    def opened(self) -> GeneratorValue:
        """Itself, at the start of the only use of its items that the trace follows."""
        if self.begun is not False:
            fall_back(UnsupportedSyntax, "a generator expression is used that may have been used before")
        current().write(Attribute(self, "begun"), True)
        return self


def _out_of_text(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def taken(item: Any) -> Any:
        with out_of_text():
            return step(item)

    return taken


def cursor_of(value: Any) -> Cursor:
    """A cursor at the start of an iteration over `value`."""
    if isinstance(value, Cursor):
        return value
    if isinstance(value, GeneratorValue):
        return MapCursor(value.opened().step, cursor_of(value.iterable), value.filters)
    if isinstance(value, GeneratorCall):
        return value.refuse()
    if isinstance(value, StaticIterator):
        return IteratorCursor(value)
    if isinstance(value, FieldsOf):
        return cursor_of(value.fields())
    if isinstance(value, Endless):
        return EndlessCursor(value)
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
    if isinstance(value, Deferred):
        items = items_of_array(value)
        if items is not None:
            return StaticCursor(items)
        cursor = _array_cursor(value) or _no_cursor(value)
        cursor.of_array = True
        return cursor
    return _no_cursor(value) if isinstance(value, PyNumber) else _object_cursor(value)


def _tensor_of_array(value: Deferred) -> tuple[tf.Tensor, bool] | None:
    """The tensor that is made an array, or an array as a list, and which of the two. Rows have tensors as well."""
    if value.function is python.getitem and type(value.args[1]) is int and isinstance(value.args[0], Deferred):
        whole = _tensor_of_array(value.args[0])
        sure = whole is not None and (whole[0].shape.rank or 0) > 1 and 0 <= value.args[1] < (whole[0].shape[0] or 0)
        return (whole[0][value.args[1]], whole[1]) if whole is not None and sure else None
    as_list = value.function is call_method and value.args[1:] == ("tolist",) and isinstance(value.args[0], Deferred)
    array = value.args[0] if as_list else value
    return (array.args[0], as_list) if array.function is numpy_value else None


def _array_cursor(value: Deferred) -> Cursor | None:
    """Over the array that a tensor becomes, or over that array as a list."""
    if kept_class(value) is np.ndarray:
        return _kept_cursor(value)
    found = _tensor_of_array(value)
    if found is None:
        return _computed_cursor(value)
    tensor, as_list = found
    if tensor.shape.rank == 0:
        example = np.zeros([], tensor.dtype.as_numpy_dtype)[()]
        raise_error(eager_error(iter, example.tolist() if as_list else example))
    if tensor.shape.rank == 1:
        kind = LISTED_KINDS.get(tensor.dtype) if as_list else None
        if kind is not None:
            return MapCursor(functools.partial(PyNumber, kind), TensorCursor(tf.cast(tf.stop_gradient(tensor), NUMBER_DTYPES[kind])))
        return MapCursor(_numpy_scalar, TensorCursor(tensor)) if not as_list or tensor.dtype == tf.string else None
    if tensor.shape.rank is None or tensor.shape[0] is None:
        return None
    return MapCursor(lambda index: computed(python.getitem, (value, index)), RangeCursor(range(tensor.shape[0])))


def _kept_cursor(value: Deferred) -> Cursor | None:
    """Over an array that the run keeps: each item is looked up when the loop gets there."""
    kind = kept_kind(value)
    if kind is None or not kind.rank:
        return None
    bounds = RunRange(0, number_of(len, value), 1) if kind.dims is None else range(kind.dims[0])
    return MapCursor(lambda index: computed(python.getitem, (value, index)), RangeCursor(bounds))


def _computed_cursor(value: Deferred) -> Cursor | None:
    """Over a vector that a function of NumPy gives and that nobody changes, or over the parts of text."""
    words = words_of(value)
    if words is not None:
        return MapCursor(_decoded, TensorCursor(words))
    example = example_or_none(value)
    if not isinstance(example, np.ndarray) or example.ndim != 1 or example.dtype.kind not in "biuf":
        return None
    return MapCursor(_numpy_scalar, TensorCursor(tensor_of(value)))


def items_of_array(value: Deferred) -> list[Any] | None:
    """The items that ``list`` makes of an array, or of several that a function of NumPy gives, if they are known to be few."""
    if _gives_several(value):
        return [computed(python.getitem, (value, place)) for place in range(len(value.example))]
    found = _tensor_of_array(value)
    shape = found[0].shape if found is not None else tf.TensorShape(None)
    kept = kept_kind(value)
    if kept is not None:
        shape = tf.TensorShape(kept.dims)
    if shape.rank is None or (shape.rank > 0 and (shape[0] or MOST_LISTED + 1) > MOST_LISTED):
        return None
    cursor = _array_cursor(value)
    return cursor.known_items() if cursor is not None else None


def _gives_several(value: Deferred) -> bool:
    """Whether a function gives a tuple or list of arrays: of how many depends on no value, only on what kind of value it is given."""
    return is_numpy_function(value.function) and isinstance(example_or_none(value), (tuple, list))


def _numpy_scalar(item: tf.Tensor) -> Deferred:
    return Deferred(numpy_value, (item,))


def _decoded(item: tf.Tensor) -> Deferred:
    return Deferred(call_method, (_numpy_scalar(item), "decode"))


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
    if method is enum.EnumMeta.__iter__:
        return StaticCursor(tuple(value))
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
    if isinstance(value, (Deferred, Union)):
        return StaticCursor(reversed(drained(value) or fall_back(NeedsValue, f"reversed() of {value!r}")))
    if isinstance(value, (tf.Tensor, tf.Variable)):
        if isinstance(value, tf.Variable) or value.shape.rank == 0:
            raise_error(eager_error(lambda: reversed(value if isinstance(value, tf.Variable) else tf.zeros([], value.dtype))))
        return cursor_of(tf.reverse(tf.convert_to_tensor(value), [0]))
    found = contents(value) if is_container(value) else value
    if isinstance(found, Growable):
        return ReversedCursor(value)
    if listed(value) is not None:
        return ReversedCursor(listed(value))
    if isinstance(found, RunRange):
        return RangeCursor(_backwards(found))
    return StaticCursor(run_operation(reversed, list(found) if isinstance(found, dict) else found))


def _backwards(bounds: RunRange) -> RunRange:
    """A range from its last item to its first; of one without items, one without items."""
    start, step = bounds.start, bounds.step
    after = (bounds.stop - start + step - (1 if step > 0 else -1)) // step  # how many items, if any
    return RunRange(start + (after - 1) * step, start - step, -step)


def refuse_without_items(value: Any, asked: Callable[..., Any] | None = None, *given: Any) -> None:
    """Raise what Python raises where a star stands before what has no items; `asked` is the call in which it stands."""
    cls = type(value)
    if isinstance(value, PyNumber) or value is None or not (
            is_runtime(value) or cls.__module__.startswith("imp2tf.") or hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")):
        raise_error(eager_error(asked or _in_display, *given, as_eager(value)))


def _in_display(value: Any) -> Any:
    return [*value]


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
    return _made_by_user(value) if is_users_iterable(value) else cursor_of(value).known_items()


def _made_by_user(value: Any) -> list[Any]:
    made = new_list([])
    current().run.each(value, lambda item: append(made, item))
    found = contents(made)
    return found if isinstance(found, list) else fall_back(NeedsValue, f"items of a {type(value).__name__}, of run-time length")


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
