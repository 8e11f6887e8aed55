"""``for`` over tensors, run-time ranges, datasets and growing lists becomes a loop of the graph.

    for v in xs:         def _target_1(given__): nonlocal v; v = given__
        s = s + v  -->   def _body_2(): nonlocal s; s = s + v
                         rt.for_(xs, _target_1, _body_2, None, rt.state(lambda: (s, v), _set_3), None)

A loop over items that are known while tracing is unrolled; where nobody reads them, all turns may be one (`imp2tf.rolling`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast
import tensorflow as tf

from imp2tf.analysis.walking import walk
from imp2tf.generators import as_pushed, push_for
from imp2tf.iterables import cursor
from imp2tf.loops import Expected, Sets, nothing_set, run_for
from imp2tf.namespace import operator
from imp2tf.quote import GIVEN, quote, quote_expr
from imp2tf.region import cond
from imp2tf.rewrite import Converter
from imp2tf.states import State
from imp2tf.targets import assign, constant, target_names
from imp2tf.values import Union

Block = Callable[[], None]


class ForLoops(Converter, lowers=(gast.For,)):
    """``for`` and its ``else``."""

    def lower(self, node: gast.For) -> list[gast.stmt]:
        exits, expected = self.rw.loop_exits(node), self.rw.expectation(node.body, node)
        iterable = self.rw.visit(node.iter)
        names = [one for one in target_names(node.target) if self.rw.kind_of(one) == "local"]
        unread = ", unread=True" if names and exits is None and not self._may_be_read(names, node) else ""
        target = self.rw.fresh("target")
        put = self.rw.function_of(target, assign(self.rw, node.target, quote_expr(GIVEN, node.target)), names, node.target, [GIVEN])
        body = self.rw.closure("body", node.body, extra=names)
        blocks, setup, orelse = [body], [put, body.definition], constant(None)
        if node.orelse:
            block = self.rw.closure("else", node.orelse)
            blocks.append(block)
            setup.append(block.definition)
            orelse = block.name
        carried = self.rw.carried(node, blocks, names)
        state = self.rw.state(node, carried, exits=exits is not None)
        call = quote(f"rt.for_(iterable, target, body, orelse, state, exits{unread})", node, iterable=iterable, target=target,
                     body=body.name, orelse=orelse, state=state.expr, exits=constant(exits))
        return [*setup, *state.setup, *expected.add_to(call, carried)]

    def _may_be_read(self, names: list[str], node: gast.For) -> bool:
        """Whether anything may look at the variables of a loop, but for an iteration over them to come."""
        scope, live = self.rw.frame.scope, self.rw.frame.live
        inside = {one.id for stmt in [*node.body, *node.orelse] for one in walk(stmt) if isinstance(one, gast.Name)}
        known = live is not None and node in live.after and not live.beyond(node).intersection(names)
        return not known or not scope.locals.issuperset(names) or not scope.captured.union(inside).isdisjoint(names)


@operator
def for_(iterable: Any, target: Callable[[Any], None], body: Block, orelse: Block | None, state: State, exits: str | None,
         unread: bool = False, counts: Sequence[int] = (), sets: Sets = nothing_set) -> None:
    """Run `body` for each item; `unread`: nobody looks at the item. What it `counts` and `sets`: see `while_`."""
    if isinstance(iterable, Union):
        return _for_union(iterable, target, body, orelse, state, exits)

    def visit(item: Any) -> None:
        target(item)
        body()

    pushed = as_pushed(iterable, in_text=True)
    if pushed is not None:
        return push_for(pushed, visit, orelse, state, exits)
    return run_for(cursor(iterable, in_text=True), visit, orelse, state, exits, body.__code__, unread, Expected(state, counts, sets))


def _for_union(union: Union, target: Callable[[Any], None], body: Block, orelse: Block | None, state: State, exits: str | None) -> None:
    """Over whichever of several iterables the run finds."""

    def at(index: int) -> None:
        one = union.alternatives[index]
        if index == len(union.alternatives) - 1:
            for_(one, target, body, orelse, state, exits)
        else:
            cond(tf.equal(union.tag, index), lambda: for_(one, target, body, orelse, state, exits), lambda: at(index + 1), state)

    at(0)
