"""Optimizers, where only the run knows which gradients eager would have: a variable without one is left alone, one with zeros is not.

The branches and loops of a graph give zeros for what the way taken does not use. So the optimizer is applied on each way, with the
gradients of that way.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.junctions import Outcomes
from imp2tf.keras import private
from imp2tf.lowering import lowered
from imp2tf.region import cond
from imp2tf.session import Session
from imp2tf.states import NO_STATE

__all__ = ["applied"]


def applied(session: Session, optimizer: Any, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The `apply` of an optimizer, once for each way; its other methods, if that has been done or makes no difference."""
    if _is_indifferent(optimizer) or session.counts["applying"]:
        return method
    if name == private.FILTERING:
        fall_back(NeedsValue, "an optimizer of the program is given gradients that are None on some ways of the run")
    return _Apply(session, optimizer, method).apply


def _is_indifferent(optimizer: Any) -> bool:
    """Whether a gradient of zeros changes nothing."""
    if type(optimizer) is not keras.optimizers.SGD or optimizer.momentum or optimizer.weight_decay or optimizer.use_ema:
        return False
    return not optimizer.gradient_accumulation_steps and not any(one.constraint for one in private.variables_of(optimizer))


class _Apply:
    """One call of ``optimizer.apply``."""

    def __init__(self, session: Session, optimizer: Any, method: Callable[..., Any]) -> None:
        self.session = session
        self.optimizer = optimizer
        self.method = method

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """``optimizer.apply(grads, trainable_variables)``."""
        gradients = list(lowered(grads))
        given = None if trainable_variables is None else list(lowered(trainable_variables))
        variables = private.variables_of(self.optimizer) if given is None else given
        notes = [self._note(one) for one in variables]
        all_ways = {id(note[1]): note[1] for note in notes if note is not None}
        if not all_ways:
            self._call(gradients, given)
            return
        if len(all_ways) > 1:
            fall_back(NeedsValue, "gradients of several tapes are None on some ways of the run")
        (ways,) = all_ways.values()
        places = [note[0] if note is not None else None for note in notes]
        self._on_each(ways, range(len(ways.masks)), gradients, places, given)

    def _note(self, variable: Any) -> tuple[int, Outcomes] | None:
        """The place of a variable among the sources of the last gradient that may be None."""
        found = [(place, ways) for source, place, ways in self.session.uncertain if source is variable]
        return found[-1] if found else None

    def _on_each(self, ways: Outcomes, rest: Sequence[int], gradients: list[Any], places: list[int | None],
                 given: list[Any] | None) -> None:
        way, *others = rest
        mine = [None if place is not None and not ways.masks[way] >> place & 1 else gradient
                for gradient, place in zip(gradients, places, strict=True)]
        if not others:
            self._call(mine, given)
        else:
            cond(tf.equal(ways.number, way), lambda: self._call(mine, given),
                 lambda: self._on_each(ways, others, gradients, places, given), NO_STATE)

    def _call(self, gradients: list[Any], given: list[Any] | None) -> None:
        self.session.counts["applying"] += 1
        try:
            self.method(gradients, given)
        except ValueError as error:
            if any(one is not None for one in gradients):
                raise
            raise ProgramRaise(error) from error
        finally:
            self.session.counts["applying"] -= 1
