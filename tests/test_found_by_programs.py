"""More faults that random programs found, and what was near them."""
from __future__ import annotations

import time

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import tracing
from imp2tf.exceptions import ProgramRaise
from imp2tf.trace import AlwaysRaises
from tests.differential import check

SIGNS = ([1.0, 3.0], [-1.0, 2.0], [-2.0, -1.0, 4.0])


@pytest.mark.parametrize("known", [
    lambda: (2, 5, 7), lambda: range(3), lambda: [tf.constant(1.0), None, 2], lambda: {"a": 1, "b": 2, "c": 3}])
def test_known_items_beside_items_of_the_run(known) -> None:
    def make():
        def f(v):
            found = None
            for e, found in zip(v, known()):
                if e > 2:
                    break
            return found
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make)


def test_known_items_in_a_loop_of_the_graph() -> None:
    def make():
        def f(v, x):
            for e, k in zip(v, (2, 5, 7)):
                x = x + e * k
            return x
        return f, [((tf.constant(values), tf.constant(1.0)), {}) for values in SIGNS]
    check(make, graph=True, grad=True)


def test_end_and_separator_of_a_print_come_from_the_run() -> None:
    def make():
        def f(x):
            print("a", "b", sep="-" if x > 0 else "+", end="!\n" if x > 1 else "?\n")
            return x
        return f, [((tf.constant(value),), {}) for value in (1.0, 2.0, -1.0)]
    check(make, graph=True)


def test_a_turn_that_is_never_made_reads_what_it_bound() -> None:
    def make():
        def f(v, m):
            for _ in v:
                for m in tf.range(m):
                    pass
                return 0
            return m
        return f, [((tf.constant(values), tf.constant(2)), {}) for values in SIGNS]
    check(make, graph=True)


def test_a_loop_that_always_ends_inside_a_loop() -> None:
    def make():
        def f(x, n):
            k = 0
            while 4:
                k += 1
                while tf.logical_not(x > 1.5):
                    n = k // 2
                    return x
                break
            return n
        return f, [((tf.constant(value), 3), {}) for value in (1.0, 2.0)]
    check(make)


def test_an_endless_loop_in_a_branch_that_is_never_taken() -> None:
    @imp2tf.convert(profile_runs=0)
    def f(x, n):
        if x > 100.0:
            while n:
                x = x * 2.0
        return x

    start = time.monotonic()
    assert f(tf.constant(1.0), 1) == 1.0
    assert time.monotonic() - start < 30.0
    assert any("goes on for more than" in assumed for assumed in f.guards())


def test_what_looks_like_the_programs_error_has_a_reason(monkeypatch) -> None:
    def mistaken(*_):
        raise AlwaysRaises from ProgramRaise(KeyError("mistaken"))

    @imp2tf.convert(profile_runs=0)
    def f(x):
        return x * 2.0

    monkeypatch.setattr(tracing, "trace_call", mistaken)
    for _ in range(3):
        assert f(tf.constant(1.0)) == 2.0
    reason, = f.stats()["fallbacks"]
    assert reason["count"] == 3 and "KeyError" in reason["reason"]


def test_one_of_two_is_no_function() -> None:
    def make():
        def f(x):
            g = None
            if x > 0:
                def g(z):
                    return z * 2.0
            return g(x)
        return f, [((tf.constant(value),), {}) for value in (1.0, -1.0)]
    check(make, graph=True)


def test_reasons_show_no_addresses() -> None:
    @imp2tf.convert(profile_runs=0)
    def f(x):
        d = {"a": x} if x > 0 else {"b": x}
        for _ in tf.range(2):
            d["c"] = x
        return d

    f(tf.constant(1.0))
    assert all(" at 0x" not in entry["reason"] for entry in f.stats()["fallbacks"])


def test_in_a_graph_of_somebody_else_the_reason_is_raised() -> None:
    @imp2tf.convert
    def f(x):
        if x > 0:
            import json
            json.dumps([x.ref()])
        return x

    with pytest.raises(imp2tf.ConversionError) as caught:
        tf.function(f, autograph=False)(tf.constant(1.0))
    assert caught.value.hint and "symbolic" in str(caught.value)
    assert caught.value.location is not None and caught.value.location.function == "f"


