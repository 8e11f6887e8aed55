"""Python's builtin functions on tensors, run-time numbers and values of several kinds.

    len(xs)  range(n)  zip(a, b)  int(t)  isinstance(v, int) ...   -->   the same, returning what eager would have returned
"""
from __future__ import annotations

import builtins
import functools
from typing import Any

import tensorflow as tf

from imp2tf import attributes
from imp2tf.alternatives import over, raise_error, truth
from imp2tf.arithmetic import as_number, in_int_range, run_operation
from imp2tf.calls import call, replace_call
from imp2tf.containers import append, container_length, new, new_list, static
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.foreign import numpy_value
from imp2tf.heap import contents, is_container, is_user_function
from imp2tf.iteration import (
    Cursor,
    EnumerateCursor,
    GeneratorValue,
    IteratorCursor,
    MapCursor,
    RunRange,
    StaticCursor,
    StaticIterator,
    ZipCursor,
    certain,
    cursor_of,
    drained,
    reversed_cursor,
)
from imp2tf.loops import run_for
from imp2tf.operations import binary_operation, compare_operation, truth_as_number, truth_of
from imp2tf.region import NO_STATE, Box, State, select, stop_if
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.user_iterators import user_cursor
from imp2tf.values import NUMBER_TYPES, SKIP, Deferred, PyNumber, Union, is_runtime, number_kind

MISSING = object()


# ------------------------------------------------------------------------------------------------ conversions
def _number_of(kind: str, value: Any) -> Any:
    """``int(value)`` and the like, for one value."""
    if isinstance(value, Union):
        return over(value, lambda one: _number_of(kind, one))
    if isinstance(value, Deferred):
        if value.function is numpy_value:
            return _number_of(kind, value.args[0])
        return fall_back(NeedsValue, f"{kind}() of {value!r}")
    if isinstance(value, PyNumber):
        return _convert_number(kind, value)
    if isinstance(value, tf.Variable):
        value = tf.convert_to_tensor(value)
    if is_symbolic_tensor(value):
        return _convert_number(kind, _scalar_number(value))
    dunder = getattr(type(value), f"__{kind}__", None)
    if is_user_function(dunder):
        return call(dunder, value)
    return run_operation(NUMBER_TYPES[kind], value)


def _scalar_number(value: tf.Tensor) -> PyNumber:
    if value.shape.rank != 0:
        fall_back(NeedsValue, "a Python number of a tensor that may have several elements")
    if value.dtype == tf.bool:
        return PyNumber("bool", value)
    if value.dtype.is_floating:
        return PyNumber("float", tf.cast(value, tf.float64))
    if value.dtype.is_integer:
        return PyNumber("int", tf.cast(value, tf.int64))
    return fall_back(NeedsValue, f"a Python number of a {value.dtype.name} tensor")


def _convert_number(kind: str, value: PyNumber) -> PyNumber:
    if kind == "bool":
        return PyNumber("bool", truth(value))
    if kind == "int" and value.kind == "float":
        stop_if(tf.math.is_nan(value.tensor), ValueError("cannot convert float NaN to integer"))
        stop_if(tf.math.is_inf(value.tensor), OverflowError("cannot convert float infinity to integer"))
        return PyNumber("int", in_int_range(value.tensor, as_number(value, "int")))
    return PyNumber(kind, as_number(value, kind))


@replace_call(int)
def int_(value: Any = 0, *base: Any, **kwargs: Any) -> Any:
    """``int(value)``."""
    return run_operation(int, value, *base, **kwargs) if base or kwargs else _number_of("int", value)


@replace_call(float)
def float_(value: Any = 0.0) -> Any:
    """``float(value)``."""
    return _number_of("float", value)


@replace_call(bool)
def bool_(value: Any = False) -> Any:
    """``bool(value)``."""
    return truth_as_number(value)


# ------------------------------------------------------------------------------------------------ numbers
@replace_call(abs)
def abs_(value: Any) -> Any:
    """``abs(value)``."""
    if isinstance(value, Union):
        return over(value, abs_)
    if isinstance(value, PyNumber):
        kind = "int" if value.kind == "bool" else value.kind
        return PyNumber(kind, tf.abs(as_number(value, kind)))
    dunder = getattr(type(value), "__abs__", None)
    return call(dunder, value) if is_user_function(dunder) else run_operation(abs, value)


@replace_call(round)
def round_(value: Any, digits: Any = None) -> Any:
    """``round(value, digits)``; text-like rounding to digits is done after the run."""
    if isinstance(value, Union):
        return over(value, lambda one: round_(one, digits))
    if not isinstance(value, PyNumber):
        return run_operation(round, value) if digits is None else run_operation(round, value, digits)
    if value.kind != "float" and digits is None:
        return PyNumber("int", as_number(value, "int"))
    if digits is None:
        return _convert_number("int", PyNumber("float", tf.round(value.tensor)))
    return Deferred(round, (value, digits))


