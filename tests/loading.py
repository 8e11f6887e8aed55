"""Programs as texts: run as modules of their own files, and the functions in them."""

from __future__ import annotations

import copy
import inspect
import linecache
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import gast

from imp2tf.source import FunctionSource, bind, compile_node

_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def load(folder: Path, text: str) -> dict[str, Any]:
    """The globals of a module with ``text``, in a new file in ``folder``."""
    path = folder / f"sample_{len(list(folder.iterdir()))}.py"
    path.write_text(dedent(text), encoding="utf-8")
    return run(path)


def run(path: Path) -> dict[str, Any]:
    """The globals of the module in ``path``."""
    names: dict[str, Any] = {"__name__": "sample", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), names)
    return names


def instantiate(
    source: FunctionSource, node: gast.FunctionDef | gast.AsyncFunctionDef, fn: types.FunctionType, extra: Mapping[str, object]
) -> types.FunctionType:
    """A function that runs ``node`` in the place of ``fn`` and finds ``extra`` in an enclosing scope; ``node`` stays as it is."""
    return bind(compile_node(source, copy.deepcopy(node), fn, extra), fn, extra)


def segment(source: FunctionSource) -> str:
    """The text of the file at the position of the node."""
    node = source.node
    lines = linecache.getlines(source.filename)[node.lineno - 1 : node.end_lineno]
    encoded = [line.encode() for line in lines]
    encoded[-1] = encoded[-1][: node.end_col_offset]
    encoded[0] = encoded[0][node.col_offset :]
    return b"".join(encoded).decode()


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """A function for every ``def`` and ``lambda`` in the file of a module, with empty cells."""
    path = module.__file__
    assert path is not None
    with open(path, encoding="utf-8") as file:
        top = compile(file.read(), path, "exec", dont_inherit=True)
    for code in _codes_inside(top):
        if code.co_flags & inspect.CO_OPTIMIZED and code.co_name not in _COMPREHENSIONS:
            cells = tuple(types.CellType() for _ in code.co_freevars)
            yield types.FunctionType(code, {"__name__": module.__name__}, None, None, cells)


def _codes_inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes_inside(constant)
