"""Calls of library code from a trace: what may run, how arguments are lowered, what comes back."""
from __future__ import annotations

import builtins
import collections
import contextlib
import dataclasses
import decimal
import enum
import fractions
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.arithmetic import holds_runtime, run_operation
from imp2tf.compound_specs import DeferredSpec, OneOf
from imp2tf.constants import constant, is_constant_of_run
from imp2tf.containers import new_list
from imp2tf.errors import ForeignCall, NeedsValue, NoSource, fall_back
from imp2tf.exceptions import ProgramRaise, innermost, user_frames
from imp2tf.forcing import computed
from imp2tf.heap import contents
from imp2tf.kinds import is_container, is_user_function
from imp2tf.layer_calls import replaced_calls
from imp2tf.lowering import adopted, lowered, materialized
from imp2tf.opaque import call_library, change_array, keep_apart
from imp2tf.ordering import made_by_program
from imp2tf.plain_functions import plain_function
from imp2tf.purity import (
    CHANGING_ARRAYS,
    TEXT_METHODS,
    changes_first_argument,
    has_plain_new,
    is_impure_tensorflow,
    is_made_plainly,
    is_numpy_function,
    is_pure,
    is_tensorflow,
    library_name,
    works_on_values,
    writes_into_argument,
)
from imp2tf.python_numbers import as_tensor
from imp2tf.session import current
from imp2tf.specs import Constant, Spec
from imp2tf.stacked_lists import StackedList, call_with_list
from imp2tf.values import Deferred, Growable, PyNumber, StandIn, call_method

__all__ = ["call_foreign", "call_pure", "construct", "register_host_method"]

Callback = Callable[..., Any]
MADE_OF_VALUES = (np.generic, complex, decimal.Decimal, fractions.Fraction, bytes)
TEXTS = (str, repr, ascii, format)
LIBRARIES = ("tensorflow", "keras", "numpy", "functools", "enum")
HOST_RUN = {tf.py_function: "func", tf.numpy_function: "func", tf.compat.v1.py_func: "func", tf.data.Dataset.from_generator: "generator"}


HostMethod = Callable[[Any, str, tuple[Any, ...], dict[str, Any]], Any]
_host_methods: list[tuple[Callable[[Any], bool], tuple[str, ...], HostMethod]] = []


def register_host_method(owns: Callable[[Any], bool], names: tuple[str, ...]) -> Callable[[HostMethod], HostMethod]:
    """Methods of library objects that the run calls in program order: `owns` tells the objects, `names` the methods."""

    def register(method: HostMethod) -> HostMethod:
        _host_methods.append((owns, names, method))
        return method

    return register


def _host_method(function: Any) -> HostMethod | None:
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    return next((method for owns, names, method in _host_methods if name in names and owns(owner)), None)


