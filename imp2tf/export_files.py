"""A folder that is there whole, old or new, whenever somebody looks: also after a crash.

    with replacing(path) as work:      # a temporary folder beside `path`
        ...                            # write into it
                                       # it takes the place of `path`, in one step where the system can do that

Linux exchanges two folders in one step. Elsewhere two renames do it, with a moment in between at which the model has no name;
the next save to the same path puts it back if nothing took its place. What a process that was killed left behind is swept by
the next save: a temporary folder is locked as long as its process lives.
"""
from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing"]

AT_FDCWD, RENAME_EXCHANGE = -100, 2
NEW, OLD = ".saving-", ".replaced-"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder that takes the place of `path` unless an exception leaves the block."""
    target = Path(os.path.abspath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a file stands where a model is to be saved", str(target))
    _sweep(target)
    work = target.parent / f".{target.name}{NEW}{secrets.token_hex(6)}"
    work.mkdir()
    with _locked(work):
        try:
            yield work
            _flush(work)
            _put(work, target)
            _flush_folder(target.parent)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _put(work: Path, target: Path) -> None:
    if not target.exists():
        os.rename(work, target)
    elif not _exchanged(work, target):
        aside = target.parent / f".{target.name}{OLD}{secrets.token_hex(6)}"
        os.rename(target, aside)
        os.rename(work, target)
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(a: Path, b: Path) -> bool:
    """Whether two folders could change places in one step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an old C library
        return False
    return bool(rename(AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), RENAME_EXCHANGE) == 0)


# ------------------------------------------------------------------------------------------------ to the disk
def _flush(folder: Path) -> None:
    """Flush everything in a folder to the disk, so that it is there before anybody can see it."""
    for place, _, files in os.walk(folder):
        for name in files:
            _flush_file(Path(place, name))
        _flush_folder(Path(place))


def _flush_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: Path) -> None:
    with contextlib.suppress(OSError):  # some systems do not open folders
        _flush_file(path)


# ------------------------------------------------------------------------------------------------ what was left behind
@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder that is in use; returns whether nobody else holds it. The lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # no such locks here: nothing is swept
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except OSError:
            free = False
        yield free
    finally:
        os.close(handle)


def _sweep(target: Path) -> None:
    """Remove what dead processes left when they saved to `target`, and put back a model that lost its name."""
    aside = sorted(target.parent.glob(f".{_escaped(target.name)}{OLD}*"), key=os.path.getmtime)
    if aside and not target.exists():
        os.rename(aside.pop(), target)
    for folder in [*aside, *target.parent.glob(f".{_escaped(target.name)}{NEW}*")]:
        with contextlib.suppress(FileNotFoundError), _locked(folder) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)


def _escaped(name: str) -> str:
    """A name as a pattern that fits nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
