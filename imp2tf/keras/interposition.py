"""While a step is traced: what Keras reads of its objects is guarded, what it writes is journalled, user code it finds is converted.

Keras runs as it is. The hooks are methods of the bases of its classes, there while a trace runs and only then; no object of the user
is touched. A function of the user that is read through a Keras object (``self.call``, ``self.fn``, ``self.activation``) comes back
converted, and decides when it is called whether it is part of a trace.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from imp2tf.calls import call, callback
from imp2tf.converters.tapes import none_where_unconnected
from imp2tf.errors import ForeignCall, NeedsValue, RaisesUnderTry, VariableCreated, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.guards import frozen_contents
from imp2tf.keras import private
from imp2tf.keras.applying import applied
from imp2tf.keras.carried import CarriedLosses, summing, while_loop
from imp2tf.kinds import LITERALS, is_user_function, known_by_identity
from imp2tf.lowering import adopted, lowered
from imp2tf.places import Attribute, Contents, Tail
from imp2tf.profile import watched
from imp2tf.session import NOT_STORED, Session, active, interposing, suspended
from imp2tf.sources import PlacePart, Setting, reads_plainly
from imp2tf.tf_compat import in_eager_mode
from imp2tf.values import UNBOUND, PyNumber

__all__ = ["interposed", "observed"]

CONTAINERS = (list, tuple, dict, set, frozenset)
SMALL_ARRAY = 4096
_get = object.__getattribute__
_lock = threading.RLock()


class _Hooks:
    """The hooks, and what they replaced."""

    def __init__(self) -> None:
        self.users = 0
        self.replaced: list[tuple[Any, str, Any]] = []
        self.called: set[type] = set()

    def enter(self) -> None:
        with _lock:
            self.users += 1
            if self.users == 1:
                self._install()

    def leave(self) -> None:
        with _lock:
            self.users -= 1
            if self.users == 0:
                self._remove()

    def _install(self) -> None:
        for base in private.BASES:
            self.put(base, "__getattribute__", _read)
            if getattr(base, "__setattr__") is object.__setattr__:  # noqa: B009
                self.put(base, "__setattr__", _write)
        for base in private.MADE_BY:
            self.put(base, "__init__", _refusing(base.__init__))  # type: ignore[misc]
        self.put(private.TRAINER, "tf", private.TensorFlow(GradientTape=_Tape))
        for module in private.LOOPING:
            self.put(module, "tf", private.TensorFlow(while_loop=while_loop))

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a class or module."""
        self.replaced.append((owner, name, owner.__dict__.get(name, UNBOUND)))
        setattr(owner, name, value)

    def _remove(self) -> None:
        while self.replaced:
            owner, name, old = self.replaced.pop()
            if old is UNBOUND:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
        self.called.clear()


_hooks = _Hooks()
for _base in private.BASES:
    known_by_identity(_base)


@contextlib.contextmanager
def interposed() -> Iterator[None]:
    """Traces of this thread that begin inside see what Keras does."""
    _hooks.enter()
    try:
        with interposing():
            yield
    finally:
        _hooks.leave()


@contextlib.contextmanager
def observed() -> Iterator[None]:
    """Who watches a run in Python on this thread sees the calls of the user's functions that Keras makes, too."""
    _hooks.enter()
    try:
        yield
    finally:
        _hooks.leave()


def _session() -> Session | None:
    session = active()
    return session if session is not None and session.interposed else None


# ------------------------------------------------------------------------------------------------ reading
def _read(owner: Any, name: str) -> Any:
    """``owner.name`` for a Keras object."""
    session = _session()
    if session is None:
        return _seen(owner, name)
    if name.startswith("__"):
        return _get(owner, name)
    if not session.counts["keras"]:
        session.counts["keras"] = 1
        session.guard(Setting("the settings of Keras", private.settings), "equal", private.settings())
    if name in private.BOOKKEEPING:
        return CarriedLosses(_get(owner, name)) if name == "_losses" else _get(owner, name)
    if name == "build":
        return _at_once(_get(owner, name))
    if session.uncertain and name in ("apply", private.FILTERING) and isinstance(owner, keras.optimizers.Optimizer):
        return applied(session, owner, name, _get(owner, name))
    if session.relaxations.shapes and private.reads_static_batch(owner, name):
        fall_back(NeedsValue, "the static size of the batch")
    if name == "get_metrics_result" and private.gives_python_logs(owner, name):
        return _as_numbers(_get(owner, name))
    found = _static(type(owner), name)
    if found is not None and hasattr(type(found), "__set__"):
        if isinstance(found, property) and is_user_function(found.fget):
            return callback_of(found.fget)(owner)
        with summing(name == "losses"):
            return _get(owner, name)
    return _presented(session, owner, name, _field(session, owner, name, found))


