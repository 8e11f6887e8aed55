"""Kinds of results of host calls: learned from a run in Python, foretold to the graph, checked when the call is made.

A graph has to know the dtypes of what Python returns to it before it runs. Numbers and tensors become values of the graph;
any other object is kept by the run under a number, which the graph carries.
"""
from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from imp2tf.session import current
from imp2tf.values import NUMBER_DTYPES, NUMBER_TYPES, Deferred, PyNumber, Union

__all__ = ["ANYTHING", "NEVER_AGAIN", "Array", "Changed", "Kept", "Kind", "Live", "Object", "Parts", "Plain", "Profile", "Raised", "Site",
           "is_fresh", "join_kinds", "kind_of", "name_of_callee", "watched_arguments"]

Site = tuple[str, int, str]  # the file and line of a call, and the name of what is called
NEVER_AGAIN: Site = ("", 0, "")  # stands for a call in a run from which Python cannot go on; no call of the program is there
INT_RANGE = 2**62
MOST_PARTS = 32
MOST_ELEMENTS = 1 << 10
PLAIN = (str, bytes, int, float, bool, np.generic, type(None))
MOST_COMPARED = 1 << 16  # arrays with more elements are not compared
ALONE = 3  # references to an object that two frames pass on and that nobody else knows


@dataclasses.dataclass(frozen=True)
class Raised:
    """What a call raised, in the place of its result."""

    error: Exception


@dataclasses.dataclass(frozen=True)
class Changed:
    """What a call returned that changed objects which it was given, with these as they were afterwards."""

    result: Any
    given: Sequence[Any]

    def again(self, args: Sequence[Any]) -> Any:
        """Do to other objects what the call did to those that it was given."""
        for theirs, mine in zip(self.given, args, strict=True):
            if type(theirs) is not type(mine) or not _Watched.applies(mine):
                continue
            if isinstance(mine, (list, np.ndarray)):
                mine[:] = theirs
            else:
                mine.clear()
                mine.update(theirs)
        return next((mine for theirs, mine in zip(self.given, args) if theirs is self.result), self.result)


class Kind:
    """What a call returns, as far as the graph must know it."""

    def dtypes(self) -> list[tf.DType]:
        """The dtypes of the tensors that stand for it."""
        return []

    def pack(self, value: Any, run: Any) -> list[Any]:
        """The tensors of a value of this kind."""
        raise NotImplementedError

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> Any:
        """The value, as the trace goes on with it."""
        raise NotImplementedError

    def filler(self) -> list[Any]:
        """Tensors that nobody reads."""
        return [tf.constant("") if dtype == tf.string else tf.zeros([], dtype) for dtype in self.dtypes()]

    def holds_tensor(self) -> bool:
        """Whether there is a tensor in it, through which eager's tape would see."""
        return False


@dataclasses.dataclass(frozen=True)
class Nothing(Kind):
    """None."""

    def pack(self, value: Any, run: Any) -> list[Any]:
        return []

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> None:
        return None


@dataclasses.dataclass(frozen=True)
class Plain(Kind):
    """A Python int, float or bool."""

    name: str

    def dtypes(self) -> list[tf.DType]:
        return [NUMBER_DTYPES[self.name]]

    def pack(self, value: Any, run: Any) -> list[Any]:
        return [tf.constant(value, NUMBER_DTYPES[self.name])]

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> PyNumber:
        tensor = next(tensors)
        tensor.set_shape([])
        return PyNumber(self.name, tensor)


@dataclasses.dataclass(frozen=True)
class Dense(Kind):
    """A tensor of a dtype and rank; its dimensions may vary."""

    dtype: tf.DType
    rank: int | None

    def dtypes(self) -> list[tf.DType]:
        return [self.dtype]

    def pack(self, value: Any, run: Any) -> list[Any]:
        return [value]

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> tf.Tensor:
        tensor = next(tensors)
        if self.rank is not None:
            tensor.set_shape([None] * self.rank)
        return tensor

    def holds_tensor(self) -> bool:
        return True


class Array(Dense):
    """A tensor made of an array: eager's tape does not see where it comes from either."""

    def holds_tensor(self) -> bool:
        return False


