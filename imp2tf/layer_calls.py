"""The ``call`` functions of the user's Keras layers, which code of Keras calls."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from imp2tf.kinds import is_user_function

__all__ = ["has_layers", "replaced_calls"]


def has_layers(function: Any) -> bool:
    """Whether a function is a Keras layer, or a method of one. Objects of other classes are asked nothing."""
    owner = _owner(function)
    return hasattr(type(owner), "_flatten_layers") and hasattr(owner, "built")


def _owner(function: Any) -> Any:
    return getattr(function, "__self__", function)


@contextlib.contextmanager
def replaced_calls(function: Any, form: Callable[[Any], Any]) -> Iterator[None]:
    """While a Keras layer is called, the ``call`` of each layer of the user inside it is what `form` makes of it.

    A layer may have a ``call`` of its own beside that of its class, one that the program has given it or an outer call of this function.
    """
    layers = _owner(function)._flatten_layers() if has_layers(function) else []
    users = [layer for layer in layers if is_user_function(getattr(layer.call, "__func__", layer.call))]
    before = [(layer, "call" in vars(layer), layer.call) for layer in users]
    for layer, _, call in before:
        layer.__dict__["call"] = form(call)
    try:
        yield
    finally:
        for layer, is_own, call in before:
            if is_own:
                layer.__dict__["call"] = call
            else:
                layer.__dict__.pop("call", None)
