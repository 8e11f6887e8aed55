"""Recipes: how the Python values that leave a graph are put together after it ran.

A `Recorder` takes values of the trace and returns recipes; the tensors they need are collected in its `tensors`.
Building keeps identity: an input that is returned is the caller's own object, and two names for one list stay so.
"""
from __future__ import annotations

import collections
import types
from collections.abc import Hashable
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.arrays import TracedArray
from imp2tf.element_recipes import ElementRecipes
from imp2tf.errors import LostValue, UnsupportedSyntax, fall_back
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.links import cause_of, context_of, new_exception, noted_by_class, set_links
from imp2tf.recipes import Build, Recipe, same
from imp2tf.rewrite import SHARED
from imp2tf.snapshots import is_record
from imp2tf.sources import Source
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.tracebacks import set_traceback
from imp2tf.values import DEAD, LOST, NUMBER_TYPES, UNBOUND, Deferred, Facts, PyNumber, Sentinel, StandIn, Union, is_runtime

__all__ = ["Recorder"]


class Recorder(ElementRecipes):
    """Turns values of a trace into recipes."""

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
        outside = value.after_run() if isinstance(value, StandIn) else None
        if outside is not None:
            return self._deferred(outside)
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

    def _tensor(self, value: tf.Tensor) -> Recipe:
        if not is_symbolic_tensor(value):
            return same(value)
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
        parts = [same(None) if one is DEAD else self._add(one) for one in value.alternatives]
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
            return same(value)
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
            return same(value)
        if isinstance(value, (tf.TensorShape, tf.DType, tf.TypeSpec, frozenset, slice, range, str, bytes)):
            return same(value)
        return fall_back(LostValue, f"a {type(value).__name__} made while tracing leaves the function")

    def _fields(self, value: Any) -> Recipe:
        parts = {name: self._add(field) for name, field in value.__dict__.items()}
        if not isinstance(value, BaseException):
            return lambda build: ({name: part(build) for name, part in parts.items()}, None, None)
        args = [self._add(arg) for arg in value.args]
        parts.update((name, self._add(field)) for name, field in noted_by_class(value).items())
        links = [self._add(cause_of(value)), self._add(context_of(value)), same(value.__suppress_context__)]

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
            return same(value)
        converted = dict(zip(value.__code__.co_freevars, value.__closure__ or (), strict=True))
        outer = getattr(value, "__imp2tf_cells__", {})
        cells = [self._variable(name, converted, outer) for name in original.co_freevars]
        defaults = self._add(value.__defaults__) if value.__defaults__ else same(None)
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
            return same(cell) if cell is outer.get(name) else self._cell(id(cell), _cell_value(cell))
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
    return same(value)


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
