"""Where a statement may send the program, read off its form.

    if x: return 1          -->   may exit, does not always exit
    while True: step()      -->   always exits: nothing after it runs

An exit is a ``return``, or a ``break`` or ``continue`` of a loop outside of the statement. Nothing here
looks into nested functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import gast

from imp2tf.analysis.evaluated import FunctionNode, evaluated_here

LoopNode: TypeAlias = gast.While | gast.For | gast.AsyncFor
_YIELDS = frozenset({gast.Yield, gast.YieldFrom})
_AWAITS = frozenset({gast.Await, gast.AsyncFor, gast.AsyncWith, gast.comprehension})
_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)


def may_exit(stmt: gast.stmt) -> bool:
    """Whether ``stmt`` holds a ``return``, or a ``break`` or ``continue`` that leaves it."""
    return any(True for _ in _exits([stmt], (gast.Return, gast.Break, gast.Continue)))


def always_exits(stmts: Iterable[gast.stmt]) -> bool:
    """Whether every path through ``stmts`` ends in return, raise, break or continue, or never ends.

    A ``with`` is taken to pass on to what follows it: its manager may swallow an exception.
    """
    return any(_always_exits(stmt) for stmt in stmts)


def is_always_true(test: gast.expr) -> bool:
    """Whether ``test`` is a constant that is true."""
    return isinstance(test, gast.Constant) and bool(test.value)


def is_irrefutable(case: gast.match_case) -> bool:
    """Whether ``case`` takes every subject."""
    return case.guard is None and _matches_all(case.pattern)


def has_yield(fn: FunctionNode) -> bool:
    """Whether calling ``fn`` makes a generator."""
    return any(node.__class__ in _YIELDS for node in evaluated_here(_body(fn)))


def has_await(fn: FunctionNode) -> bool:
    """Whether ``fn`` awaits: by ``await``, ``async with``, or ``async for``, also that of a comprehension."""
    return any(node.__class__ in _AWAITS and getattr(node, "is_async", True) for node in evaluated_here(_body(fn)))


def _body(fn: FunctionNode) -> list[gast.AST]:
    return [fn.body] if isinstance(fn, gast.Lambda) else fn.body


def _exits(stmts: Iterable[gast.stmt], kinds: tuple[type, ...]) -> Iterator[gast.stmt]:
    """The statements of ``kinds`` that leave ``stmts``; a loop inside keeps its own breaks and continues."""
    for stmt in stmts:
        if isinstance(stmt, kinds):
            yield stmt
        elif isinstance(stmt, LoopNode):
            yield from _exits(stmt.body, tuple(kind for kind in kinds if kind is gast.Return))
            yield from _exits(stmt.orelse, kinds)
        elif not isinstance(stmt, _DEFINITIONS):
            for block in _blocks(stmt):
                yield from _exits(block, kinds)


def _blocks(stmt: gast.stmt) -> Iterator[Sequence[gast.stmt]]:
    """The blocks of statements in a compound statement."""
    for part in [stmt, *getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())]:
        for name in ("body", "orelse", "finalbody"):
            yield getattr(part, name, ())


def _always_exits(stmt: gast.stmt) -> bool:
    if isinstance(stmt, gast.Return | gast.Raise | gast.Break | gast.Continue):
        return True
    if isinstance(stmt, gast.If):
        return always_exits(stmt.body) and always_exits(stmt.orelse)
    if isinstance(stmt, LoopNode):
        return _loop_always_exits(stmt)
    if isinstance(stmt, gast.Try | gast.TryStar):
        handled = all(always_exits(handler.body) for handler in stmt.handlers)
        return always_exits(stmt.finalbody) or (handled and always_exits([*stmt.body, *stmt.orelse]))
    if isinstance(stmt, gast.Match):
        complete = any(is_irrefutable(case) for case in stmt.cases)
        return complete and all(always_exits(case.body) for case in stmt.cases)
    return False


def _loop_always_exits(loop: LoopNode) -> bool:
    """A loop leads to what follows by ``break``, or through its ``else`` unless the test can never fail."""
    if any(True for _ in _exits(loop.body, (gast.Break,))):
        return False
    return always_exits(loop.orelse) or (isinstance(loop, gast.While) and is_always_true(loop.test))


def _matches_all(pattern: gast.pattern) -> bool:
    if isinstance(pattern, gast.MatchOr):
        return any(_matches_all(alternative) for alternative in pattern.patterns)
    return isinstance(pattern, gast.MatchAs) and (pattern.pattern is None or _matches_all(pattern.pattern))
