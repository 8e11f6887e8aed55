"""Recipes: how the Python values that leave a graph are put together after it ran.

A `Recorder` takes values of the trace and returns recipes; the tensors they need are collected in its `tensors`.
Building keeps identity: an input that is returned is the caller's own object, and two names for one list stay so.
"""
from __future__ import annotations

import collections
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.arrays import TracedArray
from imp2tf.compound_specs import holds_objects, may_be_lost
from imp2tf.errors import LostValue, UnsupportedSyntax, fall_back
from imp2tf.growable import GrowableList, is_stackable, last_pushed, stacked_column
from imp2tf.heap import contents, is_container
from imp2tf.links import cause_of, context_of, new_exception, noted_by_class, set_links
from imp2tf.places import Entries
from imp2tf.remembered import rows_of
from imp2tf.rewrite import SHARED
from imp2tf.session import Session, resumed
from imp2tf.snapshots import is_record
from imp2tf.sources import Source
from imp2tf.specs import Dense, Number, constants_in, realizing
from imp2tf.tables import python_keys
from imp2tf.tf_compat import is_symbolic_tensor, tape_may_record
from imp2tf.tracebacks import set_traceback
from imp2tf.values import (
    DEAD,
    LOST,
    NUMBER_TYPES,
    UNBOUND,
    Deferred,
    Facts,
    Growable,
    PyNumber,
    Sentinel,
    StandIn,
    Table,
    Union,
    is_runtime,
)

__all__ = ["Build", "Recipe", "Recorder"]

MOST_DROPPED = 16
GONE = object()


class Build:
    """One building of recipes: the tensors of this run, the arguments of this call, and what is already built."""

    def __init__(self, tensors: Sequence[tf.Tensor], args: Sequence[Any]) -> None:
        self.tensors = tensors
        self.args = args
        self.made: dict[Hashable, Any] = {}


Recipe = Callable[[Build], Any]


