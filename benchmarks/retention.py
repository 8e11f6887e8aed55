"""Resident memory: what a call with ever-new arguments keeps, and what is left of functions that are made, called and dropped.

Each case runs in a process of its own. After a warm-up memory is looked at a few times; the figure is the slope, in bytes for
one call or round. TensorFlow keeps a little for each new Python number and shape itself, so plain Python is measured too.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import imp2tf
from benchmarks.contenders import CONVERTED, EAGER
from benchmarks.protocol import Result, Settings, Timing

LOOKS = 6
Convert = Callable[[Callable[..., Any]], Callable[..., Any]]


def scaled(x: tf.Tensor, text: str, n: float) -> tf.Tensor:
    """Text steers Python, so that no graph serves another one; numbers and shapes are generalised."""
    return x * n + len(text)


def new_signatures(convert: Convert) -> Callable[[int], object]:
    """Shapes, numbers and texts that no earlier call had."""
    function = convert(scaled)
    return lambda i: function(tf.zeros([i % 50 + 1]) if i % 2 else tf.zeros([2, i % 70 + 1]), f"text {i}", i)


def new_shapes_and_numbers(convert: Convert) -> Callable[[int], object]:
    """Shapes and numbers that no earlier call had: one graph serves them."""
    function = convert(lambda x, n: x * n)
    return lambda i: function(tf.zeros([i % 500 + 1]), i)


class Layer:
    """An object with a variable and a method."""

    def __init__(self) -> None:
        self.weight = tf.Variable(tf.ones([64, 64]))
        self.steps = 2

    def step(self, x: tf.Tensor) -> tf.Tensor:
        """Some arithmetic and a branch."""
        for _ in range(self.steps):
            x = tf.tanh(x @ self.weight)
        return x * 2.0 if tf.reduce_sum(x) > 0.0 else x


def made_and_dropped(convert: Convert) -> Callable[[int], object]:
    """Make an object, convert its method, call it, also under a tape, and forget both."""
    x = tf.ones([2, 64])

    def round_of(_: int) -> None:
        layer = Layer()
        step = convert(layer.step)
        step(x)
        with tf.GradientTape() as tape:
            result = step(x)
        tape.gradient(result, layer.weight)

    return round_of


_CASES: dict[str, tuple[Callable[[Convert], Callable[[int], object]], int]] = {
    "new signatures": (new_signatures, 10_000),
    "new shapes and numbers": (new_shapes_and_numbers, 10_000),
    "made and dropped": (made_and_dropped, 1_000),
}

CASES = tuple(_CASES)


def run(case: str, settings: Settings) -> list[Result]:
    """Measure one case, each contender in a process of its own."""
    times = max(LOOKS, round(_CASES[case][1] * settings.retention_share))
    results = []
    for contender in (EAGER, CONVERTED):
        command = [sys.executable, "-m", "benchmarks.retention", case, contender, str(times)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        found = json.loads(done.stdout.splitlines()[-1])
        note = f"{found['grown'] / 2**20:.1f} MB in {times} calls after warm-up, {found['resident'] / 2**20:.0f} MB resident"
        timing = Timing(found["slope"], found["slope"], found["slope"], LOOKS)
        results.append(Result("retention", case, contender, timing, note=note, unit="B"))
    return results


def measured(case: str, contender: str, times: int) -> dict[str, float]:
    """Slope of the resident memory, what it has grown by, and what it is."""
    convert: Convert = imp2tf.convert(profile_runs=0) if contender == CONVERTED else lambda function: function  # type: ignore[assignment]
    act = _CASES[case][0](convert)
    step = max(1, times // (LOOKS - 1))
    for i in range(step // 2):
        act(i)
    seen = [_resident()]
    for look in range(1, LOOKS):
        for i in range((look - 1) * step, look * step):
            act(i + step)
        seen.append(_resident())
    slope = float(np.polyfit(np.arange(LOOKS) * step, seen, 1)[0])
    return {"slope": slope, "grown": seen[-1] - seen[0], "resident": seen[-1]}


def _resident() -> int:
    """Bytes in memory, once garbage and what the allocator holds back are returned."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    import resource  # there, only the highest value is known

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
