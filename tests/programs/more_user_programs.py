"""More programs as people write them: decoding, objects, errors, iteration tools, matching."""

import contextlib
import functools
import itertools

import numpy as np
import tensorflow as tf

from tests.programs import World, f32, i32, program


@program("more_user_programs")
def attention_loop() -> World:
    def fn(q, ks, vs):
        s = []
        for k in ks:
            s.append(tf.reduce_sum(q * k))
        w = tf.nn.softmax(tf.stack(s))
        o = tf.zeros_like(q)
        for i, v in enumerate(vs):
            if w[i] > 0.1:
                o += w[i] * v
        return o

    return fn, [
        ((f32([1.0, 2.0]), f32([[1.0, 0.0], [0.0, 1.0]]), f32([[1.0, 1.0], [2.0, 2.0]])), {}),
        ((f32([1.0, 2.0]), f32([[1.0, 0.0]]), f32([[1.0, 1.0]])), {}),
    ]


@program("more_user_programs")
def loop_with_prev_none() -> World:
    def fn(xs):
        prev = None
        d = []
        for x in xs:
            if prev is not None:
                d.append(x - prev)
            prev = x
        return d, prev

    return fn, [((f32([1.0, 4.0, 9.0]),), {}), ((f32([1.0]),), {}), ((tf.zeros([0]),), {})]


@program("more_user_programs")
def nested_break_flag() -> World:
    def fn(m, t):
        found = False
        for r in m:
            for v in r:
                if v == t:
                    found = True
                    break
            if found:
                break
        else:
            return "no"
        return found, r

    return fn, [((i32([[1, 2], [3, 4]]), i32(3)), {}), ((i32([[1, 2], [3, 4]]), i32(9)), {})]


@program("more_user_programs")
def list_of_objects() -> World:
    class W:
        def __init__(s, v):
            s.v = v
            s.hits = 0

        def hit(s, x):
            if x > s.v:
                s.hits += 1
                return True
            return False

    ws = [W(1.0), W(2.0), W(3.0)]

    def fn(x):
        return [w.hit(x) for w in ws], sum(w.hits for w in ws)

    return fn, [((f32(v),), {}) for v in (1.5, 2.5, 0.0)], lambda: [w.hits for w in ws]


@program("more_user_programs")
def obj_in_branch_escapes() -> World:
    class R:
        def __init__(s, a):
            s.a = a
            s.found = [a]

    def fn(x):
        if x > 0:
            r = R(x)
        else:
            r = R(x * 2)
            r.found.append(x)
        return r.a, len(r.found), r

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("more_user_programs")
def while_list_pop_tensor() -> World:
    def fn(x):
        st = [x, x + 1, x + 2]
        o = 0.0
        while st:
            v = st.pop()
            if v > 2:
                o = o + v
            else:
                break
        return o, len(st)

    return fn, [((f32(1.0),), {}), ((f32(3.0),), {}), ((f32(-5.0),), {})]


@program("more_user_programs")
def dict_of_lists_append() -> World:
    d = {"a": [], "b": []}

    def fn(x):
        k = "a" if x > 0 else "b"
        d[k].append(float(x))
        return len(d["a"]), len(d["b"])

    return fn, [((f32(v),), {}) for v in (1.0, -1.0, 2.0)], lambda: d


@program("more_user_programs")
def string_compare_branch() -> World:
    def fn(mode, x):
        if mode.startswith("tr") and x > 0:
            return mode + "!", x
        return mode.upper(), -x

    return fn, [(("train", f32(1.0)), {}), (("train", f32(-1.0)), {}), (("eval", f32(1.0)), {})]


@program("more_user_programs")
def tensor_string() -> World:
    def fn(s):
        if s == b"abc":
            return 1
        if tf.strings.length(s) > 2:
            return s + "x"
        return None

    return fn, [((tf.constant("abc"),), {}), ((tf.constant("abcd"),), {}), ((tf.constant("a"),), {})]


@program("more_user_programs")
def property_cached() -> World:
    class A:
        def __init__(s):
            s.n = 0

        @functools.cached_property
        def big(s):
            s.n += 1
            return s.n * 10

    a = A()

    def fn(x):
        return x * a.big + a.big

    return fn, [((f32(1.0),), {})] * 3, lambda: (a.n, a.__dict__.get("big"))


