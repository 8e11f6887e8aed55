"""Whether two ways of running the same thing gave the same results; a speed counts only where they did."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

# Single precision after a few steps of training: reassociated sums, no more.
RELATIVE, ABSOLUTE = 1e-4, 1e-5
RETURNED, PRINTED = "returned", "printed"


@dataclass(frozen=True)
class Outcome:
    """What some calls returned and left behind, leaf by leaf, or the exception that ended them."""

    leaves: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def outcome(act: Callable[[], Any], program: Any = None, uncompared: Collection[str] = ()) -> Outcome:
    """Run ``act`` and keep what it returned and printed, and what is on ``program`` after it.

    Attributes called as in ``uncompared`` are left out: what has no value to compare.
    """
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            returned = act()
    except Exception as error:
        return Outcome(error=_told(error))
    leaves = dict([*_leaves(returned, RETURNED, uncompared), *_leaves(program, "program", uncompared)])
    return Outcome({**leaves, PRINTED: printed.getvalue()} if printed.getvalue() else leaves)


def returned_only(outcome: Outcome) -> Outcome:
    """Without what was printed and left behind: a program written another way keeps its state another way."""
    return Outcome({path: leaf for path, leaf in outcome.leaves.items() if path.startswith(RETURNED)}, outcome.error)


def difference_in_kind(expected: Outcome, found: Outcome) -> str:
    """The first difference in what is returned but for the values: of programs that draw other random numbers."""
    if found.error or expected.error:
        return difference(expected, found)
    for path, a in returned_only(expected).leaves.items():
        x, y = np.asarray(a), np.asarray(found.leaves.get(path))
        if x.shape != y.shape or x.dtype != y.dtype or not np.all(np.isfinite(y)):
            return f"{path}: {_contrast(a, found.leaves.get(path))}"
    return ""


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


def _told(error: Exception) -> str:
    """Class and first line of the message; AutoGraph writes the error that it met, with its message, at the end of a traceback."""
    name, message = type(error).__name__, str(error).strip()
    met = [line.strip() for line in message.splitlines() if line.strip().startswith(f"{name}: ")]
    return met[-1] if met else f"{name}: {(message.splitlines() or [''])[0]}"


def _leaves(value: Any, path: str, uncompared: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Everything that is no container and no object of the program's own, with the way to it."""
    if isinstance(value, (list, tuple)):
        parts = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, dict):
        parts = [(f"{path}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, (tf.Tensor, tf.Variable)) or not hasattr(value, "__dict__"):
        yield path, value
        return
    else:
        parts = [(f"{path}.{name}", item) for name, item in vars(value).items() if name not in uncompared]
    for name, item in parts:
        yield from _leaves(item, name, uncompared)


def _close(a: Any, b: Any) -> bool:
    if not isinstance(a, (tf.Tensor, tf.Variable, float, np.ndarray, np.generic)):
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
