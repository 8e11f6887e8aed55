"""What acts like a dict or set: ChainMap, UserDict, classes with keys, Counter arithmetic, views that leave, frozensets, fromkeys."""

import collections
import functools

import tensorflow as tf

from tests.programs import World, after, call, each, f32, i32, program


@program("mappings", graph=True)
def chain_map_made_in_the_call() -> World:
    base = {"lr": 0.5, "scale": 2.0}
    over = {}

    def fn(x, **given):
        conf = collections.ChainMap(given, over, base)
        child = conf.new_child({"scale": 5.0})
        return x * conf["lr"] * child["scale"], len(conf), sorted(child), "k" in conf, conf.get("k", 1.0), child.parents["scale"]
    return fn, [call(f32(1.0)), call(f32(1.0), k=3.0), after(lambda: base.update(lr=5.0), f32(1.0)),
                after(lambda: over.update(lr=7.0), f32(1.0)), after(over.clear, f32(1.0))], lambda: (base, over)


@program("mappings", graph=True)
def chain_map_of_the_program() -> World:
    base = {"lr": 0.5}
    conf = collections.ChainMap({}, base)

    def fn(x):
        conf["n"] = conf.get("n", 0) + 1
        conf.update(last=x)
        if x > 1.0:
            conf["best"] = x
        return x * conf["lr"], conf["n"], "best" in conf, conf.setdefault("q", 4.0), conf.pop("none", None)
    return fn, [call(f32(1.0)), after(lambda: base.update(lr=5.0), f32(1.0))], lambda: conf.maps


@program("mappings", graph=True)
def chain_map_without_the_key() -> World:
    def fn(x, name):
        conf = collections.ChainMap({}, {"a": 2.0})
        try:
            return x * conf[name]
        except KeyError as error:
            return x, error.args
    return fn, [call(f32(1.0), "a"), call(f32(1.0), "b")]


@program("mappings", graph=True)
def user_dict_with_methods_of_its_own() -> World:
    class Registry(collections.UserDict):
        def __missing__(self, key):
            self.data[key] = 0.0
            return 0.0

        def add(self, key, value):
            self[key] = self[key] + value

    registry = Registry(start=1.0)

    def fn(x, key):
        registry.add(key, x)
        return sum(registry.values()), list(registry), [(name, value * 2) for name, value in registry.items()], dict(registry)
    return fn, [call(f32(1.0), "a"), call(f32(2.0), "start"), call(f32(3.0), "a")], lambda: registry.data


@program("mappings", graph=True)
def class_with_keys_made_a_dict() -> World:
    class Row:
        def __init__(self, **fields):
            self.fields = fields

        def keys(self):
            return self.fields.keys()

        def __getitem__(self, key):
            return self.fields[key] * 2

    def fn(x):
        row = Row(a=x, b=x + 1)
        return dict(row), dict(row, c=x), {**row}
    return fn, each(f32(1.0), f32(2.0))


@program("mappings", graph=True)
def counters_added_and_compared() -> World:
    def fn(words, x):
        total = collections.Counter(a=1)
        found = collections.Counter(words)
        total += found
        rest = total - collections.Counter("a")
        total -= collections.Counter("b")
        return x * len(total), total, rest, found | rest, found & rest, found + rest, found["missing"], total == found
    return fn, [call("aab", f32(1.0)), call("abc", f32(2.0)), call("", f32(3.0))]


@program("mappings", graph=True)
def counters_of_labels() -> World:
    total = collections.Counter()

    def fn(labels):
        total.update(collections.Counter({0: int(labels[0]), 1: int(labels[1])}))
        return total + collections.Counter({0: int(labels[1])}), total.most_common(1)
    return fn, each(i32([1, 2]), i32([3, 0])), lambda: total


@program("mappings", graph=True)
def views_that_leave_the_function() -> World:
    state = {"a": 1.0}

    def fn(x, key):
        state[key] = x
        made = {"p": x, "q": 2}
        keys = made.keys()
        made["r"] = x * 2
        return state.keys(), keys, made.values(), made.items(), keys
    return fn, [call(f32(1.0), "a"), call(f32(2.0), "b")], lambda: state


@program("mappings", graph=True)
def frozensets_and_sets() -> World:
    names = frozenset({"a", "b"})
    seen = {"a"}

    def fn(x, more):
        given = set(more)
        return x * len(names & given), names & given, given | names, names - seen, given ^ names, names >= given, seen | names
    return fn, [call(f32(1.0), ["a", "c"]), after(lambda: seen.add("b"), f32(1.0), ["a"])]


@program("mappings", graph=True)
def dicts_of_given_keys() -> World:
    def fn(x, names):
        totals = dict.fromkeys(names, 0.0)
        order = collections.OrderedDict.fromkeys(names)
        for name in names:
            totals[name] = totals[name] + x
        unique = list(dict.fromkeys(names))
        return totals, order, unique, tf.add_n(list(totals.values()))
    return fn, [call(f32(1.0), ["a", "b", "a"]), call(f32(2.0), ("z",))]


@program("mappings", graph=True)
def dict_of_pairs_of_the_run() -> World:
    def fn(ids, scores):
        pairs = sorted(zip(ids.numpy().tolist(), scores.numpy().tolist()), key=lambda pair: -pair[1])
        best = dict(pairs)
        return best, [f"{rank}: {name}" for rank, (name, _) in enumerate(pairs, 1)]
    return fn, [call(i32([1, 2]), f32([0.5, 0.7])), call(i32([3, 3]), f32([0.9, 0.7]))]


@program("mappings", graph=True)
def order_by_one_comparison() -> World:
    @functools.total_ordering
    class Score:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __lt__(self, other):
            return self.value < other.value

    def fn(a, b):
        x, y = Score(float(a)), Score(float(b))
        if x >= y:
            a = a * 2
        return x > y, x <= y, max(x, y).value, a
    return fn, [call(f32(1.0), f32(2.0)), call(f32(3.0), f32(2.0)), call(f32(2.0), f32(2.0))]


@program("mappings", graph=True)
def spread_and_updated_from() -> World:
    base = dict.fromkeys(["a", "b"], 0.0)

    class Row:
        def __init__(self):
            self.fields = {"k": 1.0}

        def keys(self):
            return self.fields.keys()

        def __getitem__(self, key):
            return self.fields[key] * 2

    row = Row()

    def named(**fields):
        return sorted(fields), fields

    def fn(x, key):
        conf = collections.ChainMap({"x": x}, base)
        base[key] = base.get(key, 0.0) + 1
        row.fields[key] = x
        made = {"z": 0.0}
        made.update(conf)
        made.update(row)
        return {**conf}, {**row}, named(**conf), named(**row, q=1), made
    return fn, [call(f32(1.0), "a"), call(f32(2.0), "c"), call(f32(3.0), "a")], lambda: (base, row.fields)


@program("mappings", graph=True)
def updated_from_pairs() -> World:
    def fn(x):
        made = {"a": 0.0}
        made.update([("a", x), ("b", x * 2)])
        made.update((name, x) for name in "cd")
        made.update(zip("ef", [1, 2]), g=3)
        return made
    return fn, each(f32(1.0), f32(2.0))
