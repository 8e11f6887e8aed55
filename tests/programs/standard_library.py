"""The standard library on the program's values: copy, dataclasses, functools, itertools, operator, heapq, bisect, Counter."""
from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import enum
import functools
import heapq
import itertools
import operator
import statistics
import string

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


@program("standard_library", graph=True)
def fields_as_keyword_arguments() -> World:
    class Meter:
        def __init__(self, name):
            self.name, self.val, self.count = name, 0.0, 0

        def update(self, value):
            self.val, self.count = value, self.count + 1

        def __str__(self):
            return "{name} {val:.2f} ({count})".format(**self.__dict__)
    meter = Meter("loss")

    def fn(x):
        if x > 1.0:
            meter.update(float(x))
        return str(meter), sorted(vars(meter)), len(meter.__dict__), "val" in meter.__dict__, list(meter.__dict__.items())[0]
    return fn, each(f32(1.0), f32(3.0), f32(0.0))


@program("standard_library", graph=True)
def functions_by_the_class_of_their_argument() -> World:
    class Square:
        def __init__(self, a):
            self.a = a

    @functools.singledispatch
    def area(shape, k):
        return k

    @area.register(Square)
    def _(shape, k):
        return shape.a * k if k > 1.0 else shape.a

    @area.register(int)
    def _(shape, k):
        return k + shape

    def fn(x):
        return area(Square(x), x) + area(3, x), area("u", x)
    return fn, each(f32(1.0), f32(3.0))


@program("standard_library", graph=True)
def methods_by_the_class_of_their_argument() -> World:
    class Log:
        def __init__(self):
            self.kept = 0.0

        @functools.singledispatchmethod
        def add(self, value):
            self.kept = self.kept + value

        @add.register
        def _(self, value: str):
            self.kept = self.kept + len(value)
    log = Log()

    def fn(x):
        log.add("hey")
        if x > 1.0:
            log.add(x)
        return log.kept
    return fn, each(f32(1.0), f32(3.0), f32(1.0)), lambda: log.kept


@program("standard_library", graph=True)
def comparisons_of_dataclasses() -> World:
    @dataclasses.dataclass(order=True)
    class Point:
        a: object
        b: object = 2.0
        c: object = dataclasses.field(default=0.0, compare=False)

    def fn(x):
        p, q = Point(x, 1.0), Point(x * 2.0, 1.0, 5.0)
        found = 0
        if p < q:
            found += 1
        if p == q:
            found += 10
        if p >= q:
            found += 100
        return found, p != q, p == 3
    return fn, each(f32(1.0), f32(-3.0), f32(0.0))


@program("standard_library", graph=True)
def dataclasses_replaced_and_taken_apart() -> World:
    @dataclasses.dataclass
    class Point:
        a: object
        b: object = 2.0
        held: list = dataclasses.field(default_factory=list)

    def fn(x):
        p = Point(x)
        q = dataclasses.replace(p, a=x * 2.0)
        if x > 1.0:
            q = dataclasses.replace(q, b=x)
        p.held.append(x)
        return q.a, dataclasses.asdict(q), dataclasses.astuple(q), q.held is p.held
    return fn, each(f32(1.0), f32(3.0))


@program("standard_library", graph=True)
def dataclasses_that_work_after_init() -> World:
    @dataclasses.dataclass
    class Clipped:
        a: object
        limit: dataclasses.InitVar[float] = 2.0
        twice: object = dataclasses.field(init=False)

        def __post_init__(self, limit):
            if self.a > limit:
                self.a = self.a - limit
            self.twice = self.a * 2.0

    def fn(x):
        p, q = Clipped(x), Clipped(x, limit=0.5)
        return p.a, p.twice, q.a
    return fn, each(f32(1.0), f32(3.0))


@program("standard_library", graph=True)
def state_that_is_copied() -> World:
    class Model:
        def __init__(self):
            self.w, self.n, self.table = [f32(1.0)], 0, {"a": f32(2.0)}
    model, best = Model(), [None]

    def fn(x):
        model.n += 1
        model.w[0] = model.w[0] + x
        if x > 1.0:
            best[0] = copy.deepcopy(model)
        other = copy.copy(model)
        return other.n, other.w is model.w, other is model, best[0] is not None and best[0].n
    return fn, each(f32(0.0), f32(3.0), f32(1.0)), lambda: (model.w, best[0] and (best[0].w, best[0].table))


