"""Programs as people write them: training steps, decoders, bookkeeping, retries, formatting."""

import collections
import dataclasses
import enum
import functools
import math

import numpy as np
import tensorflow as tf

from tests.programs import World, f32, i32, program


@program("user_programs")
def ema() -> World:
    class E:
        def __init__(self, d):
            self.d = d
            self.shadow = {}

        def update(self, name, v):
            if name not in self.shadow:
                self.shadow[name] = v
            else:
                self.shadow[name] = self.d * self.shadow[name] + (1 - self.d) * v
            return self.shadow[name]

    e = E(0.9)

    def fn(x):
        e.update("a", x)
        return e.update("b", x * 2)

    return fn, [((f32(1.0),), {})] * 4, lambda: e.shadow


@program("user_programs")
def lr_schedule() -> World:
    class S:
        step = 0

        def lr(self):
            self.step += 1
            if self.step < 3:
                return 0.1 * self.step
            return 0.1 * math.cos(self.step / 10)

    s = S()

    def fn(x):
        return x * s.lr()

    return fn, [((f32(1.0),), {})] * 8, lambda: s.step


@program("user_programs")
def enum_dispatch() -> World:
    class M(enum.Enum):
        A = 1
        B = 2

    def fn(m, x):
        if m is M.A:
            return x + 1.0
        if m == M.B:
            return x * 2.0
        return x

    return fn, [((M.A, f32(1.0)), {}), ((M.B, f32(1.0)), {}), ((None, f32(1.0)), {})]


@program("user_programs")
def grad_accum() -> World:
    v = tf.Variable([1.0, 2.0])

    class T:
        def __init__(s):
            s.acc = [tf.zeros([2])]
            s.n = 0

        def step(s, x):
            with tf.GradientTape() as t:
                items = tf.reduce_sum(v * v * x)
            g = t.gradient(items, [v])
            s.acc = [a + b for a, b in zip(s.acc, g)]
            s.n += 1
            if s.n % 3 == 0:
                v.assign_sub(0.01 * s.acc[0])
                s.acc = [tf.zeros_like(a) for a in s.acc]
            return items

    t = T()
    return t.step, [((f32(float(i)),), {}) for i in range(1, 8)], lambda: (v, t.acc, t.n)


@program("user_programs")
def keras_opt_metric() -> World:
    import keras

    m = keras.Sequential(
        [
            keras.layers.Dense(3, activation="relu", kernel_initializer="ones"),
            keras.layers.Dense(1, kernel_initializer="ones"),
        ]
    )
    m.build((None, 2))
    o = keras.optimizers.Adam(0.1)
    met = keras.metrics.Mean()
    hist = []

    def fn(x, y):
        with tf.GradientTape() as t:
            items = tf.reduce_mean((m(x) - y) ** 2)
            if items > 1.0:
                items = items * 0.5
        g = t.gradient(items, m.trainable_variables)
        o.apply_gradients(zip(g, m.trainable_variables))
        met.update_state(items)
        hist.append(float(items))
        return items, met.result()

    return fn, [((f32([[1.0, 2.0]]), f32([[1.0]])), {})] * 4, lambda: (hist, [w.numpy() for w in m.weights])


@program("user_programs")
def batchnorm_flag() -> World:
    import keras

    b = keras.layers.BatchNormalization()
    b.build((None, 2))

    def fn(x, training):
        return b(x, training=training)

    return (
        fn,
        [((f32([[1.0, 2.0], [3.0, 4.0]]), t), {}) for t in (True, False, True, False)],
        lambda: [w.numpy() for w in b.weights],
    )


@program("user_programs")
def greedy_decode() -> World:
    W = f32(np.random.RandomState(0).randn(5, 5))

    def fn(start, maxlen):
        tok = start
        out = [tok]
        score = 0.0
        for t in range(maxlen):
            logits = W[tok]
            tok = tf.argmax(logits, output_type=tf.int32)
            score += float(tf.reduce_max(logits))
            out.append(tok)
            if tok == 3:
                break
        return tf.stack(out), score, len(out)

    return fn, [((i32(0), 6), {}), ((i32(2), 6), {}), ((i32(3), 4), {})]


@program("user_programs")
def bisect() -> World:
    def fn(t):
        lo, hi = 0.0, 10.0
        n = 0
        while hi - lo > 1e-3:
            mid = (lo + hi) / 2
            if mid * mid < t:
                lo = mid
            else:
                hi = mid
            n += 1
        return lo, n

    return fn, [((f32(2.0),), {}), ((f32(9.0),), {}), ((f32(50.0),), {})]


