"""Scopes are those of Python: what is bound where, what is free, and what nested code keeps."""

from __future__ import annotations

import dataclasses
import sys
from textwrap import dedent

import gast
import pytest

from imp2tf.analysis.scopes import FunctionScope, bound_names, function_scope, read_names, scopes


def body(text: str) -> list[gast.stmt]:
    return gast.parse(dedent(text)).body


def scope_of(text: str) -> FunctionScope:
    return function_scope(body(text)[0])


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BOUND = {
    "assignment": ("x = y", "x"),
    "several targets": ("x = y = z", "x y"),
    "nested and starred": ("(a, [b, *c]), d = e", "a b c d"),
    "attribute and item": ("x.y = z[i] = 1", ""),
    "name in a tuple with an item": ("x[i], i = 1, 2", "i"),
    "augmented": ("x += 1", "x"),
    "augmented attribute": ("x.y += 1", ""),
    "annotated with value": ("x: int = 1", "x"),
    "annotated only": ("x: int", ""),
    "annotated attribute": ("x.y: int = 1", ""),
    "for": ("for i, (j, *k) in x: l = 1\nelse: m = 1", "i j k l m"),
    "async for": ("async def f():\n async for i in x: pass", "f"),
    "while": ("while x: y = 1\nelse: z = 1", "y z"),
    "if": ("if x: y = 1\nelif z: a = 1\nelse: b = 1", "y a b"),
    "with": ("with a as b, c as (d, e), f as g.h, i: j = 1", "b d e j"),
    "try": ("try: a = 1\nexcept E as b: c = 1\nelse: d = 1\nfinally: e = 1", "a b c d e"),
    "bare except": ("try: a = 1\nexcept: b = 1", "a b"),
    "import": ("import a, b.c, d.e as f", "a b f"),
    "import from": ("from a import b, c as d", "b d"),
    "definitions": ("def f(x=1): y = 1\nclass C: z = 1", "f C"),
    "async definition": ("async def f(): y = 1", "f"),
    "delete": ("del x, (y, z), a.b, c[0]", "x y z"),
    "walrus": ("f(x := 1)", "x"),
    "walrus in a comprehension": ("[(y := x) for x in z if (w := x)]", "y w"),
    "walrus in nested comprehensions": ("[[(y := x) for x in z] for z in a]", "y"),
    "walrus in a generator": ("((y := x) for x in z)", "y"),
    "walrus in a lambda": ("lambda: (y := 1)", ""),
    "walrus in a default": ("lambda a=(y := 1): a", "y"),
    "walrus in a decorator": ("@(y := d)\ndef f(a=(z := 1)): pass", "f y z"),
    "comprehension targets": ("[x for x in y], {a: b for a, b in c}, {d for d in e}, (g for g in h)", ""),
    "global": ("global x\nx = 1", "x"),
    "declared nonlocal": ("nonlocal x, y\nx = 1", "x"),
    "match": (
        "match a:\n case [b, *c, D(e, f=g)]: h = 1\n case {'i': j, **k} | (0 as j): pass",
        "b c e g h j k",
    ),
    "match wildcard": ("match a:\n case _: pass\n case [_, *_]: pass\n case D.e: pass", ""),
}


@pytest.mark.parametrize(("text", "expected"), BOUND.values(), ids=BOUND)
def test_bound_names(text: str, expected: str) -> None:
    assert bound_names(body(text)) == names(expected)


