"""Functions of the user that stand for library functions inside graphs: `substitute`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from imp2tf.calls import add_substitute

__all__ = ["substitute", "substitutions"]

F = TypeVar("F", bound=Callable[..., Any])
_registered: list[Any] = []


def substitutions() -> int:
    """How many substitutes there are; a graph is made for those that there were."""
    return len(_registered)


def substitute(original: Callable[..., Any]) -> Callable[[F], F]:
    """Register a TensorFlow twin of a function that graphs cannot look into.

        @imp2tf.substitute(scipy.special.expit)
        def expit(x):
            return tf.sigmoid(x)

    Converted functions call the twin wherever they would call `original` in a graph. What runs as Python calls `original`. The
    twin is to return what `original` returns, for all arguments that it may get; that is not checked. A call of `original` in the
    twin itself is that of `original`.

    Raises:
      TypeError: `original`, or what is decorated, is not callable or not hashable.
    """
    if not callable(original):
        raise TypeError(f"original must be callable, not {type(original).__name__} {original!r}")
    hash(original)

    def register(replacement: F) -> F:
        if not callable(replacement):
            raise TypeError(f"the substitute must be callable, not {type(replacement).__name__} {replacement!r}")

        add_substitute(original, replacement)
        _registered.append(original)
        return replacement

    return register