class Recorder:
    """Turns values of a trace into recipes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tensors: list[tf.Tensor] = []
        self._pending: set[Hashable] = set()
        self._taken: set[int] = set()  # what leaves beside the list that it may be an element of
        self._lists: set[int] = set()  # the lists of run-time length that leave, if their elements have an identity

    def add(self, value: Any) -> Recipe:
        """The recipe of a value as it is now."""
        with resumed(self.session):
            return self._add(value)

    def _add(self, value: Any) -> Recipe:
        source = self.session.origins.get(id(value))
        if source is not None:
            return _from_source(source)
        if isinstance(value, tf.Tensor):
            return self._tensor(value)
        if isinstance(value, PyNumber):
            return self._number(value)
        if isinstance(value, Union):
            return self._one_of(value)
        if isinstance(value, Deferred):
            return self._deferred(value)
        if value is LOST:
            fall_back(LostValue, "an object made anew in a branch or loop leaves the function")
        if isinstance(value, tuple):
            return self._tuple(value)
        if isinstance(value, slice):
            bounds = [self._add(bound) for bound in (value.start, value.stop, value.step)]
            return lambda build: slice(*[bound(build) for bound in bounds])
        if isinstance(value, tf.__internal__.CompositeTensor) and not isinstance(value, tf.Variable):
            return self._composite(value)
        return self._object(value)

    def _index(self, tensor: tf.Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def _tensor(self, value: tf.Tensor) -> Recipe:
        if not is_symbolic_tensor(value):
            return _same(value)
        index = self._index(value)
        return lambda build: build.tensors[index]

    def _number(self, value: PyNumber) -> Recipe:
        index, kind = self._index(value.tensor), NUMBER_TYPES[value.kind]
        return lambda build: kind(build.tensors[index].numpy())

    def number(self, value: PyNumber, memory: Any) -> Recipe:
        """The recipe of a number that is an input of the next call."""
        index, kind = self._index(value.tensor), NUMBER_TYPES[value.kind]

        def make(build: Build) -> Any:
            made = kind(build.tensors[index].numpy())
            memory.came_of(made, build.tensors[index])
            return made

        return make

    def _one_of(self, value: Union) -> Recipe:
        tag = self._index(value.tag)
        parts = [_same(None) if one is DEAD else self._add(one) for one in value.alternatives]
        return lambda build: parts[int(build.tensors[tag].numpy())](build)

    def _deferred(self, value: Deferred) -> Recipe:
        function, key = value.function, id(value)
        args = [self._add(arg) for arg in value.args]
        kwargs = {name: self._add(arg) for name, arg in value.kwargs.items()}
        self.session.kept.append(value)

        def make(build: Build) -> Any:
            if key not in build.made:
                build.made[key] = function(*[arg(build) for arg in args], **{name: arg(build) for name, arg in kwargs.items()})
            return build.made[key]

        return make

    def _tuple(self, value: tuple[Any, ...]) -> Recipe:
        parts, cls = [self._add(item) for item in value], type(value)
        if hasattr(cls, "_fields"):
            return lambda build: cls(*[part(build) for part in parts])
        if cls is tuple:
            return lambda build: tuple([part(build) for part in parts])
        return lambda build: tuple.__new__(cls, [part(build) for part in parts])

    def _composite(self, value: Any) -> Recipe:
        flat = tf.nest.flatten(value, expand_composites=True)
        if not any(is_symbolic_tensor(part) for part in flat):
            return _same(value)
        parts, spec = [self._add(part) for part in flat], value._type_spec
        return lambda build: tf.nest.pack_sequence_as(spec, [part(build) for part in parts], expand_composites=True)

    # ------------------------------------------------------------------------------------ objects
    def _object(self, value: Any) -> Recipe:
        if not self.session.is_born(value) and not (
            is_container(value) and id(value) not in self.session.sources and _holds_runtime(value)
        ):
            source = self.session.sources.get(id(value))
            if source is None and isinstance(value, (np.ndarray, bytearray)):
                return self._copied(value)
            return _from_source(source) if source is not None else _constant(value)
        self._note_element(value)
        if is_container(value):
            return self._shared(value, lambda: _empty_like(value), lambda: self.elements(contents(value)), _fill)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, TracedArray):
            return self._array(value)
        if _is_of_the_trace(value):
            return _constant(value)
        if is_record(value):
            return self._shared(value, lambda: _new_object(value), lambda: self._fields(value), _set_fields)
        return self._opaque(value)

    def _copied(self, value: Any) -> Recipe:
        """An array that was computed while tracing: each run makes its own."""
        base = value
        while base is not None:
            if id(base) in self.session.origins:
                fall_back(LostValue, "a part of an array that is older than the call leaves the function")
            base = getattr(base, "base", None)
        self.session.kept.append(value)
        held = value.copy()
        return self._shared_by_id(value, lambda build: held.copy())

    def _opaque(self, value: Any) -> Recipe:
        if isinstance(value, (types.MethodType,)):
            owner, function = self._add(value.__self__), value.__func__
            return lambda build: types.MethodType(function, owner(build))
        if isinstance(value, BaseException):
            return _same(value)
        if isinstance(value, (tf.TensorShape, tf.DType, tf.TypeSpec, frozenset, slice, range, str, bytes)):
            return _same(value)
        return fall_back(LostValue, f"a {type(value).__name__} made while tracing leaves the function")

    def _note_element(self, value: Any) -> None:
        """An element taken out of a list of run-time length is a copy, and so is the list: together they must not leave."""
        if id(value) in self.session.sealed:
            if self.session.changed_elements:
                fall_back(LostValue, "an element of a list of run-time length was changed and leaves the function")
            self._taken.add(id(value))
            self._refuse_copies()

    def _refuse_copies(self) -> None:
        shared = self.session.shared_elements
        several = len(self._taken) + len(self._lists) > 1
        if (several and (self._taken or shared)) or (self._lists and shared > 1):
            fall_back(LostValue, "an object in a list of run-time length leaves the function in two places")

    def _shared(self, value: Any, make: Callable[[], Any], parts: Callable[[], Recipe], fill: Callable[[Any, Any], None]) -> Recipe:
        """A recipe that makes an object once per build, before its parts, so that cycles and aliases come out right."""
        key = id(value)
        if key in self._pending:
            return lambda build: build.made[key]
        self._pending.add(key)
        inner = parts()
        self._pending.discard(key)

        def built(build: Build) -> Any:
            if key not in build.made:
                build.made[key] = make()
                fill(build.made[key], inner(build))
            return build.made[key]

        return built

    def elements(self, found: Any) -> Recipe:
        """The recipe of a container's elements: a list, dict or set of the run."""
        with resumed(self.session):
            return self._elements(found)

    def changed_elements(self, found: Any, before: Any, owner: Source) -> Recipe:
        """As `elements`; those that are what the call found there are what the container holds by then, if another thread replaced them."""
        keys = list(found) if isinstance(found, dict) else range(len(found))
        kept = set(before) if isinstance(before, dict) else set(range(len(before)))
        values = [None if key in kept and before[key] is found[key] else self.add(found[key]) for key in keys]
        names = [self._key(key) for key in keys] if isinstance(found, dict) else []

        def items(build: Build) -> list[Any]:
            container = owner.fetch(build.args)
            return [container[key] if value is None else value(build) for key, value in zip(keys, values, strict=True)]

        def entries(build: Build) -> Any:
            container = owner.fetch(build.args)
            made = [(key if name is None else name(build), container.get(key, GONE) if value is None else value(build))
                    for key, name, value in zip(keys, names, values, strict=True)]
            return Entries([(key, one) for key, one in made if one is not GONE], list(before))

        return entries if isinstance(found, dict) else items

    def elements_again(self, found: Growable, owner: Source, memory: Any, pushes: int | None) -> Recipe:
        """As `elements`, of a list that was an input; elements that were there stay the objects that they are.

        Where that is all the graph did, the last `pushes` are new and the others were there. Else an element with the value of one that
        was there is taken to be that one; not under a tape, which may follow it to where it was computed.
        """
        pushed = [self.add(one) if id(one) in self.session.origins else None for one in last_pushed(found, pushes or 0)]
        if memory is not None and memory.kind == found.element.key():
            with resumed(self.session):
                columns = self._columns(found)

            def remembered(build: Build) -> Any:
                themselves = [one if one is None else one(build) for one in pushed]
                return memory.elements(owner.fetch(build.args), [build.tensors[index] for index in columns], pushes, themselves)

            return remembered
        recipe = self.elements(found)

        def make(build: Build) -> Any:
            there, made = list(owner.fetch(build.args)), recipe(build)
            if pushes is not None:
                new = made[len(made) - pushes:]
                return there + ([one if given is None else given(build) for one, given in zip(new, pushed)] if pushed else new)
            if tape_may_record():
                return made
            there = there[_dropped(there, made):]
            return [old if _is_as_before(old, new) else new for old, new in zip(there, made)] + made[len(there):]

        return make

    def _elements(self, found: Any) -> Recipe:
        if isinstance(found, Growable):
            return self._growable(found)
        if isinstance(found, Table):
            return self._table(found)
        if isinstance(found, Union):
            tag, parts = self._index(found.tag), [self._elements(one) for one in found.alternatives]
            return lambda build: parts[int(build.tensors[tag].numpy())](build)
        if isinstance(found, dict):
            keys, values = list(found), [self._add(item) for item in found.values()]
            names = [self._key(key) for key in keys]
            if any(names):
                return lambda build: {key if name is None else name(build): value(build)
                                      for key, name, value in zip(keys, names, values, strict=True)}
            return lambda build: dict(zip(keys, [value(build) for value in values], strict=True))
        items = [self._add(item) for item in found]
        return lambda build: [item(build) for item in items]

    def _key(self, key: Any) -> Recipe | None:
        """The recipe of a key that was made in the trace; each run makes its own."""
        made = self.session.is_born(key) or (isinstance(key, tuple) and any(map(self._key, key)))
        return self._add(key) if made and not isinstance(key, (type, str, bytes)) else None

    def _table(self, found: Table) -> Recipe:
        keys, kind = self._index(found.keys), found.kind
        if found.values is None:
            return lambda build: python_keys(kind, build.tensors[keys])
        values = self._growable(found.values)
        return lambda build: dict(zip(python_keys(kind, build.tensors[keys]), values(build), strict=True))

    def _growable(self, found: Growable) -> Recipe:
        spec = GrowableList(found.element, shifted=found.shifted)
        element = found.element
        if holds_objects(element):
            self._lists.add(id(found))
            self.session.kept.append(found)
            self._refuse_copies()
        if may_be_lost(element):
            fall_back(LostValue, "an object made anew in a branch or loop leaves the function in a list")
        if is_stackable(element):
            return self._stacked(found, element)
        start, count = len(self.tensors), len(found.handles)
        self.tensors.extend(found.handles)
        session = self.session
        objects = {id(one): self._add(one) for one in constants_in(element) if session.is_born(one) or id(one) in session.sources}

        def make(build: Build) -> Any:
            with realizing({key: recipe(build) for key, recipe in objects.items()}):
                return spec.realize(iter(build.tensors[start: start + count]))

        return make

    def _stacked(self, found: Growable, element: Any) -> Recipe:
        """Elements of one shape leave the graph as one tensor, tuples as one for each of their parts."""
        columns = self._columns(found)
        if isinstance(element, Number):
            return lambda build: build.tensors[columns[0]].numpy().tolist()
        if isinstance(element, Dense):
            return lambda build: rows_of(build.tensors[columns[0]])
        return lambda build: [element.realize(iter(row)) for row in zip(*[rows_of(build.tensors[index]) for index in columns], strict=True)]

    def _columns(self, found: Growable) -> list[int]:
        """The tensors of all elements, which have the same shapes."""
        return [self._index(stacked_column(found, number)) for number in range(len(found.handles) - 1)]

    def _fields(self, value: Any) -> Recipe:
        parts = {name: self._add(field) for name, field in value.__dict__.items()}
        if not isinstance(value, BaseException):
            return lambda build: ({name: part(build) for name, part in parts.items()}, None, None)
        args = [self._add(arg) for arg in value.args]
        parts.update((name, self._add(field)) for name, field in noted_by_class(value).items())
        links = [self._add(cause_of(value)), self._add(context_of(value)), _same(value.__suppress_context__)]

        def make(build: Build) -> Any:
            fields = {name: part(build) for name, part in parts.items()}
            return fields, tuple(arg(build) for arg in args), [link(build) for link in links]

        return make

    def _array(self, value: TracedArray) -> Recipe:
        """The eager array in the place of a traced one."""
        fields = self._fields(value)

        def make(build: Build) -> tf.TensorArray:
            made = _new_object(value)
            _set_fields(made, fields(build))
            return made.eager()

        return self._shared_by_id(value, make)

    def _function(self, value: types.FunctionType) -> Recipe:
        """A function made in the trace: the user's own code over the values its cells have now."""
        original: types.CodeType | None = getattr(value, "__imp2tf_code__", None)
        if original is None:
            return _same(value)
        converted = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
        outer = getattr(value, "__imp2tf_cells__", {})
        cells = [self._variable(name, converted, outer) for name in original.co_freevars]
        defaults = self._add(value.__defaults__) if value.__defaults__ else _same(None)
        kwdefaults = {name: self._add(one) for name, one in (value.__kwdefaults__ or {}).items()}

        def make(build: Build) -> Any:
            made = types.FunctionType(original, value.__globals__, value.__name__, defaults(build), tuple(cell(build) for cell in cells))
            made.__kwdefaults__ = {name: one(build) for name, one in kwdefaults.items()} or None
            made.__qualname__, made.__doc__, made.__module__ = value.__qualname__, value.__doc__, value.__module__
            return made

        return self._shared_by_id(value, make)

    def _variable(self, name: str, converted: dict[str, types.CellType], outer: dict[str, types.CellType]) -> Recipe:
        """The cell of a variable of an enclosing function, wherever the trace keeps it."""
        cell = converted.get(name) or outer.get(name)
        if cell is not None:
            self.session.kept.append(cell)
            return _same(cell) if cell is outer.get(name) else self._cell(id(cell), _cell_value(cell))
        for text, holder in converted.items():
            if text.startswith(SHARED) and name in vars(holder.cell_contents):
                return self._cell((id(holder.cell_contents), name), vars(holder.cell_contents)[name])
        return fall_back(LostValue, f"a function that leaves the call shares {name} with it")

    def _cell(self, key: Hashable, value: Any) -> Recipe:
        if key in self._pending:
            return lambda build: build.made[key]
        self._pending.add(key)
        inner = self._add(value)
        self._pending.discard(key)

        def make(build: Build) -> types.CellType:
            if key not in build.made:
                build.made[key] = types.CellType()
                value = inner(build)
                if value is not UNBOUND:
                    build.made[key].cell_contents = value
            return build.made[key]

        return make

    def _shared_by_id(self, value: Any, make: Recipe) -> Recipe:
        key = id(value)

        def once(build: Build) -> Any:
            if key not in build.made:
                build.made[key] = make(build)
            return build.made[key]

        return once


