"""What an exception of the trace holds beside its arguments: its cause, its context, what its constructor noted.

The cause is another exception, and so is the context, which was handled when it was raised. Python takes
exceptions and None as links. One of several, which only the run knows, is kept in a `_Several`.
"""
from __future__ import annotations

import types
from typing import Any

__all__ = ["LINKS", "cause_of", "context_of", "fields_with_links", "handle", "linked", "new_exception", "noted_by_class", "set_links",
           "set_noted"]

LINKS = ("__cause__", "__context__")


class _Several(BaseException):
    """Stands for one of several exceptions, or for one or none."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def cause_of(error: BaseException) -> Any:
    """``error.__cause__``, as a value of the trace."""
    return _value(error.__cause__)


def context_of(error: BaseException) -> Any:
    """``error.__context__``, as a value of the trace."""
    return _value(error.__context__)


def linked(error: BaseException, name: str) -> Any:
    """The cause or the context, by its attribute's name."""
    return cause_of(error) if name == "__cause__" else context_of(error)


def _value(link: BaseException | None) -> Any:
    return link.value if isinstance(link, _Several) else link


def _link(value: Any) -> BaseException | None:
    return value if value is None or isinstance(value, BaseException) else _Several(value)


def handle(error: BaseException, handled: Any) -> None:
    """Python's rule for an exception that is raised while another is handled: chains have no circles."""
    if handled is None or handled is error:
        return
    one = handled
    while isinstance(one, BaseException):
        if one.__context__ is error:
            one.__context__ = None
        one = context_of(one)
    error.__context__ = _link(handled)


def fields_with_links(error: BaseException) -> dict[str, Any]:
    """What an exception holds beside its arguments, by name; its cause only if it was given one, be it None."""
    fields = {**error.__dict__, **noted_by_class(error), "__context__": context_of(error)}
    return {**fields, "__cause__": cause_of(error)} if error.__suppress_context__ else fields


def set_links(error: BaseException, fields: dict[str, Any]) -> None:
    """Take the links and what the class noted out of such fields, and give them to the exception."""
    set_noted(error, {name: fields.pop(name) for name in _noted_names(type(error)) if name in fields})
    for name in LINKS:
        if name in fields:
            setattr(error, name, _link(fields.pop(name)))    # a cause hides the context, as in Python


# ------------------------------------------------------------------------------------------------ what the constructor noted
def _builtin_class(cls: Any) -> Any:
    """The nearest class of Python's own."""
    return next(one for one in cls.__mro__ if one.__module__ == "builtins" and issubclass(one, BaseException))


def _noted_names(cls: Any) -> tuple[str, ...]:
    """The fields that a class of Python keeps outside of ``__dict__``: ``errno``, ``filename``, ``value``, ``code``, ``name``, ..."""
    return tuple(name for one in _builtin_class(cls).__mro__ if one not in (BaseException, object) for name, found in vars(one).items()
                 if isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType)) and not name.startswith("__"))


def noted_by_class(error: BaseException) -> dict[str, Any]:
    """Such fields of an exception, by name, but for those that it lacks."""
    return {name: getattr(error, name) for name in _noted_names(type(error)) if hasattr(error, name)}


def set_noted(error: BaseException, fields: dict[str, Any]) -> None:
    """Give an exception such fields; one that was never set reads None, and may not be set to it."""
    for name, value in fields.items():
        if value is not getattr(error, name, None):
            setattr(error, name, value)


def new_exception(cls: type[BaseException], args: tuple[Any, ...] = ()) -> Any:
    """An exception with these arguments that no constructor has seen: one may ask for others, or choose another class by them."""
    made = _builtin_class(cls).__new__(cls)
    made.args = args
    return made
