"""Random programs: a bounded run of the generator, and the parts of it that need no TensorFlow."""
from __future__ import annotations

import ast

import pytest

from tests.fuzz.outcome import Outcome
from tests.fuzz.programs import Program, write_program
from tests.fuzz.running import run_program
from tests.fuzz.shrinking import shrink

SEED, COUNT, PARTS = 20, 60, 10


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part, tmp_path) -> None:
    for number in range(part, COUNT, PARTS):
        program = write_program(f"{SEED}:{number}")
        outcome = run_program(program, tmp_path, {"profile_runs": 0})
        assert not outcome.differences, f"{program.text}\n{outcome.differences[0]}"


def test_a_seed_gives_one_program() -> None:
    assert write_program("1:2").text == write_program("1:2").text
    assert write_program("1:2").text != write_program("1:3").text


def test_programs_are_python() -> None:
    for number in range(100):
        ast.parse(write_program(f"0:{number}").text)


def test_shrinking_keeps_what_differs() -> None:
    def run(program: Program) -> Outcome:
        return Outcome(kinds=frozenset(["result"] if "tf.range" in program.text and "def f" in program.text else []))

    number = next(n for n in range(100) if "tf.range" in write_program(f"0:{n}").text)
    program = write_program(f"0:{number}")
    small, outcome = shrink(program, run(program), run)
    assert outcome.kinds == {"result"} and len(small.text) < len(program.text) / 2


UNUSED = """
import tensorflow as tf


def f(x, v):
    w = 1.0
    for _ in tf.range(2):
        {statement}
    return x {used}


def make():
    return f, [((tf.constant(1.0), tf.ones([n])), {{}}) for n in (3, 4, 5)], lambda: None
"""


def test_an_operation_that_fails_unused_fails(tmp_path) -> None:
    def outcome(statement: str, used: str = "") -> Outcome:
        return run_program(Program("unused", UNUSED.format(statement=statement, used=used)), tmp_path, {"profile_runs": 0})

    for found in outcome("w = tf.ones([3]) + v"), outcome("w = tf.ones([3]) + v", used="+ w"), outcome("w = v[0]"):
        assert (found.invalid, found.differences) == ("", ())
