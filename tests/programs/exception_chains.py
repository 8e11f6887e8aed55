"""What an exception is linked to: its cause and its context, through handlers, `finally`, loops, callees and state."""
from __future__ import annotations

import io
import logging
import sys
import traceback

import tensorflow as tf

from tests.programs import World, call, each, f32, program


class Low(Exception):
    pass


class High(Exception):
    pass


def refuse(x):
    if x > 0.0:
        raise Low("low", float(x))
    return x


def chain(error):
    """The classes and arguments of an exception and of what it is linked to, as far as three links."""
    found = []
    for _ in range(3):
        if error is None:
            break
        found.append((type(error).__name__, error.args))
        error = error.__context__
    return found


@program("exception_chains", graph=True, golden=True)
def context_after_two_handlers() -> World:
    def fn(x):
        try:
            try:
                if x > 0.0:
                    raise Low("low", float(x))
            except Low:
                raise High("high")
        except High as error:
            return type(error.__context__).__name__, error.__context__.args[1]
        return "none"
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def context_of_an_exception_of_a_callee() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            except Low:
                refuse(x + 1.0)
        except Low as error:
            return chain(error)
        return []
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def three_handlers() -> World:
    def fn(x):
        try:
            try:
                try:
                    refuse(x)
                except Low:
                    refuse(x * 2.0)
            except Low:
                raise High(float(x))
        except High as error:
            print(chain(error))
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def context_is_returned_with_the_exception() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            except Low:
                raise High("high")
        except High as error:
            return error
        return None

    def wrapped(x):
        return fn(x)
    return wrapped, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def context_of_a_kept_exception() -> World:
    class Box:
        last = None

        def keep(self, x):
            try:
                try:
                    refuse(x)
                except Low:
                    raise High("high")
            except High as error:
                self.last = error
            return x

    box = Box()
    return box.keep, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: chain(box.last)


@program("exception_chains", graph=True)
def chain_of_what_leaves_the_function() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low:
            if x > 1.5:
                raise High("high")
            refuse(x * 2.0)
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def cause_and_context() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            except Low as error:
                raise High("high") from error
        except High as error:
            return error.__cause__ is error.__context__, error.__suppress_context__, error.__cause__.args
        return None
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def hidden_context() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            except Low:
                raise High("high") from None
        except High as error:
            return error.__cause__ is None, error.__context__ is None, error.__suppress_context__
        return None
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def context_in_a_loop() -> World:
    def fn(x, xs):
        total = x
        for y in xs:
            try:
                try:
                    total += refuse(y)
                except Low as error:
                    raise High(str(error))
            except High as error:
                print(error, error.__context__.args[1])
                total += 10.0
        return total
    return fn, [call(f32(1.0), f32([1.0, -1.0, 3.0])), call(f32(2.0), f32([-1.0])), call(f32(2.0), f32([2.0, 2.0]))]


@program("exception_chains", graph=True)
def context_in_a_while_loop() -> World:
    def fn(x):
        seen = []
        while x < 3.0:
            x += 1.0
            try:
                try:
                    refuse(x)
                except Low:
                    raise High(float(x))
            except High as error:
                if error.__context__ is None:
                    seen.append(0.0)
                else:
                    seen.append(error.__context__.args[1] * 2)
        return seen
    return fn, each(f32(1.0), f32(-3.0), f32(4.0))


@program("exception_chains", graph=True)
def context_on_some_ways_only() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
                if x < -2.0:
                    raise High("lowest")
            except Low:
                raise High("high")
        except High as error:
            print(type(error.__context__).__name__)
            return error.args[0]
        return "none"
    return fn, each(f32(1.0), f32(-1.0), f32(-3.0), f32(2.0))


@program("exception_chains", graph=True)
def raised_in_finally() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            finally:
                refuse(x + 1.0)
        except Low as error:
            return chain(error)
        return []
    return fn, each(f32(1.0), f32(-0.5), f32(-2.0))


@program("exception_chains", graph=True)
def raised_in_finally_in_a_loop() -> World:
    def fn(x):
        for i in tf.range(3):
            try:
                try:
                    if i == 1:
                        raise Low(float(x))
                finally:
                    if x > 1.0:
                        raise High("high")
            except (Low, ValueError):
                print("low")
            except High as error:
                print(error.__context__ is None)
        return x
    return fn, each(f32(1.0), f32(-0.5), f32(2.0))


@program("exception_chains", graph=True)
def handler_around_finally() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low:
            try:
                try:
                    if x > 1.5:
                        raise ValueError("first")
                finally:
                    raise High("high")
            except High as error:
                print(type(error.__context__).__name__, type(error.__context__.__context__).__name__)
        return x
    return fn, each(f32(1.0), f32(-0.5), f32(2.0))


