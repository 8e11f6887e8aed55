"""Golden files in `tests/golden/`: what functions are rewritten to; `pytest --update-golden` writes them."""
from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"


def rewritten(fn: Callable[..., Any]) -> str:
    """The source that imp2tf runs in the place of `fn`."""
    import imp2tf
    return imp2tf.convert(fn).source()


def plain(fn: Callable[..., Any]) -> str:
    """The source of `fn` as it was written, without the indentation of its surroundings."""
    return textwrap.dedent(inspect.getsource(fn))


def normalised(source: str) -> str:
    """The same program in one fixed layout, so that only what it says is compared."""
    return ast.unparse(ast.parse(source))


def golden_text(functions: Iterable[tuple[str, Callable[..., Any]]]) -> str:
    """The content of a golden file: each named function before and after."""
    return "\n".join(f"# {name}\n\n{plain(fn).rstrip()}\n\n# becomes\n\n{rewritten(fn).rstrip()}\n"
                     for name, fn in functions)


def check_golden(name: str, text: str, update: bool) -> None:
    """Compare `text` with the golden file `name`, or write it there."""
    path = FOLDER / f"{name}.txt"
    if update:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert _says_the_same(text, expected), f"{path.name}: look at the difference, then run pytest --update-golden"


def _says_the_same(text: str, expected: str) -> bool:
    """Whether two files are equal; Python 3.10 writes some lambdas and tuples otherwise."""
    return text == expected or (sys.version_info < (3, 11) and normalised(text) == normalised(expected))
