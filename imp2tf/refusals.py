"""What eager refuses, refused by the run with eager's own error.

An operation of the graph may accept what eager does not, or word its error otherwise. So the run asks first, by a test in
the graph; where the test holds, a call that eager refuses is made for its error.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf

from imp2tf.alternatives import raise_error
from imp2tf.region import stop_if
from imp2tf.session import suspended
from imp2tf.values import NUMBER_TYPES, PyNumber, is_runtime

__all__ = ["Place", "Truth", "as_eager", "eager_error", "either", "equal", "exceeds", "not_equal", "outside", "refuse"]

Place: TypeAlias = "int | tf.Tensor"  # an index or a size: a Python int, or an int32 scalar that only the run knows
Truth: TypeAlias = "bool | tf.Tensor"
REFUSED = tf.errors.OutOfRangeError(None, None, "refused")  # stands for eager's error until the run has it


def refuse(pred: Truth, function: Callable[..., Any], *args: Any) -> None:
    """Where `pred` holds, raise what ``function(*args)`` raises eagerly."""
    if pred is False:
        return
    if pred is True and not any(map(is_runtime, args)):
        raise_error(eager_error(function, *args))
    stop_if(tf.convert_to_tensor(pred), REFUSED, retry=(function, args, {}))


def eager_error(function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException:
    """The exception that a call raises when it is made eagerly."""
    with tf.init_scope(), suspended():
        try:
            function(*args, **kwargs)
        except Exception as error:  # whatever eager says
            return error
    raise AssertionError(f"eager does not refuse {function}")


def as_eager(value: Any) -> Any:
    """A value of the class that eager has in the place of this one."""
    if isinstance(value, PyNumber):
        return NUMBER_TYPES[value.kind](1)
    if isinstance(value, tf.Tensor):
        with tf.init_scope():
            return tf.constant(0.0)
    return value


# ------------------------------------------------------------------------------------------------ tests
def outside(place: Place, size: Place, growing: bool = False) -> Truth:
    """Whether an index is out of range."""
    if isinstance(place, int):
        return place < 0 or (not growing and exceeds(place + 1, size))
    return place < 0 if growing else tf.logical_or(place < 0, place >= size)


def exceeds(a: Place, b: Place) -> Truth:
    """``a > b``."""
    return a > b if isinstance(a, int) and isinstance(b, int) else tf.greater(a, b)


def equal(a: Place, b: int) -> Truth:
    """``a == b``."""
    return a == b if isinstance(a, int) else tf.equal(a, b)


def not_equal(a: Place, b: int) -> Truth:
    """``a != b``."""
    return a != b if isinstance(a, int) else tf.not_equal(a, b)


def either(a: Truth, b: Truth) -> Truth:
    """``a or b``."""
    if isinstance(a, bool) or isinstance(b, bool):
        first, second = (a, b) if isinstance(a, bool) else (b, a)
        return first or second
    return tf.logical_or(a, b)
