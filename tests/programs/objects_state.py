"""Object state: attributes written in blocks, aliases, classes, records, slots, descriptors, hooks."""
from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


class _Node:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@dataclasses.dataclass
class Particle:
    """A record that programs change."""

    position: Any
    velocity: Any
    trail: list = dataclasses.field(default_factory=list)


Pair = collections.namedtuple("Pair", "left right")


@program("objects_state", graph=True, golden=True)
def attribute_in_a_branch() -> World:
    node = _Node(value=f32(0.0), flips=0)

    def fn(x):
        if x > node.value:
            node.value = x
            node.flips += 1
        return node.value
    return fn, each(f32(1.0), f32(0.5), f32(2.0)), lambda: node


@program("objects_state", graph=True)
def attribute_first_made_in_a_branch() -> World:
    node = _Node()

    def fn(x):
        if x > 0:
            node.seen = x
        return hasattr(node, "seen")
    return fn, each(f32(-1.0), f32(1.0), f32(-1.0)), lambda: vars(node)


@program("objects_state", graph=True)
def two_names_of_one_object() -> World:
    node = _Node(value=1)

    def fn(x):
        alias = node
        alias.value = alias.value + 1
        if x > 0:
            node.value *= 10
        return x * alias.value, alias is node
    return fn, each(f32(1.0), f32(-1.0)), lambda: node


@program("objects_state", graph=True)
def object_made_and_returned() -> World:
    def fn(x):
        node = _Node(value=x, parts=[x])
        if x > 0:
            node.value = x * 2
        node.parts.append(node.value)
        return node
    return fn, each(f32(1.0), f32(-1.0))


@program("objects_state", graph=True)
def object_made_in_a_loop() -> World:
    def fn(xs):
        total = i32(0)
        for x in xs:
            node = _Node(value=x)
            node.value += 1
            total += node.value
        return total
    return fn, each(i32([1, 2]), i32([5]))


@program("objects_state", graph=True)
def linked_list_grows_per_call() -> World:
    root = _Node(next=None, length=0)

    def fn(x):
        root.next = _Node(value=x, next=root.next)
        root.length += 1
        return x * root.length
    return fn, each(f64(1.0), f64(2.0)), lambda: (root.length, root.next.value)


@program("objects_state", graph=True)
def dataclass_updated_in_a_loop() -> World:
    def fn(particle, n):
        for _ in tf.range(n):
            particle.position = particle.position + particle.velocity
            if particle.position > 3.0:
                particle.velocity = -particle.velocity
        return particle.position
    return fn, [call(Particle(f32(0.0), f32(1.0)), i32(6)), call(Particle(f32(9.0), f32(1.0)), i32(0))]


@program("objects_state", graph=True)
def dataclass_returned_with_a_list() -> World:
    def fn(x):
        particle = Particle(x, x * 2)
        particle.trail.append(particle.position)
        return particle, dataclasses.replace(particle, velocity=1)
    return fn, each(f32(1.0))


@program("objects_state", graph=True)
def namedtuple_replaced_in_a_loop() -> World:
    def fn(n):
        pair = Pair(i32(0), i32(1))
        while n > 0:
            pair = pair._replace(left=pair.right, right=pair.left + pair.right)
            n -= 1
        return pair
    return fn, each(i32(5), i32(0))


@program("objects_state", graph=True)
def class_attribute_counts() -> World:
    class Model:
        made = 0

        def run(self, x):
            Model.made += 1
            if x > 0:
                type(self).last = x
            return x * self.made

    return Model().run, each(f32(1.0), f32(2.0)), lambda: (Model.made, Model.last)


@program("objects_state", graph=True)
def slots() -> World:
    class Point:
        __slots__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    point = Point(f32(0.0), 1)

    def fn(dx):
        point.x = point.x + dx
        if dx > 0:
            point.y += 1
        return point.x * point.y
    return fn, each(f32(1.0), f32(-1.0)), lambda: (point.x, point.y)


@program("objects_state")
def setattr_hook() -> World:
    class Logged:
        def __init__(self):
            object.__setattr__(self, "log", [])

        def __setattr__(self, name, value):
            self.log.append(name)
            object.__setattr__(self, name, value)

    logged = Logged()

    def fn(x):
        logged.value = x
        logged.other = 1
        return logged.value + logged.other
    return fn, each(i32(1), i32(2)), lambda: logged.log


