"""The option `--update-golden` of pytest and the fixture that tests of golden files ask for it."""
from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written rather than compared."""
    return bool(request.config.getoption("--update-golden"))
