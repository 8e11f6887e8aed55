"""Runs one program in two worlds, eager and converted, and says where they part."""
from __future__ import annotations

import gc
import importlib.util
import itertools
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fuzz.outcome import Outcome, kind_of
from tests.fuzz.programs import Program
from tests.fuzz.unused import skipped_failures, twin
from tests.harness.comparison import Difference
from tests.harness.description import Description, Leaf, Node, describe
from tests.harness.judging import judge
from tests.harness.world import Make, Plan, Record, run_world

COLLECT_EVERY = 10    # programs
EAGER_LIMIT, CONVERTED_LIMIT = 8.0, 40.0    # seconds for all calls
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_WHILE_TRACING = re.compile(r"(\w+) while tracing")
NOTHING = describe(())
_numbers, _judged = itertools.count(), itertools.count(1)


def run_program(program: Program, folder: Path, convert_kw: Mapping[str, Any]) -> Outcome:
    """Both worlds of a program, compared."""
    start = time.monotonic()
    worlds = _worlds(program, folder, convert_kw)
    if isinstance(worlds, str):
        return Outcome(invalid=worlds)
    eager, other = worlds
    verdict = judge(eager, other)
    for line in skipped_failures(eager, other):
        printing = twin(program, line)
        both = "" if printing is None else _worlds(printing, folder, convert_kw)
        if not isinstance(both, str) and not skipped_failures(*both):
            return Outcome(invalid="an operation fails whose result nobody uses")
    found = (*verdict.found, *_internal_errors(eager, other, convert_kw.get("profile_runs", 0)))
    if next(_judged) % COLLECT_EVERY == 0:
        gc.collect()    # graphs are cycles; after each program it would take a quarter of the time
    return Outcome(
        found, tuple(sorted(_reasons(other))), verdict.in_graph, trace=_trace(eager, other),
        seconds=time.monotonic() - start, kinds=frozenset(kind_of(one) for one in found))


def _worlds(program: Program, folder: Path, convert_kw: Mapping[str, Any]) -> tuple[Record, Record] | str:
    """What a program does in eager and converted, or why it does not count."""
    path = folder / f"program_{next(_numbers)}.py"
    path.write_text(program.text, encoding="utf-8")
    grad = int(program.grad)
    try:
        make = _fresh(path)
    except Exception as error:
        return f"does not load: {error!r}"
    if problem := _problem(make):
        return problem
    eager = run_world(make, Plan("eager", grad, 1, time_limit=EAGER_LIMIT))
    if eager.timed_out:
        return "eager takes too long"
    other = run_world(_fresh(path), Plan("imp2tf", grad, 1, convert_kw, CONVERTED_LIMIT))
    _mask_addresses(eager)
    _mask_addresses(other)
    return eager, other


def _problem(make: Make) -> str:
    """Why a program cannot be run at all; parts that the shrinker removed may be missing."""
    try:
        function, calls, state = make()
        state()
    except Exception as error:
        return f"does not load: {error!r}"
    return "" if callable(function) and isinstance(calls, list) else "makes nothing to call"


def _fresh(path: Path) -> Make:
    """The program's ``make`` from an import of its own."""
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make


def _mask_addresses(record: Record) -> None:
    """Addresses of objects in texts, printed, raised, returned or kept, differ from world to world."""
    for call in record.calls:
        call.result, call.arguments, call.state = map(_without_addresses, (call.result, call.arguments, call.state))
        call.text = {stream: [_ADDRESS.sub("", line) for line in lines] for stream, lines in call.text.items()}
        if call.raised and _ADDRESS.search(call.raised.message):
            call.raised = replace(call.raised, message=_ADDRESS.sub("", call.raised.message), args=NOTHING)


def _without_addresses(found: Description | None) -> Description | None:
    if isinstance(found, Leaf):
        return replace(found, value=_ADDRESS.sub("", found.value)) if isinstance(found.value, str) else found
    if isinstance(found, Node):
        return replace(found, items=tuple((_ADDRESS.sub("", label), _without_addresses(part)) for label, part in found.items))
    return found


def _internal_errors(eager: Record, other: Record, profile_runs: int) -> Iterator[Difference]:
    """Errors of imp2tf itself: Python errors met while tracing that the program does not raise, and calls as Python without a reason."""
    raised = {call.raised.name.rsplit(".", 1)[-1] for call in eager.calls if call.raised}
    for code, reason in sorted(_reasons(other)):
        match = _WHILE_TRACING.match(reason)
        if code == "I2T109" and match and match[1] not in raised:
            yield Difference("internal error", match[1], "no error", reason)
    explained = profile_runs + sum(entry["count"] for entry in other.stats.get("fallbacks", ())) + sum(bool(call.raised) for call in eager.calls)
    silent = other.stats.get("eager_calls", 0) - explained
    if silent > 0:
        yield Difference("silence", "fallbacks", "every call as Python has a reason", f"{silent} calls have none")


def _reasons(record: Record) -> set[tuple[str, str]]:
    return {(entry["code"], entry["reason"]) for entry in record.stats.get("fallbacks", ())}


def _trace(eager: Record, other: Record) -> str:
    """The traceback of the first exception of the converted world that eager does not raise."""
    for one, two in zip(eager.calls, other.calls):
        if two.raised and (not one.raised or one.raised.name != two.raised.name):
            return two.raised.trace
    return ""
