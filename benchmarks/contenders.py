"""The ways a model's step is run, each checked against eager Python before it is timed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import tensorflow as tf

import imp2tf
from benchmarks.checks import Outcome, difference, difference_in_kind, outcome, returned_only
from benchmarks.protocol import Call, Contender

EAGER, AUTOGRAPH, CONCRETE, CONVERTED = "eager", "tf.function", "concrete function", "imp2tf"
HANDWRITTEN, COMPILED = "by hand", "by hand + XLA"
TORCH, TORCH_COMPILED = "PyTorch", "torch.compile"

Step = Callable[..., Any]
BATCHES = 8


class Rehearsal:
    """The calls of a program that are compared: what came of them, and how long each took."""

    def __init__(self, model: ModuleType, program: Any, make: Callable[[], Step]) -> None:
        self.seconds: list[float] = []
        self._make, self._step = make, None
        as_written = type(program) is model.PROGRAM
        uncompared = getattr(model, "UNCOMPARED", ())
        self.outcome = outcome(lambda: model.rehearse(program, self._timed), program if as_written else None, uncompared)
        self.call = _cycled(model, self._step) if self._step else lambda: None

    def _timed(self, *batch: Any) -> Any:
        """A call, the first together with what makes the step."""
        start = time.perf_counter()
        if self._step is None:
            self._step = self._make()
        result = self._step(*batch)
        self.seconds.append(time.perf_counter() - start)
        return result

    def contender(self, name: str, wrong: str = "", note: str = "", **more: Any) -> Contender:
        """The same, to be timed further."""
        return Contender(name, self.call, wrong, note, seconds=tuple(self.seconds), **more)


def contenders(model: ModuleType, xla: bool = True, twin: Any = None) -> list[Contender]:
    """Eager and all others on fresh programs; they have been rehearsed, so they are warm. `twin` is the program in PyTorch."""
    program = model.PROGRAM()
    eager = Rehearsal(model, program, lambda: program.step)
    if eager.outcome.error:
        raise RuntimeError(f"{model.__name__} fails as it is written: {eager.outcome.error}")
    expected = eager.outcome
    found = [eager.contender(EAGER), autograph(model, expected), by_hand(model, False, expected)]
    if xla:
        found.append(by_hand(model, True, expected))
    if twin is not None:
        found.extend(in_torch(model, twin, compiled, expected) for compiled in ([False, True] if xla else [False]))
    return [*found, converted(model, expected)]


def converted(model: ModuleType, expected: Outcome | None = None, **options: Any) -> Contender:
    """The program as it is written, under imp2tf."""
    program = model.PROGRAM()
    step = imp2tf.convert(program.step, **options)
    rehearsal = Rehearsal(model, program, lambda: step)
    wrong = difference(expected or eager_outcome(model), rehearsal.outcome)
    return rehearsal.contender(CONVERTED, wrong, stats=step.stats)


def autograph(model: ModuleType, expected: Outcome | None = None) -> Contender:
    """The program as written under tf.function where that is right, else the nearest version it accepts."""
    expected = expected or eager_outcome(model)
    program = model.PROGRAM()
    rehearsal = Rehearsal(model, program, lambda: tf.function(program.step))
    wrong = difference(expected, rehearsal.outcome)
    if not wrong or model.ADAPTED is None:
        return rehearsal.contender(AUTOGRAPH, wrong)
    adapted = model.ADAPTED()
    rehearsal = Rehearsal(model, adapted, adapted.compiled)
    still_wrong = _difference_in_results(model, expected, rehearsal.outcome)
    note = f"measured with {model.ADAPTATION}; as written: {wrong}"
    return rehearsal.contender(AUTOGRAPH, still_wrong, note, adapted=True)


def by_hand(model: ModuleType, jit_compile: bool, expected: Outcome | None = None) -> Contender:
    """The graph an expert writes for the program, as it is or compiled by XLA."""
    program = model.HANDWRITTEN()
    rehearsal = Rehearsal(model, program, lambda: program.compiled(jit_compile=jit_compile))
    wrong = _difference_in_results(model, expected or eager_outcome(model), rehearsal.outcome)
    note = "draws other random numbers: shapes compared, not values" if _draws(model) and not wrong else ""
    return rehearsal.contender(COMPILED if jit_compile else HANDWRITTEN, wrong, note)


def in_torch(model: ModuleType, twin: Any, compiled: bool, expected: Outcome | None = None) -> Contender:
    """The twin of a program in PyTorch, as it is or as far as torch.compile compiles it; its batches are made before they are timed."""
    program = twin(model.PROGRAM())
    if compiled:
        program.compile()
    rehearsal = Rehearsal(model, program, lambda: lambda *batch: program.step(*program.batch(*batch)).numpy())
    wrong = _difference_in_results(model, expected or eager_outcome(model), rehearsal.outcome)
    batches = itertools.cycle([program.batch(*batch) for batch in model.batches(BATCHES)])
    contender = rehearsal.contender(TORCH_COMPILED if compiled else TORCH, wrong)
    return replace(contender, call=lambda: program.step(*next(batches)))


def eager_outcome(model: ModuleType) -> Outcome:
    """What the program does as it is written."""
    program = model.PROGRAM()
    return Rehearsal(model, program, lambda: program.step).outcome


def _difference_in_results(model: ModuleType, expected: Outcome, found: Outcome) -> str:
    """How the results of a program written another way differ."""
    if _draws(model):
        return difference_in_kind(expected, found)
    return difference(returned_only(expected), returned_only(found), same_types=False)


def _draws(model: ModuleType) -> bool:
    return bool(getattr(model, "OTHER_RANDOM_NUMBERS", False))


def _cycled(model: ModuleType, step: Step) -> Call:
    """Calls with one batch after the other, round and round."""
    batches = itertools.cycle(model.batches(BATCHES))
    return lambda: step(*next(batches))
