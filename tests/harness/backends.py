"""Who runs the function under test: plain Python, AutoGraph, imp2tf, or any callable that wraps it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

Function = Callable[..., Any]
Backend = str | Callable[[Function], Function]
BACKENDS = ("eager", "autograph", "imp2tf")


def wrap(backend: Backend, fn: Function, convert_kw: Mapping[str, Any]) -> Function:
    """`fn` as `backend` runs it; only imp2tf takes `convert_kw`."""
    if callable(backend):
        return backend(fn)
    if backend == "eager":
        return fn
    if backend == "autograph":
        return tf.function(fn)
    if backend == "imp2tf":
        import imp2tf  # here, as AutoGraph can be judged where imp2tf is not installed
        return imp2tf.convert(fn, **convert_kw)
    raise ValueError(f"backend {backend!r} is none of {', '.join(BACKENDS)}")


def stats(fn: Function) -> dict[str, Any]:
    """The counters of a function converted by imp2tf; empty for others."""
    report = getattr(fn, "stats", None)
    return dict(report()) if callable(report) else {}


def fallback_lines(counters: Mapping[str, Any]) -> list[str]:
    """One readable line for each reason why something ran as plain Python."""
    lines = []
    for entry in counters.get("fallbacks", ()):
        facts = entry if isinstance(entry, Mapping) else vars(entry)
        hint = f" ({facts['hint']})" if facts.get("hint") else ""
        lines.append(f"{facts['code']} line {facts['line']}, {facts['count']} times: {facts['reason']}{hint}")
    return lines
