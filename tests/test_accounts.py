"""When another graph is worth its trace: for functions that walk over structures, and for those of a few signatures."""
from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

import imp2tf
from imp2tf import accounts
from imp2tf.structures import Structures

X = tf.constant([1.0, 2.0])


class Node:
    """Of a binary tree."""

    def __init__(self, left: Node | None = None, right: Node | None = None) -> None:
        self.left, self.right = left, right


def tree(number: int) -> Node:
    """Another shape for each number."""
    return Node(tree(number // 2) if number % 3 else None, tree(number // 3)) if number else Node()


def walk(node, x):
    if node is None:
        return x
    return tf.tanh(walk(node.left, x) + 2.0 * walk(node.right, x))


def nested(items, x):
    if isinstance(items, list):
        return sum((nested(one, x) for one in items), 0.0)
    return x * items


class Walker:
    """Calls a method of its own, and keeps account."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def down(self, node, x):
        return x if node.left is None else tf.sin(self.down(node.left, x))

    def step(self, node, x):
        self.seen.append(1)
        return self.down(node, x)


def test_trees_of_differing_shapes_are_left_to_python() -> None:
    converted = imp2tf.convert(walk)
    for number in range(30):
        assert converted(tree(7 * number), X).numpy().tolist() == walk(tree(7 * number), X).numpy().tolist()
    stats = converted.stats()
    assert stats["traces"] == 0 and "few calls share a structure" in stats["fallbacks"][0]["reason"], stats


@pytest.mark.parametrize("function", [walk, Walker().step])
def test_a_structure_that_comes_again_has_a_graph(function: Any) -> None:
    converted = imp2tf.convert(function)
    for _ in range(5):
        converted(tree(17), X)
    assert (converted.stats()["traces"], converted.stats()["graph_calls"]) == (1, 4)


def test_two_structures_in_turn_have_graphs() -> None:
    converted = imp2tf.convert(walk)
    for number in (5, 17) * 6:
        converted(tree(number), X)
    assert converted.stats()["traces"] == 2 and converted.stats()["eager_calls"] <= 2


def test_the_first_call_has_a_graph_if_it_is_to_have_one() -> None:
    converted = imp2tf.convert(walk, fullgraph=True)
    for number in (5, 17, 23):
        converted(tree(number), X)
    assert converted.stats()["traces"] == 3


def test_recursion_over_numbers_and_tensors_is_traced_as_ever() -> None:
    def power(x, n):
        return x if n == 0 else x * power(x, n - 1)

    converted = imp2tf.convert(power)
    for n in (3, 3, 4, 4, 3):
        assert converted(X, n).numpy().tolist() == power(X, n).numpy().tolist()
    assert converted.stats()["graph_calls"] == 4


def test_structures_of_containers_count() -> None:
    converted = imp2tf.convert(nested)
    for number in range(20):
        items = [1.0] * (1 + number % 7) + [[2.0] * (number % 5), [[3.0]] * (number % 3)]
        assert converted(items, X).numpy().tolist() == pytest.approx(nested(items, X).numpy().tolist())
    assert converted.stats()["traces"] <= 1


def test_signatures_of_a_function_without_recursion_are_on_credit() -> None:
    def total(*xs, **more):
        return sum(xs, 0.0) + sum(more.values())

    converted = imp2tf.convert(total, profile_runs=0)
    for _, (count, name) in itertools.product(range(3), [(1, "a"), (2, "a"), (3, "b")]):
        converted(*[X] * count, **{name: X})
    assert (converted.stats()["traces"], converted.stats()["graph_calls"]) == (3, 9)


# ------------------------------------------------------------------------------------------------ the parts
def test_structures() -> None:
    structures = Structures()
    assert [structures.note([value]) for value in (Node(), Node(), Node(Node()), Node())] == [1.0, 1.0, 0.0, 2 / 3]
    assert structures.note([X]) == structures.note([3]) == 1.0  # nothing is held


def test_objects_that_hold_themselves_have_a_structure() -> None:
    def ring(length: int) -> Node:
        first = Node()
        for _ in range(length - 1):
            first = Node(first)
        last = first
        while last.left is not None:
            last = last.left
        last.left = first
        return first

    structures = Structures()
    assert [structures.note([ring(length)]) for length in (2, 2, 3)] == [1.0, 1.0, 0.0]


def test_what_an_object_holds_that_comes_with_every_call_is_no_structure() -> None:
    structures, model = Structures(), Node()
    shares = []
    for _ in range(4):
        model = setattr(model, "left", Node(model.left)) or model
        shares.append(structures.note([model, X]))
    assert shares == [1.0] * 4


def test_traces_are_paid_for_by_time_in_python_or_by_calls_of_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0] * 1000)  # all that is measured takes a second
    monkeypatch.setattr(accounts, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    account = accounts.Account()
    assert account.has_earned(0, 0) and account.affords(0, 0)
    with account.python():
        pass
    assert not account.has_earned(0, 0) and account.affords(0, 0)
    for _ in range(199):
        with account.python():
            pass
    assert account.has_earned(0, 0)
    with account.tracing():
        pass
    assert account.has_earned(1, 0)
    for _ in range(9):
        with account.tracing():
            pass
    assert not account.has_earned(10, 0) and account.has_earned(10, 10) and account.affords(10, 0)
