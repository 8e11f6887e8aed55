"""Roads to values: how what a trace has read is found again at each call.

A `Source` leads to a value from the arguments of a call or from an object that is known by identity; guards, inputs and
commits use sources, so that a fresh but equal object may come with every call.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from imp2tf.places import Attribute, Cell, Global, Place, slot_of
from imp2tf.values import UNBOUND

__all__ = [
    "AllDistinct",
    "Argument",
    "Both",
    "Item",
    "Keys",
    "Length",
    "Member",
    "Part",
    "Pinned",
    "PlacePart",
    "Setting",
    "Source",
]


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
        if self.place is Attribute:
            return self._attribute(owner, constant)
        return f"{constant(self.place)}({owner}, {self.key!r}).read()"

    def _attribute(self, owner: str, constant: Callable[[Any], str]) -> str:
        if isinstance(self.parent, Pinned) and not isinstance(self.parent.value, type):
            fields = getattr(self.parent.value, "__dict__", None)
            if type(fields) is dict and slot_of(type(self.parent.value), self.key) is None:
                return f"{owner}.__dict__.get({self.key!r}, {constant(UNBOUND)})"
        return f"{constant(attribute_of)}({owner}, {self.key!r})"


def attribute_of(owner: Any, name: str) -> Any:
    """`Attribute(owner, name).read()`, quickly where the owner has no slots."""
    try:
        value = owner.__dict__.get(name, UNBOUND)
    except AttributeError:
        value = UNBOUND
    return Attribute(owner, name).read() if value is UNBOUND else value


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


class Setting(Source):
    """What a function says of the state of a library."""

    def __init__(self, name: str, read: Callable[[], Any]) -> None:
        self.name = name
        self.read = read

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and other.read is self.read

    def __hash__(self) -> int:
        return hash(self.read)

    def __str__(self) -> str:
        return self.name

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.read()

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"{constant(self.read)}()"
