"""Graphs that make operations quickly make those that TensorFlow makes."""

import contextlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import quick_graphs
from imp2tf.quick_graphs import constants_shared, lines_kept, make_quick
from imp2tf.quick_operations import operations_quick
from imp2tf.tf_compat import function_graph, functions_of


def lists_and_scopes(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.name_scope("outer"):
        parts = tf.split(tf.concat([x, tf.add_n([x, 2.0 * x])], 0), 2)
        named = tf.identity(parts[0], name="named")
    again = tf.identity(parts[1], name="named")
    return [named, again, tf.constant(3.0, name="named")]


def waiting(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.control_dependencies([tf.debugging.assert_greater(x, 0.0), x + 1.0]):
        y = tf.identity(x)
    with tf.control_dependencies(None):
        return [y, x * 2.0]


def placed(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.device("/cpu:0"):
        y = x * 2.0
    with tf.compat.v1.colocate_with(y):
        return [tf.tanh(x)]


def differentiated(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.nn.softmax(tf.tanh(x)[tf.newaxis])) + tf.reduce_max(x)
    return [tape.gradient(y, x)]


def branching(x: tf.Tensor) -> list[tf.Tensor]:
    y = tf.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x)
    return [tf.while_loop(lambda z: tf.reduce_sum(z) < 10.0, lambda z: (z * 2.0,), (y,))[0]]


def typed(x: tf.Tensor) -> list[tf.Tensor]:
    pieces = tf.dynamic_partition(x, tf.cast(x > 0.0, tf.int32), 2)
    return [tf.strings.as_string(tf.cast(pieces[0], tf.float64)), *tf.numpy_function(lambda a: [a, a], [x], [tf.float32, tf.float32])]


def overridden(x: tf.Tensor) -> list[tf.Tensor]:
    graph = tf.compat.v1.get_default_graph()
    with graph.gradient_override_map({"Tanh": "Identity"}):
        return [tf.tanh(x)]


def drawing(x: tf.Tensor) -> list[tf.Tensor]:
    return [tf.random.uniform([2], seed=2**31 - 1), tf.raw_ops.RandomStandardNormal(shape=[2], dtype=tf.float32, seed=2**40 + 1, seed2=-1)]


PROGRAMS = [drawing, lists_and_scopes, waiting, placed, differentiated, branching, typed, overridden]


def built(program: Callable[..., Any], quick: bool) -> Any:
    """The graph of a program."""
    kinds = []

    def body(x: tf.Tensor) -> Any:
        if quick:
            kinds.append(type(make_quick(tf.compat.v1.get_default_graph())))
        return program(x)

    graph = tf.function(body, autograph=False).get_concrete_function(tf.TensorSpec([2])).graph
    assert all(issubclass(kind, quick_graphs._Quick) for kind in kinds)
    return graph


def summary(graph: Any) -> list[tuple[Any, ...]]:
    """What a graph is, but for the numbers in the names of functions."""
    return [
        (op.name, op.type, [one.name for one in op.inputs], sorted(one.name for one in op.control_inputs), op.device,
         op.colocation_groups(), {key: _attribute(value) for key, value in op.node_def.attr.items() if key != "token"},
         [(one.dtype, str(one.shape)) for one in op.outputs])
        for op in graph.get_operations()
    ]


def _attribute(value: Any) -> str:
    """An attribute, but for the numbers in the name of a function."""
    return re.sub(r"_\d+", "", value.func.name) or str(value)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_graph_is_the_same(program: Callable[..., Any]) -> None:
    assert summary(built(program, quick=True)) == summary(built(program, quick=False))
    assert quick_graphs._Quick.works


def differentiated_blocks(x: tf.Tensor) -> list[tf.Tensor]:
    scale = tf.constant([1.5, 2.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y * scale) + tf.reduce_sum(y)), [0, x])[1]
        z = tf.cond(y[0] > 0.0, lambda: tf.reduce_mean(y * x), lambda: tf.reduce_prod(y + x))
    return [tape.gradient(z, x)]


def test_graphs_of_gradients_of_branches_and_loops_are_the_same() -> None:
    usual = built(differentiated_blocks, quick=False)
    with operations_quick():
        quick = built(differentiated_blocks, quick=True)
    kinds = []
    pending = [(usual, quick)]
    while pending:
        one, other = pending.pop()
        kinds.append(type(other))
        first, second = ([op for op in graph.get_operations() if op.type != "Const"] for graph in (one, other))  # constants are shared
        assert [_kind(op) for op in first] == [_kind(op) for op in second]
        pairs = zip(first, second, strict=True)
        names = [(functions_of(this), functions_of(that)) for this, that in pairs]
        inner = [pair for both in names for pair in zip(*both, strict=True)]
        pending.extend((function_graph(one, this), function_graph(other, that)) for this, that in inner)
    assert len(kinds) == 9 and all(issubclass(kind, quick_graphs._Quick) for kind in kinds)
    assert not isinstance(differentiated_in_tensorflow(), quick_graphs._Quick)


def _kind(op: tf.Operation) -> tuple[Any, ...]:
    name = re.sub(r"_\d+_", "_", op.name)
    return name, op.type, [(one.op.type, one.dtype, str(one.shape)) for one in op.inputs], [str(one.shape) for one in op.outputs]


def differentiated_in_tensorflow() -> Any:
    """The graph of a loop that is built when no trace runs."""
    graph = built(differentiated_blocks, quick=False)
    (name, *_) = [name for op in graph.get_operations() for name in functions_of(op)]
    return function_graph(graph, name)


REFUSED = {
    "types": lambda x: tf.raw_ops.Mul(x=x, y=tf.cast(x, tf.int32)),
    "shapes": lambda x: tf.matmul(x[tf.newaxis], x[tf.newaxis]),
    "attribute": lambda x: tf.raw_ops.Conv2D(input=x[None, None, None], filter=x[None, None, None], strides=[1, 1, 1, 1], padding="NO"),
    "name": lambda x: tf.constant(1.0, name="not a name"),
    "length": lambda x: tf.split(x, 5),
}


@pytest.mark.parametrize("case", REFUSED)
def test_error_is_the_same(case: str) -> None:
    messages = []
    for quick in (False, True):
        with pytest.raises((TypeError, ValueError)) as caught:
            built(lambda x: [REFUSED[case](x)], quick)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]
    assert quick_graphs._Quick.works


