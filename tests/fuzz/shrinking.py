"""Makes a failing program small: removes and simplifies parts while the same kind of difference stays."""
from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.outcome import Outcome
from tests.fuzz.programs import Program

Edit = Callable[[ast.Module], None]
Run = Callable[[Program], Outcome]
TIME_LIMIT = 150.0
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def shrink(program: Program, outcome: Outcome, run: Run, time_limit: float = TIME_LIMIT) -> tuple[Program, Outcome]:
    """The smallest program found that differs in one of the ways of `outcome`."""
    end = time.monotonic() + time_limit
    changed = True
    if program.grad:
        program, outcome = _tried(replace(program, grad=False), outcome, run) or (program, outcome)
    while changed and time.monotonic() < end:
        changed = False
        for edits in (_fewer_calls, _fewer_statements, _flatter, _simpler_expressions):
            position = 0
            while time.monotonic() < end:
                tree = ast.parse(program.text)
                edit = next((edit for i, edit in enumerate(edits(tree)) if i == position), None)
                if edit is None:
                    break
                found = _tried(_edited(program, edit), outcome, run)
                if found is None:
                    position += 1
                else:
                    program, outcome = found
                    changed = True
    return program, outcome


def _edited(program: Program, edit: Edit) -> Program | None:
    tree = ast.parse(program.text)
    edit(tree)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if "def make" not in text:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)    # of what no person would write
            compile(text, "candidate", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError, IndexError):    # no program is left
        return None
    return replace(program, text=text) if text != program.text else None


def _tried(program: Program | None, before: Outcome, run: Run) -> tuple[Program, Outcome] | None:
    if program is None:
        return None
    outcome = run(program)
    return (program, outcome) if outcome.kinds & before.kinds else None


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes but those of ``make``, which has to stay what it is."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        nodes += [child for child in ast.iter_child_nodes(node) if getattr(child, "name", "") != "make"]
    return nodes


def _fewer_calls(tree: ast.Module) -> Iterator[Edit]:
    """Remove calls, from the last to the first, then the changes before calls."""
    calls = _calls_of(tree)
    for i in reversed(range(len(calls.elts))):
        yield lambda copied, i=i: _calls_of(copied).elts.pop(i)
    for i, call in enumerate(calls.elts):
        if isinstance(call, ast.Tuple) and len(call.elts) == 3:
            yield lambda copied, i=i: _calls_of(copied).elts[i].elts.pop()    # type: ignore[attr-defined]


def _calls_of(tree: ast.Module) -> ast.List:
    return next(node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
                and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "calls")


def _fewer_statements(tree: ast.Module) -> Iterator[Edit]:
    """Remove runs of statements, long ones first."""
    for index, node in enumerate(_nodes(tree)):
        for part in BODIES:
            body = getattr(node, part, None)
            if not isinstance(body, list) or not body:
                continue
            size = len(body)
            while size:
                for start in range(0, len(body), size):
                    yield _removal(index, part, start, size)
                size //= 2


def _removal(index: int, part: str, start: int, size: int) -> Edit:
    def edit(tree: ast.Module) -> None:
        node = _nodes(tree)[index]
        body = getattr(node, part)
        del body[start:start + size]
        if not body and part == "body":
            body.append(ast.Pass())
    return edit


def _flatter(tree: ast.Module) -> Iterator[Edit]:
    """Put a block in the place of the statement that holds it."""
    for index, node in enumerate(_nodes(tree)):
        for part in BODIES:
            body = getattr(node, part, None)
            if not isinstance(body, list):
                continue
            for position, statement in enumerate(body):
                for inner in ("body", "orelse", "finalbody"):
                    if getattr(statement, inner, None) and not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
                        yield _unwrapping(index, part, position, inner)


def _unwrapping(index: int, part: str, position: int, inner: str) -> Edit:
    def edit(tree: ast.Module) -> None:
        body = getattr(_nodes(tree)[index], part)
        body[position:position + 1] = getattr(body[position], inner)
    return edit


def _simpler_expressions(tree: ast.Module) -> Iterator[Edit]:
    """Put a part of an expression, or a constant, in its place; drop elements, arguments and parameters."""
    for index, node in enumerate(_nodes(tree)):
        for name, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for position, child in enumerate(values):
                if not isinstance(child, ast.expr):
                    continue
                if isinstance(value, list) and name in ("elts", "args", "values", "ops", "keys"):
                    yield _dropping(index, name, position)
                for inner, part in enumerate(_parts(child)):
                    if not isinstance(child, ast.Constant) and ast.dump(part) != ast.dump(child):
                        yield _replacing(index, name, position, inner)


def _parts(node: ast.expr) -> list[ast.expr]:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return []
    inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) and not _is_module(child)]
    simple: list[ast.expr] = [] if isinstance(node, (ast.Name, ast.Lambda)) else [ast.Constant(0)]
    return [*inner, *simple]


def _is_module(node: ast.expr) -> bool:
    """Whether an expression is TensorFlow, or something found in it: no value for a program to compute with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("tf", "contextlib", "functools")


def _replacing(index: int, name: str, position: int, inner: int) -> Edit:
    def edit(tree: ast.Module) -> None:
        node = _nodes(tree)[index]
        value = getattr(node, name)
        if isinstance(value, list):
            value[position] = copy.deepcopy(_parts(value[position])[inner])
        else:
            setattr(node, name, copy.deepcopy(_parts(value)[inner]))
    return edit


def _dropping(index: int, name: str, position: int) -> Edit:
    def edit(tree: ast.Module) -> None:
        node = _nodes(tree)[index]
        for one in ("keys", "values") if isinstance(node, ast.Dict) else (name,):
            del getattr(node, one)[position]
    return edit
