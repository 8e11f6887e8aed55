"""The ``imp2tf`` logger: quiet by default, topics chosen by the environment variable ``IMP2TF_LOGS``.

    IMP2TF_LOGS="fallbacks,recompiles" python train.py

A topic that was asked for is logged as warnings, the others as debug messages. The topics: why something runs as Python, once for each
function and reason (fallbacks); why a function is traced again (recompiles); what a new graph assumes (guards); how large it is
(graph); how its runs are timed (tiers); why something on disk is not used (cache).
"""
from __future__ import annotations

import logging
import os
from typing import Any

__all__ = ["TOPICS", "is_logged", "log"]

TOPICS = ("fallbacks", "recompiles", "guards", "graph", "tiers", "cache")

_logger = logging.getLogger("imp2tf")


def _topics_asked_for() -> frozenset[str]:
    asked = [topic.strip() for topic in os.environ.get("IMP2TF_LOGS", "").split(",") if topic.strip()]
    for topic in asked:
        if topic not in TOPICS:
            _logger.warning("imp2tf: IMP2TF_LOGS names %r; the topics are %s", topic, ", ".join(TOPICS))
    return frozenset(asked)


_asked = _topics_asked_for()


def _level(topic: str) -> int:
    return logging.WARNING if topic in _asked else logging.DEBUG


def is_logged(topic: str) -> bool:
    """Whether anybody will see what is logged under a topic: for messages that are costly to make."""
    return _logger.isEnabledFor(_level(topic))


def log(topic: str, message: str, *args: Any) -> None:
    """Log under a topic."""
    _logger.log(_level(topic), f"imp2tf [{topic}] {message}", *args)
