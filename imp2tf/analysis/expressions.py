"""Which names are live before an expression, given those live after it.

    (y := x + 1) and y > z      -->   x, z are live before it; y is not: it is bound before it is read

Expressions are walked backwards in Python's order of evaluation. Only a binding that happens on every path
makes a name dead; what a list, set or dict comprehension binds or reads is taken as a whole. ``locals()``
and its like read every local, and ``super()`` reads the first parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gast

from imp2tf.analysis.evaluated import evaluated_here, outer_parts
from imp2tf.analysis.scopes import read_names

Names = frozenset[str]
NO_NAMES: Names = frozenset()

_SEE_LOCALS_BARE = frozenset({"locals", "vars", "dir"})
_SEE_LOCALS_RUNNING = frozenset({"exec", "eval"})


@dataclass(frozen=True)
class Expressions:
    """The expressions of one function; its ``super()`` uses ``first_parameter``."""

    all_locals: Names
    first_parameter: Names

    def before(self, node: gast.AST | None, live: Names) -> Names:
        """Names live before ``node`` is evaluated, or stored to if it is a target."""
        match node:
            case None:
                return live
            case gast.Name(ctx=gast.Store()):
                return live - {node.id}
            case gast.Name():  # A deletion needs the name bound, so it reads it too.
                return live | {node.id}
            case gast.NamedExpr():
                return self.before(node.value, live - {node.target.id})
            case gast.BoolOp():
                return self._until_decided(node.values, live)
            case gast.Compare():
                return self.before(node.left, self._until_decided(node.comparators, live))
            case gast.IfExp():
                return self.before(node.test, self.before(node.body, live) | self.before(node.orelse, live))
            case gast.Dict():
                return self.before_all([part for item in zip(node.keys, node.values) for part in item], live)
            case gast.Lambda():
                return self.before_all(outer_parts(node), live)
            case gast.ListComp() | gast.SetComp() | gast.DictComp():
                calls = (call for call in evaluated_here([node]) if isinstance(call, gast.Call))
                return live.union(read_names([node]), *map(self._read_by_call, calls))
            case gast.GeneratorExp():
                return self.before(node.generators[0].iter, live)
            case gast.Call():
                live = live | self._read_by_call(node)
                return self.before_all([node.func, *node.args, *node.keywords], live)
            case _:
                return self.before_all(list(gast.iter_child_nodes(node)), live)

    def before_all(self, nodes: Sequence[gast.AST | None], live: Names) -> Names:
        """Names live before ``nodes`` are evaluated one after the other."""
        for node in reversed(nodes):
            live = self.before(node, live)
        return live

    def _until_decided(self, values: Sequence[gast.expr], live: Names) -> Names:
        """The first value is always evaluated, each other one only if those before it decide nothing."""
        result = self.before(values[-1], live)
        for value in reversed(values[:-1]):
            result = self.before(value, result | live)
        return result

    def _read_by_call(self, call: gast.Call) -> Names:
        """Names a call reads without naming them."""
        if not isinstance(call.func, gast.Name):
            return NO_NAMES
        called, count = call.func.id, len(call.args) + len(call.keywords)
        if called == "super" and not count:
            return self.first_parameter
        seeing = _SEE_LOCALS_BARE if not count else _SEE_LOCALS_RUNNING if count == 1 else ()
        return self.all_locals if called in seeing else NO_NAMES
