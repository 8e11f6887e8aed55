"""The nodes of a tree, in no order that anybody may count on: what is asked often of a program's text.

Whether a name is read or bound is a node for the parser, but no part of the program: it is left out.
"""
from __future__ import annotations

from collections.abc import Iterator

import gast

__all__ = ["children", "walk"]


def children(node: gast.AST) -> list[gast.AST]:
    """The nodes right below one, in their order."""
    found: list[gast.AST] = []
    held = node.__dict__
    for field in _fields(type(node)):
        value = held.get(field)
        if isinstance(value, list):
            found.extend([item for item in value if isinstance(item, gast.AST)])
        elif isinstance(value, gast.AST):
            found.append(value)
    return found


_known_fields: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    """The fields of a class of nodes."""
    found = _known_fields.get(kind)
    if found is None:
        found = _known_fields[kind] = tuple(field for field in kind._fields if field != "ctx")  # type: ignore[attr-defined]
    return found


def walk(node: gast.AST) -> Iterator[gast.AST]:
    """A node and all below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))
