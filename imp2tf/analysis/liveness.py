"""Which names may still be read at each point of a function.

    while x > 0:            head: x, n
        y = x * n           after: x, y, n      (y is dead at the head: each turn makes it anew)
        x -= y              after: x, n

A backward analysis over structured control flow, solved to a fixpoint for loops. It never calls a name dead
that may be read: an exception may come from any statement, so what a handler, a ``finally`` or the code
after an exception-swallowing ``with`` reads is live all through the block; names shared with nested
functions are live everywhere, and so are names declared global or nonlocal. Names the function only looks
up outside are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import gast

from imp2tf.analysis.evaluated import FunctionDefNode, outer_parts, parameters, signature_annotations
from imp2tf.analysis.expressions import NO_NAMES, Expressions, Names
from imp2tf.analysis.flow import is_always_true, is_irrefutable
from imp2tf.analysis.scopes import bound_names, function_scope
from imp2tf.analysis.walking import walk

SwallowTest = Callable[[gast.withitem], bool]
_CANNOT_RAISE = (gast.Pass, gast.Break, gast.Continue)
LoopNode: TypeAlias = gast.While | gast.For | gast.AsyncFor


@dataclass(frozen=True)
class Liveness:
    """Names live just after each statement, and at the point of each loop where its next turn is decided.

    After a statement that jumps means at the statement below it; where a ``return``, ``break`` or ``continue``
    goes is in ``target``, and where an exception goes that a statement raises in ``raised``.
    """

    after: Mapping[gast.stmt, Names]
    head: Mapping[gast.stmt, Names]
    target: Mapping[gast.stmt, Names]
    raised: Mapping[gast.stmt, Names]

    def at_jumps(self, *stmts: gast.stmt) -> Names:
        """Names live where the jumps in ``stmts`` lead."""
        return NO_NAMES.union(*(self.target[node] for stmt in stmts for node in walk(stmt) if node in self.target))

    def beyond(self, stmt: gast.stmt) -> Names:
        """Names live wherever control goes from ``stmt``: below it, to its next turn, where a jump in it leads, to a handler."""
        return self.after[stmt] | self.head.get(stmt, NO_NAMES) | self.at_jumps(stmt) | self.raised.get(stmt, NO_NAMES)


def liveness(fn: FunctionDefNode, may_swallow: SwallowTest = lambda item: True) -> Liveness:
    """The live names of ``fn`` itself, not of functions nested in it.

    ``may_swallow`` tells whether the manager of a ``with`` item can suppress an exception, so that the
    program may go on after the ``with`` from anywhere within. Saying no where that is known keeps what the
    block binds dead before it.
    """
    scope = function_scope(fn)
    first = frozenset(parameter.id for parameter in parameters(fn.args)[:1])
    walk = _Backward(Expressions(scope.locals, first), may_swallow)
    nowhere = _Elsewhere(NO_NAMES, lambda: NO_NAMES, lambda: NO_NAMES, lambda: NO_NAMES)
    walk.block(fn.body, NO_NAMES, nowhere)
    always = scope.captured | scope.globals | scope.nonlocals

    def finished(sets: Mapping[gast.stmt, Names]) -> Mapping[gast.stmt, Names]:
        return MappingProxyType({stmt: (names & scope.locals) | always for stmt, names in sets.items()})

    return Liveness(finished(walk.after), finished(walk.head), finished(walk.target), finished(walk.raised))


@dataclass(frozen=True)
class _Elsewhere:
    """Names live where control goes when it leaves a block other than by its end.

    All but ``raised`` are asked for only where there is such an exit, for asking walks each ``finally`` on
    the way.
    """

    raised: Names
    returned: Callable[[], Names]
    broken: Callable[[], Names]
    continued: Callable[[], Names]


class _Backward:
    """One walk over a function; each method takes the names live after a node and gives those live before."""

    def __init__(self, expressions: Expressions, may_swallow: SwallowTest) -> None:
        self.expressions = expressions
        self.may_swallow = may_swallow
        self.after: dict[gast.stmt, Names] = {}
        self.head: dict[gast.stmt, Names] = {}
        self.target: dict[gast.stmt, Names] = {}
        self.raised: dict[gast.stmt, Names] = {}

    def block(self, stmts: list[gast.stmt], live: Names, elsewhere: _Elsewhere) -> Names:
        """Names live before ``stmts``."""
        for stmt in reversed(stmts):
            self.after[stmt] = self.after.get(stmt, NO_NAMES) | live
            self.raised[stmt] = self.raised.get(stmt, NO_NAMES) | elsewhere.raised
            live = self.statement(stmt, live, elsewhere)
            if not isinstance(stmt, _CANNOT_RAISE):
                live |= elsewhere.raised
        return live

    def statement(self, stmt: gast.stmt, live: Names, elsewhere: _Elsewhere) -> Names:
        """Names live before ``stmt`` if it raises nothing."""
        match stmt:
            case gast.If():
                branches = self.block(stmt.body, live, elsewhere) | self.block(stmt.orelse, live, elsewhere)
                return self.expressions.before(stmt.test, branches)
            case gast.While() | gast.For() | gast.AsyncFor():
                return self._loop(stmt, live, elsewhere)
            case gast.Try() | gast.TryStar():
                return self._try(stmt, live, elsewhere)
            case gast.With() | gast.AsyncWith():
                return self._with(stmt, live, elsewhere)
            case gast.Match():
                return self._match(stmt, live, elsewhere)
            case gast.Return():
                return self.expressions.before(stmt.value, self._jump(stmt, elsewhere.returned()))
            case gast.Raise():
                return self.expressions.before_all([stmt.exc, stmt.cause], elsewhere.raised)
            case gast.Break():
                return self._jump(stmt, elsewhere.broken())
            case gast.Continue():
                return self._jump(stmt, elsewhere.continued())
            case gast.Assert():
                failed = self.expressions.before(stmt.msg, elsewhere.raised)
                return self.expressions.before(stmt.test, live | failed)
            case _:
                return self._simple(stmt, live)

    def _jump(self, stmt: gast.stmt, live: Names) -> Names:
        self.target[stmt] = self.target.get(stmt, NO_NAMES) | live
        return live

    def _simple(self, stmt: gast.stmt, live: Names) -> Names:
        before_all = self.expressions.before_all
        match stmt:
            case gast.Assign():
                return before_all([stmt.value, *stmt.targets], live)
            case gast.AnnAssign() | gast.AugAssign():
                return self._assign_one(stmt, live)
            case gast.FunctionDef() | gast.AsyncFunctionDef():
                return before_all([*outer_parts(stmt), *signature_annotations(stmt)], live - {stmt.name})
            case gast.ClassDef():
                return before_all(outer_parts(stmt), live - {stmt.name})
            case gast.Import() | gast.ImportFrom() | gast.TypeAlias():
                return live - bound_names([stmt])
            case _:
                return before_all(list(gast.iter_child_nodes(stmt)), live)

    def _assign_one(self, stmt: gast.AnnAssign | gast.AugAssign, live: Names) -> Names:
        """An augmented assignment reads its target first; the annotation of a variable is not evaluated."""
        target, before_all = stmt.target, self.expressions.before_all
        if isinstance(stmt, gast.AnnAssign):
            if stmt.value is None and isinstance(target, gast.Name):
                return live
            return before_all([stmt.value, target], live)
        if isinstance(target, gast.Name):
            return before_all([stmt.value], live - {target.id}) | {target.id}
        return before_all([target, stmt.value], live)

    def _loop(self, loop: LoopNode, live: Names, elsewhere: _Elsewhere) -> Names:
        endless = isinstance(loop, gast.While) and is_always_true(loop.test)
        done = NO_NAMES if endless else self.block(loop.orelse, live, elsewhere)
        head = NO_NAMES
        while (grown := self._turn(loop, head, done, live, elsewhere)) != head:
            head = grown
        self.head[loop] = self.head.get(loop, NO_NAMES) | head
        return head if isinstance(loop, gast.While) else self.expressions.before(loop.iter, head)

    def _turn(self, loop: LoopNode, head: Names, done: Names, live: Names, elsewhere: _Elsewhere) -> Names:
        """Names live at the head if ``head`` are live there one turn later, ``done`` when turns end."""
        inside = replace(elsewhere, broken=lambda: live, continued=lambda: head)
        turn = self.block(loop.body, head, inside)
        if isinstance(loop, gast.While):
            return self.expressions.before(loop.test, turn | done) | elsewhere.raised
        return self.expressions.before(loop.target, turn) | done | elsewhere.raised

    def _with(self, stmt: gast.With | gast.AsyncWith, live: Names, elsewhere: _Elsewhere) -> Names:
        raised = [elsewhere.raised]
        for item in stmt.items:
            raised.append(raised[-1] | live if self.may_swallow(item) else raised[-1])
        result = self.block(stmt.body, live, replace(elsewhere, raised=raised[-1]))
        for item, outside, inside in reversed(list(zip(stmt.items, raised, raised[1:]))):
            result = self.expressions.before(item.optional_vars, result)
            if not isinstance(item.optional_vars, gast.Name | None):  # Storing to anything else may raise.
                result |= inside
            result = self.expressions.before(item.context_expr, result) | outside
        return result

    def _try(self, stmt: gast.Try | gast.TryStar, live: Names, elsewhere: _Elsewhere) -> Names:
        def through_finally(live: Names) -> Names:
            return self.block(stmt.finalbody, live, elsewhere)

        outside = _Elsewhere(
            through_finally(elsewhere.raised),
            lambda: through_finally(elsewhere.returned()),
            lambda: through_finally(elsewhere.broken()),
            lambda: through_finally(elsewhere.continued()),
        )
        end = through_finally(live)
        caught = self._handlers(stmt, end, outside)
        completed = self.block(stmt.orelse, end, outside)
        return self.block(stmt.body, completed, replace(outside, raised=caught))

    def _handlers(self, stmt: gast.Try | gast.TryStar, end: Names, outside: _Elsewhere) -> Names:
        """Names live where an exception looks for its handler."""
        looking = outside.raised
        for handler in reversed(stmt.handlers):
            if isinstance(stmt, gast.TryStar):  # Parts of a group go on to the later handlers.
                end |= looking
                outside = replace(outside, raised=outside.raised | looking)
            bound = bound_names([handler.name] if handler.name is not None else [])
            # The name is deleted when the handler ends.
            matched = self.block(handler.body, end - bound, outside) - bound
            if handler.type is None:
                looking = matched
            else:
                looking = self.expressions.before(handler.type, matched | looking)
        return looking

    def _match(self, stmt: gast.Match, live: Names, elsewhere: _Elsewhere) -> Names:
        unmatched = live
        for case in reversed(stmt.cases):
            matched = self.block(case.body, live, elsewhere)
            if case.guard is not None:  # Captured names stay bound when the guard fails.
                matched = self.expressions.before(case.guard, matched | unmatched)
            matched = self.expressions.before(case.pattern, matched - bound_names([case.pattern]))
            unmatched = matched if is_irrefutable(case) else matched | unmatched
        return self.expressions.before(stmt.subject, unmatched)
