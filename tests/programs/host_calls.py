"""Library calls that no graph can look into: random numbers, clocks, files, iterators, locks, generators."""
from __future__ import annotations

import enum
import heapq
import io
import itertools
import json
import os
import random
import tempfile
import threading
import time

import numpy as np
import tensorflow as tf

import imp2tf
from tests.programs import World, call, each, f32, f64, i32, program


@program("host_calls", graph=True)
def a_python_random_number_scales() -> World:
    r = random.Random(5)

    def fn(x):
        return x * r.random() + r.randint(1, 6)
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", graph=True)
def a_coin_picks_the_way() -> World:
    r, log = random.Random(11), []

    def fn(x):
        if r.random() < 0.5:
            log.append("explore")
            return x * 0.0
        log.append("exploit")
        return x
    return fn, each(*[f32(float(i)) for i in range(6)]), lambda: log


@program("host_calls", graph=True)
def numpy_random_of_the_module() -> World:
    np.random.seed(4)

    def fn(x):
        return x + np.random.randint(0, 1000)
    return fn, each(f32(0.0), f32(0.0), f32(0.0))


@program("host_calls", graph=True)
def numpy_generator_gives_scalars_and_arrays() -> World:
    rng = np.random.default_rng(3)

    def fn(x):
        noise = rng.normal(size=3)
        k = rng.integers(5)
        if k > 2:
            return x + noise, k
        return x * noise, k
    return fn, each(f32([1.0, 2.0, 3.0]), f32([4.0, 5.0, 6.0]), f32([0.0, 1.0, 0.0]), f64([0.0, 1.0, 0.0]))


@program("host_calls", graph=True)
def a_run_time_range_of_turns() -> World:
    r = random.Random(2)

    def fn(x):
        n = r.randint(1, 4)
        for i in range(n):
            x = x * 2.0 + i
        return x, n
    return fn, each(f32(1.0), f32(1.0), f32(2.0))


@program("host_calls", graph=True)
def random_numbers_in_a_tensor_loop() -> World:
    r = random.Random(3)

    def fn(x):
        turns = 0
        while x < 20.0:
            x = x + r.random() * 10.0
            turns += 1
        return x, turns
    return fn, each(f32(0.0), f32(15.0), f32(30.0))


@program("host_calls", graph=True)
def a_choice_is_passed_on() -> World:
    r = random.Random(3)

    def fn(x):
        name = r.choice(["red", "green", "blue"])
        print("chose", name, name.upper())
        if name == "red":
            return x, name
        return x + len(name), name
    return fn, each(f32(0.0), f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", graph=True)
def next_of_an_outer_counter() -> World:
    ids, names = itertools.count(), itertools.cycle(["a", "b"])

    def fn(x):
        k = next(ids)
        return x + k, next(names)
    return fn, each(f32(1.0), f32(1.0), f32(1.0))


@program("host_calls")
def next_of_an_iterator_that_ends() -> World:
    left, state = iter([1, 2, 3, 4]), {"calls": 0}

    def fn(x):
        state["calls"] += 1
        return x * next(left)
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: dict(state)


@program("host_calls", graph=True)
def a_generator_is_sent_tensors() -> World:
    def runner():
        total = 0.0
        while True:
            total = total + (yield total)
    running = runner()
    next(running)

    def fn(x):
        return running.send(x)
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", grad=1)
def gradients_through_a_generator_that_is_sent_tensors() -> World:
    def runner():
        total = 0.0
        while True:
            total = total + (yield total)
    running = runner()
    next(running)

    def fn(x):
        return running.send(x * x)
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", grad=1, graph=True)
def gradients_beside_a_random_number() -> World:
    r = random.Random(1)

    def fn(x):
        return x * x * r.random()
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", grad=1)
def gradients_stop_at_numpy() -> World:
    def fn(x):
        y = np.log(x.numpy() + 1.0)
        if y > 1.0:
            return tf.reduce_sum(x * y)
        return x + y.item()
    return fn, each(f32(1.0), f32(5.0))


@program("host_calls", graph=True)
def numpy_of_a_tensor_steers_and_scales() -> World:
    def fn(x):
        a = x.numpy()
        top = int(np.argmax(a))
        if a.max() > 2.0:
            return x / a.sum(), top
        return x - np.median(a), top
    return fn, each(f32([1.0, 2.0]), f32([3.0, 1.0]), f32([0.0, 0.5]))


@program("host_calls", graph=True)
def a_clock_is_read_and_waited_for() -> World:
    def fn(x):
        start = time.perf_counter()
        time.sleep(0.001)
        if time.perf_counter() - start >= 0.0005:
            return x + 1.0
        return x
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls", graph=True)
def a_file_is_appended_to() -> World:
    path = tempfile.mktemp()

    def fn(x):
        out = open(path, "a")
        out.write(f"{float(x):.1f}\n")
        out.close()
        return x * 2.0
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: open(path).read()


@program("host_calls", graph=True)
def json_goes_to_a_stream() -> World:
    out = io.StringIO()

    def fn(x):
        json.dump({"loss": float(x)}, out)
        return x, os.path.join("a", "b")
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), out.getvalue


