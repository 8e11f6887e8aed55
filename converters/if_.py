"""``if`` on a tensor becomes a conditional of the graph.

    if x > 0:            def _then_1(): nonlocal y; y = x
        y = x      -->   def _else_2(): nonlocal y; y = 0
    else:                def _set_3(given__): nonlocal y; (y,) = given__
        y = 0            rt.if_(x > 0, _then_1, _else_2, rt.state(lambda: (y,), _set_3))

Both branches are traced once; what they leave is joined (`imp2tf.join`), so None, unbound names, other shapes, dtypes and
Python objects may differ between them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf.analysis.scopes import bound_names
from imp2tf.namespace import operator, rt
from imp2tf.operations import truth_of
from imp2tf.quote import quote
from imp2tf.rewrite import Converter
from imp2tf.speculation import branch
from imp2tf.states import NO_STATE, State

rt.state = State
rt.no_state = NO_STATE


class Ifs(Converter, lowers=(gast.If,)):
    """``if``, ``elif`` and ``else``."""

    def lower(self, node: gast.If) -> list[gast.stmt]:
        leaves = self.rw.may_leave(node)
        walrus = [one for one in bound_names([node.test]) if self.rw.kind_of(one) == "local"]
        test = self.rw.visit(node.test)
        then = self.rw.closure("then", node.body)
        orelse = self.rw.closure("else", node.orelse or [gast.copy_location(gast.Pass(), node)])
        blocks = [then, orelse]
        names = [one for one in self.rw.carried(node, blocks, walrus) if one in then.bound | orelse.bound]
        state = self.rw.state(node, names, exits=leaves)
        call = quote("rt.if_(test, then, orelse, state)", node, test=test, then=then.name, orelse=orelse.name, state=state.expr)
        return [then.definition, orelse.definition, *state.setup, *call]


@operator
def if_(test: Any, then: Callable[[], None], orelse: Callable[[], None], state: State) -> None:
    """Run one of two blocks."""
    holds = truth_of(test)
    if isinstance(holds, bool):
        then() if holds else orelse()
    else:
        branch(holds, then, orelse, state)