@program("exception_chains", graph=True)
def raised_again_has_its_context() -> World:
    def fn(x):
        try:
            try:
                try:
                    refuse(x)
                except Low:
                    raise High("high")
            except High:
                raise
        except High as error:
            return chain(error)
        return []
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def raised_again_elsewhere_has_another_context() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low as low:
            try:
                try:
                    raise High("high")
                except High:
                    raise low
            except Low as error:
                return chain(error)
        return []
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def no_handler_no_context() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low:
            x = x * 2.0
        try:
            refuse(x)
        except Low as error:
            return error.__context__ is None, error.__cause__ is None
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", grad=True)
def context_under_a_tape() -> World:
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            try:
                try:
                    y = x * x
                    refuse(y - 2.0)
                except Low as error:
                    raise High(type(error).__name__)
            except High as error:
                y = y * (2.0 if error.__context__ is not None else 1.0)
        return y, tape.gradient(y, x)
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains")
def one_of_several_for_certain() -> World:
    class Note:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            print(kind is None)
            return False

    def fn(x, items):
        with Note():
            x = refuse(x - 1.0)
            first = items[0]
        return x + first
    return fn, [call(f32(0.0), []), call(f32(2.0), []), call(f32(0.0), [f32(1.0)]), call(f32(0.0), [])]


@program("exception_chains")
def one_of_several_for_certain_through_finally() -> World:
    def fn(x, items):
        for _ in range(2):
            try:
                x = refuse(x - 1.0)
                first = items[0]
            finally:
                print("done")
        return x + first
    return fn, [call(f32(0.0), []), call(f32(2.0), []), call(f32(0.0), [f32(1.0)]), call(f32(0.0), [])]


@program("exception_chains", graph=True)
def raised_by_a_manager_on_its_way_out() -> World:
    class Strict:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            if kind is not None:
                raise High("exit")
            return False

    def fn(x):
        try:
            with Strict():
                refuse(x)
        except High as error:
            return chain(error)
        return None
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains")
def what_is_handled_is_looked_at() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low:
            return sys.exc_info()[0].__name__, str(sys.exc_info()[1])
        return "none", sys.exc_info()[0]
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains")
def what_is_handled_is_told_as_text() -> World:
    def fn(x):
        for y in (x, -x):
            try:
                refuse(y)
            except Low:
                print(traceback.format_exc().splitlines()[-1])
            finally:
                print(sys.exc_info()[0])
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains")
def what_is_handled_is_logged() -> World:
    stream = io.StringIO()
    logger = logging.Logger("exception_chains")
    logger.addHandler(logging.StreamHandler(stream))

    class Box:
        def step(self, x):
            try:
                refuse(x)
            except Low:
                logger.exception("failed")
                logger.error("again", exc_info=True)
                logger.warning("plain %s", "text")
            return x

    def told():
        return [line for line in stream.getvalue().splitlines() if not line.startswith(" ")]
    return Box().step, each(f32(1.0), f32(-1.0), f32(2.0)), told


# ------------------------------------------------------------------------------------------------ the name of what is caught
@program("exception_chains", graph=True, golden=True)
def name_is_gone_after_the_handler() -> World:
    def fn(x):
        try:
            refuse(x)
        except Low as error:
            print(error)
        try:
            return error  # noqa: F821
        except UnboundLocalError as unbound:
            return str(unbound)
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def name_had_a_value_before() -> World:
    def fn(x):
        error = x * 2.0
        try:
            refuse(x)
        except Low as error:
            print(error.args)
        try:
            return error + 1.0
        except UnboundLocalError:
            return None
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def name_is_bound_anew_in_the_handler() -> World:
    def fn(x):
        error = None
        try:
            refuse(x)
        except Low as error:
            error = error.args[1]
            kept = error
        else:
            kept = 0.0
        try:
            print(error is None)
        except UnboundLocalError:
            print("unbound")
        return kept
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def name_after_leaving_a_loop_from_the_handler() -> World:
    def fn(x, xs):
        for y in xs:
            try:
                refuse(y)
            except Low as error:
                x = x + error.args[1]
                if x > 2.0:
                    break
                continue
            x = x - 1.0
        try:
            print(error)  # noqa: F821
        except UnboundLocalError:
            print("unbound")
        return x
    return fn, [call(f32(1.0), f32([1.0, 2.0, 3.0])), call(f32(1.0), f32([-1.0])), call(f32(-9.0), f32([2.0, -2.0]))]


@program("exception_chains", graph=True)
def name_in_a_while_loop() -> World:
    def fn(x):
        while x < 4.0:
            try:
                refuse(x)
            except Low as error:
                last = error.args[1]
            else:
                last = 0.0
            x += 2.0
            try:
                error  # noqa: F821
            except UnboundLocalError:
                x += 0.5
        return x, last
    return fn, each(f32(1.0), f32(-3.0), f32(3.0))


@program("exception_chains", graph=True)
def name_after_the_handler_raised() -> World:
    def fn(x):
        try:
            try:
                refuse(x)
            except Low as error:
                raise High("high")
        except High:
            try:
                return error  # noqa: F821
            except UnboundLocalError:
                return "unbound"
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains")
def name_of_a_cell_and_a_global() -> World:
    def fn(x):
        global LAST
        error = 1

        def show():
            try:
                return error
            except NameError:
                return "gone"
        try:
            refuse(x)
        except Low as error:
            print(show())
        try:
            refuse(x)
        except Low as LAST:
            print(LAST)
        return show(), "LAST" in globals()
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("exception_chains", graph=True)
def one_name_in_two_handlers() -> World:
    def fn(x):
        try:
            refuse(x)
            raise ValueError("none")
        except Low as error:
            told = str(error)
        except ValueError as error:
            told = error.args[0]
        return told
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))
