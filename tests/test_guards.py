"""What a graph assumes: when it is made again, what it says then, what it keeps alive."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf
from imp2tf import tracing

at_once = imp2tf.convert(profile_runs=0)
X = tf.constant(2.0)
LEVEL = 0


class Thing:
    """An object with attributes."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


# ------------------------------------------------------------------------------------------------ what varies
def total(xs):
    result = 0.0
    for x in xs:
        result = result + x
    return result


def by_length(x, xs):
    return x * len(xs)


def appending(x, xs):
    xs.append(x)
    return x


def times(x, n):
    return x * n


def repeated(x, n):
    for i in range(n):
        x = x + i
    return x


def compared(x, n):
    if n > 50:
        return x + 1.0
    return x - n


def of_attribute(x, thing):
    return x * thing.n


def counted(x, thing):
    thing.count += 1
    return x + thing.count


def of_items(x, found):
    return x * found["n"] - found["m"]


def of_nested(x, found):
    return x * found["a"][0]["n"] + found["b"].n


def of_global(x):
    return x + LEVEL


def keyword(x, *, n=0):
    return x * n


def told(x, n):
    print(f"step {n}")
    return x


COUNTED = Thing(count=0)
VARIED: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "length of a tensor": (total, lambda i: (tf.ones([i + 1]),)),
    "sizes of a tensor": (lambda x: tf.reduce_sum(x, 1), lambda i: (tf.ones([i + 1, i + 2]),)),
    "length of a tensor in a dict": (lambda found: found["x"] * 2.0, lambda i: ({"x": tf.ones([i + 1])},)),
    "length of a tensor of an object": (lambda thing: thing.x * 2.0, lambda i: (Thing(x=tf.ones([i + 1])),)),
    "length of a list": (by_length, lambda i: (X, [X] * (i + 1))),
    "length of a list that grows": (appending, lambda i: (X, [X] * (i + 1))),
    "int": (times, lambda i: (X, i)),
    "float": (times, lambda i: (X, i / 7)),
    "int of a loop": (repeated, lambda i: (X, i)),
    "int of a branch": (compared, lambda i: (X, i)),
    "int in a text": (told, lambda i: (X, i)),
    "keyword": (lambda x, n: keyword(x, n=n), lambda i: (X, i)),
    "attribute": (of_attribute, lambda i: (X, Thing(n=i))),
    "counter": (counted, lambda i: (X, COUNTED)),
    "dict value": (of_items, lambda i: (X, {"n": i, "m": 2 * i})),
    "nested": (of_nested, lambda i: (X, {"a": [{"n": i}], "b": Thing(n=i + 1)})),
    "tuple": (lambda x, pair: x * pair[1], lambda i: (X, (0, i))),
    "list element": (lambda x, items: x * items[0], lambda i: (X, [i, 2])),
}


@pytest.mark.parametrize("name", VARIED)
def test_what_varies_costs_two_traces(name: str) -> None:
    function, arguments = VARIED[name]
    converted = imp2tf.convert(function, profile_runs=0)
    for i in range(100):
        COUNTED.count = 10 * i
        found = converted(*arguments(i))
        COUNTED.count = 10 * i
        np.testing.assert_allclose(found, function(*arguments(i)))
    stats = converted.stats()
    assert (stats["traces"] <= 2, stats["eager_calls"]) == (True, 0), stats


def test_a_global_that_varies_costs_two_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = at_once(of_global)
    for i in range(100):
        monkeypatch.setitem(globals(), "LEVEL", i)
        assert float(converted(X)) == 2.0 + i
    assert converted.stats()["traces"] <= 2


class Accountant:
    """Keeps numbers that are made of a number that it counts."""

    def __init__(self) -> None:
        self.steps, self.best, self.best_at, self.next = 0, 0.0, 0, 1

    def step(self, x):
        self.steps += 1
        if float(x) > self.best:
            self.best = float(x)
            self.best_at = self.steps
        self.next = 2 * self.steps + 1
        return x + self.best_at + self.next


def test_numbers_made_of_counted_ones_are_known_to_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    trace_call = tracing.trace_call
    monkeypatch.setattr(tracing, "trace_call", lambda *args: begun.append(0) or trace_call(*args))
    one, other = Accountant(), Accountant()
    converted = imp2tf.convert(one.step)
    for i in (1.0, 3.0, 2.0, 5.0):
        assert float(converted(tf.constant(i))) == float(other.step(tf.constant(i)))
    assert vars(one) == vars(other) and len(begun) == 1


@pytest.mark.parametrize("relaxed", [False, True])
def test_one_and_one_and_true_are_different(relaxed: bool) -> None:
    converted = at_once(lambda x, n: (x, n, n == 1, type(n)))
    for n in (1, 2, 3) if relaxed else ():
        converted(X, n)
    for n in (1, 1.0, True, 1, True, 1.0, False, 0, 0.0, -0.0):
        _, found, is_one, kind = converted(X, n)
        assert (repr(found), is_one, kind) == (repr(n), n == 1, type(n))


