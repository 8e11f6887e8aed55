"""Which names a function binds, reads, shares with its nested functions, and takes from outside.

    def f(x):
        y = x
        def g():
            nonlocal y
            y += z
        return g              -->   locals x, y, g;  free z;  captured y;  rebound_inside y

The rules are Python's: a comprehension has variables of its own but its walrus binds outside of it, a class
body is not seen from its methods. List, set and dict comprehensions are over when their expression is, so
what they read counts as read here; a generator expression may run later and counts as a nested function.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import gast

from imp2tf.analysis.evaluated import (
    ComprehensionNode,
    FunctionDefNode,
    FunctionNode,
    outer_parts,
    parameters,
    signature_annotations,
)
from imp2tf.analysis.walking import children

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FunctionScope:
    """The names of one function.

    ``params`` and ``locals`` are its own (params are locals too); ``globals`` and ``nonlocals`` are
    declared so here; ``free`` are looked up outside, in a closure or among the globals; ``captured`` are
    the locals that nested code may read or rebind at any time; ``rebound_inside`` are the locals that
    nested code rebinds.
    """

    params: frozenset[str]
    locals: frozenset[str]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    free: frozenset[str]
    captured: frozenset[str]
    rebound_inside: frozenset[str]


def bound_names(nodes: Iterable[gast.AST]) -> frozenset[str]:
    """Names ``nodes`` bind or delete in their own function, be they declared global or nonlocal there."""
    return frozenset(_collect(nodes).bound)


def read_names(nodes: Iterable[gast.AST]) -> frozenset[str]:
    """Names ``nodes`` load from the function they stand in, at once or in functions nested in them."""
    block = _collect(nodes)
    return _NOTHING.union(block.read, *(inner.reads_outside for inner in block.inner))


def function_scope(fn: FunctionNode) -> FunctionScope:
    """The names of ``fn``."""
    return scopes(fn)[fn]


def scopes(fn: FunctionNode) -> Mapping[gast.AST, FunctionScope]:
    """The names of ``fn`` and of every function nested in it, by node."""
    collector = _Collector()
    collector.enter_function(fn)
    return MappingProxyType({node: block.summary() for node, block in collector.functions.items()})


class _Kind(enum.Enum):
    """How the names of a block are seen, and when it runs."""

    FUNCTION = enum.auto()
    CLASS = enum.auto()
    AT_ONCE = enum.auto()  # list, set and dict comprehensions; scopes of type parameters
    LATER = enum.auto()  # generator expressions; bounds and values of types


@dataclass
class _Block:
    """A scope while it is collected, and what follows from it once that is done."""

    kind: _Kind
    params: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    inner: list[_Block] = field(default_factory=list)

    @cached_property
    def own(self) -> frozenset[str]:
        """The variables that live in this block."""
        return frozenset(self.params | self.bound | self.declared) - self.globals - self.nonlocals

    @cached_property
    def hidden(self) -> frozenset[str]:
        """Names that blocks inside find here or, past all blocks around, among the globals."""
        return frozenset({"__class__"}) if self.kind is _Kind.CLASS else self.own | self.globals

    @cached_property
    def read_inside(self) -> frozenset[str]:
        """Names that blocks inside look up here first."""
        return _NOTHING.union(*(inner.reads_outside for inner in self.inner))

    @cached_property
    def reads_outside(self) -> frozenset[str]:
        """Names read here or inside and looked up in the blocks around."""
        return (frozenset(self.read) - self.own - self.globals) | (self.read_inside - self.hidden)

    @cached_property
    def reads_global(self) -> frozenset[str]:
        """Names read here or inside and declared global there."""
        seen = frozenset(self.read) if self.kind is _Kind.CLASS else self.read_inside.union(self.read)
        return (seen & self.globals).union(*(inner.reads_global for inner in self.inner))

    @cached_property
    def rebinds_outside(self) -> frozenset[str]:
        """Names declared nonlocal here or inside that are variables of the blocks around."""
        return _NOTHING.union(self.nonlocals, *(inner.rebinds_outside for inner in self.inner)) - self.hidden

    @cached_property
    def uses_later(self) -> frozenset[str]:
        """Names of the blocks around whose cells this block keeps."""
        if self.kind is _Kind.AT_ONCE:
            return _NOTHING.union(*(inner.uses_later for inner in self.inner)) - self.own
        return self.reads_outside | self.rebinds_outside

    def summary(self) -> FunctionScope:
        """What there is to know about a function's block."""
        used_later = _NOTHING.union(*(inner.uses_later for inner in self.inner))
        rebound = _NOTHING.union(*(inner.rebinds_outside for inner in self.inner))
        return FunctionScope(
            params=frozenset(self.params),
            locals=self.own,
            globals=frozenset(self.globals),
            nonlocals=frozenset(self.nonlocals),
            free=self.reads_outside | self.reads_global | self.rebinds_outside,
            captured=self.own & used_later,
            rebound_inside=self.own & rebound,
        )


def _collect(nodes: Iterable[gast.AST]) -> _Block:
    """The block of a function of which only ``nodes`` are seen."""
    collector = _Collector()
    for node in nodes:
        collector.visit(node)
    return collector.stack[0]


