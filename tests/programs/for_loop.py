"""The `for` loop: over tensors, ranges, datasets and Python things; targets; state; zero trips."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f16, f32, f64, i32, i64, program, text


@program("for_loop", grad=2, graph=True, golden=True)
def over_a_vector() -> World:
    def fn(xs):
        total = f32(0.0)
        for x in xs:
            total = total * 0.5 + x * x
        return total
    return fn, each(f32([1.0, 2.0, 3.0]), f32([4.0]))


@program("for_loop", graph=True)
def over_no_elements() -> World:
    def fn(xs):
        total = i32(7)
        for x in xs:
            total += x
        return total
    return fn, each(tf.zeros([0], tf.int32), i32([1, 2]), tf.zeros([0], tf.int32))


@program("for_loop", graph=True, golden=True)
def over_tf_range() -> World:
    def fn(n):
        total = 0
        for i in tf.range(n):
            total += i
        return total
    return fn, each(i32(4), i32(0), i32(1))


@program("for_loop", graph=True)
def over_range_of_a_tensor() -> World:
    def fn(n):
        last = None
        for i in range(1, n, 2):
            last = i
        return last
    return fn, each(i32(8), i32(1))


@program("for_loop", graph=True)
def over_rows() -> World:
    def fn(m):
        best = tf.zeros([2])
        for row in m:
            best = tf.maximum(best, row)
        return best
    return fn, each(f32([[1.0, 5.0], [3.0, 2.0]]), tf.zeros([0, 2]))


@program("for_loop", graph=True)
def rows_unpacked() -> World:
    def fn(pairs):
        total = f64(0.0)
        for a, b in pairs:
            total += a * b
        return total
    return fn, each(f64([[1.0, 2.0], [3.0, 4.0]]), f64([[5.0, 6.0]]))


@program("for_loop", graph=True)
def target_used_after_the_loop() -> World:
    def fn(n):
        for i in tf.range(n):
            i = i * 10
        return i
    return fn, each(i32(3), i32(1))


@program("for_loop")
def target_unbound_after_no_turns() -> World:
    def fn(n):
        for i in tf.range(n):
            pass
        return i
    return fn, each(i32(2), i32(0), i32(1))


@program("for_loop", graph=True)
def over_a_dataset() -> World:
    def fn(n):
        total = i64(0)
        for v in tf.data.Dataset.range(n):
            total += v * 2
        return total
    return fn, each(i64(4), i64(0))


@program("for_loop", graph=True)
def over_a_python_list_of_tensors() -> World:
    def fn(parts):
        total = f32(0.0)
        for part in parts:
            total += tf.reduce_sum(part)
        return total
    return fn, each([f32([1.0]), f32([2.0, 3.0])], [], [f32(4.0)])


@program("for_loop", graph=True)
def over_a_dict() -> World:
    def fn(weights, x):
        names = ""
        for name, weight in weights.items():
            x = x * weight
            names += name
        return x, names
    return fn, [call({"a": f32(2.0), "b": f32(3.0)}, f32(1.0)), call({"c": f32(5.0)}, f32(1.0))]


@program("for_loop", graph=True)
def nested_over_a_matrix() -> World:
    def fn(m):
        count = 0
        for row in m:
            for v in row:
                if v > 0:
                    count += 1
        return count
    return fn, each(i32([[1, -1], [2, 3]]), i32([[-1, -1]]))


@program("for_loop", graph=True)
def list_of_results() -> World:
    def fn(xs):
        out = []
        for x in xs:
            out.append(x * 2)
        return out
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0, 5.0]), tf.zeros([0]))


@program("for_loop", graph=True)
def element_assigned_in_a_list() -> World:
    def fn(n):
        cells = [i32(0), i32(0), i32(0)]
        for i in tf.range(n):
            cells[i % 3] = cells[i % 3] + i
        return cells
    return fn, each(i32(7), i32(0))


@program("for_loop", graph=True)
def in_a_method_that_counts() -> World:
    class Meter:
        def __init__(self):
            self.seen = 0
            self.total = f32(0.0)

        def update(self, xs):
            for x in xs:
                self.seen += 1
                self.total = self.total + x
            return self.total / self.seen

    meter = Meter()
    return meter.update, each(f32([1.0, 2.0]), f32([6.0])), lambda: vars(meter)


@program("for_loop", graph=True)
def dtype_changes_on_the_way() -> World:
    def fn(n):
        x = i32(1)
        for i in tf.range(n):
            if i == 2:
                x = tf.cast(x, tf.float32) * 1.5
            else:
                x = x + 1
        return x
    return fn, each(i32(2), i32(4))


@program("for_loop", graph=True)
def list_mutated_while_iterated() -> World:
    def fn(x):
        work = [x]
        total = f16(0.0)
        for w in work:
            total += w
            if w > 1.0:
                work.append(w / 2.0)
        return total, len(work)
    return fn, each(f16(4.0), f16(1.0))


@program("for_loop", grad=1, graph=True)
def recurrence_with_weights() -> World:
    def fn(xs, w):
        h = tf.zeros([2])
        for x in xs:
            h = tf.tanh(tf.linalg.matvec(w, h) + x)
        return h
    return fn, [call(f32([[1.0, 0.5], [0.2, 0.1]]), f32([[0.3, -0.2], [0.1, 0.4]])),
                call(f32([[1.0, 1.0]]), f32([[0.5, 0.0], [0.0, 0.5]]))]


@program("for_loop", graph=True)
def over_strings() -> World:
    def fn(words):
        s = text("")
        for w in words:
            s = tf.strings.join([s, w], "-")
        return s
    return fn, each(text(["a", "b"]), text(["c"]))


@program("for_loop", graph=True)
def step_backwards() -> World:
    def fn(n):
        digits = []
        for i in tf.range(n, 0, -1):
            digits.append(i)
        return digits
    return fn, each(i64(3), i64(1))


@program("for_loop")
def over_a_scalar_is_refused() -> World:
    def fn(x):
        for v in x:
            return v
        return x
    return fn, each(f32(1.0), f32([2.0]))


@program("for_loop", graph=True)
def objects_until_a_tensor_says_so() -> World:
    def fn(text, x):
        out = {}
        for part in text.split(";"):
            if "=" not in part:
                return {"error": part}
            key, value = part.split("=", 1)
            if value == "x":
                value = x
                if x < 0.0:
                    return key
            elif value.isdigit():
                value = int(value)
            out[key.strip()] = value
        return out
    return fn, [call("a=1; b=x", f32(2.0)), call("a=x;c", f32(-1.0)), call("a=x;b=x;c=1", f32(1.0))]


@program("for_loop")
def objects_in_a_list_that_the_loop_changes() -> World:
    def fn(x):
        names, seen = ["a", "b", "c"], []
        for name in names:
            seen.append(name)
            if x > 1.0 and len(names) < 5:
                names.append(name + "'")
            if x > 2.0:
                break
        return seen, names
    return fn, each(f32(0.0), f32(1.5), f32(3.0))
