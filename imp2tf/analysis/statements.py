"""What statements do that decides how a block is rewritten: jumps, exceptions, names that are bound for sure."""
from __future__ import annotations

from collections.abc import Sequence

import gast

from imp2tf.analysis.flow import always_exits, may_exit
from imp2tf.analysis.scopes import FunctionScope, bound_names, read_names
from imp2tf.analysis.walking import children, walk

__all__ = ["JUMPS", "assigned_directly", "definitely_bound", "holds_raise", "holds_try", "needs_exit_code"]

SIMPLE = (gast.Assign, gast.AnnAssign, gast.Expr, gast.Import, gast.ImportFrom, gast.FunctionDef, gast.Pass, gast.Return)
JUMPS = (gast.Return, gast.Break, gast.Continue)
_DEFINITIONS = frozenset({gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef})
_RAISES = frozenset({gast.Raise, gast.Assert})
_CLEANING = frozenset({gast.Try, gast.With})
_LEAVING = frozenset({*JUMPS, gast.Try, gast.With})


def assigned_directly(body: Sequence[gast.stmt]) -> set[str]:
    """Names that statements of a block bind themselves, not in a function they define."""
    targets = [target for stmt in body if isinstance(stmt, gast.Assign) for target in stmt.targets]
    return {one.id for one in targets if isinstance(one, gast.Name)} | {stmt.name for stmt in body if isinstance(stmt, gast.FunctionDef)}


def holds_raise(stmt: gast.AST) -> bool:
    """Whether a statement itself (not a function defined in it) may raise by ``raise`` or ``assert``."""
    return _holds(stmt, _RAISES)


def _holds(node: gast.AST, kinds: frozenset[type]) -> bool:
    """Whether there is a node of some kinds in one, not counting functions and classes defined in it."""
    pending = [node]
    while pending:
        node = pending.pop()
        if node.__class__ in kinds:
            return True
        if node.__class__ not in _DEFINITIONS:
            pending.extend(children(node))
    return False


def holds_try(stmt: gast.AST) -> bool:
    """Whether a statement itself holds a ``try`` or ``with``, in whose body a raise is an exit."""
    return _holds(stmt, _CLEANING)


def needs_exit_code(body: Sequence[gast.stmt]) -> bool:
    """Whether a function has an exit inside a control statement, so that exits must be carried as values."""
    return any(not isinstance(stmt, (gast.Return, gast.FunctionDef, gast.ClassDef)) and _holds(stmt, _LEAVING) for stmt in body)


def definitely_bound(node: gast.FunctionDef, scope: FunctionScope) -> frozenset[str]:
    """Locals that are bound whenever they are read: parameters, and names first met in a plain assignment."""
    ending = [one for one in walk(node) if one.__class__ is gast.Delete or one.__class__ is gast.ExceptHandler]
    deleted = {target.id for one in ending if isinstance(one, gast.Delete) for target in one.targets if isinstance(target, gast.Name)}
    handlers = {
        one.name.id if isinstance(one.name, gast.Name) else one.name for one in ending if isinstance(one, gast.ExceptHandler)
    }
    met: set[str] = set(scope.params)
    bound: set[str] = set(scope.params)
    for stmt in node.body:
        here, read = bound_names([stmt]), read_names([stmt])
        if isinstance(stmt, SIMPLE) and not any(one.__class__ is gast.NamedExpr for one in walk(stmt)):
            met |= read - bound if not isinstance(stmt, gast.FunctionDef) else read - bound - here
            bound |= here - met
        met |= here | read
        if may_exit(stmt) and always_exits([stmt]):
            break
    return frozenset(bound - deleted - handlers)
