"""What is built from the sources: nothing is left out, and it works outside the repository."""

import configparser
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.project_modules import PACKAGES, ROOT, module_paths

LEFT_BEHIND = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "htmlcov", "*.pyc")

PROBE = """
import pathlib, sys
import imp2tf, imp2tf.converters
for module in (imp2tf, imp2tf.converters):
    assert sys.prefix in module.__file__, module.__file__
assert pathlib.Path(imp2tf.__file__).with_name("py.typed").exists()
"""


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command; when it fails, the test fails with all that it said."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}", pytrace=False)


def not_sources(folder: str, names: list[str]) -> set[str]:
    """What a copy of the sources leaves out: hidden, built and cached files, and virtual environments."""
    environments = {name for name in names if Path(folder, name, "pyvenv.cfg").exists()}
    return environments | LEFT_BEHIND(folder, names)


def missing_build_tool() -> str | None:
    """Why nothing can be built here without the network, or None."""
    for name in ("build", "setuptools"):
        if not importlib.util.find_spec(name):
            return f"the package {name} is not installed"
    required = re.search(r"setuptools>=(\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    installed = importlib.metadata.version("setuptools")
    if required and int(installed.split(".")[0]) < int(required[1]):
        return f"setuptools {installed} is older than {required[1]}"
    return None


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel made from it, built in a copy of the sources."""
    reason = missing_build_tool()
    if reason:
        pytest.skip(f"{reason}; run: pip install -e '.[dev]'")
    sources = tmp_path_factory.mktemp("build") / "imp2tf"
    shutil.copytree(ROOT, sources, ignore=not_sources)
    run(sys.executable, "-m", "build", "--no-isolation", cwd=sources)
    return sources / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    """The one wheel that was built."""
    [path] = dist.glob("*.whl")
    return path


def test_setup_lists_every_folder_with_code() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    listed = set(settings["options"]["packages"].split())
    folders = {
        name if path.name == "__init__.py" else name.rpartition(".")[0]
        for name, path in module_paths().items()
    }
    assert listed == folders


@pytest.mark.slow
def test_wheel_holds_every_module(wheel: Path) -> None:
    expected = {"imp2tf/py.typed"}
    for package, folder in PACKAGES.items():
        expected |= {
            f"{package.replace('.', '/')}/{path.relative_to(folder)}"
            for path in module_paths().values()
            if path.is_relative_to(folder)
        }
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


@pytest.mark.slow
def test_sdist_holds_sources_and_tests(dist: Path) -> None:
    [path] = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {str(path.relative_to(ROOT)) for path in module_paths().values()}
    expected |= {"LICENSE", "README.md", "imp2tf/py.typed", "tests/conftest.py", "tests/test_packaging.py"}
    assert expected <= names


@pytest.mark.slow
def test_installed_wheel_is_imported_from_outside(wheel: Path, tmp_path: Path) -> None:
    # The dependencies are borrowed: a path file makes the running environment's packages visible.
    # Path files found there are not read, so an editable install of this checkout stays out of sight.
    home = tmp_path / "venv"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    [own_packages] = home.glob("lib/python*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("-packages")]
    (own_packages / "borrowed.pth").write_text("\n".join(borrowed))

    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)

    run(python, "-I", "-c", PROBE, cwd=tmp_path)
