"""``with``: the managers of TensorFlow are entered while tracing, a user's ``__enter__`` and ``__exit__`` are converted.

    with m as v: body   -->   rt.with_(m, _target_1, _with_2, state)

A lock is held by the whole call, from before its guards are checked: what the trace reads under it is then as the lock protects
it. A manager that Python alone can run (a redirected stream) makes the call run as Python.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import gast
import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.attributes import get_attribute
from imp2tf.calls import call, call_in_text, replace_call
from imp2tf.containers import static
from imp2tf.courses import contained, handled
from imp2tf.errors import ForeignCall, RaisesUnderTry, fall_back
from imp2tf.exit_stacks import Callback, Closing, Stack
from imp2tf.exits import NONE, RAISE, exit_code
from imp2tf.heap import set_contents
from imp2tf.kinds import is_user_function
from imp2tf.managers import Managed, run_managed
from imp2tf.namespace import operator
from imp2tf.operations import truth_of
from imp2tf.paths import scope
from imp2tf.purity import is_tensorflow
from imp2tf.quote import GIVEN, quote, quote_expr
from imp2tf.records import split_records
from imp2tf.region import cond
from imp2tf.rewrite import Converter
from imp2tf.session import current, out_of_text
from imp2tf.states import State
from imp2tf.targets import assign, constant, target_names
from imp2tf.try_state import leave_raising, set_exit
from imp2tf.values import DEAD, PyNumber, Union

LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Semaphore)
Block = Callable[[], None]


@replace_call(contextlib.ExitStack)
def exit_stack() -> Stack:
    """``contextlib.ExitStack()``."""
    made: Stack = current().born(Stack(_enter))
    return made


@replace_call(contextlib.closing)
def closing(thing: Any) -> Closing:
    """``contextlib.closing(thing)``."""
    made: Closing = current().born(Closing(thing))
    return made


class Withs(Converter, lowers=(gast.With,)):
    """``with`` with any number of items."""

    def lower(self, node: gast.With) -> list[gast.stmt]:
        item, others = node.items[0], node.items[1:]
        body_stmts = node.body
        if others:
            body_stmts = [gast.copy_location(gast.With(others, node.body), node)]
        manager = self.rw.visit(item.context_expr)
        target, setup, names = constant(None), [], []
        if item.optional_vars is not None:
            text = self.rw.fresh("target")
            names = [one for one in target_names(item.optional_vars) if self.rw.kind_of(one) == "local"]
            put = assign(self.rw, item.optional_vars, quote_expr(GIVEN, item.optional_vars))
            setup.append(self.rw.function_of(text, put, names, item.optional_vars, [GIVEN]))
            target = gast.Name(text, gast.Load(), None, None)
        self.rw.frame.tries += 1
        body = self.rw.closure("with", body_stmts, extra=names)
        self.rw.frame.tries -= 1
        state = self.rw.state(node, sorted(body.bound), exits=True)
        call_ = quote("rt.with_(manager, target, body, state)", node, manager=manager, target=target, body=body.name, state=state.expr)
        return [*setup, body.definition, *state.setup, *call_]


@operator
def with_(manager: Any, target: Callable[[Any], None] | None, body: Block, state: State) -> None:
    """Run a with statement."""
    if isinstance(manager, Managed):
        run_managed(manager, lambda entered: _run_body(entered, target, body), state)
    elif is_user_function(getattr(type(manager), "__enter__", None)) or isinstance(manager, (contextlib.suppress, Closing, Stack)):
        _user_manager(manager, target, body, state)
    elif is_tensorflow(type(manager)) or isinstance(manager, (contextlib.nullcontext, contextlib._GeneratorContextManager)):
        _library_manager(manager, target, body, state)
    elif isinstance(manager, LOCKS):
        _lock(manager, target, body)
    else:
        fall_back(ForeignCall, f"with {type(manager).__module__}.{type(manager).__qualname__}")


def _run_body(entered: Any, target: Callable[[Any], None] | None, body: Block) -> None:
    """Assign what the manager gave to the target behind ``as``, and run the body."""
    if target is not None:
        target(entered)
    body()


def _library_manager(manager: Any, target: Callable[[Any], None] | None, body: Block, state: State) -> None:
    if isinstance(manager, contextlib._GeneratorContextManager) and is_user_function(manager.func):
        fall_back(ForeignCall, f"with {manager.func.__qualname__}()")
    with manager as entered, scope():
        afterwards = contained(lambda: _run_body(entered, target, body), state)
    afterwards()


def _lock(manager: Any, target: Callable[[Any], None] | None, body: Block) -> None:
    """``with lock:``, for one lock, or locks inside one another, that every call takes."""
    session, outside = current(), current().outside
    source = session.sources.get(id(manager))
    if session.embedded or session.regions or session.trying or source is None:
        fall_back(ForeignCall, f"with {type(manager).__module__}.{type(manager).__qualname__}")
    if source not in outside.locks:
        if outside.locks_held != len(outside.locks):
            fall_back(ForeignCall, "several locks are held one after the other")
        outside.locks.append(source)
    outside.locks_held += 1
    try:
        _run_body(True, target, body)
    finally:
        outside.locks_held -= 1


def _user_manager(manager: Any, target: Callable[[Any], None] | None, body: Block, state: State) -> None:
    entered = _enter(manager)
    handled(lambda: _run_body(entered, target, body), state, lambda record: set_exit(state, RAISE, record))
    _leave_with(manager, state)
    leave_raising(state)


def _enter(manager: Any) -> Any:
    """What the program's code, or what stands for the library's, does to enter a manager."""
    if isinstance(manager, (contextlib.suppress, Callback)):
        return None
    if isinstance(manager, Closing):
        return manager.thing
    if isinstance(manager, Stack):
        return manager
    if is_user_function(getattr(type(manager), "__enter__", None)):
        return _method_caller(manager)(type(manager).__enter__, manager)
    if not _is_entered_once(manager):
        fall_back(ForeignCall, f"an ExitStack enters a {type(manager).__qualname__}")
    return manager.__enter__()


def _is_entered_once(manager: Any) -> bool:
    """Whether a manager does its work while tracing: whatever way the run goes, it is entered and left once."""
    return is_tensorflow(type(manager)) or isinstance(manager, contextlib.nullcontext)


def _leave_with(manager: Any, state: State) -> None:
    """Leave a manager as the exit under way demands."""
    if isinstance(manager, Stack):
        _unwind(manager, state)
        return
    if _is_entered_once(manager):
        manager.__exit__(None, None, None)
        return
    code = exit_code(state)
    if isinstance(code, PyNumber):
        cond(tf.equal(code.tensor, RAISE), lambda: _leave_raising(manager, state), lambda: _leave(manager), state)
    elif code == RAISE:
        _leave_raising(manager, state)
    else:
        _leave(manager)


def _unwind(stack: Stack, state: State) -> None:
    """Leave what a stack holds, the last first; what one raises, the others are told of."""
    exits = list(static(stack.exits, "leaving an ExitStack"))
    set_contents(stack.exits, [])
    with out_of_text():
        for manager in exits[:0:-1]:
            handled(functools.partial(_leave_with, manager, state), state, lambda record: set_exit(state, RAISE, record))
        if exits:
            _leave_with(exits[0], state)


def _leave(manager: Any) -> None:
    _told(manager, None)


def _told(manager: Any, error: Any) -> Any:
    """The result of ``__exit__`` when it is told of an exception, or of None."""
    if isinstance(error, Union):
        return over(error, lambda one: _told(manager, one))
    if isinstance(manager, contextlib.suppress):
        return error is not None and isinstance(error, manager._exceptions)  # type: ignore[attr-defined]
    if isinstance(manager, Closing):
        call(get_attribute(manager.thing, "close"))
        return False
    if isinstance(manager, Callback):
        call(manager.function, *manager.args, **manager.kwargs)
        return False
    return _method_caller(manager)(type(manager).__exit__, manager, None if error is None else type(error), error, None)


def _method_caller(manager: Any) -> Callable[..., Any]:
    """What calls the methods of a user's manager: a watched run sees them if both are the user's."""
    methods = [getattr(type(manager), name, None) for name in ("__enter__", "__exit__")]
    return call_in_text if all(map(is_user_function, methods)) else call


def _told_while_handled(manager: Any, record: Any) -> Any:
    """As `_told`: what ``__exit__`` raises has the exception as its context."""
    session = current()
    session.caught.append(record)
    try:
        return _told(manager, record.error)
    finally:
        session.caught.pop()


def _leave_raising(manager: Any, state: State) -> None:
    """Tell the manager of the exception; it may swallow it."""
    record, _ = split_records(state.get()[1])
    if record is None:
        return _leave(manager)
    if isinstance(record, Union):
        fall_back(RaisesUnderTry, "a manager sees one of several exceptions")
    swallowed = truth_of(_told_while_handled(manager, record))

    def swallow() -> None:
        state.set((NONE, DEAD, *state.get()[2:]))

    if isinstance(swallowed, bool):
        if swallowed:
            swallow()
    else:
        cond(swallowed, swallow, lambda: None, state)
