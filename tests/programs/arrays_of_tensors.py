"""Loops over arrays and lists that tensors become, and arrays at positions that only the run knows."""

import numpy as np
import tensorflow as tf

from tests.programs import World, call, each, f32, i32, i64, program, text

FEATURE = "arrays_of_tensors"


@program(FEATURE, graph=True)
def pairs_of_labels() -> World:
    def fn(targets, outputs):
        hits, shown = 0, []
        for target, output in zip(targets.numpy(), tf.argmax(outputs, 1).numpy()):
            if target == output:
                hits += 1
            shown.append((target, int(output)))
        return hits, shown

    outputs = f32([[0.1, 0.9], [0.8, 0.2]])
    return fn, [call(i64([1, 0]), outputs), call(i64([0, 0]), outputs), call(i64([0, 1]), 1.0 - outputs)]


@program(FEATURE, graph=True)
def confusion_counts() -> World:
    counts = np.zeros((3, 3), np.int64)

    def fn(targets, outputs):
        for target, output in zip(targets.numpy(), outputs.numpy()):
            counts[target, output] += 1
        return int(counts[int(targets[0]), int(outputs[0])]), counts.sum()

    return fn, [call(i32([0, 1]), i32([2, 1])), call(i32([0, 0]), i32([2, 2])), call(i32([2, 1]), i32([0, 1]))], lambda: counts


@program(FEATURE)
def rows_of_arrays_and_lists() -> World:
    def fn(m):
        rows = m.numpy()
        whole = rows.tolist()
        sums = [row.sum() for row in rows]
        pairs = [tuple(row) for row in whole]
        flat = [value for row in rows for value in row]
        return rows, rows[0], sums, pairs, flat, [[v * 2 for v in row] for row in whole], whole[1], whole

    return fn, each(f32([[1.0, 2.0], [3.0, 4.0]]), f32([[0.5, -2.0], [1.0, 1.0]]), f32([[0.5], [1.0], [7.0]]))


@program(FEATURE)
def rows_that_are_changed() -> World:
    def fn(m, add):
        whole = m.numpy().tolist()
        for row in whole:
            row.append(add)
        rows = m.numpy()
        for row in rows:
            row[0] = add
        copied = list(m.numpy())
        copied.append(add)
        return whole, rows, copied

    return fn, [call(f32([[1.0, 2.0], [3.0, 4.0]]), 1.0), call(f32([[5.0], [3.0]]), 2.0)]


@program(FEATURE, graph=True)
def every_builtin_over_arrays() -> World:
    def fn(x, y):
        a, b = x.numpy(), y.numpy()
        first, *others = a
        return (
            list(a), tuple(a.tolist()), max(a), min(b.tolist()), sorted(a), sorted(b.tolist(), reverse=True), sum(b), sum(a.tolist()),
            any(b > 1), all(v > 0 for v in b), dict(zip("abc", a)), list(enumerate(b)), list(reversed(a)), [*a, *b.tolist()],
            " ".join(map(str, a)), first, others, 3 in a.tolist(), [i for i in np.argsort(b)], next(iter(a)),
        )

    return fn, [call(i32([3, 1, 2]), f32([0.5, 2.0, -1.0])), call(i32([0, 5, 5]), f32([1.5, 1.0, 2.0]))]


@program(FEATURE, graph=True)
def lengths_that_vary() -> World:
    def fn(x, bound):
        kept, total = [], 0.0
        for value in tf.boolean_mask(x, x > bound).numpy():
            if value > 3:
                break
            kept.append(float(value))
        for value in tf.boolean_mask(x, x > bound).numpy().tolist():
            total += value
        return kept, total, len(kept), [str(int(v)) for v in tf.range(len(kept)).numpy()]

    x = f32([1.0, 2.0, 3.0, 4.0])
    return fn, [call(x, 0.5), call(x, 2.5), call(x, 9.0), call(x[::-1], 0.0)]


@program(FEATURE)
def long_arrays() -> World:
    def fn(x):
        odd = 0
        for value in x.numpy().tolist():
            if value % 2:
                odd += 1
        return odd, [v for v in x.numpy() if v > 95]

    return fn, each(tf.range(100), tf.range(3, 103))


@program(FEATURE, graph=True)
def indices_from_arrays() -> World:
    names = ["a", "b", "c", "d"]
    weights = {0: 0.5, 1: 1.5, 2: 2.5}

    def fn(x, scores):
        order = x.numpy()
        best = names[np.argmax(scores)]
        return [names[i] for i in order], names[: order[0]], names[order[-1]], weights[order[1]], best, names[int(order[0])]

    return fn, [call(i32([3, 1, 2]), f32([0.1, 0.7, 0.2])), call(i32([1, 0, 0]), f32([0.9, 0.7, 0.2]))]