@replace_call(pow)
def pow_(base: Any, exponent: Any, *modulus: Any) -> Any:
    """``pow(base, exponent)``."""
    return run_operation(pow, base, exponent, *modulus) if modulus else binary_operation("**", base, exponent)


@replace_call(divmod)
def divmod_(a: Any, b: Any) -> Any:
    """``divmod(a, b)``."""
    return binary_operation("//", a, b), binary_operation("%", a, b)


# ------------------------------------------------------------------------------------------------ sizes and kinds
@replace_call(len)
def len_(value: Any) -> Any:
    """``len(value)``."""
    if isinstance(value, Union):
        return over(value, len_)
    if is_container(value):
        return container_length(value)
    method = getattr(type(value), "__len__", None)
    if is_user_function(method):
        return call(method, value)
    if is_symbolic_tensor(value):
        if value.shape.rank is None:
            fall_back(NeedsValue, "len() of a tensor of unknown rank")
        if value.shape.rank and value.shape[0] is None:
            return PyNumber("int", tf.shape(value, out_type=tf.int64)[0])
        if value.shape.rank:
            return value.shape[0]
        return raise_error(TypeError("Scalar tensor has no `len()`"))
    if isinstance(value, PyNumber):
        return raise_error(TypeError(f"object of type '{value.kind}' has no len()"))
    if isinstance(value, Deferred):
        return fall_back(NeedsValue, f"len() of {value!r}")
    return run_operation(len, value)


@replace_call(isinstance)
def isinstance_(value: Any, cls: Any) -> Any:
    """``isinstance(value, cls)``."""
    if isinstance(value, Union):
        return over(value, lambda one: isinstance_(one, cls))
    if isinstance(value, PyNumber):
        return issubclass(NUMBER_TYPES[value.kind], cls)
    if isinstance(value, Deferred):
        return fall_back(NeedsValue, f"isinstance() of {value!r}")
    return run_operation(isinstance, value, cls)


@replace_call(type)
def type_(value: Any, *rest: Any, **kwargs: Any) -> Any:
    """``type(value)``."""
    if rest or kwargs:
        return fall_back(ForeignCall, "type() makes a class")
    if isinstance(value, Union):
        return over(value, type_)
    if is_symbolic_tensor(value):
        return fall_back(NeedsValue, "type() of a tensor")
    return NUMBER_TYPES[value.kind] if isinstance(value, PyNumber) else type(value)


@replace_call(getattr)
def getattr_(owner: Any, name: str, *default: Any) -> Any:
    """``getattr(owner, name, default)``."""
    return attributes.get_attribute(owner, name, *default)


@replace_call(setattr)
def setattr_(owner: Any, name: str, value: Any) -> None:
    """``setattr(owner, name, value)``."""
    attributes.set_attribute(owner, name, value)


@replace_call(delattr)
def delattr_(owner: Any, name: str) -> None:
    """``delattr(owner, name)``."""
    attributes.delete_attribute(owner, name)


@replace_call(hasattr)
def hasattr_(owner: Any, name: str) -> Any:
    """``hasattr(owner, name)``."""
    return attributes.has_attribute(owner, name)


@replace_call(tf.executing_eagerly)
def executing_eagerly_() -> bool:
    """The program is an eager one."""
    return True


@replace_call(callable)
def callable_(value: Any) -> Any:
    """``callable(value)``."""
    return over(value, callable_) if isinstance(value, Union) else callable(value)


# ------------------------------------------------------------------------------------------------ iteration
@replace_call(range)
def range_(*bounds: Any) -> Any:
    """``range(...)``, which may end where only the run knows."""
    if any(isinstance(bound, Union) for bound in bounds):
        place = next(i for i, bound in enumerate(bounds) if isinstance(bound, Union))
        return over(bounds[place], lambda one: range_(*bounds[:place], one, *bounds[place + 1:]))
    if not any(is_runtime(bound) for bound in bounds):
        return run_operation(range, *bounds)
    numbers = [_index_number(bound) for bound in bounds]
    start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if not isinstance(step, int):
        fall_back(NeedsValue, "a range with a run-time step")
    return RunRange(start, stop, step)


def _index_number(bound: Any) -> Any:
    if is_symbolic_tensor(bound):
        if not bound.dtype.is_integer:
            raise_error(
                TypeError(
                    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) "
                    "and scalar tf.int32/tf.int64 tensors are valid indices"
                )
            )
        return _number_of("int", bound)
    if isinstance(bound, PyNumber) and bound.kind == "float":
        return raise_error(TypeError("'float' object cannot be interpreted as an integer"))
    return bound


