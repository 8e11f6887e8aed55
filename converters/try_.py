"""``try``: handlers see exceptions that depend on tensors, inside the graph.

    try: body                 -->   rt.try_(_body_1, [(lambda: ValueError, _except_2, None)], _else_3, state)
    except ValueError: h
    finally: f                -->   rt.finally_(_body_4, _finally_5, state)

An exception raised in the body, there or in what it calls, is an exit (`imp2tf.exits`) whose value is the exception; handlers
are tried in turn by class. What finds none is raised again after the statement.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gast
import tensorflow as tf

from imp2tf.alternatives import over, raise_error
from imp2tf.courses import handled
from imp2tf.errors import RaisesUnderTry, UnsupportedSyntax, fall_back
from imp2tf.exceptions import ProgramRaise
from imp2tf.exits import NONE, RAISE, exit_code, none_under_way
from imp2tf.namespace import operator, rt
from imp2tf.quote import GIVEN, quote, quote_expr
from imp2tf.records import sorted_out, split_records
from imp2tf.region import cond, select
from imp2tf.rewrite import Block, Converter
from imp2tf.session import current
from imp2tf.states import State
from imp2tf.targets import assign, constant
from imp2tf.try_state import leave_raising, set_exit
from imp2tf.values import DEAD, UNBOUND, PyNumber, Union

Handler = tuple[Callable[[], Any], Callable[[Any], None], Callable[[], None] | None]  # the class, the block, what unbinds its name


class Tries(Converter, lowers=(gast.Try,)):
    """``try``, ``except``, ``else`` and ``finally``."""

    def lower(self, node: gast.Try) -> list[gast.stmt]:
        return self._finally(node) if node.finalbody else self._except(node)

    def _body(self, stmts: list[gast.stmt]) -> Block:
        self.rw.frame.tries += 1
        body = self.rw.closure("try", stmts)
        self.rw.frame.tries -= 1
        return body

    def _finally(self, node: gast.Try) -> list[gast.stmt]:
        stmts = node.body
        if node.handlers:
            stmts = [gast.copy_location(gast.Try(node.body, node.handlers, node.orelse, []), node)]
        body = self._body(stmts)
        final = self.rw.closure("finally", node.finalbody)
        state = self.rw.state(node, sorted(body.bound | final.bound), exits=True)
        call = quote("rt.finally_(body, final, state)", node, body=body.name, final=final.name, state=state.expr)
        return [body.definition, final.definition, *state.setup, *call]

    def _except(self, node: gast.Try) -> list[gast.stmt]:
        body = self._body(node.body)
        blocks, table = [body], []
        forgetting: list[gast.stmt] = []
        for handler in node.handlers:
            block, unbind = self._handler(handler)
            blocks.append(block)
            if unbind is not None:
                forgetting.append(unbind)
            kind = self.rw.delayed(handler.type) if handler.type is not None else quote_expr("lambda: rt.any_exception", handler)
            end = unbind.name if unbind is not None else constant(None)
            table.append(quote_expr("(kind, block, end)", handler, kind=kind, block=block.name, end=end))
        orelse = self.rw.closure("else", node.orelse or [gast.copy_location(gast.Pass(), node)])
        blocks.append(orelse)
        names = sorted(frozenset().union(*(block.bound for block in blocks)))
        state = self.rw.state(node, names, exits=True)
        handlers = gast.List(table, gast.Load())
        call = quote(
            "rt.try_(body, handlers, orelse, state)", node, body=body.name, handlers=handlers, orelse=orelse.name, state=state.expr
        )
        return [*(block.definition for block in blocks), *forgetting, *state.setup, *call]

    def _handler(self, handler: gast.ExceptHandler) -> tuple[Block, gast.FunctionDef | None]:
        """The block of a handler, and a function that unbinds the name of its exception."""
        names = []
        put: list[gast.stmt] = []
        unbind = None
        if handler.name is not None:
            target = handler.name if isinstance(handler.name, gast.Name) else gast.Name(handler.name, gast.Store(), None, None)
            put = assign(self.rw, target, quote_expr(GIVEN, handler))
            names = [target.id] if self.rw.kind_of(target.id) == "local" else []
            forget = assign(self.rw, target, quote_expr("rt.unbound", handler))
            unbind = self.rw.function_of(self.rw.fresh("except"), forget, names, handler)
        block = self.rw.closure("except", handler.body, [GIVEN], names)
        definition = block.definition
        first = 1 if isinstance(definition.body[0], gast.Nonlocal) else 0
        definition.body[first:first] = put
        return block, unbind


class GroupTries(Converter, lowers=(gast.TryStar,)):
    """``try`` with ``except*``, which takes a group of exceptions apart: left to Python."""

    def lower(self, node: gast.TryStar) -> list[gast.stmt]:
        return quote("rt.except_star()", node)


# ------------------------------------------------------------------------------------------------ run time
rt.any_exception = BaseException  # what a bare ``except:`` catches


def run_body(body: Callable[[], None], state: State) -> None:
    """Run a try body; what it raises becomes an exit."""
    handled(body, state, lambda record: set_exit(state, RAISE, record))


@operator
def except_star() -> None:
    """A ``try`` with ``except*``."""
    fall_back(UnsupportedSyntax, "except* runs as Python only")


@operator
def try_(body: Callable[[], None], handlers: Sequence[Handler], orelse: Callable[[], None], state: State) -> None:
    """Run a try statement without its finally."""
    run_body(body, state)
    code = exit_code(state)
    if not isinstance(code, PyNumber):
        if code == RAISE:
            _handle(handlers, state)
        elif code == NONE:
            orelse()
    else:
        cond(tf.equal(code.tensor, RAISE), lambda: _handle(handlers, state), lambda: _else(orelse, state), state)
    leave_raising(state)


def _else(orelse: Callable[[], None], state: State) -> None:
    code, result = state.get()[:2]
    set_exit(state, code, split_records(result)[1])
    clean = none_under_way(exit_code(state))
    if isinstance(clean, bool):
        if clean:
            orelse()
    else:
        cond(clean, orelse, lambda: None, state)


def _handle(handlers: Sequence[Handler], state: State) -> None:
    """Give the exception on its way to the first handler whose class matches; without one it goes on."""
    record, _ = split_records(state.get()[1])
    if not handlers or record is None:
        return
    (kind, block, unbind), others = handlers[0], handlers[1:]
    classes = _while_asked(kind, record)
    if not isinstance(classes, (type, tuple)):
        raise_error(TypeError("catching classes that do not inherit from BaseException is not allowed"))
    matching, passing, matches = sorted_out(record, classes)
    if isinstance(matches, bool):
        _run_handler(block, unbind, matching, state) if matches else _handle(others, state)
        return

    def pass_on() -> None:
        set_exit(state, RAISE, passing)
        _handle(others, state)

    cond(matches, lambda: _run_handler(block, unbind, matching, state), pass_on, state)


def _run_handler(handler: Callable[[Any], None], unbind: Callable[[], None] | None, record: Any, state: State) -> None:
    session = current()
    if isinstance(record, Union):
        fall_back(RaisesUnderTry, "a handler sees one of several exceptions")
    set_exit(state, NONE, DEAD)
    session.caught.append(record)
    try:
        handler(record.error)
    finally:
        session.caught.pop()
        if unbind is not None:
            unbind()


@operator
def caught() -> Any:
    """The exception that the innermost running handler handles: what a bare ``raise`` raises."""
    stack = current().caught
    if stack and isinstance(stack[-1], (_Asked, _Perhaps)):
        fall_back(RaisesUnderTry, "a bare raise raises again what only the run knows")
    if not stack:
        raise ProgramRaise(RuntimeError("No active exception to reraise"))
    return stack[-1].error


@operator
def finally_(body: Callable[[], None], final: Callable[[], None], state: State) -> None:
    """Run a body and, whatever its exit, a final block; an exit of the final block replaces the body's."""
    run_body(body, state)
    code, result = state.get()[:2]
    set_exit(state, NONE, DEAD)
    _while_handling(code, result, final)
    new_code, new_result = state.get()[:2]
    clean = none_under_way(new_code)
    if isinstance(clean, bool):
        set_exit(state, code if clean else new_code, result if clean else new_result)
    else:
        set_exit(state, *select(clean, lambda: (code, result), lambda: (new_code, new_result)))
    leave_raising(state)


