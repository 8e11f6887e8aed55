"""Inputs that are what the last run gave: a number that the program keeps is not made a tensor again, nor a list stacked again.

    self.steps += 1                 the tensor of which `self.steps` was made is the input of the next call
    self.history.append(pair)       so are the stacked elements of `self.history`; only those that are new are made anew

What was remembered is used for the very same objects only: numbers, tensors and tuples of them, none of which can change.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.eager_tensors import scalar, tensor_of
from imp2tf.tf_compat import tape_may_record
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
            tensor = scalar(found, self._dtype)
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
        self._has_text = any(dtype == tf.string for dtype, _ in element.components())
        self._last: tuple[list[Any], list[tf.Tensor], list[np.ndarray]] | None = None

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
            self._keep(found.copy(), columns, [column.numpy() for column in columns])
        return columns

    def elements(self, before: Sequence[Any], columns: list[tf.Tensor], pushes: int | None, pushed: Sequence[Any] = ()) -> list[Any]:
        """The elements that a run leaves, given their columns; `before` are those that it found.

        If the run did no more than append, the last `pushes` are new, but for those `pushed` that the program had before. Else one with
        the bits of an element that was there is taken to be that one, but not under a tape: it may have been computed anew, and the tape
        follows it there.
        """
        taped = tape_may_record()
        arrays = [column.numpy() for column in columns]
        count = len(arrays[0])
        if pushes is not None and len(before) == count - pushes:
            places = [*range(len(before)), *[-1] * pushes]
        elif taped:
            places = [-1] * count
        else:
            places = _same_rows(self._arrays(before), arrays)
        rows = list(zip(*map(rows_of, columns), strict=True)) if taped or self._has_text else None
        elements = [before[place] if place >= 0 else self._element.realize(iter(_row(arrays, number) if rows is None else rows[number]))
                    for number, place in enumerate(places)]
        for place, one in enumerate(pushed, len(elements) - len(pushed)):
            elements[place] = elements[place] if one is None else one
        if not taped:
            self._keep(elements.copy(), columns, arrays)
        return elements

    def _arrays(self, found: Sequence[Any]) -> list[np.ndarray]:
        """The columns of the list, as NumPy sees them."""
        last = self._last
        if last is not None and _are_same(last[0], found):
            return last[2]
        return [column.numpy() for column in self.columns(list(found))]

    def _keep(self, elements: list[Any], columns: list[tf.Tensor], arrays: list[np.ndarray]) -> None:
        few = len(elements) <= MOST_ELEMENTS and sum(array.nbytes for array in arrays) <= MOST_BYTES
        self._last = (elements, columns, arrays) if few else None


def _row(arrays: Sequence[np.ndarray], number: int) -> list[tf.Tensor]:
    return [tensor_of(array[number]) for array in arrays]


def _are_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(one is other for one, other in zip(a, b))


def rows_of(stacked: tf.Tensor, few: int = FEW) -> list[tf.Tensor]:
    """The rows of a tensor; few that no tape follows are made of what NumPy sees, which is faster than an operation."""
    dtype = stacked.dtype
    if stacked.shape[0] > few or dtype == tf.string or (tape_may_record() and (dtype.is_floating or dtype.is_complex)):
        return list(tf.unstack(stacked))
    return [tensor_of(row) for row in stacked.numpy()]


def _same_rows(old: Sequence[np.ndarray], new: Sequence[np.ndarray]) -> list[int]:
    """For each new row the place of an equal old one, or -1; most often some are appended, and some are gone from the front."""
    for gone in (0, 1):
        there = min(len(old[0]) - gone, len(new[0]))
        if there >= 0 and all(_is_continued(a[gone:gone + there], b[:there]) for a, b in zip(old, new, strict=True)):
            known = old[0].tobytes()
            if not any(row.tobytes() in known for row in new[0][there:]):
                return [*range(gone, gone + there), *[-1] * (len(new[0]) - there)]
    return list(_matches(_bits(old), _bits(new)))


def _is_continued(old: np.ndarray, new: np.ndarray) -> bool:
    return old.dtype != object and old.tobytes() == new.tobytes()


def _bits(columns: Sequence[np.ndarray]) -> list[bytes]:
    """The bits of each element."""
    return [b"".join(map(_bits_of, row)) for row in zip(*columns, strict=True)]


def _bits_of(part: Any) -> bytes:
    """The bits of a row; of text, which are objects to NumPy, what tells it apart."""
    is_text = isinstance(part, bytes) or part.dtype == object
    return repr(part if isinstance(part, bytes) else part.tolist()).encode() if is_text else part.tobytes()


def _matches(old: list[bytes], new: list[bytes]) -> Iterator[int]:
    """For each new row the place of an equal old one, of several the one that follows the last; -1 if there is none."""
    first = {row: place for place, row in reversed(list(enumerate(old)))}
    follows = 0
    for row in new:
        place = follows if follows < len(old) and old[follows] == row else first.get(row, -1)
        follows = (place if place >= 0 else follows) + 1
        yield place
