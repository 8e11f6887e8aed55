"""Graphs that do without a branch: what they leave to Python, what they may not repeat, when they are given up."""
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import tensorflow as tf

import imp2tf
from tests.differential import check

RARELY = (-1.0, -2.0, 7.0, -3.0, -4.0)


def kind(x):
    """What no graph can hold: a tensor has another class there."""
    return type(x).__name__


def last_statement(x):
    if x > 5:
        x = x + len(kind(x))
    return x * 2


def other_side(x):
    if x < 5:
        y = x - 1
    else:
        y = x + len(kind(x))
    return y * 2


def early_return(x):
    if x > 5:
        return kind(x)
    return x * 2


def expression(x):
    return (x > 5 and kind(x)), (x + 1 if x < 5 else kind(x))


def in_a_loop(x):
    total = 0.0
    for i in tf.range(3):
        value = x + tf.cast(i, tf.float32)
        if value > 6:
            total += len(kind(value))
            continue
        total += value
    return total


def nested(x):
    if x > 0:
        if x > 5:
            x = x + len(kind(x))
        x = x * 3
    return x


def in_a_helper(x):
    return last_statement(x) + other_side(x)


def beside_a_handler(x):
    try:
        y = tf.math.log(tf.abs(x)) if x < 5 else x
        if x > 6:
            raise ValueError(x)
    except ValueError as error:
        return kind(error.args[0])
    return y


