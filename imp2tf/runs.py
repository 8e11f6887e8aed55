"""What a graph and its calls share while it runs."""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from imp2tf import calls
from imp2tf.containers import concatenated, detached, grow
from imp2tf.elements import check_uses
from imp2tf.exceptions import StopRun, located
from imp2tf.growable_items import item_of
from imp2tf.iterables import each
from imp2tf.operations import compare_operation
from imp2tf.state_lists import extended, listed
from imp2tf.tracebacks import Frame, without_own_frames
from imp2tf.values import Growable

__all__ = ["COUNTS_PRINTS", "Run"]

COUNTS_PRINTS = "count_of_prints"  # the name of the operations that count what ``tf.print`` has printed


class Run:
    """What one graph and its calls share: the arguments of the call that runs, and what host calls leave behind.

    `embedded` graphs are run by somebody else, who is told what a host call raises by TensorFlow.
    """

    def __init__(self, embedded: bool = False) -> None:
        self.embedded = embedded
        self.args: Sequence[Any] = ()
        self.error: BaseException | None = None
        self.commit: list[tuple[Any, Any]] = []
        self.results: list[Any] = []
        self.history: list[tuple[Any, Any]] = []  # the calls of Python so far, and what they returned
        self.counter: tf.Variable | None = None  # of what ``tf.print`` has printed
        self.count_host_call: Callable[[], object] = lambda: None
        self.lock = threading.RLock()

    @contextlib.contextmanager
    def of(self, args: Sequence[Any]) -> Iterator[None]:
        """A trace or run with these arguments; afterwards nothing of it is kept, and one that it interrupted goes on."""
        before = self.args, self.error, self.commit, self.results, self.history
        self.args, self.error, self.commit, self.results, self.history = args, None, [], [], []
        try:
            yield
        finally:
            self.args, self.error, self.commit, self.results, self.history = before

    def count_print(self) -> None:
        """Let the graph count what ``tf.print`` has printed: if an operation fails later, Python must not print it again."""
        if self.embedded:
            return
        if self.counter is None:
            with tf.init_scope():
                self.counter = tf.Variable(0, trainable=False, dtype=tf.int64)
        tf.raw_ops.AssignAddVariableOp(resource=self.counter.handle, value=tf.constant(1, tf.int64), name=COUNTS_PRINTS)

    @contextlib.contextmanager
    def stopping(self, frames: list[Frame], written: Callable[[], list[tuple[Any, Any]]]) -> Iterator[None]:
        """Inside, an exception of a host call ends the run; the dispatcher then raises it as if from the user's lines.

        What the call had written to the heap by then is committed first.
        """
        try:
            yield
        except BaseException as error:
            if self.embedded:
                raise
            self.commit = written()
            inside = without_own_frames(error.__traceback__)
            self.error = located(error, frames).with_traceback(inside)
            raise StopRun from None

    def keep(self, result: Any) -> int:
        """Keep what a host call returned until the run has ended; its number."""
        self.results.append(result)
        return len(self.results) - 1

    def kept(self, number: int) -> Any:
        """The value that a host call returned, by its number."""
        return self.results[number]

    call = staticmethod(calls.call)
    listed = staticmethod(listed)
    extended = staticmethod(extended)
    each = staticmethod(each)
    check_uses = staticmethod(check_uses)
    detached = staticmethod(detached)
    equal = staticmethod(functools.partial(compare_operation, "=="))

    @staticmethod
    def last(items: list[Any] | Growable, limit: int) -> Any:
        """The last elements, as many as a deque of that greatest length keeps."""
        if isinstance(items, Growable):
            return item_of(items, slice(-limit, None) if limit else slice(0, 0))
        return items[max(0, len(items) - limit):]

    @staticmethod
    def prepend(items: list[Any] | Growable, tail: Growable) -> Growable:
        """The elements of a list followed by those of a growable one."""
        if isinstance(items, Growable):
            return concatenated(items, tail)
        return concatenated(grow(items), tail) if items else tail
