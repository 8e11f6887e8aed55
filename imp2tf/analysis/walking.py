"""The nodes of a tree, in no order that anybody may count on: what is asked often of a program's text.

Whether a name is read or bound is a node for the parser, but no part of the program: it is left out.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

__all__ = ["children", "walk"]

PLAIN = ("arg", "attr", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "simple", "type_comment")  # hold no nodes


class _Fields(dict[type, Any]):
    """The fields of a class of nodes that may hold nodes; None for what is no node."""

    def __missing__(self, kind: Any) -> tuple[str, ...] | None:
        found: tuple[str, ...] | None = None
        if issubclass(kind, gast.AST):
            found = () if kind is gast.Constant else tuple(field for field in kind._fields if field not in PLAIN)
        self[kind] = found
        return found


_fields = _Fields()


def children(node: gast.AST) -> list[gast.AST]:
    """The nodes right below one, in their order."""
    found: list[gast.AST] = []
    held = node.__dict__
    for field in _fields[node.__class__]:
        value = held.get(field)
        if value.__class__ is list:
            found.extend([item for item in value if _fields[item.__class__] is not None])
        elif value is not None and _fields[value.__class__] is not None:
            found.append(value)
    return found


def walk(node: gast.AST) -> Iterator[gast.AST]:
    """A node and all below it."""
    pending: list[Any] = [node]
    while pending:
        node = pending.pop()
        fields = _fields[node.__class__]
        if fields is None:
            continue
        yield node
        held = node.__dict__
        for field in fields:
            value = held.get(field)
            if value.__class__ is list:
                pending.extend(value)
            elif value is not None:
                pending.append(value)
