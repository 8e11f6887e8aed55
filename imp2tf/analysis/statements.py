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


def assigned_directly(body: Sequence[gast.stmt]) -> set[str]:
    """Names that statements of a block bind themselves, not in a function they define."""
    targets = [target for stmt in body if isinstance(stmt, gast.Assign) for target in stmt.targets]
    return {one.id for one in targets if isinstance(one, gast.Name)} | {stmt.name for stmt in body if isinstance(stmt, gast.FunctionDef)}


def holds_raise(stmt: gast.AST) -> bool:
    """Whether a statement itself (not a function defined in it) may raise by ``raise`` or ``assert``."""
    if isinstance(stmt, (gast.FunctionDef, gast.Lambda, gast.ClassDef, gast.AsyncFunctionDef)):
        return False
    return isinstance(stmt, (gast.Raise, gast.Assert)) or any(holds_raise(child) for child in children(stmt))


def holds_try(stmt: gast.AST) -> bool:
    """Whether a statement holds a ``try`` or ``with``, in whose body a raise is an exit."""
    return any(isinstance(one, (gast.Try, gast.With)) for one in walk(stmt))


def needs_exit_code(body: Sequence[gast.stmt]) -> bool:
    """Whether a function has an exit inside a control statement, so that exits must be carried as values."""
    return any(not isinstance(stmt, (gast.Return, gast.FunctionDef, gast.ClassDef)) and _has_jump(stmt) for stmt in body)


def _has_jump(node: gast.AST) -> bool:
    if isinstance(node, (gast.FunctionDef, gast.Lambda, gast.ClassDef, gast.AsyncFunctionDef)):
        return False
    if isinstance(node, (*JUMPS, gast.Try, gast.With)):
        return True
    return any(_has_jump(child) for child in children(node))


def definitely_bound(node: gast.FunctionDef, scope: FunctionScope) -> frozenset[str]:
    """Locals that are bound whenever they are read: parameters, and names first met in a plain assignment."""
    deleted = {
        target.id for one in walk(node) if isinstance(one, gast.Delete) for target in one.targets if isinstance(target, gast.Name)
    }
    handlers = {
        one.name.id if isinstance(one.name, gast.Name) else one.name for one in walk(node) if isinstance(one, gast.ExceptHandler)
    }
    met: set[str] = set(scope.params)
    bound: set[str] = set(scope.params)
    for stmt in node.body:
        here = bound_names([stmt])
        if isinstance(stmt, SIMPLE) and not any(isinstance(one, gast.NamedExpr) for one in walk(stmt)):
            met |= read_names([stmt]) - bound if not isinstance(stmt, gast.FunctionDef) else read_names([stmt]) - bound - here
            bound |= here - met
        met |= here | read_names([stmt])
        if may_exit(stmt) and always_exits([stmt]):
            break
    return frozenset(bound - deleted - handlers)
