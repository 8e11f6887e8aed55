"""Methods under ``tf.Module.with_name_scope``: the user's code, in the name scope of its object.

    layer(x)   -->   with layer.name_scope: the body of ``__call__``, converted
"""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from imp2tf.calls import call, replace_calls_of_code


@replace_calls_of_code(tf.Module.with_name_scope(lambda self: None).__code__)
def in_name_scope(method: Any, owner: tf.Module, *args: Any, **kwargs: Any) -> Any:
    """``owner.method(...)`` of such a method."""
    with owner.name_scope:
        return call(method.__wrapped__, owner, *args, **kwargs)
