"""An operation fails when the call has already written, printed or changed variables: all that stands before it is seen, as in eager."""
from __future__ import annotations

import random
import sys

import tensorflow as tf

from tests.programs import World, call, f32, i32, program

PLACES = (0, 1, 5, 0, 7, 1)  # into two elements


class Model:
    """State of all kinds."""

    def __init__(self):
        self.calls = 0
        self.seen = []
        self.weights = tf.Variable([1.0, 2.0])
        self.totals = tf.Variable([0.0, 0.0, 0.0])

    def state(self):
        """What of it is compared."""
        return self.calls, self.seen, self.weights, self.totals


def _world(step):
    model = Model()
    return lambda i: step(model, i), [call(i32(place)) for place in PLACES], model.state


@program("late_failures")
def after_a_print() -> World:
    def step(model, i):
        model.calls += 1
        print("call", model.calls)
        return tf.gather(model.weights, i)
    return _world(step)


@program("late_failures")
def after_a_print_in_a_branch() -> World:
    def step(model, i):
        model.calls += 1
        if i > 0:
            print("positive", i)
            model.seen.append(i)
        found = tf.gather(model.weights, i)
        model.calls += 1
        return found
    return _world(step)


@program("late_failures")
def between_two_prints() -> World:
    def step(model, i):
        model.calls += 1
        print("before", model.calls)
        found = tf.gather(model.weights, i)
        model.calls += 1
        print("after", found)
        return found
    return _world(step)


@program("late_failures")
def before_a_variable_changes() -> World:
    def step(model, i):
        model.calls += 1
        found = tf.gather(model.weights, i)
        model.weights.assign_add([1.0, 1.0])
        return found
    return _world(step)


@program("late_failures")
def after_a_variable_changed() -> World:
    def step(model, i):
        model.calls += 1
        model.weights.assign_add([1.0, 1.0])
        model.seen.append(model.weights[0])
        found = tf.gather(model.weights, i)
        model.calls += 1
        return found
    return _world(step)


@program("late_failures")
def between_two_changes() -> World:
    def step(model, i):
        model.weights.assign_add([1.0, 1.0])
        model.calls += 1
        found = tf.gather(model.weights, i)
        model.totals.scatter_nd_add([[0]], [found])
        model.totals[1].assign(found)
        return found
    return _world(step)


@program("late_failures")
def in_a_loop_with_everything() -> World:
    def step(model, i):
        found = tf.constant(0.0)
        for turn in tf.range(3):
            model.calls += 1
            model.weights.assign_add([1.0, 0.0])
            print("turn", turn)
            found += tf.gather(model.weights, tf.maximum(i + turn - 2, 0))
            model.seen.append(found)
        return found
    return _world(step)


@program("late_failures")
def in_a_while_loop_of_a_branch() -> World:
    def step(model, i):
        found = tf.constant(0.0)
        if i > 0:
            while i >= 0:
                model.totals.assign_add([1.0, 1.0, 1.0])
                model.calls += 1
                found += tf.gather(model.weights, i)
                i -= 1
        else:
            model.weights.assign_sub([1.0, 1.0])
        return found
    return _world(step)


@program("late_failures")
def with_tensorflow_printing() -> World:
    def step(model, i):
        model.calls += 1
        for turn in tf.range(2):
            tf.print("turn", turn, output_stream=sys.stderr)
            model.weights.assign_add([1.0, 1.0])
        print("turned", model.calls)
        found = tf.gather(model.weights, i)
        tf.print("found", found, output_stream=sys.stderr)
        return found
    return _world(step)


@program("late_failures")
def assertion_after_a_change() -> World:
    def step(model, i):
        model.weights.assign_add([1.0, 1.0])
        model.calls += 1
        tf.debugging.assert_less(i, 2, message="too far")
        model.calls += 1
        return model.weights[0]
    return _world(step)


@program("late_failures")
def what_finally_does() -> World:
    def step(model, i):
        try:
            model.weights.assign_add([1.0, 1.0])
            return tf.gather(model.weights, i)
        finally:
            model.calls += 1
            print("finally", model.calls)
    return _world(step)