def under_a_tape(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        if y > 25:
            y = y * len(kind(y))
    return tape.gradient(y, x)


def dicts_and_text(x):
    found = {"x": x}
    if x > 5:
        found[kind(x)] = f"{x.numpy():.1f}"
    return found


PROGRAMS = (last_statement, other_side, early_return, expression, in_a_loop, nested, in_a_helper, beside_a_handler, under_a_tape,
            dicts_and_text)


@pytest.mark.parametrize("speculate", [True, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_eagers(program: Callable[..., Any], speculate: bool) -> None:
    def make() -> tuple[Any, Sequence[Any]]:
        return program, [((tf.constant(value),), {}) for value in RARELY]

    check(make, repeat=3, convert_kw={"profile_runs": 0, "speculate": speculate})


def stateful() -> tuple[Any, Sequence[Any], Callable[[], Any]]:
    counts, weight, seen = {"n": 0}, tf.Variable(1.0), []

    def step(x):
        counts["n"] += 1
        if x > 5:
            seen.append((counts["n"], kind(x)))
            weight.assign(0.0)
        print("step", counts["n"])
        weight.assign_add(x)
        return x * weight

    return step, [((tf.constant(value),), {}) for value in RARELY], lambda: (counts, weight, seen)


def after_an_effect() -> tuple[Any, Sequence[Any], Callable[[], Any]]:
    weight, seen = tf.Variable(1.0), []

    def step(x):
        weight.assign_add(x)
        print("before")
        if x > 5:
            seen.append(kind(x))
        return x * weight

    return step, [((tf.constant(value),), {}) for value in RARELY], lambda: (weight, seen)


def after_an_effect_of_an_earlier_turn() -> tuple[Any, Sequence[Any], Callable[[], Any]]:
    weight, seen = tf.Variable(1.0), []

    def step(x):
        for i in tf.range(4):
            if x + tf.cast(i, tf.float32) > 8:
                seen.append(kind(x))
            weight.assign_add(x)
        return x * weight

    return step, [((tf.constant(value),), {}) for value in RARELY], lambda: (weight, seen)


class _Agent:
    """Steps an environment; what its graph cannot hold comes after calls of Python, prints and changes of variables."""

    def __init__(self):
        self.weight, self.moments = tf.Variable(1.0), tf.Variable([1.0, 2.0])
        self.log, self.moves, self.episodes = [], 0, 0
        self.numbers = random.Random(3)  # noqa: S311

    def move(self, x):
        self.weight.assign_add(x)
        chance = self.numbers.random()
        print("move", self.moves, f"{chance:.3f}")
        tf.print("weight", self.weight)
        self.log.append(chance * x)
        self.moves += 1
        self.moments.assign(self.moments * chance)
        if x > 5:
            self.episodes += 1
            self.log.append(kind(x))
            print("over", self.numbers.getrandbits(8))
            self.weight.assign(0.0)
        return self.moments * self.weight

    def moves_in_a_loop(self, x):
        total = tf.zeros([])
        for i in tf.range(3):
            total += self.move(x + tf.cast(i, tf.float32))[0]
        return total

    def moves_under_a_tape(self, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            self.weight.assign(self.weight * 2.0)
            y = x * x * self.weight
            print("before", self.moves)
            self.moves += 1
            if x > 5:
                y = y * len(kind(y))
        return tape.gradient(y, x), self.weight

    def two_branches(self, x):
        print("first")
        if x > 6:
            self.log.append(kind(x))
        self.weight.assign_add(1.0)
        self.moves = self.moves + self.numbers.randrange(9)
        if x < -3:
            self.log.append(kind(x) + "!")
            return self.weight * 0.0
        return self.weight * x, self.moves

    def draws_between(self, x):
        self.weight.assign_add(tf.random.uniform([]))
        self.moves += 1
        if x > 5:
            self.log.append(kind(x))
        return tf.random.uniform([2]) * self.weight


def steps_of(name: str, kind_of_agent: type[_Agent] = _Agent) -> Callable[[], Any]:
    def make() -> tuple[Any, Sequence[Any], Callable[[], Any]]:
        tf.random.set_seed(11)
        agent = kind_of_agent()
        state = lambda: (agent.weight, agent.moments, agent.log, agent.moves, agent.episodes, agent.numbers.random())  # noqa: E731
        return getattr(agent, name), [((tf.constant(value),), {}) for value in (*RARELY, *RARELY)], state

    make.__name__ = name
    return make


class _Callbacks(_Agent):
    """What is called by those whom the program calls: nobody sees Python come by there once more."""

    def shown(self, x):
        print("shown", self.moves)
        return x

    def ended(self, x):
        self.weight.assign_add(1.0)
        self.moves += 1
        if x > 5:
            self.log.append(kind(x))
        return x * self.weight

    def by_map(self, x):
        return self.ended(x), list(map(self.shown, [1, 2])), self.ended(x)

    def by_lambda(self, x):
        return list(map(lambda v: (print("lambda", v), v)[1], [1, 2])), self.ended(x)

    def by_key(self, x):
        return sorted([3, 1, 2], key=lambda v: (tf.print("key", v), v)[1]), self.ended(x)

    def by_cond(self, x):
        return tf.cond(x > 0.0, lambda: self.shown(x), lambda: -x), self.ended(x)

    @property
    def told(self):
        print("told", self.moves)
        return self.moves

    def by_property(self, x):
        return self.told, self.ended(x)

    def __getitem__(self, place):
        self.log.append(self.numbers.random())
        return self.log[-1]

    def by_operator(self, x):
        return self[3], self.ended(x)


CALLED_BACK = [steps_of(f"by_{name}", _Callbacks) for name in ("map", "lambda", "key", "cond", "property", "operator")]
LATE = [steps_of(name) for name in ("move", "moves_in_a_loop", "moves_under_a_tape", "two_branches", "draws_between")]


@pytest.mark.parametrize("speculate", [True, False])
@pytest.mark.parametrize("make", [stateful, after_an_effect, after_an_effect_of_an_earlier_turn, *LATE, *CALLED_BACK])
@pytest.mark.parametrize("profile_runs", [0, 1])
def test_effects_happen_once(make: Callable[[], Any], profile_runs: int, speculate: bool) -> None:
    check(make, repeat=3, convert_kw={"profile_runs": profile_runs, "speculate": speculate})


@pytest.mark.parametrize("make", LATE)
def test_a_branch_after_effects_is_left_out(make: Callable[[], Any]) -> None:
    function, _, _ = make()
    converted = imp2tf.convert(function)
    for _ in range(4):
        converted(tf.constant(-1.0))
    assert converted.stats()["graph_calls"] == 3


def test_what_a_branch_after_effects_calls_is_learned_when_it_is_entered() -> None:
    numbers, weight = random.Random(3), tf.Variable(0.0)  # noqa: S311

    @imp2tf.convert
    def step(x):
        weight.assign_add(numbers.random())
        if x > 5:
            weight.assign(numbers.gauss(0.0, 1.0))
        return x * weight

    for value in [-1.0] * 5 + [7.0] * 5:
        step(tf.constant(value))
    found = step.stats()
    assert (found["speculation_failures"], found["graph_calls"], found["traces"]) == (1, 8, 2)
    expected = random.Random(3)  # noqa: S311
    for value in [-1.0] * 5 + [7.0] * 5:
        last = expected.random() if value < 0 else (expected.random(), expected.gauss(0.0, 1.0))[1]
    assert float(weight) == pytest.approx(last)


def test_what_cannot_be_undone_is_not_begun() -> None:
    """A step that draws a dataset's next element must not do so twice: there is no graph that leaves out a branch after it."""
    items, seen = iter(tf.data.Dataset.range(9)), []

    @imp2tf.convert(profile_runs=0)
    def step(x):
        item = next(items)
        if x > 5:
            seen.append(kind(x))
        return item

    assert [int(step(tf.constant(value))) for value in (-1.0, -1.0, 7.0, -1.0, 7.0)] == [0, 1, 2, 3, 4]
    assert len(seen) == 2
    assert step.stats()["speculation_failures"] == 0


def stats_after(function: Callable[..., Any], values: Sequence[float], **options: Any) -> dict[str, Any]:
    converted = imp2tf.convert(function, profile_runs=0, **options)
    for value in values:
        converted(tf.constant(value))
    return converted.stats()


def test_a_branch_that_is_rarely_entered_costs_no_graph() -> None:
    found = stats_after(last_statement, [-1.0] * 30 + [7.0] + [-1.0] * 30 + [7.0] + [-1.0] * 30 + [7.0] + [-1.0])
    assert (found["graph_calls"], found["eager_calls"], found["speculation_failures"], found["traces"]) == (91, 3, 3, 1)
    assert [(one["code"], one["count"]) for one in found["fallbacks"]] == [("I2T117", 3)]
    assert found["fallbacks"][0]["line"] == last_statement.__code__.co_firstlineno + 1


def test_a_branch_that_is_often_entered_is_no_longer_left_out() -> None:
    found = stats_after(last_statement, [7.0] * 20)
    assert (found["speculation_failures"], found["eager_calls"], found["traces"]) == (3, 20, 1)
    assert found["fallbacks"][-1]["code"] == "I2T102"


def test_an_assumption_is_not_made_where_it_is_not_wanted() -> None:
    found = stats_after(last_statement, [-1.0] * 5, speculate=False)
    assert (found["graph_calls"], found["speculation_failures"]) == (0, 0)
    with pytest.raises(imp2tf.ConversionError, match="type"):
        imp2tf.convert(last_statement, fullgraph=True)(tf.constant(-1.0))


def test_recursion_is_not_cut_off() -> None:
    def factorial(n):
        return tf.constant(1) if n <= 1 else n * factorial(n - 1)

    converted = imp2tf.convert(factorial, profile_runs=0)
    assert [int(converted(tf.constant(n))) for n in (1, 5, 3)] == [1, 120, 6]
    assert converted.stats()["speculation_failures"] == 0


def test_a_branch_shows_what_its_calls_return_when_it_is_entered() -> None:
    def noisy(x):
        if x > 5:
            x = x + random.random()  # noqa: S311
        return x * 2

    found = stats_after(noisy, [-1.0] * 5 + [7.0] * 5)
    assert (found["speculation_failures"], found["host_calls"]) == (1, 4)


def test_it_is_said_what_is_assumed() -> None:
    converted = imp2tf.convert(last_statement, profile_runs=0)
    converted(tf.constant(-1.0))
    line = last_statement.__code__.co_firstlineno + 1
    assert any(f"{__file__}:{line}" in one for one in converted.guards())
