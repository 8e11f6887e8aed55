"""`disable`: functions that stay plain Python, also where converted functions call them."""
from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

import imp2tf

ONE, TWO = tf.constant(1.0), tf.constant(2.0)
history: list[Any] = []


@imp2tf.disable
def note(x: Any, *, by: str = "") -> int:
    """Notes a number."""
    history.append((float(x), by))
    return len(history)


@pytest.fixture(autouse=True)
def no_history() -> None:
    history.clear()


def convert(function: Any) -> Any:
    return imp2tf.convert(function, profile_runs=0)


def in_graph(converted: Any) -> bool:
    return converted.stats()["eager_calls"] == 0 < converted.stats()["graph_calls"]


def test_it_is_the_function() -> None:
    assert note(ONE) == 1
    assert (note.__name__, note.__doc__) == ("note", "Notes a number.")
    assert inspect.signature(note) == inspect.signature(note.__wrapped__)
    with pytest.raises(TypeError, match="func must be callable, not int 3"):
        imp2tf.disable(3)


def test_called_from_the_graph_in_order() -> None:
    def doubles(x):
        print("before")
        note(x, by="first")
        x = x * 2.0
        note(x, by="second")
        return x

    converted = convert(doubles)
    assert [float(converted(x)) for x in (ONE, TWO)] == [2.0, 4.0]
    assert history == [(1.0, "first"), (2.0, "second"), (2.0, "first"), (4.0, "second")]
    assert in_graph(converted)
    assert converted.stats()["host_calls"] == 6


def test_called_in_loops_and_branches() -> None:
    def halves(x):
        while x > 1.0:
            x = x / 2.0
            if x < 3.0:
                note(x)
        return x

    converted = convert(halves)
    assert converted(tf.constant(8.0)) == 1.0
    assert history == [(2.0, ""), (1.0, "")]
    assert in_graph(converted)


def test_a_result_that_is_only_passed_on_stays_in_the_graph() -> None:
    def counts(x):
        print("noted", note(x))
        return x, note(x)

    converted = convert(counts)
    assert [converted(ONE)[1], converted(ONE)[1]] == [2, 4]
    assert in_graph(converted)


def test_a_result_that_is_needed_means_python() -> None:
    def scales(x):
        return x * note(x)

    converted = convert(scales)
    assert [float(converted(TWO)) for _ in range(2)] == [2.0, 4.0]
    assert history == [(2.0, ""), (2.0, "")]
    assert not in_graph(converted)


class Model:
    def __init__(self) -> None:
        self.scale = 1.0
        self.weight = tf.Variable(1.0)

    @imp2tf.disable
    def tune(self):
        self.scale += 1.0
        self.weight.assign_add(1.0)

    def reads_before(self, x):
        y = x * self.scale
        self.tune()
        return y

    def reads_after(self, x):
        self.tune()
        return x * self.scale

    def writes_before(self, x):
        self.scale = 5.0
        self.tune()
        return x

    def reads_the_variable(self, x):
        before = self.weight
        y = x * before
        self.tune()
        return y, x * before


def each(name: str, run: Any) -> list[Any]:
    model = Model()
    function = run(getattr(model, name))
    results = [tf.nest.map_structure(float, function(TWO)) for _ in range(3)]
    return [results, model.scale, float(model.weight)]


@pytest.mark.parametrize("name", ["reads_before", "reads_after", "writes_before", "reads_the_variable"])
def test_state_that_it_changes_or_sees_is_right(name: str) -> None:
    assert each(name, convert) == each(name, lambda function: function)


def test_what_depends_on_it_runs_as_python_and_says_why() -> None:
    converted = convert(Model().reads_after)
    converted(TWO)
    (reason,) = converted.stats()["fallbacks"]
    assert "Model.tune is disabled, and could have changed the attribute 'scale'" in reason["reason"]
    assert in_graph(convert_and_call(Model().reads_before))


def convert_and_call(function: Any) -> Any:
    converted = convert(function)
    converted(TWO)
    return converted


def test_an_object_made_before_could_be_changed_by_it() -> None:
    @imp2tf.disable
    def fill(items):
        items.append(3.0)

    def makes(x):
        items = [x]
        fill(items)
        return items

    converted = convert(makes)
    assert [float(x) for x in converted(ONE)] == [1.0, 3.0]
    assert not in_graph(converted)


def test_what_it_raises_comes_out_with_its_own_lines() -> None:
    @imp2tf.disable
    def refuses(x):
        raise KeyError("refused")

    def calls(x):
        refuses(x)
        return x

    for function in (calls, convert(calls)):
        with pytest.raises(KeyError, match="refused") as caught:
            function(ONE)
        names = [entry.name for entry in caught.traceback]
        assert [name for name in names if name in ("calls", "refuses")] == ["calls", "refuses"]
        assert caught.value.__context__ is None


def test_converted_and_static_functions() -> None:
    class Holder:
        @imp2tf.disable
        @staticmethod
        def twice(x):
            return x * 2.0

    assert Holder.twice(ONE) == 2.0
    assert imp2tf.disable(convert(lambda x: x + 1.0))(ONE) == 2.0
