"""Programs that are saved, and calls whose results must be the same when they are served.

A call is an expression over `m`: the program's own function or object here, the loaded object there.
"""

import collections
import dataclasses
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

import imp2tf
from tests.export.loader import Point

ROW = tf.TensorSpec([None], tf.float32)
ROWS = tf.TensorSpec([None, 2], tf.float32)
SCALAR = tf.TensorSpec([], tf.float32)


@dataclasses.dataclass
class Served:
    """One program: how to make what is saved, under which signatures, and what to call."""

    make: Callable[[], Any]
    calls: tuple[str, ...]
    signatures: Any = None


CASES: dict[str, Served] = {}


def served(*calls: str, signatures: Any = None) -> Callable[[Any], Any]:
    """Register what makes a program."""

    def register(make: Any) -> Any:
        CASES[make.__name__] = Served(make, calls, signatures)
        return make

    return register


# ------------------------------------------------------------------------------------------------ functions
@served("m(tf.constant([1., 2.]))", "m(tf.constant([-1., -2., 3.]))", "m(tf.zeros([0]))", signatures=[ROW])
def tensor_if():
    def choose(x):
        if tf.reduce_sum(x) > 0:
            return x * 2.0
        return x - 1.0

    return choose


@served("m(tf.constant([3., 40.]))", "m(tf.constant([0.5]))", signatures=[ROW])
def while_loop():
    def halve(x):
        turns = 0
        while tf.reduce_max(x) > 1.0:
            x = x / 2.0
            turns += 1
            if turns > 3:
                break
        return x, turns

    return imp2tf.convert(halve)


@served("m(tf.constant([1., 2.]))", "m(tf.constant([1., 2.]), 3.0)", "m(tf.constant([1.]), scale=3.0, shift=1)", signatures=[ROW, 3.0])
def default_values():
    def scaled(x, scale=3.0, shift=1):
        return x * scale + shift

    return imp2tf.convert(scaled)


@served("m({'a': tf.constant([1.]), 'b': {'c': tf.constant([2.]), 'd': (tf.constant(3.), tf.constant(4.))}})",
        signatures=[{"a": ROW, "b": {"c": ROW, "d": (SCALAR, SCALAR)}}])
def nested_dicts():
    def swap(parts):
        total = parts["a"] + parts["b"]["c"]
        parts["b"] = 0
        return {"total": total, "inner": {"pair": (total, [total * 2.0]), "nothing": None}}

    return swap


@served("m(Point(tf.constant([1.]), tf.constant([2.])))", "m(Point(x=tf.constant([5.]), y=tf.constant([2.])))",
        signatures=[Point(ROW, ROW)])
def named_tuples():
    def turn(point):
        if tf.reduce_sum(point.x) > tf.reduce_sum(point.y):
            return Point(point.y, point.x), point.x
        return point, point.y

    return turn


@served("m(tf.ragged.constant([[1., 2.], [], [3.]]))", "m(tf.ragged.constant([[1.]]))",
        signatures=[tf.RaggedTensorSpec([None, None], tf.float32, ragged_rank=1)])
def ragged_rows():
    def lengthen(rows):
        total = 0.0
        for row in rows:
            total = total + tf.reduce_sum(row)
        return tf.concat([rows, rows * 2.0], axis=1), total

    return lengthen


@served("m(tf.constant(['a', 'bb']))", "m(tf.constant(['x']))", signatures=[tf.TensorSpec([None], tf.string)])
def strings():
    def describe(words):
        joined = tf.strings.reduce_join(words, separator=",")
        if tf.strings.length(joined) > 2:
            return tf.strings.upper(joined)
        return joined

    return describe


@served("m(tf.sparse.from_dense([[1., 0.], [0., 2.]]))", signatures=[tf.SparseTensorSpec([None, 2], tf.float32)])
def sparse_rows():
    return lambda rows: (tf.sparse.reduce_sum(rows, axis=1), rows)


# ------------------------------------------------------------------------------------------------ results
@served("m(tf.constant(1.))", "m(tf.constant(-1.))", "m(tf.constant(0.))", signatures=[SCALAR])
def choice_of_texts():
    def sign(x):
        if x > 0:
            return "positive"
        elif x < 0:
            return "negative"
        return "zero"

    return sign


@served("m(tf.constant(1.))", "m(tf.constant(-1.))", signatures=[SCALAR])
def python_numbers():
    def numbers(x):
        count = 0
        while x > 0:
            x -= 0.25
            count += 1
        return {"count": count, "half": count / 2, "none": count == 0, "size": 2**40, "name": "n", "raw": b"r"}

    return numbers


