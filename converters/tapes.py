"""Gradients that a converted function takes itself: None where eager's are None.

    tape.gradient(y, [x, limit])   -->   [dy/dx, None], if `limit` only steers the branches and loops on the way from x to y

The If and While of a graph would answer zeros for `limit`.
"""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf.alternatives import over, raise_error
from imp2tf.arithmetic import run_operation
from imp2tf.calls import replace_call
from imp2tf.connectivity import connections_around, enclosing
from imp2tf.foreign import adopted, lowered
from imp2tf.junctions import decided, junctions_of
from imp2tf.refusals import eager_error
from imp2tf.session import current
from imp2tf.tf_compat import is_symbolic_tensor
from imp2tf.values import Union

NONE = tf.UnconnectedGradients.NONE


@replace_call(tf.GradientTape.gradient)
def gradient(tape: tf.GradientTape, target: Any, sources: Any, output_gradients: Any = None,
             unconnected_gradients: Any = NONE) -> Any:
    """``tape.gradient(target, sources, ...)``."""
    if isinstance(target, Union):
        return over(target, lambda one: gradient(tape, one, sources, output_gradients, unconnected_gradients))
    if target is None:
        raise_error(eager_error(_of_nothing))
    values = [lowered(value) for value in (target, sources, output_gradients)]
    return adopted(run_operation(_gradient, tape, *values, unconnected_gradients))


def _of_nothing() -> None:
    """What eager says of a gradient of None."""
    with tf.GradientTape() as tape:
        pass
    tape.gradient(None, tf.zeros([]))


def _gradient(tape: tf.GradientTape, target: Any, sources: Any, output_gradients: Any, unconnected: Any) -> Any:
    found = tape.gradient(target, sources, output_gradients, unconnected)
    targets = [one for one in tf.nest.flatten(target, expand_composites=True) if is_symbolic_tensor(one)]
    whole = tf.nest.flatten(sources)
    if tf.UnconnectedGradients(unconnected) is not NONE or not targets or not all(map(_is_dense, whole)):
        return found
    reached = connections_around(targets, whole)
    if reached is None:
        return found
    session = current()
    mask = decided(reached, len(whole), [junctions_of(session, graph) for graph in enclosing(targets)])
    gradients = [_present(one, mask, bit) for bit, one in enumerate(tf.nest.flatten(found))]
    return tf.nest.pack_sequence_as(sources, gradients)


def _present(gradient: Any, mask: int | tf.Tensor, bit: int) -> Any:
    """A gradient, or None if the source of this number is not in the mask."""
    if gradient is None or isinstance(mask, int):
        return gradient if gradient is None or mask >> bit & 1 else None
    return Union(tf.cast(mask[bit], tf.int32), [None, gradient])


def _is_dense(source: Any) -> bool:
    return isinstance(source, (tf.Tensor, tf.Variable))
