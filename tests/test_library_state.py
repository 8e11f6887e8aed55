"""Library code that changes, or uses up, what it is given: three calls of each program, against plain Python."""
from __future__ import annotations

import base64
import bisect
import calendar
import collections
import contextlib
import contextvars
import functools
import hashlib
import io
import itertools
import json
import operator
import pprint
import re
import statistics
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import imp2tf


class World:
    """Objects that exist before the call."""

    def __init__(self) -> None:
        self.items = [3, 1]
        self.table: dict[str, Any] = {}
        self.numbers = {1}
        self.text = io.StringIO()
        self.octets = io.BytesIO()
        self.variable = contextvars.ContextVar("variable", default=0)
        self.digest = hashlib.sha256()
        self.space = types.SimpleNamespace(a=1)
        self.chain = collections.ChainMap({"a": 1})
        self.zeros = np.zeros(3, np.float32)
        self.array = np.array([3.0, 1.0, 2.0], np.float32)
        self.masked = np.ma.array([1.0, 2.0], mask=[0, 1])
        self.record = np.zeros(2, dtype=[("a", "f4")])
        self.buffer = bytearray(b"ab")
        self.user_list = collections.UserList([1])
        self.append = self.items.append
        self.partial = functools.partial(self.items.append)
        self.iterator = iter(range(1, 10))
        self.counter = itertools.count()
        self.numbered = enumerate([5, 6, 7, 8, 9])
        self.matches = re.compile("a").finditer("aaaaaaaa")
        self.generator = (i for i in range(20))
        self.pairs = zip(range(1, 9), [1] * 8, strict=False)

    def state(self) -> dict[str, Any]:
        """All that can be seen of it; uses the iterators up."""
        left = {name: list(itertools.islice(getattr(self, name), 3))
                for name in ("iterator", "counter", "numbered", "generator", "pairs")}
        kept = {name: repr(getattr(self, name)) for name in (
            "items", "table", "numbers", "space", "chain", "zeros", "array", "masked", "record", "buffer", "user_list")}
        return {**left, **kept, "text": self.text.getvalue(), "octets": self.octets.getvalue(),
                "variable": self.variable.get(), "digest": self.digest.hexdigest()}


Program = Callable[[World], Any]

PROGRAMS: list[Program] = [
    lambda w: operator.setitem(w.table, "a", 1),
    lambda w: operator.iadd(w.items, [1]),
    lambda w: operator.delitem(w.items, 0) if w.items else None,
    lambda w: operator.methodcaller("append", 1)(w.items),
    lambda w: operator.itemgetter(0)(w.items),
    lambda w: bisect.insort(w.items, 2),
    lambda w: json.dump([1], w.text),
    lambda w: pprint.pprint([1, 2]),
    lambda w: pprint.pprint([1], stream=w.text),
    lambda w: calendar.setfirstweekday(calendar.firstweekday()),
    lambda w: base64.encode(io.BytesIO(b"a"), w.octets),
    lambda w: w.variable.set(w.variable.get() + 1) is None,
    lambda w: w.digest.update(b"a"),
    lambda w: setattr(w.space, "a", w.space.a + 1),
    lambda w: w.chain.update(b=len(w.chain)),
    lambda w: np.add(w.zeros, 1, out=w.zeros) is None,
    lambda w: np.add(w.zeros, 1, w.zeros) is None,
    lambda w: np.add.at(w.zeros, [0], 1),
    lambda w: np.nan_to_num(w.zeros, copy=False) is None,
    lambda w: np.put(w.zeros, [0], [7]),
    lambda w: np.copyto(w.zeros, w.zeros + 1),
    lambda w: w.zeros.__iadd__(1) is None,
    lambda w: w.zeros.__setitem__(0, w.zeros[0] + 1),
    lambda w: operator.iadd(w.zeros, 1) is None,
    lambda w: w.array.sort(),
    lambda w: np.ndarray.sort(w.array),
    lambda w: w.masked.__setitem__(0, 9.0),
    lambda w: w.record.__setitem__("a", 1),
    lambda w: w.buffer.extend(b"c"),
    lambda w: w.user_list.append(1),
    lambda w: w.octets.write(b"q"),
    lambda w: w.text.write("q"),
    lambda w: next(w.iterator),
    lambda w: list(itertools.islice(w.iterator, 2)),
    lambda w: list(itertools.islice(w.counter, 2)),
    lambda w: sum(itertools.islice(w.generator, 2)),
    lambda w: tuple(itertools.takewhile(lambda v: v % 3, w.counter)),
    lambda w: sorted(itertools.chain(w.iterator, [1])),
    lambda w: np.fromiter(w.iterator, "f"),
    lambda w: next(w.numbered),
    lambda w: next(w.matches).start(),
    lambda w: dict([next(w.pairs)]),
    lambda w: max(w.iterator, default=0),
    lambda w: 3 in w.iterator,
    lambda w: statistics.mean(w.items),
    lambda w: " ".join(map(str, w.iterator)),
    lambda w: w.append(1),
    lambda w: w.partial(1),
    lambda w: list(map(w.append, [1, 2])),
    lambda w: list.append(w.items, 5),
    lambda w: w.items.extend(w.iterator),
    lambda w: re.sub("a", lambda match: w.items.append(1) or "b", "aa"),
    lambda w: functools.reduce(lambda a, b: w.items.append(a) or b, [1, 2, 3]),
    lambda w: np.vectorize(lambda v: w.items.append(1) or v)(np.zeros(2)) is None,
]


@pytest.mark.parametrize("position", range(len(PROGRAMS)))
@pytest.mark.parametrize("under", ["plainly", "in a branch"])
def test_the_program_state_is_as_in_python(position: int, under: str) -> None:
    program, seen = PROGRAMS[position], []
    for convert in (lambda function: function, imp2tf.convert(profile_runs=0)):
        world, out = World(), io.StringIO()

        def plainly(x: tf.Tensor, world: World = world) -> Any:
            return program(world), x * 2.0

        def in_a_branch(x: tf.Tensor, world: World = world) -> Any:
            found = None
            if x > 0.0:
                found = program(world)
            return found, x * 2.0

        function = convert(plainly if under == "plainly" else in_a_branch)
        with contextlib.redirect_stdout(out):
            results = [repr(function(tf.constant(value))) for value in (1.0, -1.0, 2.0)]
        seen.append((results, world.state(), out.getvalue()))
    assert seen[0] == seen[1]
