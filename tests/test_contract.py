"""What every file keeps to: a docstring, nothing unfinished, no private TensorFlow, true examples."""

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project_modules import ROOT, imported_names, module_paths, syntax_tree

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

PRIVATE_TENSORFLOW = "tensorflow.python"
AUTOGRAPH = "tensorflow.python.autograph"
PRIVATE_TENSORFLOW_ALLOWED_IN = "imp2tf.tf_compat.private"

PYTHON_FILES = [
    path
    for folder in ("imp2tf", "converters", "tests", "benchmarks", "examples", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
]

MODULES = pytest.mark.parametrize("module", module_paths())
FILES = pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))


def tensorflow_names(module: str) -> Iterator[str]:
    """The names below ``tensorflow`` that a module imports, as a statement or as a string."""
    for node in ast.walk(syntax_tree(module_paths()[module])):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = imported_names(node, module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value]
        else:
            continue
        yield from (name for name in names if _is_below(name, "tensorflow"))


def _is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@FILES
def test_module_docstring(path: Path) -> None:
    assert ast.get_docstring(syntax_tree(path)), f"{path} does not say what it is for"


@MODULES
def test_nothing_is_marked_unfinished(module: str) -> None:
    lines = module_paths()[module].read_text(encoding="utf-8").splitlines()
    marked = [f"line {number}: {line}" for number, line in enumerate(lines, 1) if UNFINISHED.search(line)]
    assert not marked, "finish it, or state the limit in the docstring: " + "; ".join(marked)


@MODULES
def test_autograph_is_not_used(module: str) -> None:
    used = [name for name in tensorflow_names(module) if _is_below(name, AUTOGRAPH)]
    assert not used, "imp2tf stands in AutoGraph's place: " + ", ".join(used)


@MODULES
def test_private_tensorflow_only_in_the_adapter(module: str) -> None:
    if module == PRIVATE_TENSORFLOW_ALLOWED_IN:
        return
    used = [name for name in tensorflow_names(module) if _is_below(name, PRIVATE_TENSORFLOW)]
    assert not used, f"only {PRIVATE_TENSORFLOW_ALLOWED_IN} may use " + ", ".join(used)


# By import name: collecting the files of converters/ by path would make a second copy of each module.
@MODULES
def test_examples_in_docstrings_are_true(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert not result.failed, f"{result.failed} of {result.attempted} examples, see the captured output"
