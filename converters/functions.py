"""Nested functions, lambdas and classes.

    def g(v): ...        -->   def g(v): ...lowered...;  g = rt.function(g, 'g', line, rt_code, rt_cells)
    lambda v: v + k      -->   rt.function(lambda v: rt.binary('+', v, k), '<lambda>', line, rt_code, rt_cells)

A function that leaves the trace is rebuilt from the user's own code over the values its variables have then.
Coroutines, and generators that cannot be turned inside out (`imp2tf.inversion`), stay as they are, and run as Python.
"""
from __future__ import annotations

import types
from typing import Any

import gast

from imp2tf.analysis.flow import has_await, has_yield
from imp2tf.errors import UnsupportedSyntax, fall_back
from imp2tf.inversion import is_inverted
from imp2tf.namespace import operator
from imp2tf.quote import located, quote, quote_expr
from imp2tf.rewrite import Converter
from imp2tf.session import current
from imp2tf.targets import assign, constant


class FunctionDefinitions(Converter, lowers=(gast.FunctionDef, gast.AsyncFunctionDef)):
    """``def`` inside a function."""

    def lower(self, node: Any) -> list[gast.stmt]:
        if isinstance(node, gast.AsyncFunctionDef) or has_yield(node) or has_await(node):
            return [*quote("rt.generator_function(text)", node, text=constant(node.name))]
        decorators = [self.rw.visit(one) for one in node.decorator_list]
        text, line = node.name, node.lineno
        first_line = min([line, *(one.lineno for one in node.decorator_list)])
        self._lower_defaults(node.args)
        definition = self.rw.function(node)
        generated = self.rw.fresh("def") if self.rw.kind_of(text) != "local" else text
        definition.name = generated
        value: gast.expr = quote_expr(
            "rt.function(made, text, line, rt_code, rt_cells)", node, made=generated, text=constant(text), line=constant(first_line)
        )
        if is_inverted(definition):
            value = quote_expr("rt.generator_def(value)", node, value=value)
        for one in reversed(decorators):
            value = quote_expr("rt.call(decorator, value)", node, decorator=one, value=value)
        return [definition, *assign(self.rw, located(gast.Name(text, gast.Store(), None, None), node), value)]

    def _lower_defaults(self, args: gast.arguments) -> None:
        args.defaults = [self.rw.visit(one) for one in args.defaults]
        args.kw_defaults = [self.rw.visit(one) if one is not None else None for one in args.kw_defaults]
        for one in (*args.args, *args.posonlyargs, *args.kwonlyargs, args.vararg, args.kwarg):
            if one is not None:
                one.annotation = None


class Lambdas(Converter, lowers=(gast.Lambda,)):
    """``lambda``."""

    def lower(self, node: gast.Lambda) -> gast.expr:
        line = node.lineno
        args = node.args
        args.defaults = [self.rw.visit(one) for one in args.defaults]
        args.kw_defaults = [self.rw.visit(one) if one is not None else None for one in args.kw_defaults]
        text = self.rw.fresh("lambda")
        body = [located(gast.Return(node.body), node.body)]
        definition = located(gast.FunctionDef(text, args, body, [], None, None, []), node)
        self.rw.scopes = {**self.rw.scopes, definition: self.rw.scopes[node]}
        lowered = self.rw.function(definition)
        if len(lowered.body) == 1 and isinstance(lowered.body[0], gast.Return):
            made: gast.expr = gast.copy_location(gast.Lambda(lowered.args, lowered.body[0].value), node)
        else:
            self.rw.frame.before.append(lowered)
            made = quote_expr("text", node, text=text)
        return quote_expr(
            "rt.function(made, text, line, rt_code, rt_cells)", node, made=made, text=constant("<lambda>"), line=constant(line)
        )


class Classes(Converter, lowers=(gast.ClassDef,)):
    """``class`` inside a function: its methods are converted when they are called."""

    def lower(self, node: gast.ClassDef) -> list[gast.stmt]:
        return quote("rt.class_definition(text)", node, text=constant(node.name))


@operator
def function(made: types.FunctionType, name: str, line: int, outer: types.CodeType, cells: dict[str, types.CellType]) -> types.FunctionType:
    """A function that converted code has just made: converted itself, and known by the user's code it stands for."""
    session = current()
    made.__imp2tf_converted__ = True  # type: ignore[attr-defined]
    made.__imp2tf_code__ = code_of(outer, name, line)  # type: ignore[attr-defined]
    made.__imp2tf_cells__ = cells  # type: ignore[attr-defined]
    for cell in made.__closure__ or ():
        if not session.is_born(cell):
            session.born(cell)
    return session.born(made)


def code_of(outer: types.CodeType, name: str, line: int) -> types.CodeType | None:
    """The user's own code of a nested function, by name and line; None where two would fit."""
    found = [one for one in outer.co_consts if isinstance(one, types.CodeType)]
    hits = [one for one in found if one.co_name == name and one.co_firstlineno == line]
    if len(hits) == 1:
        return hits[0]
    deeper = [code for one in found if (code := code_of(one, name, line)) is not None]
    return deeper[0] if len(deeper) == 1 and not hits else None


@operator
def generator_function(name: str) -> None:
    """A generator or coroutine defined inside the function."""
    fall_back(UnsupportedSyntax, f"{name} is a generator or coroutine")


@operator
def class_definition(name: str) -> None:
    """A class defined inside the function."""
    fall_back(UnsupportedSyntax, f"class {name} is defined inside the function")


