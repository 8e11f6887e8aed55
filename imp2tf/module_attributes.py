"""Attributes of the program's own modules: global variables of these, by another road."""
from __future__ import annotations

import sys
import types
from typing import Any

from imp2tf.errors import is_library_file
from imp2tf.heap import view
from imp2tf.places import Global
from imp2tf.session import current
from imp2tf.values import UNBOUND

__all__ = ["is_users_module", "module_attribute", "set_module_attribute"]


def is_users_module(value: object) -> bool:
    """Whether a value is a module whose variables may change: one that is no library, or made by the program."""
    if not isinstance(value, types.ModuleType):
        return False
    file = getattr(value, "__file__", None)
    if file is None:
        return getattr(value, "__spec__", None) is None and value.__name__ not in sys.builtin_module_names
    return not is_library_file(file)


def module_attribute(module: types.ModuleType, name: str) -> Any:
    """The value of ``module.name`` as the program sees it now; UNBOUND if the module itself does not hold it."""
    return view(Global(vars(module), name)) if not name.startswith("__") else UNBOUND


def set_module_attribute(module: types.ModuleType, name: str, value: Any) -> None:
    """``module.name = value``; UNBOUND deletes it."""
    current().write(Global(vars(module), name), value)
