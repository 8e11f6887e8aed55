"""Dicts and sets under keys that only the run knows."""
from __future__ import annotations

import collections

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program, text

INTS = (i32([1, 2, 1, 3, 1]), i32([5]), i32([2, 2, 4]))
WORDS = (text(["a", "b", "a", "c"]), text(["x"]), text(["b", "b", "bb"]))


@program("run_time_keys", graph=True)
def numbers_counted() -> World:
    def fn(xs):
        counts = {}
        for x in xs:
            key = int(x)
            counts[key] = counts.get(key, 0) + 1
        return counts
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def words_counted() -> World:
    def fn(words):
        counts = {}
        for word in words:
            key = word.numpy().decode()
            counts[key] = counts.get(key, 0) + 1
        return counts, len(counts)
    return fn, each(*WORDS)


@program("run_time_keys", graph=True)
def bytes_and_membership() -> World:
    def fn(words):
        seen = {}
        repeats = 0
        for word in words:
            key = word.numpy()
            if key in seen:
                seen[key] += 1
                repeats += 1
            else:
                seen[key] = 1
        return seen, repeats, b"a" in seen, seen.get(b"b"), b"zz" not in seen
    return fn, each(*WORDS)


@program("run_time_keys", graph=True)
def first_place_of_each() -> World:
    def fn(xs):
        place = {}
        for i, x in enumerate(xs):
            place.setdefault(int(x), i)
        total = 0
        for key in place:
            total += key * place[key]
        for key, value in place.items():
            total = total * 2 + key - value
        return place, total, list(place), list(place.values()), list(place.items()), sum(place.values()), max(place)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def tensors_under_keys() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            key = int(x)
            if key in table:
                table[key] = table[key] + tf.cast(x, tf.float32)
            else:
                table[key] = f32(0.5)
        total = f32(0.0)
        for value in table.values():
            total += value
        return total, table[int(xs[0])]
    return fn, each(*INTS)


@program("run_time_keys", graph=True, grad=True)
def gradient_by_values_under_keys() -> World:
    def fn(xs, w):
        table = {}
        for x in xs:
            key = int(x)
            table[key] = table.get(key, f32(0.0)) + w * tf.cast(x, tf.float32)
        total = f32(0.0)
        for value in table.values():
            total += value * value
        return total
    return fn, [call(xs, f32(2.0)) for xs in INTS]


@program("run_time_keys", graph=True)
def keys_that_are_missing() -> World:
    def fn(xs, key):
        table = {}
        for x in xs:
            table[int(x)] = x * 2
        return table[int(key)]
    return fn, [call(INTS[0], i32(3)), call(INTS[0], i32(9)), call(INTS[1], i32(5))]


@program("run_time_keys", graph=True)
def entries_removed() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            table[int(x)] = int(x) * 10
        gone = table.pop(int(xs[0]))
        missing = table.pop(int(xs[0]), -1)
        if len(table) > 1:
            del table[int(xs[1])]
        table[int(xs[0])] = 0
        last = table.popitem()
        return table, gone, missing, last
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def entry_removed_that_is_not_there() -> World:
    def fn(xs, key):
        table = {}
        for x in xs:
            table[int(x)] = x
        if key > 5:
            del table[int(key)]
        else:
            table.pop(int(key))
        return len(table)
    return fn, [call(INTS[0], i32(3)), call(INTS[0], i32(9)), call(INTS[0], i32(4))]


@program("run_time_keys", graph=True)
def updated_copied_and_cleared() -> World:
    def fn(xs):
        a, b = {7: 1, 1: 2}, {}
        for x in xs:
            a[int(x)] = 3
            b[int(x) + 1] = 4
        c = a.copy()
        a.update(b)
        b.update({1: 9})
        c.clear()
        return a, b, c, bool(c), bool(a)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def default_dict_of_numbers() -> World:
    def fn(xs):
        counts = collections.defaultdict(int)
        sums = collections.defaultdict(float)
        for x in xs:
            counts[int(x)] += 1
            sums[int(x) % 2] += 0.5
        return counts, sums, counts[100], len(counts)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def counter() -> World:
    def fn(xs):
        counts = collections.Counter()
        for x in xs:
            counts[int(x)] += 1
        return counts, counts[100], len(counts)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def set_of_numbers() -> World:
    def fn(xs):
        seen = set()
        repeats = 0
        for x in xs:
            if int(x) in seen:
                repeats += 1
            seen.add(int(x))
        if 1 in seen:
            seen.remove(1)
        seen.discard(100)
        return seen, repeats, len(seen), 2 in seen, bool(seen)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def set_of_words() -> World:
    def fn(words):
        seen = {"a"}
        for word in words:
            seen.add(word.numpy().decode("utf-8"))
        return seen, len(seen)
    return fn, each(*WORDS)


@program("run_time_keys")
def keys_of_several_kinds() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            table[int(x)] = 1
            table[float(x) + 0.5] = 2
            table["a"] = 3
        return table
    return fn, each(*INTS)


@program("run_time_keys")
def equal_keys_of_other_kinds() -> World:
    def fn(xs):
        table = {True: "yes"}
        for x in xs:
            table[int(x)] = "no"
        return table, table[1.0], 1 in table, 1.0 in table, 2.5 in table, "a" in table
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def asked_for_keys_of_other_kinds() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            table[int(x)] = int(x) + 1
        return table.get(1.0), 1.0 in table, 2.5 in table, "a" in table, None in table, table.get("a", 5), True in table
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def in_helpers_methods_and_branches() -> World:
    class Tally:
        def __init__(self):
            self.counts = {}

        def add(self, key, by=1):
            self.counts[key] = self.counts.get(key, 0) + by

    def fn(xs, go):
        tally = Tally()
        for x in xs:
            if go > 0:
                tally.add(int(x), 2)
            elif x > 1:
                tally.add(int(x) * 100)
        i = 0
        while i < go:
            tally.add(i)
            i += 1
        return tally.counts
    return fn, [call(INTS[0], i32(1)), call(INTS[0], i32(0)), call(INTS[2], i32(3))]


