"""Exits, yields and awaits are read off the form of a statement."""

from __future__ import annotations

from textwrap import dedent

import gast
import pytest

from imp2tf.analysis.flow import always_exits, has_await, has_yield, may_exit


def body(text: str) -> list[gast.stmt]:
    return gast.parse(dedent(text)).body


MAY_EXIT = {
    "return": ("return x", True),
    "break": ("break", True),
    "continue": ("continue", True),
    "raise is no exit": ("raise E", False),
    "expression": ("f()", False),
    "return in a branch": ("if x: pass\nelse: return", True),
    "break in a branch": ("if x: break", True),
    "break of its own loop": ("while x: break", False),
    "continue of its own loop": ("for i in x:\n if i: continue", False),
    "return in a loop": ("for i in x:\n if i: return", True),
    "break of a nested loop": ("for i in x:\n while i: break", False),
    "break in the else of a loop": ("while x: pass\nelse: break", True),
    "break in the else of a nested loop": ("for i in x:\n while i: pass\n else: break", False),
    "return in the else of a nested loop": ("for i in x:\n while i: pass\n else: return", True),
    "return in try": ("try: return\nexcept E: pass", True),
    "break in a handler": ("try: pass\nexcept E: break", True),
    "continue in finally": ("try: pass\nfinally:\n if x: continue", True),
    "break in the else of try": ("try: pass\nexcept E: pass\nelse: break", True),
    "return in with": ("with x: return", True),
    "return in a case": ("match x:\n case 1: return\n case _: pass", True),
    "no exit in a case": ("match x:\n case 1: pass", False),
    "return of a nested function": ("def f(): return", False),
    "return of a method": ("class C:\n def m(self): return", False),
    "loop in a class body": ("class C:\n for i in x: break", False),
}


@pytest.mark.parametrize(("text", "expected"), MAY_EXIT.values(), ids=MAY_EXIT)
def test_may_exit(text: str, expected: bool) -> None:
    (stmt,) = body(text)
    assert may_exit(stmt) is expected


ALWAYS_EXITS = {
    "nothing": ("pass", False),
    "return": ("x = 1\nreturn x", True),
    "raise": ("raise E", True),
    "break": ("break", True),
    "dead code after it": ("continue\nx = 1", True),
    "assert": ("assert False", False),
    "both branches": ("if x: return\nelse: raise E", True),
    "one branch": ("if x: return", False),
    "elif without else": ("if x: return\nelif y: return", False),
    "elif and else": ("if x: return\nelif y: break\nelse: continue", True),
    "branch, then the rest": ("if x: return\nreturn 1", True),
    "while": ("while x: return", False),
    "endless": ("while True: f()", True),
    "endless by a number": ("while 1: f()", True),
    "endless with break": ("while True:\n if x: break", False),
    "endless with break of a nested loop": ("while True:\n for i in x: break", True),
    "endless with break in the else of a nested loop": (
        "while True:\n for i in x: pass\n else: break",
        False,
    ),
    "while False": ("while False: return", False),
    "else of a loop": ("for i in x: f()\nelse: return", True),
    "else of a loop that breaks": ("for i in x: break\nelse: return", False),
    "with may swallow": ("with x: return", False),
    "try": ("try: return\nexcept E: pass", False),
    "try and handlers": ("try: return\nexcept E: raise\nexcept F: return", True),
    "else and handlers": ("try: f()\nexcept E: return\nelse: return", True),
    "handlers only": ("try: f()\nexcept E: return", False),
    "finally": ("try: f()\nexcept E: pass\nfinally: return", True),
    "try with finally": ("try: return\nfinally: f()", True),
    "match with wildcard": ("match x:\n case 1: return\n case _: raise E", True),
    "match with capture": ("match x:\n case 1: return\n case y: return", True),
    "match with guard": ("match x:\n case y if y: return", False),
    "match without wildcard": ("match x:\n case 1: return\n case 2: return", False),
    "match with an alternative that takes all": ("match x:\n case 1 | _: return", True),
    "match with one case that goes on": ("match x:\n case 1: pass\n case _: return", False),
    "nested function": ("def f(): return", False),
}


@pytest.mark.parametrize(("text", "expected"), ALWAYS_EXITS.values(), ids=ALWAYS_EXITS)
def test_always_exits(text: str, expected: bool) -> None:
    assert always_exits(body(text)) is expected


GENERATORS = {
    "yield": ("def f(): yield 1", True),
    "yield from": ("def f():\n if x: y = yield from z", True),
    "nothing": ("def f(): return 1", False),
    "nested function": ("def f():\n def g(): yield", False),
    "nested lambda": ("def f(): return lambda: (yield)", False),
    "default of a nested function": ("def f():\n def g(x=(yield)): pass", True),
    "lambda": ("lambda: (yield)", True),
    "class inside": ("def f():\n class C:\n  def m(self): yield", False),
}


@pytest.mark.parametrize(("text", "expected"), GENERATORS.values(), ids=GENERATORS)
def test_has_yield(text: str, expected: bool) -> None:
    (stmt,) = body(text)
    assert has_yield(stmt.value if isinstance(stmt, gast.Expr) else stmt) is expected


COROUTINES = {
    "await": ("async def f(): await x", True),
    "nothing": ("async def f(): return x", False),
    "async for": ("async def f():\n async for i in x: pass", True),
    "async with": ("async def f():\n async with x: pass", True),
    "async comprehension": ("async def f(): return [i async for i in x]", True),
    "await in a comprehension": ("async def f(): return [await i for i in x]", True),
    "async generator expression": ("async def f(): return (i async for i in x)", False),
    "await in its first iterable": ("async def f(): return (i for i in await x)", True),
    "nested function": ("async def f():\n async def g(): await x", False),
}


@pytest.mark.parametrize(("text", "expected"), COROUTINES.values(), ids=COROUTINES)
def test_has_await(text: str, expected: bool) -> None:
    (function,) = body(text)
    assert has_await(function) is expected
