"""Inputs that are what the last run gave: a number that the program keeps is not made a tensor again, nor a list stacked again.

    self.steps += 1                 the tensor of which `self.steps` was made is the input of the next call
    self.history.append(pair)       so are the stacked elements of `self.history`; only those that are new are made anew

What was remembered is used for the very same objects only: numbers, tensors and tuples of them, none of which can change.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import eager_array, eager_scalar, tape_may_record
from imp2tf.values import NUMBER_DTYPES

__all__ = ["ListMemory", "NumberMemory", "rows_of"]

FEW = 8
MOST_BYTES, MOST_ELEMENTS = 1 << 20, 1000  # of a list: it is kept alive until the next call


class NumberMemory:
    """A Python number as an input of a graph, and the tensor that it was last."""

    def __init__(self, kind: str) -> None:
        self._dtype = NUMBER_DTYPES[kind]
        self._last: tuple[Any, Any] = None, None  # replaced at once, for other threads

    def __call__(self, found: Any) -> tf.Tensor:
        """The tensor of a number."""
        number, tensor = self._last
        if number is not found:
            tensor = eager_scalar(found, self._dtype)
            self._last = found, tensor
        return tensor

    def came_of(self, number: Any, tensor: tf.Tensor) -> None:
        """The program is given a number that was made of this tensor; no gradient must flow through it."""
        if not tape_may_record():
            self._last = number, tensor


class ListMemory:
    """A list of tensors, numbers or tuples of these as inputs of a graph, its columns, and what they were last.

    `stack` are functions that make a column of a list; `element` is the spec of the elements.
    """

    def __init__(self, stack: Sequence[Callable[[list[Any]], tf.Tensor]], element: Any) -> None:
        self.kind = element.key()
        self._stack, self._element = stack, element
        self._last: tuple[list[Any], list[tf.Tensor]] | None = None

    def knows(self, found: list[Any]) -> bool:
        """Whether these are the elements of the last time."""
        last = self._last
        return last is not None and _are_same(last[0], found)

    def column(self, number: int) -> Callable[[list[Any]], tf.Tensor]:
        """A function of the list: one of its columns."""
        return lambda found: self.columns(found)[number]

    def columns(self, found: list[Any]) -> list[tf.Tensor]:
        """All columns of the list."""
        last, taped = self._last, tape_may_record()
        if last is not None and not taped and _are_same(last[0], found):
            return last[1]
        columns = [make(found) for make in self._stack]
        if not taped:
            self._keep(found.copy(), columns)
        return columns

    def elements(self, before: Sequence[Any], columns: list[tf.Tensor], pushes: int | None, pushed: Sequence[Any] = ()) -> list[Any]:
        """The elements that a run leaves, given their columns; `before` are those that it found.

        If the run did no more than append, the last `pushes` are new, but for those `pushed` that the program had before. Else one with
        the bits of an element that was there is taken to be that one, but not under a tape: it may have been computed anew, and the tape
        follows it there.
        """
        taped = tape_may_record()
        as_tensors = taped or any(column.dtype == tf.string for column in columns)
        rows = list(zip(*(map(rows_of, columns) if as_tensors else [column.numpy() for column in columns]), strict=True))
        if pushes is not None and len(before) == len(rows) - pushes:
            places: Iterable[int] = [*range(len(before)), *[-1] * pushes]
        elif taped:
            places = [-1] * len(rows)
        else:
            places = _same_rows(*(_bits([column.numpy() for column in found]) for found in (self.columns(list(before)), columns)))
        elements = [before[place] if place >= 0 else self._element.realize(iter(row) if as_tensors else map(eager_array, row))
                    for place, row in zip(places, rows, strict=True)]
        for place, one in enumerate(pushed, len(elements) - len(pushed)):
            elements[place] = elements[place] if one is None else one
        if not taped:
            self._keep(elements.copy(), columns)
        return elements

    def _keep(self, elements: list[Any], columns: list[tf.Tensor]) -> None:
        few = len(elements) <= MOST_ELEMENTS and sum(column.numpy().nbytes for column in columns) <= MOST_BYTES
        self._last = (elements, columns) if few else None


def _are_same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b))


def rows_of(stacked: tf.Tensor) -> list[tf.Tensor]:
    """The rows of a tensor; few that no tape follows are made of what NumPy sees, which is faster than an operation."""
    if stacked.shape[0] > FEW or stacked.dtype == tf.string or tape_may_record():
        return list(tf.unstack(stacked))
    return [eager_array(row) for row in stacked.numpy()]


def _bits(columns: Sequence[np.ndarray]) -> list[bytes]:
    """The bits of each element."""
    return [b"".join([part.tobytes() for part in row]) for row in zip(*columns, strict=True)]


def _same_rows(old: list[bytes], new: list[bytes]) -> Iterator[int]:
    """For each new row the place of an equal old one, of several the one that follows the last; -1 if there is none."""
    first = {row: place for place, row in reversed(list(enumerate(old)))}
    follows = 0
    for row in new:
        place = follows if follows < len(old) and old[follows] == row else first.get(row, -1)
        follows = (place if place >= 0 else follows) + 1
        yield place
