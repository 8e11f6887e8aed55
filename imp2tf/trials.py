"""Which of several ways to run one graph is the fastest: each is tried on calls that are made anyway.

A graph runs first without TensorFlow's optimizer of graphs, which often takes longer than the first run itself. A small one
without effects is tried on the calling thread. Once the calls have taken as long as the optimizer may, the optimised graph is
tried: so at most as much is lost as has been won or spent before. What is slower is left again.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Generator

__all__ = ["APART", "INLINE", "INLINE_FUNCTIONS", "INLINE_SECONDS", "OPTIMISED", "QUICK", "Trial"]

CALLS, SLOW_CALLS, SLOW = 8, 3, 5e-3  # calls that decide, and how many of those that take this many seconds
INLINE_SECONDS, INLINE_FUNCTIONS = 5e-4, 500  # TensorFlow never forgets a function that ran on the calling thread
OPTIMISER = 3.0  # how long it takes, at most, in terms of the first run
GAIN = 0.97
QUICK, OPTIMISED = True, False  # without and with the optimizer
INLINE, APART = True, False  # on the calling thread, on those of the runtime

Form = tuple[bool, bool]  # of each pair, one


class Trial:
    """The ways to run one function, tried one after the other. `form` is what the next call is to use."""

    inlined = 0  # functions that were tried on the calling thread

    def __init__(self, may_inline: Callable[[], bool], may_switch: bool) -> None:
        self.form: Form = (QUICK if may_switch else OPTIMISED, APART)
        self.ended = False
        self._may_inline, self._may_switch = may_inline, may_switch
        self._lock = threading.Lock()
        self._steps = self._plan()
        next(self._steps)

    def took(self, form: Form, seconds: float) -> None:
        """A call in some form took this long."""
        if form != self.form or not self._lock.acquire(blocking=False):
            return  # of several threads, one is heard
        try:
            self._steps.send(seconds)
        except StopIteration:
            self.ended = True
        finally:
            self._lock.release()

    def _plan(self) -> Generator[None, float, None]:
        spent = first = yield
        best, times = self.form, (yield from self._times())
        spent, fastest = spent + sum(times), min(times)
        if fastest < INLINE_SECONDS and Trial.inlined < INLINE_FUNCTIONS and self._may_inline():
            Trial.inlined += 1
            best, fastest = yield from self._better((best[0], INLINE), best, fastest)
        if self._may_switch:
            while spent < OPTIMISER * first:
                spent += yield
            yield from self._better((OPTIMISED, best[1]), best, fastest * GAIN)

    def _better(self, form: Form, best: Form, fastest: float) -> Generator[None, float, tuple[Form, float]]:
        """The better one of a new form and the best one so far, which is the form from now on."""
        self.form = form
        yield  # made ready
        found = min((yield from self._times()))
        if found >= fastest:
            form, found = best, fastest
        self.form = form
        return form, found

    def _times(self) -> Generator[None, float, list[float]]:
        times = [(yield)]
        while len(times) < (SLOW_CALLS if min(times) > SLOW else CALLS):
            times.append((yield))
        return times