@program("standard_library", graph=True)
def containers_that_are_copied() -> World:
    best, weights = {"p": None, "loss": 100.0}, {"w": [f32(1.0), f32(2.0)], "b": f32(0.0)}

    def fn(x):
        weights["w"][0] = weights["w"][0] * x
        if x < best["loss"]:
            best["loss"], best["p"] = x, copy.deepcopy(weights)
        short = copy.copy(weights["w"])
        short.append(x)
        return len(short), len(weights["w"]), best["p"]["w"][0]
    return fn, each(f32(3.0), f32(2.0), f32(5.0)), lambda: best


@program("standard_library", graph=True)
def numbers_of_numpy() -> World:
    def fn(x):
        b = np.float32(2.5) * x
        if x > 1.0:
            b = b + np.float64(1)
        return np.float32(x), b, np.int64(x)
    return fn, each(f32(1.0), f32(3.0))


@program("standard_library", graph=True)
def arrays_made_while_tracing_are_new_ones() -> World:
    kept = []

    def fn(x):
        made = np.zeros(2)
        kept.append(made)
        return made, x * 2.0

    def change():
        kept[-1][0] = 7.0
    return fn, [call(f32(1.0)), ((f32(1.0),), {}, change), ((f32(1.0),), {}, change)], lambda: kept


@program("standard_library", graph=True)
def steps_of_itertools() -> World:
    def fn(x):
        xs = [x, x * 2.0, x * 3.0]
        return (
            [b - a for a, b in itertools.pairwise(xs)], [a * b for a, b in itertools.product(xs, [1.0, 2.0]) if a > 1.0],
            list(itertools.takewhile(lambda v: v < 5.0, xs)), list(itertools.dropwhile(lambda v: v < 5.0, xs)),
            list(itertools.starmap(lambda a, b: a + b, zip(xs, xs))), list(itertools.accumulate(xs, lambda a, b: a if a > b else b)),
            {k: sum(v for _, v in g) for k, g in itertools.groupby([("a", x), ("a", x), ("b", x)], key=lambda r: r[0])},
            list(itertools.filterfalse(lambda v: v > 2.0, xs)),
        )
    return fn, each(f32(1.0), f32(3.0), f32(-1.0))


@program("standard_library", graph=True)
def iterators_without_an_end() -> World:
    def doubled(x):
        while True:
            yield x
            x = x * 2.0

    def fn(x, n):
        ids, letters, out = itertools.count(10), itertools.cycle(["a", "b", "c"]), []
        if x > 1.0:
            next(ids)
        for i in range(n):
            out.append(next(letters))
            if x > i:
                next(ids)
        for i in itertools.count():
            if i * x > 6.0 or i > 5:
                break
        pairs = [v * w for v, w in zip([x, x + 1.0], itertools.repeat(2.0))]
        return next(ids), out, i, pairs, list(itertools.islice(doubled(x), 3))
    return fn, [call(f32(1.0), 2), call(f32(3.0), 3), call(f32(-1.0), 5)]


@program("standard_library", graph=True)
def reduce_keeps_kinds() -> World:
    def fn(x):
        return functools.reduce(lambda p, q: p + q if q > 1.0 else p, [x, x * 2.0], 0.0), functools.reduce(operator.mul, [x, x, 2.0])
    return fn, each(f32(0.25), f32(3.0))


@program("standard_library", graph=True)
def operators_as_functions() -> World:
    class Money:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return Money(self.v + other.v if self.v > 1.0 else other.v)

    def fn(x):
        held = [x]
        operator.setitem(held, 0, x + 1.0)
        best = max([("a", 3, x), ("b", 1, x)], key=operator.itemgetter(1))
        return operator.add(Money(x), Money(x)).v, held, best[0], operator.gt(x, 1.0), operator.contains([1, 2], 2), operator.neg(x)
    return fn, each(f32(1.0), f32(3.0))