@program("host_calls", graph=True)
def a_heap_of_the_program_is_pushed_to() -> World:
    heap: list = []

    def fn(x):
        heapq.heappush(heap, float(x))
        heapq.heappush(heap, 0.5)
        return x, heapq.heappop(heap)
    return fn, each(f32(3.0), f32(2.0), f32(1.0)), lambda: heap


@program("host_calls")
def a_heap_of_the_program_is_read_after() -> World:
    heap: list = []

    def fn(x):
        heapq.heappush(heap, 5.0 - float(x))
        return x * heap[0], len(heap)
    return fn, each(f32(3.0), f32(2.0), f32(1.0)), lambda: heap


@program("host_calls")
def a_list_made_here_is_shuffled() -> World:
    r = random.Random(3)

    def fn(x):
        items = [1, 2, 3]
        r.shuffle(items)
        return x * items[0], items
    return fn, each(f32(3.0), f32(2.0), f32(1.0))


@program("host_calls", graph=True)
def a_generator_of_numbers_made_here() -> World:
    def fn(x):
        r = random.Random(3)
        return x * r.random(), x * r.random()
    return fn, each(f32(3.0), f32(2.0), f32(1.0))


@program("host_calls")
def numpy_random_made_here() -> World:
    def fn(x):
        rs = np.random.RandomState(3)
        return x * rs.rand(), x * rs.rand()
    return fn, each(f32(3.0), f32(2.0), f32(1.0))


@program("host_calls")
def a_result_now_of_one_kind_now_of_another() -> World:
    values = iter([1, 2, "x", 4.5, None, 3, 2.5, "y"] * 3)

    def fn(x):
        value = next(values)
        print("got", value)
        return x, value
    return fn, each(*[f32(float(i)) for i in range(8)])


@program("host_calls")
def none_now_and_then() -> World:
    values = iter([1.0, 2.0, None, 4.0, None, 3.0] * 3)

    def fn(x):
        value = next(values)
        if value is None:
            return x * 0.0
        return x + value
    return fn, each(*[f32(float(i)) for i in range(6)])


@program("host_calls")
def another_kind_after_state_was_written() -> World:
    values, state = iter([1, 2, "x", 4] * 3), {"n": 0}

    def fn(x):
        state["n"] += 1
        value = next(values)
        state["last"] = value
        return x, value, state["n"]
    return fn, each(*[f32(float(i)) for i in range(4)]), lambda: dict(state)


@program("host_calls")
def the_end_of_an_iterator_is_caught() -> World:
    left = iter([1.0, 2.0, 3.0])

    def fn(x):
        try:
            return x * next(left)
        except StopIteration:
            return x * 0.0
    return fn, each(*[f32(float(i)) for i in range(4)])


@program("host_calls")
def a_file_that_is_not_there() -> World:
    def fn(x):
        n = 1
        if x > 2.0:
            open("/nonexistent/file").read()
        return x, n
    return fn, each(f32(1.0), f32(3.0), f32(1.0))


@program("host_calls", graph=True)
def a_lock_is_held() -> World:
    lock, count = threading.Lock(), [0]

    def fn(x):
        with lock:
            count[0] += 1
            return x + count[0]
    return fn, each(f32(1.0), f32(1.0), f32(1.0)), lambda: (count, lock.locked())