def test_graph_goes_on_after_a_refusal() -> None:
    def program(x: tf.Tensor) -> list[tf.Tensor]:
        with contextlib.suppress(ValueError):
            tf.matmul(x[tf.newaxis], x[tf.newaxis], name="product")
        return [tf.matmul(x[tf.newaxis], x[:, tf.newaxis], name="product")]

    assert summary(built(program, quick=True)) == summary(built(program, quick=False))


def test_operations_know_their_line() -> None:
    graph = built(differentiated, quick=True)
    (tanh,) = (op for op in graph.get_operations() if op.type == "Tanh")
    names = [frame.name for frame in tanh.traceback]
    assert "differentiated" in names and not {"read_stack", "_made", "_create_op_internal"} & set(names[-2:])


def test_operations_of_one_call_share_a_stack_and_others_do_not() -> None:
    def program(x: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.tanh(x),
            tf.reduce_mean(
                tf.sin(x)),
            *(tf.cos(x) for _ in range(2)), repeated(x),
            repeated(x),
        ]

    def repeated(x: tf.Tensor) -> tf.Tensor:
        for _ in range(2):
            x = tf.exp(x)
        return x

    def lines(graph: Any) -> list[tuple[str, list[int | None]]]:
        return [(op.name, [one.lineno for one in op.traceback if one.name in ("program", "repeated", "<genexpr>")])
                for op in graph.get_operations()]

    with lines_kept():
        quick = lines(built(program, quick=True))
    assert quick == lines(built(program, quick=False))


