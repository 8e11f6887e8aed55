"""Calls of library code from a trace: what may run, how arguments are lowered, what comes back."""
from __future__ import annotations

import contextlib
import dataclasses
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.alternatives import over
from imp2tf.arithmetic import as_tensor, holds_runtime, run_operation
from imp2tf.arrays import TracedArray
from imp2tf.dict_views import DictView
from imp2tf.errors import Contents, ForeignCall, NeedsValue, NoSource, fall_back
from imp2tf.exceptions import innermost, user_frames
from imp2tf.forcing import RunArray, computed, forced, kept_class, tensor_of
from imp2tf.growable import compact, growable_length
from imp2tf.heap import contents, is_container, is_user_function
from imp2tf.opaque import call_library, call_method_of_kept
from imp2tf.purity import (
    MUTATING_ARRAY_METHODS,
    MUTATING_CONTAINER_METHODS,
    has_plain_new,
    is_impure_tensorflow,
    is_numpy_function,
    is_pure,
    is_tensorflow,
    writes_into_argument,
)
from imp2tf.region import leave_to_python_if, select, stop_if
from imp2tf.results import Kept
from imp2tf.session import current
from imp2tf.specs import Dense, Number
from imp2tf.values import Deferred, GeneratorCall, Growable, PyNumber, StandIn, Table, Union, call_method, numpy_value

__all__ = ["call_deferred", "call_foreign", "construct", "lowered", "materialized", "may_change", "method_of_deferred", "numpy_value",
           "register_host_method"]

Callback = Callable[[Any], Any]
LIBRARIES = ("tensorflow", "keras", "numpy", "functools", "enum")
HOST_RUN = (tf.py_function, tf.numpy_function, tf.compat.v1.py_func)


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
        fall_back(ForeignCall, f"{_name(function)} writes into an array that it is given")
    if is_numpy_function(function) and any(holds_runtime(materialized(value)) for value in (*args, *kwargs.values())):
        return computed(function, [materialized(value) for value in args], {name: materialized(value) for name, value in kwargs.items()})
    if _is_base_init(function):
        return function(*args, **kwargs)
    method = _host_method(function)
    if method is not None:
        return method(function.__self__, function.__name__, args, kwargs)
    if is_tensorflow(function):
        if is_impure_tensorflow(function) and not current().is_born(getattr(function, "__self__", None)):
            fall_back(ForeignCall, f"{_name(function)} has effects outside the graph")
        return _call_tensorflow(function, args, kwargs, callback)
    if isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>":
        fall_back(NoSource, f"the source of {_name(function)} is not available: it was made by exec")
    if not is_pure(function):
        return call_library(function, args, kwargs)
    return _call_pure(function, args, kwargs, callback)


def _is_base_init(function: Any) -> bool:
    """``super().__init__`` that ends in a builtin base class, of an object that this trace made."""
    owner = getattr(function, "__self__", None)
    return getattr(function, "__name__", "") in ("__init__", "__init_subclass__") and isinstance(
        function, (types.MethodWrapperType, types.BuiltinFunctionType)) and current().is_born(owner)


def _name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)


