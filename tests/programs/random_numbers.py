"""Random numbers under a seed: eager's stream, in loops and branches, with gradients, and seeds set inside."""
from __future__ import annotations

import random

import numpy as np
import tensorflow as tf

import imp2tf
from tests.programs import World, call, each, f32, i32, program


def seeded(seed: int | None = 7) -> None:
    """Start eager's stream anew; with None, operations draw from it only by seeds of their own."""
    tf.random.set_seed(seed)


@program("random_numbers", graph=True, grad=1)
def uniform_stream() -> World:
    seeded()

    def fn(x):
        return x + tf.random.uniform([2])
    return fn, each(f32(1.0), f32(2.0), f32(3.0))


@program("random_numbers", graph=True)
def seed_of_the_operation_alone() -> World:
    seeded(None)

    def fn(x):
        return x + tf.random.uniform([2], seed=3), tf.random.uniform([2], seed=3)
    return fn, each(f32(1.0), f32(2.0))


@program("random_numbers", graph=True, grad=1)
def normal_of_given_moments() -> World:
    seeded()

    def fn(mean, deviation):
        return tf.random.normal([3], mean, deviation) + tf.random.truncated_normal([3], stddev=deviation, seed=4)
    return fn, [call(f32(1.0), f32(2.0)), call(f32(0.0), f32(0.5))]


@program("random_numbers", graph=True)
def integers_below_an_argument() -> World:
    seeded()

    def fn(n):
        return tf.random.uniform([4], 0, n, dtype=tf.int32)
    return fn, each(i32(5), i32(1000))


@program("random_numbers", graph=True)
def categories_and_an_order() -> World:
    seeded()

    def fn(logits):
        return tf.random.categorical(logits[None], 5), tf.random.shuffle(logits)
    return fn, each(f32([1.0, 2.0, 3.0]), f32([0.0, 0.0]))


@program("random_numbers", graph=True, grad=1)
def gamma_is_differentiated() -> World:
    seeded()

    def fn(alpha):
        return tf.random.gamma([3], alpha, beta=2.0)
    return fn, each(f32([1.0, 2.0]), f32([0.5, 3.0]))


@program("random_numbers", graph=True)
def poisson() -> World:
    seeded()

    def fn(rate):
        return tf.random.poisson([3], rate)
    return fn, each(f32([1.0, 9.0]))


@program("random_numbers", graph=True, grad=1)
def dropout() -> World:
    seeded()

    def fn(x):
        return tf.nn.dropout(tf.nn.dropout(x, 0.3), rate=0.5, seed=2)
    return fn, each(tf.ones([4, 3]), tf.ones([4, 3]))


@program("random_numbers", graph=True)
def images_flipped_and_cut() -> World:
    seeded()

    def fn(image):
        return tf.image.random_flip_left_right(tf.image.random_crop(image, [2, 2, 1]))
    return fn, each(*[tf.reshape(tf.range(9.0), [3, 3, 1])] * 4)


@program("random_numbers", graph=True)
def in_loops_and_branches() -> World:
    seeded()

    def fn(n):
        total, before = f32(0.0), tf.random.uniform([])
        for _ in tf.range(n):
            step = tf.random.normal([])
            if step > 0:
                total += tf.random.uniform([])
            else:
                total -= step
        return total, before, tf.random.uniform([])
    return fn, each(i32(3), i32(0), i32(5))


@program("random_numbers", graph=True)
def the_number_itself_is_carried() -> World:
    seeded()

    def fn(n):
        last = f32(-1.0)
        while n > 0:
            last = tf.random.uniform([])
            n -= 1
        return last
    return fn, each(i32(3), i32(0))


@program("random_numbers", graph=True, grad=1)
def gradient_through_a_loop() -> World:
    seeded()

    def fn(x):
        turns = i32(0)
        while turns < 3:
            x = tf.nn.dropout(x, 0.4) * tf.random.normal([4])
            turns += 1
        return x
    return fn, each(f32([1.0, 2.0, 3.0, 4.0]))


@program("random_numbers", graph=True)
def tape_inside() -> World:
    seeded()

    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.dropout(x, 0.5) * tf.random.normal([4], stddev=x)
        return tape.gradient(y, x), y
    return fn, each(f32([1.0, 2.0, 3.0, 4.0]))


@program("random_numbers", graph=True)
def printed_between() -> World:
    seeded()

    def fn(x):
        first = tf.random.uniform([])
        print("first", float(first))
        tf.random.uniform([])
        print("third", float(tf.random.uniform([])))
        return x
    return fn, each(f32(1.0), f32(1.0))


