"""Comprehensions become loops in a function of their own; generator expressions stay lazy.

    [f(v) for v in xs if c]   -->   def _comp_1(given__):
                                        _items_2 = []
                                        for v in given__:             (lowered like any loop)
                                            if c: rt.append(_items_2, f(v))
                                        return _items_2
                                    _comp_1(xs)
    sum(f(v) for v in xs)     -->   sum(rt.generator(xs, _step_1))

So a comprehension over a tensor of unknown length, or with a condition on a tensor, is a loop of the graph.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast
import tensorflow as tf

from imp2tf import container_items, containers
from imp2tf.analysis.scopes import scopes
from imp2tf.analysis.walking import walk
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import contents
from imp2tf.iterables import each
from imp2tf.iteration import GeneratorValue
from imp2tf.namespace import operator, rt
from imp2tf.quote import GIVEN, RUNTIME, located, name, quote, quote_expr
from imp2tf.rewrite import Converter
from imp2tf.session import current
from imp2tf.tables import key_form
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import SKIP, Deferred, Growable, Union, is_runtime

MAX_UNROLLED = 64


class Comprehensions(Converter, lowers=(gast.ListComp, gast.SetComp, gast.DictComp)):
    """List, set and dict comprehensions."""

    def lower(self, node: Any) -> gast.expr:
        held, function = self.rw.fresh("items"), self.rw.fresh("comp")
        if isinstance(node, gast.DictComp):
            add, end = f"{RUNTIME}.append(held, (key, value))", f"{RUNTIME}.dict_of(held)"
            parts = {"key": node.key, "value": node.value}
        else:
            add, end = f"{RUNTIME}.append(held, element)", "held" if isinstance(node, gast.ListComp) else f"{RUNTIME}.set_of(held)"
            parts = {"element": node.elt}
        start = quote("held = []", node, held=held)
        loops = self._loops(node.generators, quote(add, node, held=held, **parts))
        definition = nested(self.rw, function, [*start, *loops, *quote(f"return {end}", node, held=held)], node)
        self.rw.frame.before.append(definition)
        return quote_expr("function(rt.unrolled(iterable))", node, function=function, iterable=self.rw.visit(node.generators[0].iter))

    def _loops(self, generators: list[Any], add: list[gast.stmt]) -> list[gast.stmt]:
        """The loops and conditions around the innermost statement, as plain syntax."""
        body = add
        for place, generator in reversed(list(enumerate(generators))):
            for test in reversed(generator.ifs):
                body = [located(gast.If(test, body, []), test)]
            iterable = name(GIVEN, generator.iter) if place == 0 else generator.iter
            body = [located(gast.For(generator.target, iterable, body, [], None), generator.iter)]
        return body


def nested(rw: Any, function: str, body: list[gast.stmt], at: gast.AST) -> gast.FunctionDef:
    """A generated function with plain statements in it, lowered with a scope of its own."""
    args = gast.arguments([gast.Name(GIVEN, gast.Param(), None, None)], [], None, [], [], None, [])
    definition = located(gast.FunctionDef(function, args, body, [], None, None, []), at)
    walrus = {one.target.id for one in walk(definition) if isinstance(one, gast.NamedExpr)}
    outer = sorted(one for one in walrus if rw.kind_of(one) == "local")
    if outer:
        definition.body.insert(0, located(gast.Nonlocal(outer), at))
    rw.scopes = {**rw.scopes, **scopes(definition)}
    return rw.function(definition)


class GeneratorExpressions(Converter, lowers=(gast.GeneratorExp,)):
    """``(element for target in iterable if condition)``."""

    def lower(self, node: gast.GeneratorExp) -> gast.expr:
        if len(node.generators) > 1:
            return self.rw.visit(gast.copy_location(gast.ListComp(node.elt, node.generators), node))
        (generator,) = node.generators
        step = self.rw.fresh("comp")
        value: gast.expr = node.elt
        for test in reversed(generator.ifs):
            value = gast.copy_location(gast.IfExp(test, value, quote_expr(f"{RUNTIME}.skipped()", node)), node)
        body = [
            located(gast.Assign([generator.target], name(GIVEN, node)), node),
            located(gast.Return(value), node),
        ]
        self.rw.frame.before.append(nested(self.rw, step, body, node))
        make = "rt.filtered(iterable, step)" if generator.ifs else "rt.generator(iterable, step)"
        return quote_expr(make, node, iterable=self.rw.visit(generator.iter), step=step)


@operator
def generator(iterable: Any, step: Callable[[Any], Any]) -> GeneratorValue:
    """A generator expression."""
    made: GeneratorValue = current().born(GeneratorValue(iterable, step))
    return made


@operator
def filtered(iterable: Any, step: Callable[[Any], Any]) -> GeneratorValue:
    """A generator expression with conditions."""
    made: GeneratorValue = current().born(GeneratorValue(iterable, step, filters=True))
    return made


@operator
def unrolled(iterable: Any) -> Any:
    """A short tensor of known length is taken apart, so that the comprehension's length is known while tracing."""
    if is_symbolic_tensor(iterable) and iterable.shape.rank and (iterable.shape[0] or MAX_UNROLLED + 1) <= MAX_UNROLLED:
        return tuple(tf.unstack(iterable))
    return iterable


@operator
def skipped() -> Any:
    """An element that a condition leaves out."""
    return SKIP


@operator
def append(held: list[Any], value: Any) -> None:
    """Add an element to a comprehension's list."""
    containers.append(held, value)


@operator
def dict_of(held: list[Any]) -> Any:
    """The dict of a dict comprehension; with keys that only the run knows, one that is made after it."""
    found = contents(held)
    if isinstance(found, Union):
        fall_back(NeedsValue, "a dict comprehension of run-time length")
    if isinstance(found, Growable) or (any(is_runtime(key) for key, _ in found) and all(key_form(key) for key, _ in found)):
        made = containers.new({})
        each(held, lambda pair: container_items.set_item(made, pair[0], pair[1]))
        return made
    if any(is_runtime(key) for key, _ in found):
        return Deferred(_dict_of, [part for pair in found for part in pair])
    return containers.new(dict(found))


def _dict_of(*parts: Any) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


@operator
def set_of(held: list[Any]) -> Any:
    """The set of a set comprehension."""
    found = contents(held)
    if isinstance(found, Union):
        fall_back(NeedsValue, "a set comprehension of run-time length")
    if isinstance(found, Growable):
        return rt.set_of_all(held)
    return rt.new_set(found)
