"""What is saved is served, in a process without imp2tf, as the program runs eagerly."""

import json
import math
import subprocess
import sys

import pytest
import tensorflow as tf

import imp2tf
from tests.export import loader
from tests.export.served import CASES


def call_of(made):
    """The program that the expressions call."""
    return made


def signed_eagerly(m, signature, **inputs):
    """What a signature returns, by plain Python: names as signatures give them."""
    name = signature if signature != "serving_default" else next(
        one for one in vars(type(m)) if isinstance(getattr(type(m), one), tf.types.experimental.PolymorphicFunction))
    result = getattr(m, name)(**inputs)
    return result if isinstance(result, dict) else {f"output_{i}": one for i, one in enumerate(result)}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Eager results, and those of the loaded models, by program."""
    folder = tmp_path_factory.mktemp("served")
    expected, request = {}, []
    for name, case in CASES.items():
        made = case.make()
        imp2tf.save(made, folder / name, signatures=case.signatures)
        eager = made.python_function if isinstance(made, imp2tf.ConvertedFunction) else made
        with imp2tf.set_stance("force_eager"):
            tf.config.run_functions_eagerly(True)
            try:
                expected[name] = [eagerly(one, eager, folder) for one in case.calls]
            finally:
                tf.config.run_functions_eagerly(False)
        request.append([name, str(folder / name), list(case.calls)])
    (folder / "request.json").write_text(json.dumps(request))
    command = [sys.executable, "-I", loader.__file__, str(folder / "request.json"), str(folder / "answers.json")]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return expected, json.loads((folder / "answers.json").read_text())


def eagerly(expression, m, folder):
    """An expression on the program itself."""
    names = {"m": m, "tf": tf, "Point": loader.Point, "gradients": loader.gradients, "signed": signed_eagerly}
    if "trainable_variables" in expression:
        return [True] * len(m.trainable_variables)
    return loader.plain(eval(expression, names))


def alike(a, b):
    """Whether two plain results are the same up to rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    return a == b


@pytest.mark.parametrize("name", CASES)
def test_served_as_eager(name, answers):
    expected, found = answers[0][name], answers[1][name]
    for call, want, got in zip(CASES[name].calls, expected, found, strict=True):
        assert alike(want, got.get("value")), f"{call}: {got} instead of {want}"
