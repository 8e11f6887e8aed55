"""A rewritten tree becomes a function that lives where the original did."""

from __future__ import annotations

import asyncio
import inspect
import traceback
import types
from pathlib import Path
from typing import Any

import gast
import pytest

from imp2tf.source import bind, compile_node, lambda_to_function, read
from tests.loading import instantiate, load, segment


def again(fn: types.FunctionType, **extra: object) -> types.FunctionType:
    """``fn`` read and made into a function unchanged."""
    source = read(fn)
    node = source.node
    return instantiate(source, lambda_to_function(node) if isinstance(node, gast.Lambda) else node, fn, extra)


def rewritten(fn: types.FunctionType, body: str, **extra: object) -> types.FunctionType:
    """``fn`` with the statements of ``body`` instead of its own."""
    source = read(fn)
    source.node.body = gast.parse(body).body
    for stmt in source.node.body:
        for node in gast.walk(stmt):
            gast.copy_location(node, source.node)
    return instantiate(source, source.node, fn, extra)


def test_names_documentation_and_defaults_are_taken_over(tmp_path: Path) -> None:
    f = load(
        tmp_path,
        """
        class C:
            def f(self, a, b=[], *c, d={}, e, **g) -> int:
                'What it does.'
        """,
    )["C"].f
    f.note = "not copied"
    new = again(f)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(new, attribute) == getattr(f, attribute)
    assert new.__code__.co_name == "f"
    assert new.__globals__ is f.__globals__
    assert new.__defaults__[0] is f.__defaults__[0]
    assert new.__kwdefaults__["d"] is f.__kwdefaults__["d"]
    assert not new.__dict__
    assert new.__annotations__ == {}


def test_defaults_and_decorators_are_not_run_again(tmp_path: Path) -> None:
    names = load(
        tmp_path,
        """
        ran = []
        def note(x): ran.append(x); return lambda f: f
        @note('decorator')
        def f(x=note('default'), *, y: note('annotation') = note('keyword default')): return 1
        """,
    )
    ran = list(names["ran"])
    assert again(names["f"])() == 1
    assert names["ran"] == ran


