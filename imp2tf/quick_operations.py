"""TensorFlow's functions make operations of quick graphs with a part of the work, and share the constants that only they see.

A function of TensorFlow gives what it was called with to one helper, which finds out by the registered definition of the operation what
is an input and what an attribute, anew each time. Here that is found out once for each kind of operation, and attributes are encoded once
for each value. What is unusual is left to TensorFlow's own helper, and so is what is wrong: errors are TensorFlow's.

A number, shape or list that an operation takes becomes a constant that nobody else can name, so one serves all operations of a graph that
take the same. Tensors that the program can name are never shared: it might watch one, and not the other.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.quick_graphs import NAME, are_constants_shared, constants_shared, is_usual, make_quick, place_of_constants
from imp2tf.tf_compat import attribute_value, is_symbolic_tensor, op_definition, operations_are_watched, operations_made_by

__all__ = ["operations_quick"]

HIDDEN = (bool, int, float, list, tuple, np.ndarray, tf.TensorShape)  # what becomes a constant that only the operation sees
FUNCTIONS = ("func", "list(func)")


@dataclasses.dataclass(frozen=True)
class _Input:
    name: str
    dtype: tf.DType | None  # of all operations of the kind
    attribute: str  # or the one that holds the dtype
    default: tf.DType | None
    allowed: frozenset[tf.DType] | None


@dataclasses.dataclass(frozen=True)
class _Kind:
    """What an operation of one kind takes; all its inputs and outputs are single tensors."""

    inputs: tuple[_Input, ...]
    attributes: tuple[Any, ...]
    outputs: int
    stateful: bool
    definition: Any


@functools.cache
def _kind(name: str) -> _Kind | None:
    """None for kinds that are left to TensorFlow."""
    definition = op_definition(name)
    if definition is None or definition.deprecation.version or any(one.type in FUNCTIONS for one in definition.attr):
        return None
    arguments = (*definition.input_arg, *definition.output_arg)
    if any(one.number_attr or one.type_list_attr or one.is_ref for one in arguments):
        return None
    attributes = {one.name: one for one in definition.attr}
    inputs = []
    for one in definition.input_arg:
        if not one.type_attr:
            inputs.append(_Input(one.name, tf.as_dtype(one.type), "", None, None))
            continue
        attribute = attributes[one.type_attr]
        default = tf.as_dtype(attribute.default_value.type) if attribute.HasField("default_value") else None
        allowed = frozenset(map(tf.as_dtype, attribute.allowed_values.list.type)) if attribute.HasField("allowed_values") else None
        inputs.append(_Input(one.name, None, one.type_attr, default, allowed))
    return _Kind(tuple(inputs), tuple(definition.attr), len(definition.output_arg), bool(definition.is_stateful), definition)


class _Unusual(Exception):
    """TensorFlow's own helper has to do it."""


@contextlib.contextmanager
def operations_quick() -> Iterator[None]:
    """Let operations of quick graphs be made so while this runs."""
    with operations_made_by(_made, _constant, make_quick):
        yield


def _constant(usual: Callable[..., tf.Tensor], value: Any, dtype: Any, shape: Any, *others: Any, **more: Any) -> tf.Tensor:
    """A constant; where constants are shared, the one of that value if there is one."""
    graph = tf.compat.v1.get_default_graph()
    known = _key(value) if shape is None and are_constants_shared() and is_usual(graph) else None
    place = place_of_constants(graph) if known is not None else None
    if place is None:
        return usual(value, dtype, shape, *others, **more)
    key = place, known, dtype
    found = graph._imp2tf_values.get(key)
    if found is None:
        found = graph._imp2tf_values[key] = usual(value, dtype, shape, *others, **more)
    return found


def _made(usual: Callable[..., Any], kind: str, name: str | None = None, **given: Any) -> Any:
    """What TensorFlow's helper returns: how results are grouped, whether the operation is stateful, the operation, its results."""
    graph = tf.compat.v1.get_default_graph()
    known = _kind(kind) if is_usual(graph) else None
    if known is None or not NAME.fullmatch(name or kind) or operations_are_watched():
        return usual(kind, name, **given)
    around = graph._name_stack
    graph._name_stack = scope = name[:-1] if name and name[-1] == "/" else graph.unique_name(name or kind)
    try:
        inputs, dtypes = _inputs(graph, known, given)
        attributes = _attributes(kind, known, given, dtypes)
        op = graph._create_op_internal(
            kind, inputs, None, name=f"{scope}/", input_types=[one.dtype for one in inputs], attrs=attributes, op_def=known.definition)
    except _Unusual:
        op = None
    finally:
        graph._name_stack = around
    if op is None:
        return usual(kind, name, **given)
    return [None] * known.outputs, known.stateful, op, op.outputs


