"""Generated code written as code.

    quote("rt.assert_(test, lambda: message)", at=node, test=..., message=...)

Names of the template that are given as keywords are replaced by trees; every new node carries the place it comes from,
which is the source map.
"""
from __future__ import annotations

import ast
import copy
import functools

import gast

__all__ = ["GIVEN", "OPERATORS", "RUNTIME", "is_runtime_call", "located", "name", "quote", "quote_expr", "renamed_operators", "store"]


GIVEN = "given__"  # the parameter of generated functions: a name that no program uses
OPERATORS = "rt"  # what generated code calls `imp2tf.namespace.rt`
RUNTIME = "imp2tf_rt"  # stands for `rt` in code that is generated before it is lowered


def renamed_operators(tree: gast.AST, to: str) -> gast.AST:
    """A tree in which generated code calls the operators by another name, since the program has that one itself."""
    for node in gast.walk(tree):
        if getattr(node, "is_generated", False):
            node.id = to
    return tree


def is_runtime_call(node: gast.Call) -> bool:
    """Whether a call in code that is still to be lowered is one of an operator."""
    return isinstance(node.func, gast.Attribute) and isinstance(node.func.value, gast.Name) and node.func.value.id == RUNTIME


@functools.cache
def _parsed(template: str) -> tuple[gast.stmt, ...]:
    return tuple(gast.ast_to_gast(ast.parse(template)).body)


class _Fill(gast.NodeTransformer):
    """Replaces names by trees, and statements that are a lone name by lists of statements."""

    def __init__(self, parts: dict[str, object]) -> None:
        self.parts = parts

    def visit_Name(self, node: gast.Name) -> gast.AST:
        part = self.parts.get(node.id)
        if part is None:
            return node
        return gast.Name(part, node.ctx, None, None) if isinstance(part, str) else part

    def visit_Expr(self, node: gast.Expr) -> object:
        if isinstance(node.value, gast.Name) and isinstance(self.parts.get(node.value.id), list):
            return self.parts[node.value.id]
        return self.generic_visit(node)


def quote(template: str, at: gast.AST, **parts: object) -> list[gast.stmt]:
    """The statements of a template; parts are expressions, lists of statements, or names as text."""
    found: list[gast.stmt] = []
    for stmt in _parsed(template):
        blank = copy.deepcopy(stmt)
        for node in gast.walk(blank):
            if hasattr(node, "lineno"):
                node.lineno = None
            if isinstance(node, gast.Name) and node.id == OPERATORS:
                node.is_generated = True
        new = _Fill(parts).visit(blank)
        found.extend(new if isinstance(new, list) else [new])
    for stmt in found:
        located(stmt, at)
    return found


def quote_expr(template: str, at: gast.AST, **parts: object) -> gast.expr:
    """The expression of a template."""
    (stmt,) = quote(template, at, **parts)
    assert isinstance(stmt, gast.Expr)
    return stmt.value


def located(new: gast.AST, at: gast.AST) -> gast.AST:
    """Give every node under `new` that has no place yet the place of `at`; of a statement with a body, that of its first line."""
    line, column = getattr(at, "end_lineno", None), getattr(at, "end_col_offset", None)
    if isinstance(at, (gast.For, gast.While, gast.If, gast.With, gast.Try)) and line != at.lineno:
        line, column = at.lineno, at.col_offset + 1  # CPython counts a call of an attribute to the last line of the attribute
    for node in gast.walk(new):
        if isinstance(node, (gast.expr, gast.stmt, gast.excepthandler)) and getattr(node, "lineno", None) is None:
            gast.copy_location(node, at)
            node.end_lineno, node.end_col_offset = line, column
    return new


def name(text: str, at: gast.AST) -> gast.Name:
    """A name that is read."""
    return located(gast.Name(text, gast.Load(), None, None), at)


def store(text: str, at: gast.AST) -> gast.Name:
    """A name that is assigned."""
    return located(gast.Name(text, gast.Store(), None, None), at)
