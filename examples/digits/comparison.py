"""Whether two runs of the program left the same things behind: values, types, lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

TOLERANCE = 1e-6


def differences(expected: Any, found: Any, name: str) -> list[str]:
    """One line for each place in which ``found`` is not what ``expected`` is; empty where all is equal."""
    if type(expected) is not type(found):
        return [f"{name}: {type(expected).__name__} became {type(found).__name__}"]
    if isinstance(expected, (tf.Tensor, tf.Variable, np.ndarray, float)):
        return _array_differences(expected, found, name)
    if isinstance(expected, dict):
        return _dict_differences(expected, found, name)
    if isinstance(expected, (list, tuple)):
        return _sequence_differences(expected, found, name)
    return [] if expected == found else [f"{name}: {expected!r} became {found!r}"]


def largest_difference(expected: list[float], found: list[float]) -> float:
    """The largest distance between numbers in the same position; infinite where there is no such number."""
    if len(expected) != len(found) or not all(isinstance(b, float) for b in found):
        return float("inf")
    return max((abs(a - b) for a, b in zip(expected, found, strict=True)), default=0.0)


def _array_differences(expected: Any, found: Any, name: str) -> list[str]:
    a, b = np.asarray(expected), np.asarray(found)
    if a.dtype != b.dtype or a.shape != b.shape:
        return [f"{name}: {a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"]
    if np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return []
    return [f"{name}: differs by up to {np.max(np.abs(a - b)):.2g}"]


def _dict_differences(expected: dict[Any, Any], found: dict[Any, Any], name: str) -> list[str]:
    if list(expected) != list(found):
        return [f"{name}: keys {list(expected)} became {list(found)}"]
    return [line for key in expected for line in differences(expected[key], found[key], f"{name}.{key}")]


def _sequence_differences(expected: Any, found: Any, name: str) -> list[str]:
    if len(expected) != len(found):
        return [f"{name}: {len(expected)} entries became {len(found)}"]
    pairs = enumerate(zip(expected, found, strict=True))
    return [line for index, (a, b) in pairs for line in differences(a, b, f"{name}[{index}]")]