def test_extra_names_are_found_without_touching_the_globals(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x")["f"]
    before = dict(f.__globals__)
    assert rewritten(f, "return rt(x) + k", rt=abs, k=10)(-1) == 11
    assert f.__globals__ == before


def test_an_extra_name_must_not_hide_a_free_variable(tmp_path: Path) -> None:
    f = load(tmp_path, "def o(rt):\n    return lambda: rt\nf = o(1)")["f"]
    source = read(f)
    with pytest.raises(ValueError, match="rt"):
        instantiate(source, lambda_to_function(source.node), f, {"rt": 2})


COUNTER = """
    def counter():
        n = 0
        unused = 'kept'
        def step():
            nonlocal n
            n += 1
            return n, unused
        def peek(): return n
        return step, peek
    step, peek = counter()
    """


def test_cells_are_shared_both_ways(tmp_path: Path) -> None:
    names = load(tmp_path, COUNTER)
    step, peek = names["step"], names["peek"]
    new = again(step)
    assert [new()[0], step()[0], new()[0], peek()] == [1, 2, 3, 3]
    assert new.__closure__ == step.__closure__


def test_free_variables_the_new_tree_does_not_use(tmp_path: Path) -> None:
    step = load(tmp_path, COUNTER)["step"]
    new = rewritten(step, "return unused")
    assert new() == "kept"
    assert new.__code__.co_freevars == ("unused",)


def test_one_code_for_several_closures(tmp_path: Path) -> None:
    names = load(tmp_path, COUNTER)
    first, second = names["step"], names["counter"]()[0]
    source = read(first)
    code = compile_node(source, source.node, first, ["rt"])
    one, two = bind(code, first, {"rt": 1}), bind(code, second, {"rt": 2})
    assert one.__code__ is two.__code__
    assert [one(), one(), two()] == [(1, "kept"), (2, "kept"), (1, "kept")]


def test_a_cell_that_is_still_empty(tmp_path: Path) -> None:
    f = load(
        tmp_path,
        """
        def o():
            def f(): return late
            yield f
            late = 1
            yield None
        made = o()
        f = next(made)
        """,
    )["f"]
    new = again(f)
    with pytest.raises(NameError, match="late"):
        new()
    next(f.__globals__["made"])
    assert new() == 1


def test_a_name_of_the_function_is_looked_up_where_it_was(tmp_path: Path) -> None:
    names = load(tmp_path, "def f(n): return n and f")
    new = again(names["f"])
    assert new(1) is names["f"]
    names["f"] = "other"
    assert new(1) == "other"


@pytest.mark.parametrize(
    "body", ["super().m()", "super(__class__, self).m()", "[super][0](__class__, self).m()"]
)
def test_super(tmp_path: Path, body: str) -> None:
    names = load(
        tmp_path,
        f"""
        class A:
            def m(self): return 'A'
        class B(A):
            def m(self): return {body} + 'B'
        class C(B):
            def m(self): return super().m() + 'C'
        """,
    )
    names["B"].m = again(names["B"].m)
    names["C"].m = again(names["C"].m)
    assert names["C"]().m() == "ABC"


def test_super_in_code_that_only_named_the_class(tmp_path: Path) -> None:
    c = load(tmp_path, "class C:\n    def m(self): return __class__")["C"]
    assert rewritten(c.m, "return super().__repr__()")(c()).startswith("<sample.C")


def test_closures_made_by_the_rewriting_reach_everything(tmp_path: Path) -> None:
    step = load(tmp_path, COUNTER)["step"]
    new = rewritten(
        step, "def body():\n    nonlocal n\n    n += 10\nrt(body)\nreturn n", rt=lambda body: body()
    )
    assert [new(), step()] == [10, (11, "kept")]


def test_lambda(tmp_path: Path) -> None:
    f = load(tmp_path, "y = 10\nf = lambda x, *, k=1: x + k + y")["f"]
    new = again(f)
    assert (new.__name__, new.__code__.co_name, new.__qualname__) == ("<lambda>",) * 3
    assert [new(1), new(1, k=5)] == [12, 16]


def test_lambda_to_function_keeps_positions(tmp_path: Path) -> None:
    source = read(load(tmp_path, "f = lambda x: x + 1")["f"])
    node = lambda_to_function(source.node, "named")
    assert (node.name, node.col_offset, node.end_col_offset) == ("named", 4, 19)
    assert (node.body[0].col_offset, node.body[0].value.col_offset) == (14, 14)
    assert segment(source) == "lambda x: x + 1"


def test_generators_and_coroutines(tmp_path: Path) -> None:
    names = load(
        tmp_path,
        """
        def f(x):
            got = yield x
            return got
        g = lambda x: (yield x)
        async def h(x): return [y async for y in k(x)]
        async def k(x):
            yield x
            yield x + 1
        """,
    )
    for name in ("f", "g"):
        made = again(names[name])(1)
        assert next(made) == 1
        with pytest.raises(StopIteration) as stopped:
            made.send("sent")
        assert stopped.value.value == "sent"
    names["k"] = again(names["k"])
    assert inspect.isasyncgenfunction(names["k"])
    assert asyncio.run(again(names["h"])(1)) == [1, 2]


def test_future_annotations_hold_for_nested_functions(tmp_path: Path) -> None:
    text = "def f():\n    def g(x: 1 + 1): pass\n    return g.__annotations__['x']\n"
    assert again(load(tmp_path, "from __future__ import annotations\n" + text)["f"])() == "1 + 1"
    assert again(load(tmp_path, text)["f"])() == 2


def test_annotations_of_parameters_are_not_evaluated(tmp_path: Path) -> None:
    f = load(tmp_path, "import typing\ndef f(x: typing.Any) -> typing.Any: return x\ndel typing")["f"]
    assert again(f)(1) == 1


def test_error_names_the_line_of_the_user(tmp_path: Path) -> None:
    f = load(
        tmp_path,
        """
        def o():
            def f(x):
                y = 1

                return (y +
                        x.missing)
            return f
        f = o()
        """,
    )["f"]
    with pytest.raises(AttributeError) as caught:
        again(f)(1)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.name) == (f.__code__.co_filename, "f")
    assert frame.line == "x.missing)"


def test_source_of_the_new_function_is_that_of_the_user(tmp_path: Path) -> None:
    f = load(tmp_path, "def d(f): return f\n@d\n@d\ndef f(x):\n    return x\n")["f"]
    assert inspect.getsource(again(f)) == inspect.getsource(f) == "@d\n@d\ndef f(x):\n    return x\n"


def test_what_is_defined_inside_has_the_usual_names(tmp_path: Path) -> None:
    f = load(
        tmp_path,
        """
        def o():
            def f():
                class D:
                    def m(self): pass
                def g(): return lambda: 0
                return D, D.m, g, g(), [lambda: 0 for _ in 'a'][0], 'imp2tf_cells'
            return f
        f = o()
        """,
    )["f"]
    assert [getattr(x, "__qualname__", x) for x in again(f)()] == [getattr(x, "__qualname__", x) for x in f()]


def test_the_node_given_is_not_changed(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x: int = 1, *, y: int = 2) -> int: return x")["f"]
    source = read(f)
    before = gast.dump(source.node, include_attributes=True)
    instantiate(source, source.node, f, {})
    assert gast.dump(source.node, include_attributes=True) == before


def test_nodes_without_positions_get_those_around_them(tmp_path: Path) -> None:
    f = load(tmp_path, "\n\ndef f(x): return x")["f"]
    source = read(f)
    source.node.body.insert(0, gast.Expr(gast.Constant(1, None)))
    assert instantiate(source, source.node, f, {})(5) == 5


def test_mutual_recursion_through_closures(tmp_path: Path) -> None:
    f: Any = load(
        tmp_path,
        """
        def o():
            def even(n): return n == 0 or odd(n - 1)
            def odd(n): return n != 0 and even(n - 1)
            return even
        f = o()
        """,
    )["f"]
    assert [again(f)(n) for n in range(4)] == [True, False, True, False]