@program("standard_library", graph=True)
def largest_and_places() -> World:
    edges = [0.5, 1.5, 2.5]

    def fn(xs):
        numbers = [float(v) for v in xs]
        kept = [1.0, 2.0]
        bisect.insort(kept, float(xs[0]))
        return (heapq.nlargest(2, numbers), heapq.nsmallest(2, numbers, key=lambda v: -v), [bisect.bisect(edges, v) for v in numbers],
                statistics.mean(numbers), kept)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([5.0, 2.0, 0.0]))


@program("standard_library", graph=True)
def counted_things() -> World:
    def fn(xs, x):
        counts = collections.Counter(xs)
        counts.update(["b"])
        if x > 1.0:
            counts["z"] += 5
        return counts.most_common(1), counts.most_common(), counts.total()
    return fn, [call(["a", "b", "a"], f32(1.0)), call(["a", "b", "a"], f32(2.0))]


@program("standard_library", graph=True)
def texts_and_shifts_of_numbers() -> World:
    def fn(n, x):
        bits, left = [], int(n)
        while left > 0:
            bits.append(left & 1)
            left >>= 1
        text = string.Template("$a is $b").substitute(a="x", b=float(x))
        return bits, (int(n) << 2) | 1, 1 << int(n), "*" * int(n), text, str(int(x)).zfill(4)
    return fn, [call(i32(5), f32(1.0)), call(i32(12), f32(2.0))]


@program("standard_library", graph=True)
def named_tuples_replaced() -> World:
    state = collections.namedtuple("State", "h n")
    held = {"s": state(f32(0.0), 0)}

    def fn(x):
        held["s"] = held["s"]._replace(h=held["s"].h + x, n=held["s"].n + 1)
        if x > 1.0:
            held["s"] = held["s"]._replace(h=x)
        return held["s"], held["s"]._asdict()["h"], state._make([x, 1])
    return fn, each(f32(1.0), f32(3.0), f32(1.0))


@program("standard_library", graph=True)
def members_of_an_enum() -> World:
    class Phase(enum.Enum):
        WARM = "warm"
        TRAIN = "train"
        COOL = "cool"

        def following(self):
            members = list(Phase)
            return members[(members.index(self) + 1) % len(members)]

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 3

    state = {"phase": Phase.WARM}

    def fn(x, name, level):
        names = [member.name for member in Phase if member is not Phase(name)]
        state["phase"] = state["phase"].following()
        return x * Level(level), names, [*Level], max(Level), Phase(Phase.COOL).value

    return fn, [call(f32(1.0), "warm", 1), call(f32(2.0), "cool", 3), call(f32(2.0), "warm", 1)], lambda: state


@program("standard_library")
def value_of_no_member() -> World:
    class Phase(enum.Enum):
        WARM = "warm"

    def fn(x, name):
        try:
            return x, Phase(name)
        except ValueError as error:
            return x, str(error)

    return fn, [call(f32(1.0), "warm"), call(f32(2.0), "hot")]


@program("standard_library", graph=True, grad=1)
def itertools_over_tensors() -> World:
    def fn(x, y):
        pairs = [a * b for a, b in itertools.combinations(x, 2)]
        table = [a - b for a, b in itertools.product(x, repeat=2)]
        mixed = [a * n for a, n in itertools.product(y, (1.0, 2.0))]
        padded = list(itertools.zip_longest(x, y, fillvalue=0.0))
        kept = list(itertools.compress(x, [1, 0, 1]))
        orders = [tf.stack(order) for order in itertools.permutations(y)]
        return pairs, table, mixed, padded, kept, orders, [*itertools.combinations_with_replacement(y, 2)]

    return fn, [call(f32([1.0, 2.0, 3.0]), f32([4.0, 5.0])), call(f32([1.0, -2.0, 0.0]), f32([0.0, 5.0]))]


@program("standard_library", graph=True, grad=1)
def steps_of_itertools_over_tensors() -> World:
    def fn(x, y):
        sums = list(itertools.accumulate(x))
        chained = [item * 2.0 for item in itertools.chain(x, y)]
        steps = [b - a for a, b in itertools.pairwise(x)]
        rows = list(itertools.chain.from_iterable([x, y]))
        return sums, chained, steps, rows, list(itertools.islice(x, 1, None)), tuple(itertools.islice(y, 1))

    return fn, [call(f32([1.0, 2.0, 3.0]), f32([4.0, 5.0])), call(f32([1.0, -2.0, 0.0]), f32([0.0, 5.0]))]
