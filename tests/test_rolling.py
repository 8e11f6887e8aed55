"""Which loops of a known number of turns become loops of the graph; that all are right is in `tests/programs/rolled_loops.py`."""
from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Hashable

import pytest
import tensorflow as tf

import imp2tf
from imp2tf.rolling import FirstTurn
from tests.programs import all_programs

FOUND = {
    "a_branch_and_a_count": [True],
    "draws_of_eagers_stream": [True],
    "attributes_and_a_variable": [True],
    "two_names_that_change_places": [True],
    "a_tape_in_each_turn": [True],
    "in_a_branch_and_in_a_loop": [True, True, True],
    "objects_that_the_turn_changes": [True],
    "draws_by_seeds_of_their_own": [False],
    "a_list_that_grows": [False],
    "a_print_in_each_turn": [False],
    "a_raise_in_some_turn": [False],
    "a_shape_that_widens": [False],
    "a_swap_of_two_kinds": [False],
    "under_a_tape_of_the_function": [],
    "ways_out_of_the_loop": [],
    "a_handler_around_it": [],
    "the_item_is_needed_after_all": [],
    "a_function_that_sees_the_item": [],
}


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the loops met so far were rolled."""
    found: list[bool] = []
    original = FirstTurn.is_followed_by

    def noted(self: FirstTurn, turn: Callable[[], None], turns: int, site: Hashable) -> bool:
        found.append(original(self, turn, turns, site))
        return found[-1]

    monkeypatch.setattr(FirstTurn, "is_followed_by", noted)
    return found


@pytest.mark.parametrize("name", FOUND)
def test_loops_are_rolled_where_turns_are_alike(name: str, decisions: list[bool]) -> None:
    entry = next(entry for entry in all_programs() if entry.feature == "rolled_loops" and entry.name == name)
    fn, calls, *_ = entry.make()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ValueError):
        imp2tf.convert(fn, profile_runs=0)(*calls[0][0])
    assert decisions == FOUND[name]


def test_few_or_cheap_turns_are_unrolled(decisions: list[bool]) -> None:
    @imp2tf.convert(profile_runs=0)
    def fn(x: tf.Tensor) -> tf.Tensor:
        for _ in range(100):
            x = x * 2.0 + 1.0
        return x

    fn(tf.ones([2]))
    assert decisions == [False]


def test_a_call_under_a_tape_is_traced_turn_by_turn(decisions: list[bool]) -> None:
    fn = imp2tf.convert(next(entry for entry in all_programs() if entry.name == "a_branch_and_a_count").make()[0], profile_runs=0)
    x = tf.constant([1.0, -2.0])
    fn(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = fn(x)[0]
    assert tape.gradient(result, x) is not None
    assert decisions == [True]
