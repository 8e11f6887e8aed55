"""Generators consumed where they are made: each item is pushed to a visitor, which says whether it wants no more.

What the visitor may change is carried by the branches and loops of the generator, like the generator's own variables
(`imp2tf.session.Session.consumers`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from imp2tf.calls import call, call_in_text, is_generator_function, run_generator
from imp2tf.exceptions import INSIDE_OUT
from imp2tf.exits import CONTINUE, clear, exit_code, none_under_way
from imp2tf.iteration import GeneratorValue
from imp2tf.kinds import is_user_function
from imp2tf.loops import finish_loop, visit_item
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.states import Box, State, Visited
from imp2tf.values import GeneratorCall, StandIn, negated_bool

__all__ = ["Consumer", "Pushed", "PushedEnumerate", "PushedMap", "as_pushed", "push", "push_for"]

BEGUN = "begun"
Visit = Callable[[Any], Any]  # of an item; whether no more is wanted: a bool or a run-time one


class Consumer:
    """What a generator gives its items to."""

    def __init__(self, visit: Visit) -> None:
        self.may_end = False  # whether an item may have been the last that was wanted
        self._visit = visit
        self._outer = current().consumers

    def give(self, item: Any) -> Any:
        """Whether the generator is to end."""
        session = current()
        inner, session.consumers = session.consumers, self._outer
        try:
            ends = self._visit(item)
        finally:
            session.consumers = inner
        self.may_end |= ends is not False
        return ends


class Pushed(StandIn):
    """An iteration that runs by itself; `boxes` is what it keeps between items."""

    boxes: Sequence[Box] = ()

    def run(self, consumer: Consumer) -> None:
        """Give all items, or as many as are wanted."""
        raise NotImplementedError


class PushedCall(Pushed):
    """The items of a generator."""

    def __init__(self, generator: GeneratorCall) -> None:
        self.generator = generator

    def run(self, consumer: Consumer) -> None:
        run_generator(self.generator, consumer)
        if consumer.may_end:
            current().write(Attribute(self.generator, "spent"), BEGUN)


class PushedMap(Pushed):
    """A function of each item; the function may answer SKIP."""

    def __init__(self, function: Callable[[Any], Any], inner: Pushed) -> None:
        self.function = function
        self.inner = inner
        self.boxes = inner.boxes

    def run(self, consumer: Consumer) -> None:
        _run_through(self.inner, lambda item: consumer.give(self.function(item)))


class PushedEnumerate(Pushed):
    """Items with their numbers."""

    def __init__(self, inner: Pushed, start: Any) -> None:
        self.number = Box(start)
        self.inner = inner
        self.boxes = (self.number, *inner.boxes)

    def run(self, consumer: Consumer) -> None:
        _run_through(self.inner, lambda item: consumer.give((self._next(), item)))

    def _next(self) -> Any:
        number = self.number.value
        self.number.value = number + 1
        return number


def _run_through(inner: Pushed, visit: Visit) -> None:
    """Run an iteration whose items go on to another consumer."""
    inner.run(Consumer(visit))


def as_pushed(value: Any, in_text: bool = False) -> Pushed | None:
    """An iteration over a generator, or over what makes one of it; None for any other value. `in_text`: see `call_in_text`."""
    if isinstance(value, Pushed):
        return value
    if isinstance(value, GeneratorCall):
        return PushedCall(value)
    if isinstance(value, GeneratorValue):
        inner = as_pushed(value.iterable)
        return None if inner is None else PushedMap(value.step, inner)
    method: Any = getattr(type(value), "__iter__", None)
    caller = call_in_text if in_text else call
    return PushedCall(caller(method, value)) if is_user_function(method) and is_generator_function(method) else None


def push(pushed: Pushed, visit: Visit, state: State) -> None:
    """Visit the items of a generator; `state` is what visits may change."""
    for box in pushed.boxes:
        state = state.plus(box)
    session = current()
    consumer = Consumer(visit)
    before = session.consumers
    session.consumers = [*before, Visited(state.get, state.set, visit)]
    try:
        pushed.run(consumer)
    finally:
        session.consumers = before


INSIDE_OUT.update({(__file__, Consumer.give.__name__): 1, (__file__, push.__name__): -1, (__file__, _run_through.__name__): -1})


def push_for(pushed: Pushed, visit: Callable[[Any], None], orelse: Callable[[], None] | None, state: State, exits: str | None) -> None:
    """A ``for`` over a generator: `visit` is its body."""

    def turn(item: Any) -> Any:
        visit_item(item, visit, state)
        if exits is None:
            return False
        clear(state, CONTINUE)
        return negated_bool(none_under_way(exit_code(state)))

    push(pushed, turn, state)
    finish_loop(orelse, state, exits)
