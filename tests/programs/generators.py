"""Generator functions that are consumed where they are called: by ``for``, ``list``, ``sum`` and their like."""
from __future__ import annotations

import types

import tensorflow as tf

from tests.programs import World, after, call, each, f32, i32, program


def halves(x):
    while x > 1.0:
        x = x / 2.0
        yield x


@program("generators", grad=1, graph=True)
def sum_of_halves() -> World:
    def fn(x):
        total = f32(0.0)
        for h in halves(x):
            total += h
        return total
    return fn, each(f32(8.0), f32(1.0), f32(5.0))


@program("generators", graph=True)
def break_continue_and_else() -> World:
    def fn(x, limit):
        total, turns = f32(0.0), 0
        for h in halves(x):
            turns += 1
            if h > 3.0:
                continue
            if h < limit:
                break
            total += h
        else:
            total = -total
        return total, turns
    return fn, [call(f32(x), f32(limit)) for x, limit in ((8.0, 0.0), (8.0, 1.5), (1.0, 1.0), (40.0, 2.0))]


@program("generators", grad=1, graph=True)
def return_from_the_loop() -> World:
    def fn(x, limit):
        for h in halves(x):
            if h < limit:
                return h * h
        return x
    return fn, [call(f32(x), f32(limit)) for x, limit in ((8.0, 3.0), (8.0, 0.1), (1.0, 3.0))]


@program("generators", graph=True)
def several_yields_and_a_return() -> World:
    def steps(x):
        yield x
        if x > 2.0:
            yield x * 2.0
            return
        for i in range(2):
            yield x + i
        yield x * 3.0

    def fn(x):
        last, total = None, f32(0.0)
        for v in steps(x):
            last = v
            total = total * 2.0 + v
        return last, total
    return fn, each(f32(1.0), f32(3.0))


@program("generators", graph=True)
def effects_in_between() -> World:
    log = []

    def steps(n):
        i = 0
        while i < n:
            print("giving", int(i))
            log.append("before")
            yield i
            log.append("after")
            i += 1
        print("ending")

    def fn(n, stop):
        total = 0
        for i in steps(n):
            print("taking", int(i))
            log.append("inside")
            if i == stop:
                break
            total += i
        return total
    return fn, [call(i32(3), i32(9)), call(i32(3), i32(1)), call(i32(0), i32(0))], lambda: list(log)


@program("generators", graph=True)
def method_that_changes_its_object() -> World:
    class Counter:
        def __init__(self):
            self.given = 0

        def up_to(self, n):
            for i in tf.range(n):
                self.given += 1
                yield i * i

    counter = Counter()

    def fn(n):
        best = 0
        for square in counter.up_to(n):
            if square > best:
                best = square
        return best
    return fn, each(i32(3), i32(0)), lambda: counter.given


@program("generators", graph=True)
def iter_is_a_generator() -> World:
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __iter__(self):
            yield self.a
            if self.b > 0.0:
                yield self.b

    def fn(x, y):
        total = f32(1.0)
        for v in Pair(x, y):
            total = total * v
        return total, [v + 1.0 for v in Pair(x, y)]
    return fn, [call(f32(2.0), f32(3.0)), call(f32(2.0), f32(-3.0))]


@program("generators", graph=True)
def generator_of_a_generator() -> World:
    def doubled(values):
        for v in values:
            if v > 1.5:
                yield v * 2.0
                yield v

    def fn(x, limit):
        total = f32(0.0)
        for v in doubled(halves(x)):
            total += v
            if total > limit:
                break
        return total
    return fn, [call(f32(x), f32(limit)) for x, limit in ((8.0, 100.0), (8.0, 9.0), (1.0, 0.0))]


@program("generators", graph=True)
def yield_from_both() -> World:
    def both(x):
        yield from halves(x)
        yield from (x, x + 1.0)

    def fn(x):
        total = f32(0.0)
        for v in both(x):
            total = total * 0.5 + v
        return total
    return fn, each(f32(8.0), f32(1.0))


@program("generators", graph=True)
def one_in_the_other() -> World:
    def fn(x):
        total = f32(0.0)
        for a in halves(x):
            for b in halves(a):
                if b < 1.0:
                    break
                total += a * b
        return total
    return fn, each(f32(20.0), f32(1.0))


@program("generators", graph=True)
def made_before_it_is_consumed() -> World:
    def scaled(n, by):
        for i in range(n):
            yield i * by[0]

    def fn(x):
        factor = [x]
        values = scaled(3, factor)
        factor[0] = x * 10.0
        total = f32(0.0)
        for v in values:
            total += v
        for v in values:
            total += 100.0
        return total
    return fn, each(f32(1.0), f32(2.0))


@program("generators", graph=True)
def nested_and_reads_what_the_loop_changes() -> World:
    def fn(x):
        total = f32(0.0)

        def until_enough():
            v = x
            while total < 10.0:
                yield v
                v = v + 1.0

        for v in until_enough():
            total += v
        return total
    return fn, each(f32(1.0), f32(20.0))


@program("generators", graph=True)
def list_and_comprehension() -> World:
    def fn(x):
        listed = list(halves(x))
        return listed, [h * 2.0 for h in halves(x) if h > 1.0]
    return fn, each(f32(8.0), f32(1.0))


@program("generators", grad=1, graph=True)
def sum_any_and_all() -> World:
    def fn(x):
        return (sum(halves(x)), sum(h * h for h in halves(x)), any(h < 2.0 for h in halves(x)), all(map(small, halves(x))))

    def small(h):
        return h < 3.0
    return fn, each(f32(8.0), f32(1.0), f32(5.0))


