"""Replacement fields of ``str.format`` that look into their arguments: they read as the program would.

    '{0.n} {}'.format(o, x)   -->   '{field_0} {1}'.format(o, x, field_0=o.n)
"""
from __future__ import annotations

import itertools
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from imp2tf.attributes import get_attribute
from imp2tf.calls import invoke

__all__ = ["read_fields"]

LOOKING = (".", "[")
STEP = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")


def read_fields(text: str, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, Sequence[Any], Mapping[str, Any]]:
    """The text with names in place of what looks into an argument, and the arguments that are still used, with these."""
    if not any(sign in text for sign in LOOKING):
        return text, args, named
    reader = _Reader(args, named)
    try:
        text = reader.rewritten(text)
    except (IndexError, KeyError, ValueError):  # a text that `format` itself refuses
        return text, args, named
    return text, *reader.used()


class _Reader(string.Formatter):
    """Fields that look into an argument, as they come."""

    def __init__(self, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.args = args
        self.named = dict(named)
        self._read: set[str] = set()
        self._automatic = itertools.count()
        self._numbered: set[bool] = set()  # whether fields are numbered by the text
        self._names = (name for name in map("field_{}".format, itertools.count()) if name not in named)

    def rewritten(self, text: str) -> str:
        parts = []
        for literal, field, spec, conversion in self.parse(text):
            parts.append(literal.replace("{", "{{").replace("}", "}}"))
            if field is not None:
                name = self._name(field)
                parts.append(f"{{{name}{f'!{conversion}' if conversion else ''}{f':{self.rewritten(spec)}' if spec else ''}}}")
        return "".join(parts)

    def _name(self, field: str) -> str:
        """The name of a field's argument; a new one where the field looks into it."""
        start = min((field.index(sign) for sign in LOOKING if sign in field), default=len(field))
        first = field[:start] or str(next(self._automatic))
        if first.isdigit():
            first = str(int(first))
            self._numbered.add(bool(field[:start]))
            if len(self._numbered) > 1:
                raise ValueError("cannot switch between automatic field numbering and manual field specification")
        if start == len(field):
            self._read.add(first)
            return first
        name = next(self._names)
        self._read.add(name)
        self.named[name] = _found(self.args[int(first)] if first.isdigit() else self.named[first], field[start:])
        return name

    def used(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments that the rewritten text names."""
        given = [value if str(place) in self._read else None for place, value in enumerate(self.args)]
        return given, {name: value for name, value in self.named.items() if name in self._read}


def _found(value: Any, path: str) -> Any:
    """What stands at the end of a path such as ``.a[0]``."""
    if STEP.sub("", path):
        raise ValueError("malformed path in a format string")
    for step in STEP.finditer(path):
        name, key = step.groups()
        value = get_attribute(value, name) if name else invoke(_item, (value, int(key) if key.isdigit() else key), {})
    return value


def _item(owner: Any, key: Any) -> Any:
    return owner[key]
