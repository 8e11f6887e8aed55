"""Which kinds of objects the arguments of a call hold where, for functions that walk over them by calling themselves.

A graph of such a function serves one structure: one shape of a tree, say. There are so many that each may come once, so a graph is made
when a structure comes again.
"""
from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["Structures"]

MOST, MOST_OBJECTS = 1000, 2000  # structures that are remembered, objects that are looked at
LEAVES = (
    tf.Tensor, tf.Variable, tf.Module, tf.__internal__.CompositeTensor, np.ndarray, np.generic, str, bytes, int, float, complex, type,
    types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, type(None),
)


class Structures:
    """The structures that the arguments of one function have had, call by call."""

    def __init__(self) -> None:
        self._seen: collections.Counter[Hashable] = collections.Counter()
        self._last: list[Callable[[], Any]] = []

    def note(self, values: Sequence[Any]) -> float:
        """The share of calls so far that came with this structure; this call is one from now on.

        An object that was the same argument of the last call says nothing: what it holds is state of the program.
        """
        last = [known for one in self._last if (known := one()) is not None]
        form = tuple(None if any(value is one for one in last) else _form(value, _Walk()) for value in values)
        self._last = [_reference(value) for value in values if not isinstance(value, LEAVES)]
        if not any(form):
            return 1.0
        share = self._seen[form] / self._seen.total() if self._seen else 1.0
        if form in self._seen or len(self._seen) < MOST:
            self._seen[form] += 1
        return share


def _reference(value: Any) -> Callable[[], Any]:
    """A value as long as it lives; nothing where that cannot be known."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None


class _Walk:
    """The objects that were looked at while the structure of some arguments was read."""

    def __init__(self) -> None:
        self.left = MOST_OBJECTS
        self.around: dict[int, int] = {}  # objects that are being looked at, by the order in which that began


def _form(value: Any, walk: _Walk) -> Hashable:
    """The structure of a value: its class, and the structures of what it holds; None for what holds nothing."""
    if isinstance(value, LEAVES) or walk.left <= 0:
        return None if value is not None else ()
    if id(value) in walk.around:
        return walk.around[id(value)]
    walk.left -= 1
    walk.around[id(value)] = len(walk.around)
    try:
        if isinstance(value, dict):
            return type(value), tuple((key if type(key) is str else None, _form(one, walk)) for key, one in value.items())
        if isinstance(value, (list, tuple)):
            return type(value), tuple(_form(one, walk) for one in value)
        held = getattr(value, "__dict__", None)
        return type(value), tuple((name, _form(one, walk)) for name, one in held.items()) if isinstance(held, dict) else ()
    finally:
        del walk.around[id(value)]