def _inputs(graph: Any, known: _Kind, given: dict[str, Any]) -> tuple[list[tf.Tensor], dict[str, tf.DType]]:
    """The inputs as tensors, and the dtypes that they tell."""
    inputs, dtypes = [], dict[str, tf.DType]()
    for one in known.inputs:
        wanted = dtypes.get(one.attribute, one.dtype)
        value = given[one.name] if one.name in given else given.get(f"{one.name}_", _Unusual)
        if not is_symbolic_tensor(value):
            value = _converted(graph, value, one, wanted)
        dtype = value.dtype
        if wanted is None:
            if one.allowed is not None and dtype not in one.allowed:
                raise _Unusual
            dtypes[one.attribute] = dtype
        elif dtype is not wanted and dtype != wanted:
            raise _Unusual
        inputs.append(value)
    return inputs, dtypes


def _converted(graph: Any, value: Any, one: _Input, wanted: tf.DType | None) -> tf.Tensor:
    """What TensorFlow makes a tensor of."""
    place = place_of_constants(graph) if type(value) in HIDDEN else None
    key = _key(value) if place is not None else None
    if key is not None:
        key = place, key, wanted, one.default, one.allowed
        found = graph._imp2tf_values.get(key)
        if found is not None:
            return found
    try:
        with constants_shared() if place is not None else contextlib.nullcontext():
            tensor = _as_tensor(value, one, wanted)
    except Exception as error:  # TensorFlow's helper meets it too, and words it
        raise _Unusual from error
    if key is not None and tensor.op.type == "Const":
        graph._imp2tf_values[key] = tensor
    return tensor


def _as_tensor(value: Any, one: _Input, wanted: tf.DType | None) -> tf.Tensor:
    if value is _Unusual:
        raise _Unusual
    if wanted is None and one.allowed is not None:
        with contextlib.suppress(TypeError):
            tensor = tf.convert_to_tensor(value, name=one.name)
            if tensor.dtype in one.allowed:
                return tensor
    return tf.convert_to_tensor(value, wanted, one.default, name=one.name)


def _key(value: Any) -> Any:
    """What a value is known by, None where it is not short."""
    kind = type(value)
    if kind is int or kind is bool:
        return kind, value
    if kind is float:
        return kind, repr(value)
    if (kind is list or kind is tuple) and all(type(item) is int for item in value):
        return kind, tuple(value)
    return (kind, tuple(value)) if kind is tf.TensorShape and value.is_fully_defined() else None


def _attributes(kind: str, known: _Kind, given: dict[str, Any], dtypes: dict[str, tf.DType]) -> dict[str, Any]:
    """The attributes, encoded."""
    found, used = {}, len(known.inputs)
    for one in known.attributes:
        name = one.name
        if name in dtypes:
            if name in given:
                raise _Unusual
            found[name] = _encoded(kind, name, dtypes[name])
            continue
        key = name if name in given else f"{name}_"
        if key not in given:
            raise _Unusual
        used += 1
        value = given[key]
        try:
            found[name] = _encoded(kind, name, repr(value) if type(value) is float else value) if type(value) in PLAIN else \
                _encoded_anew(kind, one, value)
        except (AttributeError, TypeError, ValueError) as error:
            raise _Unusual from error
    if used != len(given):
        raise _Unusual
    return found


PLAIN = (bool, int, float, str, bytes, tf.DType, type(None))


@functools.lru_cache(maxsize=4096, typed=True)
def _encoded(kind: str, name: str, value: Any) -> Any:
    attribute = next(one for one in op_definition(kind).attr if one.name == name)
    return _encoded_anew(kind, attribute, float(value) if attribute.type == "float" and isinstance(value, str) else value)


def _encoded_anew(kind: str, attribute: Any, value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        value = list(value)
    return attribute_value(kind, attribute, value)
