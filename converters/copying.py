"""``copy.copy`` and ``copy.deepcopy``.

    best = copy.deepcopy(model)   -->   a new object with copies of the fields, tensors as they are
"""
from __future__ import annotations

import copy as python
from typing import Any

from imp2tf.calls import replace_call
from imp2tf.copies import copied
from imp2tf.errors import ForeignCall, fall_back


@replace_call(python.copy)
def copy(value: Any) -> Any:
    """``copy.copy(value)``."""
    return copied(value, deep=False)


@replace_call(python.deepcopy)
def deepcopy(value: Any, memo: Any = None) -> Any:
    """``copy.deepcopy(value)``."""
    return copied(value, deep=True) if memo is None else fall_back(ForeignCall, "copy.deepcopy with a memo")
