"""Displays of lists, dicts and sets: new containers of the trace.

    [a, b]          -->   rt.new([a, b])
    [a, *b]         -->   rt.new_of_parts([a, rt.starred(b)])
    (a, *b)         -->   (a, *rt.items(b))
    {k: v, **d}     -->   rt.new({k: v, **rt.mapping(d)})
"""
from __future__ import annotations

from typing import Any

import gast

from imp2tf import container_items, container_methods, containers
from imp2tf.alternatives import raise_error
from imp2tf.calls import call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.iterables import each
from imp2tf.iteration import drained, refuse_without_items
from imp2tf.namespace import operator
from imp2tf.object_keys import as_key
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.tables import key_form
from imp2tf.values import Deferred, Union, is_runtime


class Displays(Converter, lowers=(gast.List, gast.Tuple, gast.Set, gast.Dict)):
    """``[...]``, ``(...)``, ``{...}``."""

    def lower(self, node: Any) -> gast.expr:
        if isinstance(node, gast.Dict):
            return self._dict(node)
        if isinstance(node, gast.List) and any(isinstance(one, gast.Starred) for one in node.elts):
            return self._starred_list(node)
        items = "set_items" if isinstance(node, gast.Set) else "items"
        elements = [self._element(one, items) for one in node.elts]
        if isinstance(node, gast.Tuple):
            return gast.Tuple(elements, gast.Load())
        if isinstance(node, gast.Set):
            return quote_expr("rt.new_set(elements)", node, elements=gast.List(elements, gast.Load()))
        return quote_expr("rt.new(elements)", node, elements=gast.List(elements, gast.Load()))

    def _starred_list(self, node: gast.List) -> gast.expr:
        parts = [quote_expr("rt.starred(value)", node, value=self.rw.visit(one.value)) if isinstance(one, gast.Starred)
                 else self.rw.visit(one) for one in node.elts]
        return quote_expr("rt.new_of_parts(parts)", node, parts=gast.List(parts, gast.Load()))

    def _element(self, node: gast.expr, items: str) -> gast.expr:
        if isinstance(node, gast.Starred):
            return gast.Starred(quote_expr(f"rt.{items}(value)", node, value=self.rw.visit(node.value)), gast.Load())
        return self.rw.visit(node)

    def _dict(self, node: gast.Dict) -> gast.expr:
        if any(key is not None and not isinstance(key, gast.Constant) for key in node.keys) and None not in node.keys:
            pairs = [gast.Tuple([self.rw.visit(key), self.rw.visit(value)], gast.Load())
                     for key, value in zip(node.keys, node.values, strict=True)]
            return quote_expr("rt.new_dict_of(pairs)", node, pairs=gast.List(pairs, gast.Load()))
        keys = [self.rw.visit(key) if key is not None else None for key in node.keys]
        values = [
            self.rw.visit(value) if key is not None else quote_expr("rt.mapping(value)", node, value=self.rw.visit(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return quote_expr(
            "rt.new_dict(value)",
            node,
            value=gast.Dict(
                [
                    quote_expr("rt.key(value)", node, value=key) if key is not None and not isinstance(key, gast.Constant) else key
                    for key in keys
                ],
                values,
            ),
        )


@operator
def new(value: list[Any]) -> list[Any]:
    """A list that the program has just made."""
    return containers.new(value)


class Starred:
    """The value behind a star in a display."""

    def __init__(self, value: Any) -> None:
        self.value = value


@operator
def set_items(value: Any) -> list[Any]:
    """The items of a starred element of a set display, with Python's own error if it has none."""
    found = drained(value)
    return fall_back(NeedsValue, "a starred value of run-time length") if found is None else found


@operator
def starred(value: Any) -> Starred:
    """``*value`` in a list display: its items are taken when its turn comes."""
    refuse_without_items(value)
    return Starred(call(list, value))


@operator
def new_of_parts(parts: list[Any]) -> list[Any]:
    """A list display with stars in it."""
    made: list[Any] = containers.new([])
    for part in parts:
        if isinstance(part, Starred):
            container_methods.extend(made, part.value)
        else:
            containers.append(made, part)
    return made


@operator
def new_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    """A dict that the program has just made."""
    return containers.new(value)


@operator
def new_dict_of(pairs: list[tuple[Any, Any]]) -> Any:
    """A dict display whose keys are no literals."""
    if not any(is_runtime(name) for name, _ in pairs):
        return containers.new({key(name): value for name, value in pairs})
    made: Any = containers.new({})
    for name, value in pairs:
        container_items.set_item(made, name if key_form(name) else key(name), value)
    return made


@operator
def key(value: Any) -> Any:
    """A key of a dict or an element of a set: it must be known while tracing."""
    if is_runtime(value) or isinstance(value, (Union, Deferred)):
        fall_back(NeedsValue, "a key that only the run knows")
    try:
        hash(value)
    except TypeError as error:
        raise_error(error)
    return as_key(value)


@operator
def new_set(values: list[Any]) -> Any:
    """A set that the program has just made; of run-time values, one that is made after the run."""
    if any(is_runtime(value) for value in values):
        if all(key_form(value) for value in values):
            return set_of_all(values)
        if all(is_runtime(value) and not hasattr(value, "shape") for value in values if not isinstance(value, (int, float, str))):
            return Deferred(_set_of, values)
        fall_back(NeedsValue, "a set of tensors")
    return containers.new({key(value) for value in values})


@operator
def set_of_all(values: Any) -> Any:
    """A set of values that only the run knows, or whose number it knows."""
    made = containers.new(set())
    each(values, lambda value: container_methods.container_method(container_methods.ContainerMethod(made, "add"), (value,), {}))
    return made


def _set_of(*values: Any) -> set[Any]:
    return set(values)
