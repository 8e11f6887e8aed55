"""Some of the programs in PyTorch, as its users write them: the same weights, the same batches, the same losses.

A file has the name of the program that it is the twin of, and a class ``TWIN``: made of the program, whose weights it copies;
``step`` takes what ``batch`` makes of a batch of the program, and ``compile`` has torch.compile compile what it can of it.
Needs torch (extra ``bench-torch``). Programs that are about TensorFlow's own containers or random numbers have no twin.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["NAMES", "installed", "twin_of"]

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))


def installed() -> bool:
    """Whether there is a torch to run twins with."""
    return importlib.util.find_spec("torch") is not None


def twin_of(name: str) -> Any:
    """The class of a program's twin, None if it has none."""
    return importlib.import_module(f"{__name__}.{name}").TWIN if name in NAMES else None
