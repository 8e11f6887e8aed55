"""The program's own exceptions, while tracing and after the run.

Three sorts meet a trace and must not be mixed. What the program raises travels as `ProgramRaise`. An operation that refuses
its arguments is run again at run time, eagerly, on the real arguments, so that class and text are eager's. What imp2tf
itself cannot do is a `Fallback`.
"""
from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from imp2tf.errors import GENERATED_BLOCK, ConversionError, GraphRefused, Location, is_library_file
from imp2tf.links import handle
from imp2tf.session import Session, active
from imp2tf.tracebacks import Frame, entries, is_own, raise_through, without_own_frames

__all__ = ["TRACE_BOUNDARIES", "ProgramRaise", "StopRun", "frames_of_op", "in_context", "innermost", "located", "raise_from_user_code",
           "rebuilder", "strip_own_frames", "user_frames", "without_own_frames"]

Retry = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class ProgramRaise(BaseException):
    """Carries an exception of the program through a trace, past every handler but the program's own.

    `retry` is set when an operation refused its arguments: the call that raises eager's error when it is run.
    `fresh` says that the error was made for this raise: each run makes its own, with the values of the run.
    `record` is set instead of the error where it may be one of several (`imp2tf.records`).
    """

    def __init__(self, error: Any, retry: Retry | None = None, fresh: bool = True, record: Any = None) -> None:
        super().__init__(error)
        self.record = record
        self.error = error
        self.fresh = fresh
        self.retry = retry
        self.frames = user_frames()
        if fresh and retry is None:
            in_context(error)

    @property
    def told(self) -> str:
        """The exception in words, as far as they are known: an argument may be a run-time value, or show itself by code of the program."""
        if self.record is not None or not isinstance(self.error, BaseException):
            return "one of several exceptions"
        shown = (str(one) if isinstance(one, (str, int, float, bool)) else f"<{type(one).__name__}>" for one in self.error.args)
        return f"{type(self.error).__name__}: {', '.join(shown)}"


def in_context(error: BaseException) -> BaseException:
    """An exception raised here, with the one that is handled here as its context."""
    session = active()
    if session is not None and session.caught:
        handle(error, session.caught[-1].handled())
    return error


class StopRun(Exception):
    """Ends the run of a graph; the dispatcher raises the error that was stored with the run."""


TRACE_BOUNDARIES: set[tuple[str, str]] = set()  # file and name of functions that start a trace; their callers are no part of it
INSIDE_OUT: dict[tuple[str, str], int] = {}  # 1 for functions that leave a generator for its consumer, -1 for those that run one


def user_frames() -> list[Frame]:
    """The user's lines that run in this trace, outermost first, each function once."""
    frame = sys._getframe(1)
    return _of_user((one.f_code.co_filename, line, one.f_code.co_name) for one, line in traceback.walk_stack(frame))


def frames_of_op(op: Any) -> list[Frame]:
    """The user's lines that made an operation, outermost first."""
    return _of_user((one.filename, one.lineno, one.name) for one in reversed(list(op.traceback)))


def innermost(frames: list[Frame]) -> Location | None:
    """The line of the user that was running."""
    return Location(*frames[-1]) if frames else None


def _of_user(stack: Iterable[Frame]) -> list[Frame]:
    """The user's part of a stack that is given innermost frame first.

    A block of a control statement is a function of its own in the converted code; here it counts as part of the
    function that holds it. A generator gives its items to a consumer that Python would not call from there.
    """
    frames: list[Frame] = []
    line = None
    left = 0
    for filename, lineno, name in stack:
        if (filename, name) in TRACE_BOUNDARIES:
            break
        left += INSIDE_OUT.get((filename, name), 0)
        if left > 0:
            continue
        if not is_library_file(filename):
            line = line or lineno
            if not GENERATED_BLOCK.match(name):
                frames.append((filename, line, name))
                line = None
    return frames[::-1]


def rebuilder(session: Session, raised: ProgramRaise) -> tuple[Callable[..., BaseException], list[Any]]:
    """A function that makes the exception at run time, and the values of the trace that it needs."""
    frames, error = raised.frames, raised.error
    if isinstance(error, ConversionError):  # none of the program's
        return lambda: error, []
    if raised.retry is not None:
        function, args, kwargs = raised.retry
        names = tuple(kwargs)

        def retry(*values: Any) -> BaseException:
            positional = len(values) - len(names)
            try:
                function(*values[:positional], **dict(zip(names, values[positional:], strict=True)))
            except Exception as refusal:  # the operation's own error is what we are after
                return located(refusal, frames)
            return GraphRefused(f"{function} is refused in a graph, but not eagerly")

        return retry, [*args, *kwargs.values()]

    if raised.fresh and not session.is_born(error):
        session.born(error)
    older = not session.is_born(error)
    return lambda error: located(error, frames, older), [error]


def located(error: BaseException, frames: list[Frame], older: bool = False) -> BaseException:
    """An exception that `raise_from_user_code` will show with these lines of the user; one that is `older` keeps those it has."""
    if not older:
        error.__traceback__ = None
    try:
        error.__imp2tf_frames__ = frames  # type: ignore[attr-defined]
    except AttributeError:  # an exception class with __slots__: it is raised without the user's frames
        return error
    return error


def raise_from_user_code(error: BaseException) -> NoReturn:
    """Raise an exception so that its traceback shows the user's lines that raised it while tracing."""
    frames: list[Frame] = getattr(error, "__imp2tf_frames__", [])
    if hasattr(error, "__imp2tf_frames__"):
        del error.__imp2tf_frames__
    raise_through(error, frames)


def strip_own_frames(error: BaseException) -> None:
    """Take imp2tf's own frames out of a traceback, unless the innermost of them is where it went wrong.

    Python 3.10 raises again with the traceback that the handler began with: there, its first entry, the handler's own, stays.
    """
    found = list(entries(error.__traceback__))
    if not is_own(found[-1]) or isinstance(error, ConversionError):
        error.__traceback__ = without_own_frames(error.__traceback__)
        if sys.version_info < (3, 11):
            found[0].tb_next = error.__traceback__
