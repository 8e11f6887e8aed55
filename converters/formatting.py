"""Text made of values: f-strings, ``format``, ``str``, ``repr``.

    f'{x:.2f} {y!r}'   -->   rt.formatted(('{:.2f} {!r}'-like parts))

Text of values that only the run knows is made after it, or where a print needs it (`imp2tf.values.Deferred`).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gast

from imp2tf.alternatives import over
from imp2tf.arithmetic import holds_runtime, run_operation
from imp2tf.calls import call, replace_call
from imp2tf.forcing import worded
from imp2tf.foreign import register_host_method
from imp2tf.format_fields import read_fields
from imp2tf.kinds import is_user_function
from imp2tf.namespace import operator
from imp2tf.quote import quote_expr
from imp2tf.rewrite import Converter
from imp2tf.targets import constant
from imp2tf.texts import argument, has_own_text, operand, settled, text_of
from imp2tf.values import Deferred, Union

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
    elif spec == "" and has_own_text(value):
        return text_of(str, value)
    value = settled(value)
    if holds_runtime(value) or isinstance(spec, Deferred):
        return worded(format, (value, spec))
    return run_operation(format, value, spec)


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


@register_host_method(lambda owner: isinstance(owner, str), ("format", "format_map"))
def format_method(text: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """``text.format(...)``."""
    if name == "format":
        text, args, kwargs = read_fields(text, args, kwargs)
    given = [operand(value) if name == "format_map" else argument(value) for value in args]
    named = {key: argument(value) for key, value in kwargs.items()}
    function = getattr(text, name)
    return worded(function, given, named) if holds_runtime((given, named)) else run_operation(function, *given, **named)
