"""What calls by the runtime must not lose: tapes, accumulators, devices, threads, errors, contexts. All ways of calling are tried."""
from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf
from imp2tf import tf_compat, trials

WARM = 6 * trials.CALLS + int(trials.OPTIMISER)  # calls after which a trial has ended


@pytest.fixture(params=["inline", "apart", "public"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How graphs are called: on the calling thread, on the runtime's threads, as TensorFlow documents it."""
    prefer(monkeypatch, trials.INLINE if request.param == "inline" else trials.APART)
    monkeypatch.setattr(tf_compat.switches, "PRIVATE_CALLS", request.param != "public")
    return str(request.param)


def prefer(monkeypatch: pytest.MonkeyPatch, place: bool) -> None:
    """Let trials find that graphs are faster there, and the optimised ones faster still."""
    took = trials.Trial.took

    def judged(self: Any, form: Any, seconds: float) -> None:
        optimised, inline = form[0] == trials.OPTIMISED, form[1] == trials.INLINE
        took(self, form, 1e-5 * (1 if inline == (place == trials.INLINE) else 2) * (0.5 if optimised else 1.0))

    monkeypatch.setattr(trials.Trial, "took", judged)
    monkeypatch.setattr(trials.Trial, "inlined", 0)


def warm(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A converted function that has been called with arguments of these kinds."""
    converted = imp2tf.convert(function, profile_runs=0, **options)
    for _ in range(WARM):
        converted(*args)
    assert converted.stats()["graph_calls"] == WARM
    return converted


def is_inline(converted: Any) -> bool:
    """Whether the newest graph runs on the calling thread."""
    call = converted._dispatcher.graphs[0].taped._unrecorded
    return isinstance(call, tf_compat.DirectCall) and call.tier == "inline"


def square(x):
    return x * x


def several(x, y):
    """Results of which some have no gradient, before others that have one."""
    return tf.cast(x, tf.int32), x * y, tf.shape(x), tf.reduce_sum(y)


# ------------------------------------------------------------------------------------------------ which way
def test_small_pure_graphs_run_inline(way: str) -> None:
    assert is_inline(warm(square, tf.constant(2.0))) == (way == "inline")


VARIABLE = tf.Variable(1.0)
QUEUE = tf.queue.FIFOQueue(100, [tf.float32], [[]])


def asserting(x):
    assert x > 0.0
    return x


def assigning(x):
    VARIABLE.assign(x)
    return x


def printing(x):
    tf.print(x, output_stream=sys.stderr)
    return x


def drawing(x):
    return x + tf.random.uniform([])


def enqueuing(x):
    """Nothing says that the item is put in before it is taken out, but one thread alone would wait for it."""
    QUEUE.enqueue(x)
    return QUEUE.dequeue() + 0.0


def hosting(x):
    print("", end="")
    return x


def large(x):
    return x + np.zeros([100_000], np.float32)


@pytest.mark.parametrize("function", [asserting, assigning, printing, drawing, enqueuing, hosting, large])
def test_what_has_effects_waits_or_is_large_does_not_run_inline(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prefer(monkeypatch, trials.INLINE)
    assert not is_inline(warm(function, tf.constant(2.0)))


def test_what_is_slower_inline_runs_apart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    prefer(monkeypatch, trials.APART)
    converted = warm(square, tf.constant(2.0))
    call = converted._dispatcher.graphs[0].taped._unrecorded
    assert call.tier != "inline" and call._trial.ended
    assert float(converted(tf.constant(3.0))) == 9.0


def forms_of(seconds: Callable[[Any], float], may_inline: bool = True, may_switch: bool = True, calls: int = 150) -> list[Any]:
    """The forms that a trial lets the calls of a function take, one after the other."""
    trial, forms = trials.Trial(lambda: may_inline, may_switch), []
    for _ in range(calls):
        if not forms or forms[-1] != trial.form:
            forms.append(trial.form)
        if not trial.ended:
            trial.took(trial.form, seconds(trial.form))
    assert trial.ended
    return forms


def test_the_fastest_form_stays() -> None:
    quick, inline = (trials.QUICK, trials.APART), (trials.QUICK, trials.INLINE)
    optimised, best = (trials.OPTIMISED, trials.APART), (trials.OPTIMISED, trials.INLINE)
    times = {quick: 4e-5, inline: 1e-5, best: 5e-6, optimised: 2e-5}
    assert forms_of(times.__getitem__) == [quick, inline, best]
    assert forms_of({**times, best: 1e-5}.__getitem__) == [quick, inline, best, inline]
    assert forms_of({**times, inline: 5e-5}.__getitem__) == [quick, inline, quick, optimised]
    assert forms_of(times.__getitem__, may_inline=False) == [quick, optimised]
    assert forms_of(times.__getitem__, may_switch=False) == [optimised, best]
    assert forms_of(lambda form: 1.0, may_inline=True) == [quick, optimised, quick]


def test_forms_are_compared_by_calls_of_the_same_time() -> None:
    """Calls that have more and more to do do not make what is tried later look slow."""
    calls = iter(range(1000))

    def seconds(form: Any) -> float:
        return min(50.0, 5.0 + next(calls)) * (1.0 if form[0] == trials.QUICK else 0.6)

    assert forms_of(seconds, may_inline=False, calls=120)[-1] == (trials.OPTIMISED, trials.APART)


def test_the_optimizer_is_tried_when_calls_have_taken_as_long_as_it_may() -> None:
    trial = trials.Trial(lambda: False, True)
    trial.took(trial.form, 10.0)
    calls = 0
    while trial.form[0] == trials.QUICK:
        trial.took(trial.form, 0.1)
        calls += 1
    assert 0.1 * calls == pytest.approx(trials.OPTIMISER * 10.0 - 10.0, abs=1.0)


@pytest.mark.parametrize("function", [drawing, lambda x: tf.cond(x > 0.0, lambda: tf.random.normal([]), lambda: x)])
def test_graphs_with_a_state_of_their_own_have_one_instance(function: Any) -> None:
    converted = warm(function, tf.constant(2.0))
    assert converted._dispatcher.graphs[0].taped._unrecorded._trial.form == (trials.OPTIMISED, trials.APART)


def test_what_xla_compiles_by_request_does_not_run_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime would ignore the request there, without a word."""
    prefer(monkeypatch, trials.INLINE)
    converted = warm(square, tf.constant(2.0), jit_compile=True)
    call = converted._dispatcher.graphs[0].taped._unrecorded
    assert call._form[0] == call.name and converted.stats()["tiers"] == ["xla"]


# ------------------------------------------------------------------------------------------------ tapes
def test_tapes_record_warm_calls(way: str) -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    converted = warm(several, x, y)
    for _ in range(WARM):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            _, product, _, total = converted(x, y)
            loss = product * total
        assert [float(one) for one in tape.gradient(loss, [x, y])] == [9.0, 12.0]


def test_a_single_result_of_several_is_asked_for(way: str) -> None:
    x, y = tf.constant(2.0), tf.constant(3.0)
    converted = warm(several, x, y)
    for _ in range(WARM):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            total = converted(x, y)[3]
        gradients = tape.gradient(total, [x, y])
        assert gradients[1] is not None and float(gradients[1]) == 1.0
        assert gradients[0] is None or float(gradients[0]) == 0.0


def test_results_without_gradient_have_none(way: str) -> None:
    x = tf.constant(2.0)
    converted = warm(lambda x: tf.cast(x, tf.int32), x)
    for _ in range(WARM):
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = tf.cast(converted(x), tf.float32)
        assert tape.gradient(result, x) is None


def test_persistent_tapes(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(square, x)
    for _ in range(3):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = converted(x)
            z = y * 2.0
        assert [float(tape.gradient(one, x)) for one in (y, z, y)] == [6.0, 12.0, 6.0]


def test_nested_tapes(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(lambda x: x ** 3.0, x)
    for _ in range(WARM):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = converted(x)
            first = inner.gradient(y, x)
        assert (float(first), float(outer.gradient(first, x))) == (27.0, 18.0)


def test_a_gradient_asked_for_under_a_later_tape(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(lambda x: x ** 3.0, x)
    found = []
    for function in (lambda x: x ** 3.0, *[converted] * 3):
        with tf.GradientTape() as first:
            first.watch(x)
            y = function(x)
        with tf.GradientTape() as second:
            second.watch(x)
            gradient = first.gradient(y, x)
        found.append((float(gradient), float(second.gradient(gradient, x) or 0.0)))
    if way == "public":  # TensorFlow's own record of the call has lost x by then
        found = [one for one in found if one[1]]
    assert found == [found[0]] * len(found)


def asked_in_graph(tape: tf.GradientTape, y: tf.Tensor, x: tf.Tensor) -> Any:
    """The gradient, by a graph that finds the tensors in its closure."""
    return tf.function(lambda: tape.gradient(y, x), autograph=False)()


def test_a_gradient_asked_for_in_a_graph(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(square, x)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = converted(x)
        assert float(asked_in_graph(tape, y, x)) == 6.0


def test_forward_accumulators(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(square, x)
    with tf.GradientTape() as tape:  # the usual tape first, so that its way is open
        tape.watch(x)
        converted(x)
    for _ in range(3):
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            y = converted(x)
        assert float(accumulator.jvp(y)) == 6.0
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator, tf.GradientTape() as tape:
            tape.watch(x)
            gradient = tape.gradient(converted(x), x)
        assert (float(gradient), float(accumulator.jvp(gradient))) == (6.0, 2.0)


def test_stopped_recording_and_tapes_that_watch_nothing(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(square, x)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                stopped = converted(x)
        assert tape.gradient(stopped, x) is None
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            y = converted(x)
        assert tape.gradient(y, x) is None


def test_variables_are_watched_if_they_are_trainable(way: str) -> None:
    weight, frozen, x = tf.Variable(2.0), tf.Variable(3.0, trainable=False), tf.constant(4.0)
    converted = warm(lambda x: x * weight * frozen, x)
    for _ in range(WARM):
        with tf.GradientTape() as tape:
            y = converted(x)
        assert [one is weight for one in tape.watched_variables()] == [True]
        assert [one is None or float(one) for one in tape.gradient(y, [weight, frozen])] == [12.0, True]
        weight.assign_add(0.0)


def test_sparse_and_missing_gradients(way: str) -> None:
    table, x = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1])
    converted = warm(lambda x: (tf.gather(table, x), tf.cast(x, tf.float32)), x)
    for _ in range(WARM):
        with tf.GradientTape() as tape:
            rows, _ = converted(x)
            rows = tf.gather(rows, [0, 0])  # its own gradient comes as slices
        gradient = tape.gradient(rows, table)
        assert isinstance(gradient, tf.IndexedSlices)
        assert tf.convert_to_tensor(gradient).numpy().tolist() == [[0.0, 0.0], [2.0, 2.0]]


def test_loops_under_a_tape(way: str) -> None:
    def power(x, n):
        y = tf.ones_like(x)
        i = 0
        while i < n:
            y = y * x
            i = i + 1
        return y

    x, n = tf.constant(2.0), tf.constant(3)
    converted = warm(power, x, n)
    for turns in (3, 0, 4):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = converted(x, tf.constant(turns))
        assert float(tape.gradient(y, x) or 0.0) == turns * 2.0 ** max(turns - 1, 0)


# ------------------------------------------------------------------------------------------------ places and contexts
def test_devices(way: str) -> None:
    x = tf.constant([1.0, 2.0])
    converted = warm(square, x)
    with tf.device("/cpu:0"):
        result = converted(x)
    assert result.device == square(x).device
    np.testing.assert_array_equal(converted(x), [1.0, 4.0])


def test_inside_a_graph_after_warm_calls(way: str) -> None:
    x = tf.constant(3.0)
    converted = warm(square, x)
    with tf.Graph().as_default() as graph:
        y = converted(tf.compat.v1.placeholder(tf.float32, []))
    assert y.graph is graph and converted.stats()["graph_calls"] == WARM
    assert float(tf.function(converted)(x)) == 9.0


def test_run_functions_eagerly(way: str) -> None:
    seen: list[bool] = []

    def noting(x):
        seen.append(tf.executing_eagerly())
        return x + 1.0

    converted = warm(noting, tf.constant(1.0))
    seen.clear()
    tf.config.run_functions_eagerly(True)
    try:
        assert float(converted(tf.constant(1.0))) == 2.0
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [True] and converted.stats()["eager_calls"] == 1


def test_cancellation(way: str) -> None:
    from tensorflow.python.eager import cancellation

    converted = warm(square, tf.constant(3.0))
    manager = cancellation.CancellationManager()
    with cancellation.CancellationManagerContext(manager):
        assert float(converted(tf.constant(4.0))) == 16.0
    manager.start_cancel()
    with cancellation.CancellationManagerContext(manager), pytest.raises(tf.errors.CancelledError):
        warm(assigning, tf.constant(3.0))


def test_callbacks_see_the_call(way: str) -> None:
    from tensorflow.python.framework import op_callbacks

    seen: list[str] = []
    converted = warm(square, tf.constant(3.0))

    def callback(op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        seen.append(str(op_type))

    op_callbacks.add_op_callback(callback)
    try:
        assert float(converted(tf.constant(4.0))) == 16.0
    finally:
        op_callbacks.remove_op_callback(callback)
    assert seen


def test_under_a_strategy(way: str) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        weight = tf.Variable(2.0)

    def times(x):
        return x * weight

    converted = imp2tf.convert(times, profile_runs=0)
    for _ in range(WARM):
        found = [strategy.run(one, args=(tf.constant(3.0),)) for one in (times, converted)]
        assert [float(strategy.experimental_local_results(one)[0]) for one in found] == [6.0, 6.0]
        with strategy.scope():
            assert float(converted(tf.constant(4.0))) == 8.0
    weight.assign(5.0)
    assert float(converted(tf.constant(3.0))) == 15.0


def test_errors_are_eagers_and_leave_the_function_working(way: str) -> None:
    converted = warm(lambda x: tf.debugging.check_numerics(x * 1.0, "not a number"), tf.constant(1.0))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
            converted(tf.constant(float("nan")))
        assert float(converted(tf.constant(2.0))) == 2.0


def test_errors_after_effects_name_the_users_line(way: str) -> None:
    variable = tf.Variable(0.0)

    def checked(x):
        variable.assign_add(1.0)
        return tf.debugging.check_numerics(x, "not a number")

    converted = warm(checked, tf.constant(1.0))
    before = float(variable)
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        converted(tf.constant(float("nan")))
    assert __file__ in str(raised.value) and float(variable) == before + 1.0


def test_ragged_and_numbers_as_inputs(way: str) -> None:
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    converted = warm(lambda x, n: tf.reduce_sum(x) * n, ragged, 2.0)
    results = [float(converted(ragged, n)) for n in (2.0, 3.0, 0.5)]
    assert results == [12.0, 18.0, 3.0] and converted.stats()["traces"] == 2


def test_variables_that_are_replaced_and_deleted(way: str) -> None:
    class Holder:
        def __init__(self) -> None:
            self.weight = tf.Variable(2.0)

        def times(self, x):
            return x * self.weight

    holder = Holder()
    converted = warm(holder.times, tf.constant(3.0))
    for value in (5.0, 7.0):
        holder.weight = tf.Variable(value)
        assert float(converted(tf.constant(3.0))) == 3.0 * value
    del holder.weight
    with pytest.raises(AttributeError, match="weight"):
        converted(tf.constant(3.0))


def test_a_context_set_up_anew() -> None:
    program = """
        import tensorflow as tf
        import imp2tf
        from tests.test_dispatch import square
        from tensorflow.python.eager import context

        f = imp2tf.convert(square, profile_runs=0)
        for _ in range(30):
            f(tf.constant(1.0))
        context._reset_context()
        for _ in range(30):
            assert float(f(tf.constant(2.0))) == 4.0
        assert f.stats()["eager_calls"] == 0, f.stats()
        print("fine")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "fine", done.stderr


# ------------------------------------------------------------------------------------------------ what lies under the call
def test_other_shapes_and_dtypes_are_other_graphs(way: str) -> None:
    """The runtime takes any shape, with constants of another one baked in."""
    converted = warm(lambda x: x * 2.0 + float(x.shape[0] or 0), tf.ones([3]), reduce_retracing=False)
    for x in (tf.ones([5]), tf.ones([2, 2]), tf.ones([3], tf.float64), tf.ones([3])):
        expected = x * 2.0 + float(x.shape[0])
        found = converted(x)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_results_that_are_handles_are_known_to_hold_what_they_do(way: str) -> None:
    variable, shape = tf.Variable([1.0, 2.0]), tf.constant([], tf.int32)
    converted = warm(lambda x: (x + 1.0, tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=shape)), tf.ones([3]))
    _, items = converted(tf.constant([4.0, 5.0, 6.0]))
    stacked = tf.function(lambda: tf.raw_ops.TensorListStack(input_handle=items, element_shape=shape, element_dtype=tf.float32))()
    assert stacked.numpy().tolist() == [4.0, 5.0, 6.0]
    handle = imp2tf.convert(lambda: variable.handle, profile_runs=0)
    for _ in range(3):
        read = tf.function(lambda given: tf.raw_ops.ReadVariableOp(resource=given, dtype=tf.float32))(handle())
        assert read.numpy().tolist() == [1.0, 2.0]


def test_graphs_outlive_what_made_them(way: str) -> None:
    converted = warm(square, tf.constant(2.0))
    tf.keras.backend.clear_session()
    gc.collect()
    assert float(converted(tf.constant(5.0))) == 25.0
    with tf.GradientTape() as tape:
        x = tf.Variable(3.0)
        y = converted(x)
    gc.collect()
    assert float(tape.gradient(y, x)) == 6.0


def test_numbers_that_are_equal_but_not_the_same(way: str) -> None:
    class Scale:
        by: Any = 2.0

        def times(self, x):
            return x * self.by, self.by

    scale = Scale()
    converted = warm(scale.times, tf.constant(3.0))
    for by in (1.0, 1, True, 2, 2.0, 1.0):
        scale.by = by
        found, expected = converted(tf.constant(3.0)), scale.times(tf.constant(3.0))
        assert repr(found[1]) == repr(expected[1]) and type(found[1]) is type(by)
        assert str(found[0].numpy()) == str(expected[0].numpy())


def test_nothing_is_written_after_a_failed_assertion(way: str) -> None:
    variable = tf.Variable(0.0)

    def checked(x):
        assert x < 10.0, "too large"
        variable.assign_add(1.0)
        return variable + x

    converted = warm(checked, tf.constant(1.0))
    before = float(variable)
    for _ in range(50):
        with pytest.raises(AssertionError, match="too large"):
            converted(tf.constant(11.0))
    assert float(variable) == before


def test_a_new_thread_runs_the_form_that_was_chosen(way: str) -> None:
    converted = warm(square, tf.constant(2.0))
    found: list[float] = []
    tf.config.optimizer.set_experimental_options({"constant_folding": False})
    try:
        for value in (3.0, 4.0):
            thread = threading.Thread(target=lambda value=value: found.append(float(converted(tf.constant(value)))))
            thread.start()
            thread.join(60)
    finally:
        tf.config.optimizer.set_experimental_options({"constant_folding": True})
    assert found == [9.0, 16.0] and converted.stats()["traces"] == 1


def test_an_array_that_python_is_given_is_not_the_callers_tensor(way: str) -> None:
    def spoil(array):
        changed = np.array(array)
        changed[0] = 77.0
        return changed

    x = tf.constant([1.0, 2.0])
    converted = warm(lambda x: tf.numpy_function(spoil, [x + 0.0], tf.float32) + x, x)
    assert converted(x).numpy().tolist() == [78.0, 4.0] and x.numpy().tolist() == [1.0, 2.0]


# ------------------------------------------------------------------------------------------------ threads and interrupts
def test_threads_with_tapes_of_their_own(way: str) -> None:
    converted = imp2tf.convert(lambda x: x * x * x, profile_runs=0)
    wrong: list[Any] = []

    def work(value: float) -> None:
        x = tf.constant(value)
        for _ in range(40):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = converted(x)
            if (float(y), float(tape.gradient(y, x)), float(converted(x))) != (value ** 3, 3 * value ** 2, value ** 3):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i),), daemon=True) for i in range(1, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(300)
    assert not wrong and not any(one.is_alive() for one in threads)
    assert converted.stats()["traces"] == 1


def test_an_interrupt_while_it_runs(way: str) -> None:
    log: list[float] = []
    trouble: list[BaseException] = []

    def noting(x):
        if trouble:
            raise trouble.pop()

    def step(x):
        log.append(x)
        tf.py_function(noting, [x], [])
        return x + 1.0

    converted = imp2tf.convert(step, profile_runs=0)
    assert float(converted(tf.constant(1.0))) == 2.0
    trouble.append(KeyboardInterrupt())
    with pytest.raises((KeyboardInterrupt, tf.errors.UnknownError)):
        converted(tf.constant(2.0))
    assert float(converted(tf.constant(3.0))) == 4.0


class Made:
    """A compiler that has ended well."""

    function, ended, missed, places, shapes, is_busy = object(), True, "", (), (), True

    def predicted(self) -> float:
        return 0.0


def test_a_twin_that_was_taken_on_a_busy_machine_is_left_when_it_is_slower() -> None:
    for slow_later, expected in ((False, trials.COMPILED), (True, (trials.QUICK, trials.APART))):
        trial, calls = trials.Trial(lambda: False, False, Made()), 0
        trial.best = trial.form = trials.QUICK, trials.APART
        while not trial.ended:
            calls += 1
            is_twin = trial.form == trials.COMPILED
            trial.took(trial.form, (5e-3 if slow_later and calls > 150 else 1e-3) if is_twin else 2e-3)
        assert trial.form == expected
        assert calls < 1000
