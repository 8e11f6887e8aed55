"""Runs one program in two worlds, eager and converted, and says where they part."""
from __future__ import annotations

import gc
import importlib.util
import itertools
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.fuzz.outcome import Outcome, kind_of
from tests.fuzz.programs import Program
from tests.harness.judging import judge
from tests.harness.world import Make, Plan, Record, run_world

EAGER_LIMIT, CONVERTED_LIMIT = 8.0, 40.0    # seconds for all calls
_numbers = itertools.count()


def run_program(program: Program, folder: Path, convert_kw: Mapping[str, Any]) -> Outcome:
    """Both worlds of a program, compared."""
    start = time.monotonic()
    path = folder / f"program_{next(_numbers)}.py"
    path.write_text(program.text, encoding="utf-8")
    grad = int(program.grad)
    eager = run_world(_fresh(path), Plan("eager", grad, 1, time_limit=EAGER_LIMIT))
    if eager.timed_out:
        return Outcome(invalid="eager takes too long")
    other = run_world(_fresh(path), Plan("imp2tf", grad, 1, convert_kw, CONVERTED_LIMIT))
    verdict = judge(eager, other)
    tf.keras.backend.clear_session()
    gc.collect()
    return Outcome(
        verdict.found, tuple(sorted(_reasons(other))), verdict.in_graph, trace=_trace(eager, other),
        seconds=time.monotonic() - start, kinds=frozenset(kind_of(one) for one in verdict.found))


def _fresh(path: Path) -> Make:
    """The program's ``make`` from an import of its own."""
    name = f"{path.stem}_{next(_numbers)}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module.make  # type: ignore[no-any-return]


def _reasons(record: Record) -> set[tuple[str, str]]:
    return {(entry["code"], entry["reason"]) for entry in record.stats.get("fallbacks", ())}


def _trace(eager: Record, other: Record) -> str:
    """The traceback of the first exception of the converted world that eager does not raise."""
    for one, two in zip(eager.calls, other.calls):
        if two.raised and (not one.raised or one.raised.name != two.raised.name):
            return two.raised.trace
    return ""
