"""Gradients that are None in plain Python: of what only steers, and of what another path than the one taken uses."""
from __future__ import annotations

import tensorflow as tf

from tests.programs import World, call, each, f32, i32, program


@program("none_gradients", grad=1, graph=True)
def loop_until_a_limit() -> World:
    def fn(x, limit):
        while x < limit:
            x = x * 2.0
        return x
    return fn, [call(f32(1.0), f32(5.0)), call(f32(6.0), f32(5.0))]


@program("none_gradients", grad=2, graph=True)
def break_beyond_a_limit() -> World:
    def fn(xs, w, stop):
        h = f32(0.0)
        for x in xs:
            h = tf.tanh(h * w + x)
            if h > stop:
                break
        return h
    return fn, [call(f32([0.1, 0.2, 0.9]), f32(0.5), f32(0.3)), call(f32([0.1, 0.1]), f32(0.5), f32(0.9))]


@program("none_gradients", grad=2, graph=True)
def three_ways() -> World:
    def fn(x, a, b):
        if x > 1.0:
            return x * a * a
        if x > 0.0:
            return x * b * b
        return x * x
    return fn, [call(f32(x), f32(3.0), f32(4.0)) for x in (2.0, 0.5, -1.0)]


@program("none_gradients", grad=1, graph=True)
def branch_within_a_branch() -> World:
    def fn(x, a, b):
        y = x * x
        if x > 0.0:
            y = y + x
            if x > 1.0:
                y = y * a
            else:
                y = y * b
        elif a > b:
            y = y * b
        return y
    return fn, [call(f32(x), f32(a), f32(2.0)) for x, a in ((2.0, 1.0), (0.5, 1.0), (-1.0, 1.0), (-1.0, 3.0))]


@program("none_gradients", grad=1, graph=True)
def loop_of_no_turns() -> World:
    def fn(x, w, n):
        if n < 10:
            for _ in tf.range(n):
                x = x * w
        return x
    return fn, [call(f32(2.0), f32(3.0), i32(n)) for n in (2, 0, 11)]


@program("none_gradients", grad=1, graph=True)
def variable_on_one_path() -> World:
    scale, threshold = tf.Variable(2.0), tf.Variable(1.0)

    def fn(x):
        if x > threshold:
            return x * scale
        return x * x
    return fn, [call(f32(2.0)), call(f32(0.5))], lambda: (scale, threshold)


@program("none_gradients", grad=1, graph=True)
def rounded_and_cast() -> World:
    def fn(x, y, z):
        total = x * x
        while total < 10.0:
            total = total + tf.floor(y) + tf.cast(tf.cast(z, tf.int32), tf.float32) + x
        return total
    return fn, [call(f32(1.0), f32(2.5), f32(3.0))]


@program("none_gradients", grad=1, graph=True)
def attribute_written_on_one_path() -> World:
    class Keeper:
        def __init__(self):
            self.kept = f32(0.0)

    keeper = Keeper()

    def fn(x, y):
        if x > 0.0:
            keeper.kept = y * 2.0
        return x * keeper.kept
    return fn, [call(f32(2.0), f32(3.0)), call(f32(-1.0), f32(3.0))], lambda: keeper.kept


@program("none_gradients", graph=True)
def own_tape_and_a_limit() -> World:
    def fn(x, limit):
        with tf.GradientTape() as tape:
            tape.watch([x, limit])
            y = x
            while y < limit:
                y = y * x
        return tape.gradient(y, {"x": x, "limit": limit})
    return fn, [call(f32(2.0), f32(20.0))]


@program("none_gradients", graph=True)
def own_step_leaves_out_variables_without_gradient() -> World:
    weight, limit = tf.Variable(1.5), tf.Variable(20.0)

    def fn(x):
        with tf.GradientTape() as tape:
            y = x * weight
            while y < limit:
                y = y * weight
        updated = 0
        for variable, gradient in zip([weight, limit], tape.gradient(y, [weight, limit])):
            if gradient is not None:
                variable.assign_sub(0.001 * gradient)
                updated += 1
        return updated
    return fn, [call(f32(2.0))], lambda: (weight, limit)