@served("m(tf.constant(1.))", "m(tf.constant(-1.))", signatures=[SCALAR])
def int_or_float():
    def either(x):
        if x > 0:
            return 2
        return 0.5

    return either


@served("m(tf.constant(1.))", "m(tf.constant(-1.))", signatures=[SCALAR])
def number_or_tensor():
    def clipped(x):
        if x > 0:
            return x * 3.0
        return 0.0

    return clipped


@served("m(tf.constant([1., 2., 3.]))", "m(tf.constant([1.]))", signatures=[ROW])
def list_of_run_time_length():
    def doubled(x):
        found = []
        for value in x:
            if value > 1:
                found.append(value * 2.0)
        return found

    return doubled


# ------------------------------------------------------------------------------------------------ state of functions
@served("m(tf.constant(1.))", "m(tf.constant(2.))", "m(tf.constant(3.))", signatures=[SCALAR])
def closure_numbers():
    count, total = 0, 0.0

    def step(x):
        nonlocal count, total
        count += 1
        total = total + float(count) / 2
        return x * total, count, total

    return imp2tf.convert(step)


_calls = 0
_best = None


@served("m(tf.constant(1.))", "m(tf.constant(5.))", "m(tf.constant(2.))", signatures=[SCALAR])
def globals_of_the_module():
    global _calls, _best
    _calls, _best = 0, None

    def best(x):
        global _calls, _best
        _calls += 1
        if _best is None or x > _best:
            _best = x
        return _best, _calls

    return best


@served("m(tf.constant(1.))", "m(tf.constant(-1.))", "m(tf.constant(2.))", signatures=[SCALAR])
def modes():
    mode = "start"

    def step(x):
        nonlocal mode
        before = mode
        if x > 0:
            mode = "up"
        else:
            mode = "down"
        return before, mode

    return step


# ------------------------------------------------------------------------------------------------ objects
@served("m.add(tf.constant([1., 2.]))", "m.add(tf.constant([3.]))", "m.mean()", "m.reset()", "m.add(tf.constant([5.]))", "m.mean()",
        "m.n", "signed(m, 'add', x=tf.constant([1.]))['output_0']", "m.n")
def methods_share_state():
    class Meter:
        def __init__(self):
            self.n, self.total, self.last = 0, tf.zeros([]), None

        @imp2tf.convert(input_signature=[ROW])
        def add(self, x):
            self.n += 1
            self.total = self.total + tf.reduce_sum(x)
            if self.last is None:
                self.last = x
            else:
                self.last = tf.concat([self.last, x], 0)
            return self.total, self.last

        @imp2tf.convert(input_signature=[])
        def mean(self):
            return self.total / tf.cast(self.n, tf.float32)

        @imp2tf.convert(input_signature=[])
        def reset(self):
            self.n, self.total, self.last = 0, tf.zeros([]), None

    return Meter()


@served("m.push(tf.constant([1., 2.]))", "m.push(tf.constant([3., 5.]))", "m.push(tf.constant([4., 4.]))", "m.recent(tf.constant(0.))")
def containers():
    class Log:
        def __init__(self):
            self.rows, self.stats, self.pair = [], {"n": 0, "sum": 0.0}, (0, tf.zeros([2]))

        @imp2tf.convert(input_signature=[tf.TensorSpec([2])])
        def push(self, row):
            self.rows.append(row)
            self.stats["n"] += 1
            self.stats["sum"] += 0.5
            self.pair = (self.pair[0] + 1, self.pair[1] + row)
            return len(self.rows), self.stats["n"], self.stats["sum"], self.pair

        @imp2tf.convert(input_signature=[SCALAR])
        def recent(self, x):
            total = x
            for row in self.rows:
                total = total + tf.reduce_sum(row)
            return total

    return Log()


class Cell:
    """State that is an object."""

    def __init__(self, value, age):
        self.value, self.age = value, age


@served("m(tf.constant([1., 2.]))", "m(tf.constant([3., 4.]))", "m(tf.constant([3., 4.]))", signatures=[tf.TensorSpec([2])])
def an_object_that_is_replaced():
    class Holder:
        def __init__(self):
            self.cell = Cell(tf.zeros([2]), 0)

        def __call__(self, x):
            self.cell = Cell(self.cell.value * 0.5 + x, self.cell.age + 1)
            return self.cell.value, self.cell.age

    return Holder()


