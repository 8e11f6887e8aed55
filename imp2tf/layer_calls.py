"""The ``call`` methods of the user's Keras layers, which code of Keras calls."""
from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

from imp2tf.kinds import is_user_function

__all__ = ["has_layers", "replaced_calls"]


def has_layers(function: Any) -> bool:
    """Whether a function is a Keras layer, or a method of one."""
    owner = getattr(function, "__self__", function)
    return callable(getattr(owner, "_flatten_layers", None)) and hasattr(owner, "built")


@contextlib.contextmanager
def replaced_calls(function: Any, form: Callable[[Any], Any]) -> Iterator[None]:
    """While a Keras layer is called, the ``call`` methods of the user's layers inside it are what `form` makes of them."""
    owner = getattr(function, "__self__", function)
    layers = [layer for layer in owner._flatten_layers() if is_user_function(type(layer).call)] if has_layers(function) else []
    for layer in layers:
        layer.__dict__["call"] = form(types.MethodType(type(layer).call, layer))
    try:
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("call", None)
