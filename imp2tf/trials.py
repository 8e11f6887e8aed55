"""Which of several ways to run one graph is the fastest: each is tried on calls that are made anyway.

A graph runs first with two quick passes of TensorFlow's optimizer of graphs only; all of it often takes longer than the first run itself.
A small graph without effects is tried on the calling thread. Once the calls have taken ten times as long as the optimizer may, the
optimised graph is tried: so little is lost where it is no faster, as most are not. What is slower is left again.

A twin of which XLA computes a part is made beside the calls, once they have taken a share of what that is predicted to take. Its calls
and those of the best form so far are then timed in turn, and later twice more if it is taken.
"""
from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Generator
from typing import Any, Protocol

__all__ = ["APART", "COMPILED", "INLINE", "OPTIMISED", "QUICK", "Compiler", "Form", "Trial"]

CALLS, SLOW_CALLS, SLOW = 12, 3, 5e-3  # so many calls decide; of slow calls, which take that many seconds, fewer
AGAIN = 3  # so many calls decide where the other form was timed some time ago
INLINE_SECONDS, INLINE_FUNCTIONS = 5e-4, 500  # TensorFlow never forgets a function that ran on the calling thread
# TensorFlow's optimizer seldom gains, and takes two to four times as long as the first run. It is tried after so many times that, so that
# a program which gains nothing loses at most a tenth.
OPTIMISER = 40.0
GAIN = 0.97
COMPILED_SECONDS = 1e-4  # to call what XLA has compiled takes about as long
# Calls must have taken that part of the predicted time to compile before: the end of the process may have to wait for the compiler.
COMPILING_SHARE = 0.5
FIRST_LOOK = 0.2  # seconds that compiling takes at least
COMPILED_GAIN, HOPELESS = 0.93, 3.0
REVIEWS = (50, 500)  # calls after which a twin that was taken is compared once more: on a busy machine the first comparison may err
QUICK, OPTIMISED = True, False  # without and with the optimizer
INLINE, APART = True, False  # on the calling thread, on those of the runtime

Form = tuple[bool, ...]  # of each pair, one
COMPILED: Form = (QUICK, APART, True)  # the twin


class Compiler(Protocol):
    """Makes the twin of a graph; `function` is there when it has `ended` well."""

    function: Any
    ended: bool
    missed: str  # in the text of an error of the twin that comes before anything has been done
    places: list[int]  # of inputs whose shapes vary
    shapes: tuple[Any, ...]  # theirs, in calls that the twin serves

    @property
    def is_busy(self) -> bool: ...

    def predicted(self) -> float: ...

    def shapes_of(self, inputs: Any) -> tuple[Any, ...]: ...

    def saw(self, inputs: Any) -> None: ...

    def start(self, inputs: Any) -> None: ...


class Trial:
    """The ways to run one function, tried one after the other. `form` is what the next call is to use."""

    inlined = 0  # functions that were tried on the calling thread

    def __init__(self, may_inline: Callable[[], bool], may_switch: bool, compiler: Compiler | None = None) -> None:
        self.form: Form = (QUICK if may_switch else OPTIMISED, APART)
        self.best: Form = self.form  # of the forms that serve any call
        self.ended = False
        self.asks = False  # for the twin
        self._may_inline, self._may_switch, self._compiler = may_inline, may_switch, compiler
        self._lock = threading.Lock()
        self._steps = self._plan()
        next(self._steps)

    def took(self, form: Form, seconds: float) -> None:
        """Note how long a call in some form took."""
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
        times = yield from self._times()
        best: Form = self.best
        spent, fastest = spent + sum(times), min(times)
        if fastest < INLINE_SECONDS and Trial.inlined < INLINE_FUNCTIONS and self._may_inline():
            Trial.inlined += 1
            best, fastest = yield from self._better((best[0], INLINE), best, fastest)
        compiler = self._compiler if fastest > COMPILED_SECONDS else None
        while self._may_switch and spent < OPTIMISER * first and not _is_worth_compiling(compiler, spent - first):
            spent += yield
        is_due = spent >= OPTIMISER * first
        if self._may_switch and is_due:
            best, fastest = yield from self._better((OPTIMISED, best[1]), best, fastest, GAIN)
        if compiler is not None and fastest > COMPILED_SECONDS:
            yield from self._compiled(compiler, spent - first)
        if self._may_switch and not is_due and self.form != COMPILED:
            yield from self._better((OPTIMISED, best[1]), best, fastest, GAIN)

    def _better(self, form: Form, best: Form, fastest: float, gain: float = 1.0) -> Generator[None, float, tuple[Form, float]]:
        """The better one of a new form and the best one so far, which is the form from now on.

        Where the new one is no faster, the other is timed again: what a call has to do may have grown, as a list does of which it takes
        the last elements.
        """
        self.form = form
        yield  # made ready
        found = min((yield from self._times()))
        if found >= fastest * gain:
            self.form = best
            fastest = min((yield from self._times(AGAIN)))
        if found >= fastest * gain:
            form, found = best, fastest
        self.form = self.best = form
        return form, found

    def _compiled(self, compiler: Compiler, spent: float) -> Generator[None, float, None]:
        """Have the twin made when that is worth it, and take it if it is faster."""
        while not _is_worth_compiling(compiler, spent):
            spent += yield
        self.asks = True
        while not compiler.ended:
            yield
        self.asks = False
        if compiler.function is None:
            return
        self.form = COMPILED
        yield  # made ready
        compiled = yield from self._compared(COMPILED_GAIN)
        for calls in REVIEWS:
            for _ in range(calls if compiled else 0):
                yield
            compiled = compiled and (yield from self._compared(1.0))

    def _compared(self, gain: float) -> Generator[None, float, bool]:
        """Whether the twin is faster, by so much; calls of both forms are timed in turn."""
        times: dict[Form, list[float]] = {COMPILED: [], self.best: []}
        while len(times[self.best]) < (SLOW_CALLS if times[self.best] and min(times[self.best]) > SLOW else CALLS):
            for self.form, found in times.items():
                found.append((yield))
            if min(times[COMPILED]) > HOPELESS * max(times[self.best]):
                break
        pays = statistics.median(times[COMPILED]) < gain * statistics.median(times[self.best])
        self.form = COMPILED if pays else self.best
        return pays

    def _times(self, most: int = CALLS) -> Generator[None, float, list[float]]:
        times = [(yield)]
        while len(times) < (SLOW_CALLS if min(times) > SLOW else most):
            times.append((yield))
        return times


def _is_worth_compiling(compiler: Compiler | None, spent: float) -> bool:
    """Whether calls have taken so long by now that the twin is to be made, if there may be one."""
    return compiler is not None and spent >= COMPILING_SHARE * FIRST_LOOK and spent >= COMPILING_SHARE * compiler.predicted()
