"""``warnings.warn``: in branches, in the name of a caller, of a class of its own, made an error by a filter."""

import warnings

from tests.programs import World, each, f32, program


@program("warnings_issued", graph=True, repeat=3)
def in_a_branch() -> World:
    def fn(x):
        if x < 0:
            warnings.warn(f"negative: {float(x)}")
            return -x
        return x
    return fn, each(f32(1.0), f32(-1.0), f32(2.0), f32(-2.0))


@program("warnings_issued", graph=True, repeat=3)
def in_the_name_of_the_caller() -> World:
    def check(x):
        if x < 0:
            warnings.warn(f"negative: {float(x)}", stacklevel=2)
            warnings.warn("not shown", DeprecationWarning)
        return x

    def fn(x):
        check(x)
        warnings.warn(RuntimeWarning("each call, shown once"))
        return x * 2
    return fn, each(f32(1.0), f32(-1.0), f32(2.0))


@program("warnings_issued")
def recorded_and_handled() -> World:
    def fn(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("recorded")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("handled")
            except UserWarning as error:
                x = x + len(str(error))
        return x, len(caught)
    return fn, each(f32(1.0), f32(-1.0))


@program("warnings_issued", graph=True)
def made_an_error_by_a_filter() -> World:
    warnings.filterwarnings("error", "an error for this program", UserWarning)

    def fn(x):
        if x < 0:
            warnings.warn("an error for this program")
        return x
    return fn, each(f32(1.0), f32(-1.0))
