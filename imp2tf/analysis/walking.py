"""The nodes of a tree, in no order that anybody may count on: what is asked often of a program's text.

Whether a name is read or bound is a node for the parser, but no part of the program: it is left out.
"""
from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator

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


@functools.cache
def _fields(kind: Hashable) -> tuple[str, ...]:
    """The fields of a class of nodes."""
    return tuple(field for field in kind._fields if field != "ctx")  # type: ignore[attr-defined]


def walk(node: gast.AST) -> Iterator[gast.AST]:
    """A node and all below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))
