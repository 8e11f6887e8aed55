"""Faults that were found once: each program here was answered wrongly, crashed, or fell back by an internal error."""
from __future__ import annotations

import tensorflow as tf

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
