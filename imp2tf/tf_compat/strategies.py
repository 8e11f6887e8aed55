"""What a call can know of the strategy and the replica that it runs in."""
from __future__ import annotations

from typing import Any

import tensorflow as tf


def replica_of_call() -> tuple[Any, Any]:
    """The strategy in scope and the number of the replica that calls; None for what there is not."""
    strategy = tf.distribute.get_strategy() if tf.distribute.has_strategy() else None
    context = tf.distribute.get_replica_context() if strategy is not None else None
    return strategy, None if context is None else _number(getattr(context, "_replica_id_in_sync_group", context.replica_id_in_sync_group))


def in_replica() -> bool:
    """Whether this is code of one replica of a strategy."""
    return tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()


def _number(replica: Any) -> Any:
    """A replica's number, be it a tensor."""
    known = tf.get_static_value(replica) if isinstance(replica, tf.Tensor) else replica
    return int(known) if known is not None else None


def belongs_to_strategy(variable: tf.Variable) -> bool:
    """Whether a variable is, or is one replica's copy of, a variable of a strategy."""
    owners = (variable, getattr(variable, "handle", None))
    return isinstance(variable, tf.distribute.DistributedValues) or any(hasattr(one, "_distributed_container") for one in owners)