READ = {
    "operands": ("x = y + z", "y z"),
    "augmented": ("x += y", "x y"),
    "augmented item": ("x[i] += y", "x i y"),
    "bound before": ("x = 1\ny = x", "x"),
    "attribute target": ("x.y = z", "x z"),
    "delete": ("del x, y[z]", "y z"),
    "annotation of a variable": ("x: t = y", "y"),
    "annotation of a parameter": ("def f(x: t = y) -> u: pass", "t y u"),
    "decorator": ("@d\ndef f(): pass", "d"),
    "free in a nested function": ("def f(x): return x + y", "y"),
    "nested twice": ("def f(x):\n def g(y): return x + y + z", "z"),
    "only rebound inside": ("def f():\n nonlocal x\n x = 1", ""),
    "read and rebound inside": ("def f():\n nonlocal x\n x += 1", "x"),
    "global inside": ("def f():\n global x\n return x", ""),
    "lambda": ("lambda x, y=z: x + a", "z a"),
    "comprehension": ("[x + y for x in z if x < a]", "y z a"),
    "first iterable is outside": ("[x for x in x]", "x"),
    "later iterables are inside": ("[y for x in z for y in x]", "z"),
    "generator": ("(x + y for x in z)", "y z"),
    "lambda in a comprehension": ("[lambda: x + y for x in z]", "y z"),
    "class body": ("class C(b, k=m):\n x = y\n z = x", "b m y"),
    "method does not see the class": ("class C:\n x = 1\n def m(self): return x, self", "x"),
    "method sees __class__": ("class C:\n def m(self): return __class__", ""),
    "walrus": ("(x := y) + x", "y x"),
    "walrus in a generator": ("((x := y) for y in z)", "z"),
    "match": ("match a:\n case B.c | D(): pass\n case x if x > e: pass", "a B D e x"),
    "handler": ("try: pass\nexcept E as e: f(e)", "E e f"),
    "f-string": ("f'{x!r:{y}} {z=}'", "x y z"),
    "declared only": ("global x", ""),
}


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_read_names(text: str, expected: str) -> None:
    assert read_names(body(text)) == names(expected)


SCOPES = {
    "parameters": (
        "def f(a, /, b, *c, d, **e): return g",
        {"params": "a b c d e", "locals": "a b c d e", "free": "g"},
    ),
    "defaults and annotations are outside": (
        "def f(a: x = y) -> z: pass",
        {"params": "a", "locals": "a"},
    ),
    "global": (
        "def f():\n global x, y\n x = y\n z = 1",
        {"locals": "z", "globals": "x y", "free": "y"},
    ),
    "nonlocal": (
        "def f():\n nonlocal x, y\n x = 1",
        {"nonlocals": "x y", "free": "x y"},
    ),
    "declared without a value": (
        "def f():\n x: int\n (y): int\n return x, y",
        {"locals": "x", "free": "y"},
    ),
    "captured by a function": (
        "def f(a, b):\n def g(): return a\n c = b",
        {"params": "a b", "locals": "a b c g", "captured": "a"},
    ),
    "captured after it was read": (
        "def f():\n x = 1\n y = x\n return lambda: y",
        {"locals": "x y", "captured": "y"},
    ),
    "captured from two deep": (
        "def f(a):\n def g():\n  def h(): return a\n  return h",
        {"params": "a", "locals": "a g", "captured": "a"},
    ),
    "shadowed in between": (
        "def f(a):\n def g(a):\n  def h(): return a\n  return h",
        {"params": "a", "locals": "a g"},
    ),
    "recursive": (
        "def f():\n def g(): return g",
        {"locals": "g", "captured": "g"},
    ),
    "rebound": (
        "def f(x, y):\n def g():\n  nonlocal x\n  x = y",
        {"params": "x y", "locals": "x y g", "captured": "x y", "rebound_inside": "x"},
    ),
    "rebound from two deep": (
        "def f(x):\n def g():\n  def h():\n   nonlocal x\n   x = 1",
        {"params": "x", "locals": "x g", "captured": "x", "rebound_inside": "x"},
    ),
    "deleted inside": (
        "def f(x):\n def g():\n  nonlocal x\n  del x",
        {"params": "x", "locals": "x g", "captured": "x", "rebound_inside": "x"},
    ),
    "global inside is another variable": (
        "def f(x):\n def g():\n  global x\n  return x",
        {"params": "x", "locals": "x g", "free": "x"},
    ),
    "global here, read inside": (
        "def f():\n global x\n x = 1\n def g(): return x",
        {"locals": "g", "globals": "x", "free": "x"},
    ),
    "nonlocal here, rebound inside": (
        "def f():\n nonlocal x\n def g():\n  nonlocal x\n  x = 1",
        {"locals": "g", "nonlocals": "x", "free": "x"},
    ),
    "comprehensions read at once": (
        "def f(a, b, c, d):\n return [x + a for x in b], {x: c for x in b}, {d for x in b}",
        {"params": "a b c d", "locals": "a b c d"},
    ),
    "a generator reads later, but its first iterable at once": (
        "def f(a, b, c): return (x + a for x in b for y in c)",
        {"params": "a b c", "locals": "a b c", "captured": "a c"},
    ),
    "a generator inside a comprehension": (
        "def f(a, b): return [(x + a for y in x) for x in b]",
        {"params": "a b", "locals": "a b", "captured": "a"},
    ),
    "a lambda in a comprehension keeps its target, not ours": (
        "def f(a, x): return [lambda: x + a for x in a]",
        {"params": "a x", "locals": "a x", "captured": "a"},
    ),
    "walrus in a comprehension": (
        "def f(a): return [(y := x) for x in a]",
        {"params": "a", "locals": "a y"},
    ),
    "walrus in a generator": (
        "def f(a): return ((y := x) for x in a)",
        {"params": "a", "locals": "a y", "captured": "y", "rebound_inside": "y"},
    ),
    "walrus in a generator to a global": (
        "def f(a):\n def g():\n  global x\n  return ((x := y) for y in a)\n x = 1",
        {"params": "a", "locals": "a g x", "captured": "a"},
    ),
    "class body": (
        "def f(a, b, c):\n class C(a):\n  x = b\n  def m(self): return c",
        {"params": "a b c", "locals": "a b c C", "captured": "b c"},
    ),
    "a class reads its own name first": (
        "def f(x, y):\n class C:\n  x = 1\n  y = x",
        {"params": "x y", "locals": "x y C"},
    ),
    "nonlocal in a class body": (
        "def f(x):\n class C:\n  nonlocal x\n  x = 1",
        {"params": "x", "locals": "x C", "captured": "x", "rebound_inside": "x"},
    ),
    "annotations in a class body are evaluated": (
        "def f(t):\n class C:\n  x: t\n  y: t = 1",
        {"params": "t", "locals": "t C", "captured": "t"},
    ),
    "__class__ of a class inside is its own": (
        "def f(__class__):\n class C:\n  def m(self): return __class__",
        {"params": "__class__", "locals": "__class__ C"},
    ),
    "lambda": (
        "lambda x, y=z: x + y + w",
        {"params": "x y", "locals": "x y", "free": "w"},
    ),
    "handler, import, with, for": (
        "def f():\n try: import a.b\n except E as e: pass\n with w as v:\n  for i in v: pass",
        {"locals": "a e v i", "free": "E w"},
    ),
    "async": (
        "async def f(a):\n async with a as b:\n  return [x async for x in b]",
        {"params": "a", "locals": "a b"},
    ),
}