@program("random_numbers", graph=True)
def drawn_and_not_used() -> World:
    seeded()

    def fn(x):
        tf.random.uniform([])
        return x

    def draws():
        return tf.random.uniform([])
    return fn, each(f32(1.0)), draws


@program("random_numbers", graph=True)
def seed_set_inside() -> World:
    seeded(None)

    def fn(seed):
        tf.random.set_seed(int(seed))
        return tf.random.uniform([2])
    return fn, each(i32(1), i32(2), i32(1))


@program("random_numbers", graph=True)
def seed_set_between_draws() -> World:
    seeded()

    def fn(seed):
        first = tf.random.uniform([])
        tf.random.set_seed(seed)
        return first, tf.random.uniform([])
    return fn, each(1, 2, 1)


@program("random_numbers", graph=True)
def seed_set_in_a_loop_after_a_branch() -> World:
    seeded()

    def fn(n):
        total = f32(0.0)
        for i in tf.range(n):
            if i > 0:
                total += tf.random.uniform([])
            tf.random.set_seed(5)
        return total
    return fn, each(i32(3), i32(4))


@program("random_numbers")
def wrong_shape() -> World:
    seeded()

    def fn(n):
        return tf.random.uniform([n])
    return fn, each(i32(2), i32(-1), i32(3))


@program("random_numbers")
def in_a_function_that_tensorflow_calls() -> World:
    seeded()

    def fn(xs):
        return tf.map_fn(lambda x: x * tf.random.uniform([]), xs)
    return fn, each(f32([1.0, 2.0]), f32([3.0, 4.0]))


@program("random_numbers")
def shuffled_dataset() -> World:
    seeded()

    def fn(x):
        for item in tf.data.Dataset.range(6).shuffle(6):
            x = x * 2.0 + tf.cast(item, tf.float32)
        return x
    return fn, each(f32(1.0), f32(1.0))


@program("random_numbers", graph=True)
def generator_object() -> World:
    generator = tf.random.Generator.from_seed(9)

    def fn(x):
        if x > 0:
            return x + generator.normal([])
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(1.0)), lambda: generator.state


@program("random_numbers", graph=True)
def stateless() -> World:
    def fn(x, seed):
        return x + tf.random.stateless_uniform([2], seed=[seed, 1])
    return fn, [call(f32(0.0), i32(1)), call(f32(0.0), i32(2))]


@program("random_numbers", graph=True)
def keras_dropout_layer() -> World:
    layer = tf.keras.layers.Dropout(0.5, seed=3)

    def fn(x):
        return layer(x, training=True)
    return fn, each(tf.ones([8]), tf.ones([8]))


@program("random_numbers", graph=True)
def raw_operations() -> World:
    seeded()

    def fn(x):
        return (tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float64, seed=5, seed2=6),
                tf.raw_ops.RandomUniformInt(shape=tf.shape(x), minval=0, maxval=np.int64(9), seed=5))
    return fn, each(f32([1.0, 2.0]), f32([1.0]))


@program("random_numbers", graph=True)
def kinds_and_dtypes() -> World:
    seeded(2**33 + 5)

    def fn(n):
        return [tf.random.uniform([n, 3], dtype=dtype) for dtype in (tf.float16, tf.bfloat16, tf.float64)], [
            tf.random.normal([n], dtype=tf.float64), tf.random.truncated_normal([2, n], 1.0, 2.0),
            tf.random.uniform([n], -4, 9, dtype=tf.int64), tf.random.shuffle(tf.range(5)), tf.random.stateless_normal([2], [1, 2])]
    return fn, each(i32(3), i32(1001), i32(0)), lambda: tf.random.uniform([])


@program("random_numbers", graph=True)
def both_seeds_zero_or_negative() -> World:
    seeded(-1)

    def fn(x):
        return x + tf.random.uniform([2]), tf.random.uniform([], seed=0)

    def other():
        tf.random.set_seed(0)
        return fn(f32(1.0))
    return fn, each(f32(1.0), f32(2.0)), other


@program("random_numbers", graph=True)
def eager_draws_between_the_calls() -> World:
    seeded()
    found = []

    def fn(x):
        return x * tf.random.normal([])

    def between():
        found.append(float(tf.random.uniform([])))
        return found[-1]
    return fn, [call(f32(1.0)), call(f32(2.0))], between


@program("random_numbers")
def raised_after_some_draws() -> World:
    seeded()

    def fn(limit):
        for _ in tf.range(10):
            if tf.random.uniform([]) > limit:
                raise ValueError("over")
        return tf.random.uniform([])

    def draws():
        return tf.random.uniform([])
    return fn, each(f32(2.0), f32(0.5), f32(0.9), f32(2.0)), draws


