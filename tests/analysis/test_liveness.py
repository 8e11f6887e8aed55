"""Liveness: never dead when it may be read, and dead when it may not.

Programs say in comments what is expected: the names live after a statement, and at the head of a loop. Then
they are run by chance many times, and what is seen live must be what was said to be, no more and no less.
"""

from __future__ import annotations

import re
from textwrap import dedent

import gast
import pytest

from imp2tf.analysis.liveness import Liveness, liveness
from imp2tf.analysis.scopes import function_scope
from tests.analysis.execution import observed_liveness
from tests.analysis.programs import random_function

SIMPLE = {
    "straight line": """
        def f(a, b):
            c = a + b   # after: a c
            d = c       # after: a d
            d = d + a   # after: d
            return d    # after:
        """,
    "assigned again before it is read": """
        def f(a):
            b = a       # after: a
            b = 1       # after: a b
            return a, b
        """,
    "unpacking": """
        def f(a):
            b, (c, *d) = a      # after: b d
            b, d = d, b         # after: b d
            return b, d
        """,
    "augmented assignment reads": """
        def f(a, b):
            c = 1       # after: a b c
            c += a      # after: b c
            b += c      # after: b
            return b
        """,
    "targets that read": """
        def f(a, i):
            pass            # after: a i
            a[i] = 1        # after: a i
            a[i] += 1       # after: a
            a.x = 1         # after: a
            return a
        """,
    "annotation": """
        def f(a):
            b: a = 1        # after: a b
            c: a            # after: a b
            return a, b
        """,
    "deletion reads and kills": """
        def f(a, b):
            pass        # after: a b
            del a       # after: b
            a = b       # after: a
            return a
        """,
    "definitions and imports bind": """
        def f(a, g, C, m, n):
            pass                # after: a
            def g(x=a): pass    # after: a g
            class C(a): pass    # after: g C
            import m.k          # after: g C m
            from m import n     # after: g C m n
            return g, C, m, n
        """,
    "walrus": """
        def f(a, b):
            g(b := a)               # after: a b
            if (c := a) and c:      # after: b d
                d = c               # after: b d
            else:
                d = 1               # after: b d
            return b, d
        """,
    "walrus on one path only": """
        def f(a, b, c):
            pass                    # after: a b c
            a and (b := a)          # after: a b c
            (c := 1) if a else 1    # after: b c
            return b, c
        """,
    "walrus read earlier in the expression": """
        def f(a):
            pass            # after: a
            g(a, (a := 1))  # after: a
            return a
        """,
    "dict items in their order": """
        def f(a, b, c):
            pass                        # after: a c
            x = {1: a, (a := 2): c}     # after: a x
            return a, x
        """,
    "comparison chain": """
        def f(a, b, c):
            pass                            # after: a c
            d = a < (b := 1) < (c := 2)     # after: b c d
            return b, c, d
        """,
    "assertion": """
        def f(a, b):
            pass            # after: a b
            assert a, b     # after: b
            return b
        """,
}

BRANCHES = {
    "if": """
        def f(a, b):
            if a:           # after: b c
                c = b       # after: b c
            else:
                c = 1       # after: b c
            return b, c
        """,
    "bound in one branch": """
        def f(a, b):
            c = 1           # after: a c
            if a:           # after: c
                c = 2       # after: c
            return c
        """,
    "branch that leaves": """
        def f(a, b):
            pass            # after: a b
            if a:           # after: b
                return a
            return b
        """,
    "match": """
        def f(a, b, c, x):
            match a:                    # after: b c
                case [b, P(x)]:
                    c = x               # after: b c
                case {'k': c} if x:
                    pass                # after: b c
                case P.q:
                    b = x               # after: b c
            return b, c
        """,
    "captured, then the guard fails": """
        def f(a, b):
            match a:                    # after:
                case [b] if a:
                    g(b)                # after:
                case 1:
                    g(b)                # after:
        """,
    "match that takes all": """
        def f(a, b):
            pass                        # after: a
            match a:                    # after: b
                case 1:
                    b = 1               # after: b
                case b:
                    pass                # after: b
            return b
        """,
}

