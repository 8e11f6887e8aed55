"""``input_signature=``: what a function is called with, declared beforehand.

    @imp2tf.convert(input_signature=[tf.TensorSpec([None, 3], tf.float32)])

Arguments are made tensors as declared, or refused with a message that names them; unknown dimensions are unknown in the
graph, so that one graph serves them all.
"""
from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.parameters import POSITIONAL, Parameters
from imp2tf.sources import Argument, Item, Source

__all__ = ["InputSignature"]


def _is_structure(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))


def _parts(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else list(enumerate(value))


class InputSignature:
    """The declared arguments of one function."""

    def __init__(self, specs: Sequence[Any], parameters: Parameters, name: str) -> None:
        self.places = _places(specs, parameters, name)
        self.declared: dict[Source, tf.TypeSpec] = {}
        for place, spec in self.places.items():
            self._declare(Argument(place, parameters.names[place]), spec)
        self.names = parameters.names

    def _declare(self, source: Source, spec: Any) -> None:
        if not _is_structure(spec):
            self.declared[source] = spec
            return
        for key, part in _parts(spec):
            self._declare(Item(source, key), part)

    def conform(self, values: Sequence[Any]) -> list[Any]:
        """The arguments of a call as they were declared. Raises TypeError or ValueError, naming the one that does not fit."""
        conformed = list(values)
        for place, spec in self.places.items():
            conformed[place] = _conform(values[place], spec, self.names[place])
        return conformed


def _places(specs: Sequence[Any], parameters: Parameters, name: str) -> dict[int, Any]:
    """The spec of each parameter that has one."""
    taken = _of_kind(parameters, *POSITIONAL)
    if taken and parameters.names[taken[0]] in ("self", "cls"):
        del taken[0]
    found: dict[int, Any] = dict(zip(taken, specs))
    if len(specs) > len(taken):
        star = _of_kind(parameters, inspect.Parameter.VAR_POSITIONAL)
        if not star:
            raise ValueError(f"input_signature has {len(specs)} entries, but {name} takes {len(taken)} arguments")
        found[star[0]] = tuple(specs[len(taken):])
    for place in (*taken, *_of_kind(parameters, inspect.Parameter.KEYWORD_ONLY)):
        if place not in found and parameters.list[place].default is inspect.Parameter.empty:
            missing = parameters.names[place]
            raise ValueError(f"input_signature has no entry for the argument {missing!r} of {name}, which has no default")
    return found


def _of_kind(parameters: Parameters, *kinds: Any) -> list[int]:
    return [place for place, kind in enumerate(parameters.kinds) if kind in kinds]


# ------------------------------------------------------------------------------------------------ one argument
def _conform(value: Any, spec: Any, name: str) -> Any:
    if _is_structure(spec):
        return _conform_structure(value, spec, name)
    if isinstance(spec, tf.TensorSpec):
        return _tensor(value, spec, name)
    if not spec.is_compatible_with(value):
        raise TypeError(f"argument {name!r} does not fit {spec}: {_described(value)}")
    return value


def _conform_structure(value: Any, spec: Any, name: str) -> Any:
    """A container by its parts; the caller's own container if none of them had to be converted."""
    alike = isinstance(value, Mapping) if isinstance(spec, Mapping) else isinstance(value, (list, tuple))
    if not alike:
        raise TypeError(f"argument {name!r} must be a {type(spec).__name__}, not {_described(value)}")
    keys, found = [key for key, _ in _parts(spec)], dict(_parts(value))
    if set(keys) != set(found):
        raise ValueError(f"argument {name!r} must hold {keys}, not {list(found)}")
    parts = {key: _conform(found[key], part, f"{name}[{key!r}]") for key, part in _parts(spec)}
    if all(parts[key] is found[key] for key in keys):
        return value
    return type(value)(parts) if isinstance(spec, Mapping) else _rebuilt(value, list(parts.values()))


def _rebuilt(like: Any, items: list[Any]) -> Any:
    return type(like)(*items) if hasattr(like, "_fields") else type(like)(items)


def _tensor(value: Any, spec: tf.TensorSpec, name: str) -> Any:
    if isinstance(value, tf.Variable):
        value = value.value()
    if not isinstance(value, tf.Tensor):
        value = _converted(value, spec, name)
    if value.dtype != spec.dtype:
        raise TypeError(f"argument {name!r} must be a {spec.dtype.name} tensor, not {_described(value)}")
    if not spec.shape.is_compatible_with(value.shape):
        raise ValueError(f"argument {name!r} must have the shape {spec.shape}, not {value.shape}")
    return value


def _converted(value: Any, spec: tf.TensorSpec, name: str) -> tf.Tensor:
    if isinstance(value, (np.ndarray, np.generic)) and not np.can_cast(value.dtype, spec.dtype.as_numpy_dtype, "same_kind"):
        raise TypeError(f"argument {name!r} must be convertible to {spec.dtype.name}, not {_described(value)}")
    try:
        return tf.convert_to_tensor(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"argument {name!r} must be a {spec.dtype.name} tensor, not {_described(value)}") from error


def _described(value: Any) -> str:
    if isinstance(value, (tf.Tensor, tf.Variable)):
        return f"a {value.dtype.name} tensor of shape {value.shape}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