class _Asked:
    """What is handled while the class that a handler takes is looked up."""

    error = UNBOUND

    def __init__(self, record: Any) -> None:
        self._record = record

    def handled(self) -> Any:
        """The exceptions on their way."""
        return _errors(self._record)


def _while_asked(kind: Callable[[], Any], record: Any) -> Any:
    """The class of a handler; should finding it raise, the exception on its way is the context."""
    session = current()
    session.caught.append(_Asked(record))
    try:
        return kind()
    finally:
        session.caught.pop()


class _Perhaps:
    """What a finally block handles where only the run knows whether an exception is on its way through it."""

    error = UNBOUND    # no exception of the program is it

    def __init__(self, code: PyNumber, result: Any, around: Any) -> None:
        self._code, self._result, self._around = code, result, around

    def handled(self) -> Any:
        """One of the exceptions on their way, or what is handled around the statement."""
        records, _ = split_records(self._result)
        if records is None:
            return self._around
        return select(tf.equal(self._code.tensor, RAISE), lambda: _errors(records), lambda: self._around)


def _errors(records: Any) -> Any:
    return over(records, lambda one: one.error) if isinstance(records, Union) else records.error


def _while_handling(code: Any, result: Any, final: Callable[[], None]) -> None:
    """Run a finally block: the exception that passes through it is the context of what it raises."""
    session = current()
    if not isinstance(code, PyNumber) and (code != RAISE or isinstance(result, Union)):
        final()
        return
    around = session.caught[-1].handled() if session.caught else None
    session.caught.append(_Perhaps(code, result, around) if isinstance(code, PyNumber) else result)
    try:
        final()
    finally:
        session.caught.pop()
