"""``next(...)`` of generator expressions, generators and iterators; iterations that are used more than once."""
from __future__ import annotations

import itertools

import tensorflow as tf

from tests.programs import World, each, f32, i32, program


@program("first_items", graph=True, golden=True)
def index_of_the_first_hit_or_a_default() -> World:
    def fn(xs, limit):
        return next((i for i, v in enumerate(xs) if v > limit), -1)
    return fn, [((f32([1.0, 5.0, 9.0]), f32(limit)), {}) for limit in (3.0, 10.0, 0.0)]


@program("first_items", graph=True)
def the_first_hit_or_stop_iteration() -> World:
    def fn(xs):
        return next(v for v in xs if v > 1.5)
    return fn, each(f32([1.0, 2.0]), f32([0.0, 1.0]), f32([3.0, 2.0]))


@program("first_items", graph=True)
def caught_where_there_is_none() -> World:
    def fn(xs):
        try:
            return next(v for v in tf.unstack(xs) if v > 9.0)
        except StopIteration:
            return "none"
    return fn, each(f32([1.0, 2.0]), f32([0.0, 10.0]))


@program("first_items", graph=True)
def none_as_the_default() -> World:
    def fn(xs):
        hit = next((v for v in xs if v > 1.5), None)
        return "nothing" if hit is None else hit * 2.0
    return fn, each(f32([1.0, 2.0]), f32([0.0, 1.0]))


def _doubled(xs):
    for v in xs:
        if v > 1.0:
            yield v * 2.0


@program("first_items", graph=True)
def of_a_generator_function() -> World:
    def fn(xs):
        return next(_doubled(xs), 0.0)
    return fn, each(f32([1.0, 2.0]), f32([0.0, 1.0]))


@program("first_items", graph=True)
def several_in_one_line() -> World:
    def fn(xs):
        return (next(filter(lambda v: v > 2.0, xs)), next(map(float, xs), 1), next(zip(xs, xs)), next(enumerate(xs)),
                any(v > 2.0 for v, _ in zip(xs, xs)), any(v > 1.0 for _, v in enumerate(xs)))
    return fn, each(f32([1.0, 2.0, 3.0]), f32([4.0]))


@program("first_items", graph=True)
def in_a_loop_over_a_tensor() -> World:
    def fn(xs):
        total = 0.0
        for v in xs:
            total += next((w for w in (1.0, 2.0, 3.0) if w > v), 10.0)
        return total
    return fn, each(f32([0.5, 2.5, 7.0]), f32([1.0]))


@program("first_items", graph=True)
def of_endless_counting() -> World:
    def fn(n):
        return next(k for k in itertools.count(1) if 2 ** k > n)
    return fn, each(i32(5), i32(1), i32(100))


@program("first_items", graph=True)
def what_comes_after_the_hit_is_not_computed() -> World:
    seen = []

    def note(v):
        seen.append(float(v))
        return v

    def fn(xs):
        return next((v for v in tf.unstack(xs) if note(v) > 1.5), None)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([0.0, 1.0])), lambda: seen


@program("first_items", graph=True)
def an_iterator_keeps_its_position() -> World:
    def fn(xs):
        pairs = zip(xs, [1, 2, 3])
        return next(pairs), next(pairs), list(pairs), next(pairs, "end")
    return fn, each(f32([1.0, 2.0, 3.0]), f32([1.0, 2.0]))


@program("first_items")
def a_generator_expression_keeps_its_position() -> World:
    def fn(xs):
        items = (v * 2.0 for v in xs)
        return next(items), next(items), list(items), sum(items)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([1.0, 2.0]))


@program("first_items")
def a_generator_expression_is_used_up() -> World:
    def fn(xs):
        items, known = (v * 2.0 for v in xs), (k for k in (1, 2))
        return sum(items), sum(items), sum(known), list(known)
    return fn, each(f32([1.0, 2.0, 3.0]))


@program("first_items")
def a_generator_expression_after_break_and_any() -> World:
    def fn(xs):
        items, others = (v for v in xs), (v for v in tf.unstack(xs))
        for v in items:
            if v > 1.0:
                break
        return v, sum(items), any(v > 1.0 for v in others), sum(others)
    return fn, each(f32([1.0, 2.0, 3.0]))


@program("first_items")
def an_iteration_begun_in_a_branch() -> World:
    def fn(xs, c):
        pairs = zip(xs, xs)
        total = 0.0
        if c > 0:
            first, _ = next(pairs)
            total += first
        for a, b in pairs:
            total += a * b
        return total
    return fn, [((f32([1.0, 2.0, 3.0]), f32(c)), {}) for c in (1.0, -1.0)]


@program("first_items")
def an_iteration_that_a_branch_ends_early() -> World:
    def fn(xs, c):
        pairs = zip(xs, xs)
        total = 0.0
        if c > 0:
            for a, _ in pairs:
                total += a
                if a > 1.0:
                    break
        for a, b in pairs:
            total += a * b * 10.0
        return total
    return fn, [((f32([1.0, 2.0, 3.0]), f32(c)), {}) for c in (1.0, -1.0)]


def _halves(x):
    while x > 1.0:
        x = x / 2.0
        yield x


@program("first_items")
def a_generator_goes_on_after_break_any_and_next() -> World:
    def fn(x):
        halves, others, third = _halves(x), _halves(x), _halves(x)
        for half in halves:
            if half < 3.0:
                break
        hit = any(half < 3.0 for half in others)
        return half, list(halves), hit, list(others), next(third), sum(third)
    return fn, each(f32(9.0), f32(5.0))


@program("first_items", graph=True)
def least_and_greatest_of_what_conditions_leave() -> World:
    def fn(x):
        row = tf.stack([x, x * 2.0])
        return (max((v for v in [x, x * 2.0, 5.0] if v > 1.0), default=None), min((v for v in row if v > 1.0), default=-1.0),
                max(filter(lambda v: v > 0, row), default=0.0), max((k for k in (1, 5, 3) if k < 4), default=0))
    return fn, each(f32(1.0), f32(3.0), f32(-1.0))


@program("first_items", graph=True)
def greatest_of_nothing() -> World:
    def fn(x):
        return max(v for v in tf.stack([x, x * 2.0]) if v > 1.0)
    return fn, each(f32(1.0), f32(3.0), f32(-1.0))


@program("first_items", graph=True)
def nearest_of_those_that_are_open() -> World:
    def fn(x):
        distances, closed = [1.0, float(x), 2.0], [False, x > 2.0, False]
        return min((i for i in range(3) if not closed[i]), key=lambda i: distances[i])
    return fn, each(f32(0.5), f32(3.0), f32(1.5))


@program("first_items", graph=True)
def keys_are_computed_when_their_turn_comes() -> World:
    def fn(x):
        log = []

        def key(v):
            log.append("key")
            return -v

        def wanted(v):
            log.append("wanted")
            return v > 1.0
        return max((v for v in tf.unstack(tf.stack([x, 2.0, 3.0])) if wanted(v)), key=key), log
    return fn, each(f32(1.0), f32(3.0))