@program("generators", graph=True)
def any_looks_no_further() -> World:
    log = []

    def steps(n):
        for i in tf.range(n):
            log.append(1)
            yield i

    def fn(n):
        return any(i == 1 for i in steps(n)), all(i < 2 for i in steps(n))
    return fn, each(i32(5), i32(1)), lambda: list(log)


@program("generators", graph=True)
def enumerated() -> World:
    def fn(x):
        total = f32(0.0)
        for i, h in enumerate(halves(x), 1):
            if i == 3:
                break
            total += h * i
        return total
    return fn, each(f32(16.0), f32(3.0))


@program("generators", graph=True)
def known_number_of_items() -> World:
    def three(x):
        for i in range(3):
            yield x * i

    def fn(x):
        return tuple(three(x)), max(three(x)), sorted(three(x), reverse=True), dict(enumerate(three(x)))
    return fn, each(f32(1.0), f32(-1.0))


@program("generators")
def exception_in_the_body() -> World:
    def fn(x, bad):
        total = f32(0.0)
        for h in halves(x):
            if h == bad:
                raise ValueError(f"met {float(h)}")
            total += h
        return total
    return fn, [call(f32(8.0), f32(2.0)), call(f32(8.0), f32(3.0))]


@program("generators")
def exception_in_the_generator() -> World:
    def checked(x, bad):
        while x > 1.0:
            if x == bad:
                raise ValueError("met it")
            yield x
            x = x / 2.0

    def fn(x, bad):
        total = f32(0.0)
        for h in checked(x, bad):
            total += h
        return total
    return fn, [call(f32(8.0), f32(2.0)), call(f32(8.0), f32(3.0))]


@program("generators")
def wrong_arguments() -> World:
    def fn(x):
        for _ in halves(x, x):
            pass
        return x
    return fn, each(f32(1.0))


@program("generators")
def driven_by_next_and_send() -> World:
    def averaged():
        total, count = 0.0, 0
        value = yield
        while True:
            total, count = total + value, count + 1
            value = yield total / count

    def fn(xs):
        averages = averaged()
        next(averages)
        found = [averages.send(x) for x in xs]
        pair = halves(xs[0])
        return found, next(pair, None)
    return fn, each(f32([4.0, 2.0]))


@program("generators")
def with_try_and_finally() -> World:
    log = []

    def guarded(x):
        try:
            while x > 1.0:
                x = x / 2.0
                yield x
        finally:
            log.append("closed")

    def fn(x):
        for h in guarded(x):
            if h < 3.0:
                break
        log.append("out")
        return h
    return fn, each(f32(8.0)), lambda: list(log)


@program("generators")
def returned_and_kept() -> World:
    def fn(x):
        return halves(x)
    return (lambda x: [v for v in fn(x)]), each(f32(8.0))


@program("generators")
def changed_between_calls() -> World:
    class Source:
        def steps(self, x):
            yield x
            yield x * 2.0

    def other(self, x):
        yield x * 5.0

    source = Source()

    def fn(x):
        return sum(source.steps(x))

    def replace():
        Source.steps = other
    return fn, [call(f32(1.0)), after(replace, f32(1.0)), call(f32(2.0))]


@program("generators")
def used_otherwise() -> World:
    def three(x):
        for i in range(3):
            yield x + i

    def fn(x):
        made = three(x)
        kind = isinstance(made, types.GeneratorType), type(made).__name__
        a, b, c = three(x)
        first, *rest = three(x)
        pairs = list(zip(three(x), three(-x)))
        return kind, next(made), a + b + c, rest, pairs, max(*three(x)), three(x).gi_frame is None
    return fn, each(f32(1.0))


@program("generators", graph=True)
def walks_a_tree() -> World:
    class Node:
        def __init__(self, value, *children):
            self.value, self.children = value, children

        def __iter__(self):
            yield self.value
            for child in self.children:
                yield from child

    tree = Node(f32(1.0), Node(f32(2.0), Node(f32(3.0))), Node(f32(4.0)))

    def fn(limit):
        total = f32(0.0)
        for value in tree:
            total = total * 2.0 + value
            if total > limit:
                break
        return total
    return fn, each(f32(3.0), f32(1000.0))


@program("generators", graph=True)
def in_branches_and_loops() -> World:
    def fn(x, n):
        total = f32(0.0)
        for i in tf.range(n):
            if x > 2.0:
                for h in halves(x):
                    total += h
            else:
                total += tf.cast(i, tf.float32)
            x = x * 0.7
        return total
    return fn, [call(f32(8.0), i32(3)), call(f32(1.0), i32(2)), call(f32(1.0), i32(0))]


@program("generators", graph=True)
def body_changes_lists_and_attributes() -> World:
    class Box:
        def __init__(self):
            self.last = None

    box, kept = Box(), []

    def fn(x):
        for h in halves(x):
            kept.append(h)
            box.last = h * 2.0
        return len(kept)
    return fn, each(f32(8.0), f32(1.0)), lambda: (list(kept), box.last)


@program("generators")
def exception_caught_around_the_loop() -> World:
    def fn(x, bad):
        seen = 0
        try:
            for h in halves(x):
                if h == bad:
                    raise ValueError("met it")
                seen += 1
        except ValueError:
            return -seen
        return seen
    return fn, [call(f32(8.0), f32(2.0)), call(f32(8.0), f32(3.0))]


@program("generators", graph=True)
def a_window_over_a_pipeline_that_reverses() -> World:
    def reversing(items, size):
        held = []
        for item in items:
            held.append(item)
            if len(held) == size:
                yield from reversed(held)
                held.clear()
        yield from held

    def reading(x):
        for item in x:
            yield item

    def fn(x):
        window = []
        for item in reversing(reading(x), 2):
            window = (window + [item])[-2:]
        return window
    return fn, each(f32([1.0, 2.0, 3.0]), f32([1.0, 2.0, 3.0, 4.0]), f32([5.0]))
