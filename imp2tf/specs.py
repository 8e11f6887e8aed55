"""How a value is carried through a branch or loop: as which tensors, and how it is put together again.

A `Spec` describes all values a name may have at a point where paths meet. `imp2tf.join` computes it; regions use
``pack`` to turn a value into tensors, ``unpack`` to make the value on the other side, ``filler`` for a side that has
no value, and ``realize`` to make the Python value after the run.
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Iterator
from typing import Any

import tensorflow as tf

from imp2tf.errors import SeveralKinds, fall_back
from imp2tf.quick_graphs import constants_shared
from imp2tf.snapshots import Snapshot
from imp2tf.values import DEAD, NUMBER_DTYPES, NUMBER_TYPES, Facts, PyNumber

__all__ = [
    "BOTTOM", "SCALAR", "Component", "Composite", "Constant", "Dense", "Number", "Spec", "Tensors", "constants_in", "empty_tensor_list",
    "realizing", "same_constant",
]

Component = tuple[tf.DType, tf.TensorShape]
Tensors = Iterator[tf.Tensor]
SCALAR = tf.TensorShape([])


class Spec:
    """Base class; two specs are equal when their `key` is.

    `sealed`: the value is, or stands for, an element of a list of run-time length, and may not be changed.
    """

    sealed = False
    grows = False  # a container whose number of elements only the run knows

    def components(self) -> list[Component]:
        """dtype and static shape of each tensor."""
        return []

    def filler(self) -> list[tf.Tensor]:
        """Tensors of the right dtypes that nobody reads."""
        return [_filler(dtype, shape) for dtype, shape in self.components()]

    def pack(self, value: Any) -> list[tf.Tensor]:
        """The tensors of a frozen value; a value that cannot be is a filler."""
        return self.filler() if value is DEAD else self._pack(value)

    def _pack(self, value: Any) -> list[tf.Tensor]:
        return []

    def unpack(self, tensors: Tensors) -> Any:
        """The value as the trace goes on with it."""
        raise NotImplementedError

    def unpack_elements(self, tensors: Tensors) -> Any:
        """For the contents of a container: the elements, without a container object around them."""
        return self.unpack(tensors)

    def realize(self, tensors: Tensors) -> Any:
        """The Python value, from eager tensors."""
        return self.unpack(tensors)

    def key(self) -> Hashable:
        """Equal for equal specs."""
        raise NotImplementedError

    def family(self) -> Hashable:
        """Equal for specs that one alternative of a `OneOf` can hold together."""
        return self.key()

    def layout(self) -> Hashable:
        """Equal for specs that pack a value of both into the same tensors."""
        return self.key()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


def _filler(dtype: tf.DType, shape: tf.TensorShape) -> tf.Tensor:
    dims = [size or 0 for size in shape.as_list()] if shape.rank is not None else []
    if dtype == tf.variant:
        return empty_tensor_list(tf.float32)
    if dtype == tf.resource:
        fall_back(SeveralKinds, "one of several resources (variables, iterators, tables) is chosen by a tensor")
    with constants_shared():  # nobody reads it
        return tf.fill(dims, "") if dtype == tf.string else tf.zeros(dims, dtype)


def empty_tensor_list(dtype: tf.DType) -> tf.Tensor:
    """A TensorList without elements and without a fixed element shape."""
    return tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=dtype)


def same_constant(a: Any, b: Any) -> bool:
    """Whether two frozen values are the same for the program: one object, or literals that nobody can tell apart."""
    if isinstance(a, Snapshot) and isinstance(b, Snapshot):
        return a.value is b.value and a.elements is None and b.elements is None
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, float, complex, str, bytes)):
        return bool(a == b) and repr(a) == repr(b)
    if isinstance(a, Facts):
        return bool(a == b)
    if type(a).__name__ == "function":
        return _function_key(a) == _function_key(b)
    return False


def _function_key(function: Any) -> Hashable:
    """Functions made by one ``def`` over the same cells do the same."""
    defaults = tuple(map(id, function.__defaults__ or ())), tuple(map(id, (function.__kwdefaults__ or {}).values()))
    return function.__code__, tuple(map(id, function.__closure__ or ())), defaults


class _Realizing(threading.local):
    """What stands, after the run, for objects that the trace made; by their ids."""

    made: dict[int, Any] = {}  # noqa: RUF012


_realizing = _Realizing()


@contextlib.contextmanager
def realizing(made: dict[int, Any]) -> Iterator[None]:
    """While specs are realized, `made` stands for objects of the trace."""
    before, _realizing.made = _realizing.made, made
    try:
        yield
    finally:
        _realizing.made = before


def constants_in(spec: Spec) -> Iterator[Any]:
    """The objects that a spec refers to."""
    if isinstance(spec, Constant):
        yield spec.unpack(iter(()))
    for part in (*getattr(spec, "parts", ()), *([spec.element] if hasattr(spec, "element") else ())):
        yield from constants_in(part)


class Constant(Spec):
    """The same object on every path: no tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"

    def unpack(self, tensors: Tensors) -> Any:
        return self.value.value if isinstance(self.value, Snapshot) else self.value

    def realize(self, tensors: Tensors) -> Any:
        value = self.unpack(tensors)
        return _realizing.made.get(id(value), value)

    def key(self) -> Hashable:
        value = self.value
        if isinstance(value, Snapshot):
            return "constant", id(value.value)
        if type(value).__name__ == "function":
            return "constant", _function_key(value)
        if isinstance(value, (int, float, complex, str, bytes)):
            return "constant", type(value), repr(value)
        if isinstance(value, Facts):
            return "constant", value
        return "constant", id(value)


