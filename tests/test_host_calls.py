"""Library calls made by graphs: what they return, change and raise; and substitutes for them."""
from __future__ import annotations

import itertools
import math
import optparse
import pathlib
import random
import threading
import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf
from imp2tf.reach import reach_of
from imp2tf.results import Changed, Dense, Nothing, Object, OneOf, Parts, Plain, join_kinds, kind_of, watched_arguments

ONE, TWO = tf.constant(1.0), tf.constant(2.0)


def convert(function: Any, **options: Any) -> Any:
    return imp2tf.convert(function, profile_runs=0, **options)


def codes(converted: Any) -> list[str]:
    return [found["code"] for found in converted.stats()["fallbacks"]]


# ------------------------------------------------------------------------------------ how they come into the graph
def test_the_first_call_is_watched_and_the_second_is_a_graph() -> None:
    ids = itertools.count()
    converted = imp2tf.convert(lambda x: x + next(ids))
    assert [float(converted(ONE)) for _ in range(3)] == [1.0, 2.0, 3.0]
    stats = converted.stats()
    assert (stats["eager_calls"], stats["graph_calls"], stats["host_calls"], stats["fallbacks"]) == (1, 2, 2, [])


class Worker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.observation = np.float32([seed, 1.0])
        self.random.kept = self.observation  # type: ignore[attr-defined]  # as environments keep what they return first


class Agent:
    """Workers take turns; what one has seen varies, and so does whose turn it is."""

    def __init__(self) -> None:
        self.workers, self.turn, self.best = [Worker(0), Worker(1)], 0, 0

    def step(self, x: tf.Tensor) -> tf.Tensor:
        worker = self.workers[self.turn % 2]
        seen = tf.constant(worker.observation)
        drawn = worker.random.random()
        worker.observation = (seen + drawn).numpy()
        if tf.reduce_sum(x) > 3.0:
            self.best += worker.random.getrandbits(3)
        self.turn += 1
        return tf.reduce_sum(seen) * drawn + x


def test_what_varies_is_presumed_again_after_calls_that_could_not_be_graphs_for_another_reason() -> None:
    eager, agent = Agent(), Agent()
    step = imp2tf.convert(agent.step, speculate=False)
    for i in range(12):
        x = tf.constant([float(i % 5), 0.5])
        np.testing.assert_allclose(step(x), eager.step(x))
    assert eager.best == agent.best
    assert (step.stats()["traces"], step.stats()["guard_misses"]) == (2, 1)  # one graph for each worker


def test_a_branch_nobody_has_seen_yet_is_left_out_although_python_was_called_before() -> None:
    eager, agent = Agent(), Agent()
    step = imp2tf.convert(agent.step)
    for i in range(12):
        x = tf.constant([float(i % 5), 0.5])
        np.testing.assert_allclose(step(x), eager.step(x))
    assert eager.best == agent.best
    assert (step.stats()["graph_calls"], step.stats()["speculation_failures"]) == (10, 1)


