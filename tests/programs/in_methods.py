"""The same constructs inside methods of an object that keeps state from call to call."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, flag, i32, i64, program


class _Kept:
    """An object with the given attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@program("in_methods", graph=True)
def break_with_a_counter() -> World:
    class Finder(_Kept):
        def find(self, xs):
            for x in xs:
                self.looked += 1
                if x > self.limit:
                    self.limit = x
                    break
            return self.looked

    finder = Finder(looked=0, limit=f32(2.0))
    return finder.find, each(f32([1.0, 3.0, 5.0]), f32([1.0, 2.0])), lambda: finder


@program("in_methods", graph=True)
def continue_with_a_list() -> World:
    class Sieve(_Kept):
        def run(self, xs):
            for x in xs:
                if x % 2 == 0:
                    self.skipped += 1
                    continue
                self.odd.append(x)
            return len(self.odd)

    sieve = Sieve(skipped=0, odd=[])
    return sieve.run, each(i32([1, 2, 3]), i32([4]), i32([5])), lambda: sieve


@program("in_methods", graph=True)
def early_return_with_state() -> World:
    class Once(_Kept):
        def run(self, x):
            if self.done:
                return self.value
            self.done = True
            if x > 0:
                self.value = x
                return x * 10
            self.value = -x
            return None

    once = Once(done=False, value=None)
    return once.run, each(f32(-3.0), f32(1.0), f32(2.0)), lambda: once


@program("in_methods", graph=True)
def while_with_none_at_first() -> World:
    class Newton(_Kept):
        def solve(self, x):
            guess = self.last if self.last is not None else x
            while tf.abs(guess * guess - x) > 0.01:
                guess = (guess + x / guess) / 2.0
                self.steps += 1
            self.last = guess
            return guess

    newton = Newton(last=None, steps=0)
    return newton.solve, each(f64(9.0), f64(16.0)), lambda: newton


@program("in_methods", graph=True)
def raise_after_an_update() -> World:
    class Account(_Kept):
        def withdraw(self, amount):
            self.tries += 1
            if amount > self.balance:
                self.refused = amount
                raise ValueError("not enough")
            self.balance = self.balance - amount
            return self.balance

    account = Account(balance=f32(10.0), tries=0, refused=None)
    return account.withdraw, each(f32(4.0), f32(40.0), f32(1.0)), lambda: account


@program("in_methods", graph=True)
def try_with_a_counter() -> World:
    class Guarded(_Kept):
        def root(self, x):
            try:
                if x < 0:
                    raise ArithmeticError("negative")
                self.good += 1
                return tf.sqrt(x)
            except ArithmeticError:
                self.bad += 1
                return self.default

    guarded = Guarded(good=0, bad=0, default=f32(-1.0))
    return guarded.root, each(f32(4.0), f32(-4.0)), lambda: guarded


@program("in_methods", graph=True)
def print_of_own_state() -> World:
    class Talker(_Kept):
        def say(self, x):
            self.turn += 1
            print("turn", self.turn)
            if x > 0:
                print(self.name, "is positive")
            return x

    talker = Talker(turn=0, name="x")
    return talker.say, each(f32(1.0), f32(-1.0)), lambda: talker


@program("in_methods", graph=True)
def dict_of_tensors_in_a_loop() -> World:
    class Stats(_Kept):
        def add(self, xs):
            for x in xs:
                self.seen["sum"] = self.seen["sum"] + x
                if x > self.seen["max"]:
                    self.seen["max"] = x
            return self.seen["max"]

    stats = Stats(seen={"sum": i64(0), "max": i64(-100)})
    return stats.add, each(i64([1, 7]), i64([3])), lambda: stats


@program("in_methods", graph=True)
def comprehension_over_own_layers() -> World:
    class Net(_Kept):
        def run(self, x):
            outputs = [x * w if x > 0 else x - w for w in self.weights]
            self.last = outputs[-1]
            return outputs

    net = Net(weights=[f16(1.0), f16(2.0)], last=None)
    return net.run, each(f16(2.0), f16(-2.0)), lambda: net


@program("in_methods", graph=True)
def method_calls_method_in_a_loop() -> World:
    class Walk(_Kept):
        def step(self, up):
            if up:
                self.place += 1
                return True
            self.place -= 1
            return False

        def run(self, ups):
            moves = i32(0)
            for up in ups:
                if self.step(up):
                    moves += 1
            return moves, self.place

    walk = Walk(place=0)
    return walk.run, each(flag([True, False, True]), flag([False])), lambda: walk


@program("in_methods", graph=True)
def two_objects_of_one_class() -> World:
    class Cell(_Kept):
        def feed(self, x):
            if x > self.level:
                self.level = x
                self.changes += 1
            return self.level

    first, second = Cell(level=f32(0.0), changes=0), Cell(level=f32(5.0), changes=0)

    def fn(x):
        return first.feed(x) + second.feed(x)
    return fn, each(f32(3.0), f32(7.0), f32(1.0)), lambda: (first, second)


@program("in_methods", graph=True)
def inherited_method_and_class_attribute() -> World:
    class Base(_Kept):
        limit = 3

        def clip(self, x):
            if x > self.limit:
                self.clipped += 1
                return x * 0 + self.limit
            return x

    class Wide(Base):
        limit = 10

    base, wide = Base(clipped=0), Wide(clipped=0)

    def fn(x):
        return base.clip(x), wide.clip(x)
    return fn, each(i32(5), i32(20), i32(1)), lambda: (base, wide)


@program("in_methods", graph=True)
def with_a_manager_of_its_own() -> World:
    class Locked(_Kept):
        def __enter__(self):
            self.depth += 1
            return self

        def __exit__(self, kind, error, trace):
            self.depth -= 1
            return False

        def run(self, x):
            with self:
                self.uses += self.depth
                if x > 0:
                    return x * 2
            return x

    locked = Locked(depth=0, uses=0)
    return locked.run, each(f32(1.0), f32(-1.0)), lambda: locked


@program("in_methods", graph=True)
def swap_of_attributes() -> World:
    class Pair(_Kept):
        def order(self, x):
            self.high = x
            if self.low > self.high:
                self.low, self.high = self.high, self.low
            return self.low, self.high

    pair = Pair(low=f32(0.0), high=f32(0.0))
    return pair.order, [call(f32(3.0)), call(f32(-2.0)), call(x=f32(1.0))], lambda: pair
