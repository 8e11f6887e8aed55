"""Generators that are consumed where they are made.

    yield x                        -->   if rt.give(consumer__, x): return      (see `imp2tf.inversion`)
    for h in halves(x): body       -->   halves with a consumer that runs the body
"""
from __future__ import annotations

import types
from typing import Any

from imp2tf.generators import Consumer
from imp2tf.namespace import operator


@operator
def give(consumer: Consumer, item: Any) -> Any:
    """Pass an item to the consumer, as ``yield`` does. Returns whether the generator is to end."""
    return consumer.give(item)


@operator
def generator_def(made: types.FunctionType) -> types.FunctionType:
    """A generator function that converted code has just made."""
    made.__imp2tf_generator__ = True  # type: ignore[attr-defined]
    return made
