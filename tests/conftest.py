"""Settings of the whole suite: TensorFlow quiet and on the CPU, and this checkout's imp2tf under test."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["tests.golden_plugin"]

# Before anything imports TensorFlow, which reads them once; subprocesses started by tests inherit them.
for name, value in {
    "CUDA_VISIBLE_DEVICES": "-1",
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}.items():
    os.environ.setdefault(name, value)


def _converters_location() -> Path | None:
    """The folder that ``imp2tf.converters`` would be imported from, or None."""
    try:
        spec = importlib.util.find_spec("imp2tf.converters")
    except ModuleNotFoundError:
        return None
    return Path(spec.origin).resolve().parent if spec and spec.origin else None


def pytest_configure() -> None:
    """Say in one line that imp2tf is not installed, rather than in an error for every test file."""
    expected = Path(__file__).resolve().parent.parent / "converters"
    found = _converters_location()
    if found is None:
        raise pytest.UsageError("imp2tf.converters is not installed here; run: pip install -e .")
    if found != expected:
        raise pytest.UsageError(f"imp2tf.converters is {found}, not {expected}; run: pip install -e .")


@pytest.fixture(autouse=True)
def _no_seed_is_left() -> Iterator[None]:
    """What a test seeds ends with it: with a seed, random operations are others."""
    yield
    compat = sys.modules.get("imp2tf.tf_compat")
    if compat is not None and compat.global_seed() is not None:
        sys.modules["tensorflow"].random.set_seed(None)