@program("user_programs")
def collatz() -> World:
    def fn(n):
        c = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            c += 1
        return c

    return fn, [((i32(6),), {}), ((i32(1),), {}), ((i32(27),), {}), ((7,), {})]


@program("user_programs")
def nested_dict_state() -> World:
    st = {"a": {"n": 0, "t": f32(0.0)}, "l": [1, 2]}

    def fn(x):
        st["a"]["n"] += 1
        if x > 0:
            st["a"]["t"] = st["a"]["t"] + x
        else:
            st["l"].append(st["a"]["n"])
        return st["a"]["t"] * len(st["l"])

    return fn, [((f32(v),), {}) for v in (1.0, -1.0, 2.0, -3.0, 4.0)], lambda: st


@program("user_programs")
def running_stats_namedtuple() -> World:
    S = collections.namedtuple("S", "n mean m2")

    def upd(s, x):
        n = s.n + 1
        d = x - s.mean
        m = s.mean + d / n
        return S(n, m, s.m2 + d * (x - m))

    def fn(xs):
        s = S(0, 0.0, 0.0)
        for x in xs:
            s = upd(s, x)
        return s

    return fn, [((f32([1.0, 2.0, 4.0]),), {}), ((f32([5.0]),), {})]


@program("user_programs")
def closure_counter_factory() -> World:
    def make():
        n = 0

        def inc(k=1):
            nonlocal n
            n += k
            return n

        return inc

    c = make()

    def fn(x):
        if x > 0:
            c()
        else:
            c(10)
        return x * c(0)

    return fn, [((f32(v),), {}) for v in (1.0, -1.0, 2.0)], lambda: c(0)


@program("user_programs")
def try_finally_loop() -> World:
    log = []

    def fn(xs):
        tot = f32(0.0)
        for v in xs:
            try:
                if v < 0:
                    continue
                if v > 10:
                    break
                tot += v
            finally:
                log.append(float(v))
        return tot

    return fn, [((f32([1.0, -1.0, 2.0, 20.0, 3.0]),), {}), ((f32([4.0]),), {})], lambda: log


@program("user_programs")
def retry() -> World:
    def fn(x):
        for k in range(5):
            try:
                if x * (k + 1) < 3:
                    raise ValueError(f"small {k}")
                return x * (k + 1), k
            except ValueError as e:
                last = str(e)
        return last

    return fn, [((f32(1.0),), {}), ((f32(5.0),), {}), ((f32(0.1),), {})]


