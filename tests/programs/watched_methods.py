"""Library calls in methods that statements call by themselves: managers, iterators, generator functions of managers."""

import contextlib
import time

import numpy as np
import tensorflow as tf

from tests.programs import World, each, f32, program


@program("watched_methods", graph=True, repeat=3)
def timer_that_is_a_manager() -> World:
    times = []

    class Timer:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            self.start = time.perf_counter()
            return self

        def __exit__(self, kind, error, trace):
            times.append((self.name, time.perf_counter() - self.start >= 0))

    def fn(x):
        with Timer("double"):
            y = x * 2
        with Timer("add") as timer:
            y = y + 1
        return y, timer.name
    return fn, each(f32(1.0), f32(3.0)), lambda: times


@program("watched_methods", graph=True, repeat=3)
def timer_that_a_generator_function_makes() -> World:
    times = []

    @contextlib.contextmanager
    def timed(name):
        start = time.perf_counter()
        try:
            yield
        finally:
            times.append((name, time.perf_counter() - start >= 0))

    def fn(x):
        with timed("double"):
            y = x * 2
        return y
    return fn, each(f32(1.0), f32(3.0)), lambda: times


@program("watched_methods", graph=True, repeat=3)
def batches_in_a_random_order() -> World:
    class Batches:
        def __init__(self, items, size):
            self.items, self.size = items, size

        def __iter__(self):
            order = np.random.permutation(4)
            for start in range(0, 4, self.size):
                yield tf.gather(self.items, order[start : start + self.size])

    batches = Batches(f32([1.0, 2.0, 3.0, 4.0]), 2)

    def fn(x):
        total = x
        for number, batch in enumerate(batches):
            total = total * 2 + tf.reduce_sum(batch) * number
        return total, [tf.reduce_max(batch) for batch in batches]
    return fn, each(f32(1.0), f32(3.0))


@program("watched_methods", graph=True, repeat=3)
def iterator_that_draws() -> World:
    class Draws:
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            self.left = self.count
            return self

        def __next__(self):
            if self.left == 0:
                raise StopIteration
            self.left -= 1
            return np.random.rand()

    draws = Draws(3)

    def fn(x):
        return x * sum(draws), [x + draw for draw in draws]
    return fn, each(f32(1.0), f32(3.0)), lambda: draws.left


@program("watched_methods", graph=True, repeat=3)
def shape_given_to_a_generator_of_random_numbers() -> World:
    class Noise:
        def __init__(self):
            self.rng = np.random.default_rng(3)

        def __call__(self, x):
            return x + self.rng.normal(size=x.shape).astype("float32")

    return Noise(), each(f32([1.0, 2.0]), f32([3.0]))


@program("watched_methods", graph=True, repeat=3)
def iterables_that_are_given_as_they_are() -> World:
    class Vector:
        def __init__(self, *items):
            self.items = items

        def __iter__(self):
            return iter(self.items)

        def __add__(self, other):
            return Vector(*[a + b for a, b in zip(self, other)])

        def __gt__(self, other):
            return sum(self) > sum(other)

        def __lt__(self, other):
            return sum(self) < sum(other)

        def __call__(self, x):
            return x * len(self.items)

    def fn(x):
        a, b = Vector(1.0, 2.0), Vector(5.0, 0.5)
        total = sum([a, b], Vector(0.0, 0.0))
        largest, smallest = max(a, b), min(a, b)
        named = [str(item) for item in map(Vector(1, 2, 3), a)]
        return x * largest.items[0], smallest.items, type(total).__name__, list(total), max(total), named, sorted(b), tuple(a)
    return fn, each(f32(1.0), f32(3.0))


@program("watched_methods", graph=True, repeat=3)
def managers_that_are_methods() -> World:
    times = []

    class Clock:
        def __init__(self, name):
            self.name = name

        @contextlib.contextmanager
        def timed(self, factor):
            start = time.perf_counter()
            yield factor * 2.0
            times.append((self.name, time.perf_counter() - start >= 0))

        @classmethod
        @contextlib.contextmanager
        def named(cls, name):
            times.append((cls.__name__, name, time.time() > 0))
            yield cls(name)

        @staticmethod
        @contextlib.contextmanager
        def alone(*names):
            yield len(names)
            times.append((*names, time.time() > 0))

    def fn(x):
        with Clock.named("double") as clock, clock.timed(3.0) as factor, Clock.alone("a", "b") as count:
            y = x * factor + count
        return y, clock.name
    return fn, each(f32(1.0), f32(3.0)), lambda: times
