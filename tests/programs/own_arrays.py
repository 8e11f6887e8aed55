"""Arrays that a function makes and then writes into: elements, slices, views, in branches and loops, under try."""

import numpy as np
import tensorflow as tf

from tests.programs import World, after, call, each, f32, f64, i32, program


@program("own_arrays", graph=True)
def views_and_aliases() -> World:
    def fn(x):
        a = np.zeros((2, 3))
        row = a[1]
        b = a
        row[0] = float(x)
        b[0, 2] = 7.0
        c = a.T
        c[1, 1] = 5.0
        return a, row, b is a, a.sum()
    return fn, each(f32(1), f32(2), f32(3))


@program("own_arrays", graph=True)
def in_place_arithmetic() -> World:
    def fn(x):
        a = np.ones(3)
        a += x.numpy()
        a *= 2
        b = a
        b -= 1
        m = np.zeros((2, 2))
        m[0] += 1
        m[:, 1] *= 3
        return a, m, tf.constant(a) * 2.0
    return fn, each(f64([1, 2, 3]), f64([0, 2, 3]))


@program("own_arrays", graph=True)
def in_tensor_loop() -> World:
    def fn(n, x):
        hist = np.zeros(5, np.float32)
        i = 0
        while x > 1.0:
            hist[i] = x
            x = x / 2.0
            i += 1
            if i >= 5:
                break
        return hist, i, tf.reduce_sum(hist)
    return fn, [call(i32(3), f32(9)), call(i32(2), f32(100)), call(i32(0), f32(0))]


@program("own_arrays", graph=True)
def in_tensor_branch() -> World:
    def fn(x):
        a = np.arange(3.0)
        if x > 0:
            a[0] = float(x)
        else:
            a[1:] = -1.0
        return a, float(a.max())
    return fn, each(f32(1), f32(-2), f32(3))


@program("own_arrays", graph=True)
def made_in_branch_and_loop() -> World:
    def fn(x):
        out = []
        for i in range(3):
            a = np.zeros(2)
            a[i % 2] = i
            out.append(a)
        if x > 0:
            b = np.zeros(2)
            b[0] = 1
        else:
            b = np.ones(2)
            b[1] = 3
        return out, b
    return fn, each(f32(1), f32(-2), f32(3))


@program("own_arrays", graph=True)
def made_in_tensor_loop() -> World:
    def fn(n):
        total = 0.0
        for i in tf.range(n):
            a = np.zeros(3)
            a[int(i) % 3] = 2.0
            total += float(a.sum()) * int(i)
        return total
    return fn, each(i32(3), i32(0), i32(5))


@program("own_arrays", graph=True)
def passed_to_helper_and_method() -> World:
    class T:
        def __init__(self):
            self.seen = None

        def put(self, a, i, v):
            a[i] = v
            self.seen = a
            return a
    t = T()

    def fn(x):
        a = np.zeros(3, np.float32)
        t.put(a, 0, x)
        t.put(a, 1, x * 2)
        return a
    return fn, each(f32(1), f32(-2), f32(3)), lambda: t.seen


@program("own_arrays", graph=True)
def sort_fill_and_copy() -> World:
    def fn(x):
        a = x.numpy()
        b = a.copy()
        b.sort()
        c = np.empty_like(b)
        c.fill(3)
        d = np.sort(a)[::-1]
        d[0] = 100
        return a, b, c, d
    return fn, each(f32([3, 1, 2]), f32([1, 5, 0]))


@program("own_arrays")
def index_error_caught_and_not() -> World:
    def fn(x, i):
        a = np.zeros(2)
        try:
            a[int(i)] = float(x)
        except IndexError:
            a[:] = -1
        a[int(i)] = 1.0
        return a
    return fn, [call(f32(1), i32(0)), call(f32(1), i32(5)), call(f32(2), i32(1))]


@program("own_arrays", graph=True)
def wrong_dtype_assigned() -> World:
    def fn(x):
        a = np.zeros(2, np.int32)
        a[0] = x
        a[1] = 2.9
        return a
    return fn, each(f32(1.5), i32(2))


