"""The ways a model's step is run, each checked against eager Python before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import tensorflow as tf

import imp2tf
from benchmarks.checks import Outcome, difference, outcome
from benchmarks.protocol import Contender

EAGER, AUTOGRAPH, CONCRETE, CONVERTED = "eager", "tf.function", "concrete function", "imp2tf"

Step = Callable[..., Any]


def contenders(model: ModuleType) -> list[Contender]:
    """Eager, tf.function and imp2tf on fresh programs; the last two have been rehearsed, so they are warm."""
    program, batch = model.PROGRAM(), model.batches(1)[0]
    return [Contender(EAGER, lambda: program.step(*batch)), autograph(model), converted(model)]


def converted(model: ModuleType, **options: Any) -> Contender:
    """The program as it is written, under imp2tf."""
    program, batch = model.PROGRAM(), model.batches(1)[0]
    step = imp2tf.convert(program.step, **options)
    wrong = difference(_eager_outcome(model), _outcome(model, program, step))
    return Contender(CONVERTED, lambda: step(*batch), wrong, stats=step.stats)


def autograph(model: ModuleType) -> Contender:
    """The program as written under tf.function where that is right, else the nearest version it accepts."""
    expected = _eager_outcome(model)
    program, batch = model.PROGRAM(), model.batches(1)[0]
    step = tf.function(program.step)
    wrong = difference(expected, _outcome(model, program, step))
    if not wrong or model.ADAPTED is None:
        return Contender(AUTOGRAPH, lambda: step(*batch), wrong)
    adapted = model.ADAPTED()
    compiled = adapted.compiled()
    still_wrong = difference(expected, _outcome(model, adapted, compiled), same_types=False)
    note = f"measured with {model.ADAPTATION}; as written: {wrong}"
    return Contender(AUTOGRAPH, lambda: compiled(*batch), still_wrong, note, adapted=True)


def _eager_outcome(model: ModuleType) -> Outcome:
    program = model.PROGRAM()
    return _outcome(model, program, program.step)


def _outcome(model: ModuleType, program: Any, step: Step) -> Outcome:
    return outcome(lambda: model.rehearse(program, step), program)
