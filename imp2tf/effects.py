"""Effects in the graph: Python called at run time, and checks that stop the run. Their order is that of `imp2tf.ordering`."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.errors import Fallback, Location, UnexpectedResult
from imp2tf.exceptions import StopRun, innermost, user_frames
from imp2tf.ordering import changes_state
from imp2tf.places import Contents, Place, Tail
from imp2tf.plan import Recorder
from imp2tf.recipes import Build, Recipe
from imp2tf.remembered import NumberMemory
from imp2tf.results import ANYTHING, Kind, Raised, Site, is_fresh, join_kinds, kind_of
from imp2tf.session import Session, current, hosting
from imp2tf.values import Growable, PyNumber, Union

__all__ = ["MAY_SURPRISE", "commits", "has_effects_so_far", "has_pending_writes", "host_call", "host_check", "host_value", "is_unchanged",
           "note_if_unseen", "pending_owners", "site_of", "stop_run"]

MAY_SURPRISE = "result_of_python"  # the name of operations that end the run if Python returns what was not foretold


class Repeatable(str):
    """What a graph calls, where nobody can tell whether it is called once more."""

    __slots__ = ()


def host_call(function: Callable[..., object], *values: Any, name: str | None = None) -> None:
    """Call `function` with the run-time values of `values` each time the graph passes here; what it raises ends the run.

    `name` is what the program calls here, if that is all that `function` does.
    """
    run, site = current().run, site_of(name or "")

    def silent(*found: Any) -> tuple[()]:
        function(*found)
        run.history.append((site, None))
        return ()

    _call_at_run_time(silent, values, [], name)


def host_check(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], name: str) -> None:
    """Call a pure function for what it may raise. Under ``try`` Python makes the call of the program instead, should it raise."""
    session, count = current(), len(args)
    where, names = innermost(user_frames()), tuple(kwargs)
    if session.trying:
        session.outside.needs_replay = f"{name} may raise under try or with"
    trying = session.trying

    def check(*found: Any) -> tuple[()]:
        try:
            function(*found[:count], **dict(zip(names, found[count:], strict=True)))
        except Exception as error:  # whichever the program's handlers may name
            if not trying:
                raise
            surprise = UnexpectedResult(f"{name} raised {type(error).__name__} under try", location=where)
        else:
            return ()
        raise surprise

    _call_at_run_time(check, [*args, *kwargs.values()], [], name, pure=True)


def host_value(function: Callable[..., Any], kind: Kind, values: Sequence[Any], name: str | None = None,
               note: Callable[[Kind], object] = lambda kind: None, pure: bool = False) -> Any:
    """As `host_call`; what `function` returns, which is of a kind that is foretold.

    A result of another kind ends the run; `note` is told its kind. A `pure` function may be called again.
    """
    run, site, where = current().run, site_of(name or ""), innermost(user_frames())
    called = _catching(function, name or "Python", site, where) if current().trying and not pure else function

    def packed(*found: Any) -> Sequence[Any]:
        result = called(*found)
        seen = kind_of(result, function is list or is_fresh(result))
        if not pure:
            run.history.append((site, result))
        if kind is not ANYTHING and join_kinds(kind, seen) != kind:
            note(seen)
            raise UnexpectedResult(f"{name or 'Python'} returned {type(result).__name__}, unlike before", location=where)
        return kind.pack(result, run)

    if kind.holds_tensor():
        current().outside.gives_tensors = True
    tensors = [detached(tensor) for tensor in _call_at_run_time(packed, values, kind.dtypes(), name, pure, MAY_SURPRISE)]
    return kind.unpack(iter(tensors), run)


def _catching(function: Callable[..., Any], name: str, site: Site, where: Location | None) -> Callable[..., Any]:
    """A function that is called under try: where it raises, Python goes on from there, since a handler may want it."""
    session = current()
    session.outside.needs_replay = f"{name} may raise under try or with"
    run = session.run

    def called(*args: Any) -> Any:
        try:
            return function(*args)
        except UnexpectedResult:
            raise
        except Exception as error:  # whichever the program's handlers may name
            run.history.append((site, Raised(error)))
            surprise = UnexpectedResult(f"{name} raised {type(error).__name__} under try", location=where)
        raise surprise

    return called


def detached(tensor: tf.Tensor) -> tf.Tensor:
    """A tensor that is passed to Python or comes from it, so that no gradient flows through."""
    return tf.stop_gradient(tensor) if tensor.dtype.is_floating or tensor.dtype.is_complex else tensor


def site_of(name: str) -> Site:
    """The call of `name` at the user's line that runs in this trace."""
    where = innermost(user_frames())
    return (where.filename, where.line, name) if where else ("", 0, name)