@program("own_arrays", graph=True)
def program_array_reshaped_and_changed() -> World:
    class B:
        def __init__(self):
            self.buf = np.zeros((2, 2))
    b = B()

    def fn(x):
        v = b.buf.reshape(-1)
        v[0] = float(x)
        w = b.buf[1]
        w += 1.0
        return b.buf.sum(), v
    return fn, each(f32(1), f32(-2), f32(3)), lambda: b.buf


@program("own_arrays", graph=True)
def template_copied() -> World:
    template = np.arange(4.0)

    def fn(x, i):
        a = template.copy()
        a[i] = float(x)
        return a, template.sum()
    return fn, [call(f32(1), 0), call(f32(2), 1), after(lambda: template.fill(9), f32(2), 1)], lambda: template


@program("own_arrays", graph=True)
def asarray_of_program_array() -> World:
    class B:
        buf = np.zeros(3)

    def fn(x):
        a = np.asarray(B.buf)
        a[0] += float(x)
        return a
    return fn, each(f32(1), f32(-2), f32(3)), lambda: B.buf


@program("own_arrays", graph=True)
def array_of_list_of_floats_changed() -> World:
    def fn(xs):
        a = np.array([float(v) for v in tf.unstack(xs)])
        a[a < 0] = 0
        a /= a.sum() + 1e-6
        return a, int(a.argmax())
    return fn, each(f32([1, -1, 2]), f32([3, 1]))


@program("own_arrays", graph=True)
def discounted_returns() -> World:
    def fn(rewards):
        r = rewards.numpy()
        out = np.zeros_like(r)
        run = 0.0
        for t in reversed(range(len(r))):
            run = r[t] + 0.9 * run
            out[t] = run
        return tf.convert_to_tensor(out, tf.float32), (out - out.mean()) / (out.std() + 1e-8)
    return fn, each(f32([1, 0, 2]), f32([3, 1]), f32([1, 1, 1]))


@program("own_arrays", grad=True, graph=True)
def gradient_around() -> World:
    w = tf.Variable(2.0)

    def fn(x):
        m = np.ones(3, np.float32)
        m[0] = 0.0
        if x[0] > 0:
            m[1] = 5.0
        return tf.reduce_sum(x * m * w)
    return fn, each(f32([1, 2, 3]), f32([-1, 2, 3])), lambda: w


@program("own_arrays", graph=True)
def returned_twice_and_stored() -> World:
    log = []

    def fn(x):
        a = np.zeros(2)
        log.append(a)
        a[0] = float(x)
        return a, [a]
    return fn, each(f32(1), f32(-2)), lambda: log


@program("own_arrays", graph=True)
def add_at_and_fill_diagonal() -> World:
    def fn(ids):
        c = np.zeros(4)
        np.add.at(c, ids.numpy(), 1)
        m = np.zeros((2, 2))
        np.fill_diagonal(m, float(ids[0]))
        return c, m
    return fn, each(i32([1, 1, 3]), i32([0, 2]))


@program("own_arrays", repeat=3, graph=True)
def padded_batch() -> World:
    def fn(seqs, n):
        out = np.zeros((len(seqs), n), np.int32)
        for i, s in enumerate(seqs):
            out[i, :len(s)] = s[:n]
        return tf.reduce_sum(tf.constant(out), 1)
    return fn, [call([i32([1, 2]), i32([3])], 3), call([i32([1, 2, 4])], 3), call([[1, 2], [3]], 2)]


@program("own_arrays", graph=True)
def raise_after_change() -> World:
    log = []

    def fn(x):
        a = np.zeros(2)
        a[0] = float(x)
        log.append(a)
        if x < 0:
            raise ValueError(f"bad {a[0]}")
        a[1] = 1
        return a
    return fn, each(f32(1), f32(-2), f32(3)), lambda: log


@program("own_arrays", graph=True)
def swap_rows_and_elements() -> World:
    def fn(x):
        a = x.numpy()
        a[0], a[1] = a[1], a[0]
        m = np.arange(4).reshape(2, 2)
        m[[0, 1]] = m[[1, 0]]
        return a, m
    return fn, each(f32([1, 2]), f32([3, 4]))


