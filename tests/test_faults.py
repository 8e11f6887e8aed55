"""Everything that can fail is made to fail in turn: guards, host calls, assertions, runs. What a call does stays what eager does, once."""
from __future__ import annotations

import copy
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import tf_compat
from imp2tf.guards import compile_guards
from imp2tf.relaxations import Guard
from imp2tf.sources import Held
from tests.fault_programs import Training, numbers, pure, searching, step

CALLS = 4
PROGRAMS = [step, searching, numbers]
ARGUMENTS = [0.5, 3.0, 0.1, 7.5]


class Stream(io.StringIO):
    """Text output that breaks at one of the writes."""

    def __init__(self, broken: int | None = None) -> None:
        super().__init__()
        self.broken = broken
        self.writes = 0

    def write(self, text: str) -> int:
        if text.strip():
            self.writes += 1
            if self.writes == self.broken:
                raise OSError("the pipe is broken")
        return super().write(text)


def observed(value: Any) -> Any:
    """A value as far as it is compared."""
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return type(value).__name__, round(float(value), 4)
    if isinstance(value, (list, tuple)):
        return type(value), [observed(one) for one in value]
    return {key: observed(one) for key, one in value.items()} if isinstance(value, dict) else (type(value), value)


def history(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, before: Callable[[int], object] = lambda i: None,
            broken: int | None = None, arguments: list[float] = ARGUMENTS) -> Iterator[Any]:
    """What each of some calls returns or raises, prints and leaves behind."""
    program = Training()
    for i, value in enumerate(arguments):
        before(i)
        stream = Stream(broken)
        monkeypatch.setattr(sys, "stdout", stream)
        try:
            result = observed(function(program, tf.constant(value)))
        except (AssertionError, OSError) as error:
            result = type(error), str(error)
        finally:
            monkeypatch.undo()
        yield result, stream.getvalue(), observed(copy.copy(vars(program)))


def never(guard: Guard) -> Guard:
    """A guard of the same value that does not hold."""
    return Guard(guard.source, "identity", Held(Training()))


@pytest.mark.parametrize("function", PROGRAMS)
def test_every_guard_fails_in_turn(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(history(function, monkeypatch))
    converted = imp2tf.convert(function, profile_runs=0, recompile_limit=100)
    assert list(history(converted, monkeypatch)) == expected
    for i in range(max(len(graph.guards) for graph in converted._dispatcher.graphs)):
        fresh = imp2tf.convert(function, profile_runs=0, recompile_limit=100)

        def sabotage(call: int, fresh: Any = fresh, i: int = i) -> None:
            for graph in fresh._dispatcher.graphs if call == CALLS - 1 else ():
                if i < len(graph.guards):
                    guards = [never(guard) if place == i else guard for place, guard in enumerate(graph.guards)]
                    graph.admit = compile_guards(guards, graph.captures)

        assert list(history(fresh, monkeypatch, sabotage)) == expected
        assert fresh.stats()["graph_calls"] == CALLS


@pytest.mark.parametrize("function", PROGRAMS)
def test_every_host_call_fails_in_turn(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in range(1, 3):
        expected = list(history(function, monkeypatch, broken=broken, arguments=ARGUMENTS[:1]))
        converted = imp2tf.convert(function, profile_runs=0)
        found = list(history(converted, monkeypatch, broken=broken, arguments=ARGUMENTS[:1]))
        for (result, text, state), (result_found, text_found, state_found) in zip(expected, found, strict=True):
            assert (result_found, text_found, state_found["weight"]) == (result, text, state["weight"])


@pytest.mark.parametrize("arguments", [[12.0, 1.0], [7.75, 0.5, 4.0], [4.2, 9.0], [8.2, 3.0]])
def test_every_assertion_fails_in_turn(arguments: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(history(searching, monkeypatch, arguments=arguments))
    converted = imp2tf.convert(searching, profile_runs=0)
    assert list(history(converted, monkeypatch, arguments=arguments)) == expected


@pytest.mark.parametrize("failing", range(CALLS))
def test_every_run_fails_in_turn(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(history(pure, monkeypatch))
    converted = imp2tf.convert(pure, profile_runs=0)
    call = tf_compat.DirectCall.__call__

    def fail_once(i: int) -> None:
        def refused(self: Any, inputs: Any) -> Any:
            tf_compat.DirectCall.__call__ = call  # type: ignore[method-assign]
            raise tf.errors.ResourceExhaustedError(None, None, "out of memory")

        tf_compat.DirectCall.__call__ = refused if i == failing else call  # type: ignore[assignment,method-assign]

    try:
        assert list(history(converted, monkeypatch, fail_once)) == expected
    finally:
        tf_compat.DirectCall.__call__ = call  # type: ignore[method-assign]
    assert converted.stats()["eager_calls"] == 1
