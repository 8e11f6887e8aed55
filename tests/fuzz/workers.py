"""A child process that runs programs: graphs that hang cannot be interrupted, but a process can be killed."""
from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.outcome import Outcome
from tests.fuzz.programs import Program
from tests.harness.comparison import Difference

TIME_LIMIT = 240.0          # for one program, both worlds: more than their own limits
START_LIMIT = 120.0
PROGRAMS_PER_PROCESS = 150    # then a new one, so that memory stays bounded
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0", "KERAS_BACKEND": "tensorflow"}


def _serve(pipe: Connection, convert_kw: Mapping[str, Any]) -> None:
    """The child's loop: a program in, its outcome out."""
    import tensorflow as tf  # here: the parent has no need of it

    from tests.fuzz import running
    tf.get_logger().setLevel("ERROR")
    warnings.simplefilter("ignore", SyntaxWarning)    # of what no person would write
    gc.collect()
    gc.freeze()    # TensorFlow's objects stay: looking through them after each program takes longer than most programs
    pipe.send("ready")
    with tempfile.TemporaryDirectory(prefix="fuzz_") as folder:
        while (program := pipe.recv()) is not None:
            pipe.send(running.run_program(program, Path(folder), convert_kw))


class Worker:
    """Runs programs one after the other in a child process, which is replaced if one hangs or crashes it."""

    def __init__(self, convert_kw: Mapping[str, Any]) -> None:
        self.convert_kw = convert_kw
        self.process: multiprocessing.process.BaseProcess | None = None
        self.left = 0

    def run(self, program: Program) -> Outcome:
        """The `Outcome` of a program; hangs and crashes are differences as well."""
        if self.process is None or not self.left:
            self._start()
        self.left -= 1
        try:
            self.pipe.send(program)
            if self.pipe.poll(TIME_LIMIT):
                return self.pipe.recv()
            found = Difference("hang", "the whole program", "came to its end", f"not done after {TIME_LIMIT:.0f} s")
        except (EOFError, BrokenPipeError, ConnectionResetError):
            found = Difference("crash", "the whole program", "came to its end", "the process died")
        self.close()
        return Outcome((found,), kinds=frozenset([found.aspect]))

    def _start(self) -> None:
        self.close()
        os.environ.update(QUIET)    # the child inherits it, and TensorFlow reads it when it is loaded
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.convert_kw), daemon=True)
        self.process.start()
        other.close()
        if not self.pipe.poll(START_LIMIT):
            raise RuntimeError("the child process did not start")
        self.pipe.recv()
        self.left = PROGRAMS_PER_PROCESS

    def close(self) -> None:
        """End the child process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None
