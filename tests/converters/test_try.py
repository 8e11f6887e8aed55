"""``except*``, which programs for Python 3.10 cannot contain."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tensorflow as tf

import imp2tf
from tests.loading import load

SOURCE = """
    def fn(x):
        caught = []
        for step in range(2):
            try:
                y = x * 2.0
                if x > 0.0:
                    raise ExceptionGroup("failed", [ValueError("v"), TypeError("t")])
                caught.append("none")
            except* ValueError as group:
                caught += [str(error) for error in group.exceptions]
            except* TypeError:
                y = x
            x = y
        return y, caught
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in Python 3.11")
def test_except_star_runs_as_python(tmp_path: Path) -> None:
    plain = load(tmp_path, SOURCE)["fn"]
    converted = imp2tf.convert(plain, profile_runs=0)
    for value in (-1.0, 2.0, 3.0):
        (expected, caught), (result, also_caught) = plain(tf.constant(value)), converted(tf.constant(value))
        assert float(result) == float(expected) and also_caught == caught
    reasons = {(entry["code"], entry["reason"]) for entry in converted.stats()["fallbacks"]}
    assert reasons == {("I2T105", "except* runs as Python only")}
