"""Augmented assignment: lists, dicts, sets and arrays change in place, other values are new ones."""
from __future__ import annotations

import collections
import operator as python
from collections.abc import Callable
from typing import Any

import numpy as np

from imp2tf.alternatives import over
from imp2tf.container_methods import ContainerMethod, container_method
from imp2tf.deferred_calls import may_change
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.heap import contents, set_contents
from imp2tf.kinds import is_container
from imp2tf.opaque import change_array
from imp2tf.operations import binary_operation, repeated_list
from imp2tf.operator_methods import ARRAYS, binary_by_methods, called_method, method_of
from imp2tf.values import Deferred, PyNumber, Union

__all__ = ["IN_PLACE", "in_place"]

IN_PLACE: dict[str, Callable[..., Any]] = {
    "+": python.iadd, "-": python.isub, "*": python.imul, "/": python.itruediv, "//": python.ifloordiv, "%": python.imod,
    "**": python.ipow, "@": python.imatmul, "&": python.iand, "|": python.ior, "^": python.ixor, "<<": python.ilshift, ">>": python.irshift,
}


def in_place(op: str, a: Any, b: Any) -> Any:
    """``a op= b``: the new value of `a`; lists, dicts and sets change in place."""
    if isinstance(a, Union) and any(is_container(one) for one in a.alternatives):
        return over(a, lambda one: in_place(op, one, b))
    if is_container(a):
        if isinstance(b, Union) and any(isinstance(one, ARRAYS) for one in b.alternatives):
            return over(b, lambda one: in_place(op, a, one))
        found = _before_it_extends(op, a, b) if op in ("+", "*") and isinstance(a, (list, collections.deque)) else NotImplemented
        return _container_in_place(op, a, b) if found is NotImplemented else found
    method = method_of(a, f"__{IN_PLACE[op].__name__.strip('_')}__")
    found = called_method(method, a, b) if method is not None else NotImplemented
    if found is not NotImplemented:
        return found
    if isinstance(a, np.ndarray) or (isinstance(a, Deferred) and may_change(a)):
        change_array(IN_PLACE[op], a, b)
        return a
    return binary_operation(op, a, b, IN_PLACE[op])


def _before_it_extends(op: str, a: Any, b: Any) -> Any:
    """What the arithmetic of `b` makes of a list, which Python asks before it extends or repeats the list in place."""
    if isinstance(b, ARRAYS) or (isinstance(b, np.generic) and op == "+"):
        return binary_operation(op, a, b)
    return binary_by_methods(op, a, b)


UPDATES = {"|": "update", "&": "intersection_update", "-": "difference_update", "^": "symmetric_difference_update"}


def _container_in_place(op: str, a: Any, b: Any) -> Any:
    name = "extend" if op == "+" and not isinstance(a, (dict, set)) else UPDATES.get(op) if isinstance(a, set) else None
    if isinstance(a, collections.Counter) and isinstance(b, collections.Counter) and op in ("+", "-", "|", "&"):
        set_contents(a, contents(binary_operation(op, a, b)))
        return a
    if isinstance(a, dict) and op == "|":
        name = "update"
    if isinstance(a, list) and op == "*" and isinstance(b, (int, PyNumber)):
        set_contents(a, contents(repeated_list(a, b)))
        return a
    if name is None:
        return fall_back(ForeignCall, f"{op}= on a {type(a).__name__}")
    container_method(ContainerMethod(a, name), (b,), {})
    return a