@pytest.mark.parametrize(("text", "expected"), SCOPES.values(), ids=SCOPES)
def test_function_scope(text: str, expected: dict[str, str]) -> None:
    node = body(text)[0]
    scope = function_scope(node.value if isinstance(node, gast.Expr) else node)
    assert dataclasses.asdict(scope) == {
        field.name: names(expected.get(field.name, "")) for field in dataclasses.fields(FunctionScope)
    }


def test_scopes_of_nested_functions() -> None:
    function = body(
        """
        def f(a):
            def g(b):
                return a + b + c
            class C:
                def m(self): return a
            return [lambda d: d + x for x in g(lambda: a)]
        """
    )[0]
    found = scopes(function)
    named = {getattr(node, "name", "lambda " + " ".join(sorted(s.params))): s for node, s in found.items()}
    assert {name: set(scope.free) for name, scope in named.items()} == {
        "f": {"c"},
        "g": {"a", "c"},
        "m": {"a"},
        "lambda d": {"x"},
        "lambda ": {"a"},
    }
    assert found[function] == function_scope(function)


def test_scopes_are_values() -> None:
    function = body("def f(a): return lambda: a")[0]
    before = gast.dump(function, include_attributes=True)
    found = scopes(function)
    with pytest.raises(TypeError):
        found[function] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[function].params = frozenset()
    assert gast.dump(function, include_attributes=True) == before
    assert all(set(vars(node)) <= {*node._fields, *node._attributes} for node in gast.walk(function))


TYPE_PARAMETERS = {
    "function": ("def f(a):\n def g[T: a](x: T) -> T: return T, a", "a g", "a", ""),
    "class": ("def f(a):\n class C[T](a[T]):\n  def m(self) -> T: return T", "a C", "", ""),
    "alias": ("def f(a):\n type A[T] = a[T]", "a A", "a", ""),
    "own": ("def f[T](a: T): return T, a", "a", "", "T"),
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
@pytest.mark.parametrize(("text", "own", "captured", "free"), TYPE_PARAMETERS.values(), ids=TYPE_PARAMETERS)
def test_type_parameters(text: str, own: str, captured: str, free: str) -> None:
    scope = scope_of(text)
    assert (scope.locals, scope.captured, scope.free) == (names(own), names(captured), names(free))
