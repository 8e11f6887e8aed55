"""The programs in a Markdown document, and what they print.

A fenced block of Python is a program of its own. A fenced block of text right after it is what it prints. A
program that begins with a comment such as ``# train.py`` is run from a file of that name.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\A# (\w+\.py)\n")
ENOUGH_SECONDS = 300

# Each program prints into a file beside it; another file says how it ended: nothing, or a traceback.
DRIVER = """
import contextlib, os, runpy, sys, traceback

for folder, name in zip(sys.argv[1::2], sys.argv[2::2]):
    os.chdir(folder)
    failure = ""
    with open("printed", "w") as printed, contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(name, run_name="__main__")
        except BaseException:
            failure = traceback.format_exc()
    with open("ended", "w") as ended:
        ended.write(failure)
"""


@dataclass(frozen=True)
class Block:
    """A program in a document: its first line there, its text, and what it is said to print."""

    line: int
    code: str
    output: str | None

    @property
    def filename(self) -> str:
        """The name the program goes by."""
        named = NAMED.match(self.code)
        return named[1] if named else f"line_{self.line}.py"


def blocks(text: str) -> list[Block]:
    """The programs in a document, in order."""
    found: list[Block] = []
    fences = list(FENCE.finditer(text))
    for fence, following in zip(fences, [*fences[1:], None]):
        if fence["kind"] != "python":
            continue
        shown = following is not None and following["kind"] == "text"
        adjacent = shown and not text[fence.end() : following.start()].strip()
        line = text.count("\n", 0, fence.start()) + 2
        found.append(Block(line, fence["body"], following["body"] if adjacent else None))
    return found


def run(programs: list[Block], folder: Path) -> list[str]:
    """What is wrong with each program, empty where nothing is; all run one after the other in one process."""
    places = [folder / str(number) for number, _ in enumerate(programs)]
    for place, program in zip(places, programs):
        place.mkdir()
        (place / program.filename).write_text(program.code, encoding="utf-8")
    arguments = [str(one) for place, program in zip(places, programs) for one in (place, program.filename)]
    errors = _drive(arguments)
    return [_problem(place, program, errors) for place, program in zip(places, programs)]


def _drive(arguments: list[str]) -> str:
    """Run the driver; what went wrong with it itself, if anything did."""
    command = [sys.executable, "-c", DRIVER, *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ENOUGH_SECONDS).stderr
    except subprocess.TimeoutExpired:
        return f"the programs took more than {ENOUGH_SECONDS} seconds"


def _problem(place: Path, program: Block, errors: str) -> str:
    ended = place / "ended"
    failure = ended.read_text(encoding="utf-8") if ended.exists() else f"it did not end: {errors}"
    if failure:
        return failure
    text = (place / "printed").read_text(encoding="utf-8")
    if program.output is None or _tidied(text) == _tidied(program.output):
        return ""
    return f"it prints\n{text}\nbut the document says\n{program.output}"


def _tidied(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]
