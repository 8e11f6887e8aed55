"""From a function to its converted form: read, rewrite, compile, once per code object."""
from __future__ import annotations

import ast
import dataclasses
import threading
import types
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import gast

from imp2tf.analysis.flow import has_await, has_yield
from imp2tf.analysis.updates import Updates, updates_of
from imp2tf.analysis.walking import walk
from imp2tf.disk_cache import kept_or_made
from imp2tf.errors import NoSource, UnsupportedSyntax, fall_back
from imp2tf.inversion import invert_generators
from imp2tf.namespace import rt
from imp2tf.quote import OPERATORS, RUNTIME, renamed_operators
from imp2tf.rewrite import Converter, rewrite_function
from imp2tf.source import FunctionSource, SourceUnavailable, bind, compile_node, lambda_to_function, read
from imp2tf.trees import to_python

__all__ = ["convert_function", "converted_text", "register_converters"]

EXTRA = ("rt_cells", "rt_globals", "rt_code")

_converters: list[type[Converter]] = []
_codes: dict[tuple[types.CodeType, str], ConvertedCode] = {}  # code of equal text in two files is equal, but has other lines
_functions: weakref.WeakKeyDictionary[types.FunctionType, types.FunctionType] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


@dataclasses.dataclass(frozen=True)
class ConvertedCode:
    """The result of rewriting one code object; `operators` is the name by which it calls them."""

    code: types.CodeType
    operators: str
    updates: Updates


def register_converters(converters: Sequence[type[Converter]]) -> None:
    """The converters that functions are rewritten with."""
    _converters[:] = converters


def convert_function(function: types.FunctionType) -> types.FunctionType:
    """The converted form of a user's function: the same cells, globals and defaults, other code."""
    with _lock:
        found = _functions.get(function)
        if found is None or found.__defaults__ is not function.__defaults__:
            converted = convert_code(function)
            cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            extra = {converted.operators: rt, "rt_cells": cells, "rt_globals": function.__globals__, "rt_code": function.__code__}
            found = bind(converted.code, function, extra)
            found.__imp2tf_converted__ = True  # type: ignore[attr-defined]
            found.__imp2tf_updates__ = converted.updates  # type: ignore[attr-defined]
            _functions[function] = found
        return found


def converted_text(function: types.FunctionType) -> str:
    """The rewritten function as source, for people."""
    with _lock:
        return ast.unparse(to_python(gast.Module([_rewritten(function).tree], [])))


def convert_code(function: types.FunctionType) -> ConvertedCode:
    """Rewrite and compile the code of a function."""
    with _lock:
        key = function.__code__, function.__code__.co_filename
        if key not in _codes:
            _codes[key] = ConvertedCode(*kept_or_made("code", function, _convert))
        return _codes[key]


def _convert(function: types.FunctionType) -> tuple[types.CodeType, str, Updates]:
    found = _rewritten(function)
    return compile_node(found.source, found.tree, function, (found.operators, *EXTRA)), found.operators, found.updates


class _Rewritten(NamedTuple):
    source: FunctionSource
    tree: gast.FunctionDef
    operators: str
    updates: Updates


def _rewritten(function: types.FunctionType) -> _Rewritten:
    try:
        source = read(function)
    except SourceUnavailable as error:
        fall_back(NoSource, f"the source of {function.__qualname__} is not available: {error}", error)
    node = source.node
    invert_generators(node, source.decorators)
    if isinstance(node, gast.AsyncFunctionDef) or has_yield(node) or has_await(node):
        fall_back(UnsupportedSyntax, f"{function.__qualname__} is a generator or coroutine")
    if isinstance(node, gast.Lambda):
        node = lambda_to_function(node)
    updates = updates_of(node, function.__qualname__)
    operators = RUNTIME if any(isinstance(one, gast.Name) and one.id == OPERATORS for one in walk(node)) else OPERATORS
    new = renamed_operators(rewrite_function(node, _converters, function.__code__.co_freevars), operators)
    return _Rewritten(source, new, operators, updates)