reads_plainly(_read)


def _seen(owner: Any, name: str) -> Any:
    """What is read while no trace runs: Keras calls the user's functions in the form that is watched, if anybody watches."""
    value = _get(owner, name)
    if not isinstance(value, (types.FunctionType, types.MethodType)) or not is_user_function(getattr(value, "__func__", value)):
        return value
    kept = name in _get(owner, "__dict__") and name not in private.CALLED_AT_ONCE
    if kept or not sys._getframe(2).f_globals.get("__name__", "").startswith("keras."):
        return value
    return watched(value)


def _as_numbers(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that gives Python numbers in eager, and tensors in a graph, as it is in eager."""
    if is_user_function(getattr(method, "__func__", method)):
        return callback_of(method)

    @functools.wraps(method)
    def numbers() -> dict[str, Any]:
        return {name: PyNumber("float", tf.cast(one, tf.float64)) if _is_number(one) else one for name, one in method().items()}

    return numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and value.shape.rank == 0 and (value.dtype.is_floating or value.dtype.is_integer)


def _static(cls: type, name: str) -> Any:
    """What the classes of an object hold under a name, or None."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _field(session: Session, owner: Any, name: str, found: Any) -> Any:
    """The value of an attribute as the trace sees it; what it was before is guarded."""
    fields = _get(owner, "__dict__")
    if session.is_born(owner):
        return _get(owner, name)
    written = session.store.get(Attribute(owner, name), NOT_STORED)
    if written is not NOT_STORED:
        if written is UNBOUND:
            fields = {}
        else:
            return lowered(written, inside=True)
    if isinstance(owner, keras.Variable) and (name in private.FIXED_IN_VARIABLES or isinstance(found, types.FunctionType)):
        return _get(owner, name)
    source = PlacePart(session.source_of(owner), Attribute, name)
    if name in fields:
        _guard(session, source, fields[name])
        return fields[name]
    if is_user_function(found) or (not (name.startswith("_") and callable(found)) and not isinstance(found, (classmethod, staticmethod))):
        session.guard(source, "identity", UNBOUND)
    if is_user_function(found):
        _guard_class(session, type(owner), name)
    return _get(owner, name)


def _guard(session: Session, source: PlacePart, value: Any) -> None:
    if type(value) in LITERALS:
        session.relaxations.constant.add(source)  # Keras itself computes with it
        session.guard(source, "literal", value)
    elif isinstance(value, CONTAINERS):
        session.guard(source, "contents", frozen_contents(value))
    elif isinstance(value, np.ndarray) and value.size <= SMALL_ARRAY and value.dtype != object:
        session.guard(source, "array", value.copy())
    else:
        session.guard(source, "identity", value)


def _guard_class(session: Session, cls: type, name: str) -> None:
    """Guard a name in a class of the user, since its method may be replaced."""
    holder = next(base for base in cls.__mro__ if name in base.__dict__)
    session.guard(PlacePart(session.source_of(holder), Attribute, name), "identity", holder.__dict__[name])


def _presented(session: Session, owner: Any, name: str, value: Any) -> Any:
    """A value as Keras is to see it: with the user's code in it converted, and as this trace has changed it."""
    if isinstance(value, (types.MethodType, types.FunctionType)):
        if name == "call" and isinstance(owner, keras.Operation):
            return _call_of(owner, value)
        return callback_of(value)
    if isinstance(value, functools.partial):
        return functools.partial(callback_of(value.func), *value.args, **value.keywords)
    if isinstance(value, (list, dict, set)):
        changed = Contents(value) in session.store or Tail(value) in session.store
        return lowered(value) if changed else value
    _convert_calls_of(type(value))
    return value


def callback_of(function: Any) -> Any:
    """A function that Keras is going to call: the user's own are converted when they are called in a trace."""
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        return function
    inner = callback(function, in_text=isinstance(function, types.MethodType))  # as `_seen` shows methods to who watches
    if inner is function:
        return function

    @functools.wraps(function)
    def given(*args: Any, **kwargs: Any) -> Any:
        return inner(*map(_items_of, args), **kwargs) if _session() is not None else function(*args, **kwargs)

    given.__imp2tf_callback__ = function  # type: ignore[attr-defined]
    return given


def _items_of(value: Any) -> Any:
    """An iterator that Keras made, as one of the trace."""
    return call(iter, adopted(list(value))) if type(value) in (zip, map, filter, enumerate) else value


def _convert_calls_of(cls: type) -> None:
    """``value(...)`` is looked up in the class of a value: what the user wrote there is converted while it is traced."""
    if cls in _hooks.called:
        return
    _hooks.called.add(cls)
    holder = next((base for base in cls.__mro__ if "__call__" in base.__dict__), None)
    method: Any = holder.__dict__["__call__"] if holder is not None else None
    if holder is None or not is_user_function(method):
        return

    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = types.MethodType(method, self)
        return function(*args, **kwargs) if _session() is None else callback_of(function)(*args, **kwargs)

    called.__imp2tf_callback__ = method  # type: ignore[attr-defined]
    with _lock:
        _hooks.put(holder, "__call__", called)


def _at_once(build: Callable[..., Any]) -> Callable[..., Any]:
    """Run a method that makes variables once, as plain Python."""

    @functools.wraps(build)
    def built(*args: Any, **kwargs: Any) -> Any:
        with suspended(), tf.init_scope():
            return build(*args, **kwargs)

    return built


# ------------------------------------------------------------------------------------------------ calls
def _call_of(owner: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """The `call` of a layer: Keras changes the exceptions that leave it."""
    inner = callback_of(method)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        session = _session()
        if session is None or in_eager_mode() or not private.tells_arguments():
            return inner(*args, **kwargs)
        with _disguising(session, functools.partial(private.described_call, method, owner, args, kwargs), (args, kwargs)):
            return inner(*args, **kwargs)

    call.__imp2tf_callback__ = method  # type: ignore[attr-defined]
    return call


@contextlib.contextmanager
def _disguising(session: Session, disguise: Callable[[BaseException], BaseException], given: Any) -> Iterator[None]:
    """What the run raises inside is told as Keras tells it, which needs the shapes that only a run may know."""
    tensors = [one for one in tf.nest.flatten(given) if isinstance(one, tf.Tensor)]
    told = all(one.shape.is_fully_defined() for one in tensors)
    session.trying += not told
    session.disguises.append(disguise)
    try:
        yield
    except ProgramRaise as raised:
        fall_back(RaisesUnderTry, f"{type(raised.error).__name__} is raised in the call of a layer")
    finally:
        session.disguises.pop()
        session.trying -= not told


class _Tape(tf.GradientTape):
    """The tape of Keras's own steps: None where nothing connects, not the zeros that a graph's branches give."""

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None,
                 unconnected_gradients: Any = tf.UnconnectedGradients.NONE) -> Any:
        found = super().gradient(target, sources, output_gradients, unconnected_gradients)
        return found if _session() is None else none_where_unconnected(found, target, sources, unconnected_gradients)


def _refusing(init: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor that a trace must not call: an object would be made once instead of at every step."""

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        session = _session()
        if session is not None:
            if not isinstance(self, keras.Operation) or isinstance(self, keras.Layer):
                fall_back(VariableCreated if isinstance(self, keras.Variable) else ForeignCall, f"a {type(self).__name__} is made")
            session.born(self)  # operations are made by functions of Keras, for one call
        init(self, *args, **kwargs)

    made.__signature__ = inspect.signature(init)  # type: ignore[attr-defined]
    return made


# ------------------------------------------------------------------------------------------------ writing
def _write(owner: Any, name: str, value: Any) -> None:
    """``owner.name = value`` for a Keras object, once Keras has done its tracking."""
    session = _session()
    if session is None or name in private.BOOKKEEPING or session.is_born(owner) or hasattr(type(_static(type(owner), name)), "__set__"):
        object.__setattr__(owner, name, value)
    else:
        session.write(Attribute(owner, name), value)