@program("host_calls", graph=True)
def locks_are_held_inside_one_another() -> World:
    outer, inner, state = threading.RLock(), threading.Lock(), {"n": 0}

    def fn(x):
        with outer as got:
            with inner:
                if x > 2.0:
                    state["n"] += 1
        return x + state["n"], got
    return fn, each(f32(1.0), f32(3.0), f32(4.0)), lambda: (state, inner.locked())


@program("host_calls")
def an_error_under_a_lock_lets_go_of_it() -> World:
    lock, state = threading.Lock(), {"n": 0}

    def fn(x):
        with lock:
            state["n"] += 1
            if x > 2.0:
                raise ValueError("too large")
        return x
    return fn, each(f32(1.0), f32(3.0), f32(1.0)), lambda: (state, lock.locked())


@program("host_calls")
def a_poll_for_what_changes_meanwhile() -> World:
    state = {"n": 0}

    def fn(x):
        while state["n"] < 3:
            time.sleep(0.0001)
            state["n"] += 1
        return x
    return fn, each(f32(1.0), f32(2.0))


@program("host_calls", graph=True)
def calls_in_a_helper_and_a_method() -> World:
    class Agent:
        def __init__(self) -> None:
            self.r = random.Random(8)
            self.steps = 0

        def explore(self):
            self.steps += 1
            return self.r.random()

    agent = Agent()

    def noisy(x):
        return x + agent.explore()

    def fn(x):
        return noisy(noisy(x))
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: agent.steps


@program("host_calls", graph=True)
def variables_keep_their_order() -> World:
    v, r = tf.Variable(1.0), random.Random(8)

    def fn(x):
        v.assign_add(r.random())
        before = v + 0.0
        v.assign(v * x)
        return before, r.random() * v
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: v


@program("host_calls", graph=True)
def every_result_of_a_disabled_function_counts() -> World:
    r = random.Random(8)

    @imp2tf.disable
    def measure():
        return np.array([r.random(), 1.0]), r.random(), r.random() > 0.5, {"id": 3}

    def fn(x):
        obs, reward, done, info = measure()
        if done:
            return x * reward + tf.reduce_sum(tf.constant(obs, tf.float32)), info["id"]
        return x - reward, info["id"]
    return fn, each(f32(1.0), f32(2.0), f32(3.0), f32(4.0))


@program("host_calls", graph=True)
def elements_of_an_outer_array_are_assigned() -> World:
    table = np.ones(2, np.float32)

    def double():
        table[:] = table * 2.0

    def fn(x):
        before = x * table
        double()
        return before, table[0] * x
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: table


@program("host_calls", graph=True)
def an_outer_array_is_added_to_and_steers() -> World:
    class Histogram:
        def __init__(self) -> None:
            self.counts = np.zeros(4)

    seen = Histogram()

    def fn(x):
        counts = seen.counts
        counts += 0.5
        counts[int(x)] = counts[int(x)] + float(x)
        if counts.sum() > 6.0:
            return x * counts, counts.max()
        return x + counts, counts.max()
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: seen.counts


@program("host_calls", graph=True)
def an_outer_array_is_filled_in_a_tensor_loop() -> World:
    history = np.zeros(5, np.float32)

    def fn(x):
        i = 0
        while x > 0.5 and i < 5:
            history[i] = x
            x = x / 2.0
            i += 1
        return x, i, history.max()
    return fn, each(f32(1.0), f32(8.0), f32(0.25)), lambda: history


@program("host_calls", graph=True)
def an_array_that_varies_is_an_argument() -> World:
    def fn(x, a):
        return x * a, tf.reduce_sum(a[:2]), a
    return fn, [call(f32(float(i)), np.float32([i, 1.0, i * i])) for i in range(5)]


@program("host_calls")
def a_view_of_an_array_that_changes() -> World:
    table = np.arange(4, dtype=np.float32)
    row = table[:2]

    def fn(x):
        y = x * row
        table[0] = 7.0
        return y, x * row, table
    return fn, each(f32(1.0), f32(2.0), f32(3.0)), lambda: (table, row)


