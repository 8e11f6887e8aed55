"""The stance "verify": makes a call as a graph and as plain Python, and compares the two.

The graph runs first, and its effects are undone: what it would write to Python objects is only kept, and the variables are restored.
Then plain Python runs. The call has the results, effects and exceptions of plain Python. Gradients are not compared. A graph with other
effects (it calls Python, prints, draws random numbers, advances an iterator) cannot be run beside the program and is not verified.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from imp2tf.errors import DivergenceError, NotVerified
from imp2tf.graph import Graph
from imp2tf.inspection import CHANGES_VARIABLES, draws_random_numbers, effects_of
from imp2tf.places import Entries

__all__ = ["unverifiable", "verified"]

TOLERANCES = {tf.float16: 1e-2, tf.bfloat16: 5e-2, tf.float32: 1e-4, tf.float64: 1e-9, tf.complex64: 1e-4, tf.complex128: 1e-9}
MAX_DEPTH = 20


def unverifiable(graph: Graph) -> NotVerified | None:
    """The reason why a graph cannot be run beside the program, or None if it can."""
    if graph.python_calls:
        reason, location = graph.python_calls[0]
        return NotVerified(f"{reason} while the graph runs", location=location)
    variables = {id(variable.handle) for variable in graph.concrete.graph.variables}
    if any(getattr(one, "dtype", None) == tf.resource and id(one) not in variables for one in graph.captures):
        return NotVerified("the graph uses a table, an iterator or another resource that is no variable")
    if draws_random_numbers(graph.concrete):
        return NotVerified("the graph draws random numbers of its own")
    for node in effects_of(graph.concrete):
        if not node.op.startswith(CHANGES_VARIABLES):
            return NotVerified(f"the operation {node.op} cannot be done twice")
    return None


def verified(graph: Graph, captured: list[Any], values: Sequence[Any], run_python: Callable[[], Any]) -> Any:
    """Run a graph and then plain Python, and compare them.

    Args:
      graph: the graph that serves the call.
      captured: the inputs of the graph.
      values: the arguments, one for each parameter.
      run_python: makes the call as plain Python.

    Returns:
      The result of plain Python.

    Raises:
      DivergenceError: the graph gives another result, exception or state.
    """
    variables = list(graph.concrete.graph.variables)
    before = [variable.read_value() for variable in variables]
    try:
        found = graph.rehearse(captured, values)
        after = [variable.read_value() for variable in variables]
    finally:
        for variable, old in zip(variables, before):
            variable.assign(old)
    written = [(f"the {place}", value, place.written(value)) for place, value in found.writes]
    try:
        result = run_python()
    except Exception as error:
        _compare([("the exception", _described(found.error), _described(error))])
        raise
    if found.error is not None:
        raise DivergenceError(f"the graph raises {_described(found.error)}, plain Python does not") from found.error
    writes = [(name, dict(value) if isinstance(value, Entries) else value, by_python()) for name, value, by_python in written]
    states = [(variable.name, value, variable.read_value()) for variable, value in zip(variables, after)]
    _compare([("the result", found.result, result), *writes, *states])
    return result


def _described(error: BaseException | None) -> str | None:
    if error is None:
        return None
    return type(error).__name__ if isinstance(error, tf.errors.OpError) else f"{type(error).__name__}: {error}"


# ------------------------------------------------------------------------------------------------ differences
def _compare(pairs: Sequence[tuple[str, Any, Any]]) -> None:
    for name, graph, python in pairs:
        for difference in _differences(graph, python, name, 0):
            raise DivergenceError(difference)


def _differences(graph: Any, python: Any, path: str, depth: int) -> Iterator[str]:
    """In which respects the value a graph gave is not the one that plain Python gave."""
    if graph is python or depth > MAX_DEPTH:
        return
    if isinstance(graph, tf.Tensor) and isinstance(python, tf.Tensor):
        yield from _tensor_differences(graph, python, path)
    elif type(graph) is not type(python):
        yield f"{path} is a {type(graph).__name__} in the graph, a {type(python).__name__} in plain Python"
    elif isinstance(graph, tf.__internal__.CompositeTensor) and not isinstance(graph, tf.Variable):
        ours, theirs = (tf.nest.flatten(one, expand_composites=True) for one in (graph, python))
        yield from _differences(ours, theirs, path, depth + 1)
    elif isinstance(graph, float | np.floating):
        if not np.isclose(graph, python, rtol=1e-6, atol=1e-9, equal_nan=True):
            yield _values(path, graph, python)
    elif isinstance(graph, (list, tuple)):
        yield from _item_differences(dict(enumerate(graph)), dict(enumerate(python)), path, depth)
    elif isinstance(graph, dict):
        yield from _item_differences(graph, python, path, depth)
    elif isinstance(graph, types.FunctionType):
        if graph.__code__ is not python.__code__:
            yield _values(path, graph, python)
    elif type(graph).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
        yield from _item_differences(getattr(graph, "__dict__", {}), getattr(python, "__dict__", {}), path, depth)
    elif not np.all(graph == python):
        yield _values(path, graph, python)


def _item_differences(graph: dict[Any, Any], python: dict[Any, Any], path: str, depth: int) -> Iterator[str]:
    if list(graph) != list(python):
        yield f"{path} holds {list(graph)} in the graph, {list(python)} in plain Python"
        return
    for key, value in graph.items():
        yield from _differences(value, python[key], f"{path}[{key!r}]", depth + 1)


def _tensor_differences(graph: tf.Tensor, python: tf.Tensor, path: str) -> Iterator[str]:
    if graph.dtype != python.dtype or graph.shape != python.shape:
        yield (f"{path} is a {graph.dtype.name} tensor of shape {graph.shape} in the graph, a {python.dtype.name} tensor of shape "
               f"{python.shape} in plain Python")
    elif graph.dtype not in (tf.variant, tf.resource):
        tolerance = TOLERANCES.get(graph.dtype)
        same = np.array_equal(graph, python) if tolerance is None else np.allclose(
            graph, python, rtol=tolerance, atol=tolerance, equal_nan=True)
        if not same:
            yield _values(path, graph.numpy(), python.numpy())


def _values(path: str, graph: Any, python: Any) -> str:
    return f"{path} is {_short(graph)} in the graph, {_short(python)} in plain Python"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
