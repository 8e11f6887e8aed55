"""What Keras keeps in Python while it runs a step, carried through branches and loops like the program's own state.

The lists that `add_loss` fills are containers of the trace. The loops of `keras.layers.RNN` and of `keras.ops` stay TensorFlow's, unless
the user's code in them changes Python state or calls Python: then they are loops of the trace, which carry that.
"""
from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from imp2tf.attribute_writes import keep_as
from imp2tf.calls import InForeignGraph, call
from imp2tf.container_methods import ContainerMethod
from imp2tf.containers import new_list
from imp2tf.errors import NeedsValue, fall_back
from imp2tf.heap import contents
from imp2tf.keras import private
from imp2tf.looping import loop
from imp2tf.places import Contents
from imp2tf.session import active, current
from imp2tf.stacked_lists import StackedList
from imp2tf.states import State
from imp2tf.tf_compat import array_with_flow, in_eager_mode
from imp2tf.values import Growable, Union

__all__ = ["CarriedLosses", "summing", "while_loop"]


# ------------------------------------------------------------------------------------------------ losses
class _Thread(threading.local):
    summing = False


_thread = _Thread()


@contextlib.contextmanager
def summing(wanted: bool) -> Iterator[None]:
    """Inside, Keras reads losses only to add them up."""
    before, _thread.summing = _thread.summing, wanted or _thread.summing
    try:
        yield
    finally:
        _thread.summing = before


class CarriedLosses:
    """The list in which a layer keeps what `add_loss` was given in its last call, as a container of the trace."""

    def __init__(self, held: list[Any]) -> None:
        self._held = held

    def clear(self) -> None:
        """A new call of the layer begins."""
        session, place = current(), Contents(self._held)
        if self._held or session.is_written(place):
            session.write(place, [])

    def extend(self, losses: list[Any]) -> None:
        """What `add_loss` was given."""
        for loss in losses:
            call(ContainerMethod(self._held, "append"), loss)

    def append(self, loss: Any) -> None:
        """One loss more."""
        self.extend([loss])

    def __getitem__(self, place: Any) -> Any:
        return self._found()[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> list[Any]:
        found = contents(self._held)
        if isinstance(found, Growable) and _thread.summing:
            return [tf.reduce_sum(StackedList(found).stack())]
        if isinstance(found, (Growable, Union)):
            return fall_back(NeedsValue, "the losses of a layer, whose number only the run knows")
        return list(found)


# ------------------------------------------------------------------------------------------------ attributes
def _tracked(value: Any) -> Any:
    """A container as Keras keeps it: a copy."""
    if isinstance(value, collections.deque) or not isinstance(value, (list, dict, set, tuple)):
        return value
    if isinstance(value, tuple):
        items = [_tracked(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    found = contents(value)
    if isinstance(found, (Growable, Union)):
        return new_list(found) if isinstance(found, Growable) else fall_back(NeedsValue, "Keras keeps a container of run-time contents")
    if isinstance(found, dict):
        if type(value) is not dict and not type(value).__module__.startswith("keras."):
            fall_back(NeedsValue, f"Keras keeps a {type(value).__name__} as a dict")
        return current().born({key: _tracked(item) for key, item in found.items()})
    return current().born(set(found)) if isinstance(value, set) else new_list([_tracked(item) for item in found])


for _cls in private.TRACKING:
    keep_as(_cls, _tracked)


# ------------------------------------------------------------------------------------------------ loops
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, **options: Any) -> Any:
    """``tf.while_loop`` for Keras's own loops."""
    session = active()
    if session is None or in_eager_mode() or tf.compat.v1.get_default_graph() is not session.region_graphs[-1]:
        return tf.while_loop(cond, body, loop_vars, **options)
    try:
        return tf.while_loop(cond, body, loop_vars, **options)
    except InForeignGraph:
        return _carrying_loop(cond, body, loop_vars, options.get("maximum_iterations"))


def _carrying_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Any) -> Any:
    """The same loop, as a loop of the trace."""
    start = tf.nest.flatten(loop_vars)
    held = [tf.constant(0), *map(_carried, start)]

    def values() -> Any:
        return tf.nest.pack_sequence_as(loop_vars, [_restored(now, old) for now, old in zip(held[1:], start, strict=True)])

    def goes_on() -> tf.Tensor:
        go = tf.reshape(tf.convert_to_tensor(cond(*values())), [])
        return go if limit is None else tf.logical_and(go, held[0] < tf.cast(limit, tf.int32))

    def step() -> tf.Tensor:
        found = tf.nest.flatten(body(*values()))
        held[:] = [held[0] + 1, *map(_carried, found)]
        return goes_on()

    def put(carried: tuple[Any, ...]) -> None:
        held[:] = carried

    loop(goes_on(), step, State(lambda: tuple(held), put), site=("keras", body.__code__))
    return values()


def _carried(value: Any) -> tf.Tensor:
    return value.flow if isinstance(value, tf.TensorArray) else tf.convert_to_tensor(value)


def _restored(carried: tf.Tensor, like: Any) -> Any:
    if isinstance(like, tf.TensorArray):
        return array_with_flow(like, carried)
    if isinstance(like, tf.Tensor):
        carried.set_shape(like.shape)
    return carried
