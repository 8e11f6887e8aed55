"""Generated code written as code.

    quote("rt.assert_(test, lambda: message)", at=node, test=..., message=...)

Names of the template that are given as keywords are replaced by trees; every new node carries the place it comes from,
which is the source map.
"""
from __future__ import annotations

import ast
import functools
from typing import Any

import gast

from imp2tf.analysis.walking import children, walk
from imp2tf.trees import to_gast

__all__ = ["GIVEN", "OPERATORS", "RUNTIME", "is_runtime_call", "located", "name", "quote", "quote_expr", "renamed_operators", "store"]


GIVEN = "given__"  # the parameter of generated functions: a name that no program uses
OPERATORS = "rt"  # what generated code calls `imp2tf.namespace.rt`
RUNTIME = "imp2tf_rt"  # stands for `rt` in code that is generated before it is lowered


def renamed_operators(tree: gast.AST, to: str) -> gast.AST:
    """A tree in which generated code calls the operators by another name, since the program has that one itself."""
    for node in walk(tree) if to != OPERATORS else ():
        if getattr(node, "is_generated", False):
            node.id = to
    return tree


def is_runtime_call(node: gast.Call) -> bool:
    """Whether a call in code that is still to be lowered is one of an operator."""
    return isinstance(node.func, gast.Attribute) and isinstance(node.func.value, gast.Name) and node.func.value.id == RUNTIME


@functools.cache
def _parsed(template: str) -> tuple[gast.stmt, ...]:
    """The statements of a template, without its own positions."""
    tree = to_gast(ast.parse(template))
    for node in walk(tree):
        for key in POSITION:
            node.__dict__.pop(key, None)
    return tuple(tree.body)


def quote(template: str, at: gast.AST, **parts: object) -> list[gast.stmt]:
    """The statements of a template; parts are expressions, lists of statements, or names as text."""
    place = _place(at)
    found: list[gast.stmt] = []
    for stmt in _parsed(template):
        new = _filled(stmt, parts, place)
        found.extend(new if isinstance(new, list) else [new])
    return found


def _filled(node: gast.AST, parts: dict[str, object], place: dict[str, object]) -> Any:
    """A template with its names replaced by trees, and statements that are a lone name by lists of statements."""
    kind = node.__class__
    if kind is gast.Name and node.id in parts:
        part = parts[node.id]
        return _at(gast.Name(part, node.ctx, None, None), place) if isinstance(part, str) else _given(part, place)
    if kind is gast.Expr and type(node.value) is gast.Name and isinstance(parts.get(node.value.id), list):
        return [_given(stmt, place) for stmt in parts[node.value.id]]  # type: ignore[attr-defined]
    new = kind.__new__(kind)
    held = new.__dict__
    held.update(node.__dict__)
    for field in kind._fields:
        value = held.get(field)
        if value.__class__ is list:
            held[field] = [one for item in value for one in _as_list(_filled(item, parts, place) if isinstance(item, gast.AST) else item)]
        elif isinstance(value, gast.AST) and value._fields:
            held[field] = _filled(value, parts, place)
    if kind is gast.Name and held["id"] == OPERATORS:
        held["is_generated"] = True
    if isinstance(new, PLACED):
        held.update(place)
    return new


def _as_list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


PLACED = (gast.expr, gast.stmt, gast.excepthandler)
POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def _place(at: gast.AST) -> dict[str, object]:
    """The place of what comes from a node; of a statement with a body, that of its first line."""
    line, column = getattr(at, "end_lineno", None), getattr(at, "end_col_offset", None)
    if isinstance(at, (gast.For, gast.While, gast.If, gast.With, gast.Try)) and line != at.lineno:
        line, column = at.lineno, at.col_offset + 1  # CPython counts a call of an attribute to the last line of the attribute
    place = {key: at.__dict__[key] for key in POSITION[:2] if key in at.__dict__}
    place["end_lineno"], place["end_col_offset"] = line, column
    return place


def _at(node: gast.AST, place: dict[str, object]) -> gast.AST:
    node.__dict__.update(place)
    return node


def _given(part: Any, place: dict[str, object]) -> Any:
    """A part, with a place for all of it that has none. What has one is placed as a whole."""
    if isinstance(part, PLACED):
        if getattr(part, "lineno", None) is not None:
            return part
        _at(part, place)
    for child in children(part):
        _given(child, place)
    return part


def quote_expr(template: str, at: gast.AST, **parts: object) -> gast.expr:
    """The expression of a template."""
    (stmt,) = quote(template, at, **parts)
    assert isinstance(stmt, gast.Expr)
    return stmt.value


def located(new: gast.AST, at: gast.AST) -> gast.AST:
    """Give every node under `new` that has no place yet the place of `at`."""
    place = None
    if isinstance(new, PLACED) and new.__dict__.get("lineno") is None:
        place = _place(at)
        _at(new, place)
    for child in children(new):
        if child.__dict__.get("lineno") is None or not isinstance(child, PLACED):
            place = place or _place(at)
            _given(child, place)
    return new


def name(text: str, at: gast.AST) -> gast.Name:
    """A name that is read."""
    return located(gast.Name(text, gast.Load(), None, None), at)


def store(text: str, at: gast.AST) -> gast.Name:
    """A name that is assigned."""
    return located(gast.Name(text, gast.Store(), None, None), at)
