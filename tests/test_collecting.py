"""Garbage is collected rarely while traces are under way, and as before afterwards."""
from __future__ import annotations

import gc

import tensorflow as tf

import imp2tf
from imp2tf.collecting import FIRST, rarely


def test_the_programs_setting_comes_back() -> None:
    before = gc.get_threshold()
    with rarely():
        assert gc.get_threshold() == (FIRST, *before[1:])
        with rarely():
            assert gc.get_threshold()[0] == FIRST
        assert gc.get_threshold()[0] == FIRST
    assert gc.get_threshold() == before


def test_a_setting_made_meanwhile_stays() -> None:
    before = gc.get_threshold()
    try:
        with rarely():
            gc.set_threshold(123, 4, 5)
        assert gc.get_threshold() == (123, 4, 5)
    finally:
        gc.set_threshold(*before)


def test_collecting_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with rarely():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_a_trace_leaves_it_as_it_was() -> None:
    before = gc.get_threshold()
    imp2tf.convert(lambda x: x + 1.0, profile_runs=0)(tf.constant(1.0))
    assert gc.get_threshold() == before
