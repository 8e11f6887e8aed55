"""`substitute` registers the user's TensorFlow versions of library functions; graphs call them instead."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from imp2tf.calls import add_substitute

__all__ = ["substitute", "substitutions"]

F = TypeVar("F", bound=Callable[..., Any])
_registered: list[Any] = []


def substitutions() -> int:
    """How many substitutes are registered. A graph is valid only for the number at the time it was traced."""
    return len(_registered)


def substitute(original: Callable[..., Any]) -> Callable[[F], F]:
    """Register a TensorFlow version of a function that graphs cannot look into.

        @imp2tf.substitute(scipy.special.expit)
        def expit(x):
            return tf.sigmoid(x)

    Graphs then call the decorated function wherever the program calls `original`. Plain Python still calls `original`. The decorated
    function must return what `original` returns, for all arguments that it may get; imp2tf does not check this. Inside the decorated
    function, a call of `original` is a call of `original`.

    Args:
      original: the function to replace. It must be hashable.

    Returns:
      A decorator that registers a function and returns it unchanged.

    Raises:
      TypeError: `original`, or the decorated function, is not callable, or `original` is not hashable.
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
