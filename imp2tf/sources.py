"""Roads to values: how what a trace has read is found again at each call.

A `Source` leads to a value from the arguments of a call or from an object that is known by identity; guards, inputs and
commits use sources, so that a fresh but equal object may come with every call.
"""
from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from imp2tf.places import Attribute, Cell, Global, Place, slot_of
from imp2tf.values import UNBOUND

__all__ = [
    "AllDistinct",
    "Argument",
    "Both",
    "Code",
    "Held",
    "Item",
    "Keys",
    "Length",
    "Member",
    "Pinned",
    "PlacePart",
    "Setting",
    "Source",
    "reads_plainly",
]


class Code(Protocol):
    """The generated code that fetches values, as `Source.expression` sees it."""

    def constant(self, value: Any) -> str:
        """The name of an object."""
        ...

    def value(self, source: Source) -> str:
        """The name of the value that a source gives; it is fetched once."""
        ...

    def local(self, text: str) -> str:
        """The name of what an expression gives; it is evaluated once."""
        ...

    def class_of(self, source: Source) -> type | None:
        """The class that the value of a source is known to have."""
        ...


class Source:
    """How a value is found at each call; equal sources find the same value."""

    def fetch(self, args: Sequence[Any]) -> Any:
        """The value now, given the bound arguments of the call. Raises if the road is gone."""
        raise NotImplementedError

    def expression(self, code: Code) -> str:
        """Python text that fetches the value; `args` holds the arguments."""
        raise NotImplementedError


OF_THE_PROGRAM = (type, types.ModuleType, types.CodeType, types.BuiltinFunctionType)  # these stay, or are small


class Held:
    """An object known by identity, which is not kept alive for that if it allows weak references."""

    def __init__(self, value: Any) -> None:
        self.name = getattr(value, "__qualname__", None) or f"<{type(value).__name__}>"
        self.cls = type(value)
        self.get: Callable[[], Any]
        try:
            self.get = (lambda: value) if isinstance(value, OF_THE_PROGRAM) else weakref.ref(value)
        except TypeError:
            self.get = lambda: value

    @property
    def is_weak(self) -> bool:
        """Whether the object may go."""
        return isinstance(self.get, weakref.ref)

    def expression(self, code: Code) -> str:
        """Python text for the object, None if it is gone."""
        return code.local(f"{code.constant(self.get)}()") if self.is_weak else code.constant(self.get())


class Pinned(Source):
    """An object known by identity; `weakly` where the program itself keeps it, at the end of a road that is guarded."""

    def __init__(self, value: Any, weakly: bool = False) -> None:
        self._held = Held(value) if weakly else None
        self._value = None if weakly else value
        self._id = id(value)

    @property
    def value(self) -> Any:
        """The object; None if it is gone."""
        return self._value if self._held is None else self._held.get()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pinned) and other._id == self._id and other.value is self.value

    def __hash__(self) -> int:
        return self._id

    def __str__(self) -> str:
        return getattr(self.value, "__qualname__", None) or f"<{type(self.value).__name__}>" if self._held is None else self._held.name

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.value

    def expression(self, code: Code) -> str:
        return code.constant(self._value) if self._held is None else self._held.expression(code)


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

    def expression(self, code: Code) -> str:
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

    def expression(self, code: Code) -> str:
        owner = code.value(self.parent)
        if self.place is Global:
            return f"{owner}.get({self.key!r}, {code.constant(UNBOUND)})"
        if self.place is Attribute:
            return self._attribute(owner, code)
        return f"{code.constant(self.place)}({owner}, {self.key!r}).read()"

    def _attribute(self, owner: str, code: Code) -> str:
        pinned = self.parent.value if isinstance(self.parent, Pinned) else None
        cls = code.class_of(self.parent) if pinned is None else type(pinned)
        if isinstance(pinned, type):
            return f"{owner}.__dict__.get({self.key!r}, {code.constant(UNBOUND)})"
        if cls is not None and has_plain_fields(cls, self.key):
            return f"{code.local(f'{owner}.__dict__')}.get({self.key!r}, {code.constant(UNBOUND)})"
        return f"{code.constant(attribute_of)}({owner}, {self.key!r})"


_plain_reads: list[Any] = [object.__getattribute__]


def reads_plainly(method: Callable[[Any, str], Any]) -> None:
    """A ``__getattribute__`` that, while no trace runs, gives what Python's own gives."""
    _plain_reads.append(method)


def has_plain_fields(cls: type, name: str) -> bool:
    """Whether objects of a class keep an attribute in a dict that nothing hides."""
    return not issubclass(cls, type) and cls.__dictoffset__ != 0 and slot_of(cls, name) is None and not any(
        "__dict__" in vars(base) and not isinstance(vars(base)["__dict__"], types.GetSetDescriptorType) for base in cls.__mro__
    ) and cls.__getattribute__ in _plain_reads


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

    def expression(self, code: Code) -> str:
        owner, cls = code.value(self.parent), code.class_of(self.parent)
        if cls in (list, tuple) and type(self.key) is int:
            return f"{owner}[{self.key}]"
        if cls is dict:
            return f"{owner}.get({code.constant(self.key)}, {code.constant(UNBOUND)})"
        return f"{code.constant(_item)}({owner}, {code.constant(self.key)})"


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

    def expression(self, code: Code) -> str:
        return f"{code.constant(type(self).function)}({code.value(self.parent)})"


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

    def expression(self, code: Code) -> str:
        return f"({code.value(self.parent)} is {code.value(self.key)})"


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

    def expression(self, code: Code) -> str:
        ids = ", ".join(f"id({code.value(source)})" for source in self.sources)
        return f"(len({{{ids}}}) == {len(self.sources)})"


class Calculated(Source):
    """A Python int that is calculated from others: `op` is the operator, `left` and `right` are sources or ints."""

    FUNCTIONS: ClassVar[dict[str, Callable[[Any, Any], Any]]] = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}

    def __init__(self, op: str, left: Source | int, right: Source | int) -> None:
        self.op, self.left, self.right = op, left, right
        self.depth: int = 1 + max(one.depth if isinstance(one, Calculated) else 0 for one in (left, right))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calculated) and (other.op, other.left, other.right) == (self.op, self.left, self.right)

    def __hash__(self) -> int:
        return hash((self.op, self.left, self.right))

    def __str__(self) -> str:
        return f"({self.left} {self.op} {self.right})"

    def fetch(self, args: Sequence[Any]) -> Any:
        return self.FUNCTIONS[self.op](*(one.fetch(args) if isinstance(one, Source) else one for one in (self.left, self.right)))

    def expression(self, code: Code) -> str:
        left, right = (code.value(one) if isinstance(one, Source) else repr(one) for one in (self.left, self.right))
        return f"({left} {self.op} {right})"


class Choice(_Derived):
    """An int of which each value has a graph of its own, though it varies."""

    function = int
    text = "choice"


class Member(Part):
    """A field of a function or method object: ``__code__``, ``__self__`` and the like."""

    def fetch(self, args: Sequence[Any]) -> Any:
        return getattr(self.parent.fetch(args), self.key)

    def expression(self, code: Code) -> str:
        return f"{code.value(self.parent)}.{self.key}"


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

    def expression(self, code: Code) -> str:
        return f"{code.constant(self.read)}()"