def test_where_tensorflow_is_built_otherwise_its_own_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*args: Any) -> Any:
        raise AttributeError("gone")

    monkeypatch.setattr(quick_graphs, "new_operation", lacking)
    monkeypatch.setattr(quick_graphs._Quick, "works", True)

    @imp2tf.convert(profile_runs=0)
    def f(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0 if tf.reduce_sum(x) > 0.0 else x

    assert f(tf.constant([1.0])).numpy().tolist() == [2.0]
    assert not f.stats()["fallbacks"] and not quick_graphs._Quick.works


def numbers(x: tf.Tensor) -> list[tf.Tensor]:
    y = tf.reduce_sum(x * 2.0, axis=[0], keepdims=True) + 2.0 * tf.reduce_mean(x, axis=-1) - 0.0 * x - (-0.0) * x
    return [y, tf.transpose(tf.reshape(y, [-1, 1]), [1, 0]), tf.clip_by_value(x, 0.0, 1.0), tf.one_hot([1, 2], 3), x[1:], x[0],
            tf.argmax(x), tf.image.resize(tf.reshape(x, [1, -1, 1, 1]), (4, 4)), x ** 2, tf.cast(x, tf.int64) // 2, x < True + 0.5]


def _followed(graph: Any) -> list[Any]:
    """The operations of a graph but its constants, each with what it takes: constants by value."""
    def taken(one: tf.Tensor) -> Any:
        return one.op.node_def.attr["value"].SerializeToString() if one.op.type == "Const" else one.name

    return [(op.type, op.name, [taken(one) for one in op.inputs],
             sorted((key, _attribute(value)) for key, value in op.node_def.attr.items() if key != "token"))
            for op in graph.get_operations() if op.type not in ("Const", "Placeholder")]


@pytest.mark.parametrize("program", [*PROGRAMS, numbers], ids=lambda program: program.__name__)
def test_operations_made_quickly_are_the_same(program: Callable[..., Any]) -> None:
    with operations_quick():
        quick = built(program, quick=True)
    assert _followed(quick) == _followed(built(program, quick=False))
    assert quick_graphs._Quick.works


@pytest.mark.parametrize("case", REFUSED)
def test_errors_of_operations_made_quickly_are_the_same(case: str) -> None:
    messages = []
    for quick in (False, True):
        with pytest.raises((TypeError, ValueError)) as caught, operations_quick() if quick else contextlib.nullcontext():
            built(lambda x: [REFUSED[case](x)], quick)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]


def test_constants_are_shared_on_one_device_only() -> None:
    def program(x: tf.Tensor) -> list[tf.Tensor]:
        with constants_shared():
            first = [tf.constant(value) for value in (0.0, -0.0, 0, False, 0.0, [0], [0])]
            with tf.device("/cpu:0"):
                other = tf.constant(0.0)
        return [tf.identity(one) for one in [*first, other, tf.constant(0.0)]]

    graph = built(program, quick=True)
    assert sum(op.type == "Const" for op in graph.get_operations()) == 5 + 1 + 1


def test_what_the_program_can_name_is_not_shared() -> None:
    @imp2tf.convert(profile_runs=0)
    def f(x: tf.Tensor) -> list[Any]:
        a, b = tf.constant(2.0), tf.constant(2.0)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch(a)
                y = x * a + b * 2.0
            (found,) = tape.gradient(y, [a])
            ones = [tf.GradientTape(), tf.GradientTape()]
            gradients = []
            for one in ones:
                with one:
                    one.watch(b)
                    z = b + 1.0
                gradients.append(one.gradient(z, b))
            outer.watch(gradients[0])
            total = gradients[0] * 3.0 + gradients[1] * 5.0
        return [found, a is b, outer.gradient(total, gradients[0])]

    found, same, second = f(tf.constant(3.0))
    assert (float(found), same, float(second)) == (3.0, False, 3.0)
    assert not f.stats()["fallbacks"]
