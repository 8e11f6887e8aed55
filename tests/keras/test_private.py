"""What imp2tf needs of Keras is there."""

import subprocess
import sys

from imp2tf.keras import private


def test_all_private_names_are_there() -> None:
    assert private.self_test() == []


def test_imp2tf_does_not_import_keras() -> None:
    code = "import sys, imp2tf; print(any(name == 'keras' or name.startswith('keras.') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "False"
