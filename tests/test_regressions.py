"""Faults that were found once: each program here was answered wrongly, crashed, or fell back by an internal error."""
from __future__ import annotations

import pytest
import tensorflow as tf

import imp2tf
from tests.differential import check


def test_else_branch_reads_what_was_before_the_first_branch() -> None:
    def make():
        def f(n, x):
            if x > 0:
                n = 5
                y = n
            elif x > -5:
                n += 1
                y = n
            else:
                y = n * 2
            return y
        return f, [((7, tf.constant(value)), {}) for value in (1.0, -1.0, -9.0)]
    check(make, graph=True)


def test_else_branch_reads_what_a_loop_in_the_first_branch_bound() -> None:
    def make():
        def f(x, v):
            if v[0] > 0:
                for x in [v[1]]:
                    y = x
            else:
                y = x + x
            return y
        return f, [((tf.constant(3.0), tf.constant([value, 2.0])), {}) for value in (1.0, -1.0)]
    check(make, graph=True)


def test_after_a_branch_that_returns_names_are_as_before_it() -> None:
    def make():
        def f(x):
            m = 1
            try:
                if x > 0:
                    m = 2
                    return 7
                w = m
            except ValueError:
                return 8
            else:
                return w
        return f, [((tf.constant(value),), {}) for value in (1.0, -1.0)]
    check(make, graph=True)


def test_function_that_rebinds_a_variable_leaves_the_call() -> None:
    def make():
        def f(n, x):
            def grow(z):
                nonlocal x
                x = x + z
                return x * n

            def look():
                return x
            return grow, look

        def g(n, x):
            grow, look = converted(n, x)
            return grow(1.0), grow(2.0), look()
        converted = imp2tf.convert(f, profile_runs=0)
        return g, [((2, tf.constant(3.0)), {})]
    check(make)


def test_iterators_of_iter_are_iterated_and_used_up() -> None:
    def make():
        def f(v):
            total = 0.0
            for _ in tf.range(2):
                for x in iter(v):
                    total += x
            it = iter([1, 2, 3, 4])
            t = next(it)
            for k in it:
                t += k * 10
                if k == 2:
                    break
            for k in it:
                t += k * 100
            a, b = iter(v)
            return total, t, list(it), a + b, sum(iter([t, t])), list(iter(v))
        return f, [((tf.constant([1.0, 2.0]),), {})]
    check(make, graph=True)


def test_enumerate_and_zip_do_not_see_what_filter_left_out() -> None:
    def make():
        def f(numbers, x):
            found = []
            for i, n in enumerate(filter(lambda z: z > 1, numbers)):
                found.append((i, n))
            pairs = list(zip(filter(None, numbers), numbers))
            counted = list(enumerate(n for n in numbers if n > 1))
            return found, pairs, counted, list(map(lambda a: a + x, filter(None, numbers)))
        return f, [(([0, 2, 1, 3], tf.constant(1.0)), {})]
    check(make)


def test_tensors_without_an_attribute_say_so_as_in_eager() -> None:
    def make():
        def f(x):
            if x > 0:
                return x.count
            return x.T
        return f, [((tf.constant(value),), {}) for value in (1.0, -1.0)]
    check(make)


def test_equal_code_in_two_files_keeps_its_own_lines(tmp_path) -> None:
    text = "def f(x):\n    if x > 0:\n        raise ValueError('positive')\n    return x\n"
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text(text)
        names = {}
        exec(compile(text, str(file), "exec"), names)
        with pytest.raises(ValueError, match="positive") as caught:
            imp2tf.convert(names["f"], profile_runs=0)(tf.constant(1.0))
        assert str(file) in {str(entry.path) for entry in caught.traceback}


def test_tf_print_of_run_time_numbers() -> None:
    def make():
        def f(x):
            n = int(x)
            tf.print("n", n, [n, x], {"a": n})
            if n > 1:
                tf.print(float(x) / 3, bool(x > 0), sep="|")
            return n
        return f, [((tf.constant(value),), {}) for value in (1.0, 2.5)]
    check(make)


SIGNS = [[1.0, 3.0, 5.0], [-1.0, 3.0, -1.0], [3.0, 1.0, -1.0], [-5.0, 4.0, -5.0], [-1.0, 1.0, 1.0]]


def test_names_keep_their_values_on_the_way_of_a_continue() -> None:
    def make():
        def f(v):
            x = s = 0
            for e in v:
                s += x
                if e > 0:
                    x = 1
                    if e > 2:
                        continue
                else:
                    x = 2
                    if e < -2:
                        continue
                x = 3
            return s, x
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make, graph=True)


def test_names_keep_their_values_on_the_way_of_a_break() -> None:
    def make():
        def f(v):
            x = 0
            while True:
                if v[0] > 0:
                    x = 1
                    if v[1] > 2:
                        break
                else:
                    x = 2
                    if v[1] > 2:
                        break
                x = 3
                v = v + 1.0
            return x
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make, graph=True)


def test_branches_that_both_continue_before_code_that_is_never_reached() -> None:
    def make():
        def f(v):
            x = 0
            for e in v:
                if e > 0:
                    x += 1
                    continue
                else:
                    x += 10
                    continue
                return 2
            return x
        return f, [((tf.constant(values),), {}) for values in SIGNS]
    check(make, graph=True)


def test_one_branch_reads_a_list_to_which_the_other_only_appends() -> None:
    def make():
        def f(items, x, v):
            items.append(x)
            if v[0] > 0:
                items.append(x)
                items.append(v[0])
            elif items[-1] > 0:
                items.append(x)
            if v[1] > 2:
                for e in v:
                    items.append(e)
            else:
                items.append(items.pop())
            return len(items)
        return f, [(([tf.constant(1.0)], tf.constant(2.0), tf.constant(values)), {}) for values in SIGNS]
    check(make, repeat=1, graph=True)
