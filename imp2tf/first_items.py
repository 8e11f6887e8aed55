"""The first item of an iteration, for ``next(v for v in xs if v > t)``: what comes after it is not computed."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, truth
from imp2tf.cursors import Cursor, MapCursor
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.generators import as_pushed, push
from imp2tf.iterables import cursor as cursor_over
from imp2tf.iteration import GeneratorValue, drained
from imp2tf.loops import LoopParts, run_loop, visit_item
from imp2tf.operations import truth_of
from imp2tf.region import select
from imp2tf.session import current
from imp2tf.states import NO_STATE, Box
from imp2tf.values import SKIP, PyNumber, Union

__all__ = ["first_item"]

MOST_SELECTED = 32


def first_item(value: Any, otherwise: Any) -> Any:
    """The next item of an iteration that nobody has begun, `otherwise` where there is none."""
    if isinstance(value, Cursor) and current().regions:
        fall_back(NeedsValue, "the next item of an iteration is taken in a branch or loop")
    if as_pushed(value) is None and isinstance(value, GeneratorValue):
        value = value.opened()
        items = drained(value.iterable)
        if items is not None and len(items) <= MOST_SELECTED:
            return _selected(items, value.step, otherwise)
        value = MapCursor(value.step, cursor_over(value.iterable))
    met, hit = Box(False), Box(otherwise)
    state = NO_STATE.plus(met).plus(hit)

    def take(item: Any) -> None:
        met.value, hit.value = True, item

    pushed = as_pushed(value)
    if pushed is not None:
        def visit(item: Any) -> Any:
            visit_item(item, take, state)
            return met.value

        push(pushed, visit, state)
        return hit.value
    cursor = cursor_over(value)
    for box in cursor.boxes:
        state = state.plus(box)

    def goes_on() -> Any:
        found = truth_of(met.value)
        if isinstance(found, bool):
            return False if found else cursor.has_next()
        return truth(select(found, lambda: False, lambda: _number(cursor.has_next())))

    def turn() -> None:
        visit_item(cursor.next(), take, state)

    run_loop(LoopParts(goes_on, turn, None, state, None, turn.__code__))
    return hit.value


def _number(holds: Any) -> Any:
    return holds if isinstance(holds, bool) else PyNumber("bool", holds)


def _selected(items: list[Any], step: Any, otherwise: Any) -> Any:
    if not items:
        return otherwise
    item, rest = step(items[0]), items[1:]
    if item is SKIP:
        return _selected(rest, step, otherwise)
    if not isinstance(item, Union) or not any(one is SKIP for one in item.alternatives):
        return item
    kept = [one for one in item.alternatives if one is not SKIP]
    value = kept[0] if len(kept) == 1 else over(item, lambda one: kept[0] if one is SKIP else one)
    skipped = tf.gather(tf.constant([one is SKIP for one in item.alternatives]), item.tag)
    return select(skipped, lambda: _selected(rest, step, otherwise), lambda: value)
