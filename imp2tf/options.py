"""How one function is to be converted: the keyword arguments of `imp2tf.convert`, checked once."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, TypedDict

import tensorflow as tf

__all__ = ["Keywords", "Options"]

_REWRITES = ("off", "safe", "fast")


class Keywords(TypedDict, total=False):
    """The keyword arguments of `imp2tf.convert`, for type checkers."""

    input_signature: Sequence[Any] | None
    jit_compile: bool | None
    reduce_retracing: bool
    fullgraph: bool
    profile_runs: int
    speculate: bool
    recompile_limit: int
    rewrite: Literal["off", "safe", "fast"]
    name: str | None


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of one converted function; `imp2tf.convert` describes them.

    Attributes:
      input_signature: a sequence of `tf.TypeSpec`, nested as the arguments are, or None to make graphs for the arguments that come.
      jit_compile: True compiles with XLA, False never does, None lets imp2tf choose.
      reduce_retracing: make one graph for all values of a shape or Python number that varies.
      fullgraph: raise `ConversionError` where the call would run as Python.
      profile_runs: how many calls run as plain Python before the first graph is made, 0 or more.
      speculate: leave branches that no graph can hold out of it, and check that they are not entered.
      recompile_limit: how many graphs are made before calls that need yet another one run as Python, 1 or more.
      rewrite: "off", "safe" or "fast"; it has no effect yet.
      name: the name of the graphs, None for that of the function.

    Raises:
      TypeError: an option has the wrong type.
      ValueError: an option has a value that is not allowed, or options contradict each other.
    """

    input_signature: Sequence[Any] | None = None
    jit_compile: bool | None = None
    reduce_retracing: bool = True
    fullgraph: bool = False
    profile_runs: int = 1
    speculate: bool = True
    recompile_limit: int = 8
    rewrite: str = "off"
    name: str | None = None

    def __post_init__(self) -> None:
        _check_bool_or_none("jit_compile", self.jit_compile)
        for option in ("reduce_retracing", "fullgraph", "speculate"):
            _check_bool(option, getattr(self, option))
        _check_count("profile_runs", self.profile_runs, least=0)
        _check_count("recompile_limit", self.recompile_limit, least=1)
        for option, chosen in (("fullgraph", self.fullgraph), ("input_signature", self.input_signature is not None)):
            if chosen and self.profile_runs > 1:
                raise ValueError(f"profile_runs={self.profile_runs} and {option} contradict each other: {option} converts the first call")
        if self.rewrite not in _REWRITES:
            raise ValueError(f"rewrite must be one of {', '.join(map(repr, _REWRITES))}, not {self.rewrite!r}")
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"name must be a string, not {type(self.name).__name__}")
        if self.name == "":
            raise ValueError("name must not be empty")
        if self.input_signature is not None:
            _check_specs(self.input_signature)


def _check_specs(signature: object) -> None:
    if not isinstance(signature, (list, tuple)):
        raise TypeError(f"input_signature must be a list or tuple of tf.TypeSpec, not {type(signature).__name__}")
    for spec in tf.nest.flatten(signature):
        if not isinstance(spec, tf.TypeSpec):
            raise TypeError(f"input_signature must hold nothing but tf.TypeSpec, not {spec!r}")


def _check_bool(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{option} must be True or False, not {value!r}")


def _check_bool_or_none(option: str, value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{option} must be True, False or None, not {value!r}")


def _check_count(option: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{option} must be an int, not {value!r}")
    if value < least:
        raise ValueError(f"{option} must be at least {least}, not {value}")
