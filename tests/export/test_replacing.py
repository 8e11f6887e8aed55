"""A model is replaced in one step, whatever happens meanwhile."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import export_files
from imp2tf.export_files import replacing

POINTS = 10
ROOT = Path(__file__).resolve().parents[2]


def contents(path):
    return {one.name: one.read_text() for one in path.iterdir()}


def write(path, text):
    with replacing(path) as work:
        (work / "a").write_text(text)


def test_new_then_replaced(tmp_path):
    write(tmp_path / "m", "one")
    write(tmp_path / "m", "two")
    assert contents(tmp_path / "m") == {"a": "two"}
    assert os.listdir(tmp_path) == ["m"]


def test_an_error_leaves_the_old(tmp_path):
    write(tmp_path / "m", "one")
    with pytest.raises(RuntimeError), replacing(tmp_path / "m") as work:
        (work / "a").write_text("two")
        raise RuntimeError
    assert contents(tmp_path / "m") == {"a": "one"}
    assert os.listdir(tmp_path) == ["m"]


def test_two_renames_where_folders_cannot_be_exchanged(tmp_path, monkeypatch):
    monkeypatch.setattr(export_files, "_exchanged", lambda a, b: False)
    write(tmp_path / "m", "one")
    write(tmp_path / "m", "two")
    assert contents(tmp_path / "m") == {"a": "two"}
    assert os.listdir(tmp_path) == ["m"]


def test_what_a_killed_process_left_is_swept_and_put_back(tmp_path):
    write(tmp_path / "m", "one")
    os.rename(tmp_path / "m", tmp_path / ".m.replaced-x")
    (tmp_path / ".m.saving-y").mkdir()
    (tmp_path / ".mm.saving-y").mkdir()
    with pytest.raises(RuntimeError), replacing(tmp_path / "m"):
        raise RuntimeError
    assert contents(tmp_path / "m") == {"a": "one"}
    assert sorted(os.listdir(tmp_path)) == [".mm.saving-y", "m"]


def test_a_save_that_runs_is_not_swept(tmp_path):
    with replacing(tmp_path / "m") as work:
        (work / "a").write_text("slow")
        write(tmp_path / "m", "quick")
        assert contents(work) == {"a": "slow"}
    assert contents(tmp_path / "m") == {"a": "slow"}
    assert os.listdir(tmp_path) == ["m"]


def test_many_threads(tmp_path):
    threads = [threading.Thread(target=write, args=(tmp_path / "m", str(i))) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert contents(tmp_path / "m")["a"] in map(str, range(8))


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "m").write_text("a file")
    with pytest.raises(NotADirectoryError):
        write(tmp_path / "m", "one")
    assert (tmp_path / "m").read_text() == "a file"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="folders are exchanged on Linux only")
def test_killed_while_saving(tmp_path):
    """After a kill -9 at any point, the old or the new model is there, whole; the next save leaves nothing else."""
    command = [sys.executable, str(Path(__file__).with_name("killed.py")), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [float(tf.saved_model.load(str(tmp_path / f"model_{point}"))(tf.constant(1.0))) for point in range(POINTS)]
    assert set(found) == {1.0, 2.0}
    assert found == sorted(found)
    assert any(name.startswith(".model_4.saving-") for name in os.listdir(tmp_path))
    imp2tf.save(lambda x: x, tmp_path / "model_4", signatures=[tf.TensorSpec([])])
    assert not any(name.startswith(".model_4.") for name in os.listdir(tmp_path))