@program("user_programs")
def matrix_fill() -> World:
    def fn(n):
        m = [[0.0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(3):
                if i == j:
                    m[i][j] = float(n)
                elif n > 2:
                    m[i][j] = -1.0
        return m

    return fn, [((f32(1.0),), {}), ((f32(3.0),), {})]


@program("user_programs")
def str_building() -> World:
    def fn(x):
        s = ""
        for i in range(3):
            if x > i:
                s += str(i)
            else:
                s += "-"
        return s

    return fn, [((f32(0.5),), {}), ((f32(2.5),), {})]


@program("user_programs")
def sort_list() -> World:
    def fn(a, b, c):
        items = [a, b, c]
        items.sort(key=lambda t: float(t))
        return items, sorted([a, b, c], reverse=True)[0], min(items), max(items, key=lambda v: -v)

    return fn, [((f32(3.0), f32(1.0), f32(2.0)), {}), ((f32(1.0), f32(5.0), f32(0.0)), {})]


@program("user_programs")
def dataclass_cfg() -> World:
    @dataclasses.dataclass
    class C:
        lr: float = 0.1
        hist: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            self.lr2 = self.lr * 2

    def fn(x):
        c = C(lr=0.5)
        c.hist.append(x)
        if x > 0:
            c.lr = 1.0
        return c.lr2 * x, c

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("user_programs")
def multi_return_kinds() -> World:
    def fn(x):
        if x > 2:
            return {"v": x}
        if x > 1:
            return [x]
        if x > 0:
            return (x, "t")
        return None

    return fn, [((f32(v),), {}) for v in (3.0, 1.5, 0.5, -1.0)]


@program("user_programs")
def lru() -> World:
    @functools.lru_cache
    def sq(n):
        return n * n

    def fn(x, n):
        return x * sq(n)

    return fn, [((f32(1.0), k), {}) for k in (1, 2, 1)]


@program("user_programs")
def default_dict_count() -> World:
    d = collections.Counter()

    def fn(x):
        d["pos" if x > 0 else "neg"] += 1
        return d["pos"]

    return fn, [((f32(v),), {}) for v in (1.0, -1.0, 2.0)], lambda: dict(d)


@program("user_programs")
def while_true_break_else() -> World:
    def fn(x):
        i = 0
        while True:
            i += 1
            if i > 10:
                break
            x = x * 1.5
            if x > 20.0:
                return x, i
        return -x, i

    return fn, [((f32(1.0),), {}), ((f32(0.01),), {})]


@program("user_programs")
def chained_cmp() -> World:
    def fn(x):
        return 0 < x < 5, (x > 1 and x < 3) or x == 7, not (x < 0), 1 if 0 < x <= 2 else 2

    return fn, [((f32(v),), {}) for v in (1.0, 7.0, -1.0, 4.0)]


@program("user_programs")
def inplace_attr_list() -> World:
    class A:
        pass

    a = A()
    a.items = [1.0]
    a.d = {}

    def fn(x):
        a.items += [x]
        a.d["k"] = a.d.get("k", 0) + 1
        a.items[0] *= 2
        return a.items[-1] * a.d["k"]

    return fn, [((f32(1.0),), {})] * 4, lambda: (a.items, a.d)


@program("user_programs")
def tensor_as_dict_value_loop() -> World:
    def fn(xs):
        best = {"v": f32(-1e9), "i": -1}
        for i, x in enumerate(xs):
            if x > best["v"]:
                best = {"v": x, "i": i}
        return best

    return fn, [((f32([1.0, 5.0, 2.0]),), {}), ((f32([3.0]),), {})]


@program("user_programs")
def mutate_arg() -> World:
    def fn(items, x):
        items.append(x)
        items[0] = items[0] + 1
        if x > 0:
            items.pop()
        return len(items)

    return fn, [(([1, 2], f32(1.0)), {}), (([1], f32(-1.0)), {})]


@program("user_programs")
def two_objects_alias() -> World:
    class N:
        def __init__(s, v):
            s.v = v

    a = N(1)
    b = a
    c = N(5)

    def fn(p, q, x):
        p.v += 1
        q.v *= 2
        return x * p.v

    return (
        fn,
        [((a, b, f32(1.0)), {}), ((a, c, f32(1.0)), {}), ((c, a, f32(1.0)), {}), ((a, b, f32(1.0)), {})],
        lambda: (a.v, c.v),
    )


@program("user_programs")
def rnn_py_list_states() -> World:
    W = f32([[0.1, 0.2], [0.3, 0.4]])

    def fn(xs):
        h = tf.zeros([1, 2])
        hs = []
        for x in tf.unstack(xs):
            h = tf.tanh(x[None, :] @ W + h)
            hs.append(h)
            if tf.reduce_sum(h) > 1.0:
                h = h * 0.0
        return tf.concat(hs, 0), hs[-1]

    return fn, [((f32([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.0]]),), {}), ((f32([[1.0, 2.0]]),), {})]


@program("user_programs")
def ragged_rows() -> World:
    def fn(r):
        t = 0.0
        for row in r:
            for v in row:
                t = t + v
        return t

    return fn, [((tf.ragged.constant([[1.0, 2.0], [], [3.0]]),), {}), ((tf.ragged.constant([[1.0]]),), {})]


@program("user_programs")
def var_loop_cond() -> World:
    v = tf.Variable(1.0)

    def fn(x):
        n = 0
        while v < x:
            v.assign(v * 2.0)
            n += 1
        return n, v.read_value()

    return fn, [((f32(10.0),), {}), ((f32(3.0),), {}), ((f32(100.0),), {})], lambda: v


@program("user_programs")
def dataset_map_convert() -> World:
    def fn(n):
        ds = tf.data.Dataset.range(5)
        s = tf.constant(0, tf.int64)
        for i, d in enumerate(ds):
            if d > n:
                break
            s += d * i
        return s

    return fn, [((tf.constant(2, tf.int64),), {}), ((tf.constant(9, tf.int64),), {})]


@program("user_programs")
def bool_mask_loop() -> World:
    def fn(xs, ms):
        o = []
        for x, m in zip(xs, ms):
            if m:
                o.append(x)
        return o

    return fn, [
        ((f32([1.0, 2.0, 3.0]), tf.constant([True, False, True])), {}),
        ((f32([1.0]), tf.constant([False])), {}),
    ]


@program("user_programs")
def class_with_call_and_super() -> World:
    class B:
        def __init__(s, k):
            s.k = k

        def __call__(s, x):
            return x * s.k

    class D(B):
        def __init__(s, k):
            super().__init__(k)
            s.c = 0

        def __call__(s, x):
            s.c += 1
            if x > 1:
                return super().__call__(x)
            return -super().__call__(x)

    d = D(3.0)

    def fn(x):
        return d(x) + D(2.0)(x)

    return fn, [((f32(2.0),), {}), ((f32(0.5),), {})], lambda: d.c


@program("user_programs")
def assert_msg() -> World:
    def fn(x, n):
        assert n > 0, f"n={n}"
        assert x > 0, ("bad", float(x))
        return x / n

    return fn, [((f32(1.0), 2), {}), ((f32(-1.0), 2), {}), ((f32(1.0), 0), {})]


@program("user_programs")
def gen_helper() -> World:
    def pairs(items):
        for i in range(len(items) - 1):
            yield items[i], items[i + 1]

    def fn(a, b, c):
        return [p * q for p, q in pairs([a, b, c])]

    return fn, [((f32(1.0), f32(2.0), f32(3.0)), {})] * 2


@program("user_programs")
def early_return_in_with() -> World:
    def fn(x):
        with tf.name_scope("a"):
            for i in range(3):
                with tf.GradientTape() as t:
                    t.watch(x)
                    y = x**i
                    if y > 4.0:
                        return t.gradient(y, x) if False else y
        return x

    return fn, [((f32(3.0),), {}), ((f32(1.0),), {})]


@program("user_programs")
def int_division_mod() -> World:
    def fn(a, b):
        return a // b, a % b, divmod(int(a), int(b)), -int(a) // int(b), int(a) % -int(b), a / b

    return fn, [((i32(7), i32(2)), {}), ((i32(-7), i32(2)), {})]


@program("user_programs")
def float_formatting() -> World:
    def fn(x):
        print("%.3f|%5d|%s" % (x, int(x), x.dtype.name))
        print(f"{float(x)!r:>10}", round(float(x), 2), str(int(x)).zfill(4))
        return "{:.1e}".format(float(x))

    return fn, [((f32(3.14159),), {}), ((f32(-2.5),), {})]


@program("user_programs")
def set_ops() -> World:
    seen = {1}

    def fn(k, x):
        new = k not in seen
        seen.add(k)
        if x > 0:
            seen.discard(1)
        return new, len(seen), sorted(seen)

    return fn, [((1, f32(-1.0)), {}), ((2, f32(1.0)), {}), ((1, f32(-1.0)), {})], lambda: seen


@program("user_programs")
def slices() -> World:
    def fn(items, n, x):
        a = items[:n]
        b = items[n:]
        items[1:2] = [x, x]
        return a + b, items[::-1], items[-1]

    return fn, [(([1, 2, 3], 1, f32(1.0)), {}), (([1, 2, 3, 4], 2, f32(1.0)), {})]


@program("user_programs")
def deep_recursion_py() -> World:
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def fn(x, n):
        return x * fib(n)

    return fn, [((f32(1.0), k), {}) for k in (3, 5, 6)]


@program("user_programs")
def lambda_defaults() -> World:
    def fn(x):
        fs = [lambda v, k=k: v * k for k in range(3)]
        return [f(x) for f in fs], (lambda *a, **k: a[0] + k["z"])(x, z=1.0)

    return fn, [((f32(2.0),), {})] * 2


@program("user_programs")
def global_np_rng() -> World:
    r = np.random.RandomState(3)

    def fn(x):
        return x * float(r.rand())

    return fn, [((f32(1.0),), {})] * 3


@program("user_programs")
def type_checks() -> World:
    def fn(v, x):
        if isinstance(v, str):
            return v.upper()
        if isinstance(v, (list, tuple)):
            return [type(v).__name__] + list(v)
        if callable(v):
            return v(x)
        return type(v).__name__

    return fn, [((v, f32(1.0)), {}) for v in ("a", [1], (2,), tf.sqrt, 3, None, 2.5)]
