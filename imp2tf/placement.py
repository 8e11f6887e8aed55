"""Where a call runs under a `tf.distribute` strategy: graphs of one replica do not serve another.

Variables of a strategy have a copy for each replica, and a graph captures the copy of the replica that traced it. So strategy and
replica are guarded as Python values are, by graphs that may depend on them: those traced under a strategy, those that hold a
variable of one, and those that ask where they run.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from imp2tf.session import Session
from imp2tf.sources import Code, Source
from imp2tf.tf_compat import belongs_to_strategy, replica_of_call

__all__ = ["guard_placement"]


class Placement(Source):
    """The strategy that is in scope, and the replica that calls: None without one and in cross-replica context."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement)

    def __hash__(self) -> int:
        return hash(Placement)

    def __str__(self) -> str:
        return "the strategy and replica"

    def fetch(self, args: Sequence[Any]) -> Any:
        return replica_of_call()

    def expression(self, code: Code) -> str:
        return f"{code.constant(replica_of_call)}()"


def guard_placement(session: Session, asked: bool = False) -> None:
    """Guard strategy and replica if the graph may depend on them; `asked` if the program has asked."""
    if asked or tf.distribute.has_strategy() or any(map(belongs_to_strategy, session.graph.variables)):
        session.guard(Placement(), "equal", replica_of_call())
