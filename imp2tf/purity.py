"""Which library callables may run while tracing: those whose only effect is their result.

Everything else is impure: run at trace time, its effects would happen once instead of on every call.
"""
from __future__ import annotations

import builtins
import collections
import contextlib
import enum
import inspect
import itertools
import numbers
import re
import string
import struct
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.tf_compat import IMPURE_TENSORFLOW

__all__ = [
    "CHANGING_ARRAYS", "MUTATING_ARRAY_METHODS", "MUTATING_CONTAINER_METHODS", "TEXT_METHODS",
    "changes_first_argument", "has_plain_new", "is_impure_tensorflow", "is_made_plainly", "is_numpy_function",
    "is_pure", "is_tensorflow", "library_name", "module_of", "works_on_values", "writes_into_argument",
]

TENSORFLOW = ("tensorflow", "keras", "tf_keras")
PURE_MODULES = frozenset(
    {
        "math",
        "cmath",
        "operator",
        "_operator",
        "fractions",
        "decimal",
        "numbers",
        "statistics",
        "string",
        "textwrap",
        "re",
        "enum",
        "dataclasses",
        "typing",
        "types",
        "abc",
        "numpy",
        "ml_dtypes",
        "gast",
        "ast",
        "inspect",
        "copy",
        "_functools",
        "functools",
        "collections",
        "collections.abc",
        "_collections",
        "bisect",
        "_bisect",
        "struct",
        "_struct",
        "unicodedata",
        "difflib",
        "base64",
        "binascii",
        "hashlib",
        "_hashlib",
        "json",
        "pprint",
        "reprlib",
        "keyword",
        "calendar",
        "colorsys",
    }
)
OF_VALUES = frozenset({
    "base64", "binascii", "cmath", "colorsys", "decimal", "difflib", "fractions", "hashlib", "json", "math", "pprint", "re", "reprlib",
    "statistics", "string", "struct", "textwrap", "unicodedata",
})
IMPURE_FUNCTIONS = {  # of the modules above: they write, print, or look at who calls
    "operator": frozenset({
        "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub",
        "itruediv", "ixor", "methodcaller", "setitem",
    }),
    "bisect": frozenset({"insort", "insort_left", "insort_right"}),
    "pprint": frozenset({"pp", "pprint"}),
    "json": frozenset({"dump", "load"}),
    "calendar": frozenset({"main", "prcal", "prmonth", "setfirstweekday"}),
    "decimal": frozenset({"getcontext", "localcontext", "setcontext"}),
    "struct": frozenset({"pack_into"}),
    "base64": frozenset({"decode", "encode"}),
    "inspect": frozenset({"currentframe", "getframeinfo", "getinnerframes", "getouterframes", "stack", "trace"}),
}
PURE_BUILTINS = frozenset({
    getattr(builtins, name) for name in (
        "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate",
        "filter", "float", "format", "frozenset", "getattr", "hasattr", "hash", "hex", "int", "isinstance", "issubclass", "len",
        "list", "map", "max", "memoryview", "min", "object", "oct", "ord", "pow", "property", "range", "repr", "reversed", "round",
        "set", "slice", "sorted", "staticmethod", "classmethod", "str", "sum", "super", "tuple", "type", "zip")
})
PURE_ITERTOOLS = frozenset({
    itertools.chain, itertools.chain.from_iterable, itertools.combinations, itertools.combinations_with_replacement, itertools.compress,
    itertools.islice, itertools.pairwise, itertools.permutations, itertools.product, itertools.repeat, itertools.starmap,
    itertools.zip_longest, itertools.accumulate, itertools.dropwhile, itertools.takewhile, itertools.filterfalse,
})
IMPURE_NUMPY = frozenset({
    "copyto", "fill_diagonal", "load", "place", "put", "put_along_axis", "putmask", "save", "savetxt", "savez", "savez_compressed",
    "seterr", "seterrcall", "setbufsize", "set_printoptions", "fromfile", "genfromtxt", "loadtxt", "memmap", "show_config",
})
IMMUTABLE = (str, bytes, int, float, complex, bool, tuple, frozenset, range, slice, type(None), np.generic, np.dtype)
IMMUTABLE_OBJECTS = (numbers.Number, re.Pattern, re.Match, struct.Struct, enum.Enum, types.MappingProxyType, string.Template)
MUTATING_ARRAY_METHODS = frozenset({
    "__delitem__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__", "__imul__", "__ior__", "__ipow__",
    "__irshift__", "__isub__", "__itruediv__", "__ixor__", "__setitem__", "__setstate__", "byteswap", "dump", "fill", "itemset",
    "partition", "put", "resize", "setfield", "setflags", "sort", "tofile",
})
CHANGING_ARRAYS = frozenset({"fill", "partition", "put", "sort"})  # of these, the methods that leave its shape and dtype
TEXT_METHODS = frozenset({  # those that give text again
    "capitalize", "casefold", "center", "expandtabs", "format", "join", "ljust", "lower", "lstrip", "removeprefix", "removesuffix",
    "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill",
})
MUTATING_CONTAINER_METHODS = frozenset({
    "__delitem__", "__iadd__", "__iand__", "__imul__", "__ior__", "__isub__", "__ixor__", "__setitem__", "add", "append", "appendleft",
    "clear", "difference_update", "discard", "extend", "extendleft", "insert", "intersection_update", "move_to_end", "pop", "popitem",
    "popleft", "remove", "reverse", "rotate", "setdefault", "sort", "symmetric_difference_update", "update",
})


