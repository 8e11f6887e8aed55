"""``len``, ``isinstance``, ``type``, ``getattr`` and their like on what a trace meets.

    isinstance(n, int)   -->   True for an int that only the run knows
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf import attribute_writes, attributes, object_fields
from imp2tf.alternatives import number_of, over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.calls import call, replace_call
from imp2tf.containers import container_length, listed
from imp2tf.dict_views import DictView
from imp2tf.errors import ForeignCall, NeedsValue, fall_back
from imp2tf.forcing import known_class
from imp2tf.foreign import register_host_method
from imp2tf.kinds import is_container, is_user_function
from imp2tf.refusals import eager_error
from imp2tf.region import stop_if
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import NUMBER_TYPES, Deferred, PyNumber, StandIn, Union, call_method, numpy_value


@replace_call(len)
def len_(value: Any) -> Any:
    """``len(value)``."""
    if isinstance(value, Union):
        return over(value, len_)
    method = getattr(type(value), "__len__", None)
    if is_user_function(method):
        return call(method, value)
    if is_container(value):
        return container_length(value)
    if isinstance(value, DictView):
        return value.over(lambda view: container_length(view.owner))
    if isinstance(value, StandIn):
        value.refuse()
    if isinstance(value, object_fields.FieldsOf):
        return len(value.fields())
    if is_symbolic_tensor(value):
        if value.shape.rank is None:
            fall_back(NeedsValue, "len() of a tensor of unknown rank")
        if value.shape.rank and value.shape[0] is None:
            return PyNumber("int", tf.shape(value, out_type=tf.int64)[0])
        if value.shape.rank:
            return value.shape[0]
        return raise_error(TypeError("Scalar tensor has no `len()`"))
    if isinstance(value, PyNumber):
        return raise_error(TypeError(f"object of type '{value.kind}' has no len()"))
    if listed(value) is not None:
        return container_length(listed(value))
    if isinstance(value, Deferred):
        return _length_of_array(value.args[0]) if value.function is numpy_value else number_of(len, value)
    if isinstance(value, tf.data.Dataset):
        return _elements_of_dataset(value)
    return run_operation(len, value)


def _length_of_array(tensor: tf.Tensor) -> Any:
    if tensor.shape.rank == 0 and tensor.dtype == tf.string:
        return PyNumber("int", tf.cast(tf.strings.length(tensor), tf.int64))
    return len_(tensor) if tensor.shape.rank else number_of(len, Deferred(numpy_value, (tensor,)))


def _elements_of_dataset(dataset: tf.data.Dataset) -> PyNumber:
    """``len(dataset)``, which the run refuses where the number is infinite or unknown."""
    count = dataset.cardinality()
    for number, make in ((tf.data.INFINITE_CARDINALITY, _endless), (tf.data.UNKNOWN_CARDINALITY, _of_unknown_length)):
        stop_if(tf.equal(count, number), eager_error(_length_of, make))
    return PyNumber("int", count)


def _length_of(make: Callable[[], tf.data.Dataset]) -> int:
    return len(make())


def _endless() -> tf.data.Dataset:
    return tf.data.Dataset.range(1).repeat()


def _of_unknown_length() -> tf.data.Dataset:
    return tf.data.Dataset.range(1).filter(lambda _: True)


@replace_call(isinstance)
def isinstance_(value: Any, cls: Any) -> Any:
    """``isinstance(value, cls)``."""
    if isinstance(value, Union):
        return over(value, lambda one: isinstance_(one, cls))
    if isinstance(value, PyNumber):
        return issubclass(NUMBER_TYPES[value.kind], cls)
    if listed(value) is not None:
        return run_operation(isinstance, (), cls)
    if isinstance(value, Deferred):
        known = known_class(value)
        return fall_back(NeedsValue, f"isinstance() of {value!r}") if known is None else run_operation(issubclass, known, cls)
    return value.refuse() if isinstance(value, StandIn) else run_operation(isinstance, value, cls)


@replace_call(type)
def type_(value: Any, *rest: Any, **kwargs: Any) -> Any:
    """``type(value)``."""
    if rest or kwargs:
        return fall_back(ForeignCall, "type() makes a class")
    if isinstance(value, Union):
        return over(value, type_)
    if is_symbolic_tensor(value):
        return fall_back(NeedsValue, "type() of a tensor")
    if isinstance(value, StandIn):
        value.refuse()
    if isinstance(value, Deferred):
        return known_class(value) or fall_back(NeedsValue, f"type() of {value!r}")
    return NUMBER_TYPES[value.kind] if isinstance(value, PyNumber) else type(value)


@replace_call(super)
def super_(*args: Any) -> Any:
    """``super(cls, owner)``."""
    return super(*args)


@replace_call(vars)
def vars_(owner: Any) -> Any:
    """``vars(owner)``."""
    return attributes.get_attribute(owner, "__dict__")


@replace_call(getattr)
def getattr_(owner: Any, name: str, *default: Any) -> Any:
    """``getattr(owner, name, default)``."""
    return attributes.get_attribute(owner, name, *default)


@replace_call(setattr)
def setattr_(owner: Any, name: str, value: Any) -> None:
    """``setattr(owner, name, value)``."""
    attribute_writes.set_attribute(owner, name, value)


@replace_call(delattr)
def delattr_(owner: Any, name: str) -> None:
    """``delattr(owner, name)``."""
    attribute_writes.delete_attribute(owner, name)


@replace_call(object.__setattr__)
def set_past_hooks(owner: Any, name: str, value: Any) -> None:
    """``object.__setattr__(owner, name, value)``."""
    attribute_writes.store_attribute(owner, name, value)


@replace_call(object.__delattr__)
def delete_past_hooks(owner: Any, name: str) -> None:
    """``object.__delattr__(owner, name)``."""
    attribute_writes.remove_attribute(owner, name)


@register_host_method(lambda owner: hasattr(owner, "__dict__"), ("__setattr__", "__delattr__"))
def _past_hooks(owner: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``super().__setattr__(name, value)`` above which there is no hook of the user's; a library's sees the value after the run."""
    (attribute_writes.store_attribute if method == "__setattr__" else attribute_writes.remove_attribute)(owner, *args, **kwargs)


@replace_call(hasattr)
def hasattr_(owner: Any, name: str) -> Any:
    """``hasattr(owner, name)``."""
    return attributes.has_attribute(owner, name)


@replace_call(tf.executing_eagerly)
def executing_eagerly_() -> bool:
    """``tf.executing_eagerly()``: always True, because the program is an eager one."""
    return True


@replace_call(callable)
def callable_(value: Any) -> Any:
    """``callable(value)``."""
    return over(value, callable_) if isinstance(value, Union) else callable(value)


@register_host_method(lambda owner: isinstance(owner, tf.RaggedTensor), ("numpy", "to_list"))
def values_of_ragged(owner: tf.RaggedTensor, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``ragged.to_list()``, ``ragged.numpy()``: known after the run."""
    return Deferred(call_method, (owner, name, *args), kwargs)


@replace_call(tf.get_static_value)
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """``tf.get_static_value(x)``: eagerly every value is known."""
    return Deferred(numpy_value, (tensor,)) if is_symbolic_tensor(tensor) else run_operation(tf.get_static_value, tensor, partial)