@program("late_failures")
def what_a_handler_does() -> World:
    def step(model, i):
        model.weights.assign_add([1.0, 1.0])
        try:
            found = tf.gather(model.weights, i)
        except tf.errors.InvalidArgumentError:
            model.calls += 1
            found = tf.constant(-1.0)
        return found
    return _world(step)


@program("late_failures")
def in_a_method_of_a_helper() -> World:
    class Counter:
        def __init__(self):
            self.count = 0

        def add(self, model, i):
            self.count += 1
            print("counted", self.count)
            model.totals.assign_add([1.0, 0.0, 0.0])
            return tf.gather(model.weights, i)

    counter = Counter()

    def step(model, i):
        found = counter.add(model, tf.minimum(i, 1))
        model.calls = counter.count
        return found + counter.add(model, i)
    return _world(step)


@program("late_failures")
def step_of_training() -> World:
    def step(model, i):
        model.calls += 1
        with tf.GradientTape() as tape:
            loss = tf.gather(model.weights, i) ** 2
        model.weights.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(loss, model.weights)))
        model.seen.append(loss)
        return loss * tf.gather(model.totals, i)
    return _world(step)


@program("late_failures")
def python_int_that_grows_too_large() -> World:
    class State:
        def __init__(self):
            self.count = 3

    state = State()

    def fn(x):
        state.count = state.count * state.count
        print("count", state.count)
        return x * 2.0
    return fn, [call(f32(1.0)) for _ in range(8)], lambda: state.count


@program("late_failures")
def read_of_a_variable_that_only_a_gradient_uses() -> World:
    def step(model, i):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.weights) ** 2
            model.totals.assign_add([1.0, 1.0, 1.0])
            loss += tf.gather(model.weights, i)
        model.calls += 1
        return tape.gradient(loss, model.weights)
    return _world(step)


@program("late_failures")
def turns_that_are_left_out() -> World:
    def step(model, i):
        found = tf.constant(0.0)
        for turn in tf.range(3):
            try:
                model.totals.assign_add([1.0, 0.0, 0.0])
                found += tf.gather(model.weights, i + turn - 2)
            except tf.errors.OpError as error:
                model.calls += 1
                print("left out", type(error).__name__)
        return found
    return _world(step)


@program("late_failures")
def in_a_block_of_a_manager() -> World:
    class Manager:
        def __init__(self):
            self.left = []

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            self.left.append(None if kind is None else kind.__name__)
            return kind is not None

    manager = Manager()

    def step(model, i):
        with manager:
            model.weights.assign_add([1.0, 1.0])
            model.seen.append(tf.gather(model.weights, i))
        model.calls += len(manager.left)
        return model.weights[0]
    return _world(step)


@program("late_failures")
def python_returns_another_kind_after_a_change() -> World:
    model, answers = Model(), iter((1, 2, 1, 2.5, 1, 3.5) * 3)

    def fn(x):
        model.calls += 1
        tf.print("call", model.calls, output_stream=sys.stderr)
        model.weights.assign_add([1.0, 1.0])
        print("asked")
        answer = next(answers)
        model.totals.assign_add([1.0, 1.0, 1.0])
        model.seen.append(answer)
        return x * answer
    return fn, [call(f32(2.0)) for _ in range(6)], model.state


@program("late_failures")
def python_raises_under_try_after_a_change() -> World:
    model, words = Model(), {0: "zero", 1: "one"}

    def fn(i):
        model.weights.assign_add([1.0, 1.0])
        try:
            word = words[int(i)]
        except KeyError as error:
            word = f"no {error}"
        model.totals.assign_add([1.0, 1.0, 1.0])
        model.seen.append(word)
        return model.weights[0]
    return fn, [call(i32(place)) for place in PLACES], model.state


@program("late_failures")
def random_numbers_before_what_fails() -> World:
    model = Model()

    def fn(i):
        model.calls += 1
        model.seen.append(random.random())
        model.weights.assign_add([1.0, 1.0])
        return tf.gather(model.weights, i)

    random.seed(7)
    return fn, [call(i32(place)) for place in PLACES], model.state
