"""Places of the Python heap, and how to reach them again at the next call.

A `Place` is (owner, key): an attribute, a global, a closure cell, the contents of a list or dict. A `Source` is the
road to a value from the arguments of a call or from an object that is known by identity; guards and commits use
sources, so that a fresh but equal object may come with every call.
"""
from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from imp2tf.values import UNBOUND

__all__ = [
    "AllDistinct",
    "Argument",
    "Attribute",
    "Both",
    "Cell",
    "Contents",
    "Global",
    "Item",
    "Keys",
    "Length",
    "Member",
    "Part",
    "Pinned",
    "Place",
    "PlacePart",
    "Source",
    "Tail",
    "slot_of",
]


class Place:
    """One readable and writable place of the heap; equal when owner (by identity) and key are."""

    __slots__ = ("key", "owner")
    kind: ClassVar[str] = ""

    def __init__(self, owner: Any, key: Any = None) -> None:
        self.owner = owner
        self.key = key

    def __hash__(self) -> int:
        return hash((self.kind, id(self.owner), self.key))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.owner is other.owner and self.key == other.key

    def __repr__(self) -> str:
        return f"{self.kind} {self.key!r} of {type(self.owner).__name__}"

    def read(self) -> Any:
        """The value in the heap now, UNBOUND if there is none."""
        raise NotImplementedError

    def write(self, value: Any) -> None:
        """Put a value in the heap; UNBOUND removes it."""
        raise NotImplementedError

    def saved(self) -> Callable[[], None]:
        """A function that puts back what is here now."""
        old = self.read()
        return lambda: self.write(old)

    def on(self, owner: Any) -> Place:
        """The same place of another owner."""
        return type(self)(owner, self.key)


class Attribute(Place):
    """An instance or class attribute, stored in the owner itself (not found by inheritance)."""

    __slots__ = ()
    kind = "attribute"

    def read(self) -> Any:
        if isinstance(self.owner, type):
            return vars(self.owner).get(self.key, UNBOUND)
        fields = getattr(self.owner, "__dict__", None)
        if fields is not None and self.key in fields:
            return fields[self.key]
        slot = slot_of(type(self.owner), self.key)
        if slot is None:
            return UNBOUND
        try:
            return slot.__get__(self.owner)
        except AttributeError:
            return UNBOUND

    def write(self, value: Any) -> None:
        if value is UNBOUND:
            if self.read() is not UNBOUND:
                delattr(self.owner, self.key)
        else:
            setattr(self.owner, self.key, value)

    def restore(self, value: Any) -> None:
        """Like write, past any hook of the class: for objects that only this trace knows."""
        if value is UNBOUND:
            if self.read() is not UNBOUND:
                object.__delattr__(self.owner, self.key)
        else:
            object.__setattr__(self.owner, self.key, value)


def slot_of(cls: type, name: str) -> Any:
    """The member descriptor of a ``__slots__`` entry, or None."""
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if isinstance(found, types.MemberDescriptorType):
            return found
    return None


class Global(Place):
    """A name of a module: the owner is the module's dict."""

    __slots__ = ()
    kind = "global"

    def read(self) -> Any:
        return self.owner.get(self.key, UNBOUND)

    def write(self, value: Any) -> None:
        if value is UNBOUND:
            self.owner.pop(self.key, None)
        else:
            self.owner[self.key] = value


