"""Everything written during a call, through Python's streams and by TensorFlow's own prints, in one order."""
from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from types import TracebackType

# Lines of loggers, which belong to the library and not to the program.
NOISE = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] |[IWEF]\d{4} |(WARNING|INFO):(tensorflow|absl|imp2tf))"
)


class _Tee(io.TextIOBase):
    """A text stream that remembers what went through it and passes it on to a file descriptor at once."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.text: list[str] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text.append(text)
        os.write(self.descriptor, text.encode())
        return len(text)


class Capture:
    """Context manager that turns file descriptors 1 and 2 and Python's two streams to one file."""

    def __enter__(self) -> Capture:
        sys.stdout.flush()
        sys.stderr.flush()
        self._file = tempfile.TemporaryFile(buffering=0)
        self._saved = [(descriptor, os.dup(descriptor)) for descriptor in (1, 2)]
        for descriptor, _ in self._saved:
            os.dup2(self._file.fileno(), descriptor)
        self._streams = sys.stdout, sys.stderr
        self._tees = _Tee(1), _Tee(2)
        sys.stdout, sys.stderr = self._tees
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout, sys.stderr = self._streams
        for descriptor, saved in self._saved:
            os.dup2(saved, descriptor)
            os.close(saved)
        self._file.close()

    def take(self) -> dict[str, list[str]]:
        """Lines written since the last take: all in order, and those that came through each Python stream."""
        self._file.seek(0)
        everything = self._file.read().decode(errors="replace")
        self._file.seek(0)
        self._file.truncate()
        taken = {"all": _lines(everything)}
        for name, tee in zip(("stdout", "stderr"), self._tees, strict=True):
            taken[name] = _lines("".join(tee.text))
            tee.text.clear()
        return taken


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines(keepends=True) if not NOISE.match(line)]
