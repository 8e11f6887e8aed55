"""Which mutable things are reachable by more than one path: identity as part of a world's state."""
from __future__ import annotations

import collections
import types
from collections.abc import Iterator, Mapping

import numpy as np
import tensorflow as tf

from tests.harness.description import MAX_DEPTH, PYTHON_SCALARS, attributes, is_keras_variable

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_ATOMS = (*PYTHON_SCALARS, *_FUNCTIONS, type(None), type, range, slice, types.ModuleType,
          np.generic, np.dtype, tf.Tensor, tf.DType, tf.TensorShape)
_LIBRARIES = {"tensorflow", "keras", "numpy", "builtins", "collections"}


def aliases(roots: Mapping[str, object]) -> dict[str, str]:
    """For every second way to a mutable thing, the first way to it: {"result[0]": "state.items"}."""
    first: dict[int, str] = {}
    found: dict[str, str] = {}
    for name, root in roots.items():
        _walk(root, name, first, found, 0)
    return found


def variables_in(value: object) -> list[tf.Variable]:
    """Every tf.Variable reachable from `value`, each once, in the order met."""
    met: dict[int, tf.Variable] = {}
    _collect_variables(value, met, 0)
    return list(met.values())


def _walk(value: object, path: str, first: dict[int, str], found: dict[str, str], depth: int) -> None:
    if isinstance(value, _ATOMS) or depth > MAX_DEPTH:
        return
    if not isinstance(value, tuple):
        if id(value) in first:
            found[path] = first[id(value)]
            return
        first[id(value)] = path
    for label, part in _parts(value):
        _walk(part, path + label, first, found, depth + 1)


def _collect_variables(value: object, met: dict[int, tf.Variable], depth: int) -> None:
    if is_keras_variable(value):
        value = value.value
    if isinstance(value, tf.Variable):
        met.setdefault(id(value), value)
    elif not isinstance(value, _ATOMS) and depth <= MAX_DEPTH:
        for _, part in _parts(value):
            _collect_variables(part, met, depth + 1)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, (list, tuple, collections.deque)):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
    elif isinstance(value, Mapping):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, tf.Module) or hasattr(type(value), "trainable_variables"):
        yield from ((f".variables[{i}]", part) for i, part in enumerate(value.variables))
    elif type(value).__module__.split(".")[0] not in _LIBRARIES:
        yield from (("." + name, part) for name, part in attributes(value))