def cursor(value: Any) -> Cursor:
    """A cursor over any iterable."""
    return user_cursor(value) or cursor_of(value)


@replace_call(zip)
def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip(...)``."""
    if strict:
        fall_back(ForeignCall, "zip(strict=True)")
    return new(ZipCursor([cursor(one) for one in iterables]))


@replace_call(enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate(...)``."""
    return new(EnumerateCursor(cursor(iterable), start))


@replace_call(map)
def map_(function: Any, *iterables: Any) -> Any:
    """``map(...)``."""
    if len(iterables) == 1:
        return new(MapCursor(functools.partial(call, function), cursor(iterables[0])))
    return new(MapCursor(lambda items: call(function, *items), ZipCursor([cursor(one) for one in iterables])))


@replace_call(filter)
def filter_(function: Any, iterable: Any) -> Any:
    """``filter(...)``."""

    def kept(item: Any) -> Any:
        holds = truth_of(item if function is None else call(function, item))
        if isinstance(holds, bool):
            return item if holds else SKIP
        return select(holds, lambda: item, lambda: SKIP)

    return new(MapCursor(kept, cursor(iterable)))


@replace_call(reversed)
def reversed_(value: Any) -> Any:
    """``reversed(...)``."""
    method = getattr(type(value), "__reversed__", None)
    return call(method, value) if is_user_function(method) else new(reversed_cursor(value))


def known_items(value: Any, what: str) -> list[Any]:
    """All items, which must be known while tracing."""
    user = user_cursor(value)
    items = drained(user if user is not None else value)
    if items is None:
        return fall_back(NeedsValue, f"{what} of a run-time length")
    return items


def each(value: Any, visit: Any, state: State = NO_STATE) -> None:
    """Visit all items, of whatever number."""
    run_for(cursor(value), visit, None, state, None, visit.__code__)


@replace_call(list)
def list_(value: Any = ()) -> Any:
    """``list(...)``."""
    if isinstance(value, Deferred):
        return Deferred(list, (value,))
    if isinstance(value, list):
        return new_list(contents(value))
    items = drained(value) if not isinstance(value, (GeneratorValue, Cursor)) else None
    if items is not None:
        return new_list(items)
    made: list[Any] = new([])
    each(value, lambda item: append(made, item))
    return made


@replace_call(tuple)
def tuple_(value: Any = ()) -> Any:
    """``tuple(...)``."""
    return value if type(value) is tuple else tuple(known_items(value, "tuple()"))


@replace_call(set)
def set_(value: Any = ()) -> Any:
    """``set(...)``."""
    items = known_items(value, "set()")
    if any(is_runtime(item) for item in items):
        fall_back(NeedsValue, "a set of values that only the run knows")
    return new(run_operation(set, items))


@replace_call(dict)
def dict_(*args: Any, **kwargs: Any) -> Any:
    """``dict(...)``."""
    if args and isinstance(args[0], dict):
        items = static(args[0], "dict()")
    else:
        items = [tuple(known_items(pair, "an item")) for pair in known_items(args[0], "dict()")] if args else []
    return new(run_operation(dict, items, **kwargs))


