"""Private names as Python mangles them inside a class body.

    class Cell:
        def step(self): return self.__state      -->   self._Cell__state

A method is rewritten and compiled away from its class, where the compiler would leave such names alone, so
they are spelled out in the tree first. As in Python, keyword names of calls and of class patterns are not
mangled. A nested function or class with a private name carries the mangled name as its ``__name__`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import gast

_PRIVATE = re.compile(r"\b__(?!\w*__\b)\w")


def has_private_names(lines: Iterable[str]) -> bool:
    """Whether some lines may have a name that is mangled in a class."""
    return any("__" in line and _PRIVATE.search(line) for line in lines)


def mangled(name: str, class_name: str | None) -> str:
    """``name`` as it is spelled at run time when it is written inside class ``class_name``."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    owner = class_name.lstrip("_")
    return f"_{owner}{name}" if owner else name


def mangle_inside(tree: gast.AST, class_name: str | None) -> None:
    """Mangle, in place, every private name inside ``tree``; the name of ``tree`` itself stays."""
    _Mangler(class_name).generic_visit(tree)


class _Mangler(gast.NodeVisitor):
    """Renames in place, following class bodies as they nest."""

    def __init__(self, class_name: str | None) -> None:
        self.class_name = class_name

    def _rename(self, node: gast.AST, field: str) -> None:
        name = getattr(node, field, None)
        if isinstance(name, str):
            setattr(node, field, mangled(name, self.class_name))

    def visit_Name(self, node: gast.Name) -> None:
        self._rename(node, "id")
        self.generic_visit(node)

    def visit_Attribute(self, node: gast.Attribute) -> None:
        self._rename(node, "attr")
        self.generic_visit(node)

    def visit_alias(self, node: gast.alias) -> None:
        self._rename(node, "name")
        self._rename(node, "asname")

    def visit_MatchMapping(self, node: gast.MatchMapping) -> None:
        self._rename(node, "rest")
        self.generic_visit(node)

    def _visit_named(self, node: gast.AST) -> None:
        self._rename(node, "name")
        self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_named
    visit_MatchAs = visit_MatchStar = _visit_named
    visit_TypeVar = visit_ParamSpec = visit_TypeVarTuple = _visit_named

    def _visit_declaration(self, node: gast.Global | gast.Nonlocal) -> None:
        node.names = [mangled(name, self.class_name) for name in node.names]

    visit_Global = visit_Nonlocal = _visit_declaration

    def visit_ClassDef(self, node: gast.ClassDef) -> None:
        body = _Mangler(node.name)
        self._rename(node, "name")
        for child in gast.iter_child_nodes(node):
            (body if isinstance(child, gast.stmt) else self).visit(child)
