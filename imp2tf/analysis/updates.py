"""Which attributes and shared names a function counts on: their numbers will vary from call to call.

    self.steps += 1; self.best = float(loss)      -->   ("C", "steps"): any number, ("C", "best"): a float

An int that is merely assigned is no sign of that: so are sizes which an object finds out once. But one that is made of a number that
is counted on is counted on itself: ``self.best_at = self.steps``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import gast

from imp2tf.analysis.evaluated import FunctionNode, evaluated_here, parameters
from imp2tf.analysis.walking import walk

__all__ = ["NAME", "Updates", "attributes_set", "counted_names", "updates_of"]

NAME = "a global or closure variable"
Updates: TypeAlias = frozenset[tuple[str, str, bool]]  # the class if it is known, the name, whether ints count too


def updates_of(function: FunctionNode, qualname: str) -> Updates:
    """The updates in a function and in those inside it; an attribute of its first parameter is one of its class."""
    own = [parameter.id for parameter in parameters(function.args)][:1]
    owner = qualname.rpartition(".")[0]
    shared = {name for node in walk(function) if isinstance(node, gast.Global | gast.Nonlocal) for name in node.names}
    found = set()
    assigned = list(_targets(function))
    lasting = [(target, value) for target, value in assigned if isinstance(target, gast.Attribute) or getattr(target, "id", "") in shared]
    counted = [target for target, value in lasting if value is None or _reads(value, target)]
    counted.extend(target for target, value in assigned if value is None and isinstance(target, gast.Name))
    for target, value in assigned:
        counts = value is None or _reads(value, target) or (_is_arithmetic(value) and any(_reads(value, one) for one in counted))
        if isinstance(target, gast.Attribute):
            of_class = isinstance(target.value, gast.Name) and target.value.id in own and not owner.endswith("<locals>")
            found.add((owner if of_class else "", target.attr, counts))
        elif isinstance(target, gast.Name) and target.id in shared:
            found.add((NAME, target.id, counts))
    return frozenset(found)


def _targets(function: FunctionNode) -> Iterator[tuple[gast.AST, gast.expr | None]]:
    """What is assigned, and the new value; None for one that is made of the old one."""
    for node in walk(function):
        if isinstance(node, gast.AugAssign):
            yield node.target, None
        elif isinstance(node, gast.Assign):
            for target in node.targets:
                parts = target.elts if isinstance(target, gast.Tuple | gast.List) else [target]
                yield from ((part, node.value) for part in parts)


def _is_arithmetic(value: gast.expr) -> bool:
    """Whether an expression only reads variables and attributes and computes with them."""
    if isinstance(value, gast.BinOp):
        return _is_arithmetic(value.left) and _is_arithmetic(value.right)
    if isinstance(value, gast.UnaryOp):
        return _is_arithmetic(value.operand)
    return isinstance(value, gast.Name | gast.Constant) or (isinstance(value, gast.Attribute) and _is_arithmetic(value.value))


def _reads(value: gast.expr, target: gast.expr) -> bool:
    """Whether an expression reads what a target assigns, as far as names tell."""
    if isinstance(target, gast.Attribute):
        return any(isinstance(node, gast.Attribute) and node.attr == target.attr for node in walk(value))
    return isinstance(target, gast.Name) and any(isinstance(node, gast.Name) and node.id == target.id for node in walk(value))


def counted_names(stmts: Sequence[gast.stmt]) -> set[str]:
    """Names that some statements count on by a number: ``steps += 1``."""
    counting = [one for one in evaluated_here(stmts) if isinstance(one, gast.AugAssign) and isinstance(one.op, gast.Add | gast.Sub)]
    return {one.target.id for one in counting if isinstance(one.target, gast.Name) and isinstance(one.value, gast.Constant)
            and type(one.value.value) in (int, float) and one.value.value}


def attributes_set(stmts: Sequence[gast.stmt]) -> list[tuple[str, str]]:
    """The attributes of what names stand for that some statements set, in order: ``self.best = x``."""
    found = [one for one in evaluated_here(stmts) if isinstance(one, gast.Attribute) and isinstance(one.ctx, gast.Store)]
    return sorted({(one.value.id, one.attr) for one in found if isinstance(one.value, gast.Name)})