@program("random_numbers", graph=True)
def retried_under_try() -> World:
    seeded()

    def drawn(limit):
        x = tf.random.uniform([])
        if x > limit:
            raise ValueError("over")
        return x

    def fn(limit):
        tries = 0
        while True:
            tries += 1
            try:
                return drawn(limit), tries, tf.random.normal([2])
            except ValueError:
                if tries > 4:
                    return tf.random.uniform([]), tries, None
    return fn, each(f32(0.3), f32(0.1), f32(0.9))


@program("random_numbers", graph=True)
def walked_on_an_object() -> World:
    seeded()

    class Walk:
        def __init__(self):
            self.position, self.taken, self.path = tf.zeros([2]), 0, []

        def propose(self):
            new = self.position + tf.random.normal([2])
            if tf.math.log(tf.random.uniform([])) >= -tf.reduce_sum(new * new):
                return False
            self.position = new
            return True

        def step(self, n):
            for _ in range(n):
                if self.propose():
                    self.taken += 1
            self.path.append(self.position)
            return self.position, self.taken
    walk = Walk()
    return walk.step, each(3, 3, 3), walk


@program("random_numbers", graph=True)
def numpy_draws_between() -> World:
    seeded()
    numbers = np.random.default_rng(3)

    def fn(x):
        total = x
        for _ in range(3):
            total += tf.random.normal([]) * numbers.uniform()
        return total, tf.random.uniform([])
    return fn, each(f32(1.0), f32(2.0))


@program("random_numbers")
def disabled_function_draws_between() -> World:
    seeded()

    @imp2tf.disable
    def outside():
        return float(tf.random.uniform([]))

    def fn(x):
        before = tf.random.uniform([])
        outside()
        return x + before, tf.random.uniform([])
    return fn, each(f32(1.0), f32(2.0))


@program("random_numbers", graph=True)
def while_drawing() -> World:
    seeded()

    def fn(x):
        count = 0
        while tf.random.uniform([]) < x:
            count += 1
            if count > 20:
                break
        else:
            count += 100
        return count, tf.random.uniform([])
    return fn, each(f32(0.5), f32(0.9), f32(0.0))


def _draws_too(value):
    """Library code may draw: what it does is unknown."""
    return float(np.asarray(value).sum() + tf.random.uniform([]).numpy())


@program("random_numbers")
def draws_beside_python_that_may_draw() -> World:
    seeded()

    @imp2tf.disable
    def outside(x):
        return _draws_too(x)

    def fn(logits, n):
        moves = [tf.random.categorical(logits[None], 1)[0, 0], tf.random.categorical(tf.stack([logits, -logits]), 2)]
        more = tf.random.normal([n]), tf.random.uniform([2], 3, 9, tf.int32), tf.random.truncated_normal([1])
        return moves, more, outside(logits), tf.random.uniform([])
    return fn, [call(f32([1.0, 2.0, 3.0]), i32(2)), call(f32([0.0, float("-inf")]), i32(3)), call(f32([9.0, 1.0]), i32(1))]


@program("random_numbers")
def categories_of_a_batch_of_any_size_beside_python() -> World:
    seeded(3)

    @imp2tf.disable
    def outside(x):
        return _draws_too(x)

    def fn(logits):
        drawn = tf.random.categorical(logits, 3, tf.int32)
        return drawn, outside(drawn)
    return fn, each(f32([[1.0, 2.0, 3.0]]), f32([[0.0, 0.0], [1.0, 5.0]]), f32([[4.0, 1.0]]), f32([[0.5, 0.5, 0.1, 2.0]]))


@program("random_numbers", graph=True, repeat=3)
def lists_shuffled_by_python() -> World:
    order = [0, 1, 2, 3]
    rng = random.Random(3)
    rows = [[1.0], [2.0], [3.0]]

    def fn(x):
        mine = list(range(4))
        random.shuffle(mine)
        rng.shuffle(order)
        values = tf.unstack(x)
        if x[0] > 0:
            random.shuffle(values)
        random.shuffle(rows)
        pairs = [("a", x), ("b", x * 2), ("c", x * 3)]
        rng.shuffle(pairs)
        return tf.gather(x, mine), mine, order, values, pairs, [row[0] for row in rows], random.random() < 2
    return fn, [call(f32([1.0, 2.0, 3.0, 4.0])), call(f32([-1.0, 2.0, 3.0, 5.0]))], lambda: (order, rows, rng.random())
