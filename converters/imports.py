"""``from module import name`` in a function: data of a module is read at each call, as Python does.

    from settings import RATE   -->   from settings import RATE; RATE = rt.imported(RATE, 'settings', 0, 'RATE', rt_globals)
"""
from __future__ import annotations

import types
from typing import Any

import gast

from imp2tf.attributes import get_attribute
from imp2tf.namespace import operator
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.targets import assign, constant


class Imports(Converter, lowers=(gast.ImportFrom,)):
    """``from module import name as other``."""

    def lower(self, node: gast.ImportFrom) -> list[gast.stmt]:
        found: list[gast.stmt] = [node]
        for alias in node.names:
            name = alias.asname or alias.name
            read = gast.copy_location(gast.Name(name, gast.Load(), None, None), node)
            value = quote_expr(
                "rt.imported(value, module, level, attr, rt_globals)", node, value=self.rw.visit(read), module=constant(node.module or ""),
                level=constant(node.level or 0), attr=constant(alias.name))
            found.extend(assign(self.rw, gast.copy_location(gast.Name(name, gast.Store(), None, None), node), value))
        return found


@operator
def imported(value: Any, module: str, level: int, attr: str, names: dict[str, Any]) -> Any:
    """What an import has found; data of a module is an attribute of it, which may change."""
    if isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
        return value
    return get_attribute(__import__(module, names, None, (attr,), level), attr)
