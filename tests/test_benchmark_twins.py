"""The programs in PyTorch give the losses of the programs they are twins of."""
from __future__ import annotations

import pytest

from benchmarks import models, twins
from benchmarks.contenders import in_torch

pytest.importorskip("torch", reason="torch is not installed: extra bench-torch")


@pytest.mark.parametrize("name", twins.NAMES)
def test_losses_are_equal(name: str) -> None:
    assert in_torch(models.load(name), twins.twin_of(name), compiled=False).difference == ""
