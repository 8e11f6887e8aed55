"""The driver of the rewrite: walks a function and hands each node to the converter that lowers its kind.

A block of a control statement becomes a local function, so that the run-time operator can trace it; the names it may
change and that are needed later travel as a `State` (how to read them, how to set them). The rewritten function stays in the
user's file, at the user's lines.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import gast

from imp2tf.analysis.evaluated import parameters
from imp2tf.analysis.flow import always_exits, may_exit
from imp2tf.analysis.liveness import Liveness, liveness
from imp2tf.analysis.scopes import FunctionScope, bound_names, scopes
from imp2tf.analysis.statements import JUMPS, assigned_directly, definitely_bound, holds_raise, holds_try, needs_exit_code
from imp2tf.analysis.updates import attributes_set, counted_names
from imp2tf.analysis.walking import walk
from imp2tf.quote import GIVEN, located, name, quote, quote_expr

__all__ = ["SHARED", "Block", "Converter", "Rewriter", "rewrite_function"]

EXIT = "_exit"
RESULT = "_result"
SHARED = "_shared"


class Converter:
    """Lowers one kind of syntax; `lowers` are the node classes of which nothing is left afterwards."""

    lowers: ClassVar[tuple[type[gast.AST], ...]] = ()
    desugars: ClassVar[tuple[type[gast.AST], ...]] = ()

    def __init_subclass__(cls, lowers: tuple[type[gast.AST], ...] = (), desugars: tuple[type[gast.AST], ...] = ()) -> None:
        cls.lowers = lowers
        cls.desugars = desugars

    def __init__(self, rewriter: Rewriter) -> None:
        self.rw = rewriter

    def lower(self, node: Any) -> Any:
        """The lowered expression, or the list of lowered statements."""
        raise NotImplementedError

    def desugar(self, node: Any) -> list[gast.stmt]:
        """Before any analysis: the same in simpler syntax."""
        raise NotImplementedError


@dataclasses.dataclass
class Frame:
    """One function while it is rewritten."""

    node: Any
    scope: FunctionScope
    live: Liveness | None
    initialised: set[str]
    definite: frozenset[str]
    parent: Frame | None
    exits: bool
    in_closure: int = 0
    tries: int = 0
    before: list[gast.stmt] = dataclasses.field(default_factory=list)

    @property
    def shared(self) -> frozenset[str]:
        """Locals that nested functions rebind: they live in an object of the trace, so that any region carries them."""
        return self.scope.rebound_inside


@dataclasses.dataclass(frozen=True)
class Block:
    """A block turned into a local function."""

    name: str
    definition: gast.FunctionDef
    bound: frozenset[str]


class Rewriter:
    """Rewrites one top-level function and everything nested in it."""

    def __init__(self, converters: Sequence[type[Converter]], outer_names: Mapping[str, str]) -> None:
        made = [cls(self) for cls in converters]
        self.by_node = {node: one for one in made for node in one.lowers}
        self.desugarers = {node: one for one in made for node in one.desugars}
        self.outer_names = outer_names
        self.frame: Any = None
        self.counter = 0
        self.scopes: Mapping[gast.AST, FunctionScope] = {}

    # ------------------------------------------------------------------------------ names
    def fresh(self, hint: str) -> str:
        """A new name for something generated."""
        self.counter += 1
        return f"_{hint}_{self.counter}"

    def kind_of(self, text: str) -> str:
        """Where a name lives: "local", "shared", "free" (a cell of the user's) or "global"."""
        frame: Frame | None = self.frame
        while frame is not None:
            if text in frame.scope.globals:
                return "global"
            if text in frame.shared:
                return "shared"
            if text in frame.scope.locals:
                return "local"
            frame = frame.parent
        return self.outer_names.get(text, "global")

    def shared_owner(self, text: str) -> str:
        """The variable that holds the shared locals of the function that owns `text`."""
        depth, frame = 0, self.frame
        while text not in frame.shared:
            frame, depth = frame.parent, depth + 1
        return f"{SHARED}_{frame.node.name}" if isinstance(frame.node, gast.FunctionDef) else SHARED

    def may_be_unbound(self, text: str) -> bool:
        """Whether reading a local variable needs a check."""
        frame: Frame | None = self.frame
        while frame is not None and text not in frame.scope.locals:
            frame = frame.parent
        return frame is not None and text not in frame.definite

    # ------------------------------------------------------------------------------ expressions
    def visit(self, node: Any) -> Any:
        """Lower an expression."""
        converter = self.by_node.get(type(node))
        if converter is not None:
            return located(converter.lower(node), node)
        return self.visit_children(node)

    def visit_children(self, node: Any) -> Any:
        """Lower the parts of an expression that itself stays."""
        for field, value in gast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [self.visit(item) if isinstance(item, gast.AST) else item for item in value])
            elif isinstance(value, gast.AST) and not isinstance(value, (gast.expr_context, gast.operator, gast.cmpop)):
                setattr(node, field, self.visit(value))
        return node

    def delayed(self, node: gast.expr) -> gast.expr:
        """``lambda: node``, lowered: for operands that may not be evaluated."""
        return quote_expr("lambda: value", node, value=self.visit(node))

    def with_state(self, call: gast.Call, node: gast.expr) -> gast.expr:
        """Give `call`, to which `node` was lowered, the names that walrus expressions in its delayed operands bind, to be carried."""
        names = sorted(one for one in bound_names([node]) if self.kind_of(one) == "local")
        if names:
            state = self.state(node, names, exits=False)
            self.frame.before.extend(state.setup)
            call.keywords.append(gast.keyword("state", state.expr))
        return call

    # ------------------------------------------------------------------------------ statements
    def block(self, stmts: Sequence[gast.stmt]) -> list[gast.stmt]:
        """Lower a list of statements; what follows one that may exit runs only if it did not."""
        out: list[gast.stmt] = []
        for position, stmt in enumerate(stmts):
            leaves = self.may_leave(stmt)
            following = stmts[position + 1:]
            out.extend(self.statement(stmt))
            if isinstance(stmt, (*JUMPS, gast.Raise)):
                break
            if leaves and following:
                out.extend(self._guarded(stmt, following))
                break
        return out or [located(gast.Pass(), stmts[0])] if stmts else out

    def may_leave(self, stmt: gast.stmt) -> bool:
        """Whether an exit may be under way after a statement."""
        return may_exit(stmt) or (holds_raise(stmt) and (self.frame.tries > 0 or holds_try(stmt)))

    def loop_exits(self, loop: Any) -> str | None:
        """The exits of a loop: None, "inner" (its own break and continue) or "outer" (some leave the loop statement)."""
        if self.may_leave(loop):
            return "outer"
        return "inner" if any(self.may_leave(stmt) for stmt in loop.body) else None

    def _guarded(self, leaving: gast.stmt, stmts: Sequence[gast.stmt]) -> list[gast.stmt]:
        """What follows a statement that may exit; where it is left out, names keep what they have for where the exit leads."""
        rest = self.closure("rest", stmts)
        names = set(self.carried(stmts[-1], [rest]))
        if self.frame.live is not None:
            names |= rest.bound & self.frame.live.at_jumps(leaving, *stmts)
        state = self.state(stmts[0], sorted(names), exits=True)
        return [rest.definition, *state.setup, *quote("rt.rest(rest, state)", stmts[0], rest=rest.name, state=state.expr)]

    def statement(self, stmt: gast.stmt) -> list[gast.stmt]:
        """Lower one statement."""
        before, self.frame.before = self.frame.before, []
        converter = self.by_node.get(type(stmt))
        new = converter.lower(stmt) if converter is not None else [self.visit_children(stmt)]
        new = [*self.frame.before, *(new if isinstance(new, list) else [new])]
        self.frame.before = before
        for one in new:
            located(one, stmt)
        return new

    def closure(self, hint: str, stmts: Sequence[gast.stmt], params: Sequence[str] = (), extra: Iterable[str] = ()) -> Block:
        """A block as a local function that may change the variables of the function it stands in."""
        text = self.fresh(hint)
        bound = frozenset(one for one in bound_names(stmts) | set(extra) if self.kind_of(one) == "local")
        self.frame.in_closure += 1
        body = self.block(list(stmts))
        self.frame.in_closure -= 1
        at = stmts[0]
        names = [EXIT, RESULT] if self.frame.exits and any(self.may_leave(stmt) for stmt in stmts) else []
        return Block(text, self.function_of(text, body, [*names, *sorted(bound)], at, params), bound)

    def function_of(
        self, text: str, body: list[gast.stmt], changes: Sequence[str], at: gast.AST, params: Sequence[str] = ()
    ) -> gast.FunctionDef:
        """``def text(params): nonlocal changes; body``."""
        own = [one for one in changes if one not in params]
        declared = [gast.Nonlocal(list(dict.fromkeys(own)))] if own else []
        args = gast.arguments([gast.Name(one, gast.Param(), None, None) for one in params], [], None, [], [], None, [])
        made = gast.FunctionDef(text, args, [*declared, *body], [], None, None, [])
        self.frame.initialised.update(one for one in own if one not in (EXIT, RESULT))
        located(made, at)
        return made

    def carried(self, stmt: gast.stmt, blocks: Sequence[Block], also: Iterable[str] = ()) -> list[str]:
        """The names that blocks of a statement may change and that are needed wherever control goes from it."""
        bound = frozenset().union(*(block.bound for block in blocks), *([frozenset(also)]))
        live = self.frame.live
        if live is None:
            return sorted(bound)
        needed = live.beyond(stmt) if stmt in live.after else bound
        return sorted(one for one in bound if one in needed or one in self.frame.scope.nonlocals)

    def state(self, at: gast.AST, names: Sequence[str], exits: bool) -> StateCode:
        """The code of a `State` over `names`, with the exit under way if the statement may have one."""
        carried = [*([EXIT, RESULT] if exits and self.frame.exits else []), *names]
        if not carried:
            return StateCode([], quote_expr("rt.no_state", at))
        self.frame.initialised.update(names)
        setter = self.fresh("set")
        targets = gast.Tuple([gast.Name(one, gast.Store(), None, None) for one in carried], gast.Store())
        assign = gast.Assign([targets], name(GIVEN, at))
        values = gast.Tuple([gast.Name(one, gast.Load(), None, None) for one in carried], gast.Load())
        definition = self.function_of(setter, [assign], carried, at, [GIVEN])
        return StateCode([definition], quote_expr("rt.state(lambda: values, setter)", at, values=values, setter=setter))

    def expectation(self, body: Sequence[gast.stmt], at: gast.AST) -> ExpectationCode:
        """What a loop is likely to change, of its body as it is written: names that it counts on, attributes that it sets."""
        bound = bound_names(body)
        owners = [one for one in attributes_set(body) if one[0] not in bound and self.kind_of(one[0]) == "local"
                  and not self.may_be_unbound(one[0])]
        pairs: list[gast.expr] = [gast.Tuple([name(owner, at), gast.Constant(key, None)], gast.Load()) for owner, key in owners]
        sets = quote_expr("lambda: pairs", at, pairs=gast.Tuple(pairs, gast.Load())) if pairs else None
        return ExpectationCode(counted_names(body), sets)

    # ------------------------------------------------------------------------------ functions
    def function(self, node: gast.FunctionDef) -> gast.FunctionDef:
        """Rewrite a function and everything in it."""
        self._enter(node)
        frame: Frame = self.frame
        frame.exits = needs_exit_code(node.body)
        never_ends = always_exits(node.body)
        body = self.block(node.body)
        params = {one.id for one in parameters(node.args)}
        prologue = self._prologue(node, frame, params, assigned_directly(body))
        ends = isinstance(body[-1], gast.Return)
        end = "return rt.left(_exit, _result)" if never_ends else "return rt.returned(_exit, _result)"
        epilogue = quote(end, node.body[-1]) if frame.exits and not ends else []
        self.frame = frame.parent
        new = gast.FunctionDef(node.name, node.args, [*prologue, *body, *epilogue], [], None, None, [])
        return gast.copy_location(new, node)

    def _enter(self, node: gast.FunctionDef) -> None:
        scope = self.scopes[node]
        self.frame = Frame(node, scope, liveness(node), set(), definitely_bound(node, scope), self.frame, exits=False)

    def _prologue(self, node: gast.FunctionDef, frame: Frame, params: set[str], assigned: set[str]) -> list[gast.stmt]:
        out: list[gast.stmt] = []
        at = node.body[0]
        outer = sorted(one for one in frame.scope.nonlocals if self._owned_above(frame, one))
        if outer:
            out.append(located(gast.Nonlocal(outer), at))
        if node.args.kwarg is not None:
            out.extend(quote("name = rt.new_dict(name)", at, name=node.args.kwarg.id))
        if frame.exits:
            out.extend(quote("_exit = 0\n_result = rt.dead", at))
        if frame.shared:
            out.extend(quote("shared = rt.shared_variables()", at, shared=f"{SHARED}_{node.name}"))
            for one in sorted(frame.shared & params):
                out.extend(
                    quote(
                        "rt.store_shared(shared, text, value)", at, shared=f"{SHARED}_{node.name}", text=gast.Constant(one, None), value=one
                    )
                )
        unset = sorted((frame.initialised & frame.scope.locals) | (frame.scope.locals - frame.definite - params))
        for one in unset:
            if one not in params and one not in frame.shared and (one not in frame.definite or one not in assigned):
                out.extend(quote("one = rt.unbound", at, one=one))
        return out

    def _owned_above(self, frame: Frame, text: str) -> bool:
        outer = frame.parent
        while outer is not None:
            if text in outer.scope.locals:
                return text not in outer.shared
            outer = outer.parent
        return False