def _call_at_run_time(function: Callable[..., Any], values: Sequence[Any], returns: list[tf.DType],
                      name: str | None, pure: bool = False, op_name: str | None = None) -> Sequence[tf.Tensor]:
    session = current()
    recorder = Recorder(session)
    recipes = [recorder.add(value) for value in values]
    writes = _commits_if_any(session, recorder)
    run, frames = session.run, user_frames()

    def call(*tensors: tf.Tensor) -> Any:
        run.count_host_call()
        build = Build(tensors, run.args)

        def written() -> list[tuple[Any, Any]]:
            return [(place(build), value(build)) for place, value in writes]

        with hosting(), run.stopping(frames, written):
            return function(*[recipe(build) for recipe in recipes])

    if name is None:
        session.outside.unrepeatable = "Python is called"
    elif not pure:
        session.outside.sites.add(site_of(name))
        note_if_unseen(session)
    told = f"Python is called ({name})" if name else "Python is called"
    session.python_calls.append((Repeatable(told) if pure else told, innermost(frames)))
    return _python_op(session, call, [detached(tensor) for tensor in recorder.tensors], returns, op_name).outputs


def note_if_unseen(session: Session) -> None:
    """Note an effect that a repetition by Python could not leave out, since it would not see the call that has it."""
    if not session.in_text:
        session.outside.unseen, session.outside.unrepeatable = True, "Python is called"


def _commits_if_any(session: Session, recorder: Recorder) -> list[tuple[Recipe, Recipe]]:
    """The writes that an exception of a host call would commit; none if the call could not end here."""
    if session.embedded:
        return []
    count = len(recorder.tensors)
    try:
        return commits(session, recorder)
    except Fallback:
        del recorder.tensors[count:]
        return []


def _python_op(session: Session, call: Callable[..., Any], tensors: list[tf.Tensor], returns: list[tf.DType],
               name: str | None = None) -> tf.Operation:
    before = tf.compat.v1.get_default_graph()
    tf.py_function(session.callback(call), tensors, returns, name)
    op = before.get_operations()[-1]
    session.host_ops.add((id(before), op.name))
    return op


def stop_run(error: Callable[..., BaseException], *values: Any, name: str | None = None) -> None:
    """End the run here as ``raise error(*values)`` would: what was written so far is committed first. `name` is the operation's."""
    session = current()
    recorder = Recorder(session)
    writes = commits(session, recorder)
    recipes = [recorder.add(value) for value in values]
    run, disguises = session.run, session.disguises[::-1]

    def call(*tensors: tf.Tensor) -> None:
        build = Build(tensors, run.args)
        run.commit = [(place(build), value(build)) for place, value in writes]
        with hosting():
            run.error = functools.reduce(lambda made, disguise: disguise(made), disguises, error(*[recipe(build) for recipe in recipes]))
        raise StopRun

    session.counts["stops"] += 1
    _python_op(session, call, recorder.tensors, [], name)


def has_pending_writes(session: Session) -> bool:
    """Whether the trace has written something that others could see once it is committed."""
    return bool(pending_owners(session))


def pending_owners(session: Session) -> list[Any]:
    """The objects older than the trace that it has written to."""
    return [place.owner for place, value in session.store.items()
            if not session.is_born(place.owner) and not is_unchanged(session, place, value)]


def commits(session: Session, recorder: Recorder) -> list[tuple[Recipe, Recipe]]:
    """The places and values that a call would write to the caller's heap if it ended now."""
    plan: list[tuple[Recipe, Recipe]] = []
    for place, value in list(session.store.items()):
        if session.is_born(place.owner) or is_unchanged(session, place, value):
            continue
        plan.append((_located(session, place), _content(session, recorder, place, value)))
    return plan


def _content(session: Session, recorder: Recorder, place: Place, value: Any) -> Recipe:
    before = session.reads.get(place)
    if isinstance(place, Contents) and type(value) is type(before) and type(value) in (dict, list):
        return recorder.changed_elements(value, before, session.source_of(place.owner))
    if isinstance(place, Contents) and isinstance(value, Growable) and isinstance(before, Growable):
        source = session.source_of(place.owner)
        return recorder.elements_again(value, source, session.memory_of(source), before)
    if isinstance(place, (Contents, Tail)) or isinstance(value, Growable):
        return recorder.elements(value)
    memory = session.memory_of(session.source_of_place(place)) if isinstance(value, PyNumber) else None
    return recorder.number(value, memory) if isinstance(memory, NumberMemory) else recorder.add(value)


def is_unchanged(session: Session, place: Place, value: Any) -> bool:
    """Whether what is to be written is what the call found there."""
    if isinstance(place, Tail):
        return isinstance(value, list) and not value
    read = session.reads.get(place)
    if isinstance(place, Contents) and type(read) is type(value) and not isinstance(value, (Growable, Union)):
        return _same_elements(read, value)
    return value is read and read is not None


def _same_elements(a: Any, b: Any) -> bool:
    if isinstance(a, set):
        return bool(a == b)
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(x is y for x, y in zip(a.values(), b.values(), strict=True))
    return all(x is y for x, y in zip(a, b, strict=True))


def _located(session: Session, place: Place) -> Recipe:
    source = session.source_of(place.owner)
    return lambda build: place.on(source.fetch(build.args))


def has_effects_so_far(session: Session) -> bool:
    """Whether a run that gets here may have done something that cannot be undone."""
    if any(not isinstance(told, Repeatable) for told, _ in session.python_calls):
        return True
    graph = tf.compat.v1.get_default_graph()
    while graph is not None:
        if any(op.type != "EagerPyFunc" and changes_state(op) for op in graph.get_operations()):  # those are looked at above
            return True
        graph = getattr(graph, "outer_graph", None)
    return False
