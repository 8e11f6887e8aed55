"""Objects made in branches and loops that have several names after them: they are one object there, too."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, after, call, each, f32, i32, program


@program("shared_objects", graph=True, repeat=3)
def groups_of_a_defaultdict() -> World:
    groups = collections.defaultdict(list)

    def fn(x):
        groups["pos" if x > 0 else "neg"].append(x)
        return len(groups)
    return fn, each(f32(1.0), f32(-2.0), f32(3.0)), lambda: dict(groups)


@program("shared_objects", graph=True)
def two_names_from_a_branch() -> World:
    def fn(x):
        if x > 0:
            a = b = [x]
        else:
            a, b = [x], [x * 2]
        a.append(x * 3)
        return a, b, a is b
    return fn, each(f32(1.0), f32(-1.0))


@program("shared_objects", graph=True)
def two_names_on_both_paths() -> World:
    def fn(x):
        if x > 0:
            a = b = {"x": x}
        else:
            b = a = {"x": -x}
        a["x"] = a["x"] + 1
        return a, b
    return fn, each(f32(1.0), f32(-1.0))


@program("shared_objects", graph=True)
def stored_and_kept() -> World:
    class Store:
        def __init__(self):
            self.last = None
            self.named = {}

        def put(self, name, value):
            item = {"value": value, "count": 1}
            self.last = item
            self.named[name] = item
            return item

    store = Store()

    def fn(x):
        if x > 0:
            item = store.put("a", x)
            item["count"] += 1
        else:
            item = store.put("b", x)
        item["value"] = item["value"] * 2
        return item, store.last["count"]
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: (store.last, store.named)


@program("shared_objects", graph=True)
def two_names_made_anew_on_each_turn() -> World:
    def fn(xs):
        a = b = [f32(0.0)]
        for x in xs:
            a = b = [x + b[0]]
            a[0] = a[0] * 2
        b[0] = b[0] + 1
        return a, b
    return fn, each(f32([1.0, 2.0]), f32([3.0]), tf.zeros([0]))


@program("shared_objects", graph=True)
def one_list_twice_in_another() -> World:
    def fn(x):
        rows = None
        if x > 0:
            row = [x]
            rows = [row, row]
        if rows is not None:
            rows[0].append(x)
        return rows
    return fn, each(f32(1.0), f32(-1.0))


@program("shared_objects", graph=True)
def object_and_its_part() -> World:
    class Node:
        def __init__(self, value):
            self.value = value
            self.next = None

    def fn(x):
        if x > 0:
            tail = Node(x)
            head = Node(x * 2)
            head.next = tail
        else:
            tail = head = Node(x)
        tail.value = tail.value + 5
        return head.value, tail.value, head.next is tail
    return fn, each(f32(1.0), f32(-1.0))


@program("shared_objects", graph=True)
def tuples_of_one_list() -> World:
    def fn(xs):
        pair = ([], [])
        for x in xs:
            same = [x]
            pair = (same, same) if x > 1 else (same, [x])
        pair[0].append(f32(9.0))
        return pair
    return fn, each(f32([1.0, 2.0]), f32([0.5]), f32([]))


@program("shared_objects", repeat=2)
def put_in_a_list_that_grows() -> World:
    def fn(xs):
        rows, last = [], None
        for x in xs:
            last = [x]
            rows.append(last)
        return rows, last
    return fn, each(f32([1.0, 2.0]), f32([0.5]))


@program("shared_objects", graph=True, grad=True)
def gradient_through_shared_lists() -> World:
    def fn(x, n):
        for i in tf.range(n):
            a = [x * tf.cast(i, tf.float32)]
            b = a
            b[0] = b[0] * x
        if n > 0:
            return a[0] + b[0]
        return x
    return fn, [call(f32(2.0), i32(3)), call(f32(2.0), i32(0))]


@program("shared_objects", graph=True)
def default_made_by_setdefault() -> World:
    def fn(x, name):
        table = {}
        if x > 0:
            row = table.setdefault(name, [])
            row.append(x)
        else:
            row = table.setdefault("other", [x])
        row.append(x * 2)
        return table, row
    return fn, [call(f32(1.0), "a"), call(f32(-1.0), "a")]


@program("shared_objects", graph=True)
def dict_put_into_itself() -> World:
    table = {"a": f32(1.0), "b": 1}

    def fn(x, table):
        table["c"] = table
        table["a"] = table["c"]["a"] + x
        return x * 2.0
    return fn, [call(f32(1.0), table), call(f32(2.0), table), call(f32(3.0), {"a": f32(0.5)})], lambda: (table["a"], table["c"] is table)


@program("shared_objects", graph=True)
def list_in_a_tuple_in_itself() -> World:
    items = [f32(1.0)]
    items.append(("pair", items))

    def fn(x, *, items):
        items[0] = items[1][1][0] * x
        return items[0]
    return fn, [call(f32(2.0), items=items), call(f32(3.0), items=items)], lambda: (items[0], items[1][1] is items)


@program("shared_objects", grad=True)
def objects_in_a_ring_of_lists() -> World:
    class Node:
        def __init__(self, value):
            self.value, self.others = f32(value), []

        def step(self, x, nodes):
            for node in nodes:
                if x > 0.0:
                    node.others[0].value = node.value + x
            return self.value * x

    first, second = Node(1.0), Node(2.0)
    first.others, second.others = [second], [first]
    nodes = [first, second]
    nodes[0].others.append(nodes)
    return first.step, [call(f32(1.0), nodes), call(f32(-2.0), nodes), call(f32(3.0), nodes)], lambda: (first.value, second.value)


@program("shared_objects", graph=True)
def lists_of_a_dict_replaced_under_a_key_of_the_run() -> World:
    rows = {1: [f32(1.0), f32(2.0)], 2: [f32(7.0)]}
    kept = list(rows.values())

    def fn(k, x):
        rows[k] = [x]
    calls = [call(1, f32(1.0)), call(2, f32(1.0)), call(1, f32(5.0)), call(2, f32(5.0)), call(2, f32(1.0))]
    return fn, calls, lambda: (rows, kept, [one is other for one in rows.values() for other in kept])


@program("shared_objects", graph=True)
def lists_of_a_dict_changed_and_replaced_under_a_key_of_the_run() -> World:
    rows = {1: [f32(1.0), f32(2.0)], 2: [f32(7.0)]}

    def fn(k, x):
        rows[k].append(x)
        if x > 3.0:
            rows[k] = [x]
    calls = [call(1, f32(1.0)), call(2, f32(1.0)), call(1, f32(5.0)), call(2, f32(5.0)), call(2, f32(1.0)), call(1, f32(6.0))]
    return fn, calls, lambda: rows


@program("shared_objects", graph=True)
def objects_in_a_list_that_grows() -> World:
    held = {"a": [f32(1.0)], "b": [f32(2.0)]}

    def other():
        held["a"], held["b"] = [f32(3.0)], [f32(4.0)]

    def fn(n):
        found = []
        for i in tf.range(n):
            if i % 2 == 0:
                found.append(held["a"])
            else:
                found.append(held["b"])
        return found, [one is held["a"] for one in found][:0]
    return fn, [call(i32(2)), call(i32(3)), after(other, i32(2))], lambda: held


@program("shared_objects", graph=True)
def elements_of_a_list_that_grows_from_call_to_call() -> World:
    kept, history, pairs = [], [], []

    def keep():
        kept.extend([history[0], history[-1], pairs[0]])

    def fn(x):
        history.append(x)
        pairs.append((x, -0.0 if x > 2.0 else 0.0))
        return sum(history) + len(pairs), sum(weight for _, weight in pairs)
    calls = [call(f32(float(n))) for n in range(4)] + [after(keep, f32(4.0)), call(f32(4.0))]
    return fn, calls, lambda: (history, pairs, [any(one is other for other in (*history, *pairs)) for one in kept])


@program("shared_objects", graph=True)
def elements_beside_those_that_a_branch_or_loop_changes() -> World:
    """They stay the tensors that they are, also where the container is carried through."""
    rows, table, pairs = [f32(1.0), 1], {"a": f32(1.0), "b": 1}, [(f32(1.0), 2), 0]
    first = [rows[0], table["a"], pairs[0]]
    found = []

    def fn(x, n):
        found.append(table["a"])
        if x > 0:
            rows[1] += 1
            table["c"] = x
        else:
            table["b"] += 1
        for i in tf.range(n):
            rows[1] += 2
            if i > 1:
                pairs[1] = pairs[1] + i
        if x > 2:
            raise ValueError("large")
        else:
            pairs[1] = pairs[1] + 1
        return rows[0], pairs[0], table["a"]

    calls = [call(f32(1.0), i32(3)), call(f32(-1.0), i32(0)), call(f32(3.0), i32(1)), call(f32(2.0), i32(4))]
    return fn, calls, lambda: (rows, table, pairs, found, [rows[0] is first[0], table["a"] is first[1], pairs[0] is first[2],
                                                           all(one is first[1] for one in found)])


@program("shared_objects", graph=True, grad=True)
def elements_carried_through_in_methods_and_nested_loops() -> World:
    class Kept:
        def __init__(self):
            self.rows, self.table, self.ends = [f32(1.0), f32(2.0), 0], {"a": f32(3.0), "n": 0}, collections.deque([f32(4.0), 0])

        def count(self, x):
            if x > 1.0:
                self.rows[2] += 1
            else:
                self.table["n"] -= 1

    kept = Kept()
    first = [*kept.rows[:2], kept.table["a"], kept.ends[0]]

    def fn(x):
        total = x * 0.0
        while x > 0.0:
            x -= 1.0
            kept.count(x)
            for e in tf.range(2):
                if e > 0:
                    kept.ends[1] += 1
                    continue
                kept.table["n"] += 2
            total += kept.rows[0] * kept.table["a"]
        return total, kept.rows[1], kept.ends[0]

    def same():
        return [one is other for one, other in zip(first, [*kept.rows[:2], kept.table["a"], kept.ends[0]])]
    return fn, each(f32(0.0), f32(3.0), f32(1.0)), lambda: (kept.rows, kept.table, kept.ends, same())


class Link:
    def __init__(self, value, to=None):
        self.value, self.to = value, to


@program("shared_objects", graph=True)
def an_object_that_knows_itself_on_one_path() -> World:
    def fn(x):
        if x > 0:
            one = Link(x)
            one.to = one
            link = one
        else:
            one = Link(x - 1.0)
            link = Link(x, one)
        one.value = one.value + 7.0
        return link.to.value, link.value, link is link.to
    return fn, each(f32(1.0), f32(-1.0))


@program("shared_objects", graph=True, grad=True)
def an_object_in_a_list_and_in_another_object() -> World:
    def fn(x):
        for k in range(3):
            if x > float(k):
                one = Link(x)
                links = [one, Link(x, one)]
            else:
                one = Link(-x)
                links = [one, Link(x, one)]
            x = x - links[1].to.value * 0.5
        links[0].value = links[0].value * 3.0
        return links[1].to.value, x
    return fn, each(f32(2.0), f32(-1.0), f32(9.0))