@replace_call(sorted)
def sorted_(iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """``sorted(...)``: a stable insertion sort where the order is decided at run time."""
    items = known_items(iterable, "sorted()")
    keys = [item if key is None else call(key, item) for item in items]
    if not any(is_runtime(one) for one in keys):
        order = run_operation(sorted, range(len(items)), key=keys.__getitem__, reverse=reverse)
        return new_list([items[place] for place in order])
    return new_list(_sorted_at_run_time(items, keys, reverse))


def _sorted_at_run_time(items: list[Any], keys: list[Any], reverse: Any) -> list[Any]:
    pairs = _number_keys(keys)
    if pairs is None or not isinstance(reverse, bool):
        return fall_back(NeedsValue, "sorted() by keys that are no numbers")
    order = tf.argsort(pairs, stable=True, direction="DESCENDING" if reverse else "ASCENDING")
    return [_pick(items, order[place]) for place in range(len(items))]


def _number_keys(keys: list[Any]) -> tf.Tensor | None:
    if all(number_kind(one) for one in keys):
        kind = "float" if any(number_kind(one) == "float" for one in keys) else "int"
        return tf.stack([as_number(one, kind) for one in keys])
    if all(isinstance(one, tf.Tensor) and one.shape.rank == 0 and one.dtype == keys[0].dtype for one in keys):
        return tf.stack(keys)
    return None


def _pick(items: list[Any], position: tf.Tensor) -> Any:
    def at(index: int) -> Any:
        if index == len(items) - 1:
            return items[index]
        return select(tf.equal(position, index), lambda: items[index], lambda: at(index + 1))

    same = all(isinstance(item, tf.Tensor) and item.dtype == items[0].dtype and item.shape == items[0].shape for item in items)
    return tf.gather(tf.stack(items), position) if same else at(0)


# ------------------------------------------------------------------------------------------------ iterators
@replace_call(iter)
def iter_(value: Any, *sentinel: Any) -> Any:
    """``iter(...)``."""
    if sentinel:
        return fall_back(ForeignCall, "iter() with a sentinel")
    if isinstance(value, (tf.data.Dataset, tf.data.Iterator)):
        return iter(value)
    if isinstance(value, Cursor):
        return value
    items = known_items(value, "iter()")
    return new(StaticIterator(items))


@replace_call(next)
def next_(iterator: Any, *default: Any) -> Any:
    """``next(...)``."""
    method = getattr(type(iterator), "__next__", None)
    if isinstance(iterator, tf.data.Iterator):
        return _next_element(iterator, default)
    if isinstance(iterator, StaticIterator):
        return _next_static(iterator, default)
    if is_user_function(method):
        if default:
            fall_back(ForeignCall, "next() with a default on an object with __next__")
        return call(method, iterator)
    return fall_back(ForeignCall, f"next() on a {type(iterator).__name__}")


def _next_static(iterator: StaticIterator, default: tuple[Any, ...]) -> Any:
    cursor = IteratorCursor(iterator)
    if not cursor.has_next():
        return default[0] if default else raise_error(StopIteration())
    return cursor.next()


def _next_element(iterator: Any, default: tuple[Any, ...]) -> Any:
    element = iterator.get_next_as_optional()
    present = element.has_value()
    if default:
        return select(present, element.get_value, lambda: default[0])
    stop_if(tf.logical_not(present), StopIteration())
    return element.get_value()


# ------------------------------------------------------------------------------------------------ reductions
@replace_call(sum)
def sum_(iterable: Any, start: Any = 0) -> Any:
    """``sum(...)``."""
    total = Box(start)

    def add(item: Any) -> None:
        total.value = binary_operation("+", total.value, item)

    items = drained(iterable) if not isinstance(iterable, (GeneratorValue, Cursor)) else None
    each(iterable if items is None else StaticCursor(items), add, NO_STATE.plus(total))
    return total.value


def _extreme(op: str, args: tuple[Any, ...], key: Any, default: Any) -> Any:
    items = known_items(args[0], "min() or max()") if len(args) == 1 else list(args)
    if not items:
        name = "max" if op == ">" else "min"
        return default if default is not MISSING else run_operation(getattr(builtins, name), ())
    best = items[0]
    best_key = best if key is None else call(key, best)
    for item in items[1:]:
        item_key = item if key is None else call(key, item)
        holds = truth_of(compare_operation(op, item_key, best_key))
        if isinstance(holds, bool):
            best, best_key = (item, item_key) if holds else (best, best_key)
        else:
            best, best_key = select(holds, lambda a=item, b=item_key: (a, b), lambda a=best, b=best_key: (a, b))  # type: ignore[misc]
    return best


@replace_call(min)
def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    """``min(...)``."""
    return _extreme("<", args, key, default)


@replace_call(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    """``max(...)``."""
    return _extreme(">", args, key, default)


def _first_that(value: Any, wanted: bool) -> Any:
    """Whether an item's truth is `wanted`; items after the first such are not computed."""
    if isinstance(value, (GeneratorValue, MapCursor)):
        items = drained(value.iterable if isinstance(value, GeneratorValue) else value.cursor)
        step: Any = value.step if isinstance(value, GeneratorValue) else value.function
    else:
        items, step = drained(value), None
    if items is None:
        return fall_back(NeedsValue, "any() or all() of a run-time length")

    def at(index: int) -> Any:
        if index == len(items):
            return not wanted
        item = items[index] if step is None else certain(step(items[index]))
        if item is SKIP:
            return at(index + 1)
        holds = truth_of(item)
        if isinstance(holds, bool):
            return wanted if holds is wanted else at(index + 1)
        if wanted:
            return select(holds, lambda: True, lambda: at(index + 1))
        return select(holds, lambda: at(index + 1), lambda: False)

    return at(0)


@replace_call(any)
def any_(value: Any) -> Any:
    """``any(...)``."""
    return _first_that(value, True)


@replace_call(all)
def all_(value: Any) -> Any:
    """``all(...)``."""
    return _first_that(value, False)


