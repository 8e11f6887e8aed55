"""What ``while`` and ``for`` share: run in Python while Python decides, in the graph from the moment a tensor does."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import tensorflow as tf

from imp2tf.errors import NeedsValue, fall_back
from imp2tf.exits import CONTINUE, clear, end_of_loop, exit_code, none_under_way
from imp2tf.operations import truth_as_number
from imp2tf.region import State, loop, select

__all__ = ["LoopParts", "run_loop"]

MAX_PYTHON_TURNS = 20000


@dataclasses.dataclass(frozen=True)
class LoopParts:
    """A loop: `test` gives a truth, `turn` runs the body once. `exits` says whether the state begins with an exit."""

    test: Callable[[], Any]
    turn: Callable[[], None]
    orelse: Callable[[], None] | None
    state: State
    exits: bool
    site: Hashable


def run_loop(parts: LoopParts) -> None:
    """Run a loop and its else block."""
    _turns(parts)
    if parts.exits:
        end_of_loop(parts.orelse or (lambda: None), parts.state)
    elif parts.orelse is not None:
        parts.orelse()


def _one(parts: LoopParts) -> None:
    parts.turn()
    if parts.exits:
        clear(parts.state, CONTINUE)


def _goes_on(parts: LoopParts) -> Any:
    """Whether there is another turn: a bool or a scalar bool tensor. The test is not run after an exit."""
    clean = none_under_way(exit_code(parts.state)) if parts.exits else True
    if isinstance(clean, bool):
        return _truth(parts.test()) if clean else False
    return _truth(select(clean, lambda: truth_as_number(_number(parts.test())), lambda: False, parts.state))


def _truth(value: Any) -> Any:
    found = truth_as_number(value) if not isinstance(value, (bool, tf.Tensor)) else value
    return found if isinstance(found, (bool, tf.Tensor)) else found.tensor


def _number(value: Any) -> Any:
    return value


def _turns(parts: LoopParts) -> None:
    for _ in range(MAX_PYTHON_TURNS):
        go = _goes_on(parts)
        if not isinstance(go, bool):
            break
        if not go:
            return
        _one(parts)
    else:
        fall_back(NeedsValue, f"a loop that Python decides runs more than {MAX_PYTHON_TURNS} turns")

    def step() -> Any:
        _one(parts)
        return tf.convert_to_tensor(_goes_on(parts))

    loop(go, step, parts.state, parts.site)