@served("m(tf.constant([[1., 2.]]))", "gradients(lambda: m(tf.constant([[1., 2.], [3., 4.]])), m.w, m.inner.b)",
        "gradients(lambda: m(tf.constant([[-1., -2.]])), m.w, m.inner.b)", "[m.w.assign(m.w * 2.), m(tf.constant([[1., 2.]]))][1]",
        "[v.trainable for v in m.trainable_variables]")
def module_to_fine_tune():
    class Inner(tf.Module):
        def __init__(self):
            super().__init__()
            self.b = tf.Variable([0.5])

        def __call__(self, x):
            return x + self.b

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.inner = tf.Variable([[1.0], [2.0]]), Inner()

        @imp2tf.convert(input_signature=[ROWS])
        def __call__(self, x):
            if tf.reduce_sum(x) > 0:
                return self.inner(x @ self.w)
            return tf.nn.relu(x) @ self.w

    return Net()


@served("m(tf.constant([1., 2.]), tf.constant(1.))", "m(tf.constant([1., 2.]), tf.constant(1.))", "m.w", signatures=[ROW, SCALAR])
def a_training_step():
    class Trainer:
        def __init__(self):
            self.w, self.step = tf.Variable(0.5), 0

        def __call__(self, x, y):
            self.step += 1
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x * self.w - y) ** 2)
            gradient = tape.gradient(loss, self.w)
            if self.step % 2 == 0:
                gradient = gradient * 0.5
            self.w.assign_sub(0.1 * gradient)
            return loss

    return Trainer()


@served("m.ids(tf.constant(['b', 'zzz']))", "m.ids(tf.constant(['a']))", "m.seen")
def tables_and_assets():
    path = Path(tempfile.mkdtemp(), "words.txt")
    path.write_text("a\nb\nc\n")

    class Vocabulary(tf.Module):
        def __init__(self):
            super().__init__()
            self.asset = tf.saved_model.Asset(str(path))
            words = tf.lookup.TextFileInitializer(self.asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                                  tf.lookup.TextFileIndex.LINE_NUMBER)
            self.table, self.seen = tf.lookup.StaticHashTable(words, -1), 0

        @imp2tf.convert(input_signature=[tf.TensorSpec([None], tf.string)])
        def ids(self, words):
            self.seen += 1
            found = self.table.lookup(words)
            if tf.reduce_any(found < 0):
                found = tf.maximum(found, 0)
            return found

    return Vocabulary()


@served("m(tf.constant([1., 2.]))", "m(tf.constant([-1.]))")
def the_newest_graph():
    @imp2tf.convert(profile_runs=0)
    def double(x):
        if tf.reduce_sum(x) > 0:
            return x * 2.0
        return x

    double(tf.constant([1.0]))
    double(tf.constant([1.0, 2.0]))
    return double


@served("m(tf.constant([1., 2.]))", signatures=[ROW])
def a_partial():
    def power(x, n, *, offset=1.0):
        while tf.reduce_max(x) < 10.0:
            x = x * n
        return x + offset

    return functools.partial(power, n=3.0, offset=0.5)


@served("m(tf.constant([1., 2.]), tf.constant(3.), tf.constant(4.))", signatures=[ROW, SCALAR, SCALAR])
def star_args():
    def total(x, *more):
        for one in more:
            x = x + one
        return x

    return total


@served("m(tf.constant([1., -2., 3.]))", "m(tf.constant([-1.]))", signatures=[ROW])
def early_return_in_a_loop():
    def first_negative(x):
        place = 0
        for value in x:
            if value < 0:
                return value, place
            place += 1
        return tf.constant(0.0), -1

    return first_negative


@served("m(tf.constant([1.]))", "m(tf.constant([2.]))", signatures=[ROW])
def deques_and_growing_strings():
    recent = collections.deque([0.0, 0.0], maxlen=2)
    names = {"last": "none"}

    def step(x):
        recent.append(tf.reduce_sum(x))
        before = names["last"]
        names["last"] = "small" if tf.reduce_sum(x) < 1.5 else "large"
        return recent[0] + recent[1], before

    return step


@served("m.scale(tf.constant([1.]))", "m.scale(tf.constant([2.]))", "signed(m, 'serving_default', x=tf.constant([3.]))")
def a_tf_function_method():
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(2.0)

        @tf.function(input_signature=[ROW], autograph=False)
        def scale(self, x):
            return {"y": x * self.w if tf.reduce_sum(x) > 1.5 else x}

    return Net()
