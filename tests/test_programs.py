"""Every program of `tests/programs` against plain eager: converted at once, and some with default options."""
from __future__ import annotations

import pytest

from tests.differential import ROUNDS_OF_DEFAULT, check
from tests.programs import Program, all_programs

PROGRAMS = all_programs()
WITH_DEFAULT_OPTIONS = PROGRAMS[::5]


def _ids(programs: list[Program]) -> list[str]:
    return [f"{entry.feature}/{entry.name}" for entry in programs]


@pytest.mark.parametrize("entry", PROGRAMS, ids=_ids(PROGRAMS))
def test_program(entry: Program) -> None:
    check(entry.make, grad=entry.grad, repeat=entry.repeat, graph=entry.graph or None)


@pytest.mark.parametrize("entry", WITH_DEFAULT_OPTIONS, ids=_ids(WITH_DEFAULT_OPTIONS))
def test_program_with_default_options(entry: Program) -> None:
    check(entry.make, grad=entry.grad, repeat=ROUNDS_OF_DEFAULT, convert_kw={}, graph=entry.graph or None)