@program("own_arrays", graph=True)
def two_dimensional_board() -> World:
    def fn(moves):
        board = np.zeros((3, 3), dtype=np.int8)
        player = 1
        for m in moves.numpy():
            board[m // 3, m % 3] = player
            player = -player
        lines = [*board, *board.T, board.diagonal()]
        wins = [int(line.sum()) for line in lines if abs(line.sum()) == 3]
        return board, wins
    return fn, each(i32([0, 3, 1, 4, 2]), i32([0, 4]))


@program("own_arrays", graph=True)
def parts_whose_shape_only_the_run_knows() -> World:
    def fn(x, n):
        a = np.zeros(4, np.float32)
        a[0] = 1.0
        part = a[: int(n)]
        part[0] = float(x)
        row = a.reshape(2, 2)[int(n) - 2]
        row += 1.0
        return tf.constant(part) * x, len(part), a[a > 0], row.shape, a.shape
    return fn, [call(f32(5.0), i32(2)), call(f32(-1.0), i32(3))]


@program("own_arrays")
def shape_assigned_and_resized() -> World:
    def fn(x):
        a = np.zeros(4)
        a[0] = float(x)
        a.shape = (2, 2)
        b = np.zeros(2)
        b[1] = float(x)
        b.resize(3, refcheck=False)
        return a, b, tf.constant(b)
    return fn, each(f32(5.0), f32(-1.0))


@program("own_arrays", graph=True)
def swapped_and_kept_between_calls() -> World:
    class Filter:
        def __init__(self):
            self.last = None

        def step(self, x):
            now = np.zeros(2)
            now[0] = float(x)
            if self.last is not None:
                now[1] = self.last[0]
                self.last[1] = 7.0
            before, self.last = self.last, now
            return before

    box = Filter()
    return box.step, each(f32(1.0), f32(2.0), f32(3.0), f32(4.0)), lambda: box.last


@program("own_arrays", graph=True)
def under_try_and_finally() -> World:
    log = []

    def fn(x):
        a = np.zeros(2)
        try:
            a[0] = 1.0
            if x < 0:
                raise ValueError("negative")
            a[1] = float(x)
        except ValueError:
            a[1] = -1.0
        finally:
            a += 1
        log.append(a)
        return a
    return fn, each(f32(1.0), f32(-2.0), f32(3.0)), lambda: log


@program("own_arrays", graph=True)
def array_made_of_the_one_before() -> World:
    def fn(m, x):
        a = m.numpy()
        v = np.ones(2)
        turns = 0
        while x > 1.0:
            v = a @ v
            v = v / np.linalg.norm(v) + v * 0.0
            x = x / 2.0
            turns += 1
        return v, turns, float(v @ a @ v)
    return fn, [call(f64([[2.0, 0.0], [0.0, 1.0]]), f32(20.0)), call(f64([[1.0, 1.0], [0.0, 1.0]]), f32(0.0))]


@program("own_arrays", graph=True)
def candidates_that_remain() -> World:
    def fn(boxes, scores, limit):
        order = np.argsort(-scores.numpy())
        keep = []
        while order.size > 0:
            first = int(order[0])
            keep.append(first)
            rest = order[1:]
            distance = np.abs(boxes.numpy()[rest] - boxes.numpy()[first])
            order = rest[distance > limit]
        return tf.gather(boxes, keep), keep
    return fn, [call(f32([0.0, 0.1, 2.0]), f32([0.9, 0.8, 0.7]), 0.5), call(f32([3.0]), f32([0.1]), 0.5)]


@program("own_arrays", graph=True)
def several_arrays_of_one_function() -> World:
    def fn(x):
        a = x.numpy()
        _, s, _ = np.linalg.svd(a)
        values, counts = np.unique(a.round(), return_counts=True)
        whole, rest = np.divmod(a, 2)
        rows, cols = np.where(a > 1)
        hist, _ = np.histogram(a, bins=2)
        first, second = np.split(a.ravel(), 2)
        parts = [part.sum() for part in np.array_split(a.ravel(), 3)]
        first[0] = 100.0
        return s, values, counts, whole, rest, rows.sum(), cols, hist, first, second, parts, tf.constant(a) * 2.0
    return fn, each(f64([[1.0, 2.0], [3.0, 4.0]]), f64([[2.0, 2.0], [3.0, 3.0]]))
