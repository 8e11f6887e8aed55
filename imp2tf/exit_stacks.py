"""``contextlib.ExitStack`` and ``closing`` in a trace: what is entered while the body of a ``with`` runs, and left at its end.

A stack holds its exits in a list of the trace, which branches carry. How many there are must be known where the stack is left.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from imp2tf.containers import append
from imp2tf.heap import contents, set_contents
from imp2tf.session import current, out_of_text
from imp2tf.values import StandIn

__all__ = ["Callback", "Closing", "Stack"]

METHODS = frozenset({"callback", "enter_context", "pop_all", "push"})


class Closing(StandIn):
    """``contextlib.closing(thing)``."""

    what = "contextlib.closing()"
    ends = False

    def __init__(self, thing: Any) -> None:
        self.thing = thing


class Callback:
    """A function that a stack calls with given arguments, whatever has happened."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs


class Stack(StandIn):
    """``contextlib.ExitStack()``; `enter` enters a manager and gives what that returns."""

    what = "an ExitStack"
    ends = False

    def __init__(self, enter: Callable[[Any], Any]) -> None:
        self.enter = enter
        self.exits: list[Any] = current().born([])

    def attribute(self, name: str) -> Any:
        return getattr(self, name) if name in METHODS else self.refuse()

    def enter_context(self, manager: Any) -> Any:
        """Enter a manager, and leave it with the stack."""
        with out_of_text():
            entered = self.enter(manager)
        append(self.exits, manager)
        return entered

    def push(self, manager: Any) -> Any:
        """Leave a manager with the stack, without entering it."""
        if not hasattr(type(manager), "__exit__") and not isinstance(manager, (Closing, Stack)):
            self.refuse()
        append(self.exits, manager)
        return manager

    def callback(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function when the stack is left."""
        append(self.exits, Callback(function, args, kwargs))
        return function

    def pop_all(self) -> Stack:
        """A new stack that has all the exits of this one."""
        made: Stack = current().born(Stack(self.enter))
        set_contents(made.exits, contents(self.exits))
        set_contents(self.exits, [])
        return made
