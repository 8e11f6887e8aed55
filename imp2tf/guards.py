"""Guards: one compiled function per trace, which says whether what the trace assumed still holds and gathers the inputs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.lifting import INT_RANGE, Fetch, itself
from imp2tf.relaxations import Guard, Relaxations
from imp2tf.sources import Choice, Held, Length, Source
from imp2tf.tf_compat import EagerTensor, dtype_test, shape_text

__all__ = ["compile_guards", "describe_guard", "find_misses", "frozen_contents", "held_weakly", "relax"]

SHORT = 16  # elements of a container that the text of a test spells out
GONE = (AttributeError, KeyError, IndexError, TypeError, ValueError, tf.errors.OpError)


class _Code:
    """Generated code under construction: statements, local names, and the objects they refer to."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {"GONE": GONE}
        self.lines: list[str] = []
        self.classes: dict[Source, type] = {}
        self._constants: dict[int, str] = {}
        self._values: dict[Source, str] = {}
        self._locals: dict[str, str] = {}

    def constant(self, value: Any) -> str:
        """The name of an object."""
        name = self._constants.get(id(value))
        if name is None:
            name = self._constants[id(value)] = f"k{len(self._constants)}"
            self.namespace[name] = value
        return name

    def value(self, source: Source) -> str:
        """The name of the value that a source gives; it is fetched once."""
        name = self._values.get(source)
        if name is None:
            text = source.expression(self)
            name = self._values[source] = text if text in self.namespace else self.local(text)
        return name

    def local(self, text: str) -> str:
        """The name of what an expression gives; it is evaluated once."""
        name = self._locals.get(text)
        if name is None:
            name = self._locals[text] = f"v{len(self._locals)}"
            self.lines.append(f"{name} = {text}")
        return name

    def forget(self) -> None:
        """Forget what was fetched so far. A guard before may have failed early, so that it was never fetched."""
        self._values.clear()
        self._locals.clear()

    def class_of(self, source: Source) -> type | None:
        """The class that the value of a source is known to have by the guards so far."""
        return self.classes.get(source)

    def require(self, guard: Guard) -> None:
        """Give up unless a guard holds."""
        value = self.value(guard.source)
        test = _test(value, guard, self)
        self.lines.append(f"if not ({test}): return None")
        if guard.check == "type":
            self.classes[guard.source] = guard.expected

    def fetch(self, fetch: Fetch) -> str:
        """The text of an input of the graph."""
        value = self.value(fetch.source)
        return value if fetch.convert is itself else f"{self.constant(fetch.convert)}({value})"

    def function(self, inputs: Sequence[str]) -> Callable[[Sequence[Any]], list[Any] | None]:
        """A function of the bound arguments of a call: the inputs of the graph, None if a guard does not hold."""
        body = [f"        {line}" for line in self.lines or ["pass"]]
        lines = ["def admit(args):", "    try:", *body, "    except GONE:", "        return None", f"    return [{', '.join(inputs)}]"]
        exec(compile("\n".join(lines), "<imp2tf guards>", "exec"), self.namespace)
        return self.namespace["admit"]


def compile_guards(guards: Sequence[Guard], captures: Sequence[Any] = ()) -> Callable[[Sequence[Any]], list[Any] | None]:
    """A function of the bound arguments of a call: what the graph captures, None if a guard does not hold."""
    code = _Code()
    for guard in guards:
        code.require(guard)
    fixed = next((place for place, one in enumerate(captures) if isinstance(one, Fetch)), len(captures))
    inputs = [f"*{code.constant(tuple(captures[:fixed]))}"] if fixed else []
    for one in captures[fixed:]:
        inputs.append(code.fetch(one) if isinstance(one, Fetch) else code.constant(one))
    return code.function(inputs)