class Cell(Place):
    """A closure cell; the key is the name, for messages."""

    __slots__ = ()
    kind = "closure variable"

    def read(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return UNBOUND

    def write(self, value: Any) -> None:
        if value is UNBOUND:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class Contents(Place):
    """All elements of a list, deque, dict or set, as one value of the builtin type."""

    __slots__ = ()
    kind = "contents"

    def read(self) -> Any:
        if isinstance(self.owner, dict):
            return dict(self.owner)
        if isinstance(self.owner, (set, frozenset)):
            return set(self.owner)
        return list(self.owner)

    def write(self, value: Any) -> None:
        if isinstance(self.owner, list):
            self.owner[:] = value
        elif isinstance(self.owner, dict):
            self._write_dict(value)
        else:
            self.owner.clear()
            (self.owner.extend if isinstance(self.owner, collections.deque) else self.owner.update)(value)

    def _write_dict(self, value: dict[Any, Any]) -> None:
        if list(self.owner) == list(value)[: len(self.owner)]:
            self.owner.update(value)  # same order: keep the entries, so that views and iterators stay valid
        else:
            self.owner.clear()
            self.owner.update(value)


class Tail(Place):
    """What was appended to a list whose contents nobody read: one graph serves every length."""

    __slots__ = ()
    kind = "end"

    def read(self) -> Any:
        return []

    def write(self, value: Any) -> None:
        self.owner.extend(value)

    def saved(self) -> Callable[[], None]:
        length = len(self.owner)
        return lambda: operator.delitem(self.owner, slice(length, None))


# ------------------------------------------------------------------------------------------------ sources
class Source:
    """How a value is found at each call; equal sources find the same value."""

    def fetch(self, args: Sequence[Any]) -> Any:
        """The value now, given the bound arguments of the call. Raises if the road is gone."""
        raise NotImplementedError

    def expression(self, constant: Callable[[Any], str]) -> str:
        """Python text that fetches the value; `args` holds the arguments, `constant` names an object."""
        raise NotImplementedError


class Pinned(Source):
    """An object known by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pinned) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __str__(self) -> str:
        return getattr(self.value, "__qualname__", None) or f"<{type(self.value).__name__}>"

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.value

    def expression(self, constant: Callable[[Any], str]) -> str:
        return constant(self.value)


class Argument(Source):
    """An argument of the converted function."""

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Argument) and other.index == self.index

    def __hash__(self) -> int:
        return self.index

    def __str__(self) -> str:
        return self.name

    def fetch(self, args: Sequence[Any]) -> Any:
        return args[self.index]

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"args[{self.index}]"


class Part(Source):
    """A value found inside another: `steps` are below."""

    def __init__(self, parent: Source, key: Any = None) -> None:
        self.parent = parent
        self.key = key

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.key == other.key and self.parent == other.parent

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.key, self.parent))

    def __str__(self) -> str:
        return f"{self.parent}.{self.key}"


class PlacePart(Part):
    """The value of a place of the parent."""

    def __init__(self, parent: Source, place: type[Place], key: Any = None) -> None:
        super().__init__(parent, key)
        self.place = place

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.place is other.place  # type: ignore[attr-defined]

    __hash__ = Part.__hash__

    def __str__(self) -> str:
        if self.place is Attribute:
            return f"{self.parent}.{self.key}"
        return str(self.key) if self.place in (Global, Cell) else f"{self.parent}"

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.place(self.parent.fetch(args), self.key).read()

    def expression(self, constant: Callable[[Any], str]) -> str:
        owner = self.parent.expression(constant)
        if self.place is Global:
            return f"{owner}.get({self.key!r}, {constant(UNBOUND)})"
        if self.place is Attribute and isinstance(self.parent, Pinned) and not isinstance(self.parent.value, type):
            fields = getattr(self.parent.value, "__dict__", None)
            if type(fields) is dict and slot_of(type(self.parent.value), self.key) is None:
                return f"{owner}.__dict__.get({self.key!r}, {constant(UNBOUND)})"
        return f"{constant(self.place)}({owner}, {self.key!r}).read()"


class Item(Part):
    """An element of a list, tuple or dict; UNBOUND where a dict has none."""

    def __str__(self) -> str:
        return f"{self.parent}[{self.key!r}]"

    def fetch(self, args: Sequence[Any]) -> Any:
        owner = self.parent.fetch(args)
        return owner.get(self.key, UNBOUND) if isinstance(owner, dict) else owner[self.key]

    def expression(self, constant: Callable[[Any], str]) -> str:
        owner = self.parent.expression(constant)
        return f"{constant(_item)}({owner}, {constant(self.key)})"


def _item(owner: Any, key: Any) -> Any:
    return owner.get(key, UNBOUND) if isinstance(owner, dict) else owner[key]


class _Derived(Part):
    """A plain function of the parent."""

    function: ClassVar[Callable[[Any], Any]]
    text: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.text}({self.parent})"

    def fetch(self, args: Sequence[Any]) -> Any:
        return type(self).function(self.parent.fetch(args))

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"{constant(type(self).function)}({self.parent.expression(constant)})"


class Length(_Derived):
    """The length of a container."""

    function = len
    text = "len"


class Keys(_Derived):
    """The keys of a dict, in order."""

    function = tuple
    text = "keys"


class Both(Part):
    """Whether two sources give one object."""

    def __str__(self) -> str:
        return f"{self.parent} is {self.key}"

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.parent.fetch(args) is self.key.fetch(args)

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"({self.parent.expression(constant)} is {self.key.expression(constant)})"


class AllDistinct(Source):
    """Whether several sources give as many objects."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllDistinct) and other.sources == self.sources

    def __hash__(self) -> int:
        return hash(self.sources)

    def __str__(self) -> str:
        return f"distinct({', '.join(map(str, self.sources))})"

    def fetch(self, args: Sequence[Any]) -> Any:
        return len({id(source.fetch(args)) for source in self.sources}) == len(self.sources)

    def expression(self, constant: Callable[[Any], str]) -> str:
        ids = ", ".join(f"id({source.expression(constant)})" for source in self.sources)
        return f"(len({{{ids}}}) == {len(self.sources)})"


class Member(Part):
    """A field of a function or method object: ``__code__``, ``__self__`` and the like."""

    def fetch(self, args: Sequence[Any]) -> Any:
        return getattr(self.parent.fetch(args), self.key)

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"{self.parent.expression(constant)}.{self.key}"