def call_foreign(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    """Call library code; a call whose effects cannot be put in the graph falls back."""
    if writes_into_argument(function, args, kwargs):
        fall_back(ForeignCall, f"{library_name(function)} writes into an array that it is given")
    if is_numpy_function(function) and any(holds_runtime(materialized(value)) for value in (*args, *kwargs.values())):
        return computed(function, [materialized(value) for value in args], {name: materialized(value) for name, value in kwargs.items()})
    owner = getattr(function, "__self__", None)
    if changes_first_argument(function) and args and isinstance(args[0], (np.ndarray, Deferred)):
        return change_array(function, *map(materialized, args), **{name: materialized(value) for name, value in kwargs.items()})
    if isinstance(owner, np.ndarray) and function.__name__ in CHANGING_ARRAYS:
        return change_array(call_method, owner, function.__name__, *args, **kwargs)
    if _is_base_init(function):
        return function(*args, **kwargs)
    if function is object.__new__:
        return current().born(run_operation(function, *args, **kwargs))
    method = _host_method(function)
    if method is not None:
        return method(function.__self__, function.__name__, args, kwargs)
    if is_tensorflow(function):
        if is_impure_tensorflow(function) and not current().is_born(getattr(function, "__self__", None)):
            fall_back(ForeignCall, f"{library_name(function)} has effects outside the graph")
        return _call_tensorflow(function, args, kwargs, callback)
    if isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>":
        fall_back(NoSource, f"the source of {library_name(function)} is not available: it was made by exec")
    if not is_pure(function):
        return call_library(function, args, kwargs)
    return call_pure(function, args, kwargs, callback)


def _is_base_init(function: Any) -> bool:
    """``super().__init__`` that ends in a builtin base class, of an object that this trace made."""
    owner = getattr(function, "__self__", None)
    return getattr(function, "__name__", "") in ("__init__", "__init_subclass__") and isinstance(
        function, (types.MethodWrapperType, types.BuiltinFunctionType)) and current().is_born(owner)


def call_pure(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback = lambda value: value) -> Any:
    """Call a pure function while tracing, or after the run on what only the run knows."""
    if works_on_values(function):
        args = tuple(_as_library_sees(function, value) for value in args)
    if any(map(_is_outer_object, (*args, *kwargs.values()))):
        fall_back(ForeignCall, f"{library_name(function)} is given an object whose attributes it may read")
    _refuse_outer_iterators(function, args, kwargs)
    plain_args = [callback(materialized(value)) for value in args]
    plain_kwargs = {name: callback(materialized(value)) for name, value in kwargs.items()}
    values = (*plain_args, *plain_kwargs.values())
    if holds_runtime(getattr(function, "__self__", None)):
        return adopted(run_operation(function, *plain_args, **plain_kwargs))  # a named tuple: its items are values of the trace
    if any(isinstance(value, (Deferred, PyNumber)) for value in values) or (works_on_values(function) and any(map(_holds_python, values))):
        return computed(function, plain_args, plain_kwargs)
    return adopted(run_operation(function, *plain_args, **plain_kwargs))


def _as_library_sees(function: Any, value: Any) -> Any:
    """An argument; an iteration of this trace as the list of its items, for functions that take all items of any iterable."""
    is_join = isinstance(getattr(function, "__self__", None), (str, bytes)) and function.__name__ == "join"
    takes_all = is_join or getattr(function, "__module__", None) in ("math", "statistics")
    if isinstance(value, StandIn):
        value = current().run.call(list, value) if takes_all and value.ends else value.refuse()
    found = contents(value) if is_join and isinstance(value, list) else None
    return Deferred(list, (new_list(found),)) if isinstance(found, Growable) and _is_text(found.element) else value


def _is_text(element: Spec) -> bool:
    """Whether the elements of a list are text, whatever the run finds."""
    if isinstance(element, OneOf):
        return all(map(_is_text, element.parts))
    if isinstance(element, Constant):
        return isinstance(element.value, str)
    if not isinstance(element, DeferredSpec):
        return False
    if element.function is call_method:
        name = element.parts[1].value if isinstance(element.parts[1], Constant) else ""
        return name == "decode" or (name in TEXT_METHODS and _is_text(element.parts[0]))
    if element.function in (operator.add, operator.mul, operator.mod):
        return _is_text(element.parts[0]) or (element.function is not operator.mod and _is_text(element.parts[1]))
    return element.function in TEXTS or element.function.__name__ == "_join"


def _is_outer_object(value: Any) -> bool:
    """An object of the program that is older than the trace: what library code reads of it would not be guarded."""
    if current().is_born(value) or is_container(value) or isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and type(value).__module__.partition(".")[0] not in LIBRARIES


def _refuse_outer_iterators(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if hasattr(type(value), "__next__") and not current().is_born(value) and not isinstance(value, StandIn):
            fall_back(ForeignCall, f"{library_name(function)} is given an iterator that it may advance")


def _holds_python(value: Any, level: int = 0) -> bool:
    """Whether a value holds Python values that only the run knows."""
    if isinstance(value, (tuple, list, dict, collections.deque)) and level < 4:
        return any(_holds_python(item, level + 1) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (Deferred, PyNumber))


def _call_tensorflow(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    if isinstance(function, types.FunctionType) and function in HOST_RUN:
        return _call_python(function, args, kwargs)
    if is_constant_of_run(function, args, kwargs):
        return constant(*args, **kwargs)
    lowered_args = [callback(lowered(value)) for value in args]
    lowered_kwargs = {name: callback(lowered(value)) for name, value in kwargs.items()}
    if any(isinstance(value, StackedList) for value in (*lowered_args, *lowered_kwargs.values())):
        return call_with_list(function, lowered_args, lowered_kwargs)
    numbers = any(isinstance(value, PyNumber) for value in (*lowered_args, *lowered_kwargs.values()))
    with keras_calls(function, callback):
        if not numbers:
            return adopted(run_operation(function, *lowered_args, **lowered_kwargs))
        return adopted(_call_with_numbers(function, lowered_args, lowered_kwargs))


def _call_python(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation that calls a function of the program when the graph runs."""
    session, name = current(), HOST_RUN[function]
    session.outside.unrepeatable = "Python is called"
    session.python_calls.append(("Python is called", innermost(user_frames())))
    given = args[0] if args else kwargs.get(name)
    if given is None:
        return adopted(run_operation(function, *args, **kwargs))
    if is_user_function(getattr(given, "__func__", given)) or not isinstance(given, (types.FunctionType, types.BuiltinFunctionType, type)):
        keep_apart(session, f"{library_name(function)} calls code of the program", ())
    rest = [lowered(value) for value in args[1:]]
    named = {key: lowered(value) for key, value in kwargs.items() if key != name}
    return adopted(run_operation(function, plain_function(given), *rest, **named))


def _call_with_numbers(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run-time numbers take the dtype TensorFlow gives them; where it refuses that, the dtype of the tensors beside them."""
    try:
        with made_by_program():
            return function(*args, **kwargs)
    except (TypeError, ValueError):
        dtypes = [value.dtype for value in (*args, *kwargs.values()) if isinstance(value, (tf.Tensor, tf.Variable))]
        dtype = next((one for one in dtypes if one.is_floating or one.is_complex), dtypes[0] if dtypes else None)
        typed = [_typed(value, dtype) for value in args]
        return run_operation(function, *typed, **{name: _typed(value, dtype) for name, value in kwargs.items()})


def _typed(value: Any, dtype: tf.DType | None) -> Any:
    if not isinstance(value, PyNumber):
        return value
    if dtype is None or value.kind == "bool" or (value.kind == "float" and not dtype.is_floating):
        return as_tensor(value)
    return tf.cast(value.tensor, dtype)


def construct(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    """``cls(*args, **kwargs)`` for a class whose ``__init__`` is not the user's own Python."""
    if is_tensorflow(cls):
        return _call_tensorflow(cls, args, kwargs, callback)
    member = _member(cls, args) if len(args) == 1 and not kwargs else None
    if member is not None:
        return member
    if is_pure(cls) or dataclasses.is_dataclass(cls) or _is_plain_class(cls):
        if not _keeps_values(cls):
            _refuse_outer_iterators(cls, args, kwargs)
        if issubclass(cls, MADE_OF_VALUES) and any(holds_runtime(materialized(value)) for value in (*args, *kwargs.values())):
            return computed(cls, [materialized(value) for value in args], {name: materialized(value) for name, value in kwargs.items()})
        _refuse_exceptions_by_value(cls, args)
        made = _with_fields(cls, args, kwargs) if _keeps_values(cls) else run_operation(cls, *map(materialized, args), **kwargs)
        adopted(made)
        if dataclasses.is_dataclass(cls):
            for field in vars(made).values():
                adopted(field)
        return made
    return call_library(cls, args, kwargs)


def _member(cls: Any, args: tuple[Any, ...]) -> Any:
    """What an enum gives for one of its members, or for a literal that is the value of one."""
    if type(cls).__call__ is not enum.EnumMeta.__call__ or not isinstance(args[0], (cls, str, int, float)):
        return None
    if isinstance(args[0], cls):
        return args[0]
    return next((one for one in cls if isinstance(one._value_, (str, int, float)) and one._value_ == args[0]), None)


def _with_fields(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return cls(*args, **kwargs)
    except TypeError as error:
        if not dataclasses.is_dataclass(cls) or error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        refused = error  # these arguments do not fit the generated ``__init__``
    raise ProgramRaise(refused)


def _refuse_exceptions_by_value(cls: type, args: tuple[Any, ...]) -> None:
    """Exceptions whose constructor looks at the values that it is given."""
    if issubclass(cls, getattr(builtins, "BaseExceptionGroup", ())):
        fall_back(NeedsValue, f"a {cls.__name__} is made")
    if cls is OSError and len(args) > 1 and holds_runtime(args[0]):
        fall_back(NeedsValue, "the class of an OSError is found by its number")
    if issubclass(cls, UnicodeError) and holds_runtime(args):
        fall_back(NeedsValue, f"{cls.__name__} is given values of the run")


def _keeps_values(cls: type) -> bool:
    return issubclass(cls, (tuple, BaseException)) or dataclasses.is_dataclass(cls)


def _is_plain_class(cls: type) -> bool:
    """A class without any construction code of its own."""
    return cls.__init__ is object.__init__ and has_plain_new(cls) and is_made_plainly(cls)  # type: ignore[misc]


def keras_calls(function: Any, callback: Callback) -> contextlib.AbstractContextManager[None]:
    """While a Keras layer is called, the ``call`` methods of the user's layers inside it are converted ones."""
    if current().interposed:
        return contextlib.nullcontext()
    return replaced_calls(function, functools.partial(callback, in_text=True))
