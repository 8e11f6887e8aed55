"""XLA chosen by measurement: what is compiled, that nothing but rounding shows it, and when it is left again."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf
from imp2tf import trials
from imp2tf.tf_compat import global_seed
from imp2tf.xla import checks, compiler, parts, rules, twin

TOOK = trials.Trial.took
FIRST, AFTER = 51, 60  # calls until a graph asks for its twin at the latest, and until the twin has been tried


@pytest.fixture(autouse=True)
def eager_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins are made at once, and seem faster than anything else."""
    for name in ("COMPILED_SECONDS", "FIRST_LOOK"):
        monkeypatch.setattr(trials, name, 0.0)
    monkeypatch.setattr(compiler, "FIXED", 0.0)
    monkeypatch.setattr(compiler.Compiler, "seconds_each", 0.0)
    monkeypatch.setattr(parts, "LEAST_WEIGHT", 1)
    seem(monkeypatch, 0.1)


def seem(monkeypatch: pytest.MonkeyPatch, compiled: float) -> None:
    """Let calls of twins seem to take so many times as long as others."""
    def judged(self: Any, form: Any, seconds: float) -> None:
        TOOK(self, form, 1e-3 * (compiled if form == trials.COMPILED else 1.0))

    monkeypatch.setattr(trials.Trial, "took", judged)


def waits_for_twin(converted: Any) -> Any:
    """The compiler of the newest graph, when it has ended."""
    found = converted._dispatcher.graphs[0].taped._unrecorded._compiler
    if found is not None and found.is_busy:
        found._thread.join(120)
        assert found.ended
    return found


