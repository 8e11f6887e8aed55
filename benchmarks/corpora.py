"""Runs corpora of programs through imp2tf and compares the scores with the floors recorded in floors.json.

    python benchmarks/corpora.py                    every corpus; fails if a score is below its floor
    python benchmarks/corpora.py --only NAME ...    some of them
    python benchmarks/corpora.py --record           raises the floors to the scores reached; lowers none

A corpus is a folder with a runner that judges each program against eager TensorFlow and writes its verdicts
as JSON. Corpora are looked for in the folder ``shared`` beside the checkout, or where --shared says. Verdicts
and output of the last run are kept in build/corpora. To add a corpus, add one entry to CORPORA, and a
function that reads its verdicts if they come in a new form.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FLOORS_FILE = ROOT / "benchmarks" / "floors.json"
RESULTS_FOLDER = ROOT / "build" / "corpora"
AT_ONCE = min(2, os.cpu_count() or 1)  # how many corpora run beside each other: a runner keeps little more than one core busy

# What a score counts, by name; and the floors of one corpus. "wrong" is a ceiling: fewer is better.
Figures = dict[str, int]
CEILINGS = {"wrong"}
MOST_IN_PYTHON = 0.4  # of the operations that a step of Keras executes one by one with run_eagerly=True


class CorpusFailed(Exception):
    """A corpus could not be run to its end."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one program of a corpus."""

    name: str
    theme: str
    right: bool
    wrong: bool
    """It gave another result than eager. What raised an error or took too long is neither right nor wrong."""
    in_graph: bool | None = None
    """None: the run did not measure it."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One way to run one corpus."""

    name: str
    runner: str
    """The script, relative to the folder of the corpora. It is given ``--json FILE`` as well."""
    arguments: tuple[str, ...]
    read: Callable[[Any], list[Verdict]]
    """Verdicts from the JSON document that the runner wrote."""
    minutes: float = 10


def read_conformance(document: Any) -> list[Verdict]:
    """Verdicts of conformance/run_cases.py; ``pass_soft``, the right value in another type, is not right."""
    if document.get("partial"):
        raise CorpusFailed(f"stuck in the case {document['stuck']}")
    return [
        Verdict(
            name=case["name"],
            theme=case["theme"],
            right=case["class"] == "pass",
            wrong=case["class"].startswith("wrong_"),
            in_graph=bool(case["in_graph"]) if "in_graph" in case else None,
        )
        for case in document["results"]
    ]


def read_keras(document: Any) -> list[Verdict]:
    """Verdicts of keras/run_keras.py; a step is in the graph if few of eager's operations are left to Python."""
    verdicts = []
    for case in document["results"]:
        found = case["results"].get("imp2tf", {"cls": "lost"})
        ratio = found.get("ratio")
        verdicts.append(
            Verdict(
                name=case["name"],
                theme=case["theme"],
                right=found["cls"] == "pass" and case["deterministic"],
                wrong=found["cls"] == "wrong",
                in_graph=ratio <= MOST_IN_PYTHON if ratio is not None else None,
            )
        )
    return verdicts


KERAS_THEMES = (
    "exceptions",
    "layer_if",
    "layer_loop",
    "lazy_state",
    "leaked_tensor",
    "loss",
    "masks_ragged",
    "metric",
    "numpy_interop",
    "optimizer",
    "print",
    "randomness",
    "regulariser_constraint",
    "rl",
    "rnn_cell",
    "side_effects",
    "stale_capture",
    "structures",
    "train_step",
)
CORPORA = (
    # Stock models and exports are left to the tests: with them it takes eight minutes, not six.
    Corpus(
        "keras",
        "keras/run_keras.py",
        ("--backends", "imp2tf", "--timeout", "120", "--theme", ",".join(KERAS_THEMES)),
        read_keras,
        minutes=15,
    ),
    Corpus(
        "conformance",
        "conformance/run_cases.py",
        ("--backend", "imp2tf", "--repeat", "3", "--convert-kw", '{"profile_runs": 0}', "--graph"),
        read_conformance,
    ),
    # The default: the first call runs as plain Python and is profiled, so one round of calls more.
    Corpus(
        "conformance-profiled",
        "conformance/run_cases.py",
        ("--backend", "imp2tf", "--repeat", "4"),
        read_conformance,
    ),
)


def run(corpus: Corpus, folder: Path, results: Path) -> list[Verdict]:
    """Run a corpus found in ``folder``; its verdicts and output are kept in ``results``."""
    results.mkdir(parents=True, exist_ok=True)
    verdicts, output = (results / f"{corpus.name}.{suffix}" for suffix in ("json", "log"))
    verdicts.unlink(missing_ok=True)
    script = folder / corpus.runner
    command: list[str | Path] = [sys.executable, script, *corpus.arguments, "--json", verdicts]
    with output.open("w") as log:
        try:
            subprocess.run(
                command,
                cwd=results,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=60 * corpus.minutes,
            )
        except subprocess.TimeoutExpired as error:
            raise CorpusFailed(f"not done after {corpus.minutes:g} minutes, see {output}") from error
    if not verdicts.exists():
        last_lines = output.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        raise CorpusFailed(f"no verdicts were written, see {output}: " + " / ".join(last_lines))
    return corpus.read(json.loads(verdicts.read_text(encoding="utf-8")))