def module_of(function: Any) -> str:
    """The module a callable comes from, "" if it does not say. A library's wrapper may carry the name of what it wraps."""
    if isinstance(function, types.FunctionType):
        return str(function.__globals__.get("__name__", ""))
    module = getattr(function, "__module__", None)
    if not isinstance(module, str):
        module = getattr(type(function), "__module__", "") if not isinstance(function, types.BuiltinFunctionType) else ""
    return module or ""


def is_tensorflow(function: Any) -> bool:
    """Whether a callable belongs to TensorFlow or Keras: its effects are operations of the graph."""
    if not isinstance(function, type) and _in_tensorflow(_module_of_call(function)):
        return True
    if _in_tensorflow(module_of(function)) or (not isinstance(function, type) and _in_tensorflow(type(function).__module__)):
        return True
    owner = getattr(function, "__self__", None)
    return owner is not None and not isinstance(owner, types.ModuleType) and _in_tensorflow(type(owner).__module__)


def _module_of_call(function: Any) -> str:
    """Where the ``__call__`` of an object's class is defined: a user's Keras layer is called by Keras."""
    return getattr(inspect.getattr_static(type(function), "__call__", None), "__module__", None) or ""


def has_plain_new(cls: Any) -> bool:
    """Whether objects of a class are made by ``object.__new__``."""
    return bool(cls.__new__ is object.__new__)


def is_made_plainly(cls: Any) -> bool:
    """Whether calling a class does what calling any class does: ``__new__``, then ``__init__``; that of abstract classes, too."""
    return bool(type(cls).__call__ is type.__call__)


def _in_tensorflow(module: str) -> bool:
    return module.partition(".")[0] in TENSORFLOW


KERAS_PROCEDURES = frozenset({
    "compile", "evaluate", "export", "fit", "load_weights", "predict", "predict_on_batch", "save", "save_weights", "summary",
    "test_on_batch", "train_on_batch",
})


def is_impure_tensorflow(function: Any) -> bool:
    """Whether a callable of TensorFlow or Keras does what no operation of a graph stands for: files, settings, training loops."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if isinstance(owner, tf.GradientTape):
        return True  # one that is older than the trace: the caller asks, see `imp2tf.foreign`
    if name in KERAS_PROCEDURES and hasattr(owner, "_flatten_layers"):
        return True
    return module_of(function).startswith(IMPURE_TENSORFLOW)


def is_numpy_function(function: Any) -> bool:
    """Whether a callable is a pure function of NumPy."""
    if isinstance(function, np.ufunc):
        return True
    module, name = module_of(function), getattr(function, "__name__", "")
    return module.partition(".")[0] == "numpy" and ".random" not in module and name not in IMPURE_NUMPY and not isinstance(function, type)


def changes_first_argument(function: Any) -> bool:
    """Whether a function of NumPy changes the array that it is given first."""
    if function in (np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask):
        return True
    return isinstance(getattr(function, "__self__", None), np.ufunc) and function.__name__ == "at"


def writes_into_argument(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of a function of NumPy puts its result into an array that it is given."""
    if module_of(function).partition(".")[0] == "numpy" and (kwargs.get("out") is not None or kwargs.get("copy") is False):
        return True
    return isinstance(function, np.ufunc) and len(args) > function.nin


def is_pure(function: Any) -> bool:
    """Whether a library callable may run while tracing."""
    if _is_method(function):
        return is_pure_method(function)
    if _contains(PURE_BUILTINS, function) or _contains(PURE_ITERTOOLS, function):
        return True
    module = module_of(function)
    if module.partition(".")[0] == "numpy":
        return isinstance(function, type) or is_numpy_function(function)
    if isinstance(function, type) and issubclass(
        function, (BaseException, tuple, collections.OrderedDict, collections.deque, contextlib.nullcontext, contextlib.suppress)
    ):
        return True
    if _name_of(function) in IMPURE_FUNCTIONS.get(module.removeprefix("_").partition(".")[0], ()):
        return False
    return module in PURE_MODULES or module.partition(".")[0] in PURE_MODULES


def works_on_values(function: Any) -> bool:
    """Whether a function looks at the values in the containers that it is given, and makes a value of its own of them."""
    if isinstance(getattr(function, "__self__", None), (str, bytes)):
        return True
    return module_of(function).removeprefix("_").partition(".")[0] in OF_VALUES


def _name_of(function: Any) -> str:
    """The name of a function, or of the class of a callable object."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _is_method(function: Any) -> bool:
    """Whether a callable is bound to an object that it may change, or a method called through its class."""
    if isinstance(function, types.FunctionType):
        return "." in function.__qualname__ and "<locals>" not in function.__qualname__
    owner = getattr(function, "__self__", None)
    return owner is not None and not isinstance(owner, (type, types.ModuleType))


def _contains(group: frozenset[Any], function: Any) -> bool:
    try:
        return function in group
    except TypeError:  # not hashable
        return False


def is_pure_method(function: Any) -> bool:
    """Whether a callable is a method of an immutable object, or one of an array that does not change it."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        return False
    if isinstance(owner, np.ndarray):
        return getattr(function, "__name__", "") not in MUTATING_ARRAY_METHODS
    if isinstance(owner, np.ufunc):
        return getattr(function, "__name__", "") != "at"
    return isinstance(owner, (*IMMUTABLE, *IMMUTABLE_OBJECTS))


def library_name(function: Any) -> str:
    """A callable with its module, as a reason names it."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)
