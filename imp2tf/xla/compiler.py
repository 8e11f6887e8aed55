"""Compiling by XLA beside the program, which goes on meanwhile.

A thread makes the twin of a graph, computes its core from the inputs of a call with and without XLA, on copies of the variables, and
compares. The program's state is not touched, and the first call of the twin finds everything compiled. One graph is compiled at a time.
"""
from __future__ import annotations

import atexit
import collections
import contextlib
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.logs import log
from imp2tf.options import Options
from imp2tf.tf_compat import FuncGraph, copied_variable, copy_handle_data, is_deterministic
from imp2tf.trials import COMPILING_SHARE
from imp2tf.xla.repeats import weight_of_turns
from imp2tf.xla.rules import weight_of
from imp2tf.xla.twin import MISSED, twin_of

__all__ = ["Compiler", "may_compile"]

MOST_TWINS = 200  # in one process: TensorFlow never frees what was compiled
MOST_SHAPES = 4  # of the inputs of one graph: XLA compiles for each combination
MOST_BYTES = 1 << 29  # of variables: the thread works on copies of them
FIXED = 0.2  # seconds that compiling takes even for a small graph
TOLERANCE = {tf.float64: 1e-6, tf.float32: 1e-3}
PRIORITY = 5  # the niceness of the thread: the program's own threads come first
Shapes = tuple[Any, ...]


def may_compile(options: Options) -> bool:
    """Whether graphs may be compiled that are made now: imp2tf is to choose, there are no devices or replicas to choose for, and
    nobody has asked for the same digits in every call."""
    if options.jit_compile is not None or tf.distribute.has_strategy() or is_deterministic():
        return False
    return not tf.config.list_logical_devices("GPU")


class Compiler:
    """The compiled twin of one graph: asked for, made, ready or refused."""

    twins = 0  # how many were made in this process
    seconds_each = 8e-3  # the time to compile one operation, as measured so far
    _working = threading.Lock()

    def __init__(self, graph: FuncGraph) -> None:
        self.missed = MISSED
        self.function: Any = None  # once it is ready
        self.ended = False
        self.shapes: Shapes = ()  # the shapes that the twin is for, of those inputs whose shapes vary
        self.places = [i for i, one in enumerate(graph.inputs) if one.dtype != tf.resource and not one.shape.is_fully_defined()]
        self._graph = graph
        self._seen: collections.Counter[Shapes] = collections.Counter()
        self._weight = 0

    def predicted(self) -> float:
        """The predicted time to compile, in seconds."""
        if not self._weight:
            ops = [op for op in self._graph.get_operations() if weight_of(op)]
            self._weight = sum(map(weight_of, ops)) - weight_of_turns(ops)
        return FIXED + self.seconds_each * self._weight

    def shapes_of(self, inputs: Sequence[tf.Tensor]) -> Shapes:
        """The shapes of those inputs whose shapes vary."""
        return tuple(inputs[place]._shape_tuple() for place in self.places)

    def saw(self, inputs: Sequence[tf.Tensor]) -> None:
        """A call with these inputs was made."""
        if self.places:
            self._seen[self.shapes_of(inputs)] += 1
            if len(self._seen) > MOST_SHAPES:
                self._refuse(f"its inputs have more than {MOST_SHAPES} shapes")

    def start(self, inputs: Sequence[tf.Tensor]) -> None:
        """Begin, on what a call was given, unless another graph is being compiled or other shapes are more common."""
        if Compiler.twins >= MOST_TWINS:
            return self._refuse(f"{MOST_TWINS} graphs have been compiled")
        self.shapes = self.shapes_of(inputs)
        if self._seen and self._seen.most_common(1)[0][0] != self.shapes:
            return None
        if not Compiler._working.acquire(blocking=False):
            return None
        Compiler.twins += 1
        self._thread = threading.Thread(target=self._work, args=(list(inputs),), name="imp2tf XLA", daemon=True)
        _at_work.append(self._thread)
        return self._thread.start()

    @property
    def is_busy(self) -> bool:
        """Whether it has begun."""
        return hasattr(self, "_thread")

    def _refuse(self, reason: str) -> None:
        self.ended = True
        log("tiers", "%s is not compiled: %s", self._graph.name, reason)

    def _work(self, inputs: list[tf.Tensor]) -> None:
        started = time.monotonic()
        try:
            self._compile(inputs)
        except Exception as error:  # whatever it is, the graph runs without XLA
            self._refuse(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            self.ended = True
            Compiler._working.release()
            _at_work.remove(self._thread)
        if self.function is not None:
            seconds = time.monotonic() - started
            Compiler.seconds_each += 0.3 * (max(0.0, seconds - FIXED) / max(self._weight, 50) - Compiler.seconds_each)
            log("tiers", "%s is compiled, in %.1f s", self._graph.name, seconds)

    def _compile(self, inputs: list[tf.Tensor]) -> None:
        builder = twin_of(_with_shapes(self._graph, inputs) if self.places else self._graph)
        if builder is None:
            return self._refuse("too little of it may be computed by XLA")
        if not self._waited(builder.weight):
            return self._refuse("the program ends")
        twin = builder.twin()
        given = _results(twin.inputs, inputs)
        if sum(_size(given[place]) for place in twin.opaque) > MOST_BYTES:
            return self._refuse("its variables are too large to be copied")
        copies = {place: copied_variable(given[place]) for place in twin.opaque}
        given = [copies[place].handle if place in copies else one for place, one in enumerate(given)]
        with contextlib.suppress(AttributeError, OSError):  # from here on Python waits for nothing that this thread holds
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PRIORITY)
        expected, found = (_results(one, given) for one in (twin.plain, twin.compiled))
        differing = _difference(expected, found)
        if differing:
            return self._refuse(differing)
        self.function = twin.whole._inference_function
        return None


    def _waited(self, weight: int) -> bool:
        """Let the calls go on for their share of what compiling will take, where it is more than was predicted; whether there is time."""
        predicted = self.predicted()
        self._weight = weight
        more = COMPILING_SHARE * (self.predicted() - predicted)
        if more <= 0.0:
            return True
        Compiler._working.release()
        ends = _ending.wait(more)
        Compiler._working.acquire()
        return not ends


