"""Graphs under construction that make an operation with half of the work.

TensorFlow enters the graph anew for each operation, checks all it is given several times over, and passes it through a message. Most of a
trace's time goes there. What is unusual is left to TensorFlow's own method, and so is what the runtime refuses: errors are TensorFlow's.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import tensorflow as tf

from imp2tf.errors import OWN_FOLDERS
from imp2tf.tf_compat import FuncGraph, devices_of, new_operation, op_definition, read_stack

__all__ = ["NAME", "are_constants_shared", "constants_apart", "constants_shared", "is_usual", "lines_kept", "make_quick",
           "operations_made", "place_of_constants"]

NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
ONE = ""  # an input that is one tensor; others name the attribute that tells how many there are

Inputs = tuple[str, ...]


def make_quick(graph: FuncGraph) -> FuncGraph:
    """Let a graph under construction make its operations quickly, where this TensorFlow is known to allow it."""
    if _Quick.works and not isinstance(graph, _Quick):
        graph._imp2tf_thread = threading.get_ident()
        graph._imp2tf_constants, graph._imp2tf_values = {}, {}
        graph.__class__ = _quick_form(type(graph))  # type: ignore[arg-type]
    return graph


class _Quick:
    """A mixin that is put over a class of graphs."""

    works = True  # until this TensorFlow is found to be built otherwise

    def as_default(self: Any) -> AbstractContextManager[Any]:
        """Nothing is to be done where it is the default already, unless other threads build it too, as replicas do."""
        entered = tf.compat.v1.get_default_graph() is self and threading.get_ident() == self._imp2tf_thread
        return contextlib.nullcontext(self) if entered else super().as_default()  # type: ignore[misc]

    def _create_op_internal(
        self: Any, op_type: str, inputs: Sequence[tf.Tensor], dtypes: Any = None, input_types: Any = None, name: str | None = None,
        attrs: Mapping[str, Any] | None = None, op_def: Any = None, compute_device: bool = True,
    ) -> tf.Operation:
        _lines.made += 1
        if op_type == "Const" and _sharing.on and attrs is not None:
            return _shared_constant(self, name, attrs)
        named, taken = _name(self, op_type, name), _taken(op_type) if _is_usual(self) else None
        if named is not None and taken is not None:
            own = [one if one.graph is self else self.capture(one) for one in inputs]
            op = _made(self, op_type, named, own, attrs or {}, taken)
        else:
            op = None
        if op is not None:
            self._create_op_helper(op, compute_device=compute_device)
            return op
        again = name if named is None else f"{named}/"  # a name that ends so is taken as it is
        return super()._create_op_internal(  # type: ignore[misc]
            op_type, inputs, dtypes, input_types, again, attrs, op_def, compute_device)


def _is_usual(graph: Any) -> bool:
    """Whether a graph takes operations as they come."""
    return _Quick.works and graph._control_flow_context is None and not graph.capture_by_value and not graph._finalized


def is_usual(graph: Any) -> bool:
    """Whether a graph is a quick one that takes operations as they come."""
    return isinstance(graph, _Quick) and _is_usual(graph)


class _Sharing(threading.local):
    on = False


_sharing = _Sharing()


@contextlib.contextmanager
def constants_shared(on: bool = True) -> Iterator[None]:
    """Let equal constants that are made inside be one: nobody but the operations made inside gets at them."""
    before, _sharing.on = _sharing.on, on
    try:
        yield
    finally:
        _sharing.on = before


def are_constants_shared() -> bool:
    """Whether equal constants that this thread makes now are one."""
    return _sharing.on


def constants_apart() -> AbstractContextManager[None]:
    """Let constants made inside be objects of their own: the program's code runs there, and can name them."""
    return constants_shared(False)


def place_of_constants(graph: Any) -> Any:
    """What constants must have in common to be one, beside the value; None where none are."""
    if graph._colocation_stack or graph._attr_scope_map:
        return None
    return devices_of(graph)