@program("none_gradients", graph=True)
def own_tape_with_zeros_for_unconnected() -> World:
    def fn(x, limit):
        with tf.GradientTape() as tape:
            tape.watch([x, limit])
            y = x
            while y < limit:
                y = y * x
        return tape.gradient(y, [x, limit], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return fn, [call(f32(2.0), f32(20.0))]


@program("none_gradients", graph=True)
def jacobian_and_a_limit() -> World:
    def fn(x, limit):
        with tf.GradientTape() as tape:
            tape.watch([x, limit])
            y = x
            while tf.reduce_sum(y) < limit:
                y = y * x
        return tape.jacobian(y, {"x": x, "limit": limit})
    return fn, [call(f32([2.0, 3.0]), f32(20.0))]


@program("none_gradients", graph=True)
def jacobians_on_one_path() -> World:
    def fn(x, c):
        with tf.GradientTape(persistent=True) as tape:
            rows = x[None]
            tape.watch([x, c, rows])
            y = rows * x
            if c > 0.0:
                y = y * c
        return tape.jacobian(y, [x, c]), tape.jacobian(y, c, experimental_use_pfor=False), tape.batch_jacobian(y, rows)
    return fn, [call(f32([2.0, 3.0]), f32(c)) for c in (1.0, -1.0)]


@program("none_gradients", graph=True)
def step_of_a_recurrence_over_a_sequence_of_any_length() -> World:
    first, second = tf.Variable([[0.1, 0.2], [0.3, 0.4]]), tf.Variable([[0.5, 0.0], [0.0, 0.5]])

    def fn(rows):
        with tf.GradientTape() as tape:
            state, seen = tf.zeros([1, 2]), []
            for row in rows:
                state = tf.tanh(row[None] @ first + state @ second)
                seen.append(state)
            loss = tf.reduce_mean(tf.stack(seen) ** 2)
        for weight, gradient in zip([first, second], tape.gradient(loss, [first, second])):
            weight.assign_sub(0.1 * gradient)
        return loss
    return fn, each(f32([[1.0, 0.0], [0.0, 1.0]]), f32([[1.0, 1.0]]), f32([[1.0, 0.0]] * 3)), lambda: (first, second)


@program("none_gradients")
def loop_that_may_have_no_turn() -> World:
    weight = tf.Variable(2.0)

    def fn(x, n):
        with tf.GradientTape() as tape:
            y = x
            for _ in tf.range(n):
                y = y * weight
        gradient = tape.gradient(y, weight)
        if gradient is None:
            return "no gradient"
        weight.assign_sub(0.01 * gradient)
        return gradient
    return fn, [((f32(1.0), i32(n)), {}) for n in (2, 0, 3)], lambda: weight


@program("none_gradients", graph=True)
def second_gradient_of_a_loop() -> World:
    def fn(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y, k = tf.constant(1.0), tf.constant(0)
                while k < 4:
                    y = y * x
                    k += 1
            gradient = inner.gradient(y, x)
        return y, gradient, outer.gradient(gradient, x)
    return fn, each(f32(2.0), f32(3.0))


@program("none_gradients", graph=True)
def sum_that_starts_as_a_python_number() -> World:
    weight = tf.Variable(2.0)

    def fn(x):
        with tf.GradientTape() as tape:
            loss = 0.0
            for v in x:
                if v > 0:
                    loss += v * weight
        return tape.gradient(loss, [weight])
    return fn, each(f32([1.0, -2.0, 3.0]), f32([2.0, 2.0, 0.0])), lambda: weight


@program("none_gradients")
def gradient_of_a_sum_without_terms() -> World:
    weight = tf.Variable(2.0)

    def fn(x):
        print("begin")
        with tf.GradientTape() as tape:
            loss = 0.0
            for v in x:
                if v > 0:
                    loss += v * weight
        return tape.gradient(loss, weight)
    return fn, each(f32([1.0, -2.0]), f32([-1.0, -1.0])), lambda: weight


@program("none_gradients", grad=1, graph=True)
def overwritten_before_a_break() -> World:
    def fn(x, v, n):
        k = tf.constant(0)
        while True:
            k += 1
            if k > n:
                break
            x = v * 2.0
        return x
    return fn, [call(f32(1.0), f32(3.0), i32(n)) for n in (4, 0, 1)]


@program("none_gradients", grad=1, graph=True)
def overwritten_in_some_turn() -> World:
    def fn(x, w, v):
        for e in v:
            if e > 0.0:
                x = e * w
            elif e < -1.0:
                x = x * e
        return x
    return fn, [call(f32(2.0), f32(3.0), f32(v)) for v in ([1.0, -1.0, -2.0], [-1.0, -2.0, -3.0], [-2.0, 1.0, -1.0], [-0.5, -0.5])]


@program("none_gradients", grad=1, graph=True)
def used_early_and_overwritten_later() -> World:
    def fn(x, a, b, v):
        for e in v:
            if e > 1.0:
                x = x * a
            elif e > 0.0:
                x = e * b
        return x
    return fn, [call(f32(2.0), f32(3.0), f32(4.0), f32(v)) for v in ([2.0, 0.5], [0.5, 2.0], [2.0, 2.0, 0.5, 0.5, -1.0], [-1.0, 2.0])]


@program("none_gradients", grad=1, graph=True)
def generator_that_returns() -> World:
    def steps(v):
        for e in v:
            if e > 2.5:
                return
            yield e

    def fn(x, v, y):
        for c, x in enumerate(steps(v)):
            y = y * 1.0
        return x, y
    return fn, [call(f32(2.0), f32(v), f32(1.0)) for v in ([1.0, -2.0, 3.0], [3.0], [1.0, 2.0])]


@program("none_gradients", grad=1, graph=True)
def handed_on_from_turn_to_turn() -> World:
    def fn(x, y, z, n):
        while n > 0:
            n -= 1
            x, y = y, z * 2.0
        return x
    return fn, [call(f32(1.0), f32(2.0), f32(3.0), i32(n)) for n in (0, 1, 2, 3)]


@program("none_gradients", grad=1, graph=True)
def loop_in_a_loop_that_overwrites() -> World:
    def fn(x, w, rows):
        for row in rows:
            for e in row:
                if e > 0.0:
                    x = e * w
                elif e < -1.0:
                    x = x + e
            x = x * 2.0
        return x
    rows = ([[1.0, -2.0], [-2.0, -1.0]], [[-2.0, -1.0], [-2.0, -2.0]], [[-2.0, 1.0], [-0.5, -0.5], [-2.0, 1.0]])
    return fn, [call(f32(2.0), f32(3.0), f32(one)) for one in rows]


@program("none_gradients", grad=1, graph=True)
def many_turns_before_the_last() -> World:
    def fn(x, w, n):
        k = 0
        while n > 0:
            n -= 1
            if n == 3:
                x = w * 1.0
            if n < 30:
                x = x + 1.0
        return x
    return fn, [call(f32(2.0), f32(3.0), i32(n)) for n in (40, 3, 4, 12)]


@program("none_gradients", grad=1, graph=True)
def method_that_overwrites_an_attribute() -> World:
    class Keeper:
        def __init__(self):
            self.kept = f32(1.0)

        def note(self, e, x):
            if e > 0.0:
                self.kept = x * e
            elif e < -1.0:
                self.kept = self.kept + e

    keeper = Keeper()

    def fn(x, y, v):
        keeper.kept = y
        for e in v:
            keeper.note(e, x)
        return keeper.kept * 2.0
    return fn, [call(f32(2.0), f32(3.0), f32(v)) for v in ([1.0, -2.0], [-2.0, -0.5], [-2.0, 1.0, -0.5])], lambda: keeper.kept


@program("none_gradients", grad=1, graph=True)
def overwritten_after_a_call_that_may_raise() -> World:
    bound = tf.Variable(1.0)

    def checked(x):
        if x < 0:
            raise ValueError
        return x

    def fn(x, y):
        with tf.GradientTape():
            try:
                pass
            except KeyError:
                y = x
            else:
                0 + checked(bound)
                x, x = (2.0, tf.constant(2.0))
            finally:
                y = y * 2.0
        try:
            y = checked(y)
        except ValueError:
            y = bound * 3.0
        return x, y
    return fn, [call(f32(1.0), f32(3.0)), call(f32(1.0), f32(-3.0))], lambda: bound


def _of_appended(result) -> World:
    def fn(x, y, n):
        items = [x]
        for _ in tf.range(n):
            items.append(y * 1.0)
            y = y + 1.0
        return result(items)
    return fn, [call(f32([1.0, 2.0]), f32([3.0, 4.0]), i32(n)) for n in (2, 1, 3)]


@program("none_gradients", grad=True, graph=True)
def zeros_for_elements_of_which_nothing_is_taken() -> World:
    return _of_appended(lambda items: tf.stack(items)[-1])


@program("none_gradients", grad=True, graph=True)
def zeros_for_the_end_of_joined_elements() -> World:
    return _of_appended(lambda items: tf.concat([items[0], items[1]], 0)[:2])


@program("none_gradients", grad=True, graph=True)
def zeros_for_elements_that_are_divided_by_nothing() -> World:
    return _of_appended(lambda items: tf.math.divide_no_nan(items[1], 0.0) + items[0])


@program("none_gradients", grad=True, graph=True)
def zeros_for_elements_that_are_overwritten() -> World:
    return _of_appended(lambda items: tf.tensor_scatter_nd_update(items[1], [[0], [1]], items[0]))


@program("none_gradients", grad=1, graph=True)
def elements_that_are_sliced() -> World:
    return _of_appended(lambda items: (items[-1][0], items[0][:1] * 2.0))


@program("none_gradients", grad=1, graph=True)
def none_for_an_element_beside_one_that_is_sliced() -> World:
    return _of_appended(lambda items: items[-1][0])


@program("none_gradients", grad=1, graph=True)
def zeros_for_an_element_that_is_rectified_away() -> World:
    return _of_appended(lambda items: tf.nn.relu(-items[0]))


@program("none_gradients", grad=1, graph=True)
def zeros_for_an_element_that_is_the_smaller_one() -> World:
    return _of_appended(lambda items: tf.maximum(items[-1], 100.0))


@program("none_gradients", grad=1, graph=True)
def elements_of_a_slice_of_the_list() -> World:
    return _of_appended(lambda items: [one * one[0] for one in items[1:]])


@program("none_gradients", grad=1, graph=True)
def zeros_for_elements_of_a_slice_that_is_stacked() -> World:
    return _of_appended(lambda items: tf.stack(items[1:])[0])


@program("none_gradients", grad=1, graph=True)
def elements_after_one_was_deleted() -> World:
    def result(items):
        del items[0]
        return items[0][1]
    return _of_appended(result)


@program("none_gradients", grad=1, graph=True)
def elements_after_the_first_was_taken_out() -> World:
    def result(items):
        items.pop(0)
        return tf.stack(items)[0][0]
    return _of_appended(result)


@program("none_gradients", grad=1, graph=True)
def an_element_that_was_replaced() -> World:
    def result(items):
        items[0] = items[-1][0] * 1.0
        return items[0]
    return _of_appended(result)


@program("none_gradients", grad=1, graph=True)
def elements_that_some_turns_take() -> World:
    def result(items):
        total = tf.constant(0.0)
        for item in items[1:]:
            if item[0] > 4.0:
                total = total + item[1]
        return total
    return _of_appended(result)


@program("none_gradients", grad=1)
def elements_taken_out_of_a_list_of_the_program() -> World:
    kept = []

    def fn(v, items):
        items.pop()
        kept.append(sum([e[0] for e in v if e[1] > 0.0]))
        return items
    lists = [[f32(1.0), f32(2.0)], [f32(3.0), f32(-0.25)], [f32(1.0), f32(2.0), f32(3.0)]]
    return fn, [call(f32([[1.0, 2.0], [3.0, -1.0]]), one) for one in lists for _ in range(2)][:5], lambda: kept


@program("none_gradients", grad=1, graph=True)
def overwritten_in_one_of_many_turns() -> World:
    def fn(x, w, n):
        k = 0
        while n > 0:
            n -= 1
            if n == 20:
                x = w * 1.0
            elif n == 21:
                x = x * 3.0
        return x[0]
    return fn, [call(f32([2.0, 1.0]), f32([3.0, 1.0]), i32(n)) for n in (40, 3, 30, 21, 22)]


def _by_elements(result) -> World:
    """Gradients that the function takes itself, by what is in a list and what is carried beside it."""
    def fn(x, y, n):
        w = y * 2.0
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            items = [x]
            for _ in tf.range(n):
                items.append(w * 1.0)
            found = result(items)
        return tape.gradient(found, [x, w])
    return fn, [call(f32([1.0, 2.0]), f32([3.0, 4.0]), i32(n)) for n in (2, 1, 3)]


@program("none_gradients")
def own_tape_and_the_last_element() -> World:
    return _by_elements(lambda items: items[-1] * 2.0)


@program("none_gradients")
def own_tape_and_the_first_element() -> World:
    return _by_elements(lambda items: items[0] * 2.0)


@program("none_gradients")
def own_tape_and_a_slice_of_the_elements() -> World:
    return _by_elements(lambda items: items[1:][0])


@program("none_gradients")
def own_tape_after_an_element_was_taken_out() -> World:
    def result(items):
        items.pop()
        return tf.add_n([items[0], items[0]])
    return _by_elements(result)


@program("none_gradients", graph=True)
def own_tape_and_all_elements() -> World:
    def result(items):
        total = tf.constant(0.0)
        for item in items:
            total = total + tf.reduce_sum(item)
        return total, tf.stack(items)[-1], items[0] * items[-1]
    return _by_elements(result)


@program("none_gradients", graph=True)
def own_step_and_the_last_of_many_states() -> World:
    first, second = tf.Variable([[0.1, 0.2], [0.3, 0.4]]), tf.Variable([[0.5, 0.1], [0.2, 0.5]])

    def fn(x, n):
        print("step")
        with tf.GradientTape() as tape:
            states, state = [], x
            for _ in tf.range(n):
                state = tf.tanh(state @ first + x @ second)
                states.append(state)
            loss = tf.reduce_sum(states[-1] ** 2)
        for weight, gradient in zip([first, second], tape.gradient(loss, [first, second])):
            weight.assign_sub(0.1 * gradient)
        return loss
    return fn, [call(f32([[1.0, 2.0]]), i32(n)) for n in (2, 1, 3)], lambda: (first, second)


@program("none_gradients", grad=2)
def elements_under_two_tapes() -> World:
    return _of_appended(lambda items: (items[-1][0] ** 2, tf.nn.relu(-items[0])))


@program("none_gradients", graph=True, grad=1)
def one_of_several_experts() -> World:
    weights = [tf.Variable(float(number)) for number in (1, 2, 3)]
    slots = [tf.Variable(1.0) for _ in weights]

    def fn(x, number):
        with tf.GradientTape() as tape:
            outputs = [weight * x for weight in weights]
            loss = outputs[int(number)] ** 2
        found = tape.gradient(loss, weights)
        for slot, gradient in zip(slots, found):
            if gradient is not None:
                slot.assign(0.9 * slot + gradient)
        return found, [x, x * 2.0, x * 3.0][int(number)]

    return fn, [call(f32(2.0), i32(n)) for n in (0, 2, 1)], lambda: (slots, weights)


@program("none_gradients")
def best_of_several_experts() -> World:
    weights = [tf.Variable(float(number)) for number in (1, 2, 3)]

    def fn(x):
        with tf.GradientTape() as tape:
            outputs = [weight * x[place] for place, weight in enumerate(weights)]
            first = sorted(outputs, key=float)[0]
        return tape.gradient(first, weights)

    return fn, each(f32([1.0, 1.0, 1.0]), f32([9.0, 1.0, 1.0]), f32([9.0, 5.0, 1.0])), lambda: weights


def _chosen_among_products(choose):
    """A list that a loop fills, each turn with what comes of another variable; `choose` takes one of its elements."""
    weights = [tf.Variable(float(place + 1)) for place in range(4)]

    def fn(x):
        with tf.GradientTape() as tape:
            products = [weight * one for weight, one in zip(weights, x)]
            chosen = choose(products, x)
        return chosen, tape.gradient(chosen, weights)
    return fn, each(f32([2.0, 1.0, 3.0, 0.5]), f32([1.0, 5.0, 0.0, 2.0])), lambda: weights


@program("none_gradients")
def the_least_of_products_that_a_loop_makes() -> World:
    return _chosen_among_products(lambda products, x: min(products, key=float))


@program("none_gradients")
def the_first_of_sorted_products_that_a_loop_makes() -> World:
    return _chosen_among_products(lambda products, x: sorted(products, key=float)[0])


@program("none_gradients")
def one_of_products_that_a_loop_makes() -> World:
    return _chosen_among_products(lambda products, x: products[int(x[0])])


@program("none_gradients", graph=True)
def all_products_that_a_loop_makes() -> World:
    return _chosen_among_products(lambda products, x: tf.add_n(products) + sum(products))