@dataclasses.dataclass(frozen=True)
class ExpectationCode:
    """What a loop is likely to change: names, and the code of a function that gives owners and names of attributes."""

    counted: set[str]
    attributes: gast.expr | None

    def add_to(self, call: list[gast.stmt], carried: Sequence[str]) -> list[gast.stmt]:
        """Pass it to an operator, which is given the values of some names last but for its own."""
        (statement,) = call
        counts = [place - len(carried) for place, one in enumerate(carried) if one in self.counted]
        if counts:
            values = gast.Tuple([gast.Constant(one, None) for one in counts], gast.Load())
            statement.value.keywords.append(gast.keyword("counts", values))
        if self.attributes is not None:
            statement.value.keywords.append(gast.keyword("sets", self.attributes))
        return call


@dataclasses.dataclass(frozen=True)
class StateCode:
    """Definitions that a state needs, and the expression that makes it."""

    setup: list[gast.stmt]
    expr: gast.expr


class _Desugar(gast.NodeTransformer):
    """Runs the desugaring halves of converters, innermost first."""

    def __init__(self, desugarers: Mapping[type, Converter]) -> None:
        self.desugarers = desugarers

    def visit(self, node: gast.AST) -> Any:
        node = super().generic_visit(node)
        converter = self.desugarers.get(type(node))
        return converter.desugar(node) if converter is not None else node


