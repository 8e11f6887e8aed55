"""The ``imp2tf`` logger: quiet by default, topics chosen by the environment variable ``IMP2TF_LOGS``.

    IMP2TF_LOGS="fallbacks,recompiles" python train.py
"""
from __future__ import annotations

import logging
import os
from typing import Any

__all__ = ["TOPICS", "log"]

TOPICS = ("fallbacks", "recompiles", "guards", "graph")

_logger = logging.getLogger("imp2tf")
_chosen = frozenset(topic.strip() for topic in os.environ.get("IMP2TF_LOGS", "").split(",") if topic.strip())


def log(topic: str, message: str, *args: Any) -> None:
    """Log under a topic: at WARNING if the topic was asked for, else at DEBUG."""
    _logger.log(logging.WARNING if topic in _chosen else logging.DEBUG, message, *args)
