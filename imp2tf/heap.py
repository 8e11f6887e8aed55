"""Reading the Python heap from inside a trace.

What a trace reads is either an input of the graph (tensors, and Python numbers that vary) or a constant that a
guard watches. Objects are handed on by reference; their attributes and elements are read when the program does.
"""
from __future__ import annotations

import builtins
import collections
import enum
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.analysis.updates import NAME
from imp2tf.errors import Contents as ContentsError
from imp2tf.errors import ForeignCall, fall_back, is_library_file
from imp2tf.places import Attribute, Cell, Contents, Global, Place, Tail
from imp2tf.remembered import NumberMemory
from imp2tf.results import Live, Object
from imp2tf.session import NOT_STORED, Session, current
from imp2tf.sources import AllDistinct, Argument, Both, Item, Keys, Length, Member, Pinned, Source
from imp2tf.tf_compat import EagerTensor, capture_at_call_time, is_symbolic_tensor
from imp2tf.values import NUMBER_DTYPES, UNBOUND, Deferred, Growable, PyNumber, Sentinel, numpy_value

__all__ = [
    "INT_RANGE", "Fetch", "contents", "guard_distinct", "has_written_fields", "is_container", "is_drop_in", "is_same_input",
    "is_unread", "is_user_function", "is_users_iterable", "itself", "known_by_identity", "length", "lift", "old_value", "read",
    "set_contents", "view",
]

LITERALS = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis), type(NotImplemented), slice, range)
INT_RANGE = 2**62  # run-time ints are int64; beyond this a Python int stays a constant
BY_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, tf.DType, np.ufunc, enum.Enum)
METHODS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
           types.ClassMethodDescriptorType, staticmethod, classmethod)
CONTAINERS = (list, dict, set, collections.deque)
_by_identity: list[type] = []


def known_by_identity(cls: type) -> None:
    """Objects of this class are the same ones at every call, and not told apart by what they hold."""
    _by_identity.append(cls)


def is_user_function(value: object) -> bool:
    """Whether `value` is a Python function of the user's program."""
    return isinstance(value, types.FunctionType) and not is_library_file(value.__code__.co_filename) and (
        value.__code__.co_filename != "<string>")  # what dataclasses and namedtuples generate


def is_users_iterable(value: Any) -> bool:
    """Whether code of the program says what the items of an object are."""
    method = getattr(type(value), "__iter__", None)
    return is_user_function(method or getattr(type(value), "__getitem__", None))


def is_drop_in(value: object) -> bool:
    """Whether `value` is a converted function, which stands for a plain one."""
    return hasattr(type(value), "__imp2tf_function__")


def view(place: Place) -> Any:
    """The value of a place as the program sees it now, inside the trace."""
    session = current()
    raw = session.raw(place)
    if raw is not NOT_STORED:
        return raw
    return place.read() if session.is_born(place.owner) else read(place)


def read(place: Place) -> Any:
    """The value that a place had when the call began, as a guarded constant or an input of the graph."""
    session = current()
    if place not in session.reads:
        value, source = place.read(), session.source_of_place(place)
        if type(value) in (int, float, np.ndarray):
            session.relaxations.presume(source, _owners(place), place.key, value)
        session.reads[place] = lift(session, value, source)
    if not _holds_code(place, session.reads[place]):
        _note_data(session, place, place.owner)
        if session.outside.touched and id(place.read()) in session.outside.touched and isinstance(session.reads[place], np.ndarray):
            fall_back(ForeignCall, f"library code could have changed the array {place}")
    return session.reads[place]


def _owners(place: Place) -> list[str]:
    """The names of the classes that a value may be an attribute of, as `analysis.updates` has them."""
    if isinstance(place, Attribute):
        return ["", *(cls.__qualname__ for cls in type(place.owner).__mro__)]
    return [NAME] if isinstance(place, (Global, Cell)) else []


def _holds_code(place: Place, value: Any) -> bool:
    """Whether a place is a name, or a class's attribute, of a function, class or module: what programs do not replace while they run.

    So is the attribute of an object where its class has a method.
    """
    if value is UNBOUND and isinstance(place, Attribute) and not isinstance(place.owner, type):
        found = next((base.__dict__[place.key] for base in type(place.owner).__mro__ if place.key in base.__dict__), None)
        return isinstance(found, METHODS)
    if value is UNBOUND and isinstance(place, Global):
        return hasattr(builtins, place.key)
    of_name = isinstance(place, (Global, Cell)) or isinstance(place.owner, type)
    return of_name and isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType, types.FunctionType, np.ufunc, property,
                                          staticmethod, classmethod))


def _note_data(session: Session, place: object, owner: Any) -> None:
    """Data is read that a call which the trace could not look into may have changed."""
    session.has_read_data = True
    session.outside.read_owners[id(owner)] = owner
    if session.opaque is not None:
        fall_back(ForeignCall, f"{session.opaque}, and could have changed the {place}")
    if id(owner) in session.outside.touched:
        fall_back(ForeignCall, f"library code could have changed the {place}")


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


