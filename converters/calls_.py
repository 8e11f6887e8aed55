"""Calls, with starred arguments.

    f(x, k=v)          -->   rt.call(f, x, k=v)
    f(x, *args, **d)   -->   rt.call_spread(f, [x, rt.spread(args)], [(None, d)])
    super().go(x)      -->   rt.call(rt.get_attribute(rt.super_(__class__, self), 'go'), x)
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf import calls
from imp2tf.alternatives import raise_error
from imp2tf.analysis.evaluated import parameters
from imp2tf.containers import static
from imp2tf.errors import NeedsValue, UnsupportedSyntax, fall_back
from imp2tf.iteration import drained, refuse_without_items
from imp2tf.kinds import is_container
from imp2tf.namespace import operator
from imp2tf.object_fields import FieldsOf
from imp2tf.quote import is_runtime_call, quote_expr
from imp2tf.refusals import as_eager, eager_error
from imp2tf.rewrite import Converter
from imp2tf.targets import constant
from imp2tf.values import Deferred, StandIn, Union

FRAME_FUNCTIONS = ("locals", "vars", "eval", "exec", "globals", "dir", "breakpoint")


class Calls(Converter, lowers=(gast.Call,)):
    """``f(...)``."""

    def lower(self, node: gast.Call) -> gast.expr:
        if is_runtime_call(node):
            node.func = quote_expr(f"rt.{node.func.attr}", node)
            node.args = [self.rw.visit(one) for one in node.args]
            return node
        if isinstance(node.func, gast.Name) and self.rw.kind_of(node.func.id) == "global":
            if node.func.id == "super" and not node.args:
                return self._super(node)
            if node.func.id in FRAME_FUNCTIONS and len(node.args) < (1 if node.func.id == "vars" else 2):
                return quote_expr("rt.unsupported(text)", node, text=constant(f"{node.func.id}()"))
        if any(isinstance(one, gast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
            return self._spread(node)
        call = quote_expr("rt.call(function)", node, function=self.rw.visit(node.func))
        call.args.extend(self.rw.visit(one) for one in node.args)
        call.keywords.extend(gast.keyword(one.arg, self.rw.visit(one.value)) for one in node.keywords)
        return call

    def _spread(self, node: gast.Call) -> gast.expr:
        """A call with ``*`` or ``**``. Python takes the items of a star that stands alone when all else has been evaluated."""
        function = self.rw.visit(node.func)
        operator_ = "spread_alone" if len(node.args) == 1 else "spread"
        parts = [quote_expr(f"rt.{operator_}(value)", node, value=self.rw.visit(one.value)) if isinstance(one, gast.Starred)
                 else self.rw.visit(one) for one in node.args]
        named = [gast.Tuple([constant(one.arg), self.rw.visit(one.value)], gast.Load()) for one in node.keywords]
        return quote_expr("rt.call_spread(function, parts, named)", node, function=function, parts=gast.List(parts, gast.Load()),
                          named=gast.List(named, gast.Load()))

    def _super(self, node: gast.Call) -> gast.expr:
        frame = self.rw.frame
        while frame.parent is not None and not parameters(frame.node.args):
            frame = frame.parent
        first = parameters(frame.node.args)[0].id
        cls = self.rw.visit(gast.copy_location(gast.Name("__class__", gast.Load(), None, None), node))
        return quote_expr("rt.super_(cls, first)", node, cls=cls, first=first)


@operator
def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``."""
    return calls.call_in_text(function, *args, **kwargs)


@operator
def super_(cls: type, first: Any) -> Any:
    """``super()`` in a method of `cls`."""
    return super(cls, first)


# ------------------------------------------------------------------------------------------------ stars
class _Spread:
    """The value behind ``*`` among the arguments of a call: its items, or the iterable from which they will be taken later."""

    def __init__(self, items: list[Any] | None, value: Any = None) -> None:
        self.items = items
        self.value = value


@operator
def spread(value: Any) -> _Spread:
    """``*value`` beside other arguments."""
    return _Spread(items(value))


@operator
def spread_alone(value: Any) -> _Spread:
    """``*value``, the only positional argument."""
    return _Spread(None, value)


@operator
def call_spread(function: Any, parts: list[Any], named: list[tuple[str | None, Any]]) -> Any:
    """A call with ``*`` or ``**`` among its arguments."""
    kwargs: dict[str, Any] = {}
    for name, value in named:
        found = {name: value} if name is not None else _mapped(value, function)
        if not kwargs.keys().isdisjoint(found):
            raise_error(eager_error(_merged, function, dict.fromkeys(kwargs), dict.fromkeys(found)))
        kwargs.update(found)
    if not all(isinstance(name, str) for name in kwargs):
        raise_error(eager_error(_merged, function, {}, dict.fromkeys(kwargs)))
    args: list[Any] = []
    for part in parts:
        if not isinstance(part, _Spread):
            args.append(part)
        else:
            args.extend(part.items if part.items is not None else items(part.value, _with_star, function))
    return calls.call_in_text(function, *args, **kwargs)


def items(value: Any, asked: Callable[..., Any] | None = None, *given: Any) -> list[Any]:
    """The items of a starred argument or element; `asked` is what Python refuses if there are none, and so words the error."""
    refuse_without_items(value, asked, *given)
    found = drained(value)
    return fall_back(NeedsValue, "a starred value of run-time length") if found is None else found


operator(items)


@operator
def mapping(value: Any) -> dict[Any, Any]:
    """The items of a ``**`` element of a dict display."""
    return _mapped(value)


def _mapped(value: Any, function: Any = None) -> dict[Any, Any]:
    """The keyword arguments that ``**value`` passes to `function`, or the entries that it adds to a display."""
    if is_container(value) and isinstance(value, dict):
        return static(value, "**")
    if isinstance(value, FieldsOf):
        return value.fields()
    if isinstance(value, (Union, Deferred, StandIn)):
        fall_back(NeedsValue, "** needs the contents of what only the run knows")
    if not hasattr(value, "keys"):
        refused = as_eager(value)
        raise_error(eager_error(_in_dict, refused) if function is None else eager_error(_merged, function, {}, refused))
    return static(calls.call(dict, value), "**")


# What Python refuses: it words the error.
def _with_star(function: Any, value: Any) -> None:
    function(*value)


def _merged(function: Any, first: Any, second: Any) -> None:
    function(**first, **second)


def _in_dict(value: Any) -> Any:
    return {**value}


@operator
def unsupported(what: str) -> Any:
    """Syntax that only Python can run."""
    return fall_back(UnsupportedSyntax, f"{what} runs as Python only")
