"""Converted code and profiles on disk: a second process starts with them, and reads nothing that it cannot trust."""

import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from imp2tf import disk_cache, kept_profiles
from imp2tf.disk_cache import DiskCache, code_key
from imp2tf.results import ANYTHING, Array, join_kinds, kind_of
from tests.project_modules import ROOT

PROGRAM = """
import zlib
import tensorflow as tf

FACTOR = 2.0


def helper(x):
    for _ in range(3):
        if tf.reduce_sum(x) > 0:
            x = x - FACTOR
    return x


def lookup(n):
    return zlib.crc32(bytes(n)) % 7 / 7


def step(x, n):
    print("step", n)
    return helper(x) * tf.constant(lookup(n), tf.float32)
"""

MAIN = """
import os, sys
import imp2tf, program
from imp2tf import conversion, profile
import tensorflow as tf

made = []
for module in (conversion, profile):
    read = module.read
    module.read = lambda function, read=read: made.append(function.__name__) or read(function)
step = imp2tf.convert(program.step)
for n in range(3):
    print(step(tf.constant([1.0 + n, 2.0]), n).numpy().tolist())
found = step.stats()
print("read:", sorted(set(made)), "eager calls:", found["eager_calls"], "source:", len(step.source()) > 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "kept"))
    disk_cache._opened.cache_clear()
    yield tmp_path / "kept"
    disk_cache._opened.cache_clear()


def opened() -> DiskCache:
    cache = disk_cache.disk_cache()
    assert cache is not None
    return cache


def run_program(tmp_path: Path, program: str = PROGRAM, **environment: str) -> list[str]:
    (tmp_path / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
    (tmp_path / "main.py").write_text(MAIN, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IMP2TF_CACHE_DIR": str(tmp_path / "kept"), "TF_CPP_MIN_LOG_LEVEL": "3",
                   "PYTHONDONTWRITEBYTECODE": "1", **environment}
    ended = subprocess.run([sys.executable, str(tmp_path / "main.py")], env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_nothing_is_kept_unless_it_is_asked_for(monkeypatch):
    monkeypatch.delenv(disk_cache.VARIABLE, raising=False)
    assert disk_cache.disk_cache() is None


def test_what_was_saved_is_found(folder):
    opened().save("code", "a", b"content")
    disk_cache._opened.cache_clear()
    assert opened().load("code", "a") == b"content"
    assert opened().load("code", "b") is None
    assert opened().load("profile", "a") is None


@pytest.mark.parametrize("damage", [
    lambda b: b"", lambda b: b[:-1], lambda b: b[:-1] + bytes([b[-1] ^ 1]), lambda b: bytes([b[0] ^ 1]) + b[1:], lambda b: b + b"x",
])
def test_a_damaged_entry_is_not_read(folder, damage):
    opened().save("code", "a", b"content")
    (entry,) = folder.glob("*.code")
    entry.write_bytes(damage(entry.read_bytes()))
    assert opened().load("code", "a") is None


def test_an_entry_in_the_place_of_another_is_not_read(folder):
    opened().save("code", "a", b"one")
    (one,) = folder.glob("*.code")
    opened().save("code", "b", b"other")
    (other,) = set(folder.glob("*.code")) - {one}
    one.write_bytes(other.read_bytes())
    assert opened().load("code", "a") is None


def test_an_entry_signed_with_another_key_is_not_read(folder):
    opened().save("code", "a", b"content")
    (folder / disk_cache.KEY_FILE).chmod(0o600)
    (folder / disk_cache.KEY_FILE).write_bytes(b"k" * disk_cache.SIGNATURE)
    disk_cache._opened.cache_clear()
    assert opened().load("code", "a") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_not_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    assert disk_cache.disk_cache() is None


def test_a_key_that_others_may_write_is_not_used(folder):
    opened()
    (folder / disk_cache.KEY_FILE).chmod(0o666)
    disk_cache._opened.cache_clear()
    assert disk_cache.disk_cache() is None


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "file" / "kept"))
    assert disk_cache.disk_cache() is None


def test_a_folder_that_cannot_be_written_any_more_is_no_error(folder):
    cache = opened()
    (folder / disk_cache.KEY_FILE).unlink()
    folder.rmdir()
    cache.save("code", "a", b"content")
    assert cache.load("code", "a") is None


def test_other_versions_find_nothing(folder, monkeypatch):
    opened().save("code", "a", b"content")
    monkeypatch.setattr(disk_cache, "_made_by", lambda: "another Python")
    assert opened().load("code", "a") is None


def test_the_folder_does_not_grow_for_ever(folder, monkeypatch):
    monkeypatch.setattr(disk_cache, "MOST_ENTRIES", 10)
    for i in range(12):
        opened().save("code", str(i), b"content")
    disk_cache._opened.cache_clear()
    assert opened().load("code", "11") is not None or len(list(folder.glob("*.code"))) == 6
    assert (folder / disk_cache.KEY_FILE).exists()


def test_functions_on_one_line_are_told_apart():
    pair = lambda x: x * 2, lambda x: x * 3  # noqa: E731
    assert code_key(pair[0]) != code_key(pair[1])


def test_a_function_without_text_has_no_key():
    space: dict[str, object] = {}
    exec("def f(x): return x", space)
    assert code_key(space["f"]) is None  # type: ignore[arg-type]


def test_a_second_process_converts_nothing_and_is_not_watched(tmp_path):
    first, second = run_program(tmp_path), run_program(tmp_path)
    assert first[:-1] == second[:-1]
    assert first[-1] == "read: ['helper', 'lookup', 'step'] eager calls: 1 source: True"
    assert second[-1] == "read: [] eager calls: 0 source: True"


def test_a_changed_program_is_converted_anew(tmp_path):
    before = run_program(tmp_path)
    changed = run_program(tmp_path, PROGRAM.replace("x = x - FACTOR", "x = x + FACTOR"))
    assert changed[-1] == "read: ['helper', 'lookup', 'step'] eager calls: 1 source: True"
    assert before[:-1] != changed[:-1]


def test_a_folder_that_others_may_write_changes_nothing(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o777)
    assert run_program(tmp_path)[-1] == "read: ['helper', 'lookup', 'step'] eager calls: 1 source: True"
    assert not list((tmp_path / "kept").iterdir())


KINDS = [kind_of(one, fresh=True) for one in (None, 1, 1.5, True, tf.ones([2]), (1, [tf.constant("a"), None]), np.ones(3), np.float32(1))]
KINDS += [ANYTHING, Array(tf.float32, 1), join_kinds(kind_of(1), kind_of(None))]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_kinds_of_results_are_kept(kind):
    written = json.loads(json.dumps(kept_profiles._written(kind)))
    assert kept_profiles._read(written) == kind
    assert type(kept_profiles._read(written)) is type(kind)


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize("value", [Pair(1, 2), random.Random(1), (1, Pair(1, 2))], ids=["pair", "generator", "pair in a tuple"])
def test_kinds_that_name_a_class_of_the_program_are_not_kept(value):
    assert kept_profiles._written(kind_of(value)) is None