_at_work: list[threading.Thread] = []
_ending = threading.Event()


@atexit.register
def _finish() -> None:
    """At the end of the program, wait for the thread: TensorFlow must not be taken down while it compiles."""
    _ending.set()
    for thread in list(_at_work):
        thread.join()


def _results(concrete: Any, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
    """The flat results of a concrete function of flat tensors."""
    return list(concrete(*inputs))


def _size(handle: tf.Tensor) -> int:
    data = handle._handle_data.shape_and_type[0]
    return int(np.prod([one.size for one in data.shape.dim])) * tf.as_dtype(data.dtype).size


def _difference(expected: list[tf.Tensor], found: list[tf.Tensor]) -> str:
    """How results differ by more than rounding; the first tells whether all checks hold."""
    if not bool(found[0]):
        return "what XLA computes otherwise occurs in it"
    for one, other in zip(expected[1:], found[1:]):
        a, b = (np.asarray(tf.cast(x, tf.float32) if x.dtype in (tf.bfloat16, tf.float16) else x) for x in (one, other))
        if not one.dtype.is_floating:
            same = np.array_equal(a, b)
        else:
            scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
            tolerance = TOLERANCE.get(one.dtype, 5e-2)
            same = np.allclose(b, a, rtol=tolerance, atol=tolerance * float(scale), equal_nan=True)
        if not same:
            return f"its results would differ: {one.dtype.name}{one.shape}"
    return ""


def _with_shapes(graph: FuncGraph, inputs: Sequence[tf.Tensor]) -> FuncGraph:
    """The same operations for inputs of known shapes."""
    names = [one.name for one in graph.inputs]

    def same(*args: tf.Tensor) -> list[tf.Tensor]:
        for original, arg in zip(graph.inputs, args):
            if original.dtype == tf.resource:
                copy_handle_data(original, arg)
        definition = graph.as_graph_def(add_shapes=False)
        fed = {one.op.name for one in graph.inputs}
        kept = [node for node in definition.node if node.name not in fed]
        del definition.node[:]
        definition.node.extend(kept)
        read = {name.partition(":")[0] for node in kept for name in node.input}
        feeds = {name: arg for name, arg in zip(names, args) if name.partition(":")[0] in read}
        results = dict(zip(names, args))
        wanted = [one.name for one in graph.outputs if one.name not in results]
        results.update(zip(wanted, tf.graph_util.import_graph_def(definition, feeds, wanted, name="")))
        return [results[one.name] for one in graph.outputs]

    specs = [tf.TensorSpec([] if one.dtype == tf.resource else one.shape, one.dtype) for one in inputs]
    return tf.function(same, autograph=False).get_concrete_function(*specs).graph
