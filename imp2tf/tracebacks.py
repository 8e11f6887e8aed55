"""Tracebacks that show the lines of the user which a trace ran, made after the run."""
from __future__ import annotations

import ast
import functools
import linecache
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from imp2tf.errors import is_own_file

__all__ = ["RAISED_AT", "Frame", "entries", "is_own", "raise_through", "set_traceback", "without_own_frames"]

Frame = tuple[str, int, str]  # file, line, function
RAISED_AT = "__imp2tf_raised_at__"  # the attribute of an exception of the trace that tells where it was raised


def set_traceback(error: BaseException, fields: dict[str, Any]) -> None:
    """Take the lines that raised an exception out of its fields, and give it a traceback of them."""
    lines = getattr(fields.pop(RAISED_AT, None), "lines", ())
    if lines:
        try:
            raise_through(RuntimeError(), lines)
        except RuntimeError as stand_in:
            error.__traceback__ = without_own_frames(stand_in.__traceback__)


def raise_through(error: BaseException, frames: Sequence[Frame]) -> NoReturn:
    """Raise from a stack of code objects that carry the user's file, line and function."""
    if not frames:
        raise error
    step = "_raise(_error, _frames)" if len(frames) > 1 else "raise _error"
    exec(_at(frames[0], step), {"_raise": raise_through, "_error": error, "_frames": frames[1:]})
    raise AssertionError("unreachable")


@functools.lru_cache(maxsize=1000)
def _at(frame: Frame, step: str) -> types.CodeType:
    """Code for a statement that counts as a line of the user; it spans the line, so that no part of it is underlined."""
    filename, line, name = frame
    text = linecache.getline(filename, line).rstrip()
    first, last = len(text) - len(text.lstrip()), len(text.encode())
    tree = ast.parse(step)
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = line
            node.col_offset, node.end_col_offset = first, last
    code = compile(tree, filename, "exec").replace(co_name=name)
    return code.replace(co_qualname=name) if sys.version_info >= (3, 11) else code


def without_own_frames(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without imp2tf's own frames."""
    stripped = None
    for entry in reversed(list(entries(trace))):
        if not is_own(entry):
            stripped = types.TracebackType(stripped, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return stripped


def entries(entry: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """The entries of a traceback, outermost first."""
    while entry is not None:
        yield entry
        entry = entry.tb_next


def is_own(entry: types.TracebackType) -> bool:
    """Whether an entry is of imp2tf's own code."""
    return is_own_file(entry.tb_frame.f_code.co_filename)
