"""Calls of functions that imp2tf must not or cannot look into, made by the run.

What such a function returns is known from runs in Python (`imp2tf.results`); the result is a value of the graph, or an object of
the run that can be returned, stored or passed on, but not computed with.

What it does to Python state is not known. Library code can do something only to what it is given (`imp2tf.reach`); the code of
the program, to anything. So the trace may neither have written anything before that it could see, nor read anything afterwards
that it could have changed (`imp2tf.heap` sees to that).
"""
from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from imp2tf.effects import has_pending_writes, host_call, host_check, host_value, pending_owners, site_of
from imp2tf.errors import ForeignCall, UnexpectedResult, fall_back
from imp2tf.exceptions import innermost, user_frames
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.own_arrays import learn_to_change
from imp2tf.purity import library_name, module_of
from imp2tf.reach import reach_of
from imp2tf.results import ANYTHING, NEVER_AGAIN, Changed, Kept, Kind, Live, Profile, Site, name_of_callee, watched_arguments
from imp2tf.seed_stream import leave_draws_to_host
from imp2tf.session import Session, current
from imp2tf.tf_compat import tape_may_record
from imp2tf.values import Deferred, Growable, PyNumber, StandIn, Union, numpy_value

__all__ = ["call_disabled", "call_library", "call_method_of_kept", "change_array", "is_left_to_python", "keep_apart", "refuse_looking"]

# What these do depends on the frames that call them, or cannot be done from a run.
LEFT_TO_PYTHON = frozenset({
    "pdb", "bdb", "inspect", "traceback", "warnings", "_warnings", "importlib", "gc", "tracemalloc", "signal", "atexit", "asyncio",
    "multiprocessing", "concurrent", "IPython", "ipdb", "pytest", "unittest",
})
BUILTINS_LEFT_TO_PYTHON = frozenset({
    "breakpoint", "compile", "delattr", "dir", "eval", "exec", "globals", "id", "locals", "setattr", "vars", "__import__", "_getframe",
    "settrace", "setprofile", "exit", "_exit", "abort",
})


# What belongs to a thread: the run makes its calls on threads of TensorFlow.
OF_THREADS = frozenset({"_contextvars", "contextvars", "_decimal", "decimal", "_sqlite3", "sqlite3", "matplotlib", "tkinter", "_tkinter"})
FUNCTIONS_OF_THREADS = frozenset({
    "active_count", "current_thread", "enumerate", "errstate", "get_ident", "get_native_id", "geterr", "main_thread", "seterr",
    "setbufsize",
})

# While these wait, other threads may change anything.
WAITING = frozenset({"_thread", "threading", "queue", "_queue", "select", "socket", "subprocess", "concurrent"})
WAITING_FUNCTIONS = frozenset({"sleep", "input", "wait", "waitpid", "system"})
MOST_CALLS = 256  # in one trace: a loop that is unrolled for them is better left to Python


def call_disabled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function under `disable` in program order when the graph runs."""
    session, name = current(), function.__qualname__
    if session.embedded:
        fall_back(ForeignCall, f"{name} is disabled")
    keep_apart(session, f"{name} is disabled", (*args, *kwargs.values()))
    kind = _foretold(session, site_of(function.__name__), f"{name} is disabled", ANYTHING)
    return _call(session, function, args, kwargs, kind)


def call_library(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call library code in program order when the graph runs, if it is known what it returns."""
    session, name = current(), library_name(function)
    refuse_looking(function, kwargs)
    reason = f"{name} may have effects outside the graph"
    if session.embedded or is_left_to_python(function):
        fall_back(ForeignCall, reason)
    owner = _owner(function)
    given = (owner, *args, *kwargs.values())
    if any(_is_unknown(session, value) for value in (_known_by(session, function), *args, *kwargs.values())):
        fall_back(ForeignCall, reason)
    kind = _foretold(session, site_of(name_of_callee(function)), reason, None)
    if kind.holds_tensor() and tape_may_record():
        fall_back(ForeignCall, f"{reason}, and a tape records what it returns")
    reached = None if _waits(function) else reach_of(_concrete(session, given))
    if reached is None:
        keep_apart(session, f"{name} may run code of the program, or wait for it", (*args, *kwargs.values()))
    else:
        _note_reached(session, reason, reached)
    return _call(session, function, args, kwargs, kind)