@program("objects_state")
def getattr_hook() -> World:
    class Defaults:
        def __init__(self):
            self.asked = []

        def __getattr__(self, name):
            self.asked.append(name)
            return 2.0

    defaults = Defaults()

    def fn(x):
        return x * defaults.scale + defaults.shift
    return fn, each(f32(1.0), f32(3.0)), lambda: defaults.asked


@program("objects_state", graph=True)
def variable_and_attribute_together() -> World:
    class Meter(tf.Module):
        def __init__(self):
            super().__init__()
            self.total = tf.Variable(0.0)
            self.calls = 0
            self.last = None

        def update(self, x):
            self.total.assign_add(x)
            self.calls += 1
            self.last = x * 2.0
            return self.total / self.calls

    meter = Meter()
    return meter.update, each(f32(1.0), f32(2.0)), lambda: (meter.total, meter.calls, meter.last)


@program("objects_state", graph=True)
def attribute_of_an_attribute() -> World:
    root = _Node(left=_Node(value=1), right=_Node(value=f32(2.0)))
    root.same = root.left

    def fn(x):
        root.left.value += 1
        root.right.value = root.right.value * x
        if x > 1:
            root.left, root.right = root.right, root.left
        return root.same.value
    return fn, each(f32(1.0), f32(2.0)), lambda: root


@program("objects_state", graph=True)
def object_in_a_list_in_a_loop() -> World:
    nodes = [_Node(value=i32(i)) for i in range(3)]

    def fn(n):
        for _ in tf.range(n):
            for node in nodes:
                node.value = node.value + 1
        return nodes[0].value + nodes[2].value
    return fn, each(i32(2), i32(0)), lambda: nodes


@program("objects_state", graph=True)
def method_chaining_returns_self() -> World:
    class Builder:
        def __init__(self):
            self.value = f16(1.0)

        def add(self, x):
            self.value = self.value + x
            return self

        def scale(self, x):
            if x > 0:
                self.value = self.value * x
            return self

    builder = Builder()

    def fn(x):
        return builder.add(x).scale(x)
    return fn, each(f16(2.0), f16(-1.0)), lambda: builder


@program("objects_state", graph=True)
def attribute_of_several_kinds() -> World:
    node = _Node(value=None)

    def fn(x):
        if x > 10:
            node.value = "large"
        elif x > 0:
            node.value = x
        else:
            node.value = 3
        return node.value
    return fn, each(i64(20), i64(5), i64(-5)), lambda: node


@program("objects_state", graph=True)
def operators_of_a_class() -> World:
    class Vector:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __add__(self, other):
            return Vector(self.x + other.x, self.y + other.y)

        def __rmul__(self, k):
            return Vector(k * self.x, k * self.y)

        def __len__(self):
            return 2

    def fn(a, n):
        v = Vector(a, a * 2.0)
        for _ in tf.range(n):
            v = v + 2.0 * v
        return v, len(v)
    return fn, [call(f32(1.0), i32(2)), call(f32(1.0), i32(0))]


@program("objects_state")
def missing_attribute() -> World:
    node = _Node(value=1)

    def fn(x):
        node.value += 1
        return x * node.missing
    return fn, each(f32(1.0)), lambda: node


class _Logged:
    """Notes which attributes are set and deleted."""

    def __init__(self) -> None:
        object.__setattr__(self, "log", [])
        self.value = 1.0

    def __setattr__(self, name: str, value: Any) -> None:
        self.log.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self.log.append(f"del {name}")
        object.__delattr__(self, name)


