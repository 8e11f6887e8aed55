"""Arithmetic operators.

    a + b    -->   rt.binary('+', a, b)
    -a       -->   rt.unary('-', a)
"""
from __future__ import annotations

from typing import Any

import gast

from imp2tf.arithmetic import unary
from imp2tf.calls import call
from imp2tf.kinds import is_user_function
from imp2tf.namespace import operator
from imp2tf.operations import binary_operation
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.targets import constant

BINARY: dict[type, str] = {
    gast.Add: "+", gast.Sub: "-", gast.Mult: "*", gast.Div: "/", gast.FloorDiv: "//", gast.Mod: "%", gast.Pow: "**", gast.MatMult: "@",
    gast.BitAnd: "&", gast.BitOr: "|", gast.BitXor: "^", gast.LShift: "<<", gast.RShift: ">>",
}
UNARY: dict[type, tuple[str, str]] = {gast.USub: ("-", "neg"), gast.UAdd: ("+", "pos"), gast.Invert: ("~", "invert")}


class BinaryOperators(Converter, lowers=(gast.BinOp,)):
    """``a op b``."""

    def lower(self, node: gast.BinOp) -> gast.expr:
        op, left = constant(BINARY[type(node.op)]), self.rw.visit(node.left)
        return quote_expr("rt.binary(op, left, right)", node, op=op, left=left, right=self.rw.visit(node.right))


class UnaryOperators(Converter, lowers=(gast.UnaryOp,)):
    """``-a``, ``+a``, ``~a`` and ``not a``; a negative literal stays."""

    def lower(self, node: gast.UnaryOp) -> gast.expr:
        if isinstance(node.operand, gast.Constant) and not isinstance(node.op, gast.Not):
            return node
        operand = self.rw.visit(node.operand)
        if isinstance(node.op, gast.Not):
            return quote_expr("rt.not_(operand)", node, operand=operand)
        return quote_expr("rt.unary(op, operand)", node, op=constant(UNARY[type(node.op)][0]), operand=operand)


@operator
def binary(op: str, a: Any, b: Any) -> Any:
    """``a op b``."""
    return binary_operation(op, a, b)


def unary_operator(op: str, a: Any) -> Any:
    """``op a``."""
    name = next(text for symbol, text in UNARY.values() if symbol == op)
    method = getattr(type(a), f"__{name}__", None)
    return call(method, a) if is_user_function(method) else unary(op, a)


unary_operator.__name__ = "unary"
operator(unary_operator)
