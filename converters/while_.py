"""``while`` on a tensor becomes a loop of the graph.

    while x > 1:         def _body_1(): nonlocal x; x = x / 2
        x = x / 2  -->   def _set_2(given__): nonlocal x; (x,) = given__
                         rt.while_(lambda: x > 1, _body_1, None, rt.state(lambda: (x,), _set_2), None)

No shape invariants and no names to define beforehand: the state is widened until the body keeps it (`imp2tf.looping.loop`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast

from imp2tf.analysis.scopes import bound_names
from imp2tf.loops import Expected, LoopParts, Sets, nothing_set, run_loop
from imp2tf.namespace import operator
from imp2tf.operations import truth_of
from imp2tf.quote import quote
from imp2tf.rewrite import Converter
from imp2tf.states import State
from imp2tf.targets import constant


class WhileLoops(Converter, lowers=(gast.While,)):
    """``while`` and its ``else``."""

    def lower(self, node: gast.While) -> list[gast.stmt]:
        exits, expected = self.rw.loop_exits(node), self.rw.expectation(node.body, node)
        walrus = [one for one in bound_names([node.test]) if self.rw.kind_of(one) == "local"]
        test = self.rw.delayed(node.test)
        body = self.rw.closure("body", node.body)
        blocks = [body]
        setup = [body.definition]
        orelse = constant(None)
        if node.orelse:
            block = self.rw.closure("else", node.orelse)
            blocks.append(block)
            setup.append(block.definition)
            orelse = block.name
        carried = self.rw.carried(node, blocks, walrus)
        state = self.rw.state(node, carried, exits=exits is not None)
        call = quote("rt.while_(test, body, orelse, state, exits)", node, test=test, body=body.name, orelse=orelse, state=state.expr,
                     exits=constant(exits))
        return [*setup, *state.setup, *expected.add_to(call, carried)]


@operator
def while_(test: Callable[[], Any], body: Callable[[], None], orelse: Callable[[], None] | None, state: State, exits: str | None,
           counts: Sequence[int] = (), sets: Sets = nothing_set) -> None:
    """Run `body` while `test` holds; it counts on some values of the state, seen from the end, and sets some attributes."""
    expected = Expected(state, counts, sets)
    run_loop(LoopParts(lambda: truth_of(test()), body, orelse, state, exits, body.__code__, expected=expected))
