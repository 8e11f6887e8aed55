"""Seeds set inside a function: by the run, in program order.

    tf.random.set_seed(s)   -->   a host call of the graph that sets eager's seed

The random operations themselves are seen to when a graph is finished (`imp2tf.random_ops`).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from imp2tf.calls import replace_call, replace_call_of
from imp2tf.effects import host_call
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.seed_stream import leave_draws_to_host
from imp2tf.session import current


@replace_call(tf.random.set_seed)
def set_seed(seed: Any) -> None:
    """``tf.random.set_seed(seed)``: from now on the random operations of this trace are eager's."""
    _draw_from_eager("a seed is set after random numbers were drawn without one")
    host_call(tf.random.set_seed, seed, name="set_seed")


@replace_call_of("keras.src.utils.rng_utils", "set_random_seed")
def set_random_seed(original: Callable[[Any], None], seed: Any) -> None:
    """``keras.utils.set_random_seed(seed)``: also seeds Python and NumPy."""
    _draw_from_eager("a seed is set after random numbers were drawn without one")
    host_call(original, seed, name="set_random_seed")


@replace_call(tf.random.set_global_generator)
def set_global_generator(generator: Any) -> None:
    """Replaces an object of TensorFlow itself: left to Python."""
    fall_back(ForeignCall, "tf.random.set_global_generator is called")


def _draw_from_eager(reason: str) -> None:
    """Operations of this trace that stayed native make it void; the next one knows from the start."""
    session = current()
    session.seeded = session.relaxations.seeded = True
    leave_draws_to_host(session, "a seed is set")
    session.draws_inside = False
    if session.counts["native_random"]:
        fall_back(ForeignCall, reason)
