"""Optimizers, where only the run knows which gradients eager would have: a variable without one is left alone, one with zeros is not.

A tape gives such a gradient as one of None and a tensor. So the optimizer is applied on each way of the run, with the gradients of that
way. Plain gradient descent takes the zeros that the graph has in place of None.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.foreign import lowered
from imp2tf.heap import contents
from imp2tf.iteration import drained
from imp2tf.keras import private
from imp2tf.region import cond
from imp2tf.session import Session
from imp2tf.states import NO_STATE
from imp2tf.values import Growable, Union

__all__ = ["APPLYING", "applied"]

APPLYING = ("apply", "apply_gradients")


def applied(session: Session, optimizer: Any, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an optimizer, applied on each way of the run."""
    if session.counts["applying"]:
        return method
    call = _Apply(session, optimizer)
    return call.apply if name == "apply" else call.apply_gradients


def _is_indifferent(optimizer: Any) -> bool:
    """Whether a gradient of zeros changes nothing."""
    if type(optimizer) is not keras.optimizers.SGD or optimizer.momentum or optimizer.weight_decay or optimizer.use_ema:
        return False
    return not optimizer.gradient_accumulation_steps and not any(one.constraint for one in private.variables_of(optimizer))


class _Apply:
    """One call of an optimizer."""

    def __init__(self, session: Session, optimizer: Any) -> None:
        self.session = session
        self.optimizer = optimizer

    def apply_gradients(self, grads_and_vars: Any, **options: Any) -> Any:
        """``optimizer.apply_gradients(grads_and_vars)``."""
        pairs = [tuple(pair) for pair in _items(grads_and_vars)]
        gradients, variables = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

        def call(found: list[Any]) -> Any:
            return self.optimizer.apply_gradients(list(zip(found, variables, strict=True)), **options)

        self._applied(gradients, variables, call)
        return self.optimizer.iterations

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """``optimizer.apply(grads, trainable_variables)``."""
        given = None if trainable_variables is None else list(_items(trainable_variables))
        variables = private.variables_of(self.optimizer) if given is None else given
        self._applied(list(_items(grads)), variables, lambda found: self.optimizer.apply(found, given))

    def _applied(self, gradients: list[Any], variables: list[Any], call: Callable[[list[Any]], Any]) -> None:
        open_ones = [place for place, one in enumerate(gradients) if isinstance(one, Union)]
        if not open_ones:
            self._once(call, gradients)
        elif _is_indifferent(self.optimizer):
            self._once(call, [_tensor(one) for one in gradients])
        else:
            self._on_each_way(gradients, variables, open_ones, call)

    def _on_each_way(self, gradients: list[Any], variables: list[Any], places: list[int], call: Callable[[list[Any]], Any]) -> None:
        mask, masks, bits = self._note([variables[place] for place in places])
        present = tf.gather(mask, bits)
        ways = list(dict.fromkeys(tuple(bool(one >> bit & 1) for bit in bits) for one in sorted(masks)))

        def on(rest: Sequence[tuple[bool, ...]]) -> None:
            found = list(gradients)
            for place, there in zip(places, rest[0], strict=True):
                found[place] = _tensor(gradients[place]) if there else None
            if len(rest) == 1:
                self._once(call, found)
            else:
                cond(tf.reduce_all(tf.equal(present, list(rest[0]))), lambda: self._once(call, found), lambda: on(rest[1:]), NO_STATE)

        on(ways)

    def _note(self, variables: list[Any]) -> tuple[tf.Tensor, set[int], list[int]]:
        """The mask of the run, the masks that it may be, and the places of some variables in it."""
        for mask, masks, sources in reversed(self.session.uncertain):
            bits = [next((bit for bit, source in enumerate(sources) if source is one), None) for one in variables]
            if None not in bits:
                return mask, masks, [bit for bit in bits if bit is not None]
        return fall_back(NeedsValue, "gradients of several tapes are None on some ways of the run")

    def _once(self, call: Callable[[list[Any]], Any], gradients: list[Any]) -> None:
        self.session.counts["applying"] += 1
        try:
            call([lowered(one) for one in gradients])
        except ValueError as error:
            if any(one is not None for one in gradients):
                raise
            raise ProgramRaise(error) from error
        finally:
            self.session.counts["applying"] -= 1


def _items(value: Any) -> Any:
    """The elements of what an optimizer is given."""
    if isinstance(value, list):
        found = contents(value)
        return fall_back(NeedsValue, "an optimizer is given a list of run-time length") if isinstance(found, (Growable, Union)) else found
    if isinstance(value, tuple) or type(value) in (zip, map, filter):
        return value
    items = drained(value)
    return items if items is not None else fall_back(NeedsValue, "an optimizer is given an iterator of run-time length")


def _tensor(gradient: Any) -> Any:
    """The tensor among None and a tensor."""
    if not isinstance(gradient, Union):
        return gradient
    rest = [one for one in gradient.alternatives if one is not None]
    return rest[0] if len(rest) == 1 else fall_back(NeedsValue, "a gradient of several kinds")