def _test(value: str, guard: Guard, code: _Code) -> str:
    expected = guard.expected
    if guard.check == "tensor":
        return _tensor_test(value, expected, code)
    if guard.check == "literal":
        return _literal_test(value, expected, code)
    if guard.check == "identity":
        known = expected.expression(code)
        return f"{value} is {known}" + (f" and {known} is not None" if expected.is_weak else "")
    if guard.check == "int64":
        return f"type({value}) is int and -{INT_RANGE} < {value} < {INT_RANGE}"
    if guard.check == "type":
        return f"type({value}) is {code.constant(expected)}"
    if guard.check == "keys":
        return f"{value} == {code.constant(expected)} and tuple(map(type, {value})) == {code.constant(tuple(map(type, expected)))}"
    if guard.check == "same":
        return f"{value} is {code.value(expected)}"
    if guard.check == "contents" and isinstance(expected, _Frozen) and expected.is_plain():
        items = "".join(f" and {value}[{place}] is {code.constant(item)}" for place, item in enumerate(expected.items))
        return f"type({value}) is {code.constant(expected.kind)} and len({value}) == {len(expected.items)}{items}"
    return f"{code.constant(_CHECKS[guard.check])}({value}, {code.constant(expected)})"


def _tensor_test(value: str, spec: tf.TensorSpec, code: _Code) -> str:
    tensor = f"type({value}) is {code.constant(EagerTensor)} and {dtype_test(value, spec.dtype)}"
    return f"{tensor} and {_shape_test(value, spec.shape)}"


def _shape_test(value: str, shape: tf.TensorShape) -> str:
    """The sizes of the dimensions that are known."""
    if shape.rank is None:
        return "True"
    if shape.is_fully_defined():
        return f"{shape_text(value)} == {tuple(shape)}"
    known = " and ".join(f"s[{place}] == {size}" for place, size in enumerate(shape) if size is not None)
    return f"len(s := {shape_text(value)}) == {shape.rank}" + (f" and {known}" if known else "")


def _literal_test(value: str, expected: Any, code: _Code) -> str:
    if expected is None or isinstance(expected, bool):
        return f"{value} is {expected!r}"
    if isinstance(expected, float) and (expected != expected or expected == 0.0):
        return f"type({value}) is float and repr({value}) == {repr(expected)!r}"
    return f"type({value}) is {code.constant(type(expected))} and {value} == {code.constant(expected)}"


def _equal(value: Any, expected: Any) -> bool:
    return type(value) is type(expected) and bool(value == expected)


def _array(value: Any, expected: np.ndarray) -> bool:
    return type(value) is type(expected) and value.dtype == expected.dtype and value.shape == expected.shape and bool(
        np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc"))


def _set(value: Any, expected: frozenset[Any]) -> bool:
    return isinstance(value, (set, frozenset)) and value == expected


def _composite(value: Any, expected: tf.TypeSpec) -> bool:
    return getattr(value, "_type_spec", None) == expected


def _equal_identity(value: Any, expected: dict[str, Any]) -> bool:
    return isinstance(value, dict) and list(value) == list(expected) and all(value[key] is expected[key] for key in expected)


def frozen_contents(value: Any, depth: int = 3) -> Any:
    """The contents of a container, for the check "contents": literals by value, all else by identity, containers in it likewise."""
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


def _elements(value: Any, expected: Any) -> bool:
    return bool(expected.holds(value))


_CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "elements": _elements, "equal": _equal, "array": _array, "array_kind": _array_kind, "set": _set, "composite": _composite,
    "conforms": _conforms, "contents": _contents, "equal_identity": _equal_identity,
}


# ------------------------------------------------------------------------------------------------ misses
class Miss:
    """A guard that failed, and the value that failed it."""

    def __init__(self, guard: Guard, found: Any) -> None:
        self.guard = guard
        self.found = found

    def __str__(self) -> str:
        return f"{self.guard.source} was {_short(self.guard.expected)}, is {_short(self.found)}"


def _short(value: Any) -> str:
    if isinstance(value, Held):
        return f"a {value.cls.__name__}"
    if isinstance(value, tf.TensorSpec):
        return f"{value.dtype.name}{value.shape}"
    if isinstance(value, tf.Tensor):
        return f"{value.dtype.name}{value.shape}"
    text = repr(value) if isinstance(value, (int, float, str, bool, type(None), tuple, frozenset)) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def describe_guard(guard: Guard) -> str:
    """A guard as text for people."""
    expected = str(guard.expected) if guard.check == "same" else _short(guard.expected)
    return f"{guard.source}: {guard.check} {expected}"