def sink_rest(body: list[gast.stmt]) -> list[gast.stmt]:
    """Move what follows an ``if`` one side of which always exits into the other side: one conditional instead of three."""
    for position, stmt in enumerate(body):
        _sink_inside(stmt)
        rest = body[position + 1:]
        if isinstance(stmt, gast.If) and rest and may_exit(stmt):
            for side, other in ((stmt.body, stmt.orelse), (stmt.orelse, stmt.body)):
                if side and always_exits(side) and not always_exits(other):
                    other.extend(rest)
                    stmt.body, stmt.orelse = sink_rest(stmt.body), sink_rest(stmt.orelse)
                    return body[: position + 1]
    return body


def _sink_inside(stmt: gast.AST) -> None:
    for field in ("body", "orelse", "finalbody"):
        inner = getattr(stmt, field, None)
        if isinstance(inner, list) and inner and isinstance(inner[0], gast.stmt):
            setattr(stmt, field, sink_rest(inner))
    for handler in getattr(stmt, "handlers", ()):
        handler.body = sink_rest(handler.body)


def rewrite_function(node: gast.FunctionDef, converters: Sequence[type[Converter]], freevars: Iterable[str]) -> gast.FunctionDef:
    """Rewrite a function; `freevars` are the names it finds in the user's closure cells."""
    rewriter = Rewriter(converters, dict.fromkeys(freevars, "free"))
    for stmt in node.body:
        located(stmt, node)
    if any(one.__class__ in rewriter.desugarers for one in walk(node)):
        _Desugar(rewriter.desugarers).visit(node)
    node.body = sink_rest(node.body)
    rewriter.scopes = scopes(node)
    new = rewriter.function(node)
    check_lowered(new, rewriter.by_node)
    return new


NEVER_LEFT = frozenset({
    gast.While, gast.For, gast.Try, gast.With, gast.Break, gast.Continue, gast.Match, gast.NamedExpr, gast.JoinedStr, gast.Assert,
})


def check_lowered(node: gast.AST, by_node: Mapping[type, Converter]) -> None:
    """Nothing may be left of the control flow that a converter lowers."""
    for one in walk(node):
        if one.__class__ in NEVER_LEFT and one.__class__ in by_node and not isinstance(node, gast.ClassDef):
            raise AssertionError(f"{type(one).__name__} is left after the rewrite")
