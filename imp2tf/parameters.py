"""The parameters of a function, and the arguments of its calls as one flat list of values."""
from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["POSITIONAL", "Parameters", "name_of"]

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
ANY_ARGUMENTS = inspect.Signature([
    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL), inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
])


class Parameters:
    """Binds the arguments of a call to a flat list, one value per parameter.

    `bind` takes what the function takes and gives one value per parameter, defaults included; it raises TypeError where the call
    itself would.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = getattr(function, "__func__", function)
        self.defaults = self._defaults()
        self.restrict(list(own_signature(function).parameters.values()))

    def restrict(self, parameters: Sequence[inspect.Parameter]) -> None:
        """Let these be the parameters."""
        self.signature = inspect.Signature(parameters)
        self.list = list(parameters)
        self.names = [one.name for one in self.list]
        self.kinds = [one.kind for one in self.list]
        self.bind = _binder(self.list)

    def _defaults(self) -> tuple[Any, Any]:
        return getattr(self.function, "__defaults__", None), getattr(self.function, "__kwdefaults__", None)

    def are_stale(self) -> bool:
        """Whether the function's defaults were replaced since."""
        now = self._defaults()
        return now[0] is not self.defaults[0] or now[1] is not self.defaults[1]

    def unbind(self, values: Sequence[Any], items: Callable[[Any], dict[str, Any]] = dict) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments that give these values; `items` takes the dict of a ``**`` parameter apart."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, kind, value in zip(self.names, self.kinds, values, strict=True):
            if kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                kwargs.update(items(value))
            elif kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return tuple(args), kwargs


def _binder(parameters: Sequence[inspect.Parameter]) -> Callable[..., tuple[Any, ...]]:
    """A function of these parameters that returns its arguments: Python binds them faster than `inspect` does."""
    listed: list[str] = []
    for i, one in enumerate(parameters):
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in listed):
            listed.append("*")
        stars = STARS.get(one.kind, "")
        listed.append(f"{stars}{one.name}" + ("" if one.default is inspect.Parameter.empty else "=None"))
        is_last = i + 1 == len(parameters) or parameters[i + 1].kind is not inspect.Parameter.POSITIONAL_ONLY
        if one.kind is inspect.Parameter.POSITIONAL_ONLY and is_last:
            listed.append("/")
    names = "".join(f"{one.name}, " for one in parameters)
    namespace: dict[str, Any] = {}
    exec(f"def bind({', '.join(listed)}): return ({names})", namespace)
    bind = namespace["bind"]
    given = [one for one in parameters if one.default is not inspect.Parameter.empty]
    bind.__defaults__ = tuple(one.default for one in given if one.kind in POSITIONAL) or None
    bind.__kwdefaults__ = {one.name: one.default for one in given if one.kind not in POSITIONAL} or None
    return bind


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of what a callable really takes, whatever its ``__wrapped__`` and ``__signature__`` say."""
    try:
        return inspect.signature(_bare(function))
    except (TypeError, ValueError):  # a builtin that does not tell
        return ANY_ARGUMENTS


def _bare(function: Any) -> Any:
    """A callable of the same parameters that does not stand for another one."""
    if isinstance(function, types.FunctionType):
        made = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__annotations__ = function.__annotations__
        return made
    if isinstance(function, types.MethodType):
        return types.MethodType(_bare(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(_bare(function.func), *function.args, **function.keywords)
    call = inspect.getattr_static(type(function), "__call__", None)
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        return types.MethodType(_bare(call), function)
    return function


def name_of(function: Any) -> str:
    """The name of a callable, as shown to people."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)