def test_without_a_profile_run_one_call_falls_back() -> None:
    ids = itertools.count()
    converted = convert(lambda x: x + next(ids))
    assert [float(converted(ONE)) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert (converted.stats()["eager_calls"], converted.stats()["graph_calls"], codes(converted)) == (1, 2, ["I2T101"])


def test_explain_lists_them_with_their_lines() -> None:
    def draws(x):
        return x * random.random()

    converted = convert(draws)
    converted(ONE)
    report = converted.explain(ONE)
    (line,) = report.python_calls
    assert line == f"Python is called (random) [{__file__}:{draws.__code__.co_firstlineno + 1}, in draws]"
    assert line in str(report).replace("\n", "") and report.to_dict()["python_calls"] == [line]


def test_fullgraph_refuses_them() -> None:
    with pytest.raises(imp2tf.ConversionError, match="Random.random may have effects"):
        convert(lambda x: x * random.random(), fullgraph=True)(ONE)


def test_xla_steps_back() -> None:
    converted = convert(lambda x: x * random.choice([2.0]), jit_compile=True)
    assert [float(converted(ONE)) for _ in range(3)] == [2.0, 2.0, 2.0]
    assert "I2T114" in codes(converted) and converted.stats()["graph_calls"] == 2


def test_an_unrolled_loop_of_very_many_is_left_to_python() -> None:
    def many(x):
        for _ in range(1000):
            random.random()
        return x

    converted = convert(many)
    converted(ONE)
    converted(ONE)
    assert converted.stats()["graph_calls"] == 0


# ------------------------------------------------------------------------------------ faults
class Faulty:
    """A library object whose answers a test decides."""

    def __init__(self, *answers: Any) -> None:
        self.answers = iter(answers)

    def __next__(self) -> Any:
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


def answers(*given: Any) -> Any:
    """An iterator of C code over `given`; functions are called, exceptions raised."""
    faulty = Faulty(*given)
    return iter(imp2tf.disable(faulty.__next__), faulty)


def test_what_is_raised_comes_out_with_the_lines_of_the_program() -> None:
    seen = []
    left = iter([1.0, 2.0])

    def scales(x):
        seen.append(x)
        return x * next(left)

    converted = convert(scales)
    assert [float(converted(ONE)) for _ in range(2)] == [1.0, 2.0]
    with pytest.raises(StopIteration) as caught:
        converted(ONE)
    assert [entry.name for entry in caught.traceback][-1:] == ["scales"]
    assert caught.value.__context__ is None
    assert len(seen) == 3


def test_another_kind_lets_python_go_on_without_a_second_call() -> None:
    printed = []
    left = iter([1.0, 2.0, "text", 4.0, "text"])

    def scales(x):
        value = next(left)
        print("got", value)
        printed.append(value)
        return value

    converted = convert(scales)
    assert [converted(ONE) for _ in range(5)] == [1.0, 2.0, "text", 4.0, "text"]
    assert printed == [1.0, 2.0, "text", 4.0, "text"]
    assert codes(converted) == ["I2T101", "I2T116"]
    assert converted.stats()["graph_calls"] == 3


def test_another_kind_after_a_variable_has_changed() -> None:
    variable, left = tf.Variable(0.0), iter([1.0, 2.0, "text", 4.0])

    def scales(x):
        variable.assign_add(1.0)
        return x, next(left)

    converted = convert(scales)
    assert [converted(ONE)[1] for _ in range(4)] == [1.0, 2.0, "text", 4.0]
    assert "I2T116" in codes(converted)
    assert float(variable) == 4.0


def test_another_kind_after_a_file_was_written_is_an_error(tmp_path: pathlib.Path) -> None:
    variable, left = tf.Variable(0.0), iter([1.0, 2.0, "text", 4.0])

    def writes(x):
        variable.assign_add(1.0)
        tf.io.write_file(str(tmp_path / "file"), tf.strings.as_string(variable))
        return x, next(left)

    converted = convert(writes)
    assert [converted(ONE)[1] for _ in range(2)] == [1.0, 2.0]
    with pytest.raises(imp2tf.ConversionError, match="next returned str, unlike before") as caught:
        converted(ONE)
    assert (caught.value.code, caught.value.location.line) == ("I2T116", writes.__code__.co_firstlineno + 3)
    assert float(variable) == 3.0
    assert converted(ONE)[1] == 4.0


def test_an_argument_kept_on_a_later_call_only_is_an_error() -> None:
    known = optparse.Values({"one": [0]})

    def remembers(x):
        values = [4]
        got = known.ensure_value("one", values)
        values.append(5)
        return x, got

    converted = convert(remembers)
    assert [converted(ONE)[1] for _ in range(2)] == [[0], [0]]
    del known.one
    with pytest.raises(imp2tf.ConversionError, match="ensure_value kept an object that it was given, unlike before"):
        converted(ONE)
    assert known.one == [4]
    del known.one
    assert converted(ONE)[1] is known.one and known.one == [4, 5]


def test_a_slow_call_is_waited_for_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    def waits(x):
        print("before")
        start = time.perf_counter()
        time.sleep(0.05)
        print("after", time.perf_counter() - start > 0.04)
        return x

    converted = convert(waits)
    converted(ONE)
    converted(ONE)
    assert capsys.readouterr().out == "before\nafter True\n" * 2
    assert converted.stats()["graph_calls"] == 1


def test_a_call_that_calls_a_converted_function() -> None:
    inner = imp2tf.convert(lambda x: x * 2.0)
    mapped = map(inner, itertools.repeat(TWO))
    converted = convert(lambda x: x + next(mapped))
    assert [float(converted(ONE)) for _ in range(4)] == [5.0] * 4


def test_a_list_that_is_changed_or_kept() -> None:
    kept: list[Any] = []

    def shuffles(x):
        items = [1, 2, 3]
        random.Random(2).shuffle(items)
        return items

    def keeps(x):
        items = [1, 2, 3]
        kept.append(items)
        copies = itertools.cycle(items)
        return next(copies), items

    for function in (shuffles, keeps):
        converted = convert(function)
        assert [converted(ONE) for _ in range(3)] == [function(ONE) for _ in range(3)]


def test_a_tape_sees_through_what_returns_tensors() -> None:
    made = map(lambda x: x * x, itertools.repeat(tf.Variable(3.0)))
    converted = convert(lambda x: x * next(made))
    for _ in range(3):
        converted(ONE)
    assert converted.stats()["graph_calls"] > 0
    before = converted.stats()["graph_calls"]
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = converted(x)
    assert float(tape.gradient(y, x)) == 9.0
    assert converted.stats()["graph_calls"] == before


def test_other_threads_do_not_get_in_between_under_a_lock() -> None:
    lock, count = threading.Lock(), [0]

    def counts(x):
        with lock:
            count[0] += 1
            return x + count[0]

    converted = convert(counts)
    for _ in range(3):
        converted(ONE)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.extend(float(converted(ONE)) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [float(i + 5) for i in range(80)]
    assert not lock.locked()


# ------------------------------------------------------------------------------------ kinds
@pytest.mark.parametrize(("value", "kind"), [
    (None, Nothing()), (1, Plain("int")), (True, Plain("bool")), (0.5, Plain("float")), (2**70, Object(int)), ("a", Object(str)),
    (tf.constant([1.0]), Dense(tf.float32, 1)), ((1, None), Parts(tuple, (Plain("int"), Nothing()))),
    (np.zeros([2, 3], np.int32), Object(np.ndarray, "int32", 2)), (np.float32(1.0), Object(np.float32, "float32", 0)),
])
def test_kinds(value: Any, kind: Any) -> None:
    assert kind_of(value) == kind
    assert join_kinds(kind, kind) == kind


def test_kinds_that_differ_are_joined() -> None:
    both = join_kinds(Plain("int"), Nothing())
    assert both == OneOf((Plain("int"), Nothing())) == join_kinds(both, Nothing())
    assert join_kinds(Dense(tf.float32, 1), Dense(tf.float32, 2)) == Dense(tf.float32, None)
    assert join_kinds(Object(str), Object(bytes)) == Object()
    assert join_kinds(kind_of((1, 2)), kind_of((1, None))) == Parts(tuple, (Plain("int"), OneOf((Plain("int"), Nothing()))))


def test_lists_are_parts_only_if_nobody_else_knows_them() -> None:
    assert kind_of([1, 2]) == Object(list)
    assert kind_of([1, 2], fresh=True) == Parts(list, (Plain("int"), Plain("int")))


def test_arguments_are_watched() -> None:
    items, kept = [1, 2], []
    touched = watched_arguments([items, {"a": 1}, np.zeros(3), 5])
    assert touched() == ""
    kept.append(items)
    assert touched() == "kept"
    kept.clear()
    items.append(3)
    assert touched() == "changed"


def test_changes_of_arguments_are_made_again() -> None:
    result, given = [1], ([1, 2], {"a": 1}, np.ones(2), {3}, 5, "text")
    mine = ([0], {}, np.zeros(2), set(), 6, "text")
    assert Changed(result, given).again(mine) is result
    assert mine[0] == [1, 2] and mine[1] == {"a": 1} and mine[2].tolist() == [1.0, 1.0] and mine[3:] == ({3}, 6, "text")
    assert Changed(given[0], given).again(mine) is mine[0]


def test_reach() -> None:
    inner: list[Any] = [1]
    found = reach_of([random.Random(1), {"a": (inner, np.zeros(2))}])
    assert found is not None and id(inner) in found
    assert reach_of([lambda: 1]) is None
    assert reach_of([Faulty()]) is None
    assert reach_of([itertools.count()]) is not None
    assert reach_of([map(lambda v: v, [1])]) is None


# ------------------------------------------------------------------------------------ substitutes
def expit(value: Any) -> Any:
    """A library function, as far as imp2tf is concerned."""
    return np.float32(1.0) / (1.0 + math.exp(-float(value)))


def test_a_substitute_is_called_in_graphs() -> None:
    calls = []

    @imp2tf.disable
    def original(x):
        calls.append(x)
        return x * 2.0

    converted = convert(lambda x: original(x) + 1.0)
    assert float(converted(ONE)) == 3.0
    assert len(calls) == 1

    @imp2tf.substitute(original)
    def twin(x):
        if x > 1.5:
            return x + x
        return x * 2.0

    assert [float(converted(x)) for x in (ONE, TWO)] == [3.0, 5.0]
    assert len(calls) == 1
    assert float(twin(TWO)) == 4.0


def test_a_substitute_may_call_the_original() -> None:
    class Scaler:
        @imp2tf.disable
        def scale(self, x):
            return x * 3.0

    @imp2tf.substitute(Scaler.scale)
    def scale(self, x):
        return self.scale(x) if x.dtype == tf.float64 else x * 3.0

    scaler = Scaler()
    converted = convert(lambda x: scaler.scale(x))
    assert [float(converted(x)) for x in (ONE, TWO)] == [3.0, 6.0]
    assert converted.stats()["host_calls"] == 0


def test_what_cannot_be_substituted() -> None:
    with pytest.raises(TypeError, match="original must be callable, not int 3"):
        imp2tf.substitute(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the substitute must be callable, not int 4"):
        imp2tf.substitute(expit)(4)  # type: ignore[type-var]


def test_what_nobody_needs_is_not_computed_before_a_call() -> None:
    @imp2tf.convert(profile_runs=0)
    def f(x):
        y = tf.sin(x)
        tf.cos(x)
        print("seen")
        return y

    f(tf.constant(1.0))
    operations = f._dispatcher.graphs[0].concrete.graph.get_operations()
    (call,) = (op for op in operations if op.type == "EagerPyFunc")
    awaited = {one.type for one in call.control_inputs}
    assert "Sin" in awaited and "Cos" not in awaited
