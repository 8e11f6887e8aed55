"""The front door: `convert` and `explain`."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

import tensorflow as tf

import imp2tf.converters  # noqa: F401  (registers the converters)
from imp2tf.converted_function import BoundFunction, ConvertedFunction
from imp2tf.options import Keywords, Options
from imp2tf.parameters import name_of
from imp2tf.report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["convert", "explain"]

P = ParamSpec("P")
R = TypeVar("R")


class Converting(Protocol):
    """`convert` with options, as a decorator."""

    def __call__(self, func: Callable[P, R], /) -> ConvertedFunction[P, R]: ...


@overload
def convert(func: Callable[P, R], /, **options: Unpack[Keywords]) -> ConvertedFunction[P, R]: ...


@overload
def convert(func: None = None, /, **options: Unpack[Keywords]) -> Converting: ...


def convert(
    func: Any = None, /, *, input_signature: Any = None, jit_compile: bool | None = None, reduce_retracing: bool = True,
    fullgraph: bool = False, profile_runs: int = 1, speculate: bool = True, recompile_limit: int = 8, rewrite: str = "off",
    name: str | None = None,
) -> Any:
    """Run an imperative function as dataflow graphs that behave exactly as the plain function.

    Use it as a decorator, with or without options, or as a call:

        @imp2tf.convert
        def step(x, y): ...

        @imp2tf.convert(profile_runs=0)
        def step(x, y): ...

        step = imp2tf.convert(plain_step)

    Args:
      func: a function, method, class method, static method, lambda, partial or callable object.
      input_signature: a sequence of `tf.TypeSpec`, nested as the arguments are. Arguments are then converted to tensors of these
        kinds, and one graph serves them all. The first call is converted, too.
      jit_compile: True compiles graphs with XLA where XLA can, False never does. None, the default, lets imp2tf measure whether it
        pays off.
      reduce_retracing: if a shape or a Python number varies, make one graph for all of its values.
      fullgraph: raise `ConversionError` instead of running Python. The first call is converted, too.
      profile_runs: how many calls run as plain Python before the first graph is made, so that the function can create its variables.
        0 converts the first call.
      speculate: a branch that no graph can hold may be left out of the graph, which then checks that it is not entered.
      recompile_limit: how many graphs are made before calls that need yet another one run as Python.
      rewrite: reserved for rewriting numerically fragile expressions: "off", "safe" or "fast". It has no effect yet.
      name: the name of the graphs, by default that of the function.

    Returns:
      A `ConvertedFunction` that takes the place of `func`. For a class method or static method, one of the same sort. Without `func`, a
      decorator.

    Raises:
      TypeError: `func` is not callable or is async, or an option has the wrong type.
      ValueError: an option has a value that is not allowed, or options contradict each other.
    """
    options = Options(input_signature, jit_compile, reduce_retracing, fullgraph, profile_runs, speculate, recompile_limit, rewrite, name)
    if func is None:
        return lambda function: _converted(function, options)
    return _converted(func, options)


def _converted(function: Any, options: Options) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_converted(function.__func__, options))
    if isinstance(function, (ConvertedFunction, BoundFunction, tf.types.experimental.PolymorphicFunction)):
        function = function.python_function
    if not callable(function):
        raise TypeError(f"func must be callable, not {_described(function)}")
    if _is_async(function):
        raise TypeError(f"func must not be async: {name_of(function)}")
    return ConvertedFunction(function, options)


def _described(value: Any) -> str:
    if isinstance(value, property):
        return "a property: put @property above @imp2tf.convert"
    return f"{type(value).__name__} {value!r}"


def _is_async(function: Any) -> bool:
    code = function if inspect.isroutine(function) or isinstance(function, functools.partial) else type(function).__call__
    return inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code)


def explain(function: Any) -> Callable[..., Report]:
    """Report what of one call runs as a graph, what as Python, and why.

        print(imp2tf.explain(step)(x, y))

    Args:
      function: a function, converted or not.

    Returns:
      A function that takes the arguments of `function`, calls it converted, and returns the `Report`.
    """
    already = isinstance(function, (ConvertedFunction, BoundFunction))
    return (function if already else convert(function, profile_runs=0)).explain