@program("run_time_keys", repeat=3)
def counts_of_the_state() -> World:
    counts = {}

    def fn(x):
        key = int(x)
        counts[key] = counts.get(key, 0) + 1
        return len(counts)
    return fn, each(i32(1), i32(2), i32(1)), lambda: counts


@program("run_time_keys")
def changed_while_iterated_over() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            table[int(x)] = 1
        for key in table:
            if key > 1:
                table[key + 100] = 1
        return table
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def comprehensions_with_run_time_keys() -> World:
    def fn(xs):
        table = {int(x): int(x) * 2 for x in xs}
        other = {key + 1: value for key, value in table.items()}
        return table, other, {int(x) for x in xs}
    return fn, each(*INTS)


@program("run_time_keys")
def nan_as_a_key() -> World:
    def fn(xs):
        table = {}
        for x in xs:
            key = float(x)
            table[key] = 1
            table[key] = table[key] + 1
        return len(table)
    return fn, each(f32([1.0, 1.0]), f32([float("nan"), float("nan")]))


@program("run_time_keys", graph=True)
def rows_under_keys() -> World:
    def fn(xs):
        groups = collections.defaultdict(list)
        for i, x in enumerate(xs):
            groups[int(x)].append(i)
        return groups, len(groups)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def rows_under_keys_by_setdefault() -> World:
    def fn(xs):
        groups = {}
        for x in xs:
            groups.setdefault(int(x), []).append(x * 2)
        return groups
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def rows_found_and_changed() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append([x])
        rows[0].append(xs[0])
        rows[-1][0] = xs[0] * 7
        for row in rows:
            row.append(i32(3))
        return rows
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def row_filled_by_a_loop_of_its_own() -> World:
    def fn(xs):
        groups = collections.defaultdict(list)
        for x in xs:
            row = groups[int(x)]
            for i in tf.range(x):
                row.append(int(i))
        return groups
    return fn, each(*INTS)


@program("run_time_keys")
def row_that_moves_while_a_loop_fills_it() -> World:
    def fn(xs):
        rows = []
        for x in xs:
            rows.append([x])
            rows.append([x])
            row = rows[0]
            for i in tf.range(2):
                row.append(i)
                rows.insert(0, [])
        return rows
    return fn, each(*INTS)


@program("run_time_keys")
def row_known_by_another_name() -> World:
    def fn(xs):
        rows, last = [], None
        for x in xs:
            line = [x]
            rows.append(line)
            rows[-1].append(x * 2)
            last = line[-1]
        return rows, last
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def grid_of_rows() -> World:
    def fn(xs):
        grid = []
        for x in xs:
            line = []
            for y in xs:
                line.append(x * y)
            grid.append(line)
        grid[0][-1] = xs[0] * 100
        for row in grid:
            row[0] += 1
        grid[-1].append(xs[0])
        return grid
    return fn, each(*INTS)


@program("run_time_keys", graph=True, grad=True)
def gradient_through_rows_that_change() -> World:
    def fn(xs, w):
        groups = collections.defaultdict(list)
        for x in xs:
            groups[int(x)].append(w * tf.cast(x, tf.float32))
        total = f32(0.0)
        for row in groups.values():
            for value in row:
                total += value * value
        return total
    return fn, [call(xs, f32(2.0)) for xs in INTS]


@program("run_time_keys", graph=True)
def constants_chosen_by_tensors() -> World:
    def fn(xs):
        seen = set()
        counts = {}
        for x in xs:
            name = "low" if x < 2 else "high"
            seen.add(name)
            counts[name] = counts.get(name, 0) + 1
            if x > 3:
                seen.discard("low")
                counts.pop("low", None)
        return seen, counts, list(counts), len(seen)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def entries_deleted_in_branches_of_a_loop() -> World:
    def fn(xs):
        table = {"a": 0}
        for x in xs:
            if x > 2:
                table["b"] = x
            elif "b" in table:
                del table["b"]
            else:
                table.update(c=x)
        return table, list(table)
    return fn, each(*INTS)


@program("run_time_keys", graph=True)
def oldest_entry_leaves() -> World:
    cache: collections.OrderedDict = collections.OrderedDict()

    def fn(x):
        cache[int(x[0])] = x * 2.0
        return cache.popitem(last=False) if len(cache) > 2 else len(cache)

    return fn, each(f32([3.0, 1.0]), f32([1.0, 1.0]), f32([3.0, 2.0]), f32([4.0, 0.0]), f32([5.0, 0.0])), lambda: cache


@program("run_time_keys")
def both_ends_are_emptied() -> World:
    def fn(a, b):
        entries: collections.OrderedDict = collections.OrderedDict()
        entries[int(a)] = 1
        entries[int(b)] = 2
        found = [entries.popitem(False)]
        try:
            found += [entries.popitem(last=True), entries.popitem(last=False)]
        except KeyError as error:
            found.append(str(error))
        return found, entries

    return fn, [call(i32(1), i32(2)), call(i32(1), i32(1)), call(i32(5), i32(0))]
