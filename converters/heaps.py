"""``heapq`` on lists that the trace knows: the same moves as operations on the list.

    heapq.heappush(heap, item)   -->   the item is appended, and what is larger moves down

A list that is older than the call, and that nobody reads in it, is left to the library (`imp2tf.opaque`).
"""
from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any

from imp2tf.calls import invoke, replace_call
from imp2tf.heap import is_unread
from imp2tf.opaque import call_library


def _push(heap: Any, item: Any) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def _pop(heap: Any) -> Any:
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return first


def _push_pop(heap: Any, item: Any) -> Any:
    if not heap or not heap[0] < item:
        return item
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def _replace(heap: Any, item: Any) -> Any:
    if not heap:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return first


def _make(heap: Any) -> None:
    place = len(heap) // 2 - 1
    while place >= 0:
        _sink(heap, place)
        place -= 1


def _rise(heap: Any, top: Any, place: Any) -> None:
    """Move the item at `place` up until its parent is not larger, at most to `top`."""
    item = heap[place]
    while place > top:
        above = (place - 1) // 2
        parent = heap[above]
        if not item < parent:
            break
        heap[place] = parent
        place = above
    heap[place] = item


def _sink(heap: Any, place: Any) -> None:
    """Move the smaller child up, from `place` down to a leaf; put the item in the leaf and let it rise from there."""
    top, item, below = place, heap[place], 2 * place + 1
    while below < len(heap):
        beside = below + 1
        if beside < len(heap) and not heap[below] < heap[beside]:
            below = beside
        heap[place] = heap[below]
        place = below
        below = 2 * place + 1
    heap[place] = item
    _rise(heap, top, place)


def _in_graph(original: Callable[..., Any], twin: Any) -> None:
    @replace_call(original)
    def call(heap: Any, *args: Any) -> Any:
        if not isinstance(heap, list) or is_unread(heap):
            return call_library(original, (heap, *args), {})
        return invoke(twin, (heap, *args), {})


for _original, _twin in ((heapq.heappush, _push), (heapq.heappop, _pop), (heapq.heappushpop, _push_pop), (heapq.heapreplace, _replace),
                         (heapq.heapify, _make)):
    _in_graph(_original, _twin)

for _helper in (_rise, _sink):
    replace_call(_helper)(functools.partial(lambda helper, *args: invoke(helper, args, {}), _helper))