def _shared_constant(graph: Any, name: str | None, attributes: Mapping[str, Any]) -> tf.Operation:
    """A constant of a quick graph, which waits for nothing; the one that was made before if there is one."""
    place = place_of_constants(graph)
    with constants_apart():
        if place is None or not _is_usual(graph):
            return graph._create_op_internal("Const", [], None, name=name, attrs=attributes)
        key = place, attributes["value"].SerializeToString()
        found = graph._imp2tf_constants.get(key)
        if found is None:
            with graph.control_dependencies(None) if graph._control_dependencies_stack else contextlib.nullcontext():
                found = graph._create_op_internal("Const", [], None, name=name, attrs=attributes)
            graph._imp2tf_constants[key] = found
        return found


def _name(graph: Any, kind: str, name: str | None) -> str | None:
    """The name of a new operation; None for one that TensorFlow refuses."""
    if name and name[-1] == "/":
        return name[:-1]
    return graph.unique_name(name or kind) if NAME.fullmatch(name or kind) else None


def _made(graph: Any, kind: str, name: str, inputs: list[tf.Tensor], attributes: Mapping[str, Any], taken: Inputs) -> tf.Operation | None:
    """A new operation; None if the runtime refuses it, which leaves no trace of it."""
    given: list[Any] = []
    place = 0
    for one in taken:
        if one == ONE:
            given.append(inputs[place])
            place += 1
        else:
            count = attributes[one].i or len(attributes[one].list.type)
            given.append(inputs[place: place + count])
            place += count
    try:
        control = graph._control_dependencies_for_inputs({one.op for one in inputs}) if graph._control_dependencies_stack else ()
        return new_operation(graph, kind, name, given, control, attributes, _lines.now())
    except (AttributeError, TypeError):
        _Quick.works = False
        return None


@functools.cache
def _taken(kind: str) -> Inputs | None:
    """What inputs operations of a kind take; None if TensorFlow is to make them."""
    definition = op_definition(kind)
    if definition is None or any(one.is_ref for one in definition.input_arg):
        return None
    return tuple(one.number_attr or one.type_list_attr or ONE for one in definition.input_arg)


@functools.cache
def _quick_form(kind: type) -> type:
    """The mixin over a class of graphs; under those of its bases that see to it what operations are made, as graphs of gradients do."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    own = next((place for place, one in enumerate(kind.__mro__) if one.__name__ == "FuncGraph"), 0)
    if any("_create_op_internal" in vars(one) for one in kind.__mro__[:own]):
        return type(kind.__name__, (kind, type("QuickGraph", (_Quick, kind.__mro__[own]), {})), names)
    return type(kind.__name__, (_Quick, kind), names)


class _Lines(threading.local):
    """The stack at which operations are made. It takes long to read, and most calls of TensorFlow make several."""

    def __init__(self) -> None:
        self.made = 0
        self.kept = 0  # traces under way that keep the last stack
        self.forget()

    def forget(self) -> None:
        """Let go of the last stack."""
        self._frame: Any = None
        self._instruction, self._stack = 0, None

    def now(self) -> Any:
        """The stack now; that of the last operation as long as the program has not gone on."""
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(BETWEEN):
            frame = frame.f_back
        if not self.kept or frame is None or frame.f_code.co_flags & inspect.CO_GENERATOR:  # others may call a generator to go on
            return read_stack()
        if frame is not self._frame or frame.f_lasti != self._instruction:
            self._frame, self._instruction, self._stack = frame, frame.f_lasti, read_stack()
        return self._stack


BETWEEN = (f"{Path(tf.__file__).parent}/", *OWN_FOLDERS)  # between the program and an operation
_lines = _Lines()


def operations_made() -> int:
    """How many operations this thread has made in quick graphs."""
    return _lines.made


@contextlib.contextmanager
def lines_kept() -> Iterator[None]:
    """Let operations made inside share what is read of the stack, as long as they are of one place of the program."""
    _lines.kept += 1
    try:
        yield
    finally:
        _lines.kept -= 1
        _lines.forget()
