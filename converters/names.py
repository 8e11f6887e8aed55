"""Names are read where they live: locals that may be unbound, shared variables, closure cells, globals.

    y = x + G        -->   y = rt.binary('+', x, rt.load_global(rt_globals, 'G'))
"""
from __future__ import annotations

import builtins
import types
from typing import Any

import gast

from imp2tf import alternatives
from imp2tf.alternatives import raise_error, stripped
from imp2tf.heap import view
from imp2tf.namespace import operator, rt
from imp2tf.places import Attribute, Cell, Global
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.session import current
from imp2tf.targets import constant
from imp2tf.values import DEAD, UNBOUND, Union

rt.unbound = UNBOUND
rt.dead = DEAD


class Names(Converter, lowers=(gast.Name,)):
    """Reads of names; assignments are lowered by `imp2tf.targets`."""

    def lower(self, node: gast.Name) -> gast.expr:
        if not isinstance(node.ctx, gast.Load):
            return node
        kind, text = self.rw.kind_of(node.id), constant(node.id)
        if kind == "shared":
            return quote_expr("rt.load_shared(owner, text)", node, owner=self.rw.shared_owner(node.id), text=text)
        if kind == "free":
            return quote_expr("rt.load_free(rt_cells, text)", node, text=text)
        if kind == "global":
            return quote_expr("rt.load_global(rt_globals, text)", node, text=text)
        if self.rw.may_be_unbound(node.id):
            return quote_expr("rt.bound(value, text)", node, value=gast.Name(node.id, gast.Load(), None, None), text=text)
        return node


class Declarations(Converter, lowers=(gast.Global, gast.Nonlocal)):
    """``global`` and ``nonlocal`` have done their work in the analysis of scopes."""

    def lower(self, node: gast.Global) -> list[gast.stmt]:
        return [gast.Pass()]


@operator
def bound(value: Any, name: str) -> Any:
    """A local variable, which may be unbound here."""
    return alternatives.bound(value, name)


# ------------------------------------------------------------------------------------------------ shared variables
class SharedVariables:
    """The variables of one call that nested functions rebind."""


@operator
def shared_variables() -> SharedVariables:
    """An object of the trace, so that its fields are carried by any branch or loop that changes them."""
    return current().born(SharedVariables())


@operator
def load_shared(owner: SharedVariables, name: str) -> Any:
    """Read a shared variable."""
    return alternatives.bound(view(Attribute(owner, name)), name)


@operator
def store_shared(owner: SharedVariables, name: str, value: Any) -> None:
    """Write a shared variable."""
    current().write(Attribute(owner, name), value)


# ------------------------------------------------------------------------------------------------ cells and globals
@operator
def load_free(cells: dict[str, types.CellType], name: str) -> Any:
    """Read a variable of the function around the converted one."""
    error = NameError(f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope")
    return _defined(view(Cell(cells[name], name)), error)


@operator
def store_free(cells: dict[str, types.CellType], name: str, value: Any) -> None:
    """Write a variable of the function around the converted one."""
    current().write(Cell(cells[name], name), value)


@operator
def load_global(module: dict[str, Any], name: str) -> Any:
    """Read a global variable or a builtin."""
    value = view(Global(module, name))
    if value is UNBOUND and hasattr(builtins, name):
        return getattr(builtins, name)
    return _defined(value, NameError(f"name '{name}' is not defined"))


@operator
def store_global(module: dict[str, Any], name: str, value: Any) -> None:
    """Write a global variable."""
    current().write(Global(module, name), value)


def _defined(value: Any, error: NameError) -> Any:
    if value is UNBOUND:
        return raise_error(error)
    return stripped(value, UNBOUND, error) if isinstance(value, Union) else value
