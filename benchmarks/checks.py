"""Whether two ways of running the same thing gave the same results; a speed counts only where they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

# Single precision after a few steps of training: reassociated sums, no more.
RELATIVE, ABSOLUTE = 1e-4, 1e-5


@dataclass(frozen=True)
class Outcome:
    """What some calls returned and left behind, leaf by leaf, or the exception that ended them."""

    leaves: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def outcome(act: Callable[[], Any], program: Any = None) -> Outcome:
    """Run ``act`` and keep what it returned and what is on ``program`` after it."""
    try:
        returned = act()
    except Exception as error:
        first_line = (str(error).strip().splitlines() or [""])[0]
        return Outcome(error=f"{type(error).__name__}: {first_line}")
    return Outcome(dict([*_leaves(returned, "returned"), *_leaves(program, "program")]))


def difference(expected: Outcome, found: Outcome, same_types: bool = True) -> str:
    """The first difference between two outcomes; empty when there is none."""
    if expected.error or found.error:
        return "" if expected.error == found.error else found.error or f"no {expected.error}"
    unmatched = expected.leaves.keys() ^ found.leaves.keys()
    if unmatched:
        return f"only one of the two has {min(unmatched)}"
    for path, a in expected.leaves.items():
        b = found.leaves[path]
        if same_types and type(a) is not type(b):
            return f"{path}: {type(a).__name__} became {type(b).__name__}"
        if not _close(a, b):
            return f"{path}: {_contrast(a, b)}"
    return ""


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Everything that is no container and no object of the program's own, with the way to it."""
    if isinstance(value, (list, tuple)):
        parts = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, (tf.Tensor, tf.Variable)) or not hasattr(value, "__dict__"):
        yield path, value
        return
    else:
        parts = [(f"{path}.{name}", item) for name, item in vars(value).items()]
    for name, item in parts:
        yield from _leaves(item, name)


def _close(a: Any, b: Any) -> bool:
    if not isinstance(a, (tf.Tensor, tf.Variable, float)):
        return bool(a == b)
    if _is_symbolic(b):
        return False
    x, y = np.asarray(a), np.asarray(b)
    return x.shape == y.shape and x.dtype == y.dtype and np.allclose(x, y, RELATIVE, ABSOLUTE)


def _is_symbolic(value: Any) -> bool:
    """Whether a value is a tensor of a graph, left over from its trace."""
    return isinstance(value, tf.Tensor) and not hasattr(value, "numpy")


def _contrast(a: Any, b: Any) -> str:
    if _is_symbolic(b):
        return "a symbolic tensor was left behind"
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind == "f" and x.shape == y.shape and x.dtype == y.dtype:
        return f"differs by up to {np.max(np.abs(x - y)):.2g}"
    if x.dtype == object or x.ndim == 0:
        return f"{a!r} became {b!r}"
    return f"{x.dtype}{list(x.shape)} became {y.dtype}{list(y.shape)}"