@program("host_calls")
def an_array_made_here_is_filled() -> World:
    def fn(x):
        made = np.zeros(3, np.float32)
        for i in range(3):
            made[i] = float(x) + i
        return x * made, made
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("host_calls")
def an_array_that_varies_is_iterated_over() -> World:
    def fn(x, a):
        for item in a:
            x = x + float(item)
        return x
    return fn, [call(f32(float(i)), np.float32([i, 1.0, i * i])) for i in range(4)]


@program("host_calls", graph=True)
def heaps_made_here() -> World:
    def fn(xs):
        heap = [(float(x), i) for i, x in enumerate(xs)]
        heapq.heapify(heap)
        first = heapq.heappop(heap)
        second = heapq.heappushpop(heap, (2.5, 9))
        third = heapq.heapreplace(heap, (0.5, 8))
        return first, second, third, heap
    return fn, each(f32([3.0, 1.0, 2.0]), f32([1.0, 1.0, 0.0]), f32([5.0, 4.0, 4.0]))


@program("host_calls", graph=True)
def a_heap_of_run_time_length_sorts() -> World:
    def fn(xs):
        heap: list = []
        for x in xs:
            heapq.heappush(heap, x)
        out = []
        while heap:
            out.append(heapq.heappop(heap))
        return out
    return fn, each(f32([3.0, 1.0, 2.0]), f32([1.0]), f32([5.0, 4.0, 4.0, 1.0]))


@program("host_calls")
def a_heap_that_is_empty() -> World:
    def fn(x):
        heap: list = []
        if x > 1.0:
            heap.append(x)
        return heapq.heappop(heap)
    return fn, each(f32(2.0), f32(1.0))


@program("host_calls", graph=True)
def tuples_are_ordered() -> World:
    def fn(x, y):
        a, b = (int(x), float(y)), (int(y), float(x))
        return a < b, a >= b, [1, float(x)] < [1, float(y)], (1, a) <= (1, a, 2)
    return fn, [call(f32(1.0), f32(2.0)), call(f32(2.0), f32(1.0)), call(f32(1.0), f32(1.5)), call(f32(1.0), f32(1.0))]


@program("host_calls", graph=True)
def an_array_is_shuffled_in_place() -> World:
    order, rs = np.arange(4), np.random.RandomState(0)

    def fn(x):
        rs.shuffle(order)
        return tf.gather(x, order)
    return fn, each(*[f32([1.0, 2.0, 3.0, 4.0])] * 3), lambda: order


@program("host_calls")
def integers_too_large_for_a_graph() -> World:
    r = random.Random(8)

    def fn(x):
        return x, r.getrandbits(80)
    return fn, [call(i32(1)), call(i32(2)), call(i32(3))]


def _reading(x, stream):
    buffer = np.zeros(3, np.uint8)
    count = stream.readinto(buffer)
    return x * 2.0, count, buffer


def _at_its_end():
    stream = io.BytesIO(b"abcdefgh")
    stream.seek(0, 2)
    return stream


@program("host_calls", repeat=1)
def argument_changed_on_a_later_call_only() -> World:
    stream = _at_its_end()

    def fn(x):
        return _reading(x, stream)
    calls = [call(f32(1.0)), call(f32(2.0)), call(f32(1.0)), call(f32(2.0)), call(f32(2.0))]
    calls[2] = (*calls[2], lambda: stream.seek(0))
    return fn, calls, stream.tell


@program("host_calls", repeat=1)
def argument_changed_under_try_after_another_call() -> World:
    stream, numbers = _at_its_end(), iter(range(100))

    class Reader:
        def read(self, x):
            number = next(numbers)
            try:
                return number, _reading(x, stream)
            except ValueError:
                return number

    calls = [call(f32(1.0)), call(f32(2.0)), call(f32(1.0)), call(f32(2.0)), call(f32(2.0))]
    calls[2] = (*calls[2], lambda: stream.seek(0))
    return Reader().read, calls, lambda: (stream.tell(), next(numbers))


@program("host_calls")
def member_of_an_enumeration() -> World:
    class Side(enum.Enum):
        LEFT = 0
        RIGHT = 1

    def fn(x):
        side = Side(int(x > 1.0))
        return "right" if side is Side.RIGHT else "left", side is not Side.LEFT, side is Side(side.value), side
    return fn, each(f32(2.0), f32(0.0), f32(2.0))
