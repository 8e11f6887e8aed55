"""Dicts and sets: keys added and removed, views, order, defaults, as state, values of tensors."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program


@program("dicts_sets", graph=True, golden=True)
def value_updated_in_a_loop() -> World:
    def fn(xs):
        stats = {"sum": f32(0.0), "count": 0}
        for x in xs:
            stats["sum"] += x
            stats["count"] += 1
        return stats
    return fn, each(f32([1.0, 2.0]), f32([3.0]))


@program("dicts_sets", graph=True)
def value_updated_in_a_branch() -> World:
    table = {"low": 0, "high": 0, "last": None}

    def fn(x):
        if x > 10:
            table["high"] += 1
            table["last"] = x
        else:
            table["low"] += 1
        return table["high"] - table["low"]
    return fn, each(i32(20), i32(1)), lambda: table


@program("dicts_sets", graph=True)
def key_added_in_a_branch() -> World:
    def fn(x):
        table = {"x": x}
        if x > 0:
            table["positive"] = x * 2
        return table, len(table), "positive" in table
    return fn, each(f32(1.0), f32(-1.0))


@program("dicts_sets", graph=True)
def insertion_order() -> World:
    def fn(x):
        table = {}
        table["b"] = x
        table["a"] = x * 2
        table["b"] = x * 3
        return table, list(table)
    return fn, each(f64(1.0))


@program("dicts_sets", graph=True)
def views() -> World:
    def fn(weights, x):
        total = f32(0.0)
        for weight in weights.values():
            total += weight * x
        for key in weights:
            total += len(key)
        return total, list(weights.keys())
    return fn, [call({"a": f32(1.0), "bcd": f32(2.0)}, f32(3.0)), call({}, f32(1.0))]


@program("dicts_sets", graph=True)
def get_setdefault_pop_update() -> World:
    def fn(x):
        table = {"a": x}
        b = table.get("b", 10.0)
        table.setdefault("c", []).append(x * 2)
        table.update({"d": b}, e=1)
        gone = table.pop("a")
        return table, gone, table.pop("zz", None)
    return fn, each(f32(1.0))


@program("dicts_sets", graph=True)
def memo_of_the_state() -> World:
    memo = {}

    def fn(x, key):
        if key not in memo:
            memo[key] = x * 10
        return memo[key]
    return fn, [call(f32(1.0), "a"), call(f32(2.0), "a"), call(f32(3.0), ("b", 1))], lambda: memo


@program("dicts_sets")
def tensor_values_as_keys() -> World:
    def fn(xs):
        counts = {}
        for x in xs:
            key = int(x)
            counts[key] = counts.get(key, 0) + 1
        return counts
    return fn, each(i32([1, 2, 1]), i32([5]))


@program("dicts_sets")
def tensor_as_a_key_is_refused() -> World:
    def fn(x):
        return {x: 1}
    return fn, each(f32(1.0))


@program("dicts_sets")
def default_dict_and_counter() -> World:
    groups = collections.defaultdict(list)

    def fn(x, name):
        groups[name].append(x)
        counts = collections.Counter([name, "a"])
        return x * counts["a"], len(groups)
    return fn, [call(f32(1.0), "a"), call(f32(2.0), "b"), call(f32(3.0), "a")], lambda: groups


@program("dicts_sets", graph=True)
def nested_dicts() -> World:
    config = {"layer": {"scale": 2.0, "uses": 0}}

    def fn(x):
        layer = config["layer"]
        layer["uses"] += 1
        if x > 0:
            config["layer"]["last"] = x
        return x * layer["scale"]
    return fn, each(f32(1.0), f32(-1.0)), lambda: config


@program("dicts_sets", graph=True)
def merge_and_copy() -> World:
    def fn(a, b):
        merged = {**a, **b}
        other = a | b
        copied = dict(a)
        copied["x"] = b["x"] * 2
        return merged, other, copied, a
    return fn, [call({"x": f32(1.0), "y": 1}, {"x": f32(2.0)})]


@program("dicts_sets", graph=True)
def dict_carried_by_a_while_loop() -> World:
    def fn(n):
        state = {"a": i32(0), "b": i32(1)}
        while n > 0:
            state = {"a": state["b"], "b": state["a"] + state["b"]}
            n -= 1
        return state
    return fn, each(i32(5), i32(0))


@program("dicts_sets", graph=True)
def argument_is_changed() -> World:
    def fn(table, x):
        table["seen"] = table.get("seen", 0) + 1
        if x > 0:
            table["x"] = x
        return table
    return fn, [call({}, f16(1.0)), call({"seen": 5}, f16(-1.0))]


@program("dicts_sets", graph=True)
def set_of_the_state() -> World:
    seen = set()

    def fn(x, name):
        if name in seen:
            return x * 10
        seen.add(name)
        return x
    return fn, [call(i64(1), "a"), call(i64(1), "a"), call(i64(1), "b")], lambda: seen


@program("dicts_sets", graph=True)
def set_added_to_in_a_branch() -> World:
    seen = {"start"}

    def fn(x):
        if x > 0:
            seen.add("positive")
        else:
            seen.discard("start")
        return len(seen)
    return fn, each(f32(1.0), f32(-1.0)), lambda: seen


@program("dicts_sets")
def set_algebra() -> World:
    def fn(x, a, b):
        return x * len(a & b), sorted(a | b), a - b, a ^ b, a <= b, frozenset(a)
    return fn, [call(f32(1.0), {1, 2}, {2, 3}), call(f32(1.0), {2}, {2, 3})]


@program("dicts_sets", graph=True)
def ordered_dict_and_deque() -> World:
    def fn(x):
        recent = collections.deque([x, x * 2, x * 3], maxlen=3)
        recent.append(x * 4)
        ordered = collections.OrderedDict(a=x, b=recent[0])
        ordered.move_to_end("a")
        return recent, ordered
    return fn, each(f32(1.0))


@program("dicts_sets")
def changed_while_iterated() -> World:
    def fn(x, table):
        for key in table:
            if key == "a":
                table["new"] = x
        return table
    return fn, [call(f32(1.0), {"b": 1}), call(f32(1.0), {"a": 1, "b": 2})]


@program("dicts_sets", graph=True)
def dict_of_functions() -> World:
    table = {"sin": tf.sin, "neg": lambda v: -v if v > 0 else v}

    def fn(x, names):
        for name in names:
            x = table[name](x)
        return x
    return fn, [call(f32(1.0), ["sin", "neg"]), call(f32(1.0), ["neg"])]


@program("dicts_sets", grad=1, graph=True)
def gradient_by_values_of_a_dict() -> World:
    def fn(params):
        y = params["w"] * params["x"] + params["b"]
        if y > 0.0:
            return y * y
        return params["b"] * params["w"] * params["x"]
    return fn, [call({"w": f32(w), "x": f32(3.0), "b": f32(1.0)}) for w in (2.0, -2.0)]


# ------------------------------------------------------------------------------------ views of dicts
@program("dicts_sets", graph=True)
def views_show_what_is_written_after_they_were_taken() -> World:
    def fn(x):
        held = {"a": x}
        keys, values, items = held.keys(), held.values(), held.items()
        if x > 0:
            held["b"] = x * 2.0
        else:
            held["b"] = -x
        for _ in tf.range(3):
            held["a"] = held["a"] + x
        return list(keys), list(values), len(items), "b" in keys, [key for key, _ in items], sum(values)
    return fn, each(f32(1.0), f32(-1.0))


@program("dicts_sets", graph=True)
def views_of_dicts_made_on_each_turn() -> World:
    def fn(x):
        total = x * 0.0
        for _ in tf.range(3):
            held = {"a": x}
            values = held.values()
            held["b"] = x * 2.0
            total += tf.add_n(list(values))
        return total
    return fn, each(f32(1.0), f32(2.0))


@program("dicts_sets", graph=True)
def view_carried_by_a_loop() -> World:
    def fn(x):
        held = {"a": x}
        values = held.values()
        for _ in tf.range(3):
            held["a"] = held["a"] * 2.0
            if held["a"] > 3.0:
                values = held.values()
        return sum(values), len(values)
    return fn, each(f32(1.0), f32(-1.0))


@program("dicts_sets", graph=True)
def views_given_to_builtins_helpers_and_tensorflow() -> World:
    def total(values):
        return sum(values)

    def fn(x):
        held = {"a": x, "b": x * 2.0}
        pairs = list(zip(held.keys(), held.values()))
        return total(held.values()), max(held.values()), sorted(held.keys()), dict(held.items()), pairs, tf.add_n(held.values())
    return fn, each(f32(1.0), f32(-1.0))


@program("dicts_sets")
def views_leave_the_function() -> World:
    def fn(held, x):
        held["b"] = x
        made = {"a": x}
        return held.keys(), [made.values()], {"items": made.items()}
    return fn, [(({"a": f32(1.0)}, f32(2.0)), {}), (({"a": f32(1.0)}, f32(3.0)), {})]


@program("dicts_sets")
def views_are_no_lists() -> World:
    def fn(x):
        held = {"a": x}
        kinds = type(held.keys()).__name__, isinstance(held.items(), list), hasattr(held.values(), "append")
        return kinds, held.keys() == {"a"}, held.keys() == ["a"], sorted(held.keys() | {"b"}), bool(held.keys()), f"{held.keys()}"
    return fn, each(f32(1.0), f32(2.0))


@program("dicts_sets")
def item_of_a_view() -> World:
    def fn(x):
        return {"a": x}.values()[0]
    return fn, each(f32(1.0), f32(2.0))


@program("dicts_sets")
def iterators_are_what_python_makes() -> World:
    def fn(x):
        pairs, numbered = zip([1], [2]), enumerate([x])
        kinds = type(pairs).__name__, isinstance(numbered, enumerate), isinstance(map(str, [1]), list), type(iter([1])).__name__
        return kinds, bool(zip([])), hasattr(pairs, "append"), str(pairs)[:4]
    return fn, each(f32(1.0), f32(2.0))


@program("dicts_sets", graph=True)
def dict_replaced_in_a_loop_by_one_made_of_its_items() -> World:
    def fn(x, n):
        held = {"a": x, "b": x * 2.0}
        for _ in tf.range(n):
            held = {key: value + 1.0 for key, value in held.items()}
        return held
    return fn, [((f32(1.0), tf.constant(n)), {}) for n in (2, 0, 3)]


@program("dicts_sets", graph=True)
def views_of_one_of_two_dicts() -> World:
    def fn(x):
        first, second = {"a": x, "b": x * 2.0}, {"b": x, "c": x * 5.0}
        held = first if x > 0.0 else second
        values, keys = held.values(), held.keys()
        first["a"] = x + 100.0
        second["c"] = x + 100.0
        return sum(values), len(values), max(values), "c" in keys, [key for key, _ in held.items()]
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("dicts_sets", graph=True)
def views_of_a_dict_that_a_branch_makes_longer() -> World:
    def fn(x):
        held = {"a": x, "b": x * 2.0}
        if x > 0.0:
            held["c"] = x * 3.0
        total = x
        for value in held.values():
            total = total + value
        return total, len(held.items()), "c" in held.keys(), x * 2.0 in held.values()
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("dicts_sets", graph=True)
def views_show_values_of_their_turn() -> World:
    def fn(x, n):
        table = {"a": x, "b": x * 2, "c": x * 3}
        for key, value in table.items():
            table["b"] = table["b"] + value
        for value in table.values():
            table["c"] = table["c"] + value
        counts = {0: 1, 1: 1}
        for i in tf.range(n):
            counts[int(i)] = 2
        for key, value in counts.items():
            counts[1] = counts[1] + value
        return table, counts
    return fn, [call(f32(1.0), i32(1)), call(f32(2.0), i32(4))]


def _ordered(*values):
    return collections.OrderedDict(zip("abc", map(f32, values or (1.0, 2.0, 3.0))))


@program("dicts_sets", graph=True)
def ordered_dict_moved_in_order() -> World:
    table = _ordered()

    def fn(x):
        table["b"] = x
        table.move_to_end("a")
        if x > 1.0:
            table.move_to_end("c", last=False)
        return x * 2.0
    return fn, each(f32(1.0), f32(2.0), f32(0.5)), lambda: list(table.items())


@program("dicts_sets", graph=True)
def ordered_dict_popped_at_both_ends() -> World:
    table = _ordered()

    def fn(x):
        first, one = table.popitem(last=False)
        last, two = table.popitem()
        table[last] = one * x
        table[first] = two
        return first, last, one + two
    return fn, each(f32(1.0), f32(2.0), f32(0.5)), lambda: list(table.items())


@program("dicts_sets", graph=True)
def recently_used_entries() -> World:
    class Cache:
        def __init__(self):
            self.kept = collections.OrderedDict()

        def get(self, key, x):
            if key in self.kept:
                self.kept.move_to_end(key)
            else:
                self.kept[key] = x * 2.0
            while len(self.kept) > 2:
                self.kept.popitem(last=False)
            return self.kept[key]

    cache = Cache()
    return cache.get, [call("a", f32(1.0)), call("b", f32(2.0)), call("a", f32(3.0)), call("c", f32(4.0)), call("b", f32(5.0))], \
        lambda: list(cache.kept.items())


@program("dicts_sets", graph=True)
def order_of_a_dict_after_pop_and_set() -> World:
    table = dict(_ordered())

    def fn(x):
        for _ in tf.range(2):
            table["a"] = table.pop("a") + x
        return list(table)
    return fn, each(f32(1.0), f32(2.0)), lambda: list(table.items())


@program("dicts_sets")
def ordered_dicts_are_equal_in_order() -> World:
    def fn(x, one, other):
        same = one == other
        one.move_to_end("a")
        return same, one == other, one == dict(other), dict(one) == other, list(reversed(one))
    def pair():
        return collections.OrderedDict(a=1, b=2), collections.OrderedDict(a=1, b=2)
    return fn, [call(f32(1.0), *pair()), call(f32(1.0), *pair())]


@program("dicts_sets")
def ordered_dict_under_run_time_keys() -> World:
    def fn(x, n):
        table = collections.OrderedDict()
        for i in tf.range(n):
            table[int(i) * 2] = x + 1.0
        table.move_to_end(0)
        key, value = table.popitem(last=False)
        return key, value, list(table)
    return fn, [call(f32(1.0), i32(3)), call(f32(2.0), i32(2)), call(f32(2.0), i32(4))]


@program("dicts_sets")
def ordered_dict_of_a_class_with_hooks() -> World:
    class Noisy(collections.OrderedDict):
        def __setitem__(self, key, value):
            seen.append(key)
            super().__setitem__(key, value)

    seen = []
    table = Noisy(a=f32(1.0), b=f32(2.0))

    def fn(x):
        table["a"] = x
        table.move_to_end("a")
        return table["b"]
    return fn, each(f32(1.0), f32(2.0)), lambda: (list(table.items()), seen)


@program("dicts_sets", grad=True)
def ordered_dict_under_a_tape() -> World:
    table = _ordered()

    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = x
            for name in list(table):
                total = total * table[name] + x
                if x > 0.0:
                    table.move_to_end(name, last=False)
        return total, tape.gradient(total, x)
    return fn, each(f32(1.0), f32(-2.0), f32(0.5)), lambda: list(table.items())


@program("dicts_sets")
def containers_of_several_kinds_compared() -> World:
    def fn(x, a, b):
        answers = []
        for one, other in ((a, b), (b, a), (a, a.copy())):
            answers += [one == other, one != other]
        try:
            answers.append(a < b)
        except TypeError as error:
            answers.append(str(error))
        return answers, x
    counter = collections.Counter
    deque = collections.deque
    return fn, [call(f32(1.0), *pair) for pair in (
        (counter(a=1, b=0), counter(a=1)), (counter(a=1, b=0), {"a": 1}), (counter("ab"), counter("ba")), ([1, 2], deque([1, 2])),
        (deque([1, 2]), deque([1, 3])), (deque([f32(1.0)]), [f32(1.0)]), ({1}, {1, 2}), ([1], {1}), ({}, []),
        (collections.defaultdict(int, a=1), collections.OrderedDict(a=1)), (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}))]


@program("dicts_sets", graph=True)
def size_of_a_dict_changes_while_it_is_iterated() -> World:
    def fn(x):
        d = {"a": 1, "b": 2}
        try:
            for key in d:
                if x > 1.0:
                    d[key + "_"] = x
        except RuntimeError as error:
            return str(error), len(d)
        return "none", len(d)
    return fn, each(f32(0.0), f32(2.0))


@program("dicts_sets", graph=True)
def views_of_keys_as_sets() -> World:
    def fn(x):
        a, b = {"x": x, "y": 2.0}, {"y": x, "z": 1.0}
        total = 0.0
        for k in a.keys() & b.keys():
            total += a[k] * b[k]
        return (total, sorted(a.keys() | b.keys()), a.keys() - b.keys(), a.keys() ^ {"x"}, a.keys() <= b.keys(), a.keys() == {"x", "y"},
                set(a) - set(b), {"x"} | a.keys())
    return fn, each(f32(1.0), f32(-2.0))


@program("dicts_sets", graph=True)
def entries_that_a_condition_keeps() -> World:
    def fn(xs):
        found = dict(zip(["w", "b", "g"], tf.unstack(xs)))
        kept = {k: v for k, v in found.items() if v > 0}
        numbered = {i: v for i, v in enumerate(xs) if v > 0}
        return kept, len(kept), "w" in kept, kept.get("b", 0.0), [k for k in found if k not in kept], numbered
    return fn, each(f32([1.0, -1.0, 2.0]), f32([-1.0, -1.0, -2.0]), f32([1.0, 1.0, 2.0]))


@program("dicts_sets", graph=True)
def names_that_a_condition_left_out() -> World:
    def fn(xs):
        found = dict(zip(["w", "b", "g"], tf.unstack(xs)))
        kept = {k: v for k, v in found.items() if v > 0}
        return set(found) - set(kept), set(found) & set(kept)
    return fn, each(f32([1.0, -1.0, 2.0]), f32([-1.0, -1.0, -2.0]))


@program("dicts_sets", graph=True)
def dict_and_set_of_lists_of_run_time_length() -> World:
    def fn(xs):
        values, places = [], []
        for i in range(len(xs)):
            if xs[i] > 0:
                values.append(xs[i])
                places.append(i)
        return dict(zip(places, values)), set(places), tuple(values), dict(zip(places, ["a", "b", "c"]))
    return fn, each(f32([1.0, -1.0, 2.0]), f32([-1.0]))