def refuse_looking(function: Any, kwargs: dict[str, Any]) -> None:
    """Fall back for functions that look at the exception being handled, since a run of the graph handles none."""
    module, name = module_of(function), name_of_callee(function)
    if module == "traceback" or name == "exception" or (module == "sys" and name == "exc_info") or kwargs.get("exc_info"):
        fall_back(ForeignCall, f"{library_name(function)} may look at the exception that is handled")


def call_method_of_kept(owner: Deferred, cls: type, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of an object that library code has given to the run."""
    session, full = current(), f"{cls.__module__}.{cls.__qualname__}.{name}"
    if name == "exception" or kwargs.get("exc_info"):
        fall_back(ForeignCall, f"{full} may look at the exception that is handled")
    reason = f"{full} may have effects outside the graph"
    if session.embedded or any(_is_unknown(session, value) for value in (*args, *kwargs.values())):
        fall_back(ForeignCall, reason)
    kind = _foretold(session, site_of(name), reason, None)
    if kind.holds_tensor() and tape_may_record():
        fall_back(ForeignCall, f"{reason}, and a tape records what it returns")
    waits = cls.__module__.partition(".")[0] in WAITING or name in WAITING_FUNCTIONS
    reached = None if waits else reach_of([cls, *_concrete(session, (*args, *kwargs.values()))])
    if reached is None:
        keep_apart(session, f"{full} may run code of the program", (*args, *kwargs.values()))
    else:
        _note_reached(session, reason, {**session.outside.touched, **reached})
    return _made(session, lambda subject, *values, **named: getattr(subject, name)(*values, **named), name, (owner, *args), kwargs, kind)


def is_left_to_python(function: Any) -> bool:
    """Whether what a function of a library does depends on the frames or the thread that call it, or cannot be done from a run."""
    module, name, owner = module_of(function).partition(".")[0], name_of_callee(function), _owner(function)
    of_owner = type(owner).__module__.partition(".")[0]
    if OF_THREADS & {module, of_owner} or (module in ("_thread", "threading", "numpy") and name in FUNCTIONS_OF_THREADS):
        return True
    if isinstance(owner, np.ndarray) and name.startswith("__"):  # whether `a.__iadd__(b)` changes `a` is not known before
        return True
    return module in LEFT_TO_PYTHON or (module in ("", "builtins", "sys", "os") and name in BUILTINS_LEFT_TO_PYTHON)


def _waits(function: Any) -> bool:
    owner = _owner(function)
    modules = {module_of(function), type(owner).__module__ if owner is not None else ""}
    return any(one.partition(".")[0] in WAITING for one in modules) or name_of_callee(function) in WAITING_FUNCTIONS


# ------------------------------------------------------------------------------------------------ what is known of it
def _foretold(session: Session, site: Site, reason: str, otherwise: Kind | None) -> Kind:
    """The kind of value that the call returns, as learned from runs in Python."""
    profile: Profile | None = session.relaxations.profile
    kind = profile.kinds.get(site) if profile is not None else None
    if kind is None and profile is not None:
        profile.wanted = True
    return kind or otherwise or fall_back(ForeignCall, reason)


def _owner(function: Any) -> Any:
    """The object whose method it is, None if there is none."""
    owner = getattr(function, "__self__", None)
    return None if isinstance(owner, types.ModuleType) else owner


def _known_by(session: Session, function: Any) -> Any:
    """The value to find again at each call: the object whose method was looked up in this call, or else the function."""
    owner = _owner(function)
    return function if owner is None or id(function) in session.sources else owner


def _is_unknown(session: Session, value: Any, level: int = 0) -> bool:
    """Whether it is not known where a value comes from: library code has made it while tracing."""
    if isinstance(value, (PyNumber, Deferred, tf.Tensor, str, bytes, int, float, complex, bool, type(None), slice, range, tf.DType)):
        return False
    if isinstance(value, (types.BuiltinFunctionType, types.FunctionType, types.ModuleType, type)):
        return session.is_born(value)
    if isinstance(value, Union):
        return any(_is_unknown(session, one, level) for one in value.alternatives)
    if isinstance(value, StandIn):
        return True
    if isinstance(value, tuple):
        return any(_is_unknown(session, one, level + 1) for one in value)
    if is_container(value) and session.is_born(value):
        found = contents(value)
        parts = found.values() if isinstance(found, dict) else () if isinstance(found, (Growable, Union)) else found
        return level > 3 or any(_is_unknown(session, one, level + 1) for one in parts)
    if isinstance(value, (np.ndarray, np.generic, tf.TensorShape)):
        return False
    return id(value) not in session.sources


def _concrete(session: Session, values: Sequence[Any]) -> list[Any]:
    """The objects among some values that are older than the trace."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Union):
            found.extend(_concrete(session, value.alternatives))
        elif isinstance(value, Deferred) and isinstance(value.function, Live):
            found.append(value.function())
        elif isinstance(value, Deferred):
            found.extend(_concrete(session, (*value.args, *value.kwargs.values())))
        elif is_container(value) and session.is_born(value):
            held = contents(value)
            if not isinstance(held, (Growable, Union)):
                found.extend(_concrete(session, list(held.values()) if isinstance(held, dict) else list(held)))
        elif isinstance(value, tuple):
            found.extend(_concrete(session, value))
        elif isinstance(value, np.ndarray):
            source = session.origins.get(id(value))
            found.extend([value if source is None else source.fetch(session.run.args)])
        elif not isinstance(value, (tf.Tensor, PyNumber)):
            found.append(value)
    return found


# ------------------------------------------------------------------------------------------------ what it may do
def keep_apart(session: Session, reason: str, values: Sequence[Any]) -> None:
    """The function may do anything: nothing may be pending that it could see, and nothing be read that it could change."""
    leave_draws_to_host(session, reason)
    if has_pending_writes(session):
        fall_back(ForeignCall, f"{reason}, and could see what was written before")
    if any(map(_is_born, values)):
        fall_back(ForeignCall, f"{reason}, and could change an object that was made before")
    if session.regions and session.has_read_data:
        fall_back(ForeignCall, f"{reason}, and could change what a loop or branch has read")
    session.opaque = reason


def _is_born(value: Any) -> bool:
    """Whether a value is, or holds, a mutable object that only this trace knows."""
    if isinstance(value, tuple):
        return any(map(_is_born, value))
    return current().is_born(value) and (is_container(value) or isinstance(value, types.FunctionType) or hasattr(value, "__dict__"))


def _note_reached(session: Session, reason: str, reached: dict[int, Any]) -> None:
    """The function can see and change what it reaches."""
    if any(id(owner) in reached for owner in pending_owners(session)):
        fall_back(ForeignCall, f"{reason}, and could see what was written before")
    if any(isinstance(reached.get(key), np.ndarray) for key in session.outside.read_owners):
        changed = {key for key in session.outside.read_owners if isinstance(reached.get(key), np.ndarray)}
        session.outside.touched.update({key: reached[key] for key in changed})
    if session.regions and any(key in reached for key in session.outside.read_owners):
        fall_back(ForeignCall, f"{reason}, and could change what a loop or branch has read")
    session.outside.touched.update(reached)


# ------------------------------------------------------------------------------------------------ arrays of the program
def change_array(function: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any) -> None:
    """Let the run call `function`, which changes an array of the program in place."""
    session = current()
    if isinstance(owner, np.ndarray) or (isinstance(owner, Deferred) and not isinstance(owner.function, Kept)):
        leave_in_place(session, owner)
    shared = (owner.function,) if isinstance(owner.function, Live) else owner.function.kind.shared
    if shared is None or session.embedded or (shared and (session.trying or kwargs)):
        fall_back(ForeignCall, "an array is changed that others may know")
    if not shared:
        _change_own(session, function, (owner, *args), kwargs)
        return
    for live in shared:
        _note_changed(session, live())
    host_call(function, owner, *args)


def _change_own(session: Session, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Let the run change an array of the call. Python that makes the call again makes the array anew."""
    session.counts["library_calls"] += 1
    if session.counts["library_calls"] > MOST_CALLS:
        fall_back(ForeignCall, "an array is changed in a loop that is unrolled")
    if session.loops and session.over_arrays:
        fall_back(ForeignCall, "an array is changed in a loop over another, where Python is faster than a graph that calls it")
    host_check(function, args, kwargs, getattr(function, "__name__", "a function"))


def _note_changed(session: Session, array: np.ndarray) -> None:
    """An array of the program is changed: nothing of it may be a constant or an input of the graph."""
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, array) for one in session.outside.read_owners.values()):
        fall_back(ForeignCall, "an array is changed that is part of another")
    session.outside.touched[id(array)] = array


def leave_in_place(session: Session, array: Any) -> NoReturn:
    """Trace again, with an array left to the run: what is done with it is done by the run, in order."""
    if not session.embedded:
        learn_to_change(session, array)
    fall_back(ForeignCall, "an array is changed in place")


# ------------------------------------------------------------------------------------------------ the call
def _call(session: Session, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Kind) -> Any:
    subject = _known_by(session, function)

    def call(found: Any, *values: Any, **named: Any) -> Any:
        return (found if subject is function else _bound(function, found))(*values, **named)

    return _made(session, call, name_of_callee(function), (subject, *args), kwargs, kind)


def _made(session: Session, call: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Kind) -> Any:
    """Let the run call `call`, which is what the program calls by `name`."""
    site, profile = site_of(name), session.relaxations.profile
    names = tuple(kwargs)
    session.counts["library_calls"] += 1
    if session.counts["library_calls"] > MOST_CALLS:
        fall_back(ForeignCall, f"{name} is called in a loop that is unrolled")
    mutable = any(_is_born(value) or isinstance(value, np.ndarray) for value in (*args, *kwargs.values()))
    changed = profile is not None and site in profile.changing
    if changed:
        for value in (*args, *kwargs.values()):
            if isinstance(value, np.ndarray) or (isinstance(value, Deferred) and value.function is numpy_value):
                leave_in_place(session, value)
            if isinstance(value, Deferred) and isinstance(value.function, Live):
                _note_changed(session, value.function())
    if mutable and changed:
        fall_back(ForeignCall, f"{name} changes or keeps an object that it is given")

    def with_names(*values: Any) -> Any:
        count = len(values) - len(names)
        touched = watched_arguments(values) if mutable else None
        result = call(*values[:count], **dict(zip(names, values[count:], strict=True)))
        how = touched() if touched is not None else ""
        if how:
            profile.changing.add(site)
            session.run.history.append((site if how == "changed" else NEVER_AGAIN, Changed(result, values[1:])))
            raise UnexpectedResult(f"{name} {how} an object that it was given, unlike before", location=where)
        return result

    where = innermost(user_frames())
    return host_value(with_names, kind, (*args, *kwargs.values()), name, lambda seen: profile.note(site, seen))


def _bound(method: Any, subject: Any) -> Any:
    """A method as that of the object which has its place in this call."""
    if isinstance(method, types.MethodType):
        return types.MethodType(method.__func__, subject)
    return getattr(subject, method.__name__)