LOOPS = {
    "while": """
        def f(n):
            t = 0               # after: n t
            while n:            # after: t; head: n t
                x = n           # after: n t x
                t += x          # after: n t
                n -= 1          # after: n t
            return t
        """,
    "made anew each turn": """
        def f(n, w):
            for i in n:                 # after:; head: w
                with w as tape:         # after: tape w
                    pass                # after: tape w
                w = tape.gradient(w)    # after: w
        """,
    "kept from turn to turn": """
        def f(n):
            last = 0                # after: last n
            for i in n:             # after: last; head: last
                if i:               # after: i
                    g(last)         # after: i
                last = i            # after: last
            return last
        """,
    "target after the loop": """
        def f(n, i):
            pass                # after: i n
            for i in n:         # after: i; head: i
                pass            # after: i
            return i
        """,
    "break": """
        def f(n, a, b):
            while n:            # after: b; head: a b n
                if a:           # after: a n
                    b = 1       # after: b
                    break
                b = a           # after: a b n
            return b
        """,
    "continue": """
        def f(n, a):
            while n:            # after:; head: a n
                if a:           # after: n
                    a = 1       # after: a n
                    continue
                a = n           # after: a n
        """,
    "else": """
        def f(n, a, b):
            for i in n:         # after: a; head: b
                if i:           # after: b
                    a = 1       # after: a
                    break
            else:
                a = b           # after: a
            return a
        """,
    "endless": """
        def f(a, b):
            while True:         # after: b; head: a
                if a:           # after: a
                    b = a       # after: b
                    break
            return b
        """,
    "nested": """
        def f(n, m):
            t = 0                   # after: m n t
            for i in n:             # after: t; head: m t
                s = 0               # after: i m s t
                for j in m:         # after: m s t; head: i m s t
                    s += i * j      # after: i m s t
                t += s              # after: m t
            return t
        """,
    "walrus in the test": """
        def f(a, x):
            while (x := g(a)):      # after:; head: a
                h(x)                # after: a
        """,
    "return out of nested loops": """
        def f(n, a):
            while n:                # after:; head: a n
                while n:            # after: a n; head: a n
                    return a
        """,
}

EXCEPTIONS = {
    "handler": """
        def f(a, b):
            x = 1               # after: a x
            try:                # after: x
                x = a           # after: a x
                x = g(a)        # after: x
            except E:
                g(x)            # after: x
            return x
        """,
    "what the handler does not read": """
        def f(a, b):
            pass                # after: a
            try:                # after: x
                x = a           # after: x
            except E:
                x = 1           # after: x
            return x
        """,
    "name of the exception": """
        def f(a, e):
            pass                    # after: a
            try:                    # after: a
                g(a)                # after: a
            except E as e:
                a = e               # after: a
            return a
        """,
    "several handlers": """
        def f(a, b, E):
            try:                    # after: b
                b = g()             # after: b
            except E:
                pass                # after: b
            except a:
                b = 1               # after: b
            except:
                b = 2               # after: b
            return b
        """,
    "else of try": """
        def f(a, b):
            try:                # after: b
                g()             # after: a
            except E:
                b = 1           # after: b
            else:
                b = a           # after: b
            return b
        """,
    "finally": """
        def f(a, b, c):
            pass                # after: a b c
            try:                # after: b
                a = b           # after: a c
                b = c           # after: a b
            finally:
                g(a)            # after: b
            return b
        """,
    "return through finally": """
        def f(a, b):
            try:                    # after: b
                if a:               # after: b
                    return a
            finally:
                g(b)                # after: b
            return b
        """,
    "break through finally": """
        def f(n, a, b):
            while n:                # after: a; head: a b n
                try:                # after: a b n
                    if b:           # after: a b
                        break
                finally:
                    n = b           # after: a b n
            return a
        """,
    "exception from a loop": """
        def f(n, a):
            try:                    # after: a
                for i in n:         # after: a; head: a
                    a = i           # after: a
                    a = g()         # after: a
            except E:
                pass                # after: a
            return a
        """,
    "with may swallow": """
        def f(a, x):
            with a:             # after: x
                x = g()         # after: x
                x = h()         # after: x
            return x
        """,
    "names bound by with": """
        def f(a, x, y):
            with a as x, x as (y, z):   # after: x y
                g(z)                    # after: x y
            return x, y
        """,
    "raise": """
        def f(a, b):
            try:                    # after: b
                if a:               # after: b
                    b = 1           # after: b
                    raise E
            except E:
                g(b)                # after: b
            return b
        """,
}

COMPOUND = {**BRANCHES, **LOOPS, **EXCEPTIONS}
PROGRAMS = {**SIMPLE, **COMPOUND}


def function(text: str) -> gast.FunctionDef:
    return gast.parse(dedent(text)).body[0]


def expected_sets(text: str) -> dict[tuple[str, int], set[str]]:
    """What the comments say, by kind and line."""
    found = {}
    for number, line in enumerate(dedent(text).splitlines(), 1):
        for kind, names in re.findall(r"(after|head):([\w ]*)", line.partition("#")[2]):
            found[kind, number] = set(names.split())
    return found


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_live_names(text: str) -> None:
    live = liveness(function(text))
    found = {
        (kind, stmt.lineno): set(names)
        for kind, sets in (("after", live.after), ("head", live.head))
        for stmt, names in sets.items()
    }
    expected = expected_sets(text)
    assert {point: found[point] for point in expected} == expected
    assert all(point in expected for point in found if point[0] == "head")


