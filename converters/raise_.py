"""``raise`` and ``assert``.

    raise ValueError(x)     -->   rt.raise_(rt.call(ValueError, x))
    assert x > 0, 'msg'     -->   rt.assert_(x > 0, lambda: 'msg')

Under a condition on a tensor the exception becomes a host call of the graph: it commits what was written so far, keeps the
real exception for the dispatcher, and ends the run. Inside ``try`` and ``with`` an exception is an exit like ``return``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from imp2tf.alternatives import over
from imp2tf.analysis.scopes import bound_names
from imp2tf.arithmetic import run_operation
from imp2tf.attribute_writes import set_attribute
from imp2tf.attributes import get_attribute
from imp2tf.calls import call
from imp2tf.errors import ForeignCall, RaisesUnderTry, fall_back
from imp2tf.exceptions import ProgramRaise, in_context
from imp2tf.exits import RAISE
from imp2tf.foreign import register_host_method
from imp2tf.links import new_exception, noted_by_class, set_noted
from imp2tf.namespace import operator
from imp2tf.operations import truth_of
from imp2tf.quote import quote, quote_expr
from imp2tf.records import frames_of, on_its_way, renewed
from imp2tf.region import cond
from imp2tf.rewrite import Converter
from imp2tf.session import current
from imp2tf.states import NO_STATE
from imp2tf.targets import constant
from imp2tf.try_state import exception_instance, raise_at, raise_record
from imp2tf.values import Deferred, Union


class Raises(Converter, lowers=(gast.Raise,)):
    """``raise``, ``raise error``, ``raise error from cause``."""

    def lower(self, node: gast.Raise) -> list[gast.stmt]:
        error = self.rw.visit(node.exc) if node.exc is not None else quote_expr("rt.caught()", node)
        if node.cause is not None:
            error = quote_expr("rt.with_cause(error, cause)", node, error=error, cause=self.rw.visit(node.cause))
        if self.rw.frame.tries:
            return quote("_result = rt.raised(error)\n_exit = code", node, error=error, code=constant(RAISE))
        return quote("rt.raise_(error)", node, error=error)


class Asserts(Converter, lowers=(gast.Assert,)):
    """``assert test, message``."""

    def lower(self, node: gast.Assert) -> list[gast.stmt]:
        if self.rw.frame.tries or (node.msg is not None and bound_names([node.msg])):
            error = quote_expr("AssertionError()", node)
            error.args = [node.msg] if node.msg is not None else []
            failed = gast.UnaryOp(gast.Not(), node.test)
            test = gast.If(gast.copy_location(failed, node), [gast.copy_location(gast.Raise(error, None), node)], [])
            return self.rw.statement(gast.copy_location(test, node))
        message = self.rw.delayed(node.msg) if node.msg is not None else constant(None)
        return quote("rt.assert_(test, message)", node, test=self.rw.visit(node.test), message=message)


@operator
def raise_(error: Any) -> None:
    """Raise an exception of the program."""
    if _is_caught(error):
        raise_record(current().caught[-1])
    if isinstance(error, Union):
        over(error, raise_)
        return
    instance = exception_instance(error)
    _in_context(instance)
    raise_at(instance, frames_of(instance))


@operator
def raised(error: Any) -> Any:
    """An exception that is now on its way to a handler."""
    if _is_caught(error):
        return renewed(current().caught[-1])
    if isinstance(error, Union):
        return over(error, raised)
    instance = exception_instance(error)
    return on_its_way(_in_context(instance))


def _in_context(instance: Any) -> Any:
    """An exception raised here; one of the program's may not be given a context while tracing."""
    session = current()
    if session.is_born(instance):
        return in_context(instance)
    if session.caught:
        fall_back(RaisesUnderTry, "an exception that is older than the call is raised while another one is handled")
    return instance


def _is_caught(error: Any) -> bool:
    """Whether it is what the innermost running handler handles; raised again, it keeps the lines that raised it first."""
    caught = current().caught
    return bool(caught) and caught[-1].error is error


@operator
def with_cause(error: Any, cause: Any) -> Any:
    """``error from cause``."""
    if isinstance(error, Union):
        return over(error, lambda one: with_cause(one, cause))
    if isinstance(cause, Union):
        return over(cause, lambda one: with_cause(_another(error), one))
    instance = exception_instance(error)
    instance.__cause__ = cause if cause is None else exception_instance(cause)
    return instance


def _another(error: Any) -> Any:
    """An exception like this one, for another cause."""
    instance = exception_instance(error)
    made = current().born(new_exception(type(instance), instance.args))
    set_noted(made, noted_by_class(instance))
    made.__dict__.update(instance.__dict__)
    return made


@operator
def assert_(test: Any, message: Callable[[], Any] | None) -> None:
    """Raise AssertionError unless `test` holds."""
    holds = truth_of(test)
    if isinstance(holds, bool):
        if not holds:
            fail(message)
    else:
        cond(holds, lambda: None, lambda: fail(message), NO_STATE)


def fail(message: Callable[[], Any] | None) -> None:
    """Raise AssertionError."""
    raise ProgramRaise(call(AssertionError) if message is None else call(AssertionError, message()))


@register_host_method(lambda owner: isinstance(owner, BaseException), ("add_note",))
def add_note(error: BaseException, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``error.add_note(text)``."""
    if not current().is_born(error) or kwargs or len(args) != 1 or isinstance(args[0], Union):
        fall_back(ForeignCall, f"{name} of an exception that is older than the call, or given more than one text")
    text, notes = args[0], get_attribute(error, "__notes__", None)
    if not isinstance(text, str | Deferred):
        run_operation(BaseException().add_note, text)  # refuses it
    if notes is None:
        set_attribute(error, "__notes__", call(list, ()))
        notes = get_attribute(error, "__notes__")
    call(get_attribute(notes, "append"), text)
