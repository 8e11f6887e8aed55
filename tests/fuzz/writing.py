"""Fills the templates of the grammar: expressions and simple statements, in the scope of the place being written."""
from __future__ import annotations

import contextlib
import functools
import random
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.fuzz.rules import EXPRESSIONS, STATEMENTS, Rules
from tests.fuzz.scope import UNKNOWN, Scope

_PART = re.compile(r"\{\{|\}\}|\{([=+~]?)(\w+)\}")
TERMINALS = {"trip_const", "small", "const", "bool_const", "key", "attr"}
MAX_DEPTH = 3
TRIES = 20
COMMON = 4.0         # rules of this weight and more are in every program
READ_MAYBE = 0.02    # how often a name is read that may be unbound
NEW_KIND = 0.1       # how often a name is bound to a value of another kind than before


class CannotFill(Exception):
    """No template of a kind has all the names it needs."""


@functools.cache
def parts_of(template: str) -> tuple[tuple[str, str], ...]:
    """A template as pairs of mark and kind; text has the mark ``"text"``."""
    parts: list[tuple[str, str]] = []
    end = 0
    for match in _PART.finditer(template):
        parts.append(("text", template[end:match.start()]))
        end = match.end()
        parts.append((match[1], match[2]) if match[2] else ("text", match[0][0]))
    return (*parts, ("text", template[end:]))


@dataclass(frozen=True)
class Language:
    """What one program is written in: a random part of the rules, so that programs differ more from each other."""

    expressions: Rules
    statements: dict[str, float]

    @classmethod
    def sample(cls, rng: random.Random) -> Language:
        """A language of its own for one program."""
        def some(rules: dict[str, float], share: float) -> dict[str, float]:
            return {rule: weight * rng.choice((0.5, 1, 3)) for rule, weight in rules.items()
                    if weight >= COMMON or _is_leaf(rule) or rng.random() < share}

        expressions = {kind: some(rules, 0.6) for kind, rules in EXPRESSIONS.items()}
        return cls(expressions, some(STATEMENTS, 0.5))


def _is_leaf(template: str) -> bool:
    return all(mark in ("text", "=") or not mark and kind in TERMINALS for mark, kind in parts_of(template))


@dataclass
class Writer:
    """Writes the body of one function."""

    rng: random.Random
    language: Language
    scope: Scope
    pool: Sequence[str]
    result: str = "any"
    budget: int = 20
    indent: int = 1
    loops: int = 0
    lines: list[str] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------ text
    def line(self, text: str) -> None:
        """Add one line at the present indentation."""
        self.lines.append("    " * self.indent + text)

    @contextlib.contextmanager
    def indented(self) -> Iterator[None]:
        """What is written inside is one level deeper."""
        self.indent += 1
        yield
        self.indent -= 1

    # ------------------------------------------------------------------------------------------ templates
    def fill(self, template: str, depth: int = MAX_DEPTH) -> str:
        """The template with its holes filled; the names it binds are bound afterwards."""
        bound: list[tuple[str, str]] = []
        text = []
        for mark, kind in parts_of(template):
            if mark == "text":
                text.append(kind)
            elif mark == "+":
                text.append(self.new_name(kind))
                bound.append((text[-1], kind))
            elif mark in ("=", "~"):
                text.append(self.name(kind, writable=mark == "~"))
            else:
                text.append(self.expression(kind, depth - 1))
        for name, kind in bound:
            self.scope.bind(name, kind)
        return "".join(text)

    def expression(self, kind: str, depth: int = MAX_DEPTH) -> str:
        """A random expression of this kind."""
        rules = self.language.expressions[kind]
        usable = [rule for rule in rules if self._has_names(rule)]
        if depth <= 0:
            usable = [rule for rule in usable if _is_leaf(rule)] or usable
        if not usable:
            raise CannotFill(kind)
        rule = self.pick({rule: rules[rule] for rule in usable})
        before = set(self.scope.bound())
        text = self.fill(rule, depth)
        self.scope.maybe |= set(self.scope.bound()) - before    # a walrus that may not have been reached
        return text

    def statement(self) -> str:
        """A random simple statement that Python accepts."""
        rules = {rule: weight for rule, weight in self.language.statements.items() if self._has_names(rule)}
        while True:
            with contextlib.suppress(CannotFill):
                return self.checked(self.pick(rules))

    def checked(self, template: str, after: str = "", before: str = "") -> str:
        """The template filled so that Python accepts it between these texts."""
        for _ in range(TRIES):
            scope = self.scope.copy()
            text = self.fill(template)
            if accepted(before + text + after):
                return text
            self.scope = scope
        raise CannotFill(template)

    def _has_names(self, rule: str) -> bool:
        return all(self._names(kind, writable=mark == "~")
                   for mark, kind in parts_of(rule) if mark in ("=", "~"))

    # ------------------------------------------------------------------------------------------ names
    def _names(self, kind: str, writable: bool) -> list[str]:
        names = self.scope.bound() if kind == UNKNOWN else self.scope.of_kind(kind)
        return [name for name in names if name not in self.scope.fixed] if writable else names

    def name(self, kind: str, writable: bool = False) -> str:
        """A name bound to a value of this kind."""
        if self.scope.maybe and self.rng.random() < READ_MAYBE:
            return self.rng.choice(sorted(self.scope.maybe))
        names = self._names(kind, writable)
        if not names:
            raise CannotFill(kind)
        return self.rng.choice(names)

    def new_name(self, kind: str) -> str:
        """A name to bind: one of the same kind, of another kind, or a new one."""
        free = [name for name in self.scope.kinds if name not in self.scope.fixed]
        same = [name for name in free if self.scope.kinds[name] == kind]
        if same and self.rng.random() < 0.6:
            return self.rng.choice(same)
        if free and self.rng.random() < NEW_KIND:
            return self.rng.choice(free)
        unused = [name for name in self.pool if name not in self.scope.kinds]
        return self.rng.choice(unused or same or [name for name in self.pool if name not in self.scope.fixed])

    def pick(self, weights: dict[str, float]) -> str:
        """A random key, by weight."""
        return self.rng.choices(list(weights), list(weights.values()))[0]


def accepted(text: str) -> bool:
    """Whether Python compiles a statement inside a function."""
    try:
        compile("def f():\n  while True:\n" + textwrap.indent(text, "    "), "statement", "exec")
    except SyntaxError:
        return False
    return True
