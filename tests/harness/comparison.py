"""Where two descriptions part: one `Difference` per place, readable."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.harness.description import Description, Leaf, Node

# Relative tolerance by type: room for a sum taken in another order, not for another dtype on the way.
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5, "float": 1e-6}
FINE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Difference:
    """One place where the backend's world is not the eager one."""

    aspect: str
    place: str
    eager: str
    other: str

    def __str__(self) -> str:
        return f"{self.aspect} at {self.place}\n      eager:  {self.eager}\n      other:  {self.other}"


def differences(
    aspect: str, place: str, eager: Description | None, other: Description | None
) -> Iterator[Difference]:
    """Every place where `other` is not what `eager` is; where the outsides agree, the parts are compared."""
    if eager is None or other is None:
        if eager is not other:
            yield Difference(aspect, place, _shown(eager), _shown(other))
    elif isinstance(eager, Node) and isinstance(other, Node) and _same_outside(eager, other):
        for (label, one), (_, two) in zip(eager.items, other.items, strict=True):
            yield from differences(aspect, place + label, one, two)
    elif not (isinstance(eager, Leaf) and isinstance(other, Leaf) and _same_leaf(eager, other)):
        yield Difference(aspect, place, _shown(eager), _shown(other))


def _same_outside(eager: Node, other: Node) -> bool:
    labels = [[label for label, _ in node.items] for node in (eager, other)]
    return (eager.kind, eager.type, labels[0]) == (other.kind, other.type, labels[1])


def _same_leaf(eager: Leaf, other: Leaf) -> bool:
    if (eager.kind, eager.type, eager.shape) != (other.kind, other.type, other.shape):
        return False
    if np.asarray(eager.value).dtype.kind in "fcV":
        return _close(eager, other)
    return bool(np.array_equal(np.asarray(eager.value, object), np.asarray(other.value, object)))


def _close(eager: Leaf, other: Leaf) -> bool:
    wide = np.complex128 if eager.type.startswith("complex") else np.float64
    tolerance = TOLERANCE.get(eager.type, FINE_TOLERANCE)
    one, two = (np.asarray(leaf.value).astype(wide) for leaf in (eager, other))
    return bool(np.allclose(two, one, rtol=tolerance, atol=tolerance, equal_nan=True))


def _shown(description: Description | None) -> str:
    text = "nothing" if description is None else str(description)
    return text if len(text) <= 400 else text[:397] + "..."
