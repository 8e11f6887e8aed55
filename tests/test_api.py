"""The front door: what can be converted, and how the result stands in for the function."""
from __future__ import annotations

import abc
import copy
import functools
import gc
import inspect
import pickle
import types
import weakref
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf

at_once = imp2tf.convert(profile_runs=0)
convert = functools.partial(imp2tf.convert, profile_runs=0)


def positive(x: tf.Tensor, scale: float = 2.0) -> tf.Tensor:
    """Scales what is positive."""
    if x > 0:
        return x * scale
    return x


@at_once
def decorated(x: tf.Tensor) -> tf.Tensor:
    if x > 0:
        return x * 2.0
    return x


class Model:
    """Methods of all kinds, decorated in both orders."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    @at_once
    def step(self, x):
        if x > 0:
            return x * self.scale
        return x

    @at_once
    @classmethod
    def outer_class(cls, x):
        return (cls.__name__, x) if x > 0 else (cls.__name__, -x)

    @classmethod
    @at_once
    def inner_class(cls, x):
        return (cls.__name__, x) if x > 0 else (cls.__name__, -x)

    @at_once
    @staticmethod
    def outer_static(x):
        return x if x > 0 else -x

    @staticmethod
    @at_once
    def inner_static(x):
        return x if x > 0 else -x

    @property
    @at_once
    def doubled(self):
        return self.scale * 2.0

    def __call__(self, x):
        if x > 0:
            return x - self.scale
        return x


class Child(Model):
    @at_once
    def step(self, x):
        return super().step(x) + 1.0


MINUS, PLUS = tf.constant(-3.0), tf.constant(3.0)


def in_graph(function: Any) -> bool:
    stats = function.stats()
    return stats["graph_calls"] > 0 and stats["eager_calls"] == 0


# ------------------------------------------------------------------------------------ what can be converted
def closure() -> Any:
    factor = 4.0
    return lambda x: x * factor if x > 0 else x


def passed_through(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, scale=10.0, **kwargs)

    return wrapper


@pytest.mark.parametrize(("function", "expected"), [
    pytest.param(positive, 6.0, id="function"),
    pytest.param(lambda x: x if x > 5 else -x, -3.0, id="lambda"),
    pytest.param(closure(), 12.0, id="closure"),
    pytest.param(functools.partial(positive, scale=5.0), 15.0, id="partial"),
    pytest.param(functools.partial(functools.partial(positive), scale=5.0), 15.0, id="partial of a partial"),
    pytest.param(Model(1.0).step, 3.0, id="bound converted method"),
    pytest.param(Model(1.0).__call__, 2.0, id="bound method"),
    pytest.param(Model(1.0), 2.0, id="callable object"),
    pytest.param(passed_through(positive), 30.0, id="wrapper that passes more"),
    pytest.param(convert(positive), 6.0, id="converted function"),
    pytest.param(tf.function(positive), 6.0, id="tf.function"),
    pytest.param(tf.square, 9.0, id="TensorFlow function"),
])
def test_callables_run_as_graphs(function: Any, expected: float) -> None:
    converted = convert(function)
    assert converted(PLUS) == expected
    assert in_graph(converted)


def test_methods_share_graphs_and_bind_to_their_instance() -> None:
    Model.step.reset()
    one, two = Model(2.0), Model(5.0)
    assert [float(one.step(PLUS)), float(two.step(PLUS)), float(Model.step(one, PLUS))] == [6.0, 15.0, 6.0]
    assert one.step.stats()["calls"] == 3
    assert one.step == one.step != two.step
    assert {one.step: 1}[one.step] == 1


@pytest.mark.parametrize("name", ["outer_class", "inner_class", "outer_static", "inner_static"])
@pytest.mark.parametrize("owner", [Model, Model(1.0), Child, Child(1.0)], ids=["class", "object", "subclass", "its object"])
def test_class_and_static_methods_in_either_order(name: str, owner: Any) -> None:
    cls = owner if isinstance(owner, type) else type(owner)
    expected = (cls.__name__, 3.0) if "class" in name else 3.0
    assert getattr(owner, name)(MINUS) == expected


def test_super_property_and_inheritance() -> None:
    assert Child(2.0).step(PLUS) == 7.0
    assert Child(2.0).doubled == 4.0


def test_abstract_methods_stay_abstract() -> None:
    class Base(abc.ABC):
        @convert
        @abc.abstractmethod
        def step(self, x):
            """To be written."""

    with pytest.raises(TypeError, match="abstract"):
        Base()


def test_generator_functions_stay_generators() -> None:
    @at_once
    def halves(x):
        while x > 1:
            yield x
            x = x / 2

    assert [float(x) for x in halves(tf.constant(8.0))] == [8.0, 4.0, 2.0]
    assert isinstance(halves(PLUS), types.GeneratorType)
    assert [one["code"] for one in halves.stats()["fallbacks"]] == ["I2T105"]


def test_generator_as_an_argument_is_consumed_as_python_would() -> None:
    @at_once
    def total(items):
        return sum(items)

    items = (tf.constant(float(i)) for i in range(4))
    assert total(items) == 6.0
    assert list(items) == []


def test_functions_without_source_run_as_python_with_one_note() -> None:
    space: dict[str, Any] = {}
    exec("def made(x):\n    return x if x > 0 else -x", space)
    converted = convert(space["made"])
    assert [float(converted(MINUS)) for _ in range(4)] == [3.0] * 4
    (note,) = converted.stats()["fallbacks"]
    assert (note["code"], note["count"]) == ("I2T107", 4)


@pytest.mark.parametrize(("function", "args"), [
    (len, ([1, 2],)), (max, (1, 2)), (min, (3, 2)), (int, ("7",)), (dict, ()), (str.upper, ("a",)), (np.sum, ([1.0, 2.0],)),
    (isinstance, (1, int)), (sorted, ([3, 1],)), ([].append, (1,)), (type, (1,)), (zip, ([1], [2])),
], ids=lambda one: getattr(one, "__name__", None))
def test_builtins(function: Any, args: tuple[Any, ...]) -> None:
    converted = convert(function)
    for _ in range(2):
        found, expected = converted(*args), function(*args)
        assert type(found) is type(expected)
        assert type(expected) is zip or found == expected


# ------------------------------------------------------------------------------------ a drop-in for the function
def test_it_looks_like_the_function() -> None:
    converted = convert(positive)
    assert converted.__wrapped__ is converted.python_function is positive
    assert inspect.signature(converted) == converted.__signature__ == inspect.signature(positive)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(converted, name) == getattr(positive, name)
    assert inspect.getsource(converted) == inspect.getsource(positive)
    assert "positive" in repr(converted)


def test_attributes_of_the_function_are_kept() -> None:
    def tagged(x):
        return x

    tagged.tag = "mine"
    assert convert(tagged).tag == "mine"


@pytest.mark.parametrize("function", [functools.partial(positive), Model(1.0), len], ids=["partial", "object", "builtin"])
def test_everything_has_a_name(function: Any) -> None:
    converted = convert(function)
    assert converted.__name__
    assert converted.__qualname__


def test_bound_methods_look_like_bound_methods() -> None:
    step = Model(2.0).step
    assert inspect.signature(step) == inspect.signature(lambda x: x)
    assert step.__name__ == "step"
    assert step.__self__.scale == 2.0
    assert step.__func__ is Model.step
    assert isinstance(step.python_function, types.MethodType)


def test_pickled_by_reference() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(Model.step)) is Model.step


@pytest.mark.parametrize("function", [positive, functools.partial(positive, scale=2.0)], ids=["function", "partial"])
def test_pickled_by_value_if_the_name_is_the_functions_own(function: Any) -> None:
    again = pickle.loads(pickle.dumps(imp2tf.convert(function, profile_runs=0, recompile_limit=3)))
    assert again(PLUS) == 6.0
    assert again.stats()["graph_calls"] == 1


def test_pickled_bound_method() -> None:
    assert pickle.loads(pickle.dumps(Model(4.0).step))(PLUS) == 12.0


def test_lambdas_are_not_pickled_as_lambdas_are_not() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(convert(lambda x: x))


def test_copies_are_the_function_itself() -> None:
    assert copy.copy(decorated) is copy.deepcopy(decorated) is decorated


def test_a_deep_copied_object_gets_its_own_converted_method() -> None:
    model = Model(2.0)
    model.run = convert(model.__call__)
    other = copy.deepcopy(model)
    other.scale = 1.0
    assert [float(model.run(PLUS)), float(other.run(PLUS))] == [1.0, 2.0]


def test_weak_references_and_keys() -> None:
    converted = convert(positive)
    assert weakref.ref(converted)() is converted
    assert {converted: 1}[converted] == 1
    gone = weakref.ref(converted)
    del converted
    assert gone() is None


def test_graphs_do_not_keep_the_objects_they_were_made_for() -> None:
    Model.step.reset()
    model = Model(2.0)
    model.run = convert(model.__call__)
    gone = weakref.ref(model)
    for x in (PLUS, MINUS):
        model.step(x)
        model.run(x)
    assert Model.step.stats()["graph_calls"] == model.run.stats()["graph_calls"] == 2
    del model
    gc.collect()
    assert gone() is None


def test_builtins_have_no_source_to_show() -> None:
    with pytest.raises(imp2tf.ConversionError, match="len is not written in Python"):
        convert(len).source()


def test_other_converted_functions_as_arguments_are_told_apart() -> None:
    @at_once
    def apply(function, x):
        return function(x)

    double, triple = convert(lambda x: x * 2), convert(lambda x: x * 3)
    functions = [double, triple, double, Model(4.0).step, Model(5.0).step]
    assert [float(apply(function, PLUS)) for function in functions] == [6.0, 9.0, 6.0, 12.0, 15.0]


# ------------------------------------------------------------------------------------ as tf.function
def test_concrete_function_for_specs() -> None:
    converted = convert(positive, name="scaled")
    concrete = converted.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert [float(concrete(PLUS)), float(concrete(MINUS))] == [6.0, -3.0]
    assert [spec.name for spec in concrete.structured_input_signature[0][:1]] == ["x"]
    assert "scaled" in concrete.function_def.signature.name
    assert any(op.type in ("If", "StatelessIf") for op in concrete.graph.get_operations())


def test_concrete_function_of_a_method() -> None:
    concrete = Model(4.0).step.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert concrete(PLUS) == 12.0


def test_tracing_count_signatures_and_name() -> None:
    converted = convert(positive)
    for x in (PLUS, MINUS, tf.constant(3, tf.int32)):
        converted(x, 2)
    assert converted.experimental_get_tracing_count() == converted.stats()["traces"] == 2
    shown = converted.pretty_printed_concrete_signatures()
    assert shown.count("positive(x") == 2
    assert "x: tensor float32()" in shown
    assert len(converted.pretty_printed_concrete_signatures(verbose=False)) < len(shown)
    assert converted.name == "positive"
    assert convert(positive, name="mine").name == "mine"
    assert converted.input_signature is None
    converted.reset()
    assert converted.stats()["calls"] == converted.experimental_get_tracing_count() == 0


def test_the_graph_carries_the_name() -> None:
    converted = convert(positive, name="mine")
    converted(PLUS)
    assert "mine" in converted._dispatcher.graphs[0].concrete.name.decode()


# ------------------------------------------------------------------------------------ options
def test_first_call_is_profiled() -> None:
    converted = imp2tf.convert(positive)
    for _ in range(3):
        converted(PLUS)
    assert {name: converted.stats()[name] for name in ("eager_calls", "graph_calls")} == {"eager_calls": 1, "graph_calls": 2}


def test_reduce_retracing_generalises_shapes_and_numbers() -> None:
    def total(x, n):
        return tf.reduce_sum(x) * n

    general, exact = convert(total), convert(total, reduce_retracing=False)
    for converted in (general, exact):
        assert [float(converted(tf.ones([k]), k)) for k in range(1, 6)] == [1.0, 4.0, 9.0, 16.0, 25.0]
    assert general.stats()["traces"] == 2
    assert exact.stats()["traces"] == 5


def test_recompile_limit_is_kept_and_told_once() -> None:
    converted = convert(lambda x, n: x * n, recompile_limit=3, reduce_retracing=False)
    assert [float(converted(PLUS, n)) for n in range(6)] == [0.0, 3.0, 6.0, 9.0, 12.0, 15.0]
    (note,) = converted.stats()["fallbacks"]
    assert (note["code"], note["count"]) == ("I2T108", 3)
    assert "n was 2, is 3" in note["reason"]
    converted(PLUS, 0)
    assert converted.stats()["graph_calls"] == 4


def test_fullgraph_raises_with_code_line_and_hint() -> None:
    def opens(x):
        open("/dev/null").close()
        return x

    with pytest.raises(imp2tf.ConversionError) as caught:
        imp2tf.convert(opens, fullgraph=True)(PLUS)
    assert caught.value.code == "I2T101"
    assert (caught.value.location.filename, caught.value.location.line) == (__file__, opens.__code__.co_firstlineno + 1)
    assert caught.value.hint in str(caught.value)


def test_fullgraph_means_no_python_in_the_graph() -> None:
    def prints(x):
        print("x is", float(x))
        return x

    with pytest.raises(imp2tf.ConversionError, match="Python is called") as caught:
        imp2tf.convert(prints, fullgraph=True)(PLUS)
    assert caught.value.location.line == prints.__code__.co_firstlineno + 1
    assert imp2tf.convert(positive, fullgraph=True)(PLUS) == 6.0


# ------------------------------------------------------------------------------------ XLA
def test_jit_compile_runs_with_xla() -> None:
    def power(x):
        for _ in tf.range(3):
            x = x * x
        return x

    converted = convert(power, jit_compile=True)
    assert converted(PLUS) == 3.0 ** 8
    assert converted.stats()["fallbacks"] == []
    assert "_XlaMustCompile" in str(converted._dispatcher.graphs[0].concrete.function_def.attr)


def no_kernel(x):
    return tf.strings.length(tf.strings.as_string(x))


def prints(x):
    print("printed")
    return x


def asserts(x):
    tf.debugging.assert_positive(x)
    return x


@pytest.mark.parametrize(("function", "reason"), [(no_kernel, "AsString"), (prints, "Python"), (asserts, "assertions")])
def test_what_xla_refuses_runs_without_it(function: Any, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    converted = convert(function, jit_compile=True)
    assert [converted(PLUS).numpy() for _ in range(2)] == [function(PLUS).numpy() for _ in range(2)]
    (note,) = converted.stats()["fallbacks"]
    assert note["code"] == "I2T114"
    assert reason in note["reason"]
    assert converted.stats()["eager_calls"] == 0
    assert capsys.readouterr().out in ("", "printed\n" * 4)


def test_assertions_are_checked_although_xla_was_asked_for() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        convert(asserts, jit_compile=True)(MINUS)


def test_fullgraph_with_xla_raises_what_xla_refuses() -> None:
    with pytest.raises(imp2tf.ConversionError, match="AsString"):
        convert(no_kernel, jit_compile=True, fullgraph=True)(PLUS)
