"""Setting up the environment: what is missing is said in a sentence, and what is there is left alone."""

import os
import subprocess
import sys
from pathlib import Path

from tests.project_modules import ROOT

SCRIPT = ROOT / "scripts" / "setup_venv.sh"


def set_up(target: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script for ``target`` with more environment variables."""
    variables = os.environ | environment
    return subprocess.run(
        [SCRIPT, target], env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_no_suitable_python(tmp_path: Path) -> None:
    result = set_up(tmp_path / "venv", PYTHON="no-such-python")
    assert result.returncode == 1
    assert "no Python 3.10 to 3.13" in result.stderr
    assert "tried: no-such-python" in result.stderr
    assert not (tmp_path / "venv").exists()


def test_python_that_is_there_and_does_not_run(tmp_path: Path) -> None:
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    result = set_up(tmp_path / "venv", PYTHON=str(shim))
    assert result.returncode == 1
    assert "no Python 3.10 to 3.13" in result.stderr


def test_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    result = set_up(tmp_path)
    assert result.returncode == 1
    assert "not a working environment" in result.stderr
    assert precious.read_text() == "mine"


def test_no_network(tmp_path: Path) -> None:
    result = set_up(tmp_path / "venv", PYTHON=sys.executable, PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)
    assert result.returncode == 1
    assert "pip could not install" in result.stderr
    assert not (tmp_path / "venv" / ".installed").exists()
