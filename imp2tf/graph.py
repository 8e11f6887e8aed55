"""A traced function, ready to run: inputs in, one call of the runtime, results and writes out."""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.errors import (
    AssumptionFailed,
    Fallback,
    GraphRefused,
    Location,
    NeedsValue,
    UnexpectedResult,
    first_line,
)
from imp2tf.exceptions import raise_from_user_code
from imp2tf.guards import held_weakly
from imp2tf.inspection import draws_random_numbers, effects_of, nodes_of
from imp2tf.lifting import Fetch
from imp2tf.outside import Outside
from imp2tf.places import Place
from imp2tf.python_numbers import OVERFLOW, UNUSUAL_POWER
from imp2tf.recipes import Build, Recipe
from imp2tf.relaxations import Guard
from imp2tf.results import Raised
from imp2tf.runs import Run
from imp2tf.seed_stream import SEEDS_TO_COME, look_further_ahead
from imp2tf.taped import Taped
from imp2tf.tf_compat import switches
from imp2tf.undoing import Before, Remains, Undo, changes_only_variables, may_fail, undo_of

__all__ = ["CannotGoOn", "Graph", "OperationFailed", "Rehearsal", "refused_by_xla"]


class OperationFailed(BaseException):
    """An operation failed while the graph ran, which is no exception that the program raised.

    `error` is what TensorFlow says, or that a number is not what it was taken for.
    """

    def __init__(self, error: tf.errors.OpError | NeedsValue, remains: Remains) -> None:
        super().__init__(error)
        self.error = error
        self.remains = remains

    @property
    def is_of_kernel(self) -> bool:
        """Whether the error is an operation's own."""
        return isinstance(self.error, tf.errors.OpError)


class CannotGoOn(BaseException):
    """A run came to what it has no graph for, or Python gave it what it cannot use; `writes` is what was written by then."""

    def __init__(self, error: UnexpectedResult | AssumptionFailed, remains: Remains, writes: Writes) -> None:
        super().__init__(error)
        self.error = error
        self.remains = remains
        self.writes = writes

    @property
    def raised(self) -> bool:
        """Whether the last call raised, under try."""
        history = self.remains.history
        return bool(history) and isinstance(history[-1][1], Raised)

    def give_up(self) -> NoReturn:
        """Raise the error: effects of the run, which nobody can repeat, have happened."""
        _commit(self.writes)
        raise self.error


Writes = Sequence[tuple[Place, Any]]
Commit = Callable[[Writes], object]


