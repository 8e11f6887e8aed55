"""Garbage is collected more rarely while a trace makes objects that stay.

A trace makes so many that a whole collection, which looks at all that TensorFlow has loaded, falls into it; nearly nothing is found.
"""
from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

__all__ = ["rarely"]

FIRST = 100_000  # objects made between collections; by default CPython collects after 700

_lock = threading.Lock()
_inside: list[tuple[int, int, int]] = []  # the program's own setting, once for each trace that is under way


@contextlib.contextmanager
def rarely() -> Iterator[None]:
    """Collect rarely until the end, of the last trace if threads trace at once. A setting that the program changes meanwhile stays."""
    with _lock:
        _inside.append(_inside[0] if _inside else gc.get_threshold())
        if 0 < gc.get_threshold()[0] < FIRST:
            gc.set_threshold(FIRST, *_inside[0][1:])
    try:
        yield
    finally:
        with _lock:
            own = _inside.pop()
            if not _inside and gc.get_threshold()[0] == FIRST:
                gc.set_threshold(*own)
