"""``read`` finds the tree of every function, at its own place in the file, or says why it cannot."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import doctest
import enum
import functools
import inspect
import json.encoder
import linecache
import textwrap
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gast
import pytest

from imp2tf.source import SourceUnavailable, read
from tests.loading import functions_of, instantiate, load, run, segment

FUNCTIONS = {
    "one line": "def f(x): return x + 1",
    "plain": """
        def f(x):
            return x + 1
        """,
    "indented": """
        if True:
              def f(x):
                  return x + 1
        """,
    "tabs": "def f(x):\n\tif x:\n\t\treturn x\n\treturn 5\n",
    "not ascii": "é = 'ü'\ndef f(ö): return 'ö' * ö, é\n",
    "string at column 0": 'def f(x):\n    a = """one\ntwo\n  three"""\n    return a * x\n',
    "line continuation": "def f(\\\n  x\\\n):\n    return x + \\\n1\n",
    "after a continuation": "y = 1; \\\nz = 2\ndef f(x): return x\n",
    "coding cookie": "# -*- coding: utf-8 -*-\n\ndef f(x): return x\n",
    "method": """
        class C:
            def m(self, x): return x
        f = C().m
        """,
    "method of a nested class": """
        class C:
            class D:
                def m(self, x): return x
        f = C.D().m
        """,
    "static method": """
        class C:
            @staticmethod
            def m(x): return x
        f = C.m
        """,
    "class method": """
        class C:
            @classmethod
            def m(cls, x): return cls.__name__ * x
        f = C.m
        """,
    "getter": """
        class C(int):
            @property
            def p(self): return self + 1
        f = C.p.fget
        """,
    "decorators": """
        def d(f): return f
        @d
        @d
        def f(x): return x
        """,
    "decorator with a lambda over lines": """
        def d(*a): return lambda f: f
        @d(1,
           lambda x: x,
           2)
        def f(x): return x * 3
        """,
    "one line under a decorator": """
        def d(f): return f
        @d
        def f(x): pass
        """,
    "wrapped": """
        import functools
        @functools.lru_cache(None)
        def f(x): return x
        f = f.__wrapped__
        """,
    "functools.wraps": """
        import functools
        def d(f):
            @functools.wraps(f)
            def w(*a):
                def g(): return f(*a)
                return g()
            return w
        @d
        def f(x): return x
        """,
    "nested two deep": """
        def o(k):
          def i():
                    def f(x): return x + k
                    return f
          return i()
        f = o(4)
        """,
    "defined twice": """
        def f(x): return 1
        def f(x): return x
        """,
    "every kind of parameter": "def f(x, /, y=2, *a, k=1, **b) -> int: return x, y, a, k, b",
    "recursive": "def f(n): return 1 if n == 0 else n * f(n - 1)",
    "recursive closure": """
        def o():
            def f(n): return 1 if n == 0 else n * f(n - 1)
            return f
        f = o()
        """,
    "imported modules": """
        import math, os.path as p
        from json import *
        def f(x): return math.sqrt(x) + math.floor(x), p.join('a', 'b'), dumps(x)
        """,
    "method named as its class": """
        class C:
            def C(self, x): return x
        f = C().C
        """,
    "method that names its class": """
        class C:
            def m(self, x): return C.__name__, x
        f = C().m
        """,
    "method of a local class": """
        def o():
            class C:
                def m(self, x): return C.__name__, x
            return C().m
        f = o()
        """,
    "named scope": "def scope(x): return x\nf = scope\n",
    "super": """
        class B:
            def m(self, x): return x
        class C(B):
            def m(self, x): return super().m(x), __class__.__name__
        f = C().m
        """,
    "super where the module uses super": """
        s = super
        class B:
            def m(self, x): return x
        class C(B):
            def m(self, x): return super().m(x)
        f = C().m
        """,
    "class cell in a nested function": """
        class C:
            def m(self, x):
                def g(self): return __class__.__name__, super().__class__, x
                return g(self)[0]
        f = C().m
        """,
    "future annotations": """
        from __future__ import annotations
        def f(x):
            def g(y: nowhere): return y
            return g(x), g.__annotations__
        """,
    "match": """
        def f(x):
            match [x, 1]:
                case [a, *b]: return a, b
                case {'k': v, **r}: return v, r
        """,
    "try": """
        def f(x):
            try:
                return [i / x for i in range(3)]
            except ZeroDivisionError as e:
                return e
            finally:
                x = 0
        """,
    "local class": """
        def f(x):
            class C:
                def g(self): return x
            return C().g(), C.__qualname__, C.g.__qualname__
        """,
    "qualified names": """
        def f(x):
            'Doc.'
            def g(): pass
            return g.__qualname__, g.__name__, (lambda: 0).__qualname__
        """,
}


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS)
def test_function_is_found_and_made_again(tmp_path: Path, text: str) -> None:
    f = load(tmp_path, text)["f"]
    plain = getattr(f, "__func__", f)
    source = read(plain)
    assert segment(source).startswith("def ")
    assert source.node.name == plain.__code__.co_name
    assert source.node.decorator_list == []
    assert source.filename == plain.__code__.co_filename
    assert source.lines == tuple(inspect.getsourcelines(plain.__code__)[0])
    new = instantiate(source, source.node, plain, {})
    assert new.__code__.co_firstlineno == plain.__code__.co_firstlineno
    bound = types.MethodType(new, f.__self__) if hasattr(f, "__self__") else new
    assert bound(2) == f(2)


LAMBDAS = {
    "assigned": ("f = lambda x: x + 1", "f", "lambda x: x + 1"),
    "first of two": ("a, b = lambda x: x + 1, lambda x: x + 2", "a", "lambda x: x + 1"),
    "second of two": ("a, b = lambda x: x + 1, lambda x: x + 2", "b", "lambda x: x + 2"),
    "int and float": ("a, b = lambda x: x * 1, lambda x: x * 1.0", "b", "lambda x: x * 1.0"),
    "True and 1": ("a, b = lambda x: (x, True), lambda x: (x, 1)", "b", "lambda x: (x, 1)"),
    "signed zeros": ("a, b = lambda x: -0.0, lambda x: 0.0", "b", "lambda x: 0.0"),
    "signatures": ("a, b = lambda x, y=1: x, lambda x, *, y=1: x", "b", "lambda x, *, y=1: x"),
    "attributes": ("a, b = lambda x: x.p, lambda x: x.q", "b", "lambda x: x.q"),
    "globals": ("a, b = lambda x: x + y, lambda x: x + z", "b", "lambda x: x + z"),
    "outer of nested": ("f = lambda x: lambda y: x + y", "f", "lambda x: lambda y: x + y"),
    "inner of nested": ("f = lambda x: lambda y: x + y", "f(1)", "lambda y: x + y"),
    "innermost of three": ("f = lambda x: lambda x: lambda x: x", "f(1)(1)", "lambda x: x"),
    "over lines": ("f = (lambda x:\n     x +\n  1)", "f", "lambda x:\n     x +\n  1"),
    "body on another line": ("f = (lambda\n  x: x)", "f", "lambda\n  x: x"),
    "argument on its own line": ("def g(k): return k\nf = g(\n  lambda x: x\n)", "f", "lambda x: x"),
    "keyword argument": ("def g(k): return k\nf = g(k=lambda x: x)", "f", "lambda x: x"),
    "default": ("def g(k=lambda x: x, j=lambda x: -x): return j", "g()", "lambda x: -x"),
    "dict value": ("d = {'a': lambda x: x, 'b': lambda x: x * 2}", "d['b']", "lambda x: x * 2"),
    "dict value on its line": ("d = {'a': lambda x: x,\n'b': lambda x: x * 2}", "d['b']", "lambda x: x * 2"),
    "list element": ("l = [lambda: 1, lambda: 2, lambda: 3]", "l[1]", "lambda: 2"),
    "in a comprehension": ("l = [(lambda x: x + i) for i in range(3)]", "l[1]", "lambda x: x + i"),
    "in a generator": ("l = list((lambda x: x + i) for i in range(3))", "l[1]", "lambda x: x + i"),
    "in a decorator": ("def d(g): return lambda f: g\n@d(lambda x: x)\ndef f(): pass", "f", "lambda x: x"),
    "in a class body": ("class C:\n    m = lambda self: self.__p", "C.m", "lambda self: self.__p"),
    "free and global": ("def o(y): return [lambda: y, lambda: z]\nz = 1", "o(1)[1]", "lambda: z"),
    "not ascii": ("'é'; f = lambda x: 'ü' + x", "f", "lambda x: 'ü' + x"),
    "in a partial": ("import functools\nf = functools.partial(lambda x: x, 1)", "f.func", "lambda x: x"),
    "generator": ("f = lambda x: (yield x)", "f", "lambda x: (yield x)"),
    "stars": ("f = lambda *a, k=1, **b: (a, k, b)", "f", "lambda *a, k=1, **b: (a, k, b)"),
    "with a comprehension": ("f = lambda x: [x for x in x]", "f", "lambda x: [x for x in x]"),
}


@pytest.mark.parametrize(("text", "expression", "expected"), LAMBDAS.values(), ids=LAMBDAS)
def test_lambda_is_found(tmp_path: Path, text: str, expression: str, expected: str) -> None:
    source = read(eval(expression, load(tmp_path, text)))
    assert isinstance(source.node, gast.Lambda)
    assert segment(source) == expected


def test_equal_lambdas_are_told_apart_by_position(tmp_path: Path) -> None:
    pair = load(tmp_path, "pair = lambda x: x + 1, lambda x: x + 1\n")["pair"]
    columns = [read(fn).node.col_offset for fn in pair]
    # Python 3.10 keeps no columns; there any of the two will do, for equal code means the same.
    assert columns == ([7, 24] if hasattr(types.CodeType, "co_positions") else [7, 7])


def test_lambda_in_an_fstring(tmp_path: Path) -> None:
    kept = load(
        tmp_path,
        """
        kept = []
        def keep(f): kept.append(f)
        text = f'{keep(lambda x: x + 1)} and {keep(lambda x: x + 2)}'
        """,
    )["kept"]
    assert [gast.unparse(read(fn).node).strip() for fn in kept] == ["lambda x: x + 1", "lambda x: x + 2"]


def test_lambda_in_the_head_of_a_class_is_outside_the_class(tmp_path: Path) -> None:
    names = load(
        tmp_path,
        """
        class Base:
            def __init_subclass__(cls, key): Base.key = key
        class C(Base, key=lambda x: x.__private): pass
        """,
    )
    source = read(names["Base"].key)
    assert source.class_name is None
    assert source.node.body.attr == "__private"


@pytest.mark.parametrize("kind", ["async def f(x): await x", "async def f(x): yield x", "def f(x): yield x"])
def test_coroutines_and_generators_are_read(tmp_path: Path, kind: str) -> None:
    node = read(load(tmp_path, kind)["f"]).node
    assert isinstance(node, gast.AsyncFunctionDef if "async" in kind else gast.FunctionDef)


@pytest.mark.parametrize("module", [argparse, ast, dataclasses, enum, functools, json.encoder, textwrap])
def test_every_function_of_a_library_module_is_found(module: types.ModuleType) -> None:
    for fn in functions_of(module):
        source = read(fn)
        assert segment(source).startswith(("def", "async def", "lambda"))
        assert fn.__code__.co_name in (getattr(source.node, "name", "<lambda>"), "<lambda>")


def test_each_read_gives_a_new_tree(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x")["f"]
    first, second = read(f), read(f)
    first.node.body.clear()
    assert second.node.body and read(f).node.body


PRIVATE = """
    class _Cell:
        def m(self, __p):
            global __g
            import __i
            self.__a = __p = f(__k=1)
            def __h(): pass
            class D:
                __b = __p
            try: pass
            except E as __e: pass
            match q:
                case P(__attr=__c): pass
                case {**__r}: pass
            return __h, __dunder__, __x.__y, _Cell.__z
    """


def test_private_names_are_mangled_as_python_does(tmp_path: Path) -> None:
    fn = load(tmp_path, PRIVATE)["_Cell"].m
    source = read(fn)
    assert source.class_name == "_Cell"
    code = instantiate(source, source.node, fn, {}).__code__
    for names in ("co_names", "co_varnames", "co_cellvars", "co_freevars"):
        assert getattr(code, names) == getattr(fn.__code__, names)
    inner = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == "D")
    assert "_D__b" in inner.co_names
    assert ("__k",) in code.co_consts  # keyword names are not mangled


def test_a_private_method_keeps_its_name(tmp_path: Path) -> None:
    fn = load(tmp_path, "class C:\n    def __m(self): return self.__m")["C"]._C__m
    node = read(fn).node
    assert (node.name, node.body[0].value.attr) == ("__m", "_C__m")


@pytest.mark.parametrize(
    ("name", "expected"), [("_", "__x"), ("__", "__x"), ("_A", "_A__x"), ("A_", "_A___x")]
)
def test_class_names_with_underscores(tmp_path: Path, name: str, expected: str) -> None:
    source = read(load(tmp_path, f"class {name}:\n    def m(self): return self.__x")[name].m)
    assert source.node.body[0].value.attr == expected


def test_cell_of_a_notebook() -> None:
    filename, text = "<cell 1>", "f = lambda x: x\n"
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    linecache.cache[filename] = (len(text), None, [text], filename)
    try:
        assert segment(read(names["f"])) == "lambda x: x"
    finally:
        del linecache.cache[filename]


def test_statements_compiled_one_by_one() -> None:
    filename, text = "<cell 2>", "import math\ndef f(x): return math.sqrt(x) + math.floor(x)\n"
    names: dict[str, Any] = {}
    for stmt in ast.parse(text).body:
        exec(compile(ast.Module([stmt], []), filename, "exec"), names)
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    try:
        assert read(names["f"]).node.name == "f"
    finally:
        del linecache.cache[filename]


def test_function_of_a_doctest() -> None:
    text = ">>> f = lambda x: x + 1\n>>> print(read(f).lines)\n('f = lambda x: x + 1\\n',)\n"
    case = doctest.DocTestParser().get_doctest(text, {"read": read}, "sample", None, None)
    assert doctest.DocTestRunner().run(case).failed == 0


def test_warnings_are_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "warned.py"
    path.write_text("def f(x): return '\\d', x is 1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = run(path)["f"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(f).node.name == "f"


def test_module_whose_asserts_pytest_expanded() -> None:
    def f(x: int) -> int:
        assert x > 0, f"not positive: {x}"
        return x

    source = read(f)
    assert source.node.name == "f"
    assert isinstance(source.node.body[0], gast.Assert)


def test_a_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = load(tmp_path, "def f(): return 1\ndef g(): return 2\n")
    read(names["f"])
    monkeypatch.setattr("imp2tf.source_file.SourceFile", lambda *_: pytest.fail("parsed again"))
    assert read(names["g"]).node.name == "g"


EDITS = {
    "constant": "def f(x):\n    return x + 2\n",
    "operator": "def f(x):\n    return x - 1\n",
    "name": "def f(x):\n    return y + 1\n",
    "parameter": "def f(y):\n    return y + 1\n",
    "moved": "\ndef f(x):\n    return x + 1\n",
    "renamed": "def g(x):\n    return x + 1\n",
    "nested": "def f(x):\n    def g(): pass\n    return x + 1\n",
    "now in a class": "class C:\n  def f(x):\n    return x.__a + 1\n",
}


@pytest.mark.parametrize("edited", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("read_before", [False, True])
def test_edited_file(tmp_path: Path, edited: str, read_before: bool) -> None:
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x + 1\n")
    f = run(path)["f"]
    if read_before:
        assert read(f).node.name == "f"
    path.write_text(edited + "# another size\n")
    with pytest.raises(SourceUnavailable, match="changed on disk since it was loaded"):
        read(f)
    path.write_text("def f(x):\n    return x + 1  # as it was, with a comment\n")
    assert read(f).node.name == "f"


def test_file_that_cannot_be_parsed_any_more(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x")["f"]
    Path(f.__code__.co_filename).write_text("def f(x: return x # broken")
    with pytest.raises(SourceUnavailable, match="cannot be parsed"):
        read(f)


def test_file_that_is_gone(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x")["f"]
    Path(f.__code__.co_filename).unlink()
    with pytest.raises(SourceUnavailable, match="no source file"):
        read(f)


def test_function_made_by_exec() -> None:
    names: dict[str, Callable[..., Any]] = {}
    exec("def f(x): return x", names)
    with pytest.raises(SourceUnavailable, match="no source file"):
        read(names["f"])


def test_function_made_by_exec_under_the_name_of_a_file(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x")["f"]
    names: dict[str, Any] = {}
    exec(compile("def f(x): return x + 1", f.__code__.co_filename, "exec"), names)
    with pytest.raises(SourceUnavailable, match="does not match its text"):
        read(names["f"])


@pytest.mark.parametrize("thing", [len, print, int, functools.partial(len), [].append, object()])
def test_builtins_have_no_source(thing: Any) -> None:
    with pytest.raises(SourceUnavailable, match="builtin"):
        read(thing)


def test_function_nested_too_deeply(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x): return x" + " + x" * 2000)["f"]
    with pytest.raises(SourceUnavailable, match="nested too deeply|cannot be"):
        read(f)