@dataclasses.dataclass
class Rehearsal:
    """What a run that wrote nothing would have returned or raised, and written."""

    result: Any = None
    error: Exception | None = None
    writes: list[tuple[Place, Any]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Graph:
    """A traced function, ready to run."""

    concrete: Any
    captures: list[Any]
    result: Recipe
    writes: list[tuple[Recipe, Recipe]]
    guards: list[Guard]
    admit: Callable[[Sequence[Any]], list[Any] | None]  # what the graph captures, None if a guard does not hold
    run: Run
    calls_python: bool
    python_calls: list[tuple[str, Location | None]]
    xla: bool
    callbacks: list[Any]
    taped: Taped
    outside: Outside
    assumptions: list[str]  # branches that it does without, and where they are
    kinds: list[Any]  # for each parameter what it was traced for: a TypeSpec, a structure of them, a literal, or OTHER
    untold: bool = False  # it was made where no tape recorded: it does not tell the way of its runs, and serves no call under a tape
    owners: list[Any] = dataclasses.field(default_factory=list)

    def when_useless(self, forget: Callable[[Graph], object]) -> None:
        """Call `forget` when an object has gone that the graph was made for."""
        graph = weakref.ref(self)

        def gone(_: object) -> None:
            found = graph()
            if found is not None:
                forget(found)

        self.owners = [weakref.ref(one, gone) for one in held_weakly(self.guards)]

    def __post_init__(self) -> None:
        self.fetches_more = any(callable(one) and not isinstance(one, Fetch) for one in self.captures)  # inputs that TensorFlow gives

    @property
    def tier(self) -> str:
        """How calls run: "graph", "inline" (on the calling thread), "xla"."""
        return "xla" if self.xla else self.taped.tier

    @functools.cached_property
    def _undo(self) -> Undo | None:
        """What must be undone where a run ends early. None if that cannot be, or need not: only variables have changed by then."""
        if not self.writes and not self.outside.handles and not self.outside.sites and not self.outside.left_out:
            return None
        undo = undo_of(self.concrete, self.captures, self.run.counter)
        if undo is None or not undo.is_needed:
            return undo
        return undo if not self.outside.calls_program and changes_only_variables(self.concrete) else None

    @functools.cached_property
    def _keeps(self) -> Undo | None:
        """What keeps the variables before each run."""
        return self._undo if self._undo is not None and self._undo.is_needed else None

    @functools.cached_property
    def can_go_on(self) -> bool:
        """Whether Python can make a call where a run ends early that has called Python; it must not draw random numbers of its own."""
        return self.outside.unrepeatable is None and self._can_undo and not draws_random_numbers(self.concrete)

    @functools.cached_property
    def _can_undo(self) -> bool:
        """Whether the variables can be made as before where a run ends early in the order of the program."""
        return not effects_of(self.concrete) or (self._undo is not None and changes_only_variables(self.concrete))

    @property
    def misses_handlers(self) -> bool:
        """Whether an operation may fail that the program would handle, when nobody can let Python do that."""
        return self.outside.handles and not self._can_undo and self._may_fail

    @property
    def leaves_stale(self) -> bool:
        """Whether an operation may fail after calls of Python that it cannot repeat, so that nobody writes what the program has written."""
        return self.outside.unseen and bool(self.writes) and self._may_fail

    @property
    def _may_fail(self) -> bool:
        return any(map(may_fail, self.concrete.graph.get_operations()))

    def __call__(self, captured: list[Any], args: Sequence[Any]) -> Any:
        """Run on the bound arguments of a call and what `admit` gave for them: run, commit."""
        return self._call(captured, args, commit=_commit)

    def inputs(self, args: Sequence[Any]) -> list[Any]:
        """What the graph captures, for arguments that are known to fit."""
        return [one.at(args) if isinstance(one, Fetch) else one for one in self.captures]

    @property
    def needs_lock(self) -> bool:
        """Whether other threads must not come in between guards and commit."""
        return bool(self.outside.locks) or (self.outside.lock_of_seeds is not None and threading.active_count() > 1)

    @contextlib.contextmanager
    def locked(self, args: Sequence[Any]) -> Iterator[list[Any] | None]:
        """Hold the program's locks that a call takes; gives what the graph captures, None if another thread broke a guard meanwhile."""
        with contextlib.ExitStack() as held:
            for source in (*self.outside.locks, self.outside.lock_of_seeds):
                if source is not None:
                    held.enter_context(source.fetch(args))
            yield self.admit(args)

    def rehearse(self, captured: list[Any], args: Sequence[Any]) -> Rehearsal:
        """Run, but write nothing to the Python heap."""
        rehearsal = Rehearsal()
        try:
            rehearsal.result = self._call(captured, args, commit=rehearsal.writes.extend)
        except OperationFailed as operation:
            if isinstance(operation.error, NeedsValue):
                raise Fallback(operation.error) from None
            rehearsal.error = operation.error
        except CannotGoOn as stopped:
            raise Fallback(stopped.error) from None
        except Exception as error:
            rehearsal.error = error
        return rehearsal

    def _call(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        if self.fetches_more:
            captured = tf.nest.flatten([one() if callable(one) else one for one in captured])
        if not self.calls_python and self.run.counter is None and switches.PRIVATE_CALLS:
            return self._ran(captured, args, commit)
        with self.run.lock, self.run.of(args):
            return self._ran(captured, args, commit)

    def _ran(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        """What is raised after a failed run is raised outside of its handler: TensorFlow's error is no part of the program."""
        before = None if self._keeps is None else self._keeps.before(captured)
        try:
            outputs = self._outputs(captured)
        except tf.errors.OpError as error:
            failure = error
        else:
            return self._finish(outputs, args, commit)
        return self._stopped(failure, commit, before)

    def _outputs(self, captured: list[Any]) -> list[tf.Tensor]:
        try:
            return self.taped(captured)
        except UNDIFFERENTIABLE as error:
            failure = GraphRefused(f"a tape records, and the graph of the gradient cannot be made: {first_line(error)}")
        raise Fallback(failure)

    def _stopped(self, error: tf.errors.OpError, commit: Commit, before: Before | None) -> NoReturn:
        """The run ended early: by the program's own exception, or by an operation that failed."""
        stored, self.run.error = self.run.error, None
        if stored is None:
            is_in_order = isinstance(error, OF_VALUES) and not _number_failed(error)
            raise OperationFailed(_reason(error), self._remains(before, is_in_order))
        is_late = isinstance(stored, AssumptionFailed) and self.outside.left_out is not None
        if isinstance(stored, GraphRefused) and not is_late:
            raise Fallback(stored)
        if isinstance(stored, (UnexpectedResult, AssumptionFailed)):
            raise CannotGoOn(stored, self._remains(before, is_in_order=True), self.run.commit)
        commit(self.run.commit)
        raise_from_user_code(stored)

    def _remains(self, before: Before | None, is_in_order: bool) -> Remains:
        """What a run has done that ended early; `is_in_order` if all is done that stands before its end in the program, and no more."""
        undone = before is not None or (self._can_undo if is_in_order else not effects_of(self.concrete))
        called = bool(self.run.history) or self.outside.unrepeatable is not None
        is_final = not undone or (called and not self.can_go_on)
        return Remains(is_final, self.run.history, before)

    def _finish(self, outputs: list[tf.Tensor], args: Sequence[Any], commit: Commit) -> Any:
        build = Build(outputs, args)
        result = self.result(build)
        if self.writes:
            commit([(place(build), value(build)) for place, value in self.writes])
        return result


def _number_failed(error: tf.errors.OpError) -> str | None:
    """The check that failed, if it is one of imp2tf for numbers of Python."""
    return next((text for text in LEFT_PYTHON if text in error.message), None)


def _reason(error: tf.errors.OpError) -> tf.errors.OpError | NeedsValue:
    """The error of the run, or what it stands for."""
    found = _number_failed(error)
    if found == SEEDS_TO_COME:
        look_further_ahead()
    return error if found is None else NeedsValue(LEFT_PYTHON[found])


# How operations fail for what they are given. They are those that changes wait for; what else may happen may happen at any time.
OF_VALUES = (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError, tf.errors.NotFoundError, tf.errors.FailedPreconditionError)

# What TensorFlow raises where a tape is to record the run, and it cannot make the graph of the gradient.
UNDIFFERENTIABLE = (LookupError, AttributeError, NotImplementedError, TypeError, ValueError)

# What the run says where a Python number is not what it was taken for.
LEFT_PYTHON = {
    OVERFLOW: "a Python int left the range of 64 bits",
    SEEDS_TO_COME: "more random numbers were drawn in one call than in any before",
    UNUSUAL_POWER: "a power of Python numbers is of another kind, an error or out of range",
}


def _commit(writes: Writes) -> None:
    """Write the results of a run to the heap: all of them, or none if the user interrupts."""
    undo: list[Callable[[], None]] = []
    try:
        for place, value in writes:
            undo.append(place.saved())
            place.write(value)
    except (KeyboardInterrupt, SystemExit):
        for put_back in reversed(undo):
            put_back()
        raise


def refused_by_xla(graph: Graph) -> str | None:
    """Why a graph must not be compiled with XLA: it has no Python, and passes failed assertions silently."""
    if graph.calls_python:
        return "XLA cannot call Python, which the graph does"
    if any(node.op == "Assert" for node in nodes_of(graph.concrete)):
        return "XLA does not check assertions"
    return None
