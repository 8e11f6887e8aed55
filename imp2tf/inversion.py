"""Generator functions turned inside out: what they would yield they give to a consumer.

    def halves(x):                 def halves(consumer__, x):
        while x > 1:       -->         while x > 1:
            x = x / 2                      x = x / 2
            yield x                        if rt.give(consumer__, x): return

`give` runs the body of the loop that consumes the generator and says whether the loop was left. A generator that catches
exceptions or holds something open around a ``yield``, or asks what was sent to it, stays as it is. One that `contextlib` makes a
manager of may: what the body of the ``with`` raises comes out of its ``yield``.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

import gast

from imp2tf.analysis.evaluated import evaluated_here
from imp2tf.analysis.walking import walk
from imp2tf.quote import RUNTIME, located, quote

__all__ = ["invert_generators", "is_inverted"]

CONSUMER = "consumer__"  # the first parameter of an inverted generator function: a name that no program uses
YIELDS = (gast.Yield, gast.YieldFrom)
BLOCKS = ("body", "orelse", "cases")
GUARDED_BLOCKS = ("body", "orelse", "handlers", "finalbody")
MANAGER = "contextmanager"


def is_inverted(node: gast.FunctionDef) -> bool:
    """Whether a function was a generator function."""
    first = [*node.args.posonlyargs, *node.args.args][:1]
    return bool(first) and first[0].id == CONSUMER


def invert_generators(tree: gast.AST, decorators: Sequence[gast.expr]) -> None:
    """Invert, in place, all generator functions in a tree that can be; `decorators` are those of the outermost."""
    nodes = list(walk(tree))
    if not any(isinstance(node, YIELDS) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, gast.FunctionDef) and _can_be_inverted(node, decorators if node is tree else node.decorator_list):
            parameters = node.args.posonlyargs or node.args.args
            parameters.insert(0, located(gast.Name(CONSUMER, gast.Param(), None, None), node))
            node.body = _inverted(node.body)


def _can_be_inverted(node: gast.FunctionDef, decorators: Sequence[gast.expr]) -> bool:
    """Whether every ``yield`` is a statement of its own that nothing is wrapped around, unless the function makes a manager."""
    yields = sum(isinstance(one, YIELDS) for one in evaluated_here(node.body))
    makes_manager = any(getattr(one, "attr", getattr(one, "id", None)) == MANAGER for one in decorators)
    return yields > 0 and yields == sum(1 for _ in _plain_yields(node.body, makes_manager))


def _plain_yields(stmts: Sequence[gast.AST], guarded: bool) -> Iterator[gast.Expr]:
    for stmt in stmts:
        if isinstance(stmt, gast.Expr) and isinstance(stmt.value, YIELDS):
            yield stmt
        for block in _blocks(stmt, guarded):
            yield from _plain_yields(getattr(stmt, block), guarded)


def _blocks(stmt: gast.AST, guarded: bool) -> list[str]:
    """The fields of a control statement that hold statements, or cases of them; with `guarded`, of ``try`` and ``with`` too."""
    if guarded and isinstance(stmt, gast.Try | gast.With | gast.ExceptHandler):
        return [field for field in GUARDED_BLOCKS if getattr(stmt, field, None)]
    if not isinstance(stmt, gast.If | gast.For | gast.While | gast.Match | gast.match_case):
        return []
    return [field for field in BLOCKS if getattr(stmt, field, None)]


def _inverted(stmts: Sequence[gast.AST]) -> list[gast.AST]:
    out: list[gast.AST] = []
    for stmt in stmts:
        for block in _blocks(stmt, guarded=True):
            setattr(stmt, block, _inverted(getattr(stmt, block)))
        out.extend(_given(stmt) if isinstance(stmt, gast.Expr) and isinstance(stmt.value, YIELDS) else [stmt])
    return out


def _given(stmt: gast.Expr) -> list[gast.stmt]:
    give = f"if {RUNTIME}.give({CONSUMER}, item): return"
    value = stmt.value
    if isinstance(value, gast.YieldFrom):
        return quote(f"for item in items:\n    {give}", stmt, items=value.value, item="item__")
    return quote(give, stmt, item=value.value or gast.Constant(None, None))
