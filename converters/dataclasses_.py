"""Functions of the module ``dataclasses`` on the program's objects, and dataclasses whose ``__init__`` calls code of the program.

    dataclasses.asdict(p)   -->   {'a': p.a, 'b': p.b}
"""
from __future__ import annotations

import dataclasses
from typing import Any

from imp2tf.alternatives import over, raise_error
from imp2tf.attributes import get_attribute
from imp2tf.calls import call, replace_call, replace_construction
from imp2tf.containers import new, static
from imp2tf.copies import copied
from imp2tf.generated_methods import constructed, field_names, makes_by_fields, replaced
from imp2tf.kinds import is_container
from imp2tf.values import Union

replace_construction(makes_by_fields)(constructed)


def _is_instance(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


@replace_call(dataclasses.replace)
def replace(value: Any, /, **changes: Any) -> Any:
    """``dataclasses.replace(value, **changes)``."""
    if isinstance(value, Union):
        return over(value, lambda one: replace(one, **changes))
    if not _is_instance(value):
        raise_error(TypeError("replace() should be called on dataclass instances"))
    return replaced(value, changes)


@replace_call(dataclasses.asdict)
def asdict(value: Any, *, dict_factory: Any = dict) -> Any:
    """``dataclasses.asdict(value)``."""
    if isinstance(value, Union):
        return over(value, lambda one: asdict(one, dict_factory=dict_factory))
    if not _is_instance(value):
        raise_error(TypeError("asdict() should be called on dataclass instances"))
    return _taken_apart(value, lambda names, values: call(dict_factory, new(list(zip(names, values, strict=True)))))


@replace_call(dataclasses.astuple)
def astuple(value: Any, *, tuple_factory: Any = tuple) -> Any:
    """``dataclasses.astuple(value)``."""
    if isinstance(value, Union):
        return over(value, lambda one: astuple(one, tuple_factory=tuple_factory))
    if not _is_instance(value):
        raise_error(TypeError("astuple() should be called on dataclass instances"))
    return _taken_apart(value, lambda names, values: call(tuple_factory, new(values)))


def _taken_apart(value: Any, made_of: Any) -> Any:
    """An object with all the dataclasses in it as what `made_of` makes of them; the rest is copied."""
    if isinstance(value, Union):
        return over(value, lambda one: _taken_apart(one, made_of))
    if _is_instance(value):
        names = field_names(value)
        return made_of(names, [_taken_apart(get_attribute(value, name), made_of) for name in names])
    if is_container(value) and type(value) in (list, dict):
        found = static(value, "dataclasses.asdict()")
        if isinstance(found, dict):
            return new({key: _taken_apart(item, made_of) for key, item in found.items()})
        return new([_taken_apart(item, made_of) for item in found])
    if isinstance(value, tuple):
        items = [_taken_apart(item, made_of) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return copied(value, deep=True)
