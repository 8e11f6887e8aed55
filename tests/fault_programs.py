"""Programs with state of all sorts, for tests that let parts of them fail. Pytest does not rewrite the assertions of this file."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

LIMIT = 10.0


class Training:
    """State of all sorts."""

    def __init__(self) -> None:
        self.weight = tf.Variable(1.0)
        self.count = 0
        self.seen: list[Any] = []
        self.best: dict[str, Any] = {"loss": None}
        self.last: Any = None
        self.rate = 0.5


def step(self, x):
    """Branches, a loop, text, attributes, containers, a variable."""
    self.count += 1
    loss = self.weight * x
    for _ in range(self.count % 3):
        loss = loss * self.rate
    if loss > 1.0:
        print("large", float(loss))
        self.weight.assign_sub(self.rate)
    self.seen.append(loss)
    if self.best["loss"] is None or loss < self.best["loss"]:
        self.best["loss"] = loss
        print("best")
    self.last = loss
    return loss


def searching(self, x):
    """A loop whose length the run knows, and assertions around it."""
    assert x < LIMIT, "too large"
    turns = 0
    while x < 8.0:
        x = x * 2.0
        turns += 1
        self.seen.append(x)
        assert x < 15.0, f"{turns} turns"
    self.count = turns
    self.weight.assign(x)
    print("turns", turns)
    assert x > 8.5
    return x, turns


def numbers(self, x):
    """Python numbers that vary."""
    self.count = self.count * 2 + 1
    self.rate = self.rate / 2
    y = x
    for i in range(self.count):
        y = y + i * self.rate
    print(self.count, self.rate)
    return [y, self.count]


def pure(self, x):
    """No effects but on Python state, which is written after the run."""
    self.count += 1
    self.last = x * 2.0
    return self.last + self.weight
