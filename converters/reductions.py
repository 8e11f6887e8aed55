"""``sum``, ``min``, ``max``, ``any`` and ``all``: the items that Python would look at, in its order.

    any(v > 2 for v in xs)   -->   conditionals, one in the other; what comes after a hit is not computed
"""
from __future__ import annotations

import builtins
from typing import Any

import tensorflow as tf

from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.generators import Pushed, as_pushed, push
from imp2tf.iterables import each, is_lazy, known_items
from imp2tf.iteration import (
    GeneratorValue,
    MapCursor,
    StaticCursor,
    certain,
    drained,
)
from imp2tf.operations import binary_operation, compare_operation, truth_of
from imp2tf.region import select
from imp2tf.states import NO_STATE, Box
from imp2tf.values import SKIP, PyNumber

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
    pushed = as_pushed(value)
    if pushed is not None:
        return _first_pushed(pushed, wanted)
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


def _first_pushed(pushed: Pushed, wanted: bool) -> Any:
    """The same over a generator, which ends at the first such item."""
    met = Box(False)

    def visit(item: Any) -> Any:
        if certain(item) is not SKIP:
            met.value = _number(_is(truth_of(item), wanted))
        return met.value

    push(pushed, visit, NO_STATE.plus(met))
    return _number(_is(truth_of(met.value), wanted))


def _is(holds: Any, wanted: bool) -> Any:
    if isinstance(holds, bool):
        return holds is wanted
    return holds if wanted else tf.logical_not(holds)


def _number(holds: Any) -> Any:
    return holds if isinstance(holds, bool) else PyNumber("bool", holds)


@replace_call(any)
def any_(value: Any) -> Any:
    """``any(...)``."""
    return _first_that(value, True)


@replace_call(all)
def all_(value: Any) -> Any:
    """``all(...)``."""
    return _first_that(value, False)
