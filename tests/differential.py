"""The differential harness: a program's plain eager run is what its converted run has to equal.

    check(make)                                        # an AssertionError that says what parted
    python -m tests.differential --backend autograph imp2tf --isolated --feature while_loop
"""
from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import tensorflow as tf

from tests.harness.backends import BACKENDS, Backend
from tests.harness.isolated import Judging
from tests.harness.judging import Verdict, judge
from tests.harness.report import Tally, explanation, failure_lines, table
from tests.harness.world import Make, Plan, run_world
from tests.programs import Program, all_programs

AT_ONCE = {"profile_runs": 0}    # convert on the first call, so that the first call is judged as well
ROUNDS_OF_DEFAULT = 3    # the profiled call, the first graph, and the one that is judged
STUCK_AFTER = 150.0    # seconds until the process ends
SHOWN = {1: 1, 2: 8}    # differences shown of each program, by verbosity


def verdict(make: Make, *, grad: int = False, repeat: int = 2, convert_kw: Mapping[str, Any] | None = None,
            backend: Backend = "imp2tf") -> Verdict:
    """Run `make`'s program eagerly and on `backend`, each in a world of its own, and compare."""
    tf.get_logger().setLevel("ERROR")
    kw = AT_ONCE if convert_kw is None else convert_kw
    eager, other = (run_world(make, Plan(who, int(grad), repeat, kw)) for who in ("eager", backend))
    return judge(eager, other)


def check(make: Make, *, grad: int = False, repeat: int = 2, convert_kw: Mapping[str, Any] | None = None,
          graph: bool | None = None, backend: Backend = "imp2tf") -> None:
    """Assert that `backend` runs the program just as plain Python does.

    `make()` returns a fresh `(fn, calls)` or `(fn, calls, snapshot)`; a call is `(args, kwargs)` or
    `(args, kwargs, step)`, where `step()` changes something from outside before the call; `snapshot()` gives
    the state to compare. All calls are made `repeat` times. `grad` compares also the gradients by all
    floating-point tensor arguments and by the variables in the snapshot, `grad=2` the second order too.
    `graph=True` (or False) asserts also that the last round ran in graphs (or not).
    """
    found = verdict(make, grad=grad, repeat=repeat, convert_kw=convert_kw, backend=backend)
    wrong_place = graph is not None and found.in_graph is (not graph)
    if not found.right or wrong_place:
        raise AssertionError(explanation(make.__name__, found, graph if wrong_place else None))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: a table of features by backend; exit code 1 if anything is wrong."""
    options = _parser().parse_args(arguments)
    chosen = [program for program in all_programs()
              if (not options.feature or program.feature in options.feature)
              and (not options.program or program.name in options.program)]
    tallies = {backend: _run(chosen, backend, options) for backend in options.backend}
    table(tallies)
    return int(any(tally.wrong for tally in tallies.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=main.__doc__)
    parser.add_argument("--backend", nargs="+", choices=BACKENDS, default=["imp2tf"])
    parser.add_argument("--feature", nargs="*", help="only these features")
    parser.add_argument("--program", nargs="*", help="only the programs of these names")
    parser.add_argument("--default-options", action="store_true", help="imp2tf with its default options")
    parser.add_argument("--isolated", action="store_true", help="in another process, for backends that may get stuck or crash")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say why programs fail")
    return parser


def _run(programs: Sequence[Program], backend: str, options: argparse.Namespace) -> Tally:
    tally = Tally()
    labels = [program.label for program in programs]
    start = functools.partial(_judge_of, programs=labels, backend=backend, defaults=options.default_options)
    with contextlib.ExitStack() as stack:
        judge = stack.enter_context(Judging(start)) if options.isolated else start()
        for number, program in enumerate(programs):
            found = judge(number)
            tally.add(program.feature, found)
            if options.verbose:
                graph = program.graph and backend != "eager"
                for line in failure_lines(program.label, found, graph, SHOWN[min(options.verbose, 2)]):
                    print(line, flush=True)
    return tally


def _judge_of(programs: Sequence[str], backend: Backend, defaults: bool) -> Callable[[int], Verdict]:
    """What judges the program of a number, in this process."""
    known = {program.label: program for program in all_programs()}

    def judge(number: int) -> Verdict:
        program = known[programs[number]]
        repeat = ROUNDS_OF_DEFAULT if defaults else program.repeat
        faulthandler.dump_traceback_later(STUCK_AFTER, exit=True)
        found = verdict(program.make, grad=program.grad, repeat=repeat, convert_kw={} if defaults else AT_ONCE, backend=backend)
        faulthandler.cancel_dump_traceback_later()
        return found

    return judge


if __name__ == "__main__":
    sys.exit(main())
