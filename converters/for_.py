"""``for`` over tensors, run-time ranges, datasets and growing lists becomes a loop of the graph.

    for v in xs:         def _target_1(item): nonlocal v; v = item
        s = s + v  -->   def _body_2(): nonlocal s; s = s + v
                         rt.for_(xs, _target_1, _body_2, None, rt.state(lambda: (s, v), _set_3), None)

A loop over items that are known while tracing is unrolled.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast
import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.exits import CONTINUE, clear, exit_code, none_under_way
from imp2tf.iteration import Cursor, StaticCursor, cursor_of
from imp2tf.loops import LoopParts, finish_loop, run_loop
from imp2tf.namespace import operator
from imp2tf.operations import is_same, truth_of
from imp2tf.quote import quote, quote_expr
from imp2tf.region import State, cond
from imp2tf.rewrite import Converter
from imp2tf.targets import assign, constant, target_names
from imp2tf.user_iterators import user_cursor
from imp2tf.values import SKIP, Union

Block = Callable[[], None]


class ForLoops(Converter, lowers=(gast.For,)):
    """``for`` and its ``else``."""

    def lower(self, node: gast.For) -> list[gast.stmt]:
        exits = self.rw.loop_exits(node)
        iterable = self.rw.visit(node.iter)
        names = [one for one in target_names(node.target) if self.rw.kind_of(one) == "local"]
        target = self.rw.fresh("target")
        put = self.rw.function_of(target, assign(self.rw, node.target, quote_expr("item", node.target)), names, node.target, ["item"])
        body = self.rw.closure("body", node.body, extra=names)
        blocks, setup, orelse = [body], [put, body.definition], constant(None)
        if node.orelse:
            block = self.rw.closure("else", node.orelse)
            blocks.append(block)
            setup.append(block.definition)
            orelse = block.name
        state = self.rw.state(blocks, node, self.rw.carried(node, blocks, names), exits=exits is not None)
        call = quote("rt.for_(iterable, target, body, orelse, state, exits)", node, iterable=iterable, target=target, body=body.name,
                     orelse=orelse, state=state.expr, exits=constant(exits))
        return [*setup, *state.setup, *call]


@operator
def for_(iterable: Any, target: Callable[[Any], None], body: Block, orelse: Block | None, state: State, exits: str | None) -> None:
    """Run `body` for each item."""
    if isinstance(iterable, Union):
        return _for_union(iterable, target, body, orelse, state, exits)
    cursor = user_cursor(iterable) or cursor_of(iterable)
    if isinstance(cursor, StaticCursor):
        return _unrolled(cursor, target, body, orelse, state, exits)
    for box in cursor.boxes:
        state = state.plus(box)

    def turn() -> None:
        _with_item(cursor.next(), target, body, state)

    return run_loop(LoopParts(cursor.has_next, turn, orelse, state, exits, body.__code__))


def _for_union(union: Union, target: Callable[[Any], None], body: Block, orelse: Block | None, state: State, exits: str | None) -> None:
    """Over whichever of several iterables the run finds."""

    def one_of_them(one: Any) -> None:
        for_(one, target, body, orelse, state, exits)

    by_alternative(union, one_of_them, state)


def by_alternative(union: Union, block: Callable[[Any], None], state: State) -> None:
    """Run a block for the alternative that a union holds; the block may change the state."""
    def at(index: int) -> None:
        if index == len(union.alternatives) - 1:
            block(union.alternatives[index])
        else:
            cond(tf.equal(union.tag, index), lambda: block(union.alternatives[index]), lambda: at(index + 1), state)

    at(0)


def _with_item(item: Any, target: Callable[[Any], None], body: Block, state: State) -> None:
    """Run the body for an item, unless a generator expression's condition left the item out."""

    def run(value: Any) -> None:
        target(value)
        body()

    if not isinstance(item, Union) or not any(one is SKIP for one in item.alternatives):
        if item is not SKIP:
            run(item)
        return
    kept = [one for one in item.alternatives if one is not SKIP]
    value = kept[0] if len(kept) == 1 else over(item, lambda one: kept[0] if one is SKIP else one)
    cond(truth_of(is_same(item, SKIP)), lambda: None, lambda: run(value), state)


def _unrolled(cursor: Cursor, target: Callable[[Any], None], body: Block, orelse: Block | None, state: State, exits: str | None) -> None:
    while cursor.has_next():
        clean = none_under_way(exit_code(state)) if exits else True
        if clean is False:
            break
        item = cursor.next()

        def turn(item: Any = item) -> None:
            _with_item(item, target, body, state)
            if exits:
                clear(state, CONTINUE)

        turn() if clean is True else cond(clean, turn, lambda: None, state)
    finish_loop(orelse, state, exits)
