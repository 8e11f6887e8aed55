"""Objects of the program's classes as iterables, and functions of the standard library that ask objects."""
from __future__ import annotations

import operator

import tensorflow as tf

from tests.programs import World, each, f32, program


class Pair:
    def __init__(self, *items):
        self.items = list(items)

    def __iter__(self):
        return iter(self.items)


class Yielding(Pair):
    def __iter__(self):
        yield from self.items


class Indexed:
    def __init__(self, *items):
        self.items = list(items)

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


def _iterated(make) -> World:
    kept = make(f32(1.0), f32(2.0))

    def fn(x):
        pair = make(x, x + 1.0)
        if x > 1.0:
            kept.items[0] = kept.items[0] + x
        first, second = pair
        head, *rest = kept
        total = tf.zeros_like(x)
        for one in kept:
            total += one
        return (total, first, second, head, rest, list(pair), tuple(kept), [*pair, *kept], sum(pair), max(kept), x in pair,
                [k * one for k, one in enumerate(kept)], any(one > 3.0 for one in pair))
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: kept.items


@program("users_iterables", graph=True)
def object_with_iter() -> World:
    return _iterated(Pair)


@program("users_iterables", graph=True)
def object_with_iter_that_yields() -> World:
    return _iterated(Yielding)


@program("users_iterables", graph=True)
def object_with_getitem() -> World:
    return _iterated(Indexed)


@program("users_iterables")
def object_that_unpacks_to_too_many() -> World:
    def fn(x):
        try:
            a, b = Pair(x, x, x)
        except ValueError as error:
            return str(error)
        return a + b
    return fn, each(f32(1.0), f32(2.0))


# ------------------------------------------------------------------------------------------------ those that ask
class Member:
    def __init__(self, n, score):
        self.n, self.inner = n, Pair(score)

    def raised(self, by, *, twice=False):
        return self.n + by * (2 if twice else 1)


@program("users_iterables", graph=True)
def getters_of_operator() -> World:
    team = [Member(2, 1.0), Member(1, 2.0)]
    by_n = operator.attrgetter("n")

    def fn(x):
        if x > 1.0:
            team[0].n += 1
        names = [by_n(one) for one in team], operator.attrgetter("n", "inner.items")(team[0])
        items = operator.itemgetter(1)([x, x * 2.0]), operator.itemgetter("a", "b")({"a": x, "b": 2})
        called = operator.methodcaller("raised", 3)(team[1]), operator.methodcaller("raised", team[0].n, twice=True)(team[0])
        return names, items, called, sorted(team, key=by_n)[0] is team[1]
    return fn, each(f32(0.0), f32(2.0), f32(3.0)), lambda: [one.n for one in team]


class Filtered(Pair):
    filters = True    # a name that iterations of the trace have, too


@program("users_iterables", graph=True)
def object_with_a_field_of_a_common_name() -> World:
    def fn(x):
        pair = Filtered(x, x * 2.0, x - 1.0)
        return max(pair), min(pair, key=lambda one: -one), any(one > 3.0 for one in pair), all(one > 0.0 for one in pair)
    return fn, each(f32(1.0), f32(2.0))


@program("users_iterables", graph=True)
def percent_of_a_dict() -> World:
    def fn(x):
        n = int(tf.reduce_sum(x))
        return x * 2.0, "%(n)d of %(most)s" % {"n": n, "most": 3}, "%(n)05d" % dict(n=n)  # noqa: UP031
    return fn, each(f32(1.0), f32(2.0))


# ------------------------------------------------------------------------------------------------ tf.Module
class Scaled(tf.Module):
    def __init__(self):
        super().__init__(name="scaled")
        self.w = tf.Variable(2.0)
        self.calls = 0

    @tf.Module.with_name_scope
    def __call__(self, x):
        self.calls += 1
        if tf.reduce_sum(x) > 0:
            x = x * self.w
        return self.shifted(x)

    @tf.Module.with_name_scope
    def shifted(self, x):
        return x + float(self.calls)


