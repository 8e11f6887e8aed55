"""What has to be the same about an exception: class, text, arguments, cause, and the user's line."""
from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from tests.harness.comparison import Difference, differences
from tests.harness.description import Description, describe

# What TensorFlow adds to a message about where a kernel ran; it differs between graphs and eager.
_OP_DECORATION = re.compile(r"\{\{[^}]*\}\}|\[Op:\w+\](?:\s*name:\s*\S*)?|\[\[.*?\]\]|\s+")


@dataclass(frozen=True)
class Raised:
    """An exception, described when it was caught."""

    name: str
    message: str
    of_operation: bool
    args: Description
    cause: str
    contexts: tuple[str, ...]
    user_lines: tuple[int, ...]
    trace: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message[:600]}"


def describe_exception(error: BaseException, user_file: str) -> Raised:
    """Describe `error`; its traceback's frames in `user_file` are the user's lines."""
    frames = traceback.walk_tb(error.__traceback__)
    user_lines = tuple(line for frame, line in frames if frame.f_code.co_filename == user_file)
    of_operation = isinstance(error, tf.errors.OpError)
    cause = error.__cause__
    return Raised(
        name=_class_name(error),
        message=_without_decoration(str(error)) if of_operation else str(error),
        of_operation=of_operation,
        args=describe(() if of_operation else error.args),
        contexts=() if of_operation else tuple(_contexts(error)),
        cause="none" if cause is None else f"{_class_name(cause)}: {cause}",
        user_lines=user_lines,
        trace="".join(traceback.format_exception(error)),
    )


def _contexts(error: BaseException) -> Iterator[str]:
    """What was handled when an exception was raised, and so on; of TensorFlow's errors the text is not compared."""
    one = error.__context__
    while one is not None:
        yield _class_name(one) if isinstance(one, tf.errors.OpError) else f"{_class_name(one)}: {one}"
        one = one.__context__


def exception_differences(place: str, eager: Raised, other: Raised) -> Iterator[Difference]:
    """Every respect in which the exception `other` is not the exception `eager`."""
    same_text = eager.message in other.message if eager.of_operation else eager.message == other.message
    if eager.name != other.name or not same_text:
        yield Difference("exception", place, str(eager), str(other))
        return
    yield from differences("exception arguments", place, eager.args, other.args)
    if eager.contexts != other.contexts:
        yield Difference("exception context", place, str(eager.contexts), str(other.contexts))
    if eager.cause != other.cause:
        yield Difference("exception cause", place, eager.cause, other.cause)
    if eager.user_lines and not _shows_line(other, eager.user_lines[-1]) and not _joined_instructions(eager, other):
        yield Difference("traceback", place, f"raised in the user's line {eager.user_lines[-1]}",
                         f"shows the user's lines {list(other.user_lines)}")


def _joined_instructions(eager: Raised, other: Raised) -> bool:
    """Whether Python told the line before: from 3.11 on it joins a store and the load that follows it, once it has run them often."""
    return eager.name == "builtins.UnboundLocalError" and other.user_lines[-1:] == (eager.user_lines[-1] + 1,)


def _shows_line(raised: Raised, line: int) -> bool:
    """Whether the traceback goes through `line`; for an operation in a graph the message may say so."""
    return line in raised.user_lines or raised.of_operation and f"line {line}" in raised.message


def _class_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _without_decoration(message: str) -> str:
    return _OP_DECORATION.sub(" ", message).strip()
