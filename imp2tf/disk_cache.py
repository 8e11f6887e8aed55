"""What one process may leave on disk for the next: ``IMP2TF_CACHE_DIR`` names the folder, without it nothing is kept.

Converted code is code: whoever can write the folder can run what they like. So a folder is used only if it belongs to the user and
nobody else may write it, and each entry is signed with a key that lies in the folder, readable by the user alone. An entry that is
damaged, unsigned, or made by other versions of Python, imp2tf or gast is not read; it is made again.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import importlib.util
import linecache
import marshal
import os
import secrets
import stat
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gast

from imp2tf.logs import log

__all__ = ["DiskCache", "code_key", "disk_cache", "kept_or_made", "text_digest"]

VARIABLE = "IMP2TF_CACHE_DIR"
MOST_ENTRIES = 8192  # beyond this, the older half goes
SIGNATURE = hashlib.sha256().digest_size
KEY_FILE = "key"
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class DiskCache:
    """A folder of signed entries, each found by a kind and a key."""

    def __init__(self, folder: Path, secret: bytes) -> None:
        self.folder = folder
        self._secret = secret
        self._saved: dict[Path, bytes] = {}  # signatures of what this process has written

    def load(self, kind: str, key: str) -> bytes | None:
        """The content that was saved under a kind and a key; None if there is none that can be trusted."""
        path = self._path(kind, key)
        try:
            found = path.read_bytes()
        except OSError:
            return None
        signature, content = found[:SIGNATURE], found[SIGNATURE:]
        if not hmac.compare_digest(signature, self._signature(path, content)):
            log("cache", "%s is damaged or was not written by imp2tf: it is made again", path)
            return None
        return content

    def save(self, kind: str, key: str, content: bytes) -> None:
        """Keep an entry, whole or not at all; a folder that cannot be written is no error."""
        path = self._path(kind, key)
        signature = self._signature(path, content)
        if self._saved.get(path) == signature:
            return
        self._saved[path] = signature
        try:
            handle, name = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(signature + content)
            os.replace(name, path)
        except OSError as error:
            log("cache", "%s cannot be written: %s", path, error)

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(f'{_made_by()} {key}'.encode()).hexdigest()}.{kind}"

    def _signature(self, path: Path, content: bytes) -> bytes:
        return hmac.digest(self._secret, path.name.encode() + b"\0" + content, "sha256")

    def discard_old(self) -> None:
        """Remove old entries, so that the folder does not grow for ever."""
        with os.scandir(self.folder) as entries:
            ages = sorted((entry.stat().st_mtime, entry.path) for entry in entries if entry.name != KEY_FILE and entry.is_file())
        if len(ages) > MOST_ENTRIES:
            for _, path in ages[: len(ages) // 2]:
                with contextlib.suppress(FileNotFoundError):  # another process was faster
                    os.unlink(path)


def disk_cache() -> DiskCache | None:
    """The cache that the environment asks for, if it may be used."""
    folder = os.environ.get(VARIABLE)
    return _opened(folder) if folder else None


@functools.lru_cache(maxsize=8)
def _opened(name: str) -> DiskCache | None:
    folder = Path(name).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        refused = _why_not(folder)
        if refused:
            log("cache", "%s is not used: %s", folder, refused)
            return None
        cache = DiskCache(folder, _secret(folder / KEY_FILE))
        cache.discard_old()
    except (OSError, ValueError) as error:
        log("cache", "%s is not used: %s", folder, error)
        return None
    return cache


def _why_not(path: Path) -> str:
    """Why a file or folder cannot be trusted; empty if it can, and where the system has no owners of files."""
    if not hasattr(os, "getuid"):
        return ""
    found = path.stat()
    if found.st_uid != os.getuid():
        return "it belongs to another user"
    return "others may write it" if found.st_mode & OTHERS_MAY_WRITE else ""


def _secret(path: Path) -> bytes:
    """The key of a folder; the first process makes it."""
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=path.parent)  # for the user only
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(SIGNATURE))
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(name, path)
        os.unlink(name)
    refused, found = _why_not(path), path.read_bytes()
    if refused or len(found) != SIGNATURE:
        raise ValueError(f"its file {path.name!r} cannot be trusted: {refused or 'it is damaged'}")
    return found


@functools.lru_cache(maxsize=1)
def _made_by() -> str:
    """What decides how code is converted: the versions, and the very files of imp2tf, which a developer changes."""
    folders = {Path(__file__).parent, *map(Path, _converters_folder())}
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    stamps = [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    return repr((sys.version, importlib.util.MAGIC_NUMBER, gast.__file__, Path(gast.__file__).stat().st_mtime_ns, stamps))


def _converters_folder() -> list[str]:
    spec = importlib.util.find_spec("imp2tf.converters")
    return list(spec.submodule_search_locations or ()) if spec is not None else []


_digests: dict[str, tuple[list[str], str]] = {}


def text_digest(filename: str, module_globals: dict[str, object] | None = None) -> str | None:
    """A digest of the text of a file as it is now; None if there is none."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        return None
    known = _digests.get(filename)
    if known is None or known[0] is not lines:
        known = _digests[filename] = lines, hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
    return known[1]


def kept_or_made(kind: str, function: types.FunctionType, make: Callable[[types.FunctionType], Any]) -> Any:
    """What `make` makes of a function's code, from disk if an earlier process has left it there; None is not kept.

    It may consist of whatever `marshal` writes: code objects, and plain values.
    """
    cache = disk_cache()
    key = code_key(function) if cache is not None else None
    if cache is None or key is None:
        return make(function)
    kept = cache.load(kind, key)
    if kept is not None:
        return marshal.loads(kept)
    made = make(function)
    if made is not None:
        cache.save(kind, key, marshal.dumps(made))
    return made


def code_key(function: types.FunctionType) -> str | None:
    """A key that identifies the code of a function together with the text of its file; None if there is no text."""
    code = function.__code__
    text = text_digest(code.co_filename, function.__globals__)
    if text is None:
        return None
    return repr((code.co_filename, text, function.__qualname__, _described(code)))


def _described(code: types.CodeType) -> tuple[object, ...]:
    """A description that tells a code object from others on the same line of the same text."""
    constants = [_described(one) if isinstance(one, types.CodeType) else (type(one), one) for one in code.co_consts]
    compiled = hashlib.sha256(code.co_code + b"\0" + code.co_linetable).hexdigest()
    return code.co_name, code.co_firstlineno, code.co_flags, code.co_freevars, code.co_names, code.co_varnames, compiled, constants
