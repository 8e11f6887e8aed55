"""The kinds of value that a trace meets beside ordinary Python objects and tensors.

Ordinary Python objects stand for themselves: the same object on both sides of a branch is a constant and costs
nothing in the graph. The kinds below stand for what only the run knows.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from imp2tf.errors import NeedsValue, SeveralKinds, UnsupportedSyntax, fall_back
from imp2tf.tf_compat import is_symbolic_tensor

__all__ = [
    "DEAD", "LOST", "NUMBER_DTYPES", "NUMBER_TYPES", "SKIP", "UNBOUND", "Deferred", "Facts", "GeneratorCall", "Growable",
    "PyNumber", "Sentinel", "StandIn", "Table", "Union", "call_method", "is_runtime", "is_tensor", "is_variable", "negated_bool",
    "number_kind", "numpy_value", "python_bool",
]


class Sentinel:
    """A marker, known by its identity."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __copy__(self) -> Sentinel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Sentinel:
        return self


UNBOUND = Sentinel("UNBOUND")  # a name, attribute or element that does not exist (yet)
DEAD = Sentinel("DEAD")        # bottom: the state of a path that raised or left; joins with anything
LOST = Sentinel("LOST")        # top: made anew on each turn and not representable; reading it falls back
SKIP = Sentinel("SKIP")        # an element that a generator expression's condition left out

NUMBER_TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool}
NUMBER_DTYPES: dict[str, tf.DType] = {"int": tf.int64, "float": tf.float64, "bool": tf.bool}


def number_kind(value: object) -> str | None:
    """"int", "float" or "bool" for a Python number or a `PyNumber`, None for anything else."""
    if isinstance(value, PyNumber):
        return value.kind
    return _KIND_OF_TYPE.get(type(value))


_KIND_OF_TYPE: dict[type, str] = {bool: "bool", int: "int", float: "float"}


class PyNumber:
    """A Python int, float or bool that is known only when the graph runs.

    A wrapper rather than an int subclass: CPython and TensorFlow would silently use a subclass's concrete value.
    The arithmetic dunders are installed by `imp2tf.arithmetic`.
    """

    __slots__ = ("kind", "tensor")

    def __init__(self, kind: str, tensor: tf.Tensor) -> None:
        self.kind = kind
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"<run-time {self.kind}>"

    def _needs_value(self, *_: Any) -> NoReturn:
        fall_back(NeedsValue, f"Python needs the value of a run-time {self.kind}")

    __bool__ = __int__ = __float__ = __index__ = __hash__ = __str__ = __format__ = __round__ = _needs_value


def python_bool(holds: bool | tf.Tensor) -> bool | PyNumber:
    """A truth, which is a bool or a scalar bool tensor, as the Python bool that it is in the program."""
    return holds if isinstance(holds, bool) else PyNumber("bool", holds)


def negated_bool(holds: bool | tf.Tensor) -> bool | PyNumber:
    """The opposite of a truth, as a Python bool."""
    return not holds if isinstance(holds, bool) else PyNumber("bool", tf.logical_not(holds))


class Union:
    """One of several alternatives, chosen at run time by an int32 tag.

    None or a value, bound or unbound, int or float, one dtype or another, one function or another: all are Unions.
    """

    __slots__ = ("alternatives", "tag")

    def __init__(self, tag: tf.Tensor, alternatives: Sequence[Any]) -> None:
        self.tag = tag
        self.alternatives = list(alternatives)

    def __repr__(self) -> str:
        return f"<one of {self.alternatives}>"

    def _several(self, *_: Any) -> NoReturn:
        fall_back(SeveralKinds, f"a value of several kinds ({', '.join(map(_kind_name, self.alternatives))}) reaches unconverted code")

    __bool__ = __iter__ = __len__ = __int__ = __float__ = __index__ = __str__ = __hash__ = _several


class Facts:
    """Base of immutable, hashable descriptions that the machinery keeps in objects of the trace: compared by value."""

    __slots__ = ()