def held_weakly(guards: Sequence[Guard]) -> list[Any]:
    """The objects without which guards cannot hold again, and that may go."""
    return [guard.expected.get() for guard in guards if guard.check == "identity" and guard.expected.is_weak]


def find_misses(guards: Sequence[Guard], args: Sequence[Any]) -> list[Miss]:
    """The guards that do not hold, in order. All are checked by one function, since it takes long to compile one."""
    code = _Code()
    lines = []
    for place, guard in enumerate(guards):
        known = len(code.lines)
        code.forget()
        test = _test(code.value(guard.source), guard, code)
        lines.extend(["    try:", *(f"        {line}" for line in code.lines[known:]), f"        if not ({test}): missed.append({place})"])
        lines.extend(["    except GONE:", f"        missed.append({place})"])
    missed: list[int] = []
    exec(compile("\n".join(["def check(args, missed):", *(lines or ["    pass"])]), "<imp2tf guards>", "exec"), code.namespace)
    code.namespace["check"](args, missed)
    return [Miss(guards[place], _fetched(guards[place], args)) for place in missed]


def _fetched(guard: Guard, args: Sequence[Any]) -> Any:
    try:
        return guard.source.fetch(args)
    except GONE:
        return None


def relax(misses: Sequence[Miss], relaxations: Relaxations) -> None:
    """Learn from misses: numbers that vary become inputs, dimensions that vary become unknown."""
    for miss in misses:
        source, expected, found = miss.guard.source, miss.guard.expected, miss.found
        if isinstance(source, Choice):
            relaxations.choices[source] += 1
        elif miss.guard.check == "literal" and type(expected) in (int, float) and type(found) is type(expected):
            if isinstance(source, Length) and source in relaxations.constant:
                _relax_list(source.parent, relaxations)
            relaxations.numbers.add(source)
        elif miss.guard.check == "elements":
            relaxations.lists.discard(source)
            relaxations.fixed.add(source)
        elif miss.guard.check in ("array", "array_kind") and source not in relaxations.constant and _differ_as_arrays(found, expected):
            known = relaxations.arrays.get(source, expected.shape)
            relaxations.arrays[source] = tf.TensorShape([a if a == b else None for a, b in zip(found.shape, known, strict=True)])
        elif miss.guard.check == "tensor" and source not in relaxations.constant and _differ_in_shape(found, expected):
            key = source, found.shape.rank
            known = relaxations.shapes.get(key, expected.shape)
            dims = [a if a == b == c else None for a, b, c in zip(found.shape, expected.shape, known, strict=True)]
            relaxations.shapes[key] = tf.TensorShape(dims)


def _relax_list(source: Source, relaxations: Relaxations) -> None:
    """A list whose elements were read came with another length: the next graph is for any, unless that may have been the only time."""
    if source in relaxations.fixed:
        return
    if source in relaxations.changed_lists:
        relaxations.lists.add(source)
    relaxations.changed_lists.add(source)


def is_superseded(guards: Sequence[Guard], newer: Sequence[Guard], relaxations: Relaxations) -> bool:
    """Whether a graph takes a number for constant that has varied since and that a newer graph does not take for constant."""
    fixed = _fixed_numbers(newer)
    return any(relaxations.number(source) and source not in fixed for source in _fixed_numbers(guards))


def _fixed_numbers(guards: Sequence[Guard]) -> set[Source]:
    return {guard.source for guard in guards if guard.check == "literal" and type(guard.expected) in (int, float)}


def _differ_as_arrays(found: Any, expected: Any) -> bool:
    """Whether an array differs from what was expected in its elements, or the sizes of its dimensions, only."""
    return type(found) is np.ndarray and found.dtype == expected.dtype and found.ndim == len(expected.shape)


def _differ_in_shape(found: Any, expected: tf.TensorSpec) -> bool:
    """Whether a tensor differs from what was expected in the sizes of its dimensions only."""
    return isinstance(found, tf.Tensor) and found.dtype == expected.dtype and found.shape.rank == expected.shape.rank