def warm(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A converted function whose twin, if there is one, has been tried."""
    converted = imp2tf.convert(function, profile_runs=0, **options)
    for calls in (FIRST, AFTER):
        for _ in range(calls):
            converted(*args)
        waits_for_twin(converted)
    return converted


def tier(converted: Any) -> str:
    """Of the newest graph."""
    return str(converted.stats()["tiers"][0])


def chain(x):
    for _ in range(4):
        x = tf.tanh(x @ x) + 0.1
    return x


X = tf.constant(np.linspace(-1.0, 1.0, 16, dtype=np.float32).reshape(4, 4))


# ------------------------------------------------------------------------------------------------ what is compiled
def test_what_xla_computes_alike_is_compiled() -> None:
    converted = warm(chain, X)
    assert tier(converted) == "xla"
    np.testing.assert_allclose(converted(X), chain(X), rtol=1e-5)
    assert "compiled by XLA" in str(converted.explain(X))


def branches_and_loops(x, n):
    total = tf.zeros([4])
    i = 0
    while i < n:
        if tf.reduce_max(x) > 0.5:
            total = total + x[i]
        else:
            total = tf.maximum(total, x[i])
        i += 1
    for row in x:
        total = total + row // 1.0
    return total


@pytest.mark.parametrize("n", [0, 3])
def test_loops_and_branches(n: int) -> None:
    converted = warm(branches_and_loops, X, tf.constant(n))
    for scale in (1.0, 0.1):
        np.testing.assert_allclose(converted(X * scale, tf.constant(n)), branches_and_loops(X * scale, n), rtol=1e-5)


def drawing(x):
    return chain(x) + tf.random.uniform([])


def with_text(x):
    return chain(x), tf.strings.as_string(x)


def of_unknown_shape(x):
    return tf.boolean_mask(x, x > 0.0) * 2.0


def decomposing(x):
    return tf.linalg.cholesky(x @ tf.transpose(x) + tf.eye(4)) * 2.0


def test_what_xla_computes_otherwise_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_WEIGHT", 8)
    if global_seed() is None:  # what a seed foretells has no stream that a second function would begin again
        assert tier(warm(drawing, X)) != "xla"
    for function in (of_unknown_shape, decomposing):
        converted = warm(function, X)
        assert tier(converted) != "xla"
        np.testing.assert_allclose(converted(X), function(X), rtol=1e-5)


def test_what_xla_has_no_kernel_for_is_computed_after_the_rest() -> None:
    converted = warm(with_text, X)
    assert tier(converted) == "xla"
    assert converted(X)[1].numpy().tolist() == with_text(X)[1].numpy().tolist()


def test_pinned() -> None:
    assert tier(warm(chain, X, jit_compile=False)) != "xla"
    pinned = imp2tf.convert(chain, jit_compile=True, profile_runs=0)
    pinned(X)
    assert tier(pinned) == "xla"


# ------------------------------------------------------------------------------------------------ state
class Learner:
    """A training step with all sorts of state."""

    def __init__(self) -> None:
        self.weight = tf.Variable(tf.eye(4) * 0.5)
        self.velocity = tf.Variable(tf.zeros([4, 4]))
        self.steps = 0
        self.losses: list[Any] = []
        self.last: Any = None

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ self.weight) - x))
        gradient = tape.gradient(loss, self.weight)
        self.velocity.assign(self.velocity * 0.9 + gradient)
        self.weight.assign_sub(self.velocity * 0.1)
        self.steps += 1
        self.last = loss
        if self.steps % 10 == 0:
            self.losses.append(self.steps)
            print("step", self.steps)
        return loss + tf.reduce_sum(self.weight)


def test_state_goes_on_across_promotion(capfd: pytest.CaptureFixture[str]) -> None:
    one, other = Learner(), Learner()
    converted = imp2tf.convert(one.step)
    for i in range(FIRST + AFTER):
        x = X * (1.0 + i % 3)
        expected = other.step(x)
        np.testing.assert_allclose(converted(x), expected, rtol=1e-4)
        if i == FIRST:
            waits_for_twin(converted)
    assert tier(converted) == "xla"
    assert (one.steps, one.losses) == (other.steps, other.losses)
    for name in ("weight", "velocity", "last"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-4, atol=1e-6)
    shown = [line for line in capfd.readouterr().out.splitlines() if line.startswith("step")]
    assert shown == [f"step {n}" for n in range(10, FIRST + AFTER + 1, 10) for _ in range(2)]


def test_the_trial_of_a_twin_writes_nothing() -> None:
    variable = tf.Variable(0.0)

    def counted(x):
        variable.assign_add(1.0)
        return chain(x) * variable

    converted = imp2tf.convert(counted, profile_runs=0)
    for _ in range(FIRST):
        converted(X)
    waits_for_twin(converted)
    assert float(variable) == FIRST
    for _ in range(AFTER):
        converted(X)
    assert (float(variable), tier(converted)) == (FIRST + AFTER, "xla")
    variable.assign(5.0)
    np.testing.assert_allclose(converted(X), chain(X) * 6.0, rtol=1e-5)


def test_reads_between_writes_see_them() -> None:
    variable = tf.Variable(tf.ones([4, 4]))

    def twice(x):
        first = tf.tanh(x @ variable)
        variable.assign(first)
        second = tf.tanh(x @ variable)
        variable.assign(second * 2.0)
        return first + variable

    converted = warm(twice, X)
    variable.assign(tf.ones([4, 4]))
    found = converted(X), variable.numpy()
    variable.assign(tf.ones([4, 4]))
    expected = twice(X), variable.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# ------------------------------------------------------------------------------------------------ exceptions
VARIABLE = tf.Variable(0.0)
TABLE = tf.Variable(np.arange(12.0, dtype=np.float32).reshape(6, 2))


def gathered(x, i):
    VARIABLE.assign_add(1.0)
    return chain(x) + tf.gather(x, i)


def looked_up(x, i):
    VARIABLE.assign_add(1.0)
    return tf.reduce_sum(tf.gather(TABLE, i)) + chain(x)


def divided(x, i):
    VARIABLE.assign_add(1.0)
    return chain(x) * tf.cast(7 // i, tf.float32)


def asserted(x, i):
    VARIABLE.assign_add(1.0)
    tf.debugging.assert_less(i, 4)
    return chain(x) * tf.cast(i, tf.float32)


def labelled(x, i):
    VARIABLE.assign_add(1.0)
    return chain(x) + tf.nn.sparse_softmax_cross_entropy_with_logits(tf.fill([4], i), x)


def picked_in_a_loop(x, i):
    VARIABLE.assign_add(1.0)
    total = tf.zeros([4])
    while tf.reduce_sum(total) < 3.0:
        total = total + tf.abs(x[i]) + 1.0
    return total + chain(x)


REFUSED = [(gathered, 4), (looked_up, 6), (divided, 0), (asserted, 4), (labelled, 4), (picked_in_a_loop, 4)]


@pytest.mark.parametrize(("function", "bad"), REFUSED)
def test_what_the_kernels_refuse_is_refused(function: Any, bad: int) -> None:
    converted = warm(function, X, tf.constant(2))
    assert tier(converted) == "xla"
    np.testing.assert_allclose(converted(X, tf.constant(1)), function(X, tf.constant(1)), rtol=1e-5)
    before = float(VARIABLE)
    with pytest.raises(tf.errors.InvalidArgumentError) as expected:
        function(X, tf.constant(bad))
    raised = float(VARIABLE) - before
    with pytest.raises(tf.errors.InvalidArgumentError) as found:
        converted(X, tf.constant(bad))
    assert type(found.value) is type(expected.value) and float(VARIABLE) - before <= 2 * raised
    assert twin.MISSED not in str(found.value)
    np.testing.assert_allclose(converted(X, tf.constant(1)), function(X, tf.constant(1)), rtol=1e-5)


def raising(x):
    if tf.reduce_max(x) > 3.0:
        raise ValueError("too large")
    return chain(x)


def test_the_programs_own_exceptions() -> None:
    converted = warm(raising, X)
    assert tier(converted) == "xla"
    for _ in range(5):
        with pytest.raises(ValueError, match="too large"):
            converted(X * 4.0)
        np.testing.assert_allclose(converted(X), chain(X), rtol=1e-5)


def largest(x):
    return tf.maximum(x, 0.0), tf.reduce_max(x), tf.argmax(x, 1), tf.nn.softmax(x), chain(x)


def test_not_a_number_is_not_lost() -> None:
    converted = warm(largest, X)
    assert tier(converted) == "xla"
    bad = tf.constant([[float("nan"), 1.0, float("inf"), 2.0]] * 4)
    for _ in range(5):
        for found, expected in zip(converted(bad), largest(bad)):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert tier(converted) != "xla"  # it missed too often


def test_a_twin_with_other_results_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_difference", lambda expected, found: "its results would differ")
    converted = warm(chain, X)
    assert tier(converted) != "xla" and waits_for_twin(converted).function is None


# ------------------------------------------------------------------------------------------------ when it is left
def test_what_is_slower_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    seem(monkeypatch, 20.0)
    converted = warm(chain, X)
    assert waits_for_twin(converted).function is not None
    assert tier(converted) != "xla"
    np.testing.assert_allclose(converted(X), chain(X), rtol=1e-5)


def of_any_length(x):
    return tf.tanh(tf.tanh(x * 2.0) @ tf.ones([4, 4])) + tf.reduce_sum(x)


def test_other_shapes_run_without_xla() -> None:
    converted = imp2tf.convert(of_any_length, profile_runs=0)
    batches = [tf.ones([n, 4]) for n in (8, 3)]
    for batch in batches:
        converted(batch)
    for calls in (FIRST, AFTER):
        for _ in range(calls):
            converted(batches[0])
        waits_for_twin(converted)
    assert tier(converted) == "xla" and converted.stats()["traces"] == 2
    for n in (3, 8, 5, 8):
        x = tf.ones([n, 4]) * float(n)
        np.testing.assert_allclose(converted(x), of_any_length(x), rtol=1e-5)
    assert converted.stats()["traces"] == 2 and compiler.Compiler._working.acquire(blocking=False)
    compiler.Compiler._working.release()


def test_ever_new_shapes_are_not_compiled() -> None:
    converted = imp2tf.convert(of_any_length, profile_runs=0)
    for n in range(1, 40):
        converted(tf.ones([n, 4]))
    found = waits_for_twin(converted)
    assert found.ended and found.function is None and not found.is_busy


def test_few_graphs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MOST_TWINS", 0)
    assert tier(warm(chain, X)) != "xla"


def test_compiling_waits_for_its_share_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.Compiler, "predicted", lambda self: 0.5 / trials.COMPILING_SHARE)
    converted = imp2tf.convert(chain, profile_runs=0)
    found = None
    for calls in range(1000):
        converted(X)
        found = converted._dispatcher.graphs[0].taped._unrecorded._compiler
        if found.is_busy:
            break
    assert calls == pytest.approx(500, abs=30)  # each seems to take a millisecond
    waits_for_twin(converted)


# ------------------------------------------------------------------------------------------------ tapes and threads
def test_tapes_around_calls() -> None:
    converted = warm(chain, X)
    for _ in range(3):
        gradients = []
        for function in (converted, chain):
            with tf.GradientTape() as tape:
                tape.watch(X)
                y = function(X)
            gradients.append(tape.gradient(y, X))
        np.testing.assert_allclose(*gradients, rtol=1e-4)
    assert tier(converted) == "xla"


def test_threads() -> None:
    converted = imp2tf.convert(chain, profile_runs=0)
    wrong: list[Any] = []

    def work(scale: float) -> None:
        x = X * scale
        expected = chain(x)
        end = time.monotonic() + 20.0
        while tier_of(converted) != "xla" and time.monotonic() < end:
            for _ in range(20):
                if not np.allclose(converted(x), expected, rtol=1e-4):
                    wrong.append(scale)
        for _ in range(50):
            if not np.allclose(converted(x), expected, rtol=1e-4):
                wrong.append(scale)

    threads = [threading.Thread(target=work, args=(0.5 + i / 4,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong and tier(converted) == "xla"


def tier_of(converted: Any) -> str:
    """Of the newest graph, if there is one."""
    return (converted.stats()["tiers"] or ["none"])[0]


# ------------------------------------------------------------------------------------------------ the list of what is alike
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 20.0, -20.0, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float32)
NAMES = sorted(rules.ELEMENTWISE - {"AddN", "DivNoNan", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", "LogicalAnd", "LogicalNot",
                                    "LogicalOr", "Select", "SelectV2", "Atan2"})
BOUNDED = {"SigmoidGrad", "SoftplusGrad"}  # of what another operation gives, so of no such numbers


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BOUNDED])
def test_elementwise_operations_are_alike_for_special_numbers(name: str) -> None:
    function = getattr(tf.raw_ops, name)
    names = list(function.__signature__.parameters)
    operands = [arg for arg in names if arg in ("x", "y", "dy", "gradients", "features", "outputs")]
    values = np.meshgrid(*[SPECIAL] * len(operands))

    def run(*args: tf.Tensor) -> tf.Tensor:
        return function(**dict(zip(operands, args)))

    plain, compiled = (tf.function(run, autograph=False, jit_compile=jit)(*values).numpy() for jit in (False, True))
    np.testing.assert_allclose(compiled, plain, rtol=2e-5, atol=1e-36)


def test_each_operation_stands_in_one_list() -> None:
    assert not rules.SAME & set(checks.CHECKS)