@pytest.mark.parametrize("text", COMPOUND.values(), ids=COMPOUND)
def test_live_names_are_those_seen_by_running(text: str) -> None:
    fn = function(text)
    live, own = liveness(fn), function_scope(fn).locals
    for (kind, stmt), seen in observed_liveness(fn, runs=3000).items():
        assert getattr(live, kind)[stmt] == seen & own, f"{kind} line {stmt.lineno}"


@pytest.mark.parametrize("seed", range(60))
def test_nothing_seen_live_is_called_dead(seed: int) -> None:
    text = random_function(seed)
    compile(text, "random program", "exec")
    fn = function(text)
    live, own = liveness(fn), function_scope(fn).locals
    for (kind, stmt), seen in observed_liveness(fn, runs=200, seed=seed).items():
        assert seen & own <= getattr(live, kind)[stmt], f"{kind} line {stmt.lineno}:\n{text}"


def live_at(text: str, line: int) -> set[str]:
    """The names live after the statement of ``line``, counted from 1."""
    return next(set(names) for stmt, names in liveness(function(text)).after.items() if stmt.lineno == line)


EVERYWHERE = {
    "function": ("def f(x, y):\n    pass\n    def g(): return x\n    x = 1", "x"),
    "lambda": ("def f(x, y):\n    pass\n    g = lambda: x\n    x = 1", "x"),
    "generator": ("def f(x, y):\n    pass\n    g = (x for _ in y)", "x y"),
    "class": ("def f(x, y):\n    pass\n    class C:\n        z = x", "x"),
    "rebound inside": ("def f(x, y):\n    pass\n    def g():\n        nonlocal x\n        x = 1", "x"),
    "comprehension reads at once": ("def f(x, y):\n    pass\n    x = 1\n    [x for _ in 'a']", ""),
    "global": ("def f():\n    pass\n    global x\n    x = 1", "x"),
    "declared nonlocal": ("def f():\n    pass\n    nonlocal x\n    x = 1", "x"),
}


@pytest.mark.parametrize(("text", "expected"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_names_that_others_can_see(text: str, expected: str) -> None:
    assert live_at(text, 2) == set(expected.split())


LOCALS = {
    "locals()": "x y",
    "vars()": "x y",
    "dir()": "x y",
    "eval(s)": "x y",
    "exec('x')": "x y",
    "[locals() for _ in 'a']": "x y",
    "vars(x)": "x",
    "eval(s, {})": "",
    "super()": "x",
    "[super() for _ in 'a']": "x",
    "super(x, y)": "x y",
    "o.locals()": "",
}


@pytest.mark.parametrize(("call", "expected"), LOCALS.items(), ids=LOCALS)
def test_calls_that_see_locals(call: str, expected: str) -> None:
    assert live_at(f"def f(x, y):\n    pass\n    {call}", 2) == set(expected.split())


def test_except_star() -> None:
    fn = function(
        """\
        def f(a, b):
            pass
            try: g()
            except E: b = 1
            except F: h(a, b)
            return b
        """
    )
    plain = fn.body[1]  # Python 3.10 cannot parse the star.
    star = gast.TryStar(plain.body, plain.handlers, plain.orelse, plain.finalbody)
    fn.body[1] = gast.copy_location(star, plain)
    after = {stmt.lineno: set(names) for stmt, names in liveness(fn).after.items()}
    assert after[2] == {"a", "b"}
    assert after[4] == {"a", "b"}  # the second handler may run after the first
    assert after[5] == {"b"}


def test_manager_known_not_to_swallow() -> None:
    fn = function(
        """
        def f(n, x):
            for i in n:
                with tape() as t, quiet():
                    x = g(i)
                    x = x + 1
                h(x, t)
        """
    )

    def may_swallow(item: gast.withitem) -> bool:
        return item.context_expr.func.id != "tape"

    def head(live: Liveness) -> set[str]:
        return set(live.head[fn.body[0]])

    assert head(liveness(fn)) == {"x"}
    assert head(liveness(fn, may_swallow)) == {"x"}
    assert head(liveness(fn, lambda item: False)) == set()


def test_coroutines() -> None:
    fn = function(
        """
        async def f(a, b):
            async for i in a:
                async with b as c:
                    await c
            return i
        """
    )
    assert {stmt.lineno: set(names) for stmt, names in liveness(fn).head.items()} == {3: {"b", "i"}}


def test_result_is_a_value() -> None:
    fn = function(PROGRAMS["nested"])
    before = gast.dump(fn, include_attributes=True)
    live = liveness(fn)
    with pytest.raises(TypeError):
        live.after[fn.body[0]] = frozenset()
    assert gast.dump(fn, include_attributes=True) == before
    assert all(set(vars(node)) <= {*node._fields, *node._attributes} for node in gast.walk(fn))
