"""What is logged: nothing unless asked for, each reason once."""
from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import logs
from imp2tf.logs import TOPICS

PROGRAM = """
import time
import imp2tf
import tensorflow as tf

@imp2tf.convert(profile_runs=0)
def sleeps(x):
    time.sleep(0)
    return x

@imp2tf.convert(profile_runs=0, reduce_retracing=False)
def times(x, k):
    return x * k

for k in range(4):
    sleeps(tf.constant(1.0))
    times(tf.constant(1.0), k % 2)
"""


def falls_back() -> None:
    imp2tf.convert(lambda x: open("/dev/null").close() or x, profile_runs=0)(tf.constant(1.0))


def logged(tmp_path: Path, topics: str) -> list[str]:
    """The lines of imp2tf that the program writes to the standard error stream."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], env={**os.environ, "IMP2TF_LOGS": topics}, capture_output=True, text=True,
                          check=True)
    assert done.stdout == ""
    return [line.replace(str(program), "program.py") for line in done.stderr.splitlines() if "imp2tf" in line]


def test_each_reason_is_said_once(tmp_path: Path) -> None:
    assert logged(tmp_path, "fallbacks, recompiles, grafs") == [
        f"imp2tf: IMP2TF_LOGS names 'grafs'; the topics are {', '.join(TOPICS)}",
        "imp2tf [fallbacks] sleeps: I2T101: time.sleep may have effects outside the graph [program.py:8, in sleeps] (hint: move the call "
        "out of the converted function, or use a TensorFlow operation instead)",
        "imp2tf [recompiles] times: traced again because k was 0, is 1",
    ]


def test_quiet_by_default(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(logs, "_asked", frozenset())
    with caplog.at_level(logging.INFO):
        falls_back()
    assert caplog.records == []


def test_what_a_graph_assumes_is_logged_if_asked_for(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(logs, "_asked", frozenset({"graph", "guards"}))
    imp2tf.convert(lambda x: x * 2.0, profile_runs=0, name="doubled")(tf.constant(1.0))
    first, *rest = [record.getMessage() for record in caplog.records]
    assert first.startswith("imp2tf [graph] ")
    assert any(line.endswith("x: tensor float32()") for line in rest)


def test_all_topics_are_there_for_the_logger_to_show(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "imp2tf"):
        falls_back()
        imp2tf.convert(lambda x: x, profile_runs=0)(tf.constant(1.0))
    assert {record.levelname for record in caplog.records} == {"DEBUG"}
    assert {record.getMessage().split()[1] for record in caplog.records} == {"[fallbacks]", "[graph]", "[guards]"}
