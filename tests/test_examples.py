"""The examples run, and find imp2tf equal to plain Python."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DIGITS = EXAMPLES / "digits"

pytestmark = pytest.mark.slow


def run(path, *arguments):
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("name", ["beam_search.py", "distributed.py", "keras_early_exit.py", "stateful_rnn.py"])
def test_small_examples_are_equal_to_plain_python(name):
    done = run(EXAMPLES / name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imp2tf equal to plain Python" in done.stdout


def test_the_digits_program_runs_on_its_own():
    pytest.importorskip("sklearn")
    done = run(DIGITS / "train.py", "--steps", "50")
    assert done.returncode == 0, done.stderr
    assert "step 50: loss" in done.stdout
    assert "after 50 steps" in done.stdout


def test_the_digits_demo_is_equal_to_plain_python():
    pytest.importorskip("sklearn")
    done = run(DIGITS / "demo.py", "--steps", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imp2tf and plain Python: equal" in done.stdout
    assert "printed text" in done.stdout


def test_the_digits_demo_can_be_quiet():
    pytest.importorskip("sklearn")
    done = run(DIGITS / "demo.py", "--steps", "12", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_the_digits_program_says_when_its_data_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    program = runpy.run_path(str(DIGITS / "train.py"))
    with pytest.raises(SystemExit, match=r"needs scikit-learn: pip install imp2tf\[examples\]"):
        program["load_images"]()


class Planted:
    """Two runs of the digits program, one of which will be tampered with."""

    def __init__(self, runs):
        self.judge = runs.judge
        self.eager, self.other = (runs.Run(lambda step: step) for _ in range(2))


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.syspath_prepend(str(DIGITS))
    import runs

    return Planted(runs)


def test_untouched_runs_are_equal(planted):
    assert planted.judge(planted.eager, planted.other).equal


@pytest.mark.parametrize(("tamper", "part", "text"), [
    pytest.param(lambda run: setattr(run.trainer, "step_count", 3), "state", "trainer.step_count: 0 became 3",
                 id="counter"),
    pytest.param(lambda run: setattr(run.trainer, "halvings", 0.0), "state",
                 "trainer.halvings: int became float", id="type"),
    pytest.param(lambda run: run.trainer.losses.append(1.0), "state", "trainer.losses: 0 entries became 1",
                 id="list"),
    pytest.param(lambda run: run.trainer.weights[1].assign_add([1.0] * 8), "state",
                 "trainer.weights[1]: differs by up to 1", id="variable"),
    pytest.param(lambda run: run.printed.write("once\n"), "text", "printed: 0 lines became 1", id="text"),
    pytest.param(lambda run: run.returned.append(1.0), "losses", "returned: 0 entries became 1",
                 id="returned"),
])
def test_the_demo_sees_what_differs(planted, tamper, part, text):
    tamper(planted.other)
    verdict = planted.judge(planted.eager, planted.other)
    assert not verdict.equal
    assert getattr(verdict, part) == [text]


def test_the_demo_sees_an_error(planted):
    planted.other.error = ValueError("no such digit\nmore")
    verdict = planted.judge(planted.eager, planted.other)
    assert not verdict.equal
    assert verdict.error == "ValueError: no such digit"
