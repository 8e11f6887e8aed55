"""What functions are rewritten to, file by file, and what is not rewritten at all."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.golden import check_golden, golden_text, normalised, plain, rewritten
from tests.noop_twins import NOOPS
from tests.programs import all_programs

GOLDEN = [entry for entry in all_programs() if entry.golden]


@pytest.mark.parametrize("feature", sorted({entry.feature for entry in GOLDEN}))
def test_golden(feature: str, update_golden: bool) -> None:
    functions = [(entry.name, entry.make()[0]) for entry in GOLDEN if entry.feature == feature]
    check_golden(feature, golden_text(functions), update_golden)


@pytest.mark.parametrize("fn", [pytest.param(fn, id=why) for why, fn in NOOPS])
def test_stays_as_it_is(fn: Callable[..., Any]) -> None:
    without_decorator = plain(fn).partition("\n")[2]
    assert normalised(rewritten(fn)) == normalised(without_decorator)