def old_value(place: Place) -> Any:
    """What a region that did not write `place` leaves there: its value before the region."""
    if isinstance(place, Contents):
        return contents(place.owner)
    if isinstance(place, Tail):
        raw = current().raw(place)
        return [] if raw is NOT_STORED else raw
    return view(place)


# ------------------------------------------------------------------------------------------------ lifting
def lift(session: Session, value: Any, source: Source) -> Any:
    """Bring a value of the heap into the trace."""
    if session.embedded:
        return value
    if isinstance(value, EagerTensor):
        return _tensor_input(session, value, source)
    if isinstance(value, LITERALS) and type(value) in LITERALS:
        return _literal(session, value, source)
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
    """What is found is the input."""
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


def _literal(session: Session, value: Any, source: Source) -> Any:
    kind = type(value)
    if kind in (int, float) and session.relaxations.number(source) and (kind is float or -INT_RANGE < value < INT_RANGE):
        session.guard(source, "type" if kind is float else "int64", kind)
        tensor = _input(session, source, tf.TensorSpec([], NUMBER_DTYPES[kind.__name__]), NumberMemory(kind.__name__))
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
    if isinstance(source, Pinned) or isinstance(value, (*BY_IDENTITY, *_by_identity, tf.Variable, tf.Module)) or _is_library_object(value):
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


# ------------------------------------------------------------------------------------------------ containers
def contents(container: Any, for_copy: bool = False) -> Any:
    """The elements of a list, deque, dict or set as the program sees them: list, dict, set or `Growable`.

    Reading the elements of a container that existed before the call guards its length or keys. `for_copy` is for the machinery.
    """
    session, place = current(), Contents(container)
    element = session.elements.get(id(container))
    if element is not None:
        return element.read()
    if session.changed_elements and not for_copy and id(container) in session.sealed:
        fall_back(ContentsError, "an element of a list of run-time length is read by another name after it was changed")
    raw = session.raw(place)
    if raw is not NOT_STORED:
        return raw
    if session.is_born(container):
        return place.read()
    base = _outer_contents(session, container, place)
    tail = session.raw(Tail(container))
    if tail is NOT_STORED or (isinstance(tail, list) and not tail):
        return base
    whole = with_tail(base, tail, getattr(container, "maxlen", None))
    session.write(place, whole)
    session.write(Tail(container), [])
    return whole


def contents_without_tail(container: list[Any]) -> list[Any]:
    """The elements that a list of the program had before the call, unless the trace has written them since."""
    session, place = current(), Contents(container)
    raw = session.raw(place)
    return _outer_contents(session, container, place) if raw is NOT_STORED else raw


def with_tail(base: list[Any], tail: Any, limit: int | None = None) -> Any:
    """The elements of a list followed by what was appended to it; the last of them, for a deque of a greatest length."""
    run = current().run
    if isinstance(tail, list):
        whole = run.extended(base, tail) if isinstance(base, Growable) else base + tail
    else:
        whole = run.prepend(base, tail)
    return whole if limit is None else run.last(whole, limit)


def _outer_contents(session: Session, container: Any, place: Contents) -> Any:
    if place not in session.reads:
        source = session.source_of(container)
        session.reads[place] = _lift_elements(session, container, source)
    _note_data(session, place, container)
    found = session.reads[place]
    return found if isinstance(found, Growable) else found.copy()


def _lift_elements(session: Session, container: Any, source: Source) -> Any:
    if isinstance(container, dict):
        session.guard(Keys(source), "keys", tuple(container))
        return {key: lift(session, value, Item(source, key)) for key, value in container.items()}
    if isinstance(container, set):
        session.guard(source, "set", frozenset(container))
        return set(container)
    varies = type(container) in (list, collections.deque) and source in session.relaxations.lists
    grown = session.run.listed(container, source) if varies else None
    if grown is not None:
        session.relaxations.constant.discard(Length(source))
        return grown
    session.relaxations.constant.add(Length(source))
    session.guard(Length(source), "literal", len(container))
    return [lift(session, value, Item(source, i)) for i, value in enumerate(container)]


def is_unread(container: Any) -> bool:
    """Whether nobody has read the elements of a list that existed before the call."""
    session, place = current(), Contents(container)
    return not session.is_born(container) and place not in session.reads and not session.is_written(place)


def length(container: Any) -> Any:
    """``len`` of a container that existed before the call and whose elements nobody has read: guarded, then an input."""
    session = current()
    source = Length(session.source_of(container))
    _note_data(session, source, container)
    return _literal(session, len(container), source)


def has_written_fields(value: Any) -> bool:
    """Whether this trace has written attributes of an object that is older, which nobody outside sees yet."""
    session = current()
    return not session.is_born(value) and any(place.owner is value for place in session.store)


def set_contents(container: Any, value: Any) -> None:
    """Replace all elements of a container."""
    session = current()
    session.versions[id(container)] += 1
    session.put_contents(container, value)


def is_container(value: object) -> bool:
    """Whether `value` is a mutable container whose elements the journal keeps."""
    return isinstance(value, CONTAINERS)