@program("more_user_programs")
def slots_obj() -> World:
    class S:
        __slots__ = ("a", "b")

        def __init__(s):
            s.a = 1.0
            s.b = f32(0.0)

    o = S()

    def fn(x):
        o.a += 1
        o.b = o.b + x
        if x > 1:
            o.b = o.b * 2
        return o.a * o.b

    return fn, [((f32(v),), {}) for v in (1.0, 2.0, 3.0)], lambda: (o.a, o.b)


@program("more_user_programs")
def class_counter_inherit() -> World:
    class B:
        cnt = 0

        def go(s, x):
            type(s).cnt += 1
            return x + s.cnt

    class C(B):
        pass

    c = C()

    def fn(x):
        return c.go(x), B.cnt, C.cnt

    return fn, [((f32(1.0),), {})] * 3, lambda: (B.cnt, C.cnt)


@program("more_user_programs")
def map_fn_user() -> World:
    k = [2.0]

    def fn(xs):
        return tf.map_fn(lambda v: v * k[0] if v > 0 else -v, xs)

    return fn, [((f32([1.0, -2.0]),), {})] * 2


@program("more_user_programs")
def scan_user() -> World:
    def fn(xs):
        return tf.scan(lambda a, x: a + x if x > 0 else a, xs), tf.vectorized_map(lambda v: v * 2, xs)

    return fn, [((f32([1.0, -2.0, 3.0]),), {})] * 2


@program("more_user_programs")
def grads_py_branch() -> World:
    w = tf.Variable([1.0, 2.0])

    def fn(x):
        with tf.GradientTape() as t:
            y = tf.reduce_sum(w * x)
            if y > 1:
                found = y**2
            else:
                found = -y
        return t.gradient(found, w)

    return fn, [((f32([1.0, 1.0]),), {}), ((f32([-1.0, 0.0]),), {})]


@program("more_user_programs")
def hessian() -> World:
    def fn(x):
        with tf.GradientTape() as a:
            a.watch(x)
            with tf.GradientTape() as b:
                b.watch(x)
                y = tf.constant(1.0)
                for i in range(3):
                    if x[0] > 0:
                        y = y * tf.reduce_sum(x**i)
            g = b.gradient(y, x)
        return a.jacobian(g, x)

    return fn, [((f32([1.0, 2.0]),), {}), ((f32([-1.0, 2.0]),), {})]


@program("more_user_programs")
def nested_functions_state() -> World:
    def fn(x):
        tot = []

        def add(v):
            tot.append(v)
            return len(tot)

        def twice(f, v):
            return f(v) + f(v)

        n = twice(add, x) if x > 0 else add(-x)
        return n, tot

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("more_user_programs")
def global_flag() -> World:
    g = {"dbg": False}

    def log(*a):
        if g["dbg"]:
            print(*a)

    def fn(x):
        log("x", float(x))
        g["dbg"] = not g["dbg"]
        return x

    return fn, [((f32(1.0),), {})] * 4, lambda: g


@program("more_user_programs")
def try_else_finally_order() -> World:
    def fn(x):
        o = []
        try:
            o.append("t")
            if x < 0:
                raise KeyError("k")
        except KeyError as e:
            o.append("e" + str(e))
        else:
            o.append("found")
        finally:
            o.append("f")
        return o

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("more_user_programs")
def raise_custom_subclass() -> World:
    class A(Exception):
        pass

    class B(A):
        def __init__(s, v):
            super().__init__("b", v)
            s.v = v

    def fn(x):
        try:
            if x < 0:
                raise B(float(x))
            if x > 5:
                raise A("a")
        except A as e:
            return type(e).__name__, e.args
        return x

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {}), ((f32(6.0),), {})]


@program("more_user_programs")
def suppress() -> World:
    def fn(x):
        y = 0.0
        with contextlib.suppress(ValueError):
            if x < 0:
                raise ValueError
            y = x
        return y

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("more_user_programs")
def contextmanager_user() -> World:
    ev = []

    @contextlib.contextmanager
    def cm(n):
        ev.append("in" + n)
        try:
            yield n
        finally:
            ev.append("out")

    def fn(x):
        with cm("a") as n:
            y = x + len(n)
        return y

    return fn, [((f32(1.0),), {})] * 2, lambda: ev


