"""A stand-in for the adapter, for versions of Keras that lack something it needs: wrapped models run as plain Python.

    imp2tf.keras.wrap(model)   -->   the model is compiled with ``run_eagerly=True``

The results are right, at the speed of plain Python. The reason is logged once.
"""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, TypeVar

import keras
import tensorflow as tf

from imp2tf.logs import log

__all__ = ["is_wrapped", "stats", "tell", "unwrap", "wrap", "wrapping"]

M = TypeVar("M", keras.Model, type[keras.Model])
REASON = {"told": ""}


def tell(error: Exception) -> None:
    """Log, and keep for `stats`, why wrapped models run as plain Python."""
    REASON["told"] = f"this version of Keras ({keras.__version__}) is not known: {error}"
    log("fallbacks", "%s", REASON["told"])


def wrap(model: M) -> M:
    """Run a model, or all models of a class, as plain Python."""
    if not (isinstance(model, keras.Model) or (isinstance(model, type) and issubclass(model, keras.Model))):
        raise TypeError(f"model must be a Keras model or a class of such, not {type(model).__name__}")
    target: Any = model
    original: Any = target.compile

    @functools.wraps(original)
    def compile_eagerly(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        (args[0] if isinstance(target, type) else target).run_eagerly = True
        return found

    compile_eagerly.__imp2tf_wrapped__ = original  # type: ignore[attr-defined]
    target.compile = compile_eagerly
    if not isinstance(model, type) and target.compiled:
        target.run_eagerly = True
    return model


def unwrap(model: M) -> M:
    """Undo `wrap`."""
    target: Any = model
    original = getattr(target.compile, "__imp2tf_wrapped__", None)
    if original is not None and isinstance(model, type):
        setattr(target, "compile", original)  # noqa: B010
    elif original is not None:
        del target.__dict__["compile"]
        target.run_eagerly = False
    return model


@contextlib.contextmanager
def wrapping() -> Iterator[None]:
    """Inside the block, TensorFlow runs as plain Python."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def is_wrapped(model: Any) -> bool:
    """Whether a model runs as plain Python because it is wrapped."""
    return hasattr(getattr(model, "compile", None), "__imp2tf_wrapped__") or tf.config.functions_run_eagerly()


def stats(model: keras.Model) -> dict[str, dict[str, Any]]:
    """Why all steps run as plain Python."""
    if not is_wrapped(model):
        return {}
    record = {"code": "I2T101", "file": None, "line": None, "reason": REASON["told"], "hint": "use a version of Keras that is known"}
    return {kind: {"graph_calls": 0, "traces": 0, "fallbacks": [dict(record)]} for kind in ("train", "test", "predict")}
