"""The fields of an object as a dict of them would hold them: `vars` and `__dict__`."""
from __future__ import annotations

from typing import Any

from imp2tf.alternatives import raise_error
from imp2tf.container_methods import ContainerMethod
from imp2tf.containers import static
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.heap import view
from imp2tf.places import Attribute
from imp2tf.session import current
from imp2tf.sources import Keys, Member
from imp2tf.values import UNBOUND, Union

__all__ = ["FieldsOf", "fields_of_object"]


def fields_of_object(owner: Any) -> dict[str, Any]:
    """What an object of the program holds itself, by name, in order."""
    session = current()
    held = vars(owner)
    if not session.is_born(owner):
        session.guard(Keys(Member(session.source_of(owner), "__dict__")), "keys", tuple(held))
    added = [place.key for place in session.store if isinstance(place, Attribute) and place.owner is owner and place.key not in held]
    fields = {name: view(Attribute(owner, name)) for name in (*held, *added)}
    if any(isinstance(value, Union) and any(one is UNBOUND for one in value.alternatives) for value in fields.values()):
        fall_back(NeedsValue, f"which attributes a {type(owner).__name__} has")
    return {name: value for name, value in fields.items() if value is not UNBOUND}


class FieldsOf:
    """``owner.__dict__``: the attributes that an object holds itself, read and written as such."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def fields(self) -> dict[str, Any]:
        """A new dict of them."""
        made: dict[str, Any] = current().born(fields_of_object(self.owner))
        return made

    def method(self, name: str) -> Any:
        """A method of the dict."""
        if name in ("get", "update"):
            return getattr(self, name)
        if name in ("copy", "items", "keys", "values"):
            return ContainerMethod(self.fields(), name)
        return fall_back(ForeignCall, f"__dict__.{name}")

    def update(self, *others: Any, **fields: Any) -> None:
        """``owner.__dict__.update(...)``."""
        for other in others:
            given = other.fields() if isinstance(other, FieldsOf) else static(other, "__dict__.update")
            fields = {**given, **fields}
        for name, value in fields.items():
            current().write(Attribute(self.owner, name), value)

    def get(self, name: str, default: Any = None) -> Any:
        """``owner.__dict__.get(name, default)``."""
        value = view(Attribute(self.owner, name))
        return default if value is UNBOUND else value

    def __getitem__(self, name: str) -> Any:
        value = self.get(name, UNBOUND)
        return raise_error(KeyError(name)) if value is UNBOUND else value

    def __setitem__(self, name: str, value: Any) -> None:
        current().write(Attribute(self.owner, name), value)
