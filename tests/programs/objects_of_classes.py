"""Objects of abstract and generic classes, and of classes with a ``__new__`` of their own."""
from __future__ import annotations

import abc
import typing

import tensorflow as tf

from tests.programs import World, each, f32, program


class Base(abc.ABC):
    def __init__(self, k=1.0):
        self.k = k

    @abc.abstractmethod
    def body(self, x): ...

    @property
    @abc.abstractmethod
    def name(self): ...

    def run(self, x, n):
        for _ in tf.range(n):
            x = self.body(x)
        return x, self.name


class Doubling(Base):
    name = "doubling"

    def body(self, x):
        return x * 2.0 if x < 10.0 else x


class Adding(Base):
    @property
    def name(self):
        return "adding %d" % self.k

    def body(self, x):
        return x + self.k


@program("objects_of_classes", graph=True)
def of_an_abstract_class() -> World:
    def fn(x):
        return Doubling().run(x, 3), Adding(2).run(x, tf.cast(x, tf.int32)), isinstance(Doubling(), Base)
    return fn, each(f32(1.0), f32(3.0))


@program("objects_of_classes", graph=True)
def an_abstract_class_is_refused() -> World:
    def fn(x):
        try:
            return Base()
        except TypeError as error:
            return str(error), x
    return fn, each(f32(1.0), f32(3.0))


@program("objects_of_classes")
def an_abstract_class_is_refused_in_a_branch() -> World:
    def fn(x):
        return Base() if x > 2.0 else x
    return fn, each(f32(1.0), f32(3.0), f32(0.0))


class Single:
    found = None

    def __new__(cls):
        if cls.found is None:
            cls.found = super().__new__(cls)
            cls.found.total = tf.constant(0.0)
        return cls.found


@program("objects_of_classes", graph=True)
def the_only_one_of_its_class() -> World:
    Single.found = None

    def fn(x):
        one = Single()
        one.total = one.total + x
        return one.total, one is Single()
    return fn, each(f32(1.0), f32(3.0), f32(2.0)), lambda: Single.found.total


class Pair:
    def __new__(cls, a, b=2.0):
        made = object.__new__(cls)
        made.a = a
        return made

    def __init__(self, a, b=2.0):
        self.b = b * a


class Maybe:
    def __new__(cls, x):
        return 5.0 if x is None else super().__new__(cls)

    def __init__(self, x):
        self.x = x


@program("objects_of_classes", graph=True)
def made_by_new_and_init() -> World:
    def fn(x):
        pair = Pair(x, b=3.0)
        return pair.a + pair.b, Pair(x).b, Maybe(None), Maybe(x).x
    return fn, each(f32(1.0), f32(3.0))


class Shape(typing.Protocol):
    def area(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side if self.side > 0 else 0.0


T = typing.TypeVar("T")


class Stack(typing.Generic[T]):
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        return self


@program("objects_of_classes", graph=True)
def of_protocols_and_generic_classes() -> World:
    def fn(x):
        return Square(x).area(), Stack().push(x).push(1).items
    return fn, each(f32(2.0), f32(-1.0))


class Tagging(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = "tagged"
        return made


class Tagged(metaclass=Tagging):
    def __init__(self, x):
        self.x = x


@program("objects_of_classes")
def of_a_metaclass_that_makes_them() -> World:
    def fn(x):
        made = Tagged(x)
        return made.x, made.tag
    return fn, each(f32(2.0), f32(-1.0))
