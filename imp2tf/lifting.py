"""How a value that is there before a run enters the trace: as an input of the graph, or as a constant that a guard watches.

Tensors and Python numbers that vary are inputs; objects are handed on by reference.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import ForeignCall, fall_back
from imp2tf.kinds import BY_IDENTITY, LITERALS, by_identity, is_container, is_drop_in, is_user_function
from imp2tf.remembered import NumberMemory
from imp2tf.results import Live, Object
from imp2tf.session import Session, current
from imp2tf.sources import AllDistinct, Argument, Both, Item, Length, Member, Pinned, Source
from imp2tf.tf_compat import EagerTensor, capture_at_call_time, is_symbolic_tensor
from imp2tf.values import NUMBER_DTYPES, Deferred, PyNumber, Sentinel, numpy_value

__all__ = ["INT_RANGE", "Fetch", "guard_distinct", "is_same_input", "itself", "lift", "lift_literal"]

INT_RANGE = 2**62  # run-time ints are int64; beyond this a Python int stays a constant


def is_same_input(a: Any, b: Any) -> bool:
    """Whether two values are one object; of inputs of the call, that is guarded. What the trace made is an object of its own."""
    session = current()
    if a is b or session.embedded:
        return a is b
    one, other = _road(session, a), _road(session, b)
    if one is None or other is None or not (_varies(session, a, one) or _varies(session, b, other)):
        return False
    same = one.fetch(session.run.args) is other.fetch(session.run.args)
    session.guard(Both(one, other), "literal", same)
    return same


def _road(session: Session, value: Any) -> Source | None:
    """How an object that is older than the trace is found again."""
    known = session.origins.get(id(value)) or session.sources.get(id(value))
    if known is not None or session.is_born(value) or isinstance(value, (*LITERALS, *BY_IDENTITY, Deferred, PyNumber, Sentinel)):
        return known
    return None if is_symbolic_tensor(value) else session.source_of(value)


def _varies(session: Session, value: Any, road: Source) -> bool:
    """Whether another object may stand at the end of a road; that objects of the program are different ones is guarded anyway."""
    return not isinstance(road, Pinned) if id(value) in session.origins else _is_argument(road)


# ------------------------------------------------------------------------------------------------ lifting
def lift(session: Session, value: Any, source: Source) -> Any:
    """Bring a value of the heap into the trace."""
    if session.embedded:
        return value
    if isinstance(value, EagerTensor):
        return _tensor_input(session, value, source)
    if isinstance(value, LITERALS) and type(value) in LITERALS:
        return lift_literal(session, value, source)
    if isinstance(value, tuple):
        return _tuple(session, value, source)
    if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
        return _composite_input(session, value, source)
    if isinstance(value, np.generic):
        session.guard(source, "equal", value)
        return value
    if isinstance(value, np.ndarray):
        return _array(session, value, source)
    if isinstance(value, (frozenset, tf.TensorShape)):
        session.guard(source, "equal", value)
        return value
    return _reference(session, value, source)


def _array(session: Session, value: np.ndarray, source: Source) -> Any:
    """An array: a constant, an input if it varies, or left where it is if the function changes it.

    Library code that gets it gets the program's own.
    """
    relaxations = session.relaxations
    relaxed = type(value) is np.ndarray and value.dtype.kind in "biufc" and (source in relaxations.live or source in relaxations.arrays)
    shape = relaxations.arrays.get(source, tf.TensorShape([None] * value.ndim))
    if relaxed and shape.is_compatible_with(value.shape):
        session.guard(source, "array_kind", tf.TensorSpec(shape, value.dtype))
        if source in relaxations.live:
            return Deferred(Live(session.run, Object(np.ndarray, value.dtype.name, value.ndim), source), ())
    else:
        session.guard(source, "array", value.copy())
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, value) for one in session.outside.touched.values()):
        fall_back(ForeignCall, f"library code could have changed the array {source}")
    session.outside.read_owners[id(value)] = value
    lifted: Any = value.copy()
    if relaxed and shape.is_compatible_with(value.shape):
        lifted = Deferred(numpy_value, (_input(session, source, tf.TensorSpec(shape, value.dtype), tf.constant),))
    session.origins[id(lifted)] = source
    session.kept.append(lifted)
    return lifted


def _tensor_input(session: Session, value: Any, source: Source) -> tf.Tensor:
    shape = session.relaxations.shape(source, value)
    session.guard(source, "tensor", tf.TensorSpec(shape, value.dtype))
    placeholder = _input(session, source, tf.TensorSpec(shape, value.dtype), itself)
    session.origins[id(placeholder)] = source
    session.kept.append(placeholder)
    return placeholder


def itself(found: Any) -> Any:
    """The value that is found, unchanged, as the input."""
    return found


class Fetch:
    """A graph input that is fetched anew at each call; there is one for each source and part of it."""

    def __init__(self, run: Any, source: Source, convert: Callable[[Any], Any]) -> None:
        self.run = run
        self.source = source
        self.convert = convert
        self.memory: Any = convert if isinstance(convert, NumberMemory) else None  # of a list: of all its parts

    def at(self, args: Sequence[Any]) -> Any:
        """The tensor, given the arguments of the call."""
        return self.convert(self.source.fetch(args))

    def __call__(self) -> Any:
        return self.at(self.run.args)


def _input(session: Session, source: Source, spec: tf.TypeSpec, convert: Callable[[Any], Any], part: int = 0) -> Any:
    """An input of the graph; `part` tells the inputs of one source apart."""
    fetch = session.fetches.get((source, part))
    if fetch is None:
        fetch = session.fetches[source, part] = Fetch(session.run, source, convert)
    return capture_at_call_time(session.graph, fetch, spec)


def _composite_input(session: Session, value: Any, source: Source) -> Any:
    """A ragged or sparse tensor: an input for each of its components."""
    declared = session.relaxations.declared.get(source)
    spec = declared or value._type_spec
    session.guard(source, "conforms" if declared else "composite", spec)
    flat = [
        _input(session, source, part, _component(i), part=i)
        for i, part in enumerate(tf.nest.flatten(spec, expand_composites=True))
    ]
    lifted = tf.nest.pack_sequence_as(spec, flat, expand_composites=True)
    session.origins[id(lifted)] = source
    session.kept.append(lifted)
    return lifted


def _component(index: int) -> Callable[[Any], Any]:
    def convert(found: Any) -> Any:
        return tf.nest.flatten(found, expand_composites=True)[index]

    return convert


def lift_literal(session: Session, value: Any, source: Source) -> Any:
    kind = type(value)
    if kind in (int, float) and session.relaxations.number(source) and (kind is float or -INT_RANGE < value < INT_RANGE):
        session.guard(source, "type" if kind is float else "int64", kind)
        tensor = _input(session, source, tf.TensorSpec([], NUMBER_DTYPES[kind.__name__]), NumberMemory(kind.__name__))
        if kind is int:
            session.foreknown[id(tensor)] = source
        return PyNumber(kind.__name__, tensor)
    session.guard(source, "literal", value)
    return value


def _tuple(session: Session, value: Any, source: Source) -> Any:
    session.guard(source, "type", type(value))
    session.guard(Length(source), "literal", len(value))
    items = [lift(session, item, Item(source, i)) for i, item in enumerate(value)]
    lifted = type(value)(*items) if hasattr(value, "_fields") else tuple.__new__(type(value), items)
    session.origins[id(lifted)] = source
    session.kept.append(lifted)
    return lifted


def _is_argument(source: Source) -> bool:
    while not isinstance(source, (Argument, Pinned)):
        source = source.parent  # type: ignore[attr-defined]
    return isinstance(source, Argument)


def _reference(session: Session, value: Any, source: Source) -> Any:
    """An object handed on by reference: known by its class and the road to it, so that a new one may stand there.

    Modules, classes, functions, variables and objects of libraries are known by identity.
    """
    known = session.sources.get(id(value))
    if known is not None:
        if known != source:
            session.guard(source, "same", known)
        return value
    if isinstance(source, Pinned) or isinstance(value, (*BY_IDENTITY, *by_identity, tf.Variable, tf.Module)) or _is_library_object(value):
        session.guard(source, "identity", value)
        session.sources[id(value)] = Pinned(value, weakly=not isinstance(source, Pinned))
    elif isinstance(value, types.MethodType):
        session.guard(source, "type", type(value))
        session.guard(Member(source, "__func__"), "identity", value.__func__)
        lift(session, value.__self__, Member(source, "__self__"))
        session.sources[id(value)] = source
    elif isinstance(value, types.FunctionType):
        _function(session, value, source)
    else:
        session.guard(source, "type", type(value))
        if is_drop_in(value):
            lift(session, value.__imp2tf_function__, Member(source, "__imp2tf_function__"))
        session.sources[id(value)] = source
    session.kept.append(value)
    if not isinstance(value, (*BY_IDENTITY, types.FunctionType, types.MethodType)) and not _is_library_object(value):
        session.references.append((value, session.sources[id(value)]))
    return value


def guard_distinct(session: Session) -> None:
    """Objects that were different ones must be different again: the graph writes to one only."""
    sources = [source for value, source in session.references if is_container(value) or hasattr(value, "__dict__")]
    if len(sources) > 1:
        session.guard(AllDistinct(sources), "literal", True)


def _is_library_object(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in ("keras", "tensorflow", "numpy")


def _function(session: Session, value: types.FunctionType, source: Source) -> None:
    """A function that comes as an argument: its code counts, and its cells are read on the way of the argument."""
    session.sources[id(value)] = source
    if not is_user_function(value) or value.__defaults__ or value.__kwdefaults__:
        session.guard(source, "identity", value)
        session.sources[id(value)] = Pinned(value, weakly=True)
        return
    session.guard(source, "type", type(value))
    session.guard(Member(source, "__code__"), "identity", value.__code__)
    for i, cell in enumerate(value.__closure__ or ()):
        if id(cell) not in session.sources:
            session.sources[id(cell)] = Item(Member(source, "__closure__"), i)
            session.kept.append(cell)
