"""``random.shuffle``: the run draws the order, and the graph puts the list into it.

    random.shuffle(xs)   -->   a host call that shuffles positions; xs[:] = [xs[i] for i in positions]
"""
from __future__ import annotations

import random
from typing import Any

import tensorflow as tf

from imp2tf.calls import replace_call
from imp2tf.effects import host_value
from imp2tf.heap import contents, set_contents
from imp2tf.opaque import call_library
from imp2tf.picking import permuted
from imp2tf.results import Array
from imp2tf.session import current

MOST_ITEMS = 256  # of a list that is shuffled in the graph


@replace_call(random.Random.shuffle)
def shuffle(source: random.Random, items: Any) -> Any:
    """``source.shuffle(items)``; the functions of the module are methods of a source that nobody sees."""
    found = contents(items) if isinstance(items, list) else None
    if not isinstance(found, list) or not 1 < len(found) <= MOST_ITEMS or current().embedded or type(source) is not random.Random:
        return call_library(source.shuffle, (items,), {})
    is_known = id(source) in current().sources

    def draw(*given: random.Random) -> tf.Tensor:
        places = list(range(len(found)))
        (given[0] if is_known else source).shuffle(places)
        return tf.constant(places, tf.int64)

    order = host_value(draw, Array(tf.int64, 1), [source] if is_known else [])
    return set_contents(items, permuted(found, tf.ensure_shape(order, [len(found)])))
