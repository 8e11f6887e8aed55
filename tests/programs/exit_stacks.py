"""``contextlib.ExitStack`` and ``closing``: managers whose number only the program knows, callbacks, exceptions on their way."""

import contextlib

import tensorflow as tf

from tests.programs import World, call, each, f32, program


def manager_class(log):
    class Manager:
        def __init__(self, name, swallows=False):
            self.name, self.swallows = name, swallows

        def __enter__(self):
            log.append(("in", self.name))
            return self.name

        def __exit__(self, kind, error, trace):
            log.append(("out", self.name, None if kind is None else kind.__name__))
            return self.swallows

    return Manager


@program("exit_stacks", graph=True)
def managers_of_a_number_given() -> World:
    log = []
    manager = manager_class(log)

    def fn(x, count):
        with contextlib.ExitStack() as stack:
            total = sum(stack.enter_context(manager(i)) for i in range(count))
            return x * total
    return fn, [call(f32(1.0), 2), call(f32(2.0), 3), call(f32(1.0), 0)], lambda: log


@program("exit_stacks", graph=True)
def exceptions_told_and_swallowed() -> World:
    log = []
    manager = manager_class(log)

    def fn(x):
        y = x
        with contextlib.ExitStack() as stack:
            stack.enter_context(manager("outer"))
            stack.enter_context(manager("quiet", swallows=True))
            stack.callback(log.append, "called back")
            stack.enter_context(manager("inner"))
            if x < 0:
                raise ValueError("negative")
            y = x * 2
        return y
    return fn, each(f32(1.0), f32(-1.0), f32(2.0)), lambda: log


@program("exit_stacks", graph=True)
def exceptions_that_leave_the_stack() -> World:
    log = []
    manager = manager_class(log)

    def fn(x):
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(manager("only"))
                stack.callback(log.append, x)
                if x < 0:
                    raise ValueError("negative")
                if x > 10:
                    return x
                x = x + 1
        except ValueError as error:
            log.append(str(error))
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(20.0)), lambda: log


@program("exit_stacks", graph=True)
def exit_that_raises() -> World:
    log = []
    manager = manager_class(log)

    class Raising:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            raise KeyError("from exit")

    def fn(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(manager("outer"))
            if x > 0:
                x = x * 2
            stack.enter_context(Raising())
            stack.callback(log.append, "first")
        return x

    def outer(x):
        try:
            return fn(x)
        except KeyError:
            return -x
    return outer, each(f32(1.0), f32(-1.0)), lambda: log


@program("exit_stacks", graph=True)
def tape_entered_on_demand() -> World:
    v = tf.Variable(2.0)

    def fn(x, training):
        with contextlib.ExitStack() as stack:
            tape = stack.enter_context(tf.GradientTape()) if training else None
            y = v * x * x
            if y > 3.0:
                y = y * 2.0
        if tape is not None:
            v.assign_sub(0.1 * tape.gradient(y, v))
        return y
    return fn, [call(f32(1.0), True), call(f32(2.0), False), call(f32(1.0), True)], lambda: v


@program("exit_stacks")
def moved_to_another_stack() -> World:
    log = []
    manager = manager_class(log)

    def opened(x, stack):
        with contextlib.ExitStack() as mine:
            mine.enter_context(manager("kept"))
            if x < 0:
                raise ValueError("negative")
            stack.push(mine.pop_all())
        return x * 2

    def fn(x):
        with contextlib.ExitStack() as stack:
            y = opened(x, stack)
            log.append("open")
        return y
    return fn, each(f32(1.0), f32(-1.0)), lambda: log


@program("exit_stacks", graph=True)
def closing_what_is_opened() -> World:
    log = []

    class Source:
        def __init__(self, name):
            self.name, self.opened = name, True

        def read(self, x):
            if x < 0:
                raise ValueError(f"{self.name} is empty")
            return x + 1.0

        def close(self):
            self.opened = False
            log.append(("closed", self.name))

    def fn(x):
        with contextlib.closing(Source("a")) as source:
            y = source.read(x)
            if y > 2:
                y = source.read(y)
        return y, source.opened
    return fn, each(f32(1.0), f32(3.0), f32(-1.0)), lambda: log


@program("exit_stacks")
def stack_that_outlives_the_call() -> World:
    log = []
    held = []
    manager = manager_class(log)

    def fn(x):
        stack = contextlib.ExitStack()
        stack.enter_context(manager("kept"))
        held.append(stack)
        return x * 2
    return fn, each(f32(1.0), f32(3.0)), lambda: (log, len(held))


@program("exit_stacks", graph=True)
def suppressing_inside_a_stack_in_a_loop() -> World:
    log = []
    manager = manager_class(log)

    def fn(x):
        while x < 10.0:
            with contextlib.ExitStack() as stack:
                stack.enter_context(contextlib.suppress(ValueError))
                stack.enter_context(manager("turn"))
                x = x * 2.0 + 1.0
                if x > 5.0:
                    raise ValueError("large")
                x = x + 1.0
        return x
    return fn, each(f32(1.0), f32(0.0)), lambda: log