@pytest.mark.parametrize("keep", [False, True])
def test_a_handler_for_an_operation_that_only_some_shapes_fail(keep: bool) -> None:
    """Such a call is made by Python after all, which needs a reason although nothing is raised."""
    ran: list[object] = []

    def f(v):
        try:
            if keep:
                ran.append(1)
            v = tf.where(v[1:] > 2.0, 0.0, tf.ones(3))
        except tf.errors.OpError:
            v = -v
        return v
    converted = imp2tf.convert(f, profile_runs=0)
    for values in ([2.0, 1.0], [0.5, 0.5, 1.0], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0]):
        want, got = f(tf.constant(values)), converted(tf.constant(values))
        assert want.numpy().tolist() == got.numpy().tolist()
    assert len(ran) == 8 * keep
    stats = converted.stats()
    assert stats["eager_calls"] == sum(entry["count"] for entry in stats["fallbacks"]) == 1
    (entry,) = stats["fallbacks"]
    assert entry["code"] == "I2T110" and entry["reason"].endswith("must be broadcastable")
    whole = imp2tf.convert(f, profile_runs=0, fullgraph=True)
    whole(tf.constant([2.0, 1.0]))
    whole(tf.constant([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(imp2tf.ConversionError, match="must be broadcastable"):
        whole(tf.constant([0.5, 0.5, 1.0]))


def _doubtful(x, limit=2.0):
    if x > limit:
        raise ValueError
    return x * 2.0


def _some(v):
    for e in v:
        if e > -1.5:
            yield e


@pytest.mark.parametrize("items", [lambda v: v, _some, lambda v: (e + 1 for e in _some(v)), lambda v: enumerate(_some(v))])
@pytest.mark.parametrize("kind", [IndexError, ValueError])
def test_a_call_that_may_raise_under_try_for_each_item_of_a_generator(items, kind) -> None:
    """What the handler leaves behind in a turn may not be found after the loop."""
    def make():
        def f(v):
            total = 0.0
            for item in items(v):
                try:
                    e = _doubtful(item[1] if isinstance(item, tuple) else item)
                    total = total + e
                except kind:
                    total = total - 1.0
            return total
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make, graph=True)


@pytest.mark.parametrize("items", [enumerate, lambda v: enumerate(enumerate(v)), lambda v: map(lambda e: (e, e), v)])
def test_the_line_of_what_fails_for_an_item_that_has_come_through_several_iterations(items) -> None:
    def make():
        def f(v):
            for only, in items(_some(v)):
                v = v + only
            return v
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "float16", "bfloat16", "bool", "complex64", "uint8"])
@pytest.mark.parametrize("used", [
    lambda x, b: x + b, lambda x, b: b * x, lambda x, b: x < b, lambda x, b: x == b, tf.maximum, lambda x, b: tf.stack([x, b])])
def test_a_truth_of_the_run_beside_a_tensor(dtype, used) -> None:
    def make():
        def f(x, y):
            return used(x, bool(y > 0))
        return f, [((tf.cast(1, dtype), tf.constant(value)), {}) for value in (1.0, -1.0)]
    check(make)


@pytest.mark.parametrize("key", [
    float, lambda n: n > 0, lambda n: slice(0, float(n)), lambda n: (float(n),), lambda n: slice(None, None, n * 1.5), int])
def test_numbers_of_the_run_that_are_no_index_of_a_tensor(key) -> None:
    def make():
        def f(v):
            v[key(float(v[0]))]
            return v[key(float(v[0]))]
        return f, [((tf.constant(values),), {}) for values in ([1.0, 2.0], [0.0, 1.0])]
    check(make)


@pytest.mark.parametrize("used", [range, lambda x: "ab"[x], lambda x: [1, 2][x], lambda x: range(0, 3, x), lambda x: range(x, 2)])
@pytest.mark.parametrize("value", [1.0, True, "a", 1])
def test_tensors_that_are_no_index(used, value) -> None:
    def make():
        def f(x):
            for _ in tf.range(1):
                used(x)
            return x
        return f, [((tf.constant(value),), {})]
    check(make)


@pytest.mark.parametrize("looped", [False, True])
def test_the_class_of_a_handler_cannot_be_looked_up(looped) -> None:
    """What is raised then has the exception on its way as its context."""
    def make():
        def f(x):
            try:
                for _ in tf.range(2) if looped else (0,):
                    try:
                        _doubtful(x)
                    finally:
                        _doubtful(-x, -1.0)
            except NoSuchError:  # noqa: F821
                pass
            return x
        return f, [((tf.constant(value),), {}) for value in (1.5, 3.0, -1.0, 0.0)]
    check(make)


def test_an_inner_loop_that_changes_what_the_outer_one_makes_anew() -> None:
    """The inner loop is traced again with the outer one, whose objects are others then."""
    def make():
        def f(x):
            n, turns = 2, 0
            while n:
                turns += 1
                made = {"b": tf.clip_by_value(0.0, 9.0, 9.0)}
                if not x > 4.0:
                    unbound += turns  # noqa: F821, F841
                    go = tf.constant(0)
                    while go:
                        made["a"] = (x := x)
                else:
                    n -= 1
                    unbound = 0
            return made, turns
        return f, [((tf.constant(value),), {}) for value in (1.0, 5.0)]
    check(make, graph=True)
