"""Random functions of few names and much control flow."""

from __future__ import annotations

import random

NAMES = "abcd"


def random_function(seed: int, depth: int = 2) -> str:
    """The text of a function; the same seed gives the same one."""
    writer = _Writer(random.Random(seed))
    return f"def f(a, b):\n{writer.block(depth, False)} return {writer.name()}\n"


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def name(self) -> str:
        return self.chance.choice(NAMES)

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            return self.chance.choice([self.name(), "1"])
        one, two, three = (self.expression(depth - 1) for _ in range(3))
        forms = [
            self.name(),
            self.name(),
            f"g({self.name()})",
            f"({self.name()} := {one})",
            f"g({one}, {two})",
        ]
        return self.chance.choice([*forms, f"({one} and {two})", f"({one} if {two} else {three})"])

    def block(self, depth: int, in_loop: bool) -> str:
        """Statements, indented by one."""
        stmts = "".join(self.statement(depth, in_loop) for _ in range(self.chance.randint(1, 3)))
        return "".join(f" {line}\n" for line in stmts.splitlines())

    def statement(self, depth: int, in_loop: bool) -> str:
        if depth == 0 or self.chance.random() < 0.4:
            return self.simple(in_loop)
        forms = [self.branch, self.branch, self.loop, self.loop, self.guarded, self.managed, self.match]
        write = self.chance.choice(forms)
        return write(depth - 1, in_loop)

    def simple(self, in_loop: bool) -> str:
        name, other, value = self.name(), self.name(), self.expression()
        forms = [
            f"{name} = {value}",
            f"{name} = {value}",
            f"{name} += {value}",
            f"g({value})",
            f"del {name}",
            "pass",
        ]
        forms += [f"{name}, {other} = {other}, {name}", f"assert {value}, {name}", f"{name} = 1"]
        if self.chance.random() < 0.3:
            forms = [f"return {value}", f"raise {name}", *(["break", "continue"] if in_loop else [])]
        return self.chance.choice(forms) + "\n"

    def otherwise(self, depth: int, in_loop: bool) -> str:
        return f"else:\n{self.block(depth, in_loop)}" if self.chance.random() < 0.4 else ""

    def branch(self, depth: int, in_loop: bool) -> str:
        return f"if {self.expression()}:\n{self.block(depth, in_loop)}{self.otherwise(depth, in_loop)}"

    def loop(self, depth: int, in_loop: bool) -> str:
        heads = [f"while {self.expression()}", "while True", f"for {self.name()} in {self.expression()}"]
        return f"{self.chance.choice(heads)}:\n{self.block(depth, True)}{self.otherwise(depth, in_loop)}"

    def guarded(self, depth: int, in_loop: bool) -> str:
        text = f"try:\n{self.block(depth, in_loop)}"
        handlers = [f"except {self.name()}", f"except {self.name()} as {self.name()}", "except"]
        kept = sorted(self.chance.sample(range(3), self.chance.randint(0, 2)))
        text += "".join(f"{handlers[i]}:\n{self.block(depth, in_loop)}" for i in kept)
        if kept:
            text += self.otherwise(depth, in_loop)
        if not kept or self.chance.random() < 0.4:
            text += f"finally:\n{self.block(depth, in_loop)}"
        return text

    def managed(self, depth: int, in_loop: bool) -> str:
        items = [
            f"g({self.name()})",
            f"g({self.name()}) as {self.name()}",
            f"{self.name()} as ({self.name()}, d)",
        ]
        chosen = self.chance.sample(items, self.chance.randint(1, 2))
        return f"with {', '.join(chosen)}:\n{self.block(depth, in_loop)}"

    def match(self, depth: int, in_loop: bool) -> str:
        patterns = [
            f"P({self.name()})",
            f"[1, *{self.name()}] if {self.expression()}",
            f"P(k={self.name()}) if b",
            "_",
        ]
        kept = sorted(self.chance.sample(range(4), self.chance.randint(1, 3)))
        cases = "".join(f"case {patterns[i]}:\n{self.block(depth, in_loop)}" for i in kept)
        return f"match {self.expression()}:\n" + "".join(f" {line}\n" for line in cases.splitlines())
