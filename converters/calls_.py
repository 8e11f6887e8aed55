"""Calls, with starred arguments.

    f(x, *args, k=v)   -->   rt.call(f, x, *rt.items(args), k=v)
    super().go(x)      -->   rt.call(rt.get_attribute(rt.super_(__class__, self), 'go'), x)
"""
from __future__ import annotations

from typing import Any

import gast

from imp2tf import calls
from imp2tf.alternatives import raise_error
from imp2tf.analysis.evaluated import parameters
from imp2tf.attributes import FieldsOf
from imp2tf.containers import static
from imp2tf.errors import NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.heap import is_container
from imp2tf.iteration import drained
from imp2tf.namespace import operator
from imp2tf.quote import is_runtime_call, quote_expr
from imp2tf.rewrite import Converter
from imp2tf.targets import constant

FRAME_FUNCTIONS = ("locals", "vars", "eval", "exec", "globals", "dir", "breakpoint")


class Calls(Converter, lowers=(gast.Call,)):
    """``f(...)``."""

    def lower(self, node: gast.Call) -> gast.expr:
        if is_runtime_call(node):
            node.func = quote_expr(f"rt.{node.func.attr}", node)
            node.args = [self.rw.visit(one) for one in node.args]
            return node
        if isinstance(node.func, gast.Name) and self.rw.kind_of(node.func.id) == "global":
            if node.func.id == "super" and not node.args:
                return self._super(node)
            if node.func.id in FRAME_FUNCTIONS and len(node.args) < (1 if node.func.id == "vars" else 2):
                return quote_expr("rt.unsupported(text)", node, text=constant(f"{node.func.id}()"))
        call = quote_expr("rt.call(function)", node, function=self.rw.visit(node.func))
        call.args.extend(self._argument(one) for one in node.args)
        for one in node.keywords:
            value = self.rw.visit(one.value)
            call.keywords.append(gast.keyword(one.arg, value if one.arg else quote_expr("rt.mapping(value)", node, value=value)))
        return call

    def _argument(self, node: gast.expr) -> gast.expr:
        if isinstance(node, gast.Starred):
            return gast.Starred(quote_expr("rt.items(value)", node, value=self.rw.visit(node.value)), gast.Load())
        return self.rw.visit(node)

    def _super(self, node: gast.Call) -> gast.expr:
        frame = self.rw.frame
        while frame.parent is not None and not parameters(frame.node.args):
            frame = frame.parent
        first = parameters(frame.node.args)[0].id
        cls = self.rw.visit(gast.copy_location(gast.Name("__class__", gast.Load(), None, None), node))
        return quote_expr("rt.super_(cls, first)", node, cls=cls, first=first)


@operator
def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``."""
    return calls.call(function, *args, **kwargs)


@operator
def super_(cls: type, first: Any) -> Any:
    """``super()`` in a method of `cls`."""
    return super(cls, first)


@operator
def items(value: Any) -> Any:
    """The items of a starred argument or element."""
    found = drained(value)
    return fall_back(NeedsValue, "a starred value of run-time length") if found is None else found


@operator
def mapping(value: Any) -> dict[str, Any]:
    """The items of a ``**`` argument or element."""
    if is_container(value) and isinstance(value, dict):
        return static(value, "**")
    if isinstance(value, FieldsOf):
        return value.fields()
    if not hasattr(value, "keys"):
        raise_error(TypeError(f"argument after ** must be a mapping, not {type(value).__name__}"))
    return dict(value)


@operator
def unsupported(what: str) -> Any:
    """Syntax that only Python can run."""
    return fall_back(UnsupportedSyntax, f"{what} runs as Python only")
