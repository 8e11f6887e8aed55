"""``sum``, ``min``, ``max``, ``any`` and ``all``: the items that Python would look at, in its order.

    any(v > 2 for v in xs)   -->   conditionals, one in the other; what comes after a hit is not computed
"""
from __future__ import annotations

import operator as python
from typing import Any

import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.calls import call, replace_call
from imp2tf.container_items import get_item
from imp2tf.containers import append, new_list
from imp2tf.cursors import Cursor, MapCursor, StaticCursor, certain
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.generators import Pushed, as_pushed, push
from imp2tf.iterables import cursor as cursor_over
from imp2tf.iterables import each, is_lazy, known_items
from imp2tf.iteration import GeneratorValue, drained
from imp2tf.kinds import is_users_iterable
from imp2tf.loops import LoopParts, run_for, run_loop, visit_item
from imp2tf.operations import binary_operation, compare_operation, truth_of
from imp2tf.region import select, stop_if
from imp2tf.states import NO_STATE, Box
from imp2tf.values import SKIP, python_bool

MISSING = object()


@replace_call(sum)
def sum_(iterable: Any, start: Any = 0) -> Any:
    """``sum(...)``."""
    total = Box(start)

    def add(item: Any) -> None:
        total.value = binary_operation("+", total.value, item)

    items = drained(iterable) if not is_lazy(iterable) and as_pushed(iterable) is None else None
    each(iterable if items is None else StaticCursor(items), add, NO_STATE.plus(total))
    return total.value


def _extreme(op: str, args: tuple[Any, ...], key: Any, default: Any) -> Any:
    if len(args) != 1:
        return _best(op, StaticCursor(args), key)
    if isinstance(args[0], (GeneratorValue, MapCursor)) and args[0].filters:
        return _extreme_of_kept(op, args[0], key, default)
    if as_pushed(args[0]) is not None:
        cursor: Cursor = StaticCursor(known_items(args[0], "min() or max()"))
    else:
        items = drained(args[0]) if not is_lazy(args[0]) else None
        cursor = cursor_over(args[0]) if items is None else StaticCursor(items)
    goes = cursor.has_next()
    if isinstance(goes, bool):
        if goes:
            return _best(op, cursor, key)
        return default if default is not MISSING else raise_error(_empty(op))
    if default is not MISSING:
        return select(goes, lambda: _best(op, cursor, key), lambda: default)
    stop_if(tf.logical_not(goes), _empty(op))
    return _best(op, cursor, key)


def _extreme_of_kept(op: str, value: Any, key: Any, default: Any) -> Any:
    """The same of what conditions leave of an iteration; each item's key is computed when its turn comes."""
    kept: list[Any] = new_list([])
    each(value, lambda item: append(kept, item if key is None else (item, call(key, item))))
    if key is None:
        return _extreme(op, (kept,), None, default)
    missing = MISSING if default is MISSING else (default, None)
    return get_item(_extreme(op, (kept,), python.itemgetter(1), missing), 0)


def _empty(op: str) -> ValueError:
    try:
        (max if op == ">" else min)(())
    except ValueError as error:  # this Python's own wording
        return ValueError(*error.args)
    raise AssertionError("unreachable")


def _best(op: str, cursor: Cursor, key: Any) -> Any:
    """The first of the greatest or least items of a cursor that has one; `compare` decides as Python's ``max`` does."""
    first = certain(cursor.next())
    if first is SKIP:
        fall_back(NeedsValue, "min() or max() of items that a condition leaves out")
    best, best_key = Box(first), Box(first if key is None else call(key, first))

    def visit(item: Any) -> None:
        item_key = item if key is None else call(key, item)
        holds = truth_of(compare_operation(op, item_key, best_key.value))
        if isinstance(holds, bool):
            best.value, best_key.value = (item, item_key) if holds else (best.value, best_key.value)
        else:
            old = best.value, best_key.value
            best.value, best_key.value = select(holds, lambda: (item, item_key), lambda: old)

    run_for(cursor, visit, None, NO_STATE.plus(best).plus(best_key), None, visit.__code__)
    return best.value


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
    pushed = as_pushed(value)
    if pushed is not None:
        return _first_pushed(pushed, wanted)
    if isinstance(value, GeneratorValue):
        items, step = drained(value.opened().iterable), value.step
        value = MapCursor(step, cursor_over(value.iterable)) if items is None else value
    elif isinstance(value, MapCursor):
        items, step = drained(value.cursor), value.function
    else:
        items, step = None if is_users_iterable(value) else drained(value), None
    if items is None:
        return _first_of_many(value, wanted)

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


def _first_of_many(value: Any, wanted: bool) -> Any:
    """As `_first_that`, over items of run-time length: a loop that ends at the first such item."""
    cursor, met = cursor_over(value), Box(False)
    state = NO_STATE.plus(met)
    for box in cursor.boxes:
        state = state.plus(box)

    def goes_on() -> Any:
        clean = truth_of(met.value)
        if isinstance(clean, bool):
            return False if clean else cursor.has_next()
        return truth_of(select(clean, lambda: False, lambda: python_bool(cursor.has_next()), state))

    def turn() -> None:
        visit_item(cursor.next(), lambda item: setattr(met, "value", python_bool(_is(truth_of(item), wanted))), state)

    run_loop(LoopParts(goes_on, turn, None, state, None, turn.__code__))
    holds = truth_of(met.value)
    return python_bool(_is(holds, wanted))


def _first_pushed(pushed: Pushed, wanted: bool) -> Any:
    """As `_first_that`, over a generator, which ends at the first such item."""
    met = Box(False)

    def visit(item: Any) -> Any:
        if certain(item) is not SKIP:
            met.value = python_bool(_is(truth_of(item), wanted))
        return met.value

    push(pushed, visit, NO_STATE.plus(met))
    return python_bool(_is(truth_of(met.value), wanted))


def _is(holds: Any, wanted: bool) -> Any:
    if isinstance(holds, bool):
        return holds is wanted
    return holds if wanted else tf.logical_not(holds)


@replace_call(any)
def any_(value: Any) -> Any:
    """``any(...)``."""
    return _first_that(value, True)


@replace_call(all)
def all_(value: Any) -> Any:
    """``all(...)``."""
    return _first_that(value, False)
