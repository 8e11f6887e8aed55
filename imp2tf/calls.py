"""Calls from converted code: user code is converted and traced inline, library code is called as it is.

Library code is impure unless it is listed as pure: what is not listed makes the call run as Python, since its effects
would otherwise happen while tracing only.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import time
import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf import conversion, deferred_calls, foreign, lowering
from imp2tf.alternatives import over, over_inside, raise_error, union_inside
from imp2tf.arithmetic import run_operation
from imp2tf.container_methods import ContainerMethod, container_method
from imp2tf.disabled import is_disabled
from imp2tf.errors import Fallback, ForeignCall, NeedsValue, SeveralKinds, UnsupportedSyntax, fall_back
from imp2tf.exceptions import ProgramRaise, innermost, user_frames
from imp2tf.kinds import is_drop_in, is_user_function
from imp2tf.opaque import call_disabled
from imp2tf.paths import scope
from imp2tf.places import Attribute
from imp2tf.plain_functions import plain_twin
from imp2tf.purity import has_plain_new, is_made_plainly
from imp2tf.refusals import as_eager, eager_error
from imp2tf.session import Session, active, current, out_of_text, resumed, suspended
from imp2tf.sources import Member
from imp2tf.tf_compat import builds_inside, in_eager_mode
from imp2tf.values import LOST, Deferred, GeneratorCall, Sentinel, Union

__all__ = ["Activation", "InForeignGraph", "add_substitute", "call", "call_in_text", "callback", "invoke", "replace_call",
           "replace_call_of", "replace_calls_of_code", "replace_calls_of_objects", "replace_construction"]

MAX_RECURSION_IN_REGIONS = 6

_replacements: dict[Any, Callable[..., Any]] = {}
_substitutes: dict[Any, Callable[..., Any]] = {}
_named: dict[tuple[str, str], Callable[..., Any]] = {}
_of_class: dict[type, Callable[..., Any]] = {}
_of_code: dict[types.CodeType, Callable[..., Any]] = {}
_constructions: list[tuple[Callable[[Any], bool], Callable[..., Any]]] = []


def replace_call_of(module: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like `replace_call`, for a function of a library that may never be imported; the replacement is given it as first argument."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        _named[module, name] = replacement
        return replacement

    return register


def replace_call(*originals: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Inside a trace, calls of `originals` go to the decorated function, which must return what they would."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        for original in originals:
            _replacements[original] = replacement
        return replacement

    return register


def replace_calls_of_code(code: types.CodeType) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like `replace_call`, for all functions with this code; the replacement is given the function first."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        _of_code[code] = replacement
        return replacement

    return register


def replace_construction(test: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Inside a trace, objects of classes that pass a test are made by the decorated function, of the class and its arguments."""

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        _constructions.append((test, make))
        return make

    return register


def replace_calls_of_objects(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like `replace_call`, for calls of the objects of a class; the replacement is given the object first."""

    def register(replacement: Callable[..., Any]) -> Callable[..., Any]:
        _of_class[cls] = replacement
        return replacement

    return register


def add_substitute(original: Any, twin: Callable[..., Any]) -> None:
    """Inside a trace, calls of `original` go to a function of the user, but for those that it makes itself."""
    _substitutes[original] = twin


def _substitute_of(function: Any) -> Callable[..., Any] | None:
    """The user's function that stands for `function`, or for the method that it is, with its object."""
    if not _substitutes:
        return None
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType) or function in _substitutes:
        return _as_twin(function) if function in _substitutes else None
    method = getattr(function, "__func__", None) or getattr(type(owner), getattr(function, "__name__", ""), None)
    return functools.partial(_as_twin(method), owner) if method in _substitutes else None


def _as_twin(original: Any) -> Callable[..., Any]:
    def twin(*args: Any, **kwargs: Any) -> Any:
        inside = current().outside.substituting
        if original in inside:
            return _call_object(original, args, kwargs)
        inside.append(original)
        try:
            return call(_substitutes[original], *args, **kwargs)
        finally:
            inside.remove(original)

    return twin


def replacement_of(function: Any) -> Callable[..., Any] | None:
    """What stands for `function`, or for the function of a method, inside a trace, if anything does."""
    try:
        twin = _substitute_of(function)
        if twin is not None:
            return twin
        found = _replacements.get(function)
        if found is None and isinstance(function, types.MethodType) and function.__func__ in _replacements:
            return functools.partial(_replacements[function.__func__], function.__self__)
        if found is None and isinstance(function, types.MethodType) and getattr(function.__func__, "__code__", None) in _of_code:
            return functools.partial(_of_code[function.__func__.__code__], function.__func__, function.__self__)
    except TypeError:  # not hashable, so not registered
        return None
    if found is None and isinstance(function, types.FunctionType):
        named = _named.get((function.__module__, function.__qualname__)) or _of_code.get(function.__code__)
        return functools.partial(named, function) if named is not None else None
    if found is None and type(function) in _of_class:
        return functools.partial(_of_class[type(function)], function)
    return found


