"""Converted steps under the strategies of `tf.distribute`: as plain Python steps, and as graphs."""

import json
import re
import subprocess
import sys

import pytest

from tests.distribution import mirrored, servers
from tests.project_modules import ROOT

SECONDS = 240
BLOCK = re.compile(r"^BEGIN (\w+) (\w+)\n(.*?)\n?^END (.*?)$", re.MULTILINE | re.DOTALL)
RARELY_EAGER = {"update_under_a_tensor_if"}  # replicas cannot meet in a branch of a graph, which one of three calls enters


def python(*arguments):
    """A process of this project's tests."""
    return subprocess.Popen([sys.executable, "-m", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def output_of(process):
    """What a process prints; it is ended if it does not end by itself."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, err[-3000:]
    return out


@pytest.fixture(scope="module")
def mirrored_runs():
    found = {}
    for name, way, text, result in BLOCK.findall(output_of(python("tests.distribution.mirrored"))):
        found[name, way] = [text, *json.loads(result)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["outside", "inside"])
@pytest.mark.parametrize("name", mirrored.PROGRAMS)
def test_under_a_mirrored_strategy(name, way, mirrored_runs):
    text, found, stats = mirrored_runs[name, way]
    expected_text, expected, _ = mirrored_runs[name, "plain"]
    assert found == expected
    assert text == expected_text
    if name in RARELY_EAGER:
        assert (stats["eager_calls"], [one["code"] for one in stats["fallbacks"]]) == (1, ["I2T117"])
    else:
        assert (stats["graph_calls"], stats["fallbacks"]) == (3, [])


@pytest.mark.slow
def test_several_workers():
    addresses = ",".join(f"127.0.0.1:{port}" for port in servers.free_ports(2))
    processes = [python("tests.distribution.servers", "worker", addresses, str(number)) for number in range(2)]
    try:
        found = [json.loads(output_of(one).splitlines()[-1]) for one in processes]
    finally:
        for one in processes:
            one.kill()
    for worker in found:
        for way in ("outside", "inside"):
            assert worker[way]["losses"] == pytest.approx(worker["plain"]["losses"])
            assert worker[way]["w"] == pytest.approx(worker["plain"]["w"])
            assert worker[way]["log"] == 3
            assert worker[way]["stats"]["graph_calls"] == 3
    weight = 2.0
    for turn in range(3):
        weight -= 0.01 * sum(gradient(weight, float(number + turn)) for number in range(2))
    assert [worker["plain"]["w"] for worker in found] == pytest.approx([weight, weight])


def gradient(weight, shift):
    """What a worker adds to the gradient, by hand."""
    rows = [(1.0 + shift, 1.0), (2.0 + shift, 0.0)]
    loss = sum((x * weight - y) ** 2 for x, y in rows)
    return sum(2 * (x * weight - y) * x for x, y in rows) * (0.5 if loss > 10.0 else 1.0)


@pytest.mark.slow
def test_a_coordinator_and_a_parameter_server():
    found = json.loads(output_of(python("tests.distribution.servers", "coordinator")).splitlines()[-1])
    steps = [0.0, 1.0, 2.0, 3.0, 2.0, 2.5]
    assert found["results"] == steps * 2
    assert found["w"] == 10.0 - 2 * sum(steps)
    assert (found["counting"], found["printing"], found["n"]) == ("I2T101", "I2T101", 0)
    assert (found["raising"], found["traced"]) == (True, 1)


@pytest.mark.slow
def test_the_benchmark_runs():
    text = output_of(python("benchmarks.distribution", "--quick"))
    assert "as tf.function" in text and "efficiency" in text