class _Collector:
    """Sorts the names of a tree into blocks."""

    def __init__(self) -> None:
        self.stack = [_Block(_Kind.FUNCTION)]
        self.functions: dict[gast.AST, _Block] = {}

    @property
    def block(self) -> _Block:
        """The block being collected."""
        return self.stack[-1]

    def visit(self, node: gast.AST) -> None:
        """Collect from a node and all below it."""
        visitor = _visitors[node.__class__]
        if visitor is not None:
            visitor(self, node)
        else:
            self.generic_visit(node)

    def generic_visit(self, node: gast.AST) -> None:
        """Collect from all below a node."""
        for child in children(node):
            self.visit(child)

    def _visit_all(self, nodes: Iterable[gast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    @contextlib.contextmanager
    def _inside(self, block: _Block) -> Iterator[None]:
        """Collect into ``block``, nested in the one collected so far."""
        self.block.inner.append(block)
        self.stack.append(block)
        yield
        self.stack.pop()

    # Definitions

    def enter_function(self, node: FunctionNode) -> None:
        """Visit the body of a function in its own block."""
        block = _Block(_Kind.FUNCTION, params={parameter.id for parameter in parameters(node.args)})
        self.functions[node] = block
        with self._inside(block):
            self._visit_all([node.body] if isinstance(node, gast.Lambda) else node.body)

    def _visit_def(self, node: FunctionDefNode) -> None:
        self.block.bound.add(node.name)
        self._visit_all(outer_parts(node))
        with self._type_parameters(node):
            self._visit_all(signature_annotations(node))
            self.enter_function(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_def

    def visit_Lambda(self, node: gast.Lambda) -> None:
        self._visit_all(outer_parts(node))
        self.enter_function(node)

    def visit_ClassDef(self, node: gast.ClassDef) -> None:
        self.block.bound.add(node.name)
        with self._type_parameters(node):
            self._visit_all(outer_parts(node))
            with self._inside(_Block(_Kind.CLASS)):
                self._visit_all(node.body)

    def visit_TypeAlias(self, node: gast.TypeAlias) -> None:
        self.visit(node.name)
        with self._type_parameters(node), self._inside(_Block(_Kind.LATER)):
            self.visit(node.value)

    @contextlib.contextmanager
    def _type_parameters(self, node: gast.AST) -> Iterator[None]:
        """The scope of ``node``'s type parameters, whose bounds and defaults are evaluated when asked for."""
        declared = getattr(node, "type_params", [])
        with self._inside(_Block(_Kind.AT_ONCE, bound={parameter.name for parameter in declared})):
            for parameter in declared:
                with self._inside(_Block(_Kind.LATER)):
                    self._visit_all(gast.iter_child_nodes(parameter))
            yield

    def _visit_comprehension(self, node: ComprehensionNode) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        results = [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]
        kind = _Kind.LATER if isinstance(node, gast.GeneratorExp) else _Kind.AT_ONCE
        with self._inside(_Block(kind)):
            self._visit_all([first.target, *first.ifs, *others, *results])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    # Names

    def visit_Name(self, node: gast.Name) -> None:
        (self.block.read if isinstance(node.ctx, gast.Load) else self.block.bound).add(node.id)

    def visit_AugAssign(self, node: gast.AugAssign) -> None:
        if isinstance(node.target, gast.Name):
            self.block.read.add(node.target.id)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: gast.AnnAssign) -> None:
        if self.block.kind is _Kind.CLASS:  # The annotation of a function's variable is never evaluated.
            self.visit(node.annotation)
        if isinstance(node.target, gast.Name) and node.value is None:
            if node.simple:  # A name in parentheses stays what it was.
                self.block.declared.add(node.target.id)
        else:
            self._visit_all([node.target] if node.value is None else [node.value, node.target])

    def visit_NamedExpr(self, node: gast.NamedExpr) -> None:
        self.visit(node.value)
        for block in reversed(self.stack):
            if block.kind is _Kind.LATER:
                block.nonlocals.add(node.target.id)
            elif block.kind is not _Kind.AT_ONCE:
                block.bound.add(node.target.id)
                return

    def visit_Global(self, node: gast.Global) -> None:
        self.block.globals.update(node.names)

    def visit_Nonlocal(self, node: gast.Nonlocal) -> None:
        self.block.nonlocals.update(node.names)

    def visit_alias(self, node: gast.alias) -> None:
        self.block.bound.add(node.asname or node.name.partition(".")[0])

    def _visit_capture(self, node: gast.MatchAs | gast.MatchStar | gast.MatchMapping) -> None:
        name = node.rest if isinstance(node, gast.MatchMapping) else node.name
        if name is not None:
            self.block.bound.add(name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _visit_capture


class _Visitors(dict[type, Any]):
    """What `_Collector` does with the nodes of a class; None for those that it only looks into."""

    def __missing__(self, kind: type) -> Any:
        found = self[kind] = getattr(_Collector, f"visit_{kind.__name__}", None)
        return found


_visitors = _Visitors()