@dataclasses.dataclass(frozen=True)
class Activation:
    """One converted call that is being traced."""

    function: types.FunctionType
    regions: int


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` as converted code does it."""
    with out_of_text():
        return call_in_text(function, *args, **kwargs)


def call_in_text(function: Any, *args: Any, **kwargs: Any) -> Any:
    """As `call`, for a call that stands in the text of the function that is traced: a watched run of the program sees it."""
    if active() is None:
        return function(*args, **kwargs)
    if isinstance(function, Union):
        return over(function, lambda one: call_in_text(one, *args, **kwargs))
    if isinstance(function, ContainerMethod):
        return container_method(function, args, kwargs)
    if isinstance(function, Deferred):
        return deferred_calls.call_deferred(function, args, kwargs)
    if isinstance(function, Sentinel):
        fall_back(SeveralKinds, f"a call of {function!r}")
    if not callable(function):
        raise_error(eager_error(as_eager(function)))
    replacement = replacement_of(function)
    if replacement is not None:
        return replacement(*args, **kwargs)
    return _call_object(function, args, kwargs)


def _call_object(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if is_disabled(function):
        return _noted(lambda: call_disabled(function, args, kwargs))
    if isinstance(function, types.FunctionType) and hasattr(function, "__imp2tf_callback__"):
        return call(function.__imp2tf_callback__, *args, **kwargs)
    if is_drop_in(function):
        return call_in_text(function.__imp2tf_function__, *args, **kwargs)
    if isinstance(function, functools.partial):
        return call_in_text(function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if isinstance(function, types.MethodType) and type(function.__self__).__module__.startswith("imp2tf."):
        return function(*args, **kwargs)  # an object of the trace that stands for one of Python's
    if isinstance(function, types.MethodType) and not _is_library_method(function):
        return call_in_text(function.__func__, function.__self__, *args, **kwargs)
    if isinstance(function, types.FunctionType) and (is_converted(function) or is_user_function(function)):
        return _invoke(function, args, kwargs)
    if isinstance(function, type):
        return _construct(function, args, kwargs)
    method = inspect.getattr_static(type(function), "__call__", None)
    method = getattr(method, "__imp2tf_callback__", method)
    if is_user_function(method) or getattr(method, "__code__", None) in _of_code:
        return call_in_text(method, function, *args, **kwargs)
    return _call_library(function, args, kwargs)


def _is_library_method(method: types.MethodType) -> bool:
    function = method.__func__
    return not (is_user_function(function) or is_converted(function) or is_drop_in(function) or is_disabled(function))


def _call_library(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    place = next((i for i, value in enumerate(args) if isinstance(value, Union)), None)
    if place is not None:
        return over(args[place], lambda one: call_in_text(function, *args[:place], one, *args[place + 1:], **kwargs))
    inside = next((i for i, value in enumerate(args) if union_inside(value) is not None), -1)
    if inside >= 0:
        return over_inside(args[inside], lambda one: call_in_text(function, *args[:inside], one, *args[inside + 1:], **kwargs))
    name = next((key for key, value in kwargs.items() if isinstance(value, Union)), None)
    if name is not None:
        return over(kwargs[name], lambda one: call_in_text(function, *args, **{**kwargs, name: one}))
    return _noted(lambda: foreign.call_foreign(function, args, kwargs, callback))


def _noted(call_python: Callable[[], Any]) -> Any:
    """A call that may need Python. Where tracing is to find all such calls, it goes on without the result."""
    refused = current().refused
    if refused is None:
        return call_python()
    try:
        return call_python()
    except Fallback as fallback:
        if not isinstance(fallback.error, ForeignCall):
            raise
        fallback.error.location = fallback.error.location or innermost(user_frames())
        refused.append(fallback.error)
    return LOST


# ------------------------------------------------------------------------------------------------ user code
def is_converted(function: Any) -> bool:
    """Whether a function is converted code."""
    return getattr(function, "__imp2tf_converted__", False)


def converted_of(function: types.FunctionType) -> types.FunctionType:
    """The converted form of a user's function."""
    return function if is_converted(function) else conversion.convert_function(function)


def is_generator_function(function: types.FunctionType) -> bool:
    """Whether calling a user's function makes a generator."""
    return bool(function.__code__.co_flags & inspect.CO_GENERATOR) or getattr(function, "__imp2tf_generator__", False)


def run_generator(generator: GeneratorCall, consumer: Any) -> None:
    """Run the body of a generator, which gives its items to `consumer`; once it has run it is empty."""
    if generator.spent is not False:
        if generator.spent is not True:
            fall_back(UnsupportedSyntax, "a generator is used that may have been used before")
        return
    current().write(Attribute(generator, "spent"), True)
    with contextlib.nullcontext() if generator.in_text else out_of_text():
        _trace(generator.function, (consumer, *generator.args), generator.kwargs)


def _generator_call(function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GeneratorCall:
    if not is_converted(function):
        run_operation(function, *args, **kwargs)  # makes a generator that never runs, or refuses the arguments
    made: GeneratorCall = current().born(GeneratorCall(function, args, kwargs, current().in_text))
    return made


def invoke(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a call of a function that does in Python what one of the library does."""
    with out_of_text():
        return _invoke(function, args, kwargs)


def _invoke(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a call of a user's function inline; the body of a generator function runs when the generator is consumed."""
    return _generator_call(function, args, kwargs) if is_generator_function(function) else _trace(function, args, kwargs)


def _trace(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    session = current()
    if session.deadline is not None and time.monotonic() > session.deadline:
        raise Fallback(NeedsValue("a graph for tensors of any shape is much larger than one for this shape", avoidable=False))
    nested = [one for one in session.activations if one.function.__code__ is function.__code__]
    if len({one.regions for one in nested}) > MAX_RECURSION_IN_REGIONS:
        raise Fallback(UnsupportedSyntax(f"{function.__name__} calls itself under a condition on a tensor", avoidable=False))
    if not session.is_born(function):
        _guard_function(session, function)
    converted = converted_of(function)
    if session.relaxations.profile is not None:
        session.relaxations.profile.updates |= getattr(converted, "__imp2tf_updates__", frozenset())
        session.relaxations.profile.recursive |= bool(nested)
    session.activations.append(Activation(function, session.regions))
    try:
        return converted(*args, **kwargs)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        refused = error  # these arguments do not fit
    finally:
        session.activations.pop()
    raise ProgramRaise(refused)


def _guard_function(session: Session, function: types.FunctionType) -> None:
    """A function's code and defaults may be replaced between calls."""
    source = session.source_of(function)
    session.guard(Member(source, "__code__"), "identity", function.__code__)
    session.guard(Member(source, "__defaults__"), "identity", function.__defaults__)
    if function.__kwdefaults__:
        session.guard(Member(source, "__kwdefaults__"), "equal_identity", dict(function.__kwdefaults__))


class InForeignGraph(Fallback):
    """A user's function has an effect in a graph that library code builds: nobody would carry it out of there."""


def callback(function: Any, in_text: bool = False) -> Any:
    """A user's function that library code is going to call while it traces: converted, and watched for effects.

    `in_text`: a watched run of the program sees what the function calls, too (`call_in_text`).
    """
    code = function.__func__ if isinstance(function, types.MethodType) else function
    if not (is_user_function(code) or is_converted(code)):
        return function

    outer, plain = current(), plain_twin(function)

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        session = active()
        if session is not None:
            return _called_back(session, function, args, kwargs, in_text)
        if not builds_inside(outer.graph):
            return (plain or function)(*args, **kwargs)
        session = outer.in_another_thread()  # a replica of tf.distribute
        with resumed(session), scope():
            try:
                return _called_back(session, function, args, kwargs, in_text=True)  # what replicas do is not repeated
            finally:
                outer.learn_from(session)

    traced.__imp2tf_callback__ = function  # type: ignore[attr-defined]
    return traced


def _called_back(session: Session, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_text: bool) -> Any:
    """A call by library code of a function that was given to it."""
    caller = call_in_text if in_text else call
    if in_eager_mode():
        with suspended():
            return function(*args, **kwargs)
    if tf.compat.v1.get_default_graph() is session.region_graphs[-1]:
        return lowering.lowered(caller(function, *args, **kwargs))
    with session.log() as log, scope():
        called = len(session.python_calls)
        result = caller(function, *args, **kwargs)
        if any(session.outlives(place) for place in log):
            raise InForeignGraph(ForeignCall(f"{function.__name__} changes Python state while library code calls it"))
        if session.interposed and len(session.python_calls) > called:
            raise InForeignGraph(ForeignCall(f"{function.__name__} calls Python while library code calls it"))
        return lowering.lowered(result)


# ------------------------------------------------------------------------------------------------ classes
def _construct(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    init = cls.__init__  # type: ignore[misc]
    if has_plain_new(cls) and is_user_function(init) and is_made_plainly(cls):
        made = current().born(run_operation(object.__new__, cls))
        (call_in_text if type(cls) is type else call)(init, made, *args, **kwargs)
        return made
    if isinstance(cls, type) and is_user_function(cls.__new__) and is_made_plainly(cls) and not issubclass(cls, BaseException):
        return _made_by_new(cls, args, kwargs)
    if isinstance(cls, type) and issubclass(cls, BaseException) and is_user_function(init):
        made = current().born(cls.__new__(cls, *args, **kwargs))
        call(init, made, *args, **kwargs)
        return made
    make = next((make for test, make in _constructions if test(cls)), None)
    return foreign.construct(cls, args, kwargs, callback) if make is None else make(cls, args, kwargs)


def _made_by_new(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An object of a class whose ``__new__`` is the program's; ``__init__`` runs if it gives an object of the class."""
    made = call(cls.__new__, cls, *args, **kwargs)
    if isinstance(made, Union):
        fall_back(NeedsValue, f"{cls.__name__}.__new__ gives one of several objects")
    init = type(made).__init__
    if isinstance(made, cls) and is_user_function(init):
        call(init, made, *args, **kwargs)
    return made
