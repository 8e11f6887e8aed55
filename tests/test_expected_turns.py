"""How often the bodies of loops are traced until they fit; that all are right is in `tests/programs/expected_turns.py`."""
from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import imp2tf
from imp2tf import looping
from tests.programs import all_programs

TRACED = {
    "attributes_of_a_parameter": 1,
    "rows_that_grow": 1,
    "a_count_that_stands_still": 2,  # the guess is taken back: what stands still is known to Python
    "a_way_out_by_python_only": 2,
    "counts_and_sets": 2,  # on an object that is no local variable
}


@pytest.mark.parametrize("name", TRACED)
def test_bodies_are_traced_no_oftener_than_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []
    build = looping._build

    def building(*args: Any) -> Any:
        traced.append(args)
        return build(*args)

    monkeypatch.setattr(looping, "_build", building)
    entry = next(entry for entry in all_programs() if entry.feature == "expected_turns" and entry.name == name)
    function, calls = entry.make()[:2]
    converted = imp2tf.convert(function, profile_runs=0)
    args, kwargs = calls[0]
    with contextlib.redirect_stdout(io.StringIO()):
        converted(*args, **kwargs)
    assert not converted.stats()["fallbacks"]
    assert len(traced) == TRACED[name]
