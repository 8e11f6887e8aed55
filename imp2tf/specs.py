"""How a value is carried through a branch or loop: as which tensors, and how it is put together again.

A `Spec` describes all values a name may have at a point where paths meet. `imp2tf.join` computes it; regions use
``pack`` to turn a value into tensors, ``unpack`` to make the value on the other side, ``filler`` for a side that has
no value, and ``realize`` to make the Python value after the run.
"""
from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.arrays import TracedArray
from imp2tf.errors import SeveralKinds, fall_back
from imp2tf.session import current
from imp2tf.snapshots import Alias, Snapshot, fields_of, freeze
from imp2tf.values import DEAD, LOST, NUMBER_DTYPES, NUMBER_TYPES, Deferred, Facts, PyNumber, Union

__all__ = [
    "BOTTOM", "SCALAR", "Component", "Composite", "ConstSet", "Constant", "DeferredSpec", "Dense", "Items", "Mapping", "Number",
    "OneOf", "Record", "SameAs", "Spec", "Tensors",
    "constants_in", "empty_tensor_list", "holds_objects", "list_family", "may_be_lost", "realizing", "same_constant",
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
        return [tf.constant(value, NUMBER_DTYPES[self.kind])]

    def unpack(self, tensors: Tensors) -> Any:
        return PyNumber(self.kind, next(tensors))

    def realize(self, tensors: Tensors) -> Any:
        return NUMBER_TYPES[self.kind](next(tensors).numpy())

    def key(self) -> Hashable:
        return "number", self.kind


def sealed_object(made: Any) -> Any:
    """A container or object that may not be changed from now on."""
    current().sealed.add(id(made))
    return made


class _Parts(Spec):
    """A value made of parts, each with its own spec."""

    parts: Sequence[Spec]

    def components(self) -> list[Component]:
        return [component for part in self.parts for component in part.components()]

    def filler(self) -> list[tf.Tensor]:
        return [tensor for part in self.parts for tensor in part.filler()]

    def _pack_parts(self, values: Sequence[Any]) -> list[tf.Tensor]:
        return [tensor for part, value in zip(self.parts, values, strict=True) for tensor in part.pack(value)]

    def unpack(self, tensors: Tensors) -> Any:
        made = self._make([part.unpack(tensors) for part in self.parts], current().born)
        return sealed_object(made) if self.sealed else made

    def realize(self, tensors: Tensors) -> Any:
        return self._make([part.realize(tensors) for part in self.parts], lambda made: made)

    def _make(self, values: list[Any], born: Callable[[Any], Any]) -> Any:
        raise NotImplementedError

    def head(self) -> tuple[Hashable, ...]:
        """What the spec says beside its parts."""
        raise NotImplementedError

    def key(self) -> Hashable:
        return (*self.head(), self.sealed, tuple(part.key() for part in self.parts))

    def layout(self) -> Hashable:
        return (*self.head(), tuple(part.layout() for part in self.parts))


def list_family(like: Any) -> Hashable:
    """The family of the lists, or of the deques of some length, that one spec can hold together."""
    return ("deque", like.maxlen) if isinstance(like, collections.deque) else ("list",)


class Items(_Parts):
    """A tuple, or a list or deque of fixed length born inside the region."""

    def __init__(self, like: Any, parts: Sequence[Spec]) -> None:
        self.like = like
        self.parts = parts

    def __repr__(self) -> str:
        return f"Items({type(self.like).__name__}, {list(self.parts)})"

    def _pack(self, value: Any) -> list[tf.Tensor]:
        return self._pack_parts(value.elements if isinstance(value, Snapshot) else value)

    def _make(self, values: list[Any], born: Callable[[Any], Any]) -> Any:
        if isinstance(self.like, tuple):
            return type(self.like)(*values) if hasattr(self.like, "_fields") else tuple.__new__(type(self.like), values)
        if isinstance(self.like, collections.deque):
            return born(collections.deque(values, self.like.maxlen))
        return born(values)

    def unpack_elements(self, tensors: Tensors) -> Any:
        return [part.unpack(tensors) for part in self.parts]

    def head(self) -> tuple[Hashable, ...]:
        cls: type = type(self.like)
        return "items", cls, getattr(self.like, "maxlen", None)

    def family(self) -> Hashable:
        return ("items", type(self.like), len(self.parts)) if isinstance(self.like, tuple) else list_family(self.like)


class Mapping(_Parts):
    """A dict with fixed keys, born inside the region."""

    def __init__(self, like: dict[Any, Any], keys: Sequence[Any], parts: Sequence[Spec]) -> None:
        self.like = like
        self.keys = tuple(keys)
        self.parts = parts

    def _pack(self, value: Any) -> list[tf.Tensor]:
        found = value.elements if isinstance(value, Snapshot) else value
        return self._pack_parts([found[key] for key in self.keys])

    def _make(self, values: list[Any], born: Callable[[Any], Any]) -> Any:
        items = zip(self.keys, values, strict=True)
        if isinstance(self.like, collections.defaultdict):
            return born(collections.defaultdict(self.like.default_factory, items))
        return born(type(self.like)(items))

    def unpack_elements(self, tensors: Tensors) -> Any:
        return dict(zip(self.keys, [part.unpack(tensors) for part in self.parts], strict=True))

    def head(self) -> tuple[Hashable, ...]:
        return "mapping", type(self.like), self.keys

    def family(self) -> Hashable:
        return "mapping", type(self.like), self.keys


class SameAs(Spec):
    """The object that stands at another place of what a region leaves: no tensor."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def unpack(self, tensors: Tensors) -> Any:
        return Alias(self.path)

    def key(self) -> Hashable:
        return "same as", self.path


class ConstSet(Spec):
    """A set of constants, born inside the region."""

    def __init__(self, elements: Any) -> None:
        self.elements = frozenset(elements)

    def unpack(self, tensors: Tensors) -> Any:
        return current().born(set(self.elements))

    def unpack_elements(self, tensors: Tensors) -> Any:
        return set(self.elements)

    def realize(self, tensors: Tensors) -> Any:
        return set(self.elements)

    def key(self) -> Hashable:
        return "set", self.elements


class Record(_Parts):
    """An object of a user's class, or an exception, born inside the region."""

    def __init__(self, cls: type, names: Sequence[str], parts: Sequence[Spec], args: Sequence[Spec] = ()) -> None:
        self.cls = cls
        self.names = tuple(names)
        self.args = len(args)
        self.parts = [*args, *parts]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        if not isinstance(value, Snapshot):  # an object that is older than the region
            value = Snapshot(value, {name: freeze(field) for name, field in fields_of(value).items()}, inner=True)
        args = [freeze(arg) for arg in getattr(value.value, "args", ())[: self.args]]
        return self._pack_parts([*args, *(value.elements[name] for name in self.names)])

    def _make(self, values: list[Any], born: Callable[[Any], Any]) -> Any:
        made = self.cls.__new__(self.cls, *values[: self.args])
        if isinstance(made, BaseException):
            initialise = next(cls for cls in self.cls.__mro__ if cls.__module__ == "builtins").__init__  # type: ignore[misc]
            initialise(made, *values[: self.args])  # sets StopIteration.value and the like
        fields = dict(zip(self.names, values[self.args:], strict=True))
        if "__cause__" in fields:
            made.__cause__ = fields.pop("__cause__")
        made.__dict__.update(fields)
        return born(made)

    def realize(self, tensors: Tensors) -> Any:
        made = super().realize(tensors)
        return made.eager() if isinstance(made, TracedArray) else made

    def head(self) -> tuple[Hashable, ...]:
        return "record", self.cls, self.names, self.args

    def family(self) -> Hashable:
        return "record", self.cls, self.names, self.args


class DeferredSpec(_Parts):
    """A Python value that a pure function computes after the run."""

    def __init__(self, function: Callable[..., Any], names: Sequence[str], parts: Sequence[Spec]) -> None:
        self.function = function
        self.names = tuple(names)
        self.parts = parts

    def _pack(self, value: Any) -> list[tf.Tensor]:
        return self._pack_parts([*value.args, *(value.kwargs[name] for name in self.names)])

    def unpack(self, tensors: Tensors) -> Any:
        return Deferred(self.function, *self._arguments([part.unpack(tensors) for part in self.parts]))

    def realize(self, tensors: Tensors) -> Any:
        args, kwargs = self._arguments([part.realize(tensors) for part in self.parts])
        return self.function(*args, **kwargs)

    def _arguments(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        positional = len(values) - len(self.names)
        return values[:positional], dict(zip(self.names, values[positional:], strict=True))

    def head(self) -> tuple[Hashable, ...]:
        return "deferred", self.function, self.names

    def family(self) -> Hashable:
        return "deferred", self.function, self.names, len(self.parts)


def _chosen(tag: tf.Tensor, number: int, these: list[tf.Tensor], those: list[tf.Tensor]) -> list[tf.Tensor]:
    """`these` where the tag has a number, else `those`."""
    return list(tf.cond(tf.equal(tag, number), lambda: these, lambda: those)) if these else []


class OneOf(_Parts):
    """One of several alternatives, with a tag."""

    def __init__(self, alternatives: Sequence[Spec]) -> None:
        self.parts = alternatives

    def __repr__(self) -> str:
        return f"OneOf({list(self.parts)})"

    def components(self) -> list[Component]:
        return [(tf.int32, SCALAR), *super().components()]

    def filler(self) -> list[tf.Tensor]:
        return [tf.constant(0, tf.int32), *super().filler()]

    def _pack(self, value: Any) -> list[tf.Tensor]:
        if isinstance(value, Snapshot) and isinstance(value.elements, Union):
            value = Union(value.elements.tag, [Snapshot(value.value, one, inner=True) for one in value.elements.alternatives])
        if isinstance(value, Union):
            return self._pack_union(value)
        place = self.index_of(value)
        parts = [part.pack(value if i == place else DEAD) for i, part in enumerate(self.parts)]
        return [tf.constant(place, tf.int32), *(tensor for tensors in parts for tensor in tensors)]

    def _pack_union(self, value: Union) -> list[tf.Tensor]:
        """Several alternatives of a value may be held by one part: the tag of the value chooses among their tensors."""
        places = [self.index_of(one) for one in value.alternatives]
        packed: list[tf.Tensor] = [tf.gather(tf.constant(places, tf.int32), value.tag)]
        for i, part in enumerate(self.parts):
            tensors: list[tf.Tensor] | None = None
            for number, (place, one) in enumerate(zip(places, value.alternatives, strict=True)):
                if place == i:
                    tensors = part.pack(one) if tensors is None else _chosen(value.tag, number, part.pack(one), tensors)
            packed.extend(part.pack(DEAD) if tensors is None else tensors)
        return packed

    def index_of(self, value: Any) -> int:
        """The alternative that holds a frozen value."""
        for i, part in enumerate(self.parts):
            if isinstance(part, Constant) and same_constant(part.value, value):
                return i
        family = self.family_of(value)
        for i, part in enumerate(self.parts):
            if not isinstance(part, Constant) and part.family() == family:
                return i
        expected = " or ".join(dict.fromkeys(map(kind_of_spec, self.parts)))
        return fall_back(SeveralKinds, f"{kind_of_value(value)} stands where other paths have {expected}")

    family_of: Callable[[Any], Hashable]  # set by imp2tf.join, which knows all kinds

    def unpack(self, tensors: Tensors) -> Any:
        tag = next(tensors)
        return Union(tag, [part.unpack(tensors) for part in self.parts])

    def unpack_elements(self, tensors: Tensors) -> Any:
        tag = next(tensors)
        return Union(tag, [part.unpack_elements(tensors) for part in self.parts])

    def realize(self, tensors: Tensors) -> Any:
        tag = int(next(tensors).numpy())
        chosen: Any = None
        for i, part in enumerate(self.parts):
            if i == tag:
                chosen = part.realize(tensors)
            else:
                collections.deque((next(tensors) for _ in part.components()), maxlen=0)
        return chosen

    def head(self) -> tuple[Hashable, ...]:
        return ("one of",)


def holds_objects(spec: Spec) -> bool:
    """Whether a value is, or holds, a container or object that is made anew from tensors, so that its identity is gone."""
    if isinstance(spec, (Mapping, Record, ConstSet)) or (isinstance(spec, Items) and not isinstance(spec.like, tuple)):
        return True
    return not isinstance(spec, DeferredSpec) and (spec.grows or any(map(holds_objects, getattr(spec, "parts", ()))))


def kind_of_spec(spec: Spec) -> str:
    """What values a spec is for, in a few words for a person."""
    if isinstance(spec, Constant):
        return kind_of_value(spec.value)
    if isinstance(spec, Dense):
        return f"a {spec.dtype.name} tensor"
    if isinstance(spec, Number):
        return f"a run-time {spec.kind}"
    if isinstance(spec, Mapping):
        return f"a dict with the keys {', '.join(map(repr, spec.keys))}" if spec.keys else "an empty dict"
    if isinstance(spec, Items):
        return f"a {type(spec.like).__name__} of {len(spec.parts)}"
    return f"a {spec.cls.__name__}" if isinstance(spec, Record) else f"a {type(spec).__name__.lower()}"


def kind_of_value(value: Any) -> str:
    """The kind of a frozen value, in a few words for a person."""
    if isinstance(value, Snapshot):
        if isinstance(value.elements, dict) and isinstance(value.value, dict):
            return kind_of_spec(Mapping(value.value, tuple(value.elements), ()))
        value = value.value
    if isinstance(value, (int, float, str, bytes, type(None))):
        return repr(value)
    return f"a {value.dtype.name} tensor" if isinstance(value, tf.Tensor) else f"a {type(value).__name__}"


def may_be_lost(spec: Spec) -> bool:
    """Whether a value may be, or hold, an object that cannot be put together again."""
    if isinstance(spec, Constant):
        return spec.value is LOST
    return any(map(may_be_lost, getattr(spec, "parts", ())))
