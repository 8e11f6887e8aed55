"""The programs measured, each in its own file, written as a person would write it.

They have two sizes: ``CPU``, what is measured, and ``PAPER``, about what is published, which nothing here runs
(``PROGRAM(PAPER)`` makes it, ``batches(1, PAPER)`` its batches where their size is one of the program). A file ends
with what the benchmarks need of it:

``PROGRAM``     the class as written, made without arguments and with a method ``step``
``ADAPTED``     the nearest version tf.function accepts, whose method ``compiled`` gives its step under
                tf.function; None where it takes the program as it is
``ADAPTATION``  what was changed for that
``HANDWRITTEN`` the same for the graph, as an expert writes it: ``compiled(jit_compile)`` gives its step
``batches``     makes arguments for ``step``
``rehearse``    makes the calls whose results are compared before anything is timed

and where they are needed:

``UNCOMPARED``  names of attributes that have no value to compare
``OTHER_RANDOM_NUMBERS``  whether a graph of TensorFlow's own draws other numbers than eager, so that only
                shapes can be compared
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

CORE = ("lstm", "cnn", "resnet")
NAMES = (
    *CORE, "inception", "lm", "tree_rnn", "tree_lstm", "a3c", "ppo", "gan", "pix2pix",
    "beam_search", "lbfgs", "maml", "seq2seq", "adaptive_depth", "mcmc", "ode",
)
REQUIRES = {"a3c": "gymnasium", "ppo": "gymnasium"}

_copies = itertools.count(1)


def load(name: str) -> ModuleType:
    """The module of a model."""
    return importlib.import_module(f"{__name__}.{name}")


def lacking(name: str) -> str | None:
    """The package that a program needs and that is not installed."""
    required = REQUIRES.get(name)
    return required if required and importlib.util.find_spec(required) is None else None


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
