"""What a warm call costs when there is next to nothing to compute: guards, flattening, the call, packing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

import imp2tf
from benchmarks.checks import difference, outcome
from benchmarks.contenders import AUTOGRAPH, CONCRETE, CONVERTED, EAGER, Step
from benchmarks.protocol import Call, Contender, Result, Settings, measure

# Calls in a row whose last result is compared, and after which everything that is going to be converted is.
CHECKED_CALLS = 4


@dataclass(frozen=True)
class Case:
    """A function, its arguments, and whether a gradient is taken through the call."""

    function: Step
    arguments: tuple[Any, ...]
    taped: bool = False


def one_tensor(x: tf.Tensor) -> tf.Tensor:
    """One in, one out."""
    return x + 1.0


def ten_tensors(
    a: tf.Tensor, b: tf.Tensor, c: tf.Tensor, d: tf.Tensor, e: tf.Tensor,
    f: tf.Tensor, g: tf.Tensor, h: tf.Tensor, i: tf.Tensor, j: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """Ten in, ten out."""
    return a + b, b + c, c + d, d + e, e + f, f + g, g + h, h + i, i + j, j + a


def nested_dict(batch: dict[str, Any]) -> dict[str, Any]:
    """Seven in, four out, both in a structure."""
    image, (left, right) = batch["image"], batch["boxes"]
    meta = batch["meta"]
    return {"image": image + meta["shift"], "boxes": [left * meta["scale"], right * meta["scale"]],
            "extra": {"sum": meta["weights"][0] + meta["weights"][1]}}


class Scaling:
    """A method that reads five attributes."""

    def __init__(self) -> None:
        self.factor = 2.0
        self.power = 1
        self.centred = True
        self.name = "scaling"
        self.offset: float | None = None

    def apply(self, x: tf.Tensor) -> tf.Tensor:
        """Each attribute decides something."""
        if self.centred:
            x = x - 1.0
        if self.offset is not None:
            x = x + self.offset
        if self.name == "scaling":
            x = x * self.factor
        for _ in range(self.power):
            x = x * x
        return x


class Dense:
    """A layer with a kernel and a bias."""

    def __init__(self) -> None:
        self.kernel = tf.Variable(tf.eye(8))
        self.bias = tf.Variable(tf.zeros([8]))

    def apply(self, x: tf.Tensor) -> tf.Tensor:
        """An affine map and its squared length."""
        return tf.reduce_sum((x @ self.kernel + self.bias) ** 2.0)


class Bank:
    """An object with fifty variables."""

    def __init__(self) -> None:
        self.offsets = [tf.Variable(float(i)) for i in range(50)]

    def apply(self, x: tf.Tensor) -> tf.Tensor:
        """All are read."""
        for offset in self.offsets:
            x = x + offset
        return x


def _batch() -> dict[str, Any]:
    ones = tf.ones([4])
    return {"image": ones, "boxes": (ones, ones),
            "meta": {"shift": ones, "scale": ones, "weights": [ones, ones]}}


# Arguments are made when a case is run, so that importing this file starts nothing in TensorFlow.
_CASES: dict[str, Callable[[], Case]] = {
    "one tensor": lambda: Case(one_tensor, (tf.ones([]),)),
    "ten tensors": lambda: Case(ten_tensors, (tf.ones([]),) * 10),
    "nested dict": lambda: Case(nested_dict, (_batch(),)),
    "five attributes": lambda: Case(Scaling().apply, (tf.ones([4]),)),
    "fifty variables": lambda: Case(Bank().apply, (tf.ones([]),)),
    "under a tape": lambda: Case(Dense().apply, (tf.ones([8, 8]),), taped=True),
}

CASES = tuple(_CASES)


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one kind of call."""
    return measure("dispatch", case, _contenders(_CASES[case]()), settings, graphs_only=True)


def _contenders(case: Case) -> list[Contender]:
    function, arguments = case.function, case.arguments
    converted = imp2tf.convert(function)
    functions = {
        EAGER: function,
        AUTOGRAPH: tf.function(function),
        CONCRETE: tf.function(function).get_concrete_function(*arguments),
        CONVERTED: converted,
    }
    calls = {name: _call(way, case) for name, way in functions.items()}
    outcomes = {name: outcome(partial(_last_of, call)) for name, call in calls.items()}
    return [
        Contender(name, call, difference(outcomes[EAGER], outcomes[name]),
                  stats=converted.stats if name == CONVERTED else None)
        for name, call in calls.items()
    ]


def _last_of(call: Call) -> Any:
    return [call() for _ in range(CHECKED_CALLS)][-1]


def _call(function: Step, case: Case) -> Call:
    """The call measured: plain, or recorded by a tape and differentiated."""
    arguments = case.arguments
    if not case.taped:
        return lambda: function(*arguments)

    def taped() -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments)
        return tape.gradient(result, arguments[0])

    return taped