@program(FEATURE, graph=True)
def index_out_of_range() -> World:
    names = ["a", "b"]

    def fn(x):
        try:
            return [names[i] for i in x.numpy()]
        except IndexError as error:
            return str(error)

    return fn, each(i32([0, 1]), i32([0, 2]), i32([-1, -2]))


@program(FEATURE, graph=True)
def slices_of_arrays_and_text() -> World:
    table = np.arange(12.0).reshape(4, 3)
    letters = "abcdefg"

    def fn(x):
        n, m = int(x[0]), int(x[1])
        return table[:n].sum(), table[n, m], table[n:, m], table[..., m], letters[n:], letters[: m + 1], x.numpy()[m:], letters[n]

    return fn, each(i32([1, 2, 5]), i32([3, 0, 4]), i32([0, 1, 9]))


@program(FEATURE)
def array_of_the_program_updated() -> World:
    class Table:
        def __init__(self):
            self.q = np.zeros((3, 2), np.float32)
            self.visits = np.zeros(3, int)

    table = Table()

    def fn(state, action, reward):
        s, a = int(state), int(action)
        before = table.q[s, a]
        table.visits[s] += 1
        table.q[s, a] += (reward - table.q[s, a]) / table.visits[s]
        table.q[s] *= 0.5
        return before, table.q[s].max(), table.visits[s]

    return fn, [call(i32(0), i32(1), 2.0), call(i32(2), i32(1), 1.0), call(i32(0), i32(1), 4.0)], lambda: table


@program(FEATURE, graph=True)
def words_of_text() -> World:
    def fn(line):
        words = tf.strings.split(line).numpy()
        counts = {}
        for word in words:
            word = word.decode()
            counts[word] = counts.get(word, 0) + 1
        return counts, len(words), [word.upper() for word in words]

    return fn, each(text("a b a"), text("c"), text("d e f d"))


@program(FEATURE, grad=True)
def no_gradient_through_arrays() -> World:
    def fn(x, w):
        total = tf.constant(0.0)
        for value in x.numpy():
            total += value * w
        for value in x.numpy().tolist():
            total += value * w * w
        a, *others = x.numpy().tolist()
        return total + a * w, [v * w for v in others]

    return fn, [call(f32([3.0, 1.0]), f32(2.0)), call(f32([-1.0, 0.5]), f32(1.0))]


@program(FEATURE)
def what_has_no_items() -> World:
    def fn(x):
        found = []
        for take in (lambda: list(x.numpy()), lambda: [v for v in x.numpy()], lambda: [v for v in x.numpy().tolist()]):
            try:
                found.append(take())
            except TypeError as error:
                found.append(str(error))
        return found

    return fn, each(f32(2.0), f32([1.0]), i32(3))


@program(FEATURE)
def kinds_of_items() -> World:
    def fn(x, b, t):
        kinds = [(type(v).__name__, isinstance(v, float), isinstance(v, np.floating), v.dtype.name) for v in x.numpy()]
        truths = [(v is np.True_, bool(v), type(v).__name__) for v in b.numpy()], [v is True for v in b.numpy().tolist()]
        texts = [(w, len(w), isinstance(w, bytes)) for w in t.numpy()]
        return kinds, truths, texts, isinstance(x.numpy(), np.ndarray), type(x.numpy()).__name__

    words = text(["a", "bcd"])
    return fn, [call(f32([1.5, 2.0]), x > 1, words) for x in (i32([1, 2]), i32([2, 0]))] + [call(f32([0.5]), i32([2]) > 1, words)]


@program(FEATURE)
def rows_share_memory() -> World:
    kept = []

    def fn(m):
        whole = m.numpy()
        kept.extend(whole)
        first, second = whole
        return whole, first, second, kept[-1].base is whole, kept[-2] is first

    return fn, each(f32([[1.0, 2.0], [3.0, 4.0]]), f32([[0.0], [5.0]])), lambda: kept


@program(FEATURE, graph=True)
def tensors_at_positions_of_arrays() -> World:
    def fn(x, m):
        ranked = [(rank, x[i], m[i, 0]) for rank, i in enumerate(tf.argsort(x).numpy())]
        best = x[np.argmax(x)]
        return ranked, best, m[: tf.argsort(x).numpy()[0]], x[np.argsort(-x)[0]]

    m = f32([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return fn, [call(f32([3.0, 1.0, 2.0]), m), call(f32([0.0, 5.0, -1.0]), m)]


@program(FEATURE, graph=True)
def absolute_values() -> World:
    def fn(x):
        return abs(x.numpy()), abs(x.numpy()[0]), max(abs(v) for v in x.numpy()), [abs(v) for v in x.numpy().tolist()]

    return fn, each(f32([-3.0, 1.0]), f32([2.0, -5.0]), i32([-4, 4]))
