"""Every problem imp2tf can report, as a class: a code, a cause, a hint, and the user's line.

What cannot be put in a graph is a `ConversionError`. While a function is being traced it travels inside
`Fallback`, which is a `BaseException` so that neither the user's ``except Exception`` nor a library's handler
can swallow it; the dispatcher unpacks it, runs the call as plain Python and counts the reason, or raises the
error itself under ``fullgraph=True``.
"""
from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

__all__ = [
    "GENERATED_BLOCK", "IN_BLOCKS", "OWN_FOLDERS", "AssumptionFailed", "Contents", "ConversionError", "DivergenceError", "Fallback",
    "ForeignCall", "GraphRefused", "Location", "LostValue", "NeedsValue", "NoFixpoint", "NoSource", "NotServable", "NotVerified",
    "RaisesUnderTry", "RecompileLimit", "Recompiled", "SeveralKinds", "TraceFailed", "UnexpectedResult", "UnsupportedSyntax",
    "VariableCreated", "XlaRefused", "fall_back", "first_line", "is_library_file", "is_own_file", "said_by_kernel", "user_location",
]


@dataclasses.dataclass(frozen=True)
class Location:
    """A place in the user's program: file, line and the name of the function."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}, in {self.function}"


class ConversionError(Exception):
    """A function, or a part of it, cannot be turned into a graph.

    By default the call runs as Python, and the error is kept in ``stats()``. With ``fullgraph=True`` it is raised:

        try:
            step(x)
        except imp2tf.ConversionError as error:
            print(error.code, error.reason, error.location, error.hint)

    Attributes:
      code: which kind of error it is, such as "I2T101"; docs/errors.md has a section for each code.
      reason: what cannot be put in a graph.
      hint: what to do about it.
      location: the line of the user's program, if it is known.
      avoidable: whether a graph without the branch that this line is in may do.
    """

    code = "I2T000"
    patience = 2  # after so many failures in a row for one reason, the function runs as Python from then on
    hint = "run it as plain Python with @imp2tf.disable, or rewrite the line"

    def __init__(self, reason: str, *, hint: str | None = None, location: Location | None = None, avoidable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.location = location
        self.avoidable = avoidable
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        where = f" [{self.location}]" if self.location else ""
        return f"{self.code}: {self.reason}{where} (hint: {self.hint})"


class ForeignCall(ConversionError):
    """A Python call whose effects or result cannot be put in a graph."""

    code = "I2T101"
    hint = "move the call out of the converted function, or use a TensorFlow operation instead"


class NeedsValue(ConversionError):
    """Python needs the value of something that is known only when the graph runs."""

    code = "I2T102"
    hint = "keep the value a tensor, or pass it in as a Python argument"


class SeveralKinds(ConversionError):
    """A value that may be of several kinds is used where one kind is needed."""

    code = "I2T103"
    hint = "give the name a value of one kind on every path"


class NoFixpoint(ConversionError):
    """A loop changes the kind of its state on every turn."""

    code = "I2T104"
    hint = "give loop variables one kind of value from the first turn on"


class UnsupportedSyntax(ConversionError):
    """A piece of syntax that is left to Python."""

    code = "I2T105"
    hint = "generators, coroutines and exec run as Python; move tensor code into a function of its own"


class LostValue(ConversionError):
    """An object made anew in a branch or loop is used after it."""

    code = "I2T106"
    hint = "make the object before the branch or loop, or use it only inside; if its class has __slots__, leave them out"


class NoSource(ConversionError):
    """The source code of a function is not available."""

    code = "I2T107"
    hint = "define the function in a file, or in a notebook cell"


class RecompileLimit(ConversionError):
    """A function was traced too often because of ever new Python values."""

    code = "I2T108"
    patience = 10**9  # the graphs there are still serve the calls they fit
    hint = "pass values that change as tensors, or raise recompile_limit"


class TraceFailed(ConversionError):
    """Tracing the function raised an error that plain Python may not raise."""

    code = "I2T109"
    hint = "see the cause, which is chained to this error; mark the function that raises it with @imp2tf.disable if the line cannot change"


class RaisesUnderTry(ConversionError):
    """An exception that depends on a tensor may be raised by library code or an operation under try or with."""

    code = "I2T110"
    hint = "raise it in code of the program, or test before calling"


class Contents(ConversionError):
    """An operation on a container whose contents are known only at run time."""

    code = "I2T111"
    hint = "keep the container's keys and length independent of tensors"


class GraphRefused(ConversionError):
    """TensorFlow refused an operation in the graph that it accepts eagerly."""

    code = "I2T112"
    hint = "use a dtype, a shape or an operation that TensorFlow also takes in a graph; until then Python makes the call"


class VariableCreated(ConversionError):
    """A tf.Variable is created in the function."""

    code = "I2T113"
    hint = "create variables before, or on the first call only"
    patience = 6


class XlaRefused(ConversionError):
    """XLA cannot or must not compile a graph, which therefore runs without XLA."""

    code = "I2T114"
    hint = "with jit_compile=None, XLA compiles what it can of the graph and leaves out the rest; False leaves XLA out"


class Recompiled(ConversionError):
    """A function that has a graph needs another one, under the stance "fail_on_recompile"."""

    code = "I2T115"
    hint = "pass what changes as a tensor, keep it as it was, or use the stance \"default\""


class UnexpectedResult(ConversionError):
    """A Python call that a graph makes returned another kind of value than before, and the call could not go on as Python."""

    code = "I2T116"
    hint = "call the function again: it knows both kinds now; or mark it with @imp2tf.disable"


class AssumptionFailed(GraphRefused):
    """A run enters a branch that was left out of the graph, because no graph can hold it."""

    code = "I2T117"
    hint = "nothing needs to be done: Python makes such calls; speculate=False leaves no branch out"


class NotVerified(ConversionError):
    """A graph cannot be run beside plain Python to compare them, under the stance "verify"."""

    code = "I2T202"
    hint = "verify the parts of the function that have no such effect; the whole runs as Python under this stance"


class DivergenceError(ConversionError):
    """Under the stance "verify", the graph and plain Python did different things in one call."""

    code = "I2T201"
    hint = "please report this with the program: the eager result is the right one"


class NotServable(ConversionError):
    """`imp2tf.save` was given something that needs Python when it is served.

    Attributes:
      reasons: everything that stands in the way, as a list of `ConversionError`, each with its line.
    """

    code = "I2T301"
    hint = "leave what needs Python out of the functions that are saved"

    def __init__(self, name: str, reasons: Sequence[ConversionError]) -> None:
        super().__init__(f"{name} cannot be served without Python", location=reasons[0].location if reasons else None)
        self.reasons = list(reasons)

    def __str__(self) -> str:
        lines = [f"  {one.code}: {one.reason}{f' [{one.location}]' if one.location else ''}" for one in self.reasons]
        return "\n".join([f"{self.code}: {self.reason}; nothing was written", *lines, f"  (hint: {self.hint})"])


class Fallback(BaseException):
    """Carries a ConversionError from the place that met it to the dispatcher; `block` is the outermost branch that it left so far."""

    def __init__(self, error: ConversionError) -> None:
        super().__init__(str(error))
        self.error = error
        self.block: Callable[[], Any] | None = None


def first_line(error: BaseException) -> str:
    """The first line of an error's text, without the graphs that TensorFlow shows below it."""
    return str(error).strip().partition("\n")[0]


