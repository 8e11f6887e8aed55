"""Text made of values: f-strings, ``format``, ``str``, ``repr``.

    f'{x:.2f} {y!r}'   -->   rt.formatted(('{:.2f} {!r}'-like parts))

Text of values that only the run knows is made after it, or where a print needs it (`imp2tf.values.Deferred`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf.alternatives import over
from imp2tf.arithmetic import holds_runtime, run_operation
from imp2tf.calls import call, replace_call
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import has_written_fields, is_user_function
from imp2tf.lowering import materialized
from imp2tf.namespace import operator
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.targets import constant
from imp2tf.values import Deferred, StandIn, Union, is_variable

CONVERSIONS: dict[int, Callable[[Any], str] | None] = {-1: None, 115: str, 114: repr, 97: ascii}


class FormattedStrings(Converter, lowers=(gast.JoinedStr, gast.FormattedValue)):
    """f-strings."""

    def lower(self, node: Any) -> gast.expr:
        if isinstance(node, gast.FormattedValue):
            return self._value(node)
        call_ = quote_expr("rt.joined()", node)
        call_.args = [one if isinstance(one, gast.Constant) else self._value(one) for one in node.values]
        return call_

    def _value(self, node: gast.FormattedValue) -> gast.expr:
        spec = self.lower(node.format_spec) if node.format_spec is not None else constant("")
        return quote_expr(
            "rt.formatted(value, conversion, spec)", node, value=self.rw.visit(node.value), conversion=constant(node.conversion), spec=spec
        )


@operator
def joined(*parts: Any) -> Any:
    """The parts of an f-string, joined."""
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    union = next((place for place, part in enumerate(parts) if isinstance(part, Union)), None)
    if union is not None:
        return over(parts[union], lambda one: joined(*parts[:union], one, *parts[union + 1:]))
    return Deferred(_join, parts)


def _join(*parts: str) -> str:
    return "".join(parts)


@operator
def formatted(value: Any, conversion: int, spec: Any) -> Any:
    """One replacement field of an f-string."""
    if isinstance(value, Union):
        return over(value, lambda one: formatted(one, conversion, spec))
    convert = CONVERSIONS[conversion]
    if convert is not None:
        value = text_of(convert, value)
    elif is_user_function(getattr(type(value), "__format__", None)):
        return call(type(value).__format__, value, spec)
    elif spec == "" and is_user_function(getattr(type(value), "__str__", None)):
        return call(type(value).__str__, value)
    value = materialized(_of_the_run(value))
    refuse_state(value)
    if holds_runtime(value) or isinstance(spec, Deferred):
        return Deferred(format, (value, spec))
    return run_operation(format, value, spec)


def text_of(function: Callable[..., str], value: Any, *args: Any) -> Any:
    """``str(value)`` or ``repr(value)``."""
    if isinstance(value, Union):
        return over(value, lambda one: text_of(function, one, *args))
    for name in ("__str__", "__repr__") if function is str else ("__repr__",):
        method = getattr(type(value), name, None)
        if is_user_function(method):
            return call(method, value)
        if method is not None and name in vars(type(value)):
            break  # the class has a text of its own, made by generated code
    value = materialized(_of_the_run(value))
    refuse_state(value)
    if holds_runtime(value):
        return Deferred(function, (value, *args))
    return run_operation(function, value, *args)


def _of_the_run(value: Any) -> Any:
    """An exception with arguments that only the run knows is made by the run."""
    if isinstance(value, BaseException) and holds_runtime(value.args):
        return Deferred(_exception, (type(value), *map(materialized, value.args)))
    return value


def _exception(cls: type[BaseException], *args: Any) -> BaseException:
    return cls.__new__(cls, *args)


def refuse_state(value: Any) -> None:
    """The text of a variable or an object tells its state now, and is made after the run."""
    if isinstance(value, (list, tuple, set)):
        for item in value:
            refuse_state(item)
    elif isinstance(value, dict):
        for item in value.values():
            refuse_state(item)
    elif isinstance(value, StandIn):
        value.refuse()
    elif is_variable(value) or has_written_fields(value):
        fall_back(NeedsValue, f"the text of a {type(value).__name__}")


@replace_call(str)
def str_(value: Any = "", *args: Any) -> Any:
    """``str(value)``."""
    return text_of(str, value, *args)


@replace_call(repr)
def repr_(value: Any) -> Any:
    """``repr(value)``."""
    return text_of(repr, value)


@replace_call(format)
def format_(value: Any, spec: Any = "") -> Any:
    """``format(value, spec)``."""
    return formatted(value, -1, spec)
