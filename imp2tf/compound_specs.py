"""Specs of values that are made of parts: sequences, dicts, objects, values computed after the run, one of several alternatives."""
from __future__ import annotations

import collections
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.arrays import TracedArray
from imp2tf.errors import SeveralKinds, fall_back
from imp2tf.links import new_exception, set_links
from imp2tf.session import current
from imp2tf.snapshots import Alias, Snapshot, fields_of, freeze
from imp2tf.specs import SCALAR, Component, Constant, Dense, Number, Spec, Tensors, same_constant
from imp2tf.tracebacks import set_traceback
from imp2tf.values import DEAD, LOST, Deferred, Union

__all__ = ["ConstSet", "DeferredSpec", "Items", "Mapping", "OneOf", "Record", "SameAs", "holds_objects", "list_family", "may_be_lost"]


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

    def pack(self, value: Any) -> list[tf.Tensor]:
        union = _as_union(value) if isinstance(self, (Items, Mapping, Record)) else None
        return super().pack(value) if union is None else OneOf([self])._pack(union)[1:]  # one spec holds all alternatives

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
        if issubclass(self.cls, BaseException):
            made = new_exception(self.cls, tuple(values[: self.args]))
        else:
            made = self.cls.__new__(self.cls)
        fields = dict(zip(self.names, values[self.args:], strict=True))
        if isinstance(made, BaseException):
            set_links(made, fields)
        made.__dict__.update(fields)
        return born(made)

    def realize(self, tensors: Tensors) -> Any:
        made = super().realize(tensors)
        if isinstance(made, BaseException):
            set_traceback(made, made.__dict__)
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


def _as_union(value: Any) -> Union | None:
    """The alternatives of a value, or of the contents of a container; none of them has alternatives itself."""
    if isinstance(value, Snapshot) and isinstance(value.elements, Union):
        value = Union(value.elements.tag, [Snapshot(value.value, one, inner=True) for one in value.elements.alternatives])
    if not isinstance(value, Union):
        return None
    inner = [_as_union(one) for one in value.alternatives]
    if not any(inner):
        return value
    flat: list[Any] = []
    starts, within = [], tf.zeros([], tf.int32)
    for number, (one, union) in enumerate(zip(value.alternatives, inner, strict=True)):
        starts.append(len(flat))
        flat.extend([one] if union is None else union.alternatives)
        if union is not None:
            within = tf.where(tf.equal(value.tag, number), union.tag, within)
    return Union(tf.gather(tf.constant(starts, tf.int32), value.tag) + within, flat)


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
        union = _as_union(value)
        if union is not None:
            return self._pack_union(union)
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
