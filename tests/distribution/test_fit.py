"""`wrap(model).fit` under strategies: one graph for the step of all replicas, and what plain Python steps give."""

import json
import re

import numpy as np
import pytest

from tests.distribution import fitted, servers
from tests.distribution.test_distribution import SECONDS, output_of, python

BLOCK = re.compile(r"^BEGIN (\w+) (\w+)\n(.*?)\n?^END (.*?)$", re.MULTILINE | re.DOTALL)


def close(found, expected):
    """The same structure, numbers up to rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            close(found[key], expected[key])
    elif isinstance(expected, list) and expected and isinstance(expected[0], list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            close(*pair)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


@pytest.fixture(scope="module")
def fits():
    text = output_of(python("tests.distribution.fitted"))
    return {(name, way): (printed, json.loads(result)) for name, way, printed, result in BLOCK.findall(text)}


@pytest.mark.slow
@pytest.mark.parametrize("name", fitted.PROGRAMS)
def test_fit_on_two_devices(name, fits):
    (text, found), (expected_text, expected) = fits[name, "graph"], fits[name, "python"]
    stats, _ = found.pop("stats"), expected.pop("stats")
    close(found, expected)
    assert text == expected_text
    for kind, step in stats.items():
        assert (step["graph_calls"], step["fallbacks"]) == (step["calls"] - 1, []), kind


# ------------------------------------------------------------------------------------------------ several workers
def workers(model, *folder):
    """The processes of a job with two workers."""
    addresses = ",".join(f"127.0.0.1:{port}" for port in servers.free_ports(2))
    return [python("tests.distribution.workers", addresses, str(number), model, *folder) for number in range(2)]


def results(processes):
    """What workers print, if all end well."""
    try:
        return [json.loads(output_of(one).splitlines()[-1]) for one in processes]
    finally:
        for one in processes:
            one.kill()


@pytest.mark.slow
def test_fit_on_two_workers():
    single = json.loads(output_of(python("tests.distribution.workers", "none", "-1", "stock")).splitlines()[-1])
    for worker in results(workers("stock")):
        for what in ("history", "evaluated", "weights"):
            close(worker[what], single[what])
        assert [worker["stats"][kind]["graph_calls"] for kind in ("train", "test")] == [11, 2]


@pytest.mark.slow
def test_killed_worker_and_restored_state(tmp_path):
    expected = results(workers("gated"))
    assert expected[0]["history"] == expected[1]["history"]
    first = workers("gated", str(tmp_path))
    try:
        for one in first[::-1]:
            one.communicate(timeout=SECONDS)
    finally:
        for one in first:
            one.kill()
    assert (tmp_path / "killed").exists() and all(one.returncode for one in first)
    for restored, worker in zip(results(workers("gated", str(tmp_path))), expected, strict=True):
        close(restored["weights"], worker["weights"])
        close(restored["evaluated"], worker["evaluated"])
        assert len(restored["history"]["loss"]) == 2
        close(restored["history"], {name: values[2:] for name, values in worker["history"].items()})