BOTTOM = Constant(DEAD)


class Dense(Spec):
    """A tensor; `listed` is the dtype of the elements if it is known to be a TensorList."""

    def __init__(self, dtype: tf.DType, shape: Any, listed: tf.DType | None = None) -> None:
        self.dtype = dtype
        self.shape = tf.TensorShape(shape)
        self.listed = listed

    def __repr__(self) -> str:
        return f"Dense({self.dtype.name}, {self.shape})"

    def components(self) -> list[Component]:
        return [(self.dtype, self.shape)]

    def filler(self) -> list[tf.Tensor]:
        return super().filler() if self.listed is None else [empty_tensor_list(self.listed)]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        return [tf.convert_to_tensor(value, self.dtype)]

    def unpack(self, tensors: Tensors) -> Any:
        return next(tensors)

    def key(self) -> Hashable:
        return "dense", self.dtype, str(self.shape)

    def family(self) -> Hashable:
        return "dense", self.dtype

    layout = family


class Composite(Spec):
    """A ragged or sparse tensor, or another composite of TensorFlow."""

    def __init__(self, type_spec: tf.TypeSpec) -> None:
        self.type_spec = type_spec

    def components(self) -> list[Component]:
        return [(part.dtype, part.shape) for part in tf.nest.flatten(self.type_spec, expand_composites=True)]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        return [tf.identity(part) for part in tf.nest.flatten(value, expand_composites=True)]

    def unpack(self, tensors: Tensors) -> Any:
        return tf.nest.pack_sequence_as(self.type_spec, [next(tensors) for _ in self.components()], expand_composites=True)

    def key(self) -> Hashable:
        return "composite", self.type_spec

    def layout(self) -> Hashable:
        return "composite", type(self.type_spec), tuple(dtype for dtype, _ in self.components())


class Number(Spec):
    """A Python number."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"Number({self.kind})"

    def components(self) -> list[Component]:
        return [(NUMBER_DTYPES[self.kind], SCALAR)]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        if isinstance(value, PyNumber):
            return [value.tensor]
        with constants_shared():
            return [tf.constant(value, NUMBER_DTYPES[self.kind])]

    def unpack(self, tensors: Tensors) -> Any:
        return PyNumber(self.kind, next(tensors))

    def realize(self, tensors: Tensors) -> Any:
        return NUMBER_TYPES[self.kind](next(tensors).numpy())

    def key(self) -> Hashable:
        return "number", self.kind
