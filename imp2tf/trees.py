"""Trees between Python's parser and gast, in one pass each way.

    to_gast(node)      a new tree; the parser's own stays as it is
    to_python(tree)    the same objects, which Python can now compile; a position that is missing is that of the node around

gast's own two ways do the same by visiting nodes, which takes several times as long: of a short program that is most of the time between
its first call and its first graph.
"""
from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gast

__all__ = ["to_gast", "to_python"]

LISTS = ("type_params",)  # fields of gast that older versions of Python do not have, and that hold lists
START = (1, 0, 1, 0)


class _Kind(NamedTuple):
    """A class of nodes on the other side."""

    other: Any
    fields: tuple[str, ...] = ()
    lacking: Mapping[str, Any] = {}  # fields that the class has and the one on this side has not
    is_placed: bool = False
    special: Callable[[Any], Any] | None = None
    single: Any = None  # the one node of a class that says how a name is meant, or which operator it is


# ------------------------------------------------------------------------------------------------ from the parser
def to_gast(node: Any) -> Any:
    """The tree of gast for one of the parser."""
    kind = _to_gast(node.__class__)
    if kind.single is not None:
        return kind.single
    return _copied(node, kind) if kind.special is None else kind.special(node)


def _copied(node: Any, kind: _Kind) -> Any:
    new = kind.other.__new__(kind.other)
    held = new.__dict__
    held.update(node.__dict__)
    for field in kind.fields:
        value = held.get(field)
        if value.__class__ is list:
            if value:
                held[field] = [to_gast(item) if isinstance(item, ast.AST) else item for item in value]
            else:
                held[field] = []
        elif isinstance(value, ast.AST):
            held[field] = to_gast(value)
    for field, value in kind.lacking.items():
        held[field] = [] if field in LISTS else value
    return new


def _name(node: Any) -> Any:
    new = gast.Name.__new__(gast.Name)
    held = new.__dict__
    held.update(node.__dict__)
    held["ctx"], held["annotation"], held["type_comment"] = _to_gast(node.ctx.__class__).single, None, None
    return new


def _constant(node: ast.Constant) -> Any:
    new = gast.Constant.__new__(gast.Constant)
    new.__dict__.update(node.__dict__)
    return new


def _argument(node: ast.arg) -> Any:
    annotation = to_gast(node.annotation) if node.annotation is not None else None
    return gast.copy_location(gast.Name(node.arg, gast.Param(), annotation, node.type_comment), node)


def _handler(node: Any) -> Any:
    new = _copied(node, _to_gast(node.__class__))
    if node.name:
        new.name = gast.Name(node.name, gast.Store(), None, None)
    return new


SPECIAL: Mapping[type, Callable[[Any], Any]] = {
    ast.Name: _name, ast.Constant: _constant, ast.arg: _argument, ast.ExceptHandler: _handler,
}


@functools.cache
def _to_gast(kind: type) -> _Kind:
    other = getattr(gast, kind.__name__, gast.Name)
    lacking = {field: None for field in other._fields if field not in kind._fields}  # type: ignore[attr-defined]
    return _Kind(other, kind._fields, lacking, single=_single(other), special=SPECIAL.get(kind))  # type: ignore[attr-defined]


def _single(kind: Any) -> Any:
    return kind() if issubclass(kind, (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)) else None


# ------------------------------------------------------------------------------------------------ to the compiler
def to_python(tree: Any) -> Any:
    """The nodes of a tree of gast, turned into those that Python compiles; nobody may use the tree of gast any more."""
    return _turned(tree, START)


def _turned(node: Any, around: tuple[int, int, int, int]) -> Any:
    """A node and all below it, of which some may have been turned before: they stand in two places."""
    kind = _to_python(node.__class__)
    if kind is None:
        return node
    if kind.single is not None:
        return kind.single
    held = node.__dict__
    if kind.is_placed:
        around = _placed(held, around)
    for field in kind.fields:
        value = held.get(field)
        if value.__class__ is list:
            held[field] = [_turned(item, around) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST):
            held[field] = _turned(value, around)
    node.__class__ = kind.other
    if kind.other is ast.arguments:
        _turn_parameters(node)
    elif kind.other is ast.ExceptHandler and isinstance(node.name, ast.Name):
        node.name = node.name.id
    return node


def _placed(held: dict[str, Any], around: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """The place of a node, which gets what it lacks of it."""
    line, column, end_line, end_column = around
    if held.get("lineno") is None:
        held["lineno"] = line
    if held.get("col_offset") is None:
        held["col_offset"] = column
    if held.get("end_lineno") is None:
        held["end_lineno"] = end_line
    if held.get("end_col_offset") is None:
        held["end_col_offset"] = end_column
    return held["lineno"], held["col_offset"], held["end_lineno"], held["end_col_offset"]


def _turn_parameters(arguments: ast.arguments) -> None:
    """Make parameters of names, which they are in trees of gast."""
    for one in (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg):
        if isinstance(one, ast.Name):
            parameter: Any = one
            parameter.__class__, parameter.arg = ast.arg, one.id


@functools.cache
def _to_python(kind: type) -> _Kind | None:
    """None for what is no node of gast."""
    if not kind.__module__.startswith("gast"):
        return None
    other = getattr(ast, kind.__name__, None)
    if other is None:
        return None
    return _Kind(other, kind._fields, is_placed=bool(kind._attributes), single=_single(other))  # type: ignore[attr-defined]