@program("more_user_programs")
def itertools_mix() -> World:
    def fn(xs):
        s = 0.0
        for a, b in itertools.combinations([xs[0], xs[1], xs[2]], 2):
            s = s + a * b
        for a, b in itertools.product("ab", [1, 2]):
            s = s + b
        return s, list(itertools.accumulate([1, 2, 3])), list(itertools.chain([1], (2,)))

    return fn, [((f32([1.0, 2.0, 3.0]),), {})] * 2


@program("more_user_programs")
def numpy_mix() -> World:
    def fn(x, n):
        a = np.arange(n)
        m = np.mean(a)
        return x * a.sum(), x + np.float32(m), np.asarray(x).shape

    return fn, [((f32(1.0), 3), {}), ((f32(2.0), 4), {}), ((f32(2.0), 5), {})]


@program("more_user_programs")
def big_python_loop() -> World:
    def fn(x):
        for i in range(300):
            x = x * 1.0001 + i % 3
        return x

    return fn, [((f32(1.0),), {})] * 2


@program("more_user_programs")
def loop_var_type_changes() -> World:
    def fn(n):
        v = 1
        for i in tf.range(n):
            if i == 1:
                v = v * 2.5
            elif i == 2:
                v = "s"
        return v

    return fn, [((i32(k),), {}) for k in (0, 1, 2, 3)]


@program("more_user_programs")
def unpack_dict_items() -> World:
    def fn(d):
        t = 0.0
        for k, v in sorted(d.items()):
            if v > 1:
                t = t + v * len(k)
        return t, {k: v * 2 for k, v in d.items() if k != "x"}

    return fn, [(({"a": f32(1.0), "bb": f32(2.0)},), {}), (({"x": f32(3.0)},), {})]


@program("more_user_programs")
def walrus_filter() -> World:
    def fn(xs):
        return [y for x in xs if (y := x * 2) > 2]

    return fn, [((f32([1.0, 2.0, 3.0]),), {}), ((f32([0.0]),), {})]


@program("more_user_programs")
def star_kw_forward() -> World:
    def base(*a, scale=1.0, **k):
        return sum(a) * scale + k.get("b", 0)

    def fn(*args, **kw):
        return base(*args, **kw)

    return fn, [((f32(1.0), f32(2.0)), {}), ((f32(1.0),), {"scale": 2.0}), ((f32(1.0), f32(1.0)), {"b": f32(3.0)})]


@program("more_user_programs")
def matchy() -> World:
    def fn(c, x):
        match c:
            case [a, *r] if x > 0:
                return a, r
            case {"k": v, **rest}:
                return v, rest
            case int() | float() as n:
                return n * x
            case str(s) if len(s) > 2:
                return s
            case _:
                return None

    return fn, [
        (([1, 2, 3], f32(1.0)), {}),
        (([1, 2], f32(-1.0)), {}),
        (({"k": 1, "z": 2}, f32(1.0)), {}),
        ((3, f32(2.0)), {}),
        ((2.5, f32(1.0)), {}),
        (("abc", f32(1.0)), {}),
        (("a", f32(1.0)), {}),
    ]


@program("more_user_programs")
def del_in_branch() -> World:
    def fn(x):
        a = {"p": 1, "q": 2}
        found = [1, 2, 3]
        if x > 0:
            del a["p"]
            del found[0]
        return a, found

    return fn, [((f32(1.0),), {}), ((f32(-1.0),), {})]


@program("more_user_programs")
def optional_attr() -> World:
    class H:
        pass

    h = H()

    def fn(x):
        if not hasattr(h, "c"):
            h.c = x
        elif x > 5:
            del h.c
        return getattr(h, "c", None)

    return fn, [((f32(v),), {}) for v in (1.0, 2.0, 6.0, 3.0)], lambda: vars(h)


@program("more_user_programs")
def int_tensor_index_list() -> World:
    ws = [f32(1.0), f32(2.0), f32(3.0)]
    names = ["a", "b", "c"]

    def fn(i):
        return ws[i], names[int(i)], ws[-int(i) - 1]

    return fn, [((i32(k),), {}) for k in (0, 2, 5)]


@program("more_user_programs")
def float_accum_prints() -> World:
    def fn(xs):
        for i, x in enumerate(xs):
            if x > 1:
                print(f"{i}: {x:.1f} {float(x) * 2:6.2f}", end=";")
        print()

    return fn, [((f32([1.0, 2.0, 3.0]),), {}), ((f32([0.0]),), {})]
