"""Whole programs: a module with a function, what it uses, and ``make()`` that gives the calls to make."""
from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass

from tests.fuzz.blocks import write_body, write_return
from tests.fuzz.rules import EXPRESSIONS
from tests.fuzz.scope import Scope
from tests.fuzz.writing import Language, Writer

NAMES = ("a", "b", "c", "d", "e", "g", "h")
PARAMETERS = {
    "x": "f", "n": "int", "v": "v", "box": "box", "y": "f", "m": "i", "items": "lt", "table": "dict", "flag": "bool",
    "mode": "str", "option": "any", "numbers": "li", "w": "float",
}
ALWAYS = ("x", "n", "v", "box")
SIZES = (2, 3, 3, 5, 5, 8, 8, 12, 20)    # statements: a small program takes a tenth of the time of a large one
DEFAULTS = {"y": "tf.constant(0.5)", "flag": "False", "mode": '"low"', "option": "None", "w": "0.5"}

PRELUDE = '''\
"""Random program {seed}."""
import contextlib
import dataclasses
import functools

import tensorflow as tf

G = 2
G_T = tf.constant(1.5)
G_L = [1, 2]
G_D = {{"a": tf.constant(1.0)}}


class Odd(Exception):
    pass


class Note:
    def __init__(self, name, swallow=False):
        self.name = name
        self.swallow = swallow

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, kind, error, trace):
        print("exit", self.name, kind is None)
        return self.swallow


@contextlib.contextmanager
def managed(name):
    print("in", name)
    try:
        yield name
    finally:
        print("out", name)


@dataclasses.dataclass
class Point:
    a: object
    b: int = 0

    def moved(self, by):
        return Point(self.a + by, self.b + 1)


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def checked(x, limit=2.0):
    if x > limit:
        raise Odd("big", float(x))
    if x < -1.5:
        raise ValueError(f"small {{float(x):.1f}}")
    return x * 0.5


def careful(x):
    try:
        return checked(x, 1.0)
    except Odd as error:
        log(error.args[0])
        return x - 1.0
    finally:
        G_D["n"] = x


def steps(v):
    for e in v:
        if e > 2.5:
            return
        yield e + 1.0


def picky(v):
    for e in v:
        yield checked(e)


def counter():
    n = 0

    def step(by=1):
        nonlocal n
        n += by
        return n

    return step


def log(value):
    G_L.append(value)


def counted():
    global G
    G = (G + 1) % 7
    return G


def G_set(k):
    global G
    G = k


'''
BOX = '''\
class Box:
    def __init__(self):
        self.total = tf.constant(0.0)
        self.count = 0
        self.items = []
        self.note = "low"
        self.scale = 2
        self.var = tf.Variable(1.0)
        self.point = Point(tf.constant(1.0))
        self.step = counter()

    def bump(self, by=1):
        self.count = (self.count + by) % 9
        return self.count

    @property
    def double(self):
        return self.total * self.scale

    @property
    def half(self):
        return self.total * 0.5

    @half.setter
    def half(self, value):
        self.total = value * 2.0

'''
STEPS = {
    'setattr(box, "scale", {small})': 2.0, "globals().update(G={small})": 2.0, "G_L.append({small})": 0.7, "box.items.clear()": 0.7,
    'setattr(box, "total", {f})': 1.5, 'setattr(box, "note", {any})': 1.0, 'setattr(box, "count", {small})': 1.5,
    'globals().update(G_T={f})': 1.0, "box.var.assign({const})": 1.0, "box.items.append({f})": 1.0, 'G_D.update(a={f})': 0.7,
    'setattr(box, "extra", {any})': 0.7, 'setattr(Box, "method", lambda self, x: x - 1.0)': 0.3, "tables[0].update(b={small})": 0.5,
    "box.point.moved(1.0)": 0.3, 'setattr(box, "point", Point({f}, {small}))': 0.7, "setattr(box.point, \"a\", {f})": 0.7, "box.step()": 0.5,
    'globals().update(checked=lambda x, limit=2.0: x + 1.0)': 0.2,
    "lists[0].append({f})": 0.7, "lists[0].clear()": 0.3, 'globals().update(helper=lambda x, k=2: x + k)': 0.2,
}
VALUES = {
    "f": {"tf.constant({const})": 1.0}, "int": {"{small}": 3.0, "5": 1.0, "7": 0.5}, "i": {"tf.constant({small})": 1.0},
    "v": {"tf.constant([1.0, -2.0, 3.0])": 2.0, "tf.constant([0.5, 0.5, -1.0])": 2.0, "tf.constant([2.0, 1.0])": 1.0,
          "tf.constant([{const}, {const}, {const}, {const}])": 0.6},
    "box": {"box": 1.0}, "lt": {"lists[0]": 2.0, "lists[1]": 1.0, "[{f}, {f}]": 2.0, "[]": 0.4}, "dict": {"tables[0]": 1.0},
    "bool": {"True": 1.0, "False": 1.0}, "str": {'"low"': 1.0, '"high"': 1.0},
    "any": {"None": 2.0, "{f}": 1.5, "{small}": 1.0, '"low"': 1.0, "0.5": 0.5, "tf.constant({small})": 0.5}, "li": {"[1, 2]": 1.0, "numbers": 1.0},
    "float": {"{const}": 1.0},
}


@dataclass(frozen=True)
class Program:
    """A module's text, and whether gradients are compared as well."""

    seed: str
    text: str
    grad: bool = False