class _Checked:
    """A descriptor that keeps its value under its own name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, cls: type) -> Any:
        return owner.__dict__[self.name]

    def __set__(self, owner: Any, value: Any) -> None:
        owner.sets += 1
        owner.__dict__[self.name] = value

    def __delete__(self, owner: Any) -> None:
        owner.__dict__[self.name] = None


class _Measured:
    value = _Checked()

    def __init__(self) -> None:
        self.sets = 0
        self.value = 1.0


class _Lazy:
    """A property that makes its value when it is asked for, and forgets it when it is deleted."""

    def __init__(self) -> None:
        self.kept, self.made = None, 0

    @property
    def value(self) -> Any:
        if self.kept is None:
            self.made += 1
            self.kept = f32(3.0)
        return self.kept

    @value.deleter
    def value(self) -> None:
        self.kept = None


@dataclasses.dataclass(frozen=True)
class _Frozen:
    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", self.value * 2.0)


class _Tracked(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sets = 0

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "value":
            self.sets += 1
        super().__setattr__(name, value)


@program("objects_state", graph=True)
def attribute_hooks_run_once() -> World:
    logged = _Logged()

    def fn(x):
        logged.value = logged.value + x
        if x > 1.0:
            logged.extra = x
        elif hasattr(logged, "extra"):
            del logged.extra
        return logged.value
    return fn, each(f32(1.0), f32(2.0), f32(0.5)), lambda: (logged.log, sorted(vars(logged)))


@program("objects_state", graph=True)
def descriptors_that_keep_a_field_of_their_name() -> World:
    measured = _Measured()

    def fn(x):
        if x > 0.0:
            measured.value = measured.value + x
        return measured.value
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: vars(measured)


@program("objects_state")
def descriptors_that_delete() -> World:
    measured = _Measured()

    def fn(x):
        if x > 0.0:
            del measured.value
        return measured.value
    return fn, each(f32(-1.0), f32(1.0), f32(-1.0)), lambda: vars(measured)


@program("objects_state", graph=True)
def property_with_a_deleter() -> World:
    lazy = _Lazy()

    def fn(x):
        y = lazy.value * x
        if x < 0.0:
            del lazy.value
        return y
    return fn, each(f32(1.0), f32(-1.0), f32(2.0), f32(-1.0)), lambda: (lazy.kept, lazy.made)


@program("objects_state")
def frozen_records_set_past_their_hook() -> World:
    def fn(x):
        frozen = _Frozen(x)
        object.__setattr__(frozen, "value", x * 3.0)
        try:
            frozen.value = 1
        except dataclasses.FrozenInstanceError as error:
            return frozen.value, frozen.double, str(error)
    return fn, each(f32(1.0), f32(2.0))


@program("objects_state", graph=True)
def hook_above_that_of_a_library() -> World:
    tracked = _Tracked()

    def fn(x):
        tracked.value = x * 2.0
        tracked.items = [x]
        return tracked.value
    return fn, each(f32(1.0), f32(2.0)), lambda: (tracked.sets, tracked.value, list(tracked.items), type(tracked.items).__name__)


@program("objects_state")
def attribute_deleted_twice() -> World:
    node = _Node(value=1.0)

    def fn(x):
        seen = []
        for _ in range(2):
            try:
                del node.value
            except AttributeError as error:
                seen.append(str(error))
        if x > 0.0:
            node.value = x
        return seen
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: vars(node)


class _ClassValue:
    """A descriptor that answers for the class too, and counts."""

    asked = 0

    def __get__(self, owner: Any, cls: type) -> Any:
        _ClassValue.asked += 1
        return self.asked * (1.0 if owner is None else 10.0)


class _HasClassValue:
    value = _ClassValue()


@program("objects_state", graph=True)
def descriptors_that_count_their_readers() -> World:
    _ClassValue.asked = 0
    owner = _HasClassValue()

    def fn(x):
        if x > 0.0:
            x = x * owner.value
        return x + _HasClassValue.value
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: _ClassValue.asked


class _Worker:
    def __init__(self, weight: float) -> None:
        self.weight = tf.constant(weight)
        self.turns = 0


class _Pool:
    """Whose turn it is, only Python counts."""

    def __init__(self, count: int, turn: int = 0) -> None:
        self.workers = [_Worker(10.0 * i) for i in range(count)]
        self.by_task = {i: worker for i, worker in enumerate(self.workers)}
        self.turn = turn

    def step(self, x):
        worker = self.workers[self.turn % len(self.workers)]
        worker.turns += 1
        self.turn += 1
        if tf.reduce_sum(x) > 0.0:
            worker.weight += 1.0
        return x * worker.weight, worker.turns

    def pair(self, x):
        first, second = self.workers[-1 - self.turn % 2], self.workers[(self.turn + 1) // 2 % len(self.workers)]
        first.weight, second.weight = second.weight + x, first.weight
        self.turn += 1
        return [worker.weight for worker in self.workers], first is second

    def outside(self, x):
        self.turn += 1
        return self.workers[self.turn].weight * x

    def asked(self, x):
        try:
            return self.workers[self.turn - 3].weight * x
        except IndexError as error:
            return str(error)
        finally:
            self.turn -= 1


@program("objects_state", graph=True, grad=1)
def objects_taken_in_turn() -> World:
    return _Pool(3).step, each(*map(f32, [1.0, -1.0, 2.0, 3.0, -4.0, 5.0, 6.0, 7.0]))


@program("objects_state", graph=True)
def more_objects_than_graphs_are_made_for() -> World:
    return _Pool(7).step, each(*map(f32, [1.0, -1.0, 2.0, 3.0, -4.0, 5.0, 6.0, 7.0]))


@program("objects_state", graph=True, grad=1)
def two_objects_taken_in_turn() -> World:
    return _Pool(2).pair, each(*map(f32, [1.0, -1.0, 2.0, 3.0, -4.0, 5.0, 6.0, 7.0]))


@program("objects_state")
def turn_past_the_last_object() -> World:
    return _Pool(3).outside, each(*map(f32, [1.0, 2.0, 3.0, 4.0]))


@program("objects_state")
def turn_before_the_first_object() -> World:
    return _Pool(3, turn=5).asked, each(*map(f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))


@program("objects_state", graph=True)
def object_taken_in_turn_in_a_loop() -> World:
    pool = _Pool(2)

    def fn(x, n):
        for _ in tf.range(n):
            x, turns = pool.step(x)
        return x, turns, pool.turn
    return fn, [call(f32(1.0), i32(3)), call(f32(-1.0), i32(2)), call(f32(2.0), i32(4))]


@program("objects_state", graph=True)
def layers_taken_in_turn() -> World:
    class Net:
        def __init__(self):
            self.heads = (tf.tanh, lambda x: x * 2.0, _Worker(3.0).weight.__mul__)
            self.epoch = 0

        def __call__(self, x):
            head = self.heads[self.epoch // 2 % 3]
            self.epoch += 1
            return head(x)
    return Net(), each(*map(f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))


@program("objects_state", graph=True)
def objects_taken_in_turn_by_an_unrolled_loop() -> World:
    pool = _Pool(2, turn=-3)

    def fn(x):
        shares = []
        for _ in range(5):
            shares.append(pool.step(x)[0])
        return shares, pool.workers[(pool.turn - 1) % 2].turns, pool.workers[pool.turn // -3 % 2].turns
    return fn, each(*map(f32, [1.0, -1.0, 2.0, 3.0]))


@program("objects_state")
def pool_that_others_change() -> World:
    pool = _Pool(2)

    def fn(x, change):
        if change == "grow":
            pool.workers.append(_Worker(7.0))
        elif change == "turn around":
            pool.workers.reverse()
        elif change == "other numbers":
            pool.turn = np.int64(5) if type(pool.turn) is int else float(pool.turn)
        worker = pool.workers[int(pool.turn) % len(pool.workers)]
        pool.turn += 1
        worker.weight *= x
        return worker.weight, len(pool.workers), pool.turn, type(pool.turn).__name__
    changes = ["", "", "", "grow", "", "turn around", "", "", "other numbers", "", "other numbers", ""]
    return fn, [call(f32(2.0), change) for change in changes]


@program("objects_state")
def object_taken_in_turn_in_a_branch() -> World:
    pool = _Pool(3)

    def fn(x):
        pool.turn += 2
        if x > 0.0:
            worker = pool.workers[pool.turn % 3]
            worker.turns += 1
        else:
            worker = pool.workers[(pool.turn + 1) % 3]
            worker.weight = worker.weight - x
        return worker.weight, [one.turns for one in pool.workers]
    return fn, each(*map(f32, [1.0, -1.0, 2.0, 3.0, -4.0, 5.0, 6.0, -7.0]))
