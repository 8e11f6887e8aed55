"""What type checkers see of the front door. Never run: `scripts/typecheck.sh` checks it.

A line with ``type: ignore`` has to be wrong: mypy reports comments that ignore nothing.
"""
from __future__ import annotations

from typing_extensions import assert_type

import imp2tf


@imp2tf.convert
def scaled(x: float, by: int = 2) -> str:
    """Decorated without options."""
    return str(x * by)


@imp2tf.convert(fullgraph=True, profile_runs=0)
def counted(x: list[int]) -> int:
    """Decorated with options."""
    return len(x)


@imp2tf.disable
def noted(x: float, *, by: str = "") -> None:
    """Left to Python."""


class Model:
    """Methods."""

    @imp2tf.convert
    def step(self, x: float) -> bytes:
        """An instance method."""
        return bytes(int(x))

    @imp2tf.convert(name="rate")
    def rate(self) -> float:
        """An instance method, with options."""
        return 1.0


assert_type(scaled(1.0), str)
assert_type(scaled(1.0, by=3), str)
assert_type(scaled.stats()["fallbacks"] is None, bool)
scaled("one")  # type: ignore[arg-type]
scaled(1.0, to=3)  # type: ignore[call-arg]

assert_type(counted([1]), int)
counted("one")  # type: ignore[arg-type]

assert_type(imp2tf.convert(len)([1]), int)
assert_type(imp2tf.convert(lambda: "text")(), str)

assert_type(Model().step(1.0), bytes)
assert_type(Model.step(Model(), 1.0), bytes)
assert_type(Model().rate(), float)
Model().step("one")  # type: ignore[arg-type]

noted(1.0, by="me")
noted(1.0, by=2.0)  # type: ignore[arg-type]

imp2tf.convert(scaled, rewrite="safe", jit_compile=None)
imp2tf.convert(scaled, rewrite="quick")  # type: ignore[call-overload]
imp2tf.convert(scaled, no_such_option=1)  # type: ignore[call-overload]
imp2tf.convert(3)  # type: ignore[call-overload]

with imp2tf.set_stance("verify"):
    scaled(1.0)
