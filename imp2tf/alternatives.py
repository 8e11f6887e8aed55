"""Operations on values of several kinds, and the truth of values that only the run knows."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.errors import LostValue, NeedsValue, SeveralKinds, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.forcing import forced
from imp2tf.growable import growable_length
from imp2tf.heap import contents
from imp2tf.kinds import is_container
from imp2tf.region import select, stop_if
from imp2tf.session import active, current
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import LOST, UNBOUND, Deferred, Growable, PyNumber, StandIn, Table, Union, python_bool

__all__ = ["bound", "number_of", "over", "over_inside", "raise_error", "stripped", "truth", "truth_number", "union_inside"]


NUMBER_NAMES: dict[Any, str] = {int: "int", float: "float", bool: "bool", len: "int"}  # what some functions give, whatever they take
MOST = 32  # alternatives of a value; texts that a loop puts together from others soon have more


def over(union: Union, operation: Callable[[Any], Any]) -> Any:
    """`operation` applied to the alternative that `union` holds; the results are joined and often are of one kind."""
    alternatives = union.alternatives
    if len(alternatives) > MOST:
        fall_back(SeveralKinds, f"a value of more than {MOST} kinds: each use would be traced for each of them")

    def at(index: int) -> Any:
        if index == len(alternatives) - 1:
            return operation(alternatives[index])
        return select(tf.equal(union.tag, index), lambda: operation(alternatives[index]), lambda: at(index + 1))

    return at(0)


def union_inside(value: Any) -> int | None:
    """Where in a list or tuple a value of several kinds stands."""
    if type(value) not in (list, tuple):
        return None
    found = contents(value) if isinstance(value, list) else value
    return next((i for i, one in enumerate(found) if isinstance(one, Union)), None) if isinstance(found, (list, tuple)) else None


def over_inside(value: Any, operation: Callable[[Any], Any]) -> Any:
    """`operation` on a list or tuple for each alternative of the first value of several kinds in it."""
    place = union_inside(value)
    assert place is not None
    items = list(contents(value)) if isinstance(value, list) else list(value)

    def with_one(one: Any) -> Any:
        made = [*items[:place], one, *items[place + 1:]]
        return operation(current().born(made) if isinstance(value, list) else tuple(made))

    return over(items[place], with_one)


def raise_error(error: BaseException) -> Any:
    """Raise an exception of the program: as itself outside a trace, as `ProgramRaise` inside."""
    if active() is None:
        raise error
    raise ProgramRaise(error)


def stripped(union: Union, unwanted: Any, error: BaseException) -> Any:
    """`union` without one alternative; where the run finds that alternative, `error` is raised."""
    rest = [one for one in union.alternatives if one is not unwanted]
    if len(rest) == len(union.alternatives):
        return union
    for place, one in enumerate(union.alternatives):
        if one is unwanted:
            stop_if(tf.equal(union.tag, place), error)
    if len(rest) == 1:
        return rest[0]
    positions = iter(range(len(rest)))
    moved = [0 if one is unwanted else next(positions) for one in union.alternatives]
    return Union(tf.gather(tf.constant(moved, tf.int32), union.tag), rest)


def bound(value: Any, name: str) -> Any:
    """The value of a local variable that may be unbound."""
    if value is UNBOUND:
        return raise_error(_unbound(name))
    if value is LOST:
        fall_back(LostValue, f"{name!r} is made anew in a branch or loop and used after it")
    return stripped(value, UNBOUND, _unbound(name)) if isinstance(value, Union) else value


def _unbound(name: str) -> UnboundLocalError:
    try:
        exec(_READS_UNBOUND.format(name=name), {})
    except UnboundLocalError as error:  # this Python's own wording
        return UnboundLocalError(*error.args, name=name) if hasattr(error, "name") else UnboundLocalError(*error.args)
    raise AssertionError("unreachable")


_READS_UNBOUND = "def read():\n    {name}\n    {name} = None\nread()"


def truth(value: Any) -> Any:
    """The truth of a value: a Python bool, or a scalar bool tensor where only the run knows."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Union):
        return truth(over(value, truth_number))
    if isinstance(value, PyNumber):
        return value.tensor if value.kind == "bool" else tf.not_equal(value.tensor, tf.zeros([], value.tensor.dtype))
    if isinstance(value, tf.Variable) and active() is not None:
        value = tf.convert_to_tensor(value)
    if is_symbolic_tensor(value):
        return _tensor_truth(value)
    if isinstance(value, Deferred):
        return truth(number_of(bool, value))
    if active() is not None and is_container(value):
        return _container_truth(contents(value))
    if isinstance(value, StandIn):
        value.refuse()
    return _python_truth(value)


def number_of(function: Callable[..., Any], *values: Any) -> PyNumber:
    """A Python number of values that are known after the run, which Python computes when the run gets here."""
    found = forced(Deferred(function, values), number=NUMBER_NAMES.get(function))
    return found if isinstance(found, PyNumber) else fall_back(NeedsValue, f"{function.__name__}() of {values[0]!r} is needed")


def _tensor_truth(value: tf.Tensor) -> tf.Tensor:
    if value.shape.rank != 0:
        if value.shape.num_elements() != 1:
            fall_back(NeedsValue, "the truth of a tensor with several elements is needed")
        value = tf.reshape(value, [])
    if value.dtype == tf.string:
        return tf.greater(tf.strings.length(value), 0)
    return value if value.dtype == tf.bool else tf.not_equal(value, tf.zeros([], value.dtype))


def _container_truth(found: Any) -> Any:
    if isinstance(found, Growable):
        return tf.greater(growable_length(found), 0)
    if isinstance(found, Table):
        return tf.greater(tf.size(found.keys), 0)
    if isinstance(found, Union):
        return truth(over(found, lambda one: truth_number(_container_truth(one))))
    return bool(found)


def _python_truth(value: Any) -> bool:
    try:
        return bool(value)
    except Exception as error:  # whatever the object's own __bool__ raises is the program's
        return bool(raise_error(error))


def truth_number(value: Any) -> Any:
    """``bool(value)``: a Python bool, or a run-time one."""
    return python_bool(truth(value))
