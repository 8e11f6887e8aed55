"""Plain descriptions of Python and TensorFlow values, taken at once so that later mutation does not show.

    [1, tf.constant(2.0)]  -->  Node("sequence", "list", (("[0]", Leaf("python", "int", None, 1)),
                                                          ("[1]", Leaf("tensor", "float32", (), array(2.0)))))
"""
from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

MAX_DEPTH = 14
PYTHON_SCALARS = (bool, int, float, complex, str, bytes)


@dataclass(frozen=True)
class Leaf:
    """A value without parts. `shape` is None for what has none."""

    kind: str
    type: str
    shape: tuple[int, ...] | None
    value: Any

    def __str__(self) -> str:
        if self.kind == "python":
            return f"{self.type} {self.value!r}"
        if self.shape is None:
            return f"{self.kind} {self.type} {self.value}"
        values = np.array2string(np.asarray(self.value), threshold=24)
        return f"{self.kind} {self.type} {list(self.shape)} {values}"


@dataclass(frozen=True)
class Node:
    """A value with labelled parts, in an order that counts (attributes of objects are sorted)."""

    kind: str
    type: str
    items: tuple[tuple[str, Leaf | Node], ...]

    def __str__(self) -> str:
        inner = ", ".join(f"{label} {part}" for label, part in self.items)
        return f"{self.type}({inner})"


Description = Leaf | Node


def describe(value: object) -> Description:
    """What `value` is now: kinds, exact types, dtypes, shapes, values."""
    return _describe(value, ())


def is_keras_variable(value: object) -> bool:
    """Whether `value` is a variable of Keras 3 (which is no tf.Variable but holds one)."""
    of_keras = type(value).__module__.split(".")[0] == "keras"
    return of_keras and hasattr(value, "assign") and hasattr(value, "value")


def attributes(value: object) -> Iterator[tuple[str, Any]]:
    """The instance attributes of a plain object, slots included, sorted by name."""
    own = getattr(value, "__dict__", None)
    names = set(own) if isinstance(own, dict) else set()
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    for name in sorted(names - {"__dict__", "__weakref__"}):
        if hasattr(value, name):
            yield name, getattr(value, name)


def _describe(value: object, seen: tuple[int, ...]) -> Description:
    if id(value) in seen:
        return Leaf("cycle", "", None, f"{len(seen) - seen.index(id(value))} levels up")
    if len(seen) > MAX_DEPTH:
        return Leaf("deep", type(value).__name__, None, "")
    for matches, describer in _DESCRIBERS:
        if matches(value):
            return describer(value, (*seen, id(value)))
    return Leaf("other", type(value).__name__, None, repr(value))


def _array(kind: str, dtype: object, value: object) -> Leaf:
    array = np.array(value)
    return Leaf(kind, str(dtype), array.shape, array)


def _python(value: object, seen: tuple[int, ...]) -> Leaf:
    base = next((base for base in PYTHON_SCALARS if isinstance(value, base)), None)
    return Leaf("python", type(value).__name__, None, value if base is None else base(value))


def _tensor(value: Any, seen: tuple[int, ...]) -> Leaf:
    if not hasattr(value, "numpy"):
        return Leaf("symbolic tensor", value.dtype.name, None, "")
    return _array("tensor", value.dtype.name, value.numpy())


def _variable(value: Any, seen: tuple[int, ...]) -> Leaf:
    return _array("variable", tf.as_dtype(value.dtype).name, value.numpy())


def _parts(kind: str, value: object, parts: Iterable[tuple[str, object]], seen: tuple[int, ...]) -> Node:
    return Node(kind, type(value).__name__, tuple((label, _describe(part, seen)) for label, part in parts))


def _composite(value: Any, seen: tuple[int, ...]) -> Node:
    if isinstance(value, tf.RaggedTensor):
        return _parts("ragged", value, [(".values", value.values), (".row_splits", value.row_splits)], seen)
    names = ("values", "indices", "dense_shape")
    return _parts("composite", value, [("." + name, getattr(value, name)) for name in names], seen)


def _tensor_array(value: Any, seen: tuple[int, ...]) -> Node:
    size = int(value.size())
    return _parts("tensor array", value, [(f"[{i}]", value.read(i)) for i in range(size)], seen)


def _sequence(value: Any, seen: tuple[int, ...]) -> Node:
    return _parts("sequence", value, [(f"[{i}]", part) for i, part in enumerate(value)], seen)


def _set(value: Any, seen: tuple[int, ...]) -> Node:
    parts = sorted((_describe(part, seen) for part in value), key=str)
    return Node("set", type(value).__name__, tuple((f"{{{i}}}", part) for i, part in enumerate(parts)))


def _mapping(value: Any, seen: tuple[int, ...]) -> Node:
    return _parts("mapping", value, [(f"[{key!r}]", part) for key, part in value.items()], seen)


def _exception(value: Any, seen: tuple[int, ...]) -> Node:
    return _parts("exception", value, [(f".args[{i}]", part) for i, part in enumerate(value.args)], seen)


def _module(value: Any, seen: tuple[int, ...]) -> Node:
    variables = [(f".variables[{i}]", part) for i, part in enumerate(value.variables)]
    return _parts("module", value, variables, seen)


def _object(value: object, seen: tuple[int, ...]) -> Node:
    return _parts("object", value, [("." + name, part) for name, part in attributes(value)], seen)


def _by_repr(kind: str) -> Callable[[object, tuple[int, ...]], Leaf]:
    return lambda value, seen: Leaf(kind, type(value).__name__, None, repr(value))


def _by_kind(kind: str) -> Callable[[object, tuple[int, ...]], Leaf]:
    return lambda value, seen: Leaf(kind, "", None, "")


def _of(*classes: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, classes)


# The first entry that matches describes: subclasses stand before their bases.
_DESCRIBERS: tuple[tuple[Callable[[object], bool], Callable[[Any, tuple[int, ...]], Description]], ...] = (
    (_of(np.generic), lambda value, seen: _array("numpy scalar", value.dtype, value)),
    (_of(type(None), *PYTHON_SCALARS), _python),
    (_of(tf.Variable), _variable),
    (is_keras_variable, _variable),
    (_of(tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices), _composite),
    (_of(tf.TensorArray), _tensor_array),
    (_of(tf.Tensor), _tensor),
    (_of(np.ndarray), lambda value, seen: _array("ndarray", value.dtype, value)),
    (_of(tf.DType, np.dtype, tf.TensorShape, range, slice), _by_repr("python")),
    (_of(list, tuple, collections.deque), _sequence),
    (_of(set, frozenset), _set),
    (_of(collections.abc.Mapping), _mapping),
    (_of(type), lambda value, seen: Leaf("class", value.__name__, None, "")),
    (_of(BaseException), _exception),
    (_of(types.FunctionType, types.MethodType, types.BuiltinFunctionType), _by_kind("callable")),
    (_of(types.ModuleType), _by_repr("python module")),
    (_of(collections.abc.Iterator), _by_kind("iterator")),
    (lambda value: isinstance(value, tf.Module) or hasattr(type(value), "trainable_variables"), _module),
    (lambda value: hasattr(value, "__dict__") or hasattr(type(value), "__slots__"), _object),
)