def said_by_kernel(error: BaseException) -> str:
    """What a failed operation of a graph itself says. TensorFlow puts the stack of its trace, indented, before it."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line[0].isspace()]
    return lines[-1] if lines else str(error)


def fall_back(kind: type[ConversionError], reason: str, cause: BaseException | None = None,
              location: Location | None = None) -> NoReturn:
    """Give up on the graph: raises `Fallback` with an error of this kind."""
    raise Fallback(kind(reason, location=location)) from cause


_BLOCK = r"_(then|else|body|rest|try|except|finally|with|test|target|comp|lambda)_\d+"
GENERATED_BLOCK = re.compile(_BLOCK + "$")
IN_BLOCKS = re.compile(_BLOCK + r"\.<locals>\.")    # within the qualified name of a function that a block defines
_OWN_FOLDER = __file__.rpartition("/")[0] + "/"
OWN_FOLDERS = (_OWN_FOLDER, _OWN_FOLDER.removesuffix("imp2tf/") + "converters/")
_LIBRARY_PARTS = ("/site-packages/", "/lib/python3")


def is_own_file(filename: str) -> bool:
    """Whether a file belongs to imp2tf itself."""
    return filename.startswith(OWN_FOLDERS)


def is_library_file(filename: str) -> bool:
    """Whether a file belongs to Python, an installed package or imp2tf itself, not to the user's program."""
    return filename.startswith("<frozen") or is_own_file(filename) or any(part in filename for part in _LIBRARY_PARTS)


def user_location(tb: types.TracebackType | None) -> Location | None:
    """The innermost line of the user's program in a traceback."""
    found: Location | None = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_library_file(code.co_filename):
            inside = found is not None and found.filename == code.co_filename and GENERATED_BLOCK.match(code.co_name)
            found = Location(code.co_filename, tb.tb_lineno, found.function if found and inside else code.co_name)
        tb = tb.tb_next
    return found