@program("users_iterables", graph=True, grad=True)
def methods_in_the_name_scope_of_their_module() -> World:
    layer = Scaled()

    def fn(x):
        return layer(x), layer.calls
    return fn, each(f32(1.0), f32(-2.0)), lambda: (layer.calls, layer.w)


class Counting:
    def __init__(self):
        self.given = 0

    def __iter__(self):
        n = 0
        while True:
            self.given += 1
            yield n
            n += 1


@program("users_iterables")
def searched_until_it_is_found() -> World:
    def fn(x):
        counting = Counting()
        return 3 in counting, counting.given, x
    return fn, each(f32(1.0), f32(2.0))


class Until:
    def __init__(self, value, end):
        self.value, self.end, self.asked = value, end, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        self.value = self.value + 1.0
        if self.value > self.end:
            raise StopIteration
        if self.value > 100.0:
            raise ValueError(f"too far: {self.asked}")
        return self.value


@program("users_iterables", graph=True, grad=True)
def iterator_that_the_run_ends() -> World:
    def fn(x, end):
        until = Until(x, end)
        total = x * 0.0
        for value in until:
            total = total + value * value
        else:
            total = total * 2.0
        return total, until.asked
    return fn, [((f32(x), f32(end)), {}) for x, end in ((0.5, 3.0), (9.0, 3.0), (0.5, 6.0))]


@program("users_iterables", graph=True)
def iterator_that_the_run_ends_under_try() -> World:
    def fn(x, end):
        seen = []
        until = Until(x, end)
        try:
            for value in until:
                if value > 50.0:
                    break
                seen.append(value)
        except ValueError as error:
            return str(error), until.asked
        return seen, until.asked
    return fn, [((f32(x), f32(end)), {}) for x, end in ((0.5, 3.0), (9.0, 3.0), (47.5, 60.0), (99.5, 200.0), (99.5, 99.75))]


@program("users_iterables", graph=True)
def iterator_that_fails_in_the_run() -> World:
    def fn(x, end):
        until = Until(x, end)
        total = x
        for value in until:
            total = total + value
        return total
    return fn, [((f32(x), f32(end)), {}) for x, end in ((97.5, 99.0), (98.5, 200.0), (97.5, 98.0))]


@program("users_iterables", graph=True)
def end_as_a_number_that_varies() -> World:
    class Count:
        def __init__(self, value, end):
            self.value, self.end, self.k = value, end, 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.k >= self.end:
                raise StopIteration
            self.k += 1
            return self.value * self.k

    def fn(x, n):
        total = x
        for value in Count(x, n):
            if value > 5.0:
                continue
            total = total + value
        return total
    return fn, [((f32(x), n), {}) for x, n in ((1.0, 2), (1.5, 3), (1.0, 5), (2.0, 0), (0.5, 4))]


@program("users_iterables", graph=True)
def old_protocol_that_the_run_ends() -> World:
    class Halves:
        def __init__(self, value):
            self.value = value

        def __getitem__(self, k):
            found = self.value / 2.0 ** float(k)
            if found < 1.0:
                raise IndexError(k)
            return found

    def fn(x):
        total = x * 0.0
        for value in Halves(x):
            total = total + value
        return total, [one + 1.0 for one in Halves(x)]
    return fn, each(f32(5.0), f32(0.5), f32(9.0))


@program("users_iterables", graph=True)
def iterators_in_zip_and_nested() -> World:
    def fn(x, end):
        pairs = []
        for k, (a, b) in enumerate(zip(Until(x, end), Until(x - 1.0, end))):
            for c in Until(b, a + 2.0):
                pairs.append(c * float(k + 1))
        return pairs, max(Until(x, x + 2.0)), sum(Until(x, end))
    return fn, [((f32(x), f32(end)), {}) for x, end in ((0.5, 3.0), (9.0, 3.0))]