def test_weak_types_stay_weak() -> None:
    converted = at_once(times)
    for n in (1, 2, 3, 4):
        for dtype in (tf.float16, tf.float32, tf.int32):
            assert converted(tf.cast(X, dtype), n).dtype == dtype


# ------------------------------------------------------------------------------------------------ what is said
def test_a_miss_is_told_with_old_and_new_value() -> None:
    def scaled(x, thing, factor):
        return x * factor + (1.0 if thing.on else 2.0)

    converted = at_once(scaled)
    converted(X, Thing(on=True), 2.0)
    converted(X, Thing(on=False), 3.0)
    converted(tf.ones([3]), Thing(on=False), 3.0)
    told = converted.explain(X, Thing(on=False), 3.0)
    assert told.misses == ["factor was 2.0, is 3.0; thing.on was True, is False", "x was float32(), is float32(3,)"]
    assert "thing.on was True, is False" in str(told)


def test_limit_of_misses_that_are_kept() -> None:
    converted = imp2tf.convert(lambda x, s: x + len(s), profile_runs=0)
    for i in range(30):
        converted(X, "s" * i)
    assert len(converted._dispatcher.misses) <= 10
    assert (converted.stats()["traces"], converted.stats()["guard_misses"]) == (8, 8)


# ------------------------------------------------------------------------------------------------ what is kept alive
class Dense:
    """An object whose variable is part of what its graph is made for."""

    def __init__(self, value: float = 2.0) -> None:
        self.weight = tf.Variable(value)

    @imp2tf.convert(profile_runs=0)
    def shared(self, x):
        return x * self.weight

    def own(self, x):
        return x * self.weight


@pytest.fixture(autouse=True)
def fresh() -> None:
    Dense.shared.reset()


def test_objects_and_variables_go_and_their_graphs_with_them() -> None:
    layer = Dense()
    gone = [weakref.ref(layer), weakref.ref(layer.weight)]
    for _ in range(3):
        assert float(layer.shared(X)) == 4.0
    graph = weakref.ref(Dense.shared._dispatcher.graphs[0])
    del layer
    gc.collect()
    assert [one() for one in (*gone, graph)] == [None] * 3
    assert not Dense.shared._dispatcher.graphs


def test_a_variable_that_goes_takes_its_graph_along() -> None:
    layer = Dense()
    layer.shared(X)
    layer.weight = tf.Variable(5.0)
    gc.collect()
    assert not Dense.shared._dispatcher.graphs
    assert float(layer.shared(X)) == 10.0


def test_converted_functions_go_with_their_graphs() -> None:
    layer = Dense()
    converted = at_once(layer.own)
    converted(X)
    gone = [weakref.ref(one) for one in (layer, converted, converted._dispatcher.graphs[0].concrete.graph)]
    del layer, converted
    gc.collect()
    assert [one() for one in gone] == [None] * 3


def test_arguments_and_results_go() -> None:
    converted = at_once(lambda items, thing: (items[0] * 2.0, thing))
    items, thing = [tf.ones([3])], Thing(n=1)
    gone = [weakref.ref(thing), weakref.ref(items[0])]
    for _ in range(3):
        converted(items, thing)
    del items, thing
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_reset_gives_everything_back() -> None:
    layer = Dense()
    converted = at_once(layer.own)
    converted(X)
    gone = weakref.ref(converted._dispatcher.graphs[0].concrete.graph)
    converted.reset()
    gc.collect()
    assert gone() is None and converted.stats()["traces"] == 0
    assert float(converted(X)) == 4.0


def test_many_objects_of_a_class_have_graphs_if_they_are_used() -> None:
    layers = [Dense(float(i)) for i in range(12)]
    for i, layer in enumerate(layers):
        assert [float(layer.shared(X)) for _ in range(6)] == [2.0 * i] * 6
    assert Dense.shared.stats()["eager_calls"] == 0
    assert [float(layer.shared(X)) for layer in layers] == [2.0 * i for i in range(12)]


def test_objects_that_are_used_once_do_not_cost_a_trace_each() -> None:
    for i in range(20):
        assert float(Dense(float(i)).shared(X)) == 2.0 * i
    assert Dense.shared.stats()["traces"] == 8


def test_graphs_that_are_not_used_are_dropped_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_GRAPHS", 1)
    layers = [Dense(float(i)) for i in range(10)]
    for layer in layers:
        for _ in range(8):
            layer.shared(X)
            layers[0].shared(X)
    assert len(Dense.shared._dispatcher.graphs) <= 8
    traces = Dense.shared.stats()["traces"]
    layers[0].shared(X)
    assert Dense.shared.stats()["traces"] == traces  # the one that is used has stayed
