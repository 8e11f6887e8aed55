"""The harness sees each kind of difference: every test plants one and looks for it in the message."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tests.differential import check, verdict
from tests.programs import World, call, each, f32

Function = Callable[..., Any]


def _after(change: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """A backend that runs the function and then lets `change` spoil its result."""
    return lambda fn: lambda *args, **kwargs: change(fn(*args, **kwargs))


def double() -> World:
    def fn(x):
        return x * 2.0
    return fn, each(f32(1.0), f32(2.0))


def cube() -> World:
    def fn(x):
        return x * x * x
    return fn, each(f32(2.0))


def counted() -> World:
    count = tf.Variable(1.0)
    log = []

    def fn(x):
        log.append(1)
        count.assign_add(1.0)
        print("called with", float(x))
        return [x, log]
    return fn, each(f32(1.0)), lambda: (log, count)


def fails() -> World:
    def fn(x):
        if x > 0:
            raise ValueError("positive")
        return x
    return fn, each(f32(1.0), f32(-1.0))


@pytest.mark.parametrize("make", [double, cube, counted, fails])
def test_eager_equals_eager(make: Callable[[], World]) -> None:
    check(make, grad=2, backend="eager")


@pytest.mark.parametrize(("change", "message"), [
    pytest.param(lambda y: y + 1.0, "tensor float32 [] 3.", id="another value"),
    pytest.param(lambda y: tf.cast(y, tf.float64), "tensor float64", id="another dtype"),
    pytest.param(lambda y: y[None], "tensor float32 [1]", id="another shape"),
    pytest.param(lambda y: y.numpy(), "numpy scalar float32", id="another kind"),
    pytest.param(float, "float 2.0", id="a Python number"),
    pytest.param(lambda y: [y], "list([0] tensor", id="another structure"),
    pytest.param(lambda y: None, "NoneType None", id="nothing"),
])
def test_result_differs(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check(double, backend=_after(change))
    assert "result at round 1, call 1: result" in str(caught.value)
    assert message in str(caught.value)


def test_gradient_differs() -> None:
    found = verdict(cube, backend=_after(tf.stop_gradient), grad=1).found
    assert [(entry.aspect, entry.other) for entry in found][0] == ("gradient", "NoneType None")


def test_second_order_gradient_differs() -> None:
    def flattened(fn: Function) -> Function:
        return lambda x: fn(tf.stop_gradient(x)) + 12.0 * (x - tf.stop_gradient(x))
    assert verdict(cube, backend=flattened, grad=1).right
    assert not verdict(cube, backend=flattened, grad=2).right


def test_effect_twice_differs() -> None:
    def twice(fn: Function) -> Function:
        return lambda x: (fn(x), fn(x))[1]
    aspects = {entry.aspect for entry in verdict(counted, backend=twice).found}
    assert {"state", "text", "result"} <= aspects


def test_copied_container_differs() -> None:
    found = verdict(counted, backend=_after(lambda y: [y[0], list(y[1])])).found
    assert {entry.aspect for entry in found} == {"identity"}


def test_text_past_the_python_stream_differs() -> None:
    def past(fn: Function) -> Function:
        def call_past(x: tf.Tensor) -> Any:
            stream, sys.stdout = sys.stdout, open(1, "w", closefd=False)
            try:
                return fn(x)
            finally:
                sys.stdout.flush()
                sys.stdout = stream
        return call_past
    found = verdict(counted, backend=past).found
    assert {entry.place.split(": ")[1] for entry in found} == {"sys.stdout"}


def test_argument_changed_differs() -> None:
    def make() -> World:
        return (lambda xs: len(xs)), [call([1, 2])]

    def emptied(fn: Function) -> Function:
        return lambda xs: (fn(xs), xs.clear())[0]
    assert "argument" in {entry.aspect for entry in verdict(make, backend=emptied).found}


@pytest.mark.parametrize(("error", "aspect"), [
    pytest.param(KeyError("positive"), "exception", id="another class"),
    pytest.param(ValueError("other"), "exception", id="another message"),
    pytest.param(ValueError("positive"), "traceback", id="without the user's line"),
])
def test_exception_differs(error: Exception, aspect: str) -> None:
    def replaced(fn: Function) -> Function:
        def call_replaced(x: tf.Tensor) -> Any:
            with contextlib.suppress(ValueError):
                return fn(x)
            raise error
        return call_replaced
    assert verdict(fails, backend=replaced).found[0].aspect == aspect


def test_exception_lost_or_added() -> None:
    assert not verdict(fails, backend=lambda fn: lambda x: x).raised
    assert verdict(double, backend=_after(lambda y: 1 / 0)).raised


def test_graph_is_told_from_eager() -> None:
    check(double, backend="autograph", graph=True)
    with pytest.raises(AssertionError, match="Mul x2"):
        check(double, backend="eager", graph=True)
