"""Places of the Python heap: an attribute, a global, a closure cell, the contents of a list or dict.

A `Place` is (owner, key). How to reach its owner again at the next call is told by `imp2tf.sources`.
"""
from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable
from typing import Any, ClassVar

from imp2tf.errors import is_library_file
from imp2tf.values import UNBOUND

__all__ = ["Attribute", "Cell", "Contents", "Entries", "FromEnd", "Global", "Place", "Tail", "slot_of"]


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

    def written(self, value: Any) -> Callable[[], Any]:
        """A function that gives what has been written here by then, as a value that `write` takes; `value` is what was expected."""
        return self.read

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
        """Past hooks and descriptors of the user's classes, which the trace has run; through a library's, which note what is set."""
        cls, name = type(self.owner), self.key
        if value is UNBOUND and self.read() is UNBOUND:
            return
        if _has_setter(cls, name):
            _set_field(self.owner.__dict__, name, value)
        elif value is UNBOUND:
            _past_user_hooks(cls, "__delattr__")(self.owner, name)
        else:
            _past_user_hooks(cls, "__setattr__")(self.owner, name, value)

    def restore(self, value: Any) -> None:
        """Like write, past any hook of the class: for objects that only this trace knows."""
        if value is UNBOUND:
            if self.read() is not UNBOUND:
                object.__delattr__(self.owner, self.key)
        else:
            object.__setattr__(self.owner, self.key, value)


def _set_field(fields: dict[str, Any], name: str, value: Any) -> None:
    if value is UNBOUND:
        del fields[name]
    else:
        fields[name] = value


def _has_setter(cls: type, name: str) -> bool:
    """Whether a class's own descriptor stands before the field of that name."""
    found = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    return hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)


def _past_user_hooks(cls: type, name: str) -> Callable[..., None]:
    """The ``__setattr__`` or ``__delattr__`` that the user's own end in."""
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if found is not None and not (isinstance(found, types.FunctionType) and _is_of_program(found.__code__.co_filename)):
            return found
    raise AssertionError("object has it")


def _is_of_program(filename: str) -> bool:
    return filename == "<string>" or not is_library_file(filename)  # what dataclasses generate has no file


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
            self._write_list(value)
        elif isinstance(self.owner, dict):
            self._write_dict(value)
        else:
            self.owner.clear()
            (self.owner.extend if isinstance(self.owner, collections.deque) else self.owner.update)(value)

    def _write_list(self, value: list[Any]) -> None:
        """Elements that stay are left alone: another thread may have replaced them, and lists of tf.Module compare what they are given."""
        owner = self.owner
        of_library = type(owner).__module__.startswith(("tensorflow.", "keras."))
        cls = type(owner) if of_library else list  # past the methods of the user's classes
        for index, (old, new) in enumerate(zip(owner, value)):
            if old is not new:
                cls.__setitem__(owner, index, new)
        if len(owner) > len(value):
            cls.__delitem__(owner, slice(len(value), None))
        elif len(owner) < len(value):
            cls.extend(owner, value[len(owner):])

    def _write_dict(self, value: dict[Any, Any]) -> None:
        found = next((cls for cls in (collections.OrderedDict, dict) if cls in type(self.owner).__mro__), None)
        cls = found or type(self.owner)  # past the methods of the user's classes; what only looks like a dict (of tf.Module) has its own
        before = value.before if isinstance(value, Entries) else list(self.owner)
        for key in before:
            if key not in value:
                cls.pop(self.owner, key, None)
        kept = [key for key in before if key in value]
        if kept != list(value)[: len(kept)]:
            cls.clear(self.owner)  # in the same order the entries are kept, so that views and iterators stay valid
        for key, one in value.items():
            if key not in self.owner or cls.__getitem__(self.owner, key) is not one:
                cls.__setitem__(self.owner, key, one)


class Entries(dict[Any, Any]):
    """The entries of a dict after a call, and the keys that the call found in it: what other threads put there meanwhile stays."""

    def __init__(self, entries: Any, before: list[Any]) -> None:
        super().__init__(entries)
        self.before = before


class Tail(Place):
    """What was appended to a list or deque whose contents nobody read: one graph serves every length."""

    __slots__ = ()
    kind = "end"

    def read(self) -> Any:
        return []

    def write(self, value: Any) -> None:
        self.owner.extend(value)

    def saved(self) -> Callable[[], None]:
        if isinstance(self.owner, collections.deque):
            return Contents(self.owner).saved()
        length = len(self.owner)
        return lambda: operator.delitem(self.owner, slice(length, None))

    def written(self, value: Any) -> Callable[[], Any]:
        if isinstance(self.owner, collections.deque) and self.owner.maxlen is not None:
            return self._written_to_bounded(list(self.owner), value)
        length = len(self.owner)
        return lambda: list(self.owner)[length:]

    def _written_to_bounded(self, before: list[Any], value: Any) -> Callable[[], Any]:
        """What stands where the expected elements would, if the elements before them are those that remain."""
        remain = max(0, min(len(before), self.owner.maxlen - len(value)))

        def found() -> Any:
            now = list(self.owner)
            same = all(map(operator.is_, now, before[len(before) - remain:]))
            return now[remain:] if same else now

        return found


class FromEnd(Place):
    """An element of a list, by its distance from the end; it is only read."""

    __slots__ = ()
    kind = "element"

    def read(self) -> Any:
        return self.owner[self.key]
