"""From a function to its tree, and from a rewritten tree back to a function.

    source = read(fn)                              # the tree, at the user's own lines and columns
    node = rewrite(source.node)
    code = compile_node(source, node, fn, ["rt"])  # once for each code object
    new = bind(code, fn, {"rt": rt})               # once for each closure of it

Positions are the source map: the tree is compiled under the user's file name, so tracebacks and debuggers
show the user's lines. The new function lives where the old one did: the same globals, closure cells and
defaults.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import gast

from imp2tf.errors import IN_BLOCKS
from imp2tf.mangling import has_private_names, mangle_inside
from imp2tf.source_file import SourceUnavailable, future_flags, inner_code, source_file
from imp2tf.trees import to_gast, to_python

__all__ = [
    "FunctionSource",
    "SourceUnavailable",
    "bind",
    "compile_node",
    "lambda_to_function",
    "read",
]

_CELLS = "imp2tf_cells"
_FUNCTION = "imp2tf_function"


@dataclass(frozen=True)
class FunctionSource:
    """The tree of a function and where it was written."""

    node: gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda
    filename: str
    lines: tuple[str, ...]
    class_name: str | None
    decorators: tuple[gast.expr, ...] = ()  # which the node does not have


def read(fn: types.FunctionType) -> FunctionSource:
    """The source of ``fn``: a new tree each time, without decorators, private names mangled."""
    if not isinstance(fn, types.FunctionType):
        raise SourceUnavailable(f"{fn!r} is a builtin or another callable, not a function written in Python")
    code = fn.__code__
    file = source_file(code.co_filename, fn.__globals__)
    site = file.find(code)
    lines = file.lines[site.first_line - 1 : site.node.end_lineno]
    try:
        node = to_gast(site.node)
        if has_private_names(lines):
            mangle_inside(node, site.class_name)
    except RecursionError as error:
        raise SourceUnavailable(f"{code.co_name} cannot be parsed: it is nested too deeply") from error
    decorators: tuple[gast.expr, ...] = ()
    if not isinstance(node, gast.Lambda):
        decorators, node.decorator_list = tuple(node.decorator_list), []
    return FunctionSource(node, code.co_filename, lines, site.class_name, decorators)


def compile_node(
    source: FunctionSource,
    node: gast.FunctionDef | gast.AsyncFunctionDef,
    fn: types.FunctionType,
    extra: Iterable[str],
) -> types.CodeType:
    """Compile ``node`` under the user's file name.

    The free variables of ``fn`` and the names ``extra`` become free variables of the code. It fits every
    closure that shares the code object of ``fn``; see ``bind``. ``node`` is used up.
    """
    scope = [*extra, *fn.__code__.co_freevars]
    if len(set(scope)) < len(scope):
        raise ValueError(f"an extra name is a free variable of {fn.__qualname__}: {', '.join(scope)}")
    module = to_python(gast.Module([_enclosing(scope, node, fn.__code__.co_firstlineno)], []))
    outermost = compile(module, source.filename, "exec", future_flags(fn.__code__), dont_inherit=True)
    code = inner_code(inner_code(outermost, _CELLS), _FUNCTION)
    qualname = getattr(fn.__code__, "co_qualname", fn.__qualname__)
    renamed = _requalified(code, f"{_CELLS}.<locals>.{_FUNCTION}", qualname)
    return renamed.replace(co_name=fn.__code__.co_name)


def bind(code: types.CodeType, fn: types.FunctionType, extra: Mapping[str, object]) -> types.FunctionType:
    """A function with ``code`` from ``compile_node`` and the globals, cells, defaults and names of ``fn``."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
    cells.update((name, types.CellType(value)) for name, value in extra.items())
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    new.__kwdefaults__ = fn.__kwdefaults__
    new.__qualname__ = fn.__qualname__
    new.__module__ = fn.__module__
    new.__doc__ = fn.__doc__
    return new


def lambda_to_function(node: gast.Lambda, name: str = "lambda_") -> gast.FunctionDef:
    """The ``def`` that does what ``node`` does, at the same positions."""
    statement = gast.copy_location(gast.Return(node.body), node.body)
    return gast.copy_location(gast.FunctionDef(name, node.args, [statement], [], None, None, []), node)


def _enclosing(
    names: list[str], node: gast.FunctionDef | gast.AsyncFunctionDef, first_line: int
) -> gast.FunctionDef:
    """``def cells(*names): def function(...): ...``, which makes ``names`` free variables of the function.

    The function gets a name no user writes: under its own, a call of itself would find this local definition.
    A decorator, never run, makes its code begin where that of the user's does.
    """
    decorator = gast.copy_location(gast.Constant(None, None), node)
    decorator.lineno = decorator.end_lineno = first_line
    decorator.end_col_offset = decorator.col_offset
    inner = type(node)(_FUNCTION, _bare(node.args), node.body, [decorator], None, None, [])
    parameters = [gast.Name(name, gast.Param(), None, None) for name in names]
    arguments = gast.arguments(parameters, [], None, [], [], None, [])
    outer = gast.FunctionDef(_CELLS, arguments, [gast.copy_location(inner, node)], [], None, None, [])
    return gast.copy_location(outer, node)


def _bare(arguments: gast.arguments) -> gast.arguments:
    """The parameters without annotations and without defaults, which are evaluated already."""

    def bare(parameter: gast.Name | None) -> gast.Name | None:
        if parameter is None:
            return None
        return gast.copy_location(gast.Name(parameter.id, gast.Param(), None, None), parameter)

    return gast.arguments(
        [bare(parameter) for parameter in arguments.args],
        [bare(parameter) for parameter in arguments.posonlyargs],
        bare(arguments.vararg),
        [bare(parameter) for parameter in arguments.kwonlyargs],
        [None] * len(arguments.kwonlyargs),
        bare(arguments.kwarg),
        [],
    )


def _requalified(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """``code`` with the qualified names of all that is defined in it starting with ``new``, not ``old``, and without our blocks."""

    def renamed(constant: object) -> object:
        if isinstance(constant, types.CodeType):
            return _requalified(constant, old, new)
        if isinstance(constant, str) and constant.startswith(old + "."):
            return new + IN_BLOCKS.sub("", constant[len(old) :])
        return constant

    changes: dict[str, Any] = {"co_consts": tuple(map(renamed, code.co_consts))}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = new + IN_BLOCKS.sub("", code.co_qualname[len(old) :])
    return code.replace(**changes)
