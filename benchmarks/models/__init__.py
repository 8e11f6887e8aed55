"""The models measured, each in its own file, written as a person would write it.

A file ends with what the benchmarks need of it:

``PROGRAM``     the class as written, made without arguments and with a method ``step``
``ADAPTED``     the nearest version tf.function accepts, whose method ``compiled`` gives its step under
                tf.function; None where it takes the program as it is
``ADAPTATION``  what was changed for that
``batches``     makes arguments for ``step``
``rehearse``    makes the calls whose results are compared before anything is timed
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

NAMES = ("lstm", "cnn", "resnet")

_copies = itertools.count(1)


def load(name: str) -> ModuleType:
    """The module of a model."""
    return importlib.import_module(f"{__name__}.{name}")


@contextmanager
def fresh_copy(name: str) -> Iterator[ModuleType]:
    """The module of a model, loaded once more from a shifted copy of its file.

    Converters keep what they made of a code object, and code objects compare equal by content and line. Only
    code that stands on other lines is new to them, as a program's own code is when it starts.
    """
    number = next(_copies)
    text = Path(str(load(name).__file__)).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}_{number}.py"
        path.write_text("\n" * number + text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None, "a path that ends in .py has a loader"
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        try:
            spec.loader.exec_module(module)
            yield module
        finally:
            del sys.modules[path.stem]
