"""Runs of a function in which chance decides every test, match and exception: what is live, found by trying.

Only names matter, so values are not computed. A name was live at a point of a run if the next thing that
happened to it afterwards was a read.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable

import gast

Point = tuple[str, gast.stmt]


class _Boom(Exception):
    """An exception of the program."""


class _Jump(Exception):
    """A break, continue or return."""

    def __init__(self, stmt: gast.stmt) -> None:
        self.kind = type(stmt)


def observed_liveness(fn: gast.FunctionDef, runs: int, seed: int = 0) -> dict[Point, set[str]]:
    """Names seen live at each point reached: ``("after", stmt)`` and ``("head", loop)``."""
    chance = random.Random(seed)
    observed: dict[Point, set[str]] = defaultdict(set)
    for _ in range(runs):
        live: set[str] = set()
        for kind, what in reversed(_Run(chance, chance.choice([0.0, 0.05, 0.3])).events(fn)):
            if kind == "read":
                live.add(what)
            elif kind == "write":
                live.discard(what)
            else:
                observed[kind, what] |= live
    return observed


class _Run:
    def __init__(self, chance: random.Random, risk: float) -> None:
        self.chance, self.risk, self.fuel = chance, risk, 60
        self.log: list[tuple[str, object]] = []

    def events(self, fn: gast.FunctionDef) -> list[tuple[str, object]]:
        try:
            self.block(fn.body)
        except (_Boom, _Jump):
            pass
        return self.log

    def happen(self, kind: str, what: object) -> None:
        """Note an event; once the fuel is used up nothing counts any more, as if the program were stopped."""
        self.fuel -= 1
        if self.fuel > 0:
            self.log.append((kind, what))

    def risk_exception(self) -> None:
        if self.chance.random() < self.risk:
            raise _Boom

    def read(self, name: str) -> None:
        self.happen("read", name)
        self.risk_exception()

    def coin(self) -> bool:
        return self.fuel > 0 and self.chance.random() < 0.5

    def block(self, stmts: Iterable[gast.stmt]) -> None:
        for stmt in stmts:
            getattr(self, type(stmt).__name__)(stmt)
            self.happen("after", stmt)

    def evaluate(self, node: gast.AST | None) -> None:
        match node:
            case None:
                return
            case gast.Name(ctx=gast.Load()):
                self.read(node.id)
            case gast.Name(ctx=gast.Store()):
                self.happen("write", node.id)
            case gast.Name():
                self.read(node.id)
                self.happen("write", node.id)
            case gast.NamedExpr():
                self.evaluate(node.value)
                self.happen("write", node.target.id)
            case gast.BoolOp():
                for value in node.values:
                    self.evaluate(value)
                    if self.coin():
                        break
            case gast.IfExp():
                self.evaluate(node.test)
                self.evaluate(node.body if self.coin() else node.orelse)
            case gast.MatchAs() | gast.MatchStar():
                self.evaluate(getattr(node, "pattern", None))
                if node.name is not None:
                    self.happen("write", node.name)
            case _:
                for child in gast.iter_child_nodes(node):
                    self.evaluate(child)
                if isinstance(node, gast.Call):
                    self.risk_exception()

    def Expr(self, stmt: gast.Expr) -> None:
        self.evaluate(stmt.value)

    def Delete(self, stmt: gast.Delete) -> None:
        for target in stmt.targets:
            self.evaluate(target)

    def Pass(self, stmt: gast.Pass) -> None:
        pass

    def Assign(self, stmt: gast.Assign) -> None:
        self.evaluate(stmt.value)
        for target in stmt.targets:
            self.evaluate(target)

    def AugAssign(self, stmt: gast.AugAssign) -> None:
        if isinstance(stmt.target, gast.Name):
            self.read(stmt.target.id)
            self.evaluate(stmt.value)
        self.evaluate(stmt.target)

    def Return(self, stmt: gast.Return) -> None:
        self.evaluate(stmt.value)
        raise _Jump(stmt)

    def Break(self, stmt: gast.Break | gast.Continue) -> None:
        raise _Jump(stmt)

    Continue = Break

    def Raise(self, stmt: gast.Raise) -> None:
        self.evaluate(stmt.exc)
        raise _Boom

    def Assert(self, stmt: gast.Assert) -> None:
        self.evaluate(stmt.test)
        if self.coin():
            self.evaluate(stmt.msg)
            raise _Boom

    def If(self, stmt: gast.If) -> None:
        self.evaluate(stmt.test)
        self.block(stmt.body if self.coin() else stmt.orelse)

    def While(self, stmt: gast.While) -> None:
        self.loop(stmt, stmt.test, None, endless=isinstance(stmt.test, gast.Constant))

    def For(self, stmt: gast.For) -> None:
        self.evaluate(stmt.iter)
        self.loop(stmt, None, stmt.target, endless=False)

    def loop(
        self, stmt: gast.While | gast.For, test: gast.expr | None, target: gast.expr | None, endless: bool
    ) -> None:
        while True:
            self.happen("head", stmt)
            self.evaluate(test)
            if self.fuel <= 0 or not (endless or self.coin()):
                break
            self.evaluate(target)
            try:
                self.block(stmt.body)
            except _Jump as jump:
                if jump.kind is gast.Break:
                    return
                if jump.kind is gast.Return:
                    raise
        self.block(stmt.orelse)

    def With(self, stmt: gast.With, first: int = 0) -> None:
        if first == len(stmt.items):
            return self.block(stmt.body)
        self.evaluate(stmt.items[first].context_expr)
        try:
            self.evaluate(stmt.items[first].optional_vars)
            self.With(stmt, first + 1)
        except _Boom:
            if not self.coin():
                raise

    def Try(self, stmt: gast.Try) -> None:
        try:
            try:
                self.block(stmt.body)
            except _Boom:
                if not self.handle(stmt.handlers):
                    raise
            else:
                self.block(stmt.orelse)
        finally:
            self.block(stmt.finalbody)

    def handle(self, handlers: list[gast.ExceptHandler]) -> bool:
        for handler in handlers:
            self.evaluate(handler.type)
            if handler.type is None or self.coin():
                self.evaluate(handler.name)
                try:
                    self.block(handler.body)
                finally:
                    if handler.name is not None:
                        self.happen("write", handler.name.id)
                return True
        return False

    def Match(self, stmt: gast.Match) -> None:
        self.evaluate(stmt.subject)
        for case in stmt.cases:
            irrefutable = isinstance(case.pattern, gast.MatchAs) and case.pattern.pattern is None
            if irrefutable or self.coin():
                self.evaluate(case.pattern)
                self.evaluate(case.guard)
                if case.guard is None or self.coin():
                    return self.block(case.body)
