"""What an exception of the trace is linked to: its cause, and the exception that was handled when it was raised.

Python takes exceptions and None there. One of several, which only the run knows, is kept in a `_Several`.
"""
from __future__ import annotations

from typing import Any

__all__ = ["LINKS", "cause_of", "context_of", "fields_with_links", "handle", "linked", "set_links"]

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
    links = {"__context__": context_of(error)}
    return {**error.__dict__, **links, "__cause__": cause_of(error)} if error.__suppress_context__ else {**error.__dict__, **links}


def set_links(error: BaseException, fields: dict[str, Any]) -> None:
    """Take the links out of such fields, and link the exception."""
    for name in LINKS:
        if name in fields:
            setattr(error, name, _link(fields.pop(name)))    # a cause hides the context, as in Python
