"""``and``, ``or``, ``not`` and conditional expressions: only the operand that Python would evaluate is.

    a and b           -->   rt.and_(lambda: a, lambda: b)
    x if c else y     -->   rt.if_expression(c, lambda: x, lambda: y)
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf.namespace import operator
from imp2tf.operations import truth_of
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.speculation import choice
from imp2tf.states import NO_STATE, State
from imp2tf.values import negated_bool

Thunk = Callable[[], Any]


class BooleanOperators(Converter, lowers=(gast.BoolOp,)):
    """``a and b and c``, ``a or b or c``."""

    def lower(self, node: gast.BoolOp) -> gast.expr:
        operands = [self.rw.delayed(value) for value in node.values]
        call = quote_expr("rt.and_()" if isinstance(node.op, gast.And) else "rt.or_()", node)
        call.args = operands
        return self.rw.with_state(call, node)


class ConditionalExpressions(Converter, lowers=(gast.IfExp,)):
    """``body if test else orelse``."""

    def lower(self, node: gast.IfExp) -> gast.expr:
        test = self.rw.visit(node.test)
        call = quote_expr(
            "rt.if_expression(test, body, orelse)", node, test=test, body=self.rw.delayed(node.body), orelse=self.rw.delayed(node.orelse)
        )
        return self.rw.with_state(call, node)


@operator
def and_(*operands: Thunk, state: State = NO_STATE) -> Any:
    """The first operand that is false, else the last."""
    first = operands[0]()
    if len(operands) == 1:
        return first
    holds = truth_of(first)
    if isinstance(holds, bool):
        return and_(*operands[1:], state=state) if holds else first
    return choice(holds, lambda: and_(*operands[1:], state=state), lambda: first, state)


@operator
def or_(*operands: Thunk, state: State = NO_STATE) -> Any:
    """The first operand that is true, else the last."""
    first = operands[0]()
    if len(operands) == 1:
        return first
    holds = truth_of(first)
    if isinstance(holds, bool):
        return first if holds else or_(*operands[1:], state=state)
    return choice(holds, lambda: first, lambda: or_(*operands[1:], state=state), state)


@operator
def not_(value: Any) -> Any:
    """``not value``."""
    return negated_bool(truth_of(value))


@operator
def if_expression(test: Any, body: Thunk, orelse: Thunk, state: State = NO_STATE) -> Any:
    """``body() if test else orelse()``."""
    holds = truth_of(test)
    if isinstance(holds, bool):
        return body() if holds else orelse()
    return choice(holds, body, orelse, state)