def score(verdicts: list[Verdict]) -> Figures:
    """The figures that can have floors: totals, and how many are right in each theme."""
    figures = {
        "right": sum(verdict.right for verdict in verdicts),
        "wrong": sum(verdict.wrong for verdict in verdicts),
    }
    if any(verdict.in_graph is not None for verdict in verdicts):
        figures["right and in the graph"] = sum(bool(v.right and v.in_graph) for v in verdicts)
    for theme in sorted({verdict.theme for verdict in verdicts}):
        figures[_theme_figure(theme)] = sum(v.right for v in verdicts if v.theme == theme)
    return figures


def _theme_figure(theme: str) -> str:
    return f"right in {theme}"


def fallen(reached: Figures, floors: Figures) -> list[str]:
    """The names of the figures that are worse than their floors."""
    return [
        name
        for name, floor in floors.items()
        if _better(name, reached.get(name, 0), floor) != reached.get(name, 0)
    ]


def raised(reached: Figures, floors: Figures) -> Figures:
    """The floors after a run: the better one of floor and score, for each figure."""
    return floors | {name: _better(name, value, floors.get(name, value)) for name, value in reached.items()}


def _better(name: str, first: int, second: int) -> int:
    return min(first, second) if name in CEILINGS else max(first, second)


def report(verdicts: list[Verdict], reached: Figures, floors: Figures) -> list[str]:
    """The result of one corpus for a person to read: totals, what fell, and the cases to look at."""
    totals = [name for name in reached if not name.startswith("right in ")]
    lines = [f"  {len(verdicts)} programs: " + ", ".join(f"{name} {reached[name]}" for name in totals)]
    if not floors:
        lines.append("  no floors are recorded yet: use --record")
    for name in fallen(reached, floors):
        bound = "at most" if name in CEILINGS else "at least"
        lines.append(f"  FELL: {name}: {reached.get(name, 0)}, must be {bound} {floors[name]}")
        cases = [v.name for v in verdicts if name == _theme_figure(v.theme) and not v.right]
        if cases:
            lines.append(f"        not right now: {', '.join(cases)}")
    return lines


def judge(corpus: Corpus, folder: Path, floors: dict[str, Figures]) -> Figures | None:
    """Run a corpus and print how it did. Its figures, or None if it failed or fell below its floors."""
    started = time.monotonic()
    try:
        verdicts = run(corpus, folder, RESULTS_FOLDER)
    except CorpusFailed as failure:
        print(f"{corpus.name}\n  FAILED: {failure}", flush=True)
        return None
    reached, floor = score(verdicts), floors.get(corpus.name, {})
    lines = [corpus.name, *report(verdicts, reached, floor), f"  {time.monotonic() - started:.0f} s"]
    print("\n".join(lines), flush=True)
    return None if fallen(reached, floor) else reached


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shared", type=Path, default=ROOT.parent / "shared", help="the folder of the corpora"
    )
    parser.add_argument("--only", nargs="+", choices=[corpus.name for corpus in CORPORA], metavar="NAME")
    parser.add_argument("--record", action="store_true", help="raise the floors to the scores reached")
    return parser.parse_args()


def main() -> int:
    """Run the corpora asked for; the exit status."""
    arguments = parse_arguments()
    floors: dict[str, Figures] = json.loads(FLOORS_FILE.read_text(encoding="utf-8"))
    outcomes: Counter[str] = Counter()
    wanted = [corpus for corpus in CORPORA if not arguments.only or corpus.name in arguments.only]
    found = [corpus for corpus in wanted if (arguments.shared / corpus.runner).exists()]
    for corpus in wanted:
        if corpus not in found:
            print(f"{corpus.name}: skipped, there is no {arguments.shared / corpus.runner}")
            outcomes["skipped"] += 1
    with ThreadPoolExecutor(AT_ONCE) as pool:
        figures = list(pool.map(lambda corpus: judge(corpus, arguments.shared.resolve(), floors), found))
    for corpus, reached in zip(found, figures, strict=True):
        outcomes["failed" if reached is None else "passed"] += 1
        if arguments.record and reached is not None:
            floors[corpus.name] = raised(reached, floors.get(corpus.name, {}))
    if arguments.record:
        FLOORS_FILE.write_text(json.dumps(floors, indent=2) + "\n", encoding="utf-8")
    print("corpora: " + ", ".join(f"{outcomes[name]} {name}" for name in ("passed", "failed", "skipped")))
    return int(outcomes["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
