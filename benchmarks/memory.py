"""How much memory some steps of a program take, measured in a process that does nothing else.

    python -m benchmarks.memory lstm imp2tf
"""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout

from benchmarks import models
from benchmarks.checks import Outcome
from benchmarks.contenders import AUTOGRAPH, COMPILED, CONVERTED, EAGER, HANDWRITTEN, autograph, by_hand, converted

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

WAYS = {
    AUTOGRAPH: lambda model: autograph(model, Outcome()),
    HANDWRITTEN: lambda model: by_hand(model, False, Outcome()),
    COMPILED: lambda model: by_hand(model, True, Outcome()),
    CONVERTED: lambda model: converted(model, Outcome()),
}
SECONDS = 600


def in_process_of_its_own(case: str, contender: str) -> int | None:
    """Bytes by which the peak of memory grew; None where the system does not tell, or the process failed."""
    if resource is None:
        return None
    command = [sys.executable, "-m", "benchmarks.memory", case, contender]
    found = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return int(found.stdout.split()[-1]) if found.returncode == 0 else None


def _peak() -> int:
    """Bytes; the system counts them in kilobytes, but for macOS."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _grown(case: str, contender: str) -> int:
    model = models.load(case)
    with redirect_stdout(io.StringIO()):
        program = model.PROGRAM()
        # One step, so that what TensorFlow itself takes to start is not counted.
        program.step(*model.batches(1)[0])
        before = _peak()
        if contender == EAGER:
            fresh = model.PROGRAM()
            model.rehearse(fresh, fresh.step)
        else:
            WAYS[contender](model)
    return _peak() - before


if __name__ == "__main__":
    print(_grown(*sys.argv[1:]))
