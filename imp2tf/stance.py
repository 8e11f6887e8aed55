"""`set_stance` chooses what all converted functions of the process do: run graphs, run as Python, or compare the two."""
from __future__ import annotations

from types import TracebackType

__all__ = ["set_stance", "stance"]

STANCES = ("default", "force_eager", "verify", "fail_on_recompile")

_chosen = ["default"]


def stance() -> str:
    """The stance in force."""
    return _chosen[-1]


class set_stance:
    """Choose what converted functions do from now on, in all threads; as a context manager, until the block ends.

        imp2tf.set_stance("force_eager")

        with imp2tf.set_stance("verify"):
            step(x)

    Args:
      stance: one of

        - "default": graphs run where there can be any;
        - "force_eager": everything runs as plain Python;
        - "verify": the graph runs first, the variables are restored, and then plain Python runs. The call does what plain Python
          does, and raises `DivergenceError` if the graph did something else;
        - "fail_on_recompile": a function that has a graph and needs another one raises `ConversionError`.

    Raises:
      ValueError: there is no such stance.
    """

    def __init__(self, stance: str) -> None:
        if stance not in STANCES:
            raise ValueError(f"stance must be one of {', '.join(map(repr, STANCES))}, not {stance!r}")
        self._before = _chosen[-1]
        _chosen[-1] = stance

    def __enter__(self) -> None:
        """Nothing to do: the stance is in force already."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _chosen[-1] = self._before
