"""A traced function, ready to run: inputs in, one call of the runtime, results and writes out."""
from __future__ import annotations

import contextlib
import dataclasses
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.errors import (
    Fallback,
    GraphRefused,
    Location,
    NeedsValue,
    UnexpectedResult,
    first_line,
)
from imp2tf.exceptions import raise_from_user_code
from imp2tf.guards import held_weakly
from imp2tf.inspection import nodes_of
from imp2tf.lifting import Fetch
from imp2tf.places import Place
from imp2tf.python_numbers import OVERFLOW, UNUSUAL_POWER
from imp2tf.random_ops import RANDOM_OPS
from imp2tf.recipes import Build, Recipe
from imp2tf.relaxations import Guard
from imp2tf.results import Raised
from imp2tf.runs import Run
from imp2tf.seed_stream import SEEDS_TO_COME, look_further_ahead
from imp2tf.session import Outside
from imp2tf.taped import Taped
from imp2tf.tf_compat import is_stateful_op, switches

__all__ = ["WITHOUT_EFFECT", "CannotGoOn", "Graph", "OperationFailed", "Rehearsal", "has_other_effects", "refused_by_xla"]


class OperationFailed(BaseException):
    """An operation failed while the graph ran: `error` is what TensorFlow says, not an exception that the program raised.

    `effects` tells whether the run may have done something by then that cannot be done again.
    """

    def __init__(self, error: tf.errors.OpError, effects: bool) -> None:
        super().__init__(error)
        self.error = error
        self.effects = effects


class CannotGoOn(BaseException):
    """A call of Python gave the run what it cannot use: `history` are the calls made so far, `writes` what was written by then."""

    def __init__(self, error: UnexpectedResult, history: list[tuple[Any, Any]], writes: Writes) -> None:
        super().__init__(error)
        self.error = error
        self.history = history
        self.writes = writes

    @property
    def raised(self) -> bool:
        """Whether the last call raised, under try."""
        return bool(self.history) and isinstance(self.history[-1][1], Raised)

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

    @property
    def has_effects(self) -> bool:
        """Whether a run that failed may have changed something; not cheap."""
        return bool(self.python_calls) or self._changes_state()

    def _changes_state(self) -> bool:
        return any(is_stateful_op(node.op) and node.op not in WITHOUT_EFFECT for node in nodes_of(self.concrete))

    def _has_done_something(self) -> bool:
        """Whether the run that is under way may have had an effect: it has called Python, or what it did to variables is not known."""
        calls = self.run.history or self.outside.unrepeatable  # the history does not hold calls that cannot be repeated
        return bool(self.python_calls and calls) or self._changes_state()

    @property
    def is_repeatable(self) -> bool:
        """Whether Python can go on after a run that stopped, given what Python returned to it: nothing else had an effect."""
        return self.outside.unrepeatable is None and not has_other_effects(self.concrete)

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
            rehearsal.error = operation.error
        except Exception as error:
            rehearsal.error = error
        return rehearsal

    def _call(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        if self.fetches_more:
            captured = tf.nest.flatten([one() if callable(one) else one for one in captured])
        if not self.calls_python and switches.PRIVATE_CALLS:
            return self._ran(captured, args, commit)
        with self.run.lock, self.run.of(args):
            return self._ran(captured, args, commit)

    def _ran(self, captured: list[Any], args: Sequence[Any], commit: Commit) -> Any:
        """What is raised after a failed run is raised outside of its handler: TensorFlow's error is no part of the program."""
        try:
            outputs = self._outputs(captured)
        except tf.errors.OpError as error:
            failure = error
        else:
            return self._finish(outputs, args, commit)
        return self._stopped(failure, commit)

    def _outputs(self, captured: list[Any]) -> list[tf.Tensor]:
        try:
            return self.taped(captured)
        except UNDIFFERENTIABLE as error:
            failure = GraphRefused(f"a tape records, and the graph of the gradient cannot be made: {first_line(error)}")
        raise Fallback(failure)

    def _stopped(self, error: tf.errors.OpError, commit: Commit) -> NoReturn:
        """The run ended early: by the program's own exception, or by an operation that failed."""
        stored, self.run.error = self.run.error, None
        if stored is None:
            refused = self._refused(error)
            raise OperationFailed(refused, self._has_done_something()) if isinstance(refused, tf.errors.OpError) else refused
        if isinstance(stored, GraphRefused):
            raise Fallback(stored)
        if isinstance(stored, UnexpectedResult):
            raise CannotGoOn(stored, self.run.history, self.run.commit)
        commit(self.run.commit)
        raise_from_user_code(stored)

    def _refused(self, error: tf.errors.OpError) -> BaseException:
        """The error of the run, or the fallback that it stands for."""
        found = next((text for text in LEFT_PYTHON if text in error.message), None)
        if found is None:
            return error
        if found == SEEDS_TO_COME:
            look_further_ahead()
        reason = NeedsValue(LEFT_PYTHON[found])
        return reason if self.has_effects else Fallback(reason)

    def _finish(self, outputs: list[tf.Tensor], args: Sequence[Any], commit: Commit) -> Any:
        build = Build(outputs, args)
        result = self.result(build)
        if self.writes:
            commit([(place(build), value(build)) for place, value in self.writes])
        return result


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


def has_other_effects(concrete: Any) -> bool:
    """Whether a graph does more than compute and call Python."""
    harmless = WITHOUT_EFFECT - RANDOM_OPS
    return any(is_stateful_op(node.op) and node.op not in harmless for node in nodes_of(concrete))


WITHOUT_EFFECT = frozenset({
    "Placeholder", "ReadVariableOp", "VarHandleOp", "Assert", "If", "While", "Case", "StatefulPartitionedCall", "ResourceGather",
    "CheckNumerics", "CheckNumericsV2", "EagerPyFunc", "LookupTableFindV2", "LookupTableSizeV2", "ResourceGatherNd", "VarIsInitializedOp",
    "VariableShape",
}) | RANDOM_OPS


def refused_by_xla(graph: Graph) -> str | None:
    """Why a graph must not be compiled with XLA: it has no Python, and passes failed assertions silently."""
    if graph.calls_python:
        return "XLA cannot call Python, which the graph does"
    if any(node.op == "Assert" for node in nodes_of(graph.concrete)):
        return "XLA does not check assertions"
    return None