@dataclasses.dataclass(frozen=True)
class Object(Kind):
    """Any object, kept by the run; its class if it is always the same, and the dtype and rank of an array.

    `shared`: the arrays of the program with which an array may share its memory, None if that is not known. `dims`: the shape that
    it always has.
    """

    cls: type | None = None
    dtype: str | None = None
    rank: int | None = None
    example: Any = dataclasses.field(default=None, compare=False, repr=False)
    shared: tuple[Any, ...] | None = dataclasses.field(default=None, compare=False, repr=False)
    dims: tuple[int, ...] | None = dataclasses.field(default=None, compare=False)

    def dtypes(self) -> list[tf.DType]:
        return [tf.int64]

    def pack(self, value: Any, run: Any) -> list[Any]:
        return [tf.constant(run.keep(value), tf.int64)]

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> Deferred:
        tensor = next(tensors)
        tensor.set_shape([])
        return Deferred(Kept(run, self), [PyNumber("int", tensor)])


ANYTHING = Object()


@dataclasses.dataclass(frozen=True)
class Parts(Kind):
    """A tuple, or a list that nobody else knows, of a fixed length."""

    cls: type
    parts: tuple[Kind, ...]

    def dtypes(self) -> list[tf.DType]:
        return [dtype for part in self.parts for dtype in part.dtypes()]

    def pack(self, value: Any, run: Any) -> list[Any]:
        return [tensor for part, item in zip(self.parts, value, strict=True) for tensor in part.pack(item, run)]

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> Any:
        items = [part.unpack(tensors, run) for part in self.parts]
        if self.cls is list:
            return current().born(items)
        return self.cls(*items) if hasattr(self.cls, "_fields") else tuple(items)

    def holds_tensor(self) -> bool:
        return any(part.holds_tensor() for part in self.parts)


@dataclasses.dataclass(frozen=True)
class OneOf(Kind):
    """One of several kinds, with a tag."""

    kinds: tuple[Kind, ...]

    def dtypes(self) -> list[tf.DType]:
        return [tf.int32, *(dtype for kind in self.kinds for dtype in kind.dtypes())]

    def pack(self, value: Any, run: Any) -> list[Any]:
        seen = kind_of(value, fresh=True)
        tag = next(i for i, kind in enumerate(self.kinds) if join_kinds(kind, seen) == kind)
        packed = [kind.pack(value, run) if i == tag else kind.filler() for i, kind in enumerate(self.kinds)]
        return [tf.constant(tag, tf.int32), *(tensor for one in packed for tensor in one)]

    def unpack(self, tensors: Iterator[tf.Tensor], run: Any) -> Union:
        tag = next(tensors)
        tag.set_shape([])
        return Union(tag, [kind.unpack(tensors, run) for kind in self.kinds])

    def holds_tensor(self) -> bool:
        return any(kind.holds_tensor() for kind in self.kinds)


@dataclasses.dataclass(frozen=True)
class Kept:
    """Finds an object that the run keeps, by its number."""

    run: Any
    kind: Object

    __name__ = "result"

    def __call__(self, number: int) -> Any:
        """The object."""
        return self.run.kept(number)

    def __hash__(self) -> int:
        return hash(self.kind)


@dataclasses.dataclass(frozen=True)
class Live(Kept):
    """Finds an object of the program, older than the call: what is done with it is done by the run, in order."""

    source: Any

    def __call__(self, number: int = 0) -> Any:
        """The object."""
        return self.source.fetch(self.run.args)

    def __hash__(self) -> int:
        return hash(self.source)


def is_fresh(value: Any) -> bool:
    """Whether the caller's one variable is all that knows an object."""
    return sys.getrefcount(value) <= ALONE


def kind_of(value: Any, fresh: bool = False) -> Kind:
    """The kind of a result. A list counts as its parts only if it is `fresh`: nobody else may see it change."""
    if value is None:
        return Nothing()
    cls: Any = type(value)
    name = _NAMES.get(cls)
    if name is not None and (name != "int" or -INT_RANGE < value < INT_RANGE):
        return Plain(name)
    if isinstance(value, tf.Tensor):
        return Dense(value.dtype, value.shape.rank)
    if (_is_tuple(cls) or (cls is list and fresh)) and len(value) <= MOST_PARTS:
        return Parts(cls, tuple(map(kind_of, value)))
    return _object(value)


_NAMES: dict[Any, str] = {cls: name for name, cls in NUMBER_TYPES.items()}


def _is_tuple(cls: type) -> bool:
    return cls is tuple or (issubclass(cls, tuple) and hasattr(cls, "_fields") and cls.__new__ is not tuple.__new__)


def _object(value: Any) -> Object:
    if isinstance(value, (np.ndarray, np.generic)) and type(value) is not np.object_ and value.dtype.kind in "biufc":
        return Object(type(value), value.dtype.name, value.ndim)
    return Object(type(value), example=copy.copy(value) if _is_plain(value) else None)


