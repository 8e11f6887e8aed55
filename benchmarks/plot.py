"""How many times as fast as eager each way to run each program is, as a picture."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contenders import AUTOGRAPH, COMPILED, CONVERTED, EAGER, HANDWRITTEN, TORCH, TORCH_COMPILED
from benchmarks.protocol import Result

SHOWN = (AUTOGRAPH, HANDWRITTEN, COMPILED, TORCH, TORCH_COMPILED, CONVERTED)


def speedups(results: list[Result]) -> dict[str, dict[str, float]]:
    """For each program and each way whose results are eager's, how many times as fast as eager it is."""
    seconds: dict[str, dict[str, float]] = {}
    for result in results:
        if result.suite == "step" and result.timing is not None:
            seconds.setdefault(result.case, {})[result.contender] = result.timing.median
    return {case: {name: own[EAGER] / own[name] for name in SHOWN if name in own}
            for case, own in seconds.items() if EAGER in own}


def draw(path: Path, results: list[Result]) -> str:
    """Write the picture; returns a line that says so, or why not."""
    found = speedups(results)
    if not found:
        return "nothing to draw: no program was measured"
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed"
    figure = Figure(figsize=(10.0, 1.5 + 0.5 * len(found)), layout="constrained")
    axes = figure.add_subplot()
    shown = [name for name in SHOWN if any(name in own for own in found.values())]
    height = 0.8 / len(shown)
    for index, name in enumerate(shown):
        rows = [row - index * height for row, case in enumerate(reversed(found)) if name in found[case]]
        axes.barh(rows, [own[name] for own in reversed(found.values()) if name in own], height, label=name)
    axes.set_yticks([row - (len(shown) - 1) / 2 * height for row in range(len(found))], list(reversed(found)))
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as eager, steady step (missing: other results than eager)")
    axes.legend()
    figure.savefig(path, dpi=120)
    return f"picture: {path}"