def _call_pure(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    if any(map(_is_outer_object, (*args, *kwargs.values()))):
        fall_back(ForeignCall, f"{_name(function)} is given an object whose attributes it may read")
    _refuse_outer_iterators(function, args, kwargs)
    plain_args = [callback(materialized(value)) for value in args]
    plain_kwargs = {name: callback(materialized(value)) for name, value in kwargs.items()}
    for value in (*plain_args, *plain_kwargs.values()):
        if isinstance(value, (Deferred, PyNumber)):
            if not _gives_text(function) and not isinstance(value, Deferred):
                _needs_value(function)
            return computed(function, plain_args, plain_kwargs)
    return adopted(run_operation(function, *plain_args, **plain_kwargs))


def _is_outer_object(value: Any) -> bool:
    """An object of the program that is older than the trace: what library code reads of it would not be guarded."""
    if current().is_born(value) or is_container(value) or isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and type(value).__module__.partition(".")[0] not in LIBRARIES


def _refuse_outer_iterators(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if hasattr(type(value), "__next__") and not current().is_born(value) and not isinstance(value, StandIn):
            fall_back(ForeignCall, f"{_name(function)} is given an iterator that it may advance")


def _gives_text(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), (str, bytes))


def _needs_value(function: Any) -> Any:
    return fall_back(NeedsValue, f"{_name(function)} needs the value of something known at run time only")


def _call_tensorflow(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    if function in HOST_RUN:
        current().outside.unrepeatable = "Python is called"
        current().python_calls.append(("Python is called", innermost(user_frames())))
        return adopted(run_operation(function, *args, **kwargs))
    if function is tf.constant and isinstance(args[0] if args else kwargs.get("value"), Deferred):
        return _constant_of_array(*args, **kwargs)
    lowered_args = [callback(lowered(value)) for value in args]
    lowered_kwargs = {name: callback(lowered(value)) for name, value in kwargs.items()}
    if any(isinstance(value, StackedList) for value in (*lowered_args, *lowered_kwargs.values())):
        return _call_with_list(function, lowered_args, lowered_kwargs)
    numbers = any(isinstance(value, PyNumber) for value in (*lowered_args, *lowered_kwargs.values()))
    with keras_calls(function, callback):
        if not numbers:
            return adopted(run_operation(function, *lowered_args, **lowered_kwargs))
        return adopted(_call_with_numbers(function, lowered_args, lowered_kwargs))


def _constant_of_array(value: Deferred, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    """``tf.constant(array)``."""
    del name
    made = run_operation(tf.convert_to_tensor, lowered(value), dtype if dtype is None else tf.as_dtype(dtype))
    return made if shape is None else run_operation(tf.broadcast_to, made, shape)


def _call_with_numbers(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Run-time numbers take the dtype TensorFlow gives them; where it refuses that, the dtype of the tensors beside them."""
    try:
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


# ------------------------------------------------------------------------------------------------ arguments
def lowered(value: Any, inside: bool = False) -> Any:
    """A value as TensorFlow can take it: containers by their contents, run-time numbers inside them as tensors."""
    if isinstance(value, PyNumber):
        return as_tensor(value) if inside else value
    if isinstance(value, Union):
        return _one_tensor(value)
        fall_back(NeedsValue, f"TensorFlow is given {value!r}")
    if isinstance(value, Deferred):
        found = tensor_of(value)
        return RunArray(found) if isinstance(found, tf.Tensor) else lowered(found, inside)
    if is_container(value):
        return _lowered_container(value, inside)
    if type(value) is tuple or isinstance(value, tuple):
        items = [lowered(item, inside=True) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, slice):
        return slice(*[lowered(part, inside=True) for part in (value.start, value.stop, value.step)])
    if isinstance(value, DictView):
        return value.of(lowered(value.owner, inside))
    if isinstance(value, GeneratorCall):
        value.refuse()
    if isinstance(value, TracedArray):
        return value.functional() if current().embedded else fall_back(ForeignCall, "TensorFlow is given a TensorArray")
    return value


def _one_tensor(union: Union) -> tf.Tensor:
    """Tensors, variables and floats of one dtype as the tensor that TensorFlow makes of any of them."""
    values = [one for one in union.alternatives if not (type(one) is float or (isinstance(one, PyNumber) and one.kind == "float"))]
    dtypes = {tf.as_dtype(one.dtype) for one in values if isinstance(one, tf.__internal__.types.Tensor)}
    if len(dtypes) != 1 or not all(isinstance(one, tf.__internal__.types.Tensor) for one in values):
        fall_back(NeedsValue, f"TensorFlow is given {union!r}")
    dtype = dtypes.pop()
    if len(values) < len(union.alternatives) and not dtype.is_floating:
        fall_back(NeedsValue, f"TensorFlow is given {union!r}")
    found = over(union, lambda one: tf.cast(one.tensor, dtype) if isinstance(one, PyNumber) else tf.convert_to_tensor(one, dtype))
    return found if isinstance(found, tf.Tensor) else fall_back(NeedsValue, f"TensorFlow is given {union!r}")


def _lowered_container(value: Any, inside: bool) -> Any:
    found = contents(value)
    if isinstance(found, Growable):
        return _stacked(found, inside)
    if isinstance(found, (Table, Union)):
        fall_back(Contents, "TensorFlow is given a container of unknown contents")
    if isinstance(found, dict):
        return _same_mapping(value, {key: lowered(item, inside=True) for key, item in found.items()})
    if isinstance(found, set):
        return found
    return [lowered(item, inside=True) for item in found]


def _same_mapping(like: Any, items: dict[Any, Any]) -> Any:
    return items if type(like) is dict or not hasattr(type(like), "fromkeys") else _rebuilt_mapping(like, items)


def _rebuilt_mapping(like: Any, items: dict[Any, Any]) -> Any:
    made = like.copy()
    made.clear()
    made.update(items)
    return made


def _stacked(found: Growable, inside: bool) -> Any:
    """A list of run-time length, for functions that take a list or the tensor of its elements alike."""
    element = found.element
    if not isinstance(element, (Dense, Number)):
        fall_back(Contents, "TensorFlow is given a list of run-time length whose elements are no tensors of one dtype")
    if inside:
        fall_back(Contents, "TensorFlow is given a list of run-time length inside another container")
    return StackedList(found)


class StackedList:
    """Marks a growable list among the lowered arguments; only functions that know it may take it."""

    def __init__(self, found: Growable) -> None:
        self.found = found

    def stack(self) -> tf.Tensor:
        """All elements as one tensor."""
        (dtype, shape), = self.found.element.components()
        known = shape.as_list() if shape.is_fully_defined() else -1
        handle = compact(self.found).handles[1]
        stacked = tf.raw_ops.TensorListStack(input_handle=handle, element_shape=known, element_dtype=dtype)
        if shape.rank is not None:
            stacked.set_shape([None, *shape.as_list()])
        return stacked


TAKES_STACKED = (tf.convert_to_tensor, tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod, tf.cast, tf.shape,
                 tf.reduce_any, tf.reduce_all, tf.identity, tf.sort, tf.argmax, tf.argmin, tf.cumsum, tf.reverse, tf.squeeze, tf.size)


def _call_with_list(function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a TensorFlow function on a list of run-time length, by the tensor of its elements."""
    grown = next((value for value in args[:1] if isinstance(value, StackedList)), None)
    rest = (*args[1:], *kwargs.values())
    if grown is None or any(isinstance(value, StackedList) for value in rest):
        fall_back(Contents, f"{_name(function)} is given a list of run-time length")
    _stop_if_refused_empty(function, grown, args[1:], kwargs)
    if function is tf.ragged.stack and not rest:
        return _ragged(grown)
    if function is tf.concat and rest:
        return run_operation(_concat, grown, *args[1:], **kwargs)
    stacked = grown.stack()
    if function is tf.add_n and not rest:
        return tf.reduce_sum(stacked, 0)
    if function is tf.stack:
        return _stack(stacked, *args[1:], **kwargs)
    if function in TAKES_STACKED:
        return run_operation(function, stacked, *args[1:], **kwargs)
    return fall_back(Contents, f"{_name(function)} is given a list of run-time length")


def _stack(stacked: tf.Tensor, axis: int = 0, name: str | None = None) -> tf.Tensor:
    del name
    if axis == 0:
        return stacked
    rank = stacked.shape.rank
    if rank is None:
        fall_back(Contents, "tf.stack of a list of run-time length along another axis")
    moved = list(range(1, rank))
    moved.insert(axis if axis >= 0 else axis + rank, 0)
    return tf.transpose(stacked, moved)


def _concat(grown: StackedList, axis: Any, name: str | None = None) -> tf.Tensor:
    """``tf.concat`` along the first axis, of elements that may differ in their size there."""
    del name
    (dtype, shape), = grown.found.element.components()
    if shape.rank in (None, 0) or axis not in (0, -shape.rank) or not shape[1:].is_fully_defined():
        fall_back(Contents, "tf.concat of a list of run-time length, of elements of unknown shape or along another axis")
    elements = [-1, *shape[1:].as_list()]
    joined = tf.raw_ops.TensorListConcatV2(
        input_handle=compact(grown.found).handles[1], element_shape=elements, leading_dims=tf.constant([], tf.int64), element_dtype=dtype)
    tensor = joined.tensor
    tensor.set_shape([None, *shape[1:].as_list()])
    return tensor


def _ragged(grown: StackedList) -> Any:
    """``tf.ragged.stack`` of vectors that may differ in length; of a single one it gives a tensor."""
    (dtype, shape), = grown.found.element.components()
    if shape.rank != 1:
        fall_back(Contents, "tf.ragged.stack of a list of run-time length whose elements are no vectors")
    with tf.init_scope():
        like = tf.ragged.stack([tf.zeros([1], dtype) if dtype != tf.string else tf.constant([""])] * 2)
    handle = compact(grown.found).handles[1]
    joined = tf.raw_ops.TensorListConcatV2(
        input_handle=handle, element_shape=[-1], leading_dims=tf.constant([], tf.int64), element_dtype=dtype)
    joined.tensor.set_shape([None])

    def rows() -> tf.RaggedTensor:
        splits = tf.cast(tf.concat([[0], tf.cumsum(joined.lengths)], 0), like.row_splits.dtype)
        return tf.RaggedTensor.from_row_splits(joined.tensor, splits, validate=False)

    return select(tf.equal(growable_length(grown.found), 1), lambda: joined.tensor[None], rows)


def _stop_if_refused_empty(function: Any, grown: StackedList, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Where the list is empty, the run raises what the function raises eagerly on an empty list."""
    with tf.init_scope():
        try:
            function([], *args, **kwargs)
        except (ValueError, TypeError, IndexError, tf.errors.OpError) as error:
            refusal: Exception | None = error
        else:
            refusal = None
    empty = tf.equal(growable_length(grown.found), 0)
    if refusal is not None:
        stop_if(empty, refusal)
    elif function not in (tf.stack, tf.add_n):
        leave_to_python_if(empty, f"{_name(function)} of a list that is empty at run time")


def materialized(value: Any) -> Any:
    """A value with its containers as plain Python objects that hold what the program sees."""
    if is_container(value):
        found = contents(value)
        if isinstance(found, (Growable, Table, Union)):
            fall_back(Contents, "library code needs the contents of a container of run-time length")
        if isinstance(found, dict):
            return current().born(_same_mapping(value, {key: materialized(item) for key, item in found.items()}))
        if isinstance(found, set):
            return current().born(found)
        items = [materialized(item) for item in found]
        return current().born(items if isinstance(value, list) else type(value)(items, value.maxlen))
    if isinstance(value, tuple) and value:
        items = [materialized(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    return value.refuse() if isinstance(value, (GeneratorCall, DictView)) else value


def adopted(value: Any, level: int = 0) -> Any:
    """A result of library code: containers and objects in it were made by this trace."""
    session = current()
    if level > 6 or session.is_born(value) or id(value) in session.sources:
        return value
    if is_container(value):
        session.born(value)
        for item in value.values() if isinstance(value, dict) else value:
            adopted(item, level + 1)
    elif isinstance(value, tuple):
        for item in value:
            adopted(item, level + 1)
    elif level == 0 and _is_fresh_object(value):
        session.born(value)
    return value


def _is_fresh_object(value: Any) -> bool:
    if isinstance(value, (tf.Tensor, tf.Variable, types.FunctionType, types.MethodType, type, types.ModuleType, str, bytes, int, float)):
        return False
    return hasattr(value, "__dict__") or hasattr(value, "__next__")


# ------------------------------------------------------------------------------------------------ classes
def construct(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], callback: Callback) -> Any:
    """``cls(*args, **kwargs)`` for a class whose ``__init__`` is not the user's own Python."""
    if is_tensorflow(cls):
        return _call_tensorflow(cls, args, kwargs, callback)
    if is_pure(cls) or dataclasses.is_dataclass(cls) or _is_plain_class(cls):
        if not _keeps_values(cls):
            _refuse_outer_iterators(cls, args, kwargs)
        made = cls(*args, **kwargs) if _keeps_values(cls) else run_operation(cls, *map(materialized, args), **kwargs)
        adopted(made)
        if dataclasses.is_dataclass(cls):
            for field in vars(made).values():
                adopted(field)
        return made
    return call_library(cls, args, kwargs)


def _keeps_values(cls: type) -> bool:
    return issubclass(cls, (tuple, BaseException)) or dataclasses.is_dataclass(cls)


def _is_plain_class(cls: type) -> bool:
    """A class without any construction code of its own."""
    return cls.__init__ is object.__init__ and has_plain_new(cls) and type(cls) is type  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------ values known after the run
def method_of_deferred(value: Deferred, name: str) -> Any:
    """``value.name`` where the value is known after the run."""
    known = kept_class(value)
    if known is not None and not issubclass(known, (np.ndarray, np.generic)):
        method = callable(inspect.getattr_static(known, name, None))
        return Deferred(getattr, (value, name)) if method else forced(Deferred(getattr, (value, name)))
    if name in MUTATING_ARRAY_METHODS or name in MUTATING_CONTAINER_METHODS:
        fall_back(NeedsValue, f".{name}() of a value that is known after the run")
    return Deferred(getattr, (value, name))


def call_deferred(function: Deferred, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a value that is known after the run."""
    if function.function is not getattr:
        fall_back(NeedsValue, "a function that is known after the run is called")
    owner, name = function.args
    if kwargs.get("out") is not None:
        fall_back(ForeignCall, f".{name}() writes into an array that it is given")
    if name == "numpy" and isinstance(owner, tf.Tensor):
        return Deferred(numpy_value, (owner,))
    known = kept_class(owner)
    if known is not None and not _is_pure_method_of(known, name):
        return call_method_of_kept(owner, known, name, args, kwargs)
    return computed(call_method, (owner, name, *map(materialized, args)), {key: materialized(value) for key, value in kwargs.items()})


READING: dict[type, tuple[str, ...]] = {
    list: ("copy", "count", "index"), dict: ("copy", "get", "items", "keys", "values"),
    set: ("copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"),
}


def _is_immutable(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, (str, bytes, int, float, complex, tuple, frozenset, range, np.generic))


def _is_pure_method_of(cls: type, name: str) -> bool:
    """Whether a method changes nothing: one of an immutable object, or one that only reads."""
    if issubclass(cls, (np.ndarray, str, bytes, int, float, complex, tuple, frozenset, range, np.generic)):
        return cls.__module__ in ("builtins", "numpy")
    return name in READING.get(cls, ())


NEW_LISTS = ("rsplit", "split", "splitlines", "tolist")


def may_change(value: Deferred) -> bool:
    """Whether what a deferred call gives may be an object that changes in place: an array or a container, not text or a number."""
    if value.function is numpy_value:
        return value.args[0].shape.rank != 0
    if isinstance(value.function, Kept):
        return not _is_immutable(value.function.kind.cls)
    if value.function is call_method and value.args[1] in NEW_LISTS:
        return True
    if isinstance(value.function, type) and issubclass(value.function, (str, int, float, bool)):
        return False
    return is_numpy_function(value.function) or any(may_change(arg) for arg in value.args if isinstance(arg, Deferred))


# ------------------------------------------------------------------------------------------------ Keras
@contextlib.contextmanager
def keras_calls(function: Any, callback: Callback) -> Iterator[None]:
    """While a Keras layer is called, the ``call`` methods of the user's layers inside it are converted ones."""
    owner = getattr(function, "__self__", function)
    flatten = getattr(owner, "_flatten_layers", None)
    if current().interposed or not callable(flatten) or not hasattr(owner, "built"):
        yield
        return
    layers = [layer for layer in flatten() if is_user_function(type(layer).call)]
    for layer in layers:
        layer.__dict__["call"] = callback(types.MethodType(type(layer).call, layer))
    try:
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("call", None)

