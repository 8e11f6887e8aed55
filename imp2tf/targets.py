"""Assignment to any target, as statements: names by where they live, attributes and elements through the heap."""
from __future__ import annotations

from typing import Any

import gast

from imp2tf.quote import located, name, quote, quote_expr
from imp2tf.rewrite import Rewriter

__all__ = ["assign", "constant", "target_names"]


def constant(value: object) -> gast.Constant:
    """A literal."""
    return gast.Constant(value, None)


def target_names(target: Any) -> list[str]:
    """The plain names in a target."""
    return [node.id for node in gast.walk(target) if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store)]


def assign(rw: Rewriter, target: Any, value: gast.expr) -> list[gast.stmt]:
    """Statements for ``target = value``, where `value` is already lowered."""
    if isinstance(target, gast.Name):
        return assign_name(rw, target, value)
    if isinstance(target, gast.Attribute):
        owner = rw.visit(target.value)
        return quote("rt.set_attribute(owner, attr, value)", target, owner=owner, attr=constant(target.attr), value=value)
    if isinstance(target, gast.Subscript):
        owner, key = rw.visit(target.value), rw.visit(target.slice)
        return quote("rt.set_item(owner, key, value)", target, owner=owner, key=key, value=value)
    if isinstance(target, gast.Starred):
        return assign(rw, target.value, value)
    return _unpack(rw, target, value)


def assign_name(rw: Rewriter, target: gast.Name, value: gast.expr) -> list[gast.stmt]:
    """Assign to a name, by where it lives."""
    kind = rw.kind_of(target.id)
    text = constant(target.id)
    if kind == "shared":
        return quote("rt.store_shared(owner, text, value)", target, owner=rw.shared_owner(target.id), text=text, value=value)
    if kind == "free":
        return quote("rt.store_free(rt_cells, text, value)", target, text=text, value=value)
    if kind == "global":
        return quote("rt.store_global(rt_globals, text, value)", target, text=text, value=value)
    return [located(gast.Assign([gast.Name(target.id, gast.Store(), None, None)], value), target)]


def _unpack(rw: Rewriter, target: gast.Tuple, value: gast.expr) -> list[gast.stmt]:
    """``a, *b = value``: the parts first, then each target in turn."""
    parts = rw.fresh("parts")
    star = next((i for i, one in enumerate(target.elts) if isinstance(one, gast.Starred)), None)
    call = quote_expr("rt.unpack(value, count, star)", target, value=value, count=constant(len(target.elts)), star=constant(star))
    out: list[gast.stmt] = [located(gast.Assign([gast.Name(parts, gast.Store(), None, None)], call), target)]
    for i, one in enumerate(target.elts):
        part = gast.Subscript(name(parts, one), constant(i), gast.Load())
        out.extend(assign(rw, one, located(part, one)))
    return out