class Growable:
    """The contents of a list whose length is known only at run time.

    One TensorList handle per tensor of the element spec, after one handle that counts (elements may hold no tensor).
    `shifted`: the other handles may begin with elements that were taken away.
    """

    __slots__ = ("element", "handles", "shifted")

    def __init__(self, handles: Sequence[tf.Tensor], element: Any, shifted: bool = False) -> None:
        self.handles = list(handles)
        self.element = element
        self.shifted = shifted

    def over(self, handles: Sequence[tf.Tensor]) -> Growable:
        """A list of the same kind with other handles."""
        return Growable(handles, self.element, self.shifted)


class Table:
    """The contents of a dict or set under keys that only the run knows (`imp2tf.tables`).

    `keys` is a vector, `kind` what kind of key its elements stand for, `values` a `Growable`, None for a set.
    """

    __slots__ = ("keys", "kind", "values")

    def __init__(self, kind: Any, keys: tf.Tensor, values: Growable | None) -> None:
        self.kind = kind
        self.keys = keys
        self.values = values


class Deferred:
    """A Python value that a pure function computes, after the run, from values the run gives.

    Text that is formatted from run-time numbers is the main use: the graph carries the numbers, and the text is
    made where it is needed: in a print, an exception, a returned or stored value.
    """

    __slots__ = ("args", "example", "function", "kwargs", "weight")
    example: Any  # a value of the kind that the run will find, once somebody has computed one
    weight: int  # how many functions there are in it, those of a value that it holds twice counted twice

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> None:
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs or {})
        self.weight = 1 + sum(one.weight for one in (*self.args, *self.kwargs.values()) if isinstance(one, Deferred))

    def __repr__(self) -> str:
        return f"<{getattr(self.function, '__name__', 'value')}(...) of run-time values>"

    def _needs_value(self, *_: Any) -> NoReturn:
        fall_back(NeedsValue, f"Python needs the value of {self!r}")

    __bool__ = __iter__ = __len__ = __int__ = __float__ = __index__ = __str__ = __hash__ = __format__ = _needs_value


def numpy_value(tensor: Any) -> Any:
    """``tensor.numpy()``, once the run has given the tensor."""
    return tensor.numpy()


def call_method(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """``owner.name(*args, **kwargs)``, once the run has given the owner."""
    return getattr(owner, name)(*args, **kwargs)


class StandIn:
    """What stands in a trace for an iterator or a view: loops and builtins take its items, any other use is left to Python."""

    what = "an iterator"
    ends = True

    def after_run(self) -> Deferred | None:
        """What it is outside of the trace, if it may leave it."""
        return None

    def attribute(self, name: str) -> Any:
        """What the program finds under a name."""
        return self.refuse()

    def refuse(self) -> NoReturn:
        """Fall back: this use of the value is left to Python."""
        fall_back(UnsupportedSyntax, f"{self.what} is used other than by a loop over all its items")


class GeneratorCall(StandIn):
    """A call of a user's generator function whose body has not run yet. Only a loop over all that it yields can run it."""

    what = "a generator"

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], in_text: bool) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.in_text = in_text  # whether a watched run of the program sees the call
        self.spent: Any = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.refuse()


def is_tensor(value: object) -> bool:
    """Whether `value` is a dense tensor, eager or of a graph."""
    return isinstance(value, tf.Tensor)


def is_variable(value: object) -> bool:
    """Whether `value` is a variable of TensorFlow or of Keras: read by the run, like a tensor."""
    if isinstance(value, tf.Variable):
        return True
    cls = type(value)
    return cls.__module__.startswith("keras.") and hasattr(cls, "__tf_tensor__") and hasattr(cls, "assign")


def is_runtime(value: object) -> bool:
    """Whether `value` is known only when the graph runs."""
    return isinstance(value, (PyNumber, Union, Growable, Table, Deferred)) or is_symbolic_tensor(value)


def _kind_name(value: object) -> str:
    if isinstance(value, PyNumber):
        return value.kind
    if is_tensor(value):
        return f"{value.dtype.name} tensor"  # type: ignore[attr-defined]
    return repr(value) if isinstance(value, (Sentinel, type(None))) else type(value).__name__
