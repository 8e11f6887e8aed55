"""What depends on what in a graph: through branches, loops, calls, and operations without gradient."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from imp2tf.connectivity import BOTH, Connections, connections_around


def graph_of(fn: Callable[..., Any], inputs: int) -> Any:
    """The graph of a function of float scalars, built without AutoGraph."""
    return tf.function(fn, autograph=False).get_concrete_function(*[tf.TensorSpec([])] * inputs).graph


def reached(fn: Callable[..., Any], inputs: int, **kwargs: Any) -> list[bool]:
    """Which inputs the results of `fn` depend on."""
    graph = graph_of(fn, inputs)
    return connected(graph, Connections(**kwargs))


def connected(graph: Any, connections: Connections) -> list[bool]:
    """Which inputs of a graph its first result depends on."""
    return bits(connections.reached(graph, graph.inputs, graph.outputs)[0], len(graph.inputs))


def bits(mask: int, size: int) -> list[bool]:
    """A mask as a list."""
    return [bool(mask >> bit & 1) for bit in range(size)]


def around(targets: list[Any], sources: list[Any]) -> list[bool]:
    """Which sources, of any graph around, the targets may depend on."""
    found = connections_around(targets, sources)
    assert found is not None
    return bits(found(Connections()), len(sources))


def compared(x, y):
    return tf.cond(x > y, lambda: x * 2.0, lambda: x)


def one_each(x, y):
    return tf.cond(x > 0.0, lambda: x * 2.0, lambda: y)


def shifted(x, y, z, limit):
    """Only after two turns does z reach the result."""
    return tf.while_loop(lambda a, b, c: a < limit, lambda a, b, c: (a + b, b + c, c), (x, y, z))[0]


def through_a_call(x, y):
    def inner(a, b):
        return a * 2.0, tf.stop_gradient(b)
    return tf.add(*tf.function(inner, autograph=False)(x, y))


@pytest.mark.parametrize("fn, inputs, expected", [
    pytest.param(compared, 2, [True, False], id="what is compared is not connected"),
    pytest.param(one_each, 2, [True, True], id="each branch counts"),
    pytest.param(shifted, 4, [True, True, True, False], id="any number of turns counts, the limit does not"),
    pytest.param(through_a_call, 2, [True, False], id="functions are looked into"),
    pytest.param(lambda x, y: x + tf.round(y), 2, [True, False], id="rounding has no gradient"),
    pytest.param(lambda x, y: x + tf.cast(tf.cast(y, tf.int32), tf.float32), 2, [True, False], id="nor have integers"),
    pytest.param(lambda x, y: x + tf.py_function(lambda v: v, [y], tf.float32), 2, [True, True],
                 id="Python called from the graph counts as connected"),
])
def test_possible_connections(fn: Callable[..., Any], inputs: int, expected: list[bool]) -> None:
    assert reached(fn, inputs) == expected


def test_certain_connections_hold_on_each_way() -> None:
    assert reached(one_each, 2, certain=True) == [False, False]
    assert reached(compared, 2, certain=True) == [True, False]
    assert reached(shifted, 4, certain=True) == [True, False, False, False]


@pytest.mark.parametrize("taken, expected", [
    ((True, False), [True, False]), ((False, True), [False, True]), (BOTH, [True, True]), ((False, False), [False, False])])
def test_the_way_that_was_taken(taken: tuple[bool, bool], expected: list[bool]) -> None:
    graph = graph_of(one_each, 2)
    name = next(op.name for op in graph.get_operations() if op.type == "StatelessIf")
    assert connected(graph, Connections({(id(graph), name): taken})) == expected


def test_a_loop_that_is_not_entered() -> None:
    graph = graph_of(shifted, 4)
    name = next(op.name for op in graph.get_operations() if op.type == "StatelessWhile")
    assert connected(graph, Connections({(id(graph), name): (False, True)})) == [True, False, False, False]


def test_a_loop_that_overwrites() -> None:
    def fn(x, y, limit):
        return tf.while_loop(lambda a, b: a < limit, lambda a, b: (a + 1.0, tf.zeros([])), (x, y))[1]

    graph = graph_of(fn, 3)
    name = next(op.name for op in graph.get_operations() if op.type == "StatelessWhile")
    assert connected(graph, Connections()) == [False, True, False]
    assert connected(graph, Connections({(id(graph), name): (True, False)})) == [False, False, False]


def test_each_result_has_its_own() -> None:
    graph = graph_of(lambda x, y: (x * 2.0, y * 3.0), 2)
    assert Connections().reached(graph, graph.inputs, graph.outputs) == [1, 2]


def test_sources_of_graphs_around() -> None:
    found = []

    def fn(x, y):
        z = x * 3.0

        def then():
            result = tf.cond(y > 0.0, lambda: z * 2.0, lambda: z)
            found.append(around([result], [x, y, z]))
            return result
        return tf.cond(x > 0.0, then, lambda: y)

    graph_of(fn, 2)
    assert found == [[True, False, True]]


def test_variables_are_sources() -> None:
    weight, limit = tf.Variable(2.0), tf.Variable(3.0)
    found = []

    def fn(x):
        result = tf.cond(x > limit, lambda: x * weight, lambda: x)
        found.append(around([result], [weight, limit]))
        return result

    graph_of(fn, 1)
    assert found == [[True, False]]
