"""``warnings.warn``: the run warns, in the name of the line of the program that does.

    warnings.warn('negative')   -->   a host call of warnings.warn_explicit for that line

Whether the warning is shown, and how often, is left to the filters and the registry that the run finds.
"""
from __future__ import annotations

import types
import warnings
from typing import Any

from imp2tf.calls import replace_call
from imp2tf.effects import host_call
from imp2tf.errors import ForeignCall, fall_back
from imp2tf.exceptions import user_frames
from imp2tf.session import current


@replace_call(warnings.warn)
def warn(message: Any, category: Any = None, stacklevel: Any = 1, source: Any = None, **others: Any) -> None:
    """``warnings.warn(...)``."""
    session = current()
    level = stacklevel if type(stacklevel) is int and stacklevel > 1 else 1
    frames = user_frames()
    if others or source is not None or session.trying or level > min(len(session.activations), len(frames)):
        fall_back(ForeignCall, "warnings.warn() in the name of a line that only Python knows")
    filename, line, _ = frames[-level]
    function: types.FunctionType = session.activations[-level].function
    names = function.__globals__

    def show(message: Any, category: Any) -> None:
        registry = names.setdefault("__warningregistry__", {})
        is_made = isinstance(message, Warning)
        kind = type(message) if is_made else UserWarning if category is None else category
        warnings.warn_explicit(message, kind, filename, line, names.get("__name__", "<string>"), registry, names)

    host_call(show, message, category, name="warn")
