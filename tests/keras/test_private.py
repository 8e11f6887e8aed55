"""What imp2tf needs of Keras is there; where it is not, wrapped models run as plain Python."""

import json
import subprocess
import sys

from imp2tf.keras import private


def test_all_private_names_are_there() -> None:
    assert private.self_test() == []


def test_imp2tf_does_not_import_keras() -> None:
    """TensorFlow itself does, in some versions: nothing is added to that."""
    code = ("import sys, tensorflow; before = set(sys.modules); import imp2tf\n"
            "print(sum(name.startswith('keras') for name in set(sys.modules) - before))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "0"


def test_a_version_that_is_not_known() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.keras.unknown_version"], capture_output=True, text=True, timeout=240, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["losses"][1] < found["losses"][0]
    assert (found["opened"], found["wrapped"], found["unwrapped"]) == (4, True, True)
    assert "TensorFlowTrainer" in found["stats"]["train"]["fallbacks"][0]["reason"]
