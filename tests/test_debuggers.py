"""Debuggers stop on the user's lines wherever the user's Python runs: in profiled calls, under force_eager, after an error."""
from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent("""\
    import tensorflow as tf
    import imp2tf

    @imp2tf.convert({options})
    def step(x):
        y = x * 2.0
        if y > 1.0:
            {stop}
            y = y + 1.0
        return y

    with imp2tf.set_stance("{stance}"):
        print("result", float(step(tf.constant(3.0))))
    """)


def debugged(folder: Path, commands: str, module: tuple[str, ...] = (), **parts: str) -> subprocess.CompletedProcess[str]:
    """Run the program with commands for the debugger on its standard input."""
    path = folder / "program.py"
    path.write_text(PROGRAM.format(**{"options": "", "stance": "default", "stop": "breakpoint()", **parts}), encoding="utf-8")
    return subprocess.run([sys.executable, *module, str(path)], input=commands, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("parts", [{}, {"options": "profile_runs=0", "stance": "force_eager"}], ids=["profiled", "force_eager"])
def test_breakpoint_stops_in_the_function(tmp_path: Path, parts: dict[str, str]) -> None:
    done = debugged(tmp_path, "where\np float(y)\nnext\nnext\ncontinue\n", **parts)
    assert "program.py(9)step()" in done.stdout.replace(str(tmp_path) + "/", "")
    assert "-> y = y + 1.0" in done.stdout
    assert "(Pdb) 6.0" in done.stdout
    assert "result 7.0" in done.stdout, done.stderr


def test_a_breakpoint_in_a_graph_runs_the_call_as_python(tmp_path: Path) -> None:
    done = debugged(tmp_path, "p float(y)\ncontinue\n", options="profile_runs=0")
    assert "(Pdb) 6.0" in done.stdout
    assert "result 7.0" in done.stdout, done.stderr


def test_breakpoints_set_by_line(tmp_path: Path) -> None:
    done = debugged(tmp_path, "break 7\ncontinue\np float(y)\ncontinue\nquit\n", module=("-m", "pdb"), stop="pass")
    assert "-> if y > 1.0:" in done.stdout
    assert "(Pdb) 6.0" in done.stdout
    assert "result 7.0" in done.stdout, done.stderr