def _is_plain(value: Any) -> bool:
    """Text, or a small container of text and numbers, which may serve as an example."""
    if type(value) in (str, bytes):
        return len(value) <= MOST_ELEMENTS
    parts = [*value, *value.values()] if type(value) is dict else value
    return type(value) in (list, dict) and len(value) <= MOST_PARTS and all(isinstance(one, PLAIN) for one in parts)


def join_kinds(a: Kind, b: Kind) -> Kind:
    """What covers two kinds."""
    kinds: list[Kind] = []
    for kind in (*_alternatives(a), *_alternatives(b)):
        for place, one in enumerate(kinds):
            covering = _covering(one, kind)
            if covering is not None:
                kinds[place] = covering
                break
        else:
            kinds.append(kind)
    return kinds[0] if len(kinds) == 1 else OneOf(tuple(kinds))


def _covering(a: Kind, b: Kind) -> Kind | None:
    """One kind for both, if there is one."""
    if a == b or (isinstance(a, Array) and type(b) is Dense and (a.dtype, a.rank) == (b.dtype, b.rank)):
        return a
    if isinstance(a, Object) and isinstance(b, Object):
        return Object(a.cls, example=a.example) if a.cls is b.cls else Object()
    if isinstance(a, Dense) and isinstance(b, Dense) and a.dtype == b.dtype:
        return Dense(a.dtype, None)
    if isinstance(a, Parts) and isinstance(b, Parts) and a.cls is b.cls and len(a.parts) == len(b.parts):
        return Parts(a.cls, tuple(map(join_kinds, a.parts, b.parts)))
    return None


def _alternatives(kind: Kind) -> tuple[Kind, ...]:
    return kind.kinds if isinstance(kind, OneOf) else (kind,)


# ------------------------------------------------------------------------------------------------ arguments
def watched_arguments(values: Sequence[Any]) -> Callable[[], Literal["", "changed", "kept"]]:
    """Tells later whether one of the mutable ones among some arguments is not what it was, or somebody has kept it."""
    watched = [_Watched(value) for value in values if _Watched.applies(value)]
    before = [one.references() for one in watched]
    held = values  # until the end, so that the counts compare

    def touched() -> Literal["", "changed", "kept"]:
        if len(held) < len(watched) or any(one.references() > count for one, count in zip(watched, before, strict=True)):
            return "kept"
        return "" if all(one.is_same() for one in watched) else "changed"

    return touched


class _Watched:
    """A mutable argument, and what it was."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.copy = value.copy()

    @staticmethod
    def applies(value: Any) -> bool:
        """Whether a value may be changed by who gets it."""
        return type(value) in (list, dict, set) or (type(value) is np.ndarray and value.size <= MOST_COMPARED)

    def references(self) -> int:
        """How many know the argument."""
        return sys.getrefcount(self.value)

    def is_same(self) -> bool:
        """Whether it holds what it did."""
        now, then = self.value, self.copy
        if isinstance(now, np.ndarray):
            return bool(now.shape == then.shape and now.tobytes() == then.tobytes())
        if len(now) != len(then):
            return False
        if isinstance(now, dict):
            return all(a is c and b is d for (a, b), (c, d) in zip(now.items(), then.items(), strict=True))
        return bool(now == then) if isinstance(now, set) else all(a is b for a, b in zip(now, then, strict=True))


# ------------------------------------------------------------------------------------------------ profiles
@dataclasses.dataclass
class Profile:
    """What runs in Python have shown of the calls that the graph cannot look into."""

    kinds: dict[Site, Kind] = dataclasses.field(default_factory=dict)
    seen: set[Site] = dataclasses.field(default_factory=set)  # the sites that a replay would come by
    changing: set[Site] = dataclasses.field(default_factory=set)  # calls that change or keep an argument
    wanted: bool = False  # a trace has met a call of unknown kind
    runs: int = 0  # how many runs in Python were watched
    updates: set[tuple[str, str, bool]] = dataclasses.field(default_factory=set)  # on what called functions count (`analysis.updates`)
    recursive: bool = False  # a function calls itself
    resized: list[Any] = dataclasses.field(default_factory=list)  # lists that a watched run left with another length; until a trace

    def note(self, site: Site, kind: Kind) -> None:
        """A call has returned this."""
        known = self.kinds.get(site)
        self.kinds[site] = kind if known is None else join_kinds(known, kind)


def name_of_callee(function: Any) -> str:
    """What a site calls `function`, also where the object that it is a method of is known to the run only."""
    name = getattr(function, "__name__", None) if function is not tf.print else "tf.print"  # as programs call it
    return name if isinstance(name, str) else type(function).__name__
