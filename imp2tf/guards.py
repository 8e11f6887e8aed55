"""Guards: one compiled function per trace that says whether everything the trace assumed still holds."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.heap import INT_RANGE
from imp2tf.session import Guard, Relaxations
from imp2tf.tf_compat import EagerTensor

__all__ = ["Miss", "compile_guards", "describe_guard", "find_misses", "frozen_contents", "relax"]

SHORT = 16  # elements of a container that the text of a test spells out
GONE = (AttributeError, KeyError, IndexError, TypeError, ValueError, tf.errors.OpError)


class _Constants:
    """Objects that the generated code refers to, by name."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"GONE": GONE}
        self._names: dict[int, str] = {}

    def __call__(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self.namespace[name] = value
        return name


def compile_guards(guards: Sequence[Guard]) -> Callable[[Sequence[Any]], bool]:
    """A function of the bound arguments of a call."""
    constant = _Constants()
    tests = [_test(guard, constant) for guard in guards]
    lines = ["def holds(args):", "    try:", f"        return {' and '.join(tests) or 'True'}", "    except GONE:", "        return False"]
    exec(compile("\n".join(lines), "<imp2tf guards>", "exec"), constant.namespace)
    return constant.namespace["holds"]


def _test(guard: Guard, constant: Callable[[Any], str]) -> str:
    value, expected = guard.source.expression(constant), guard.expected
    if guard.check == "tensor":
        return _tensor_test(value, expected, constant)
    if guard.check == "literal":
        return _literal_test(value, expected, constant)
    if guard.check == "identity":
        return f"{value} is {constant(expected)}"
    if guard.check == "int64":
        return f"(type(v := {value}) is int and -{INT_RANGE} < v < {INT_RANGE})"
    if guard.check == "type":
        return f"type({value}) is {constant(expected)}"
    if guard.check == "same":
        return f"{value} is {expected.expression(constant)}"
    if guard.check == "contents" and isinstance(expected, _Frozen) and expected.is_plain():
        items = " and ".join(f"v[{place}] is {constant(item)}" for place, item in enumerate(expected.items))
        return f"(type(v := {value}) is {constant(expected.kind)} and len(v) == {len(expected.items)}{' and ' + items if items else ''})"
    return f"{constant(_CHECKS[guard.check])}({value}, {constant(expected)})"


def _tensor_test(value: str, spec: tf.TensorSpec, constant: Callable[[Any], str]) -> str:
    shape = f"v.shape == {constant(spec.shape)}" if spec.shape.is_fully_defined() else f"{constant(spec.shape)}.is_compatible_with(v.shape)"
    return f"(type(v := {value}) is {constant(EagerTensor)} and v.dtype is {constant(spec.dtype)} and {shape})"


def _literal_test(value: str, expected: Any, constant: Callable[[Any], str]) -> str:
    if expected is None or isinstance(expected, bool):
        return f"{value} is {expected!r}"
    if isinstance(expected, float) and (expected != expected or expected == 0.0):
        return f"(type(v := {value}) is float and repr(v) == {repr(expected)!r})"
    return f"(type(v := {value}) is {constant(type(expected))} and v == {constant(expected)})"


def _equal(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and bool(value == expected)


def _array(value: Any, expected: np.ndarray) -> bool:
    return type(value) is type(expected) and value.dtype == expected.dtype and value.shape == expected.shape and bool(
        np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc"))


def _keys(value: Any, expected: tuple[Any, ...]) -> bool:
    return value == expected and all(type(a) is type(b) for a, b in zip(value, expected, strict=True))


def _set(value: Any, expected: frozenset[Any]) -> bool:
    return isinstance(value, (set, frozenset)) and value == expected


def _composite(value: Any, expected: tf.TypeSpec) -> bool:
    return getattr(value, "_type_spec", None) == expected


def _equal_identity(value: Any, expected: dict[str, Any]) -> bool:
    return isinstance(value, dict) and list(value) == list(expected) and all(value[key] is expected[key] for key in expected)


def frozen_contents(value: Any, depth: int = 3) -> Any:
    """What a container holds, for the check "contents": literals by value, all else by identity, containers in it likewise."""
    if depth and isinstance(value, dict):
        return _Frozen(type(value), tuple(value), [frozen_contents(item, depth - 1) for item in value.values()])
    if depth and isinstance(value, (list, tuple)):
        return _Frozen(type(value), None, [frozen_contents(item, depth - 1) for item in value])
    if depth and isinstance(value, (set, frozenset)):
        return _Frozen(type(value), frozenset(value), [])
    return value


class _Frozen:
    """A container as `frozen_contents` found it."""

    def __init__(self, kind: type, keys: Any, items: list[Any]) -> None:
        self.kind = kind
        self.keys = keys
        self.items = items

    def is_plain(self) -> bool:
        """Whether it is a short list or tuple of things that are told apart by identity."""
        return issubclass(self.kind, (list, tuple)) and len(self.items) <= SHORT and not any(
            isinstance(item, (_Frozen, int, float, str, bytes)) for item in self.items)

    def holds(self, value: Any) -> bool:
        """Whether a container still is as it was."""
        kind: object = type(value)
        if kind is not self.kind:
            return False
        if isinstance(value, (set, frozenset)):
            return bool(value == self.keys)
        if isinstance(value, dict) and tuple(value) != self.keys:
            return False
        found = list(value.values() if isinstance(value, dict) else value)
        return len(found) == len(self.items) and all(map(_contents, found, self.items))


def _contents(value: Any, expected: Any) -> bool:
    if isinstance(expected, _Frozen):
        return expected.holds(value)
    return value is expected or (isinstance(expected, (int, float, str, bytes)) and type(value) is type(expected) and value == expected)


def _conforms(value: Any, expected: tf.TypeSpec) -> bool:
    return bool(expected.is_compatible_with(value))


def _array_kind(value: Any, expected: tf.TensorSpec) -> bool:
    return type(value) is np.ndarray and value.dtype == expected.dtype and bool(expected.shape.is_compatible_with(value.shape))


_CHECKS: dict[str, Callable[[Any, Any], bool]] = {"equal": _equal, "array": _array, "array_kind": _array_kind,
                                                 "keys": _keys, "set": _set, "composite": _composite,
                                                 "conforms": _conforms, "contents": _contents,
    "equal_identity": _equal_identity}


# ------------------------------------------------------------------------------------------------ misses
class Miss:
    """A guard that failed, and the value that failed it."""

    def __init__(self, guard: Guard, found: Any) -> None:
        self.guard = guard
        self.found = found

    def __str__(self) -> str:
        return f"{self.guard.source} was {_short(self.guard.expected)}, is {_short(self.found)}"


def _short(value: Any) -> str:
    if isinstance(value, tf.TensorSpec):
        return f"{value.dtype.name}{value.shape}"
    if isinstance(value, tf.Tensor):
        return f"{value.dtype.name}{value.shape}"
    text = repr(value) if isinstance(value, (int, float, str, bool, type(None), tuple, frozenset)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def describe_guard(guard: Guard) -> str:
    """A guard for people."""
    expected = str(guard.expected) if guard.check == "same" else _short(guard.expected)
    return f"{guard.source}: {guard.check} {expected}"


def find_misses(guards: Sequence[Guard], args: Sequence[Any]) -> list[Miss]:
    """The guards that do not hold, in order."""
    misses = []
    for guard in guards:
        if not compile_guards([guard])(args):
            misses.append(Miss(guard, _fetched(guard, args)))
    return misses


def _fetched(guard: Guard, args: Sequence[Any]) -> Any:
    try:
        return guard.source.fetch(args)
    except GONE:
        return None


def relax(misses: Sequence[Miss], relaxations: Relaxations) -> None:
    """Learn from misses: numbers that vary become inputs, dimensions that vary become unknown."""
    for miss in misses:
        source, expected, found = miss.guard.source, miss.guard.expected, miss.found
        if miss.guard.check == "literal" and type(expected) in (int, float) and type(found) is type(expected):
            relaxations.numbers.add(source)
        elif miss.guard.check in ("array", "array_kind") and source not in relaxations.constant and _differ_as_arrays(found, expected):
            known = relaxations.arrays.get(source, expected.shape)
            relaxations.arrays[source] = tf.TensorShape([a if a == b else None for a, b in zip(found.shape, known, strict=True)])
        elif miss.guard.check == "tensor" and source not in relaxations.constant and _differ_in_shape(found, expected):
            key = source, found.shape.rank
            known = relaxations.shapes.get(key, expected.shape)
            dims = [a if a == b == c else None for a, b, c in zip(found.shape, expected.shape, known, strict=True)]
            relaxations.shapes[key] = tf.TensorShape(dims)


def is_superseded(guards: Sequence[Guard], relaxations: Relaxations) -> bool:
    """Whether a graph takes a number for constant that has varied since and is an input of newer graphs."""
    return any(guard.check == "literal" and type(guard.expected) in (int, float) and relaxations.number(guard.source) for guard in guards)


def _differ_as_arrays(found: Any, expected: Any) -> bool:
    """Whether an array differs from what was expected in its elements, or the sizes of its dimensions, only."""
    return type(found) is np.ndarray and found.dtype == expected.dtype and found.ndim == len(expected.shape)


def _differ_in_shape(found: Any, expected: tf.TensorSpec) -> bool:
    """Whether a tensor differs from what was expected in the sizes of its dimensions only."""
    return isinstance(found, tf.Tensor) and found.dtype == expected.dtype and found.shape.rank == expected.shape.rank
