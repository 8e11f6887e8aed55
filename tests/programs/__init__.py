"""Plain TensorFlow programs, by language feature; they know nothing of imp2tf.

Each program is a factory that returns a fresh function, the calls to make, and often a snapshot of the state
to look at. The functions under test are written as users write them, so most go without annotations.
"""
from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

Call = tuple[Any, ...]     # (args, kwargs) or (args, kwargs, step before the call)
World = tuple[Any, ...]    # (fn, calls) or (fn, calls, snapshot)
Make = Callable[[], World]


@dataclass(frozen=True)
class Program:
    """A program: `grad` is the order of gradients to compare, `graph` says that it has to be in the graph."""

    feature: str
    make: Make
    grad: int
    graph: bool
    golden: bool
    repeat: int

    @property
    def name(self) -> str:
        """The factory's name."""
        return self.make.__name__

    @property
    def label(self) -> str:
        """What no other program is called."""
        return f"{self.feature}/{self.name}"


_registered: dict[tuple[str, str], Program] = {}


def program(feature: str, *, grad: int = False, graph: bool = False, golden: bool = False,
            repeat: int = 2) -> Callable[[Make], Make]:
    """Register a factory under `feature`; `golden` keeps its rewritten source among the golden files."""
    def register(make: Make) -> Make:
        key = feature, make.__name__
        if key in _registered:
            raise ValueError(f"there are two programs {feature}/{make.__name__}")
        _registered[key] = Program(feature, make, int(grad), graph, golden, repeat)
        return make
    return register


def all_programs() -> list[Program]:
    """Every program, ordered by feature and then as written."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return sorted(_registered.values(), key=lambda entry: entry.feature)


def call(*args: Any, **kwargs: Any) -> Call:
    """One call, with any arguments."""
    return args, kwargs


def each(*values: Any) -> list[Call]:
    """Calls with one argument each."""
    return [call(value) for value in values]


def after(step: Callable[[], object], *args: Any, **kwargs: Any) -> Call:
    """One call, before which `step` changes something from outside."""
    return args, kwargs, step


def f32(value: Any) -> tf.Tensor:
    """A float32 tensor."""
    return tf.constant(value, tf.float32)


def f64(value: Any) -> tf.Tensor:
    """A float64 tensor."""
    return tf.constant(value, tf.float64)


def f16(value: Any) -> tf.Tensor:
    """A float16 tensor."""
    return tf.constant(value, tf.float16)


def i32(value: Any) -> tf.Tensor:
    """An int32 tensor."""
    return tf.constant(value, tf.int32)


def i64(value: Any) -> tf.Tensor:
    """An int64 tensor."""
    return tf.constant(value, tf.int64)


def flag(value: Any) -> tf.Tensor:
    """A tensor of bool."""
    return tf.constant(value, tf.bool)


def text(value: Any) -> tf.Tensor:
    """A tensor of strings."""
    return tf.constant(value, tf.string)
