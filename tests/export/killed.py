"""Saves a second model over a first one and is killed at a point of that: run by test_replacing.py.

    python killed.py folder

One process imports TensorFlow and forks children, which do all that starts its runtime. The first child saves the first model, which
is copied for each of the others. The second counts the steps of a save that touch files. The rest kill themselves at ten of these
steps; the model of the last but one is named first, and so on.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

import tensorflow as tf

import imp2tf
from imp2tf import export, export_files


class Steps:
    """Counts the steps of a save, and kills the process at one of them."""

    def __init__(self, last):
        self.count, self.last = 0, last

    def before(self, function):
        """`function`, with a step before it."""

        def stepped(*args, **kwargs):
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
            return function(*args, **kwargs)

        return stepped


def save(path, value):
    """A model that returns `value`."""
    variable = tf.Variable([value] * 1000)
    imp2tf.save(lambda x: x * variable[0], path, signatures=[tf.TensorSpec([])])


def counted(path, last):
    """Save the second model, and be killed at one of the steps; the number of steps."""
    steps = Steps(last)
    for name in ("_flush_file", "_put", "_sweep", "_exchanged"):
        setattr(export_files, name, steps.before(getattr(export_files, name)))
    export_files.shutil = type("shutil", (), {"rmtree": staticmethod(steps.before(shutil.rmtree))})
    export._write_notes = steps.before(export._write_notes)
    save(path, 2.0)
    return steps.count


def forked(function, *args):
    """Run a function in a child; its exit status, the number it returned."""
    process = os.fork()
    if process == 0:
        os._exit(function(*args) or 0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def main(folder):
    """A child for each of ten points."""
    forked(save, Path(folder, "first"), 1.0)
    shutil.copytree(Path(folder, "first"), Path(folder, "counted"))
    steps = forked(counted, Path(folder, "counted"), -1)
    for number, point in enumerate([0, 1, 2, steps // 3, steps // 2, *range(steps - 5, steps)]):
        path = Path(folder, f"model_{number}")
        shutil.copytree(Path(folder, "first"), path)
        assert forked(counted, path, point) == -signal.SIGKILL


if __name__ == "__main__":
    main(*sys.argv[1:])
