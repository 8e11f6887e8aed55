"""The nodes of a tree, in no order that anybody may count on: what is asked often of a program's text."""
from __future__ import annotations

from collections.abc import Iterator

import gast

__all__ = ["children", "walk"]


def children(node: gast.AST) -> list[gast.AST]:
    """The nodes right below one, in their order."""
    found: list[gast.AST] = []
    held = node.__dict__
    for field in node._fields:
        value = held.get(field)
        if isinstance(value, list):
            found.extend([item for item in value if isinstance(item, gast.AST)])
        elif isinstance(value, gast.AST):
            found.append(value)
    return found


def walk(node: gast.AST) -> Iterator[gast.AST]:
    """A node and all below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))
