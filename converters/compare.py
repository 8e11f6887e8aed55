"""Comparisons, chains of them, ``in`` and ``is``.

    a < b          -->   rt.compare('<', a, b)
    a < b <= c     -->   rt.chain(a, ('<', lambda: b), ('<=', lambda: c))
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf.namespace import operator
from imp2tf.operations import compare_operation, contains, is_same, truth_of
from imp2tf.quote import quote_expr
from imp2tf.region import select
from imp2tf.rewrite import Converter
from imp2tf.states import NO_STATE, State
from imp2tf.targets import constant
from imp2tf.values import negated_bool

COMPARE: dict[type, str] = {
    gast.Lt: "<", gast.LtE: "<=", gast.Gt: ">", gast.GtE: ">=", gast.Eq: "==", gast.NotEq: "!=", gast.Is: "is", gast.IsNot: "is not",
    gast.In: "in", gast.NotIn: "not in",
}


class Comparisons(Converter, lowers=(gast.Compare,)):
    """``a op b`` and ``a op b op c``."""

    def lower(self, node: gast.Compare) -> gast.expr:
        left = self.rw.visit(node.left)
        if len(node.ops) == 1:
            op = constant(COMPARE[type(node.ops[0])])
            return quote_expr("rt.compare(op, left, right)", node, op=op, left=left, right=self.rw.visit(node.comparators[0]))
        call = quote_expr("rt.chain(left)", node, left=left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            call.args.append(gast.Tuple([constant(COMPARE[type(op)]), self.rw.delayed(right)], gast.Load()))
        return self.rw.with_state(call, node)


@operator
def compare(op: str, a: Any, b: Any) -> Any:
    """``a op b``."""
    if op in ("is", "is not"):
        return negated_bool(truth_of(is_same(a, b))) if op == "is not" else is_same(a, b)
    if op in ("in", "not in"):
        return negated_bool(truth_of(contains(b, a))) if op == "not in" else contains(b, a)
    return compare_operation(op, a, b)


@operator
def chain(left: Any, *links: tuple[str, Callable[[], Any]], state: State = NO_STATE) -> Any:
    """``left op1 b op2 c``: each operand is evaluated at most once, and only while the links hold."""
    op, operand = links[0]
    right = operand()
    result = compare(op, left, right)
    if len(links) == 1:
        return result
    holds = truth_of(result)
    if isinstance(holds, bool):
        return chain(right, *links[1:], state=state) if holds else result
    return select(holds, lambda: chain(right, *links[1:], state=state), lambda: result, state)