def _dropped(there: list[Any], made: list[Any]) -> int:
    """How many elements the front of a deque has lost, if it is a few and all others are as they were; else none."""
    counts = range(max(0, len(there) - len(made)), min(len(there), MOST_DROPPED))
    return next((count for count in counts if all(map(_is_as_before, there[count:], made))), 0)


def _is_as_before(old: Any, new: Any) -> bool:
    """Whether tensors, numbers or tuples of these have the same bits."""
    if type(old) is not type(new):
        return False
    if isinstance(old, tuple):
        return len(old) == len(new) and all(map(_is_as_before, old, new))
    if not isinstance(old, tf.Tensor):
        return repr(old) == repr(new)
    return old.dtype == new.dtype and old.dtype != tf.string and old.shape == new.shape and old.numpy().tobytes() == new.numpy().tobytes()


def _holds_runtime(container: Any) -> bool:
    """Whether a container that nobody registered was made by this trace all the same."""
    return any(is_runtime(item) for item in (container.values() if isinstance(container, dict) else container))


def _cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _is_of_the_trace(value: Any) -> bool:
    return type(value).__module__.startswith("imp2tf.") and not isinstance(value, (Sentinel, Facts, BaseException))


def _constant(value: Any) -> Recipe:
    if isinstance(value, StandIn):
        fall_back(UnsupportedSyntax, f"{value.what} leaves the function")
    if _is_of_the_trace(value):
        fall_back(LostValue, "an iterator made while tracing leaves the function")
    return _same(value)


def _same(value: Any) -> Recipe:
    return lambda build: value



def _from_source(source: Source) -> Recipe:
    return lambda build: source.fetch(build.args)


def _empty_like(value: Any) -> Any:
    if isinstance(value, collections.defaultdict):
        return collections.defaultdict(value.default_factory)
    if isinstance(value, collections.deque):
        return collections.deque(maxlen=value.maxlen)
    return type(value)()


def _fill(made: Any, elements: Any) -> None:
    (made.extend if isinstance(made, (list, collections.deque)) else made.update)(elements)


def _new_object(value: Any) -> Any:
    cls: Any = type(value)
    return new_exception(cls) if isinstance(value, BaseException) else cls.__new__(cls)


def _set_fields(made: Any, parts: Any) -> None:
    fields, args, links = parts
    if args is not None:
        set_traceback(made, fields)
        made.args = args
        set_links(made, fields)
    made.__dict__.update(fields)
    if args is not None:
        made.__cause__, made.__context__, made.__suppress_context__ = links