def write_program(seed: str) -> Program:
    """The program of this seed; the same seed gives the same program."""
    rng = random.Random(seed)
    language = Language.sample(rng)
    parameters = [*ALWAYS, *(name for name in PARAMETERS if name not in ALWAYS and rng.random() < 0.3)]
    parts = [PRELUDE.format(seed=seed), _helpers(rng, language), BOX, *_methods(rng, language), "\n",
             _main(rng, language, parameters), "\n\n", _calls(rng, parameters)]
    return Program(seed, _without_unused("".join(parts)), grad=rng.random() < 0.25)


def _without_unused(text: str) -> str:
    """The module without functions, methods and classes that nothing mentions."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    spans = {}
    for node in [*tree.body, *(one for cls in classes for one in cls.body)]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("__") and node.name not in ("make", "Box"):
            spans[node] = range(min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1, node.end_lineno or node.lineno)
    words = [set(re.findall(r"\w+", line)) for line in lines]
    changed = True
    while changed:
        changed = False
        for node, span in list(spans.items()):
            if not any(node.name in found for number, found in enumerate(words) if number not in span):
                for number in span:
                    lines[number], words[number] = "", set()
                del spans[node]
                changed = True
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines))


def _helpers(rng: random.Random, language: Language) -> str:
    heads = {
        "def helper(x, k=2):": {"x": "f", "k": "int"},
        "def several(x, *rest, scale=1):": {"x": "f", "scale": "int"},
    }
    texts = [_function(rng, language, head, kinds, ("p", "q", "r")) for head, kinds in heads.items()]
    stop = rng.choice(["depth <= 0", "depth <= 0 or x > 3.0", "not depth"])
    texts.append(f"def recur(x, depth):\n    if {stop}:\n        return x\n    return recur(x * 0.5, depth - 1) + 1.0\n")
    texts.append(f"def pair(x):\n    {rng.choice(['return x * 2.0, 1', 'return (x, 0) if x > 0.5 else (x - 1.0, 3)'])}\n")
    return "\n\n".join(texts) + "\n\n"


def _methods(rng: random.Random, language: Language) -> list[str]:
    heads = ("    def add(self, x):", "    def method(self, x):")
    return [_function(rng, language, head, {"x": "f", "self": "box"}, ("p", "q", "r"), indent=2) + "\n" for head in heads]


def _function(rng: random.Random, language: Language, head: str, kinds: dict[str, str], pool: tuple[str, ...], indent: int = 1) -> str:
    """A helper that returns an f; it may not call other generated ones, so that the program ends."""
    def calls(rule: str) -> bool:
        return any(name in rule for name in ("helper(", "several(", ".add(", ".method", "recur(", "{fn}", "{=fn}", "helper"))

    quiet = Language(
        {kind: {rule: weight for rule, weight in rules.items() if not calls(rule)} for kind, rules in language.expressions.items()},
        {rule: weight for rule, weight in language.statements.items() if not calls(rule)})
    scope = Scope(dict(kinds), fixed={"self"})
    w = Writer(rng, quiet, scope, pool, "f", budget=4, indent=indent)
    write_body(w, rng.randint(0, 3))
    write_return(w)
    return "\n".join([head, *w.lines, ""])


def _main(rng: random.Random, language: Language, parameters: list[str]) -> str:
    scope = Scope({name: PARAMETERS[name] for name in parameters}, fixed={"box"})
    w = Writer(rng, language, scope, NAMES, budget=rng.choice(SIZES))
    if rng.random() < 0.25:
        w.line("global G")
        scope.bind("G", "int")
    if rng.random() < 0.15:
        w.line("global G_T")
        scope.bind("G_T", "f")
    for _ in range(rng.randint(0, 3)):
        w.line(w.statement())
    write_body(w, rng.randint(1, 4))
    write_return(w)
    given = [name if name in ALWAYS else f"{name}={DEFAULTS[name]}" for name in parameters if name in ALWAYS or name in DEFAULTS]
    required = [name for name in parameters if name not in ALWAYS and name not in DEFAULTS]
    star = ["*"] if required or rng.random() < 0.3 else []
    return "\n".join([f"def f({', '.join([*given, *star, *required])}):".replace(", *)", ")"), *w.lines, ""])


def _calls(rng: random.Random, parameters: list[str]) -> str:
    w = Writer(rng, Language({**EXPRESSIONS, **VALUES}, {}), Scope(), ())
    made: list[str] = []
    for turn in range(rng.randint(3, 6)):
        arguments = rng.choice(made) if made and rng.random() < 0.3 else _arguments(w, parameters)
        made.append(arguments)
        if turn and rng.random() < 0.35:
            arguments = f"{arguments}, lambda: {w.fill(w.pick(STEPS))}"
        made[-1], arguments = arguments.split(", lambda: ")[0], arguments
        w.lines.append(f"        ({arguments}),")
    return "\n".join([
        "def make():", "    box = Box()", "    lists = [[tf.constant(1.0), tf.constant(2.0)], []]", "    numbers = [3, 1]",
        '    tables = [{"a": tf.constant(1.0), "b": 1}]', "    calls = [", *w.lines, "    ]",
        '    state = lambda: {"box": box, "lists": lists, "tables": tables, "globals": (G, G_T, G_L, G_D)}',
        "    return f, calls, state", ""])


def _arguments(w: Writer, parameters: list[str]) -> str:
    positional = ", ".join(w.expression(PARAMETERS[name]) for name in ALWAYS)
    keywords = ", ".join(f'"{name}": {w.expression(PARAMETERS[name])}' for name in parameters
                         if name not in ALWAYS and (name not in DEFAULTS or w.rng.random() < 0.7))
    return f"({positional}), {{{keywords}}}"
