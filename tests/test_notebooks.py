"""Cells of a notebook in a real kernel: what they print, redefined functions, tracebacks."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[1] / "examples" / "notebook.ipynb"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def executed(cells: list[Any]) -> list[Any]:
    """Code cells with their outputs, from a kernel of this Python."""
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell: Any) -> str:
    """What a cell wrote to standard output."""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")


def traceback(cell: Any) -> str:
    """The traceback that a cell shows."""
    return COLOURS.sub("", "\n".join(line for output in cell.outputs if output.output_type == "error" for line in output.traceback))


def test_the_example_prints_what_plain_python_prints() -> None:
    cells = nbformat.read(EXAMPLE, as_version=4).cells
    plain = [cell.copy() for cell in cells]
    for cell in plain:
        cell["source"] = re.sub(r"@imp2tf\.convert(\(.*\))?\n", "", cell["source"])
    ours, theirs = executed(cells), executed(plain)
    for one, other in zip(ours, theirs, strict=True):
        assert not traceback(one)
        if "stats()" in one.source:
            assert printed(one) == "7 of 8 calls as a graph; no fallbacks\n"
        else:
            assert printed(one) == printed(other)


def test_cells_that_are_run_again_and_errors() -> None:
    define = "@imp2tf.convert(profile_runs=0)\ndef f(x):\n    if x > 0.0:\n        print('{}')\n        return x * {}\n    return -x\n"
    sources = [
        "import tensorflow as tf, imp2tf\nx = tf.constant(3.0)",
        define.format("first", 2.0) + "float(f(x))",
        define.format("second", 10.0) + "float(f(x))",
        "@imp2tf.convert(profile_runs=0)\ndef fails(x):\n    y = x + 1.0\n    if y > 0.0:\n        raise ValueError('too large')\nfails(x)",
        "g = imp2tf.convert(lambda v: v if v > 0.0 else -v, profile_runs=0)\nprint(float(g(-x)), g.stats()['graph_calls'])",
    ]
    _, first, second, fails, of_lambda = executed([nbformat.v4.new_code_cell(source) for source in sources])
    assert (printed(first), first.outputs[-1].data["text/plain"]) == ("first\n", "6.0")
    assert (printed(second), second.outputs[-1].data["text/plain"]) == ("second\n", "30.0")
    assert re.search(r"-> 5 +raise ValueError\('too large'\)", traceback(fails))
    assert "imp2tf/" not in traceback(fails)
    assert printed(of_lambda) == "3.0 1\n"
