"""A parsed source file, and which function in it a code object was compiled from.

The file is parsed whole, so positions are the user's own and enclosing classes are seen. A function is
looked up by the first line and the name of its code object; then each candidate is compiled again and
compared with the loaded code. That tells apart the lambdas of one line, and notices a file that was edited
after it was loaded.
"""
from __future__ import annotations
import __future__ as future_features

import ast
import copy
import inspect
import linecache
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUTURE_FLAGS = 0
for _feature in future_features.all_feature_names:
    _FUTURE_FLAGS |= getattr(future_features, _feature).compiler_flag


class SourceUnavailable(Exception):
    """The source of a function cannot be had; the message says why."""


def future_flags(code: types.CodeType) -> int:
    """The ``from __future__`` features ``code`` was compiled with, as flags for ``compile``."""
    return code.co_flags & _FUTURE_FLAGS


def inner_code(code: types.CodeType, name: str) -> types.CodeType:
    """The code called ``name`` that is defined right inside ``code``."""
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


@dataclass(frozen=True)
class FunctionSite:
    """One function in a file, and the name of the class whose body holds it."""

    node: FunctionNode
    class_name: str | None

    @property
    def name(self) -> str:
        """What Python calls the code of the function."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def column(self) -> int:
        """Where the function begins in its line."""
        return self.node.col_offset

    @property
    def first_line(self) -> int:
        """Where Python says the code begins: at the first decorator, if there is one."""
        decorators = getattr(self.node, "decorator_list", None)
        return decorators[0].lineno if decorators else self.node.lineno


class SourceFile:
    """The functions of one version of a file, by first line and name."""

    def __init__(self, filename: str, lines: list[str]) -> None:
        self.filename = filename
        self.lines = tuple(lines)
        self._sites: dict[tuple[int, str], list[FunctionSite]] = defaultdict(list)
        for site in sorted(_functions(_parse("".join(lines), filename)), key=lambda site: site.column):
            self._sites[site.first_line, site.name].append(site)

    def find(self, code: types.CodeType) -> FunctionSite:
        """The function ``code`` was compiled from."""
        sites = self._sites.get((code.co_firstlineno, code.co_name), ())
        compiled = [(site, _compiled_again(site, code)) for site in sites]
        same = [(site, again) for site, again in compiled if _same_program(again, code)]
        if not same:
            raise SourceUnavailable(
                f"{code.co_name} at {self.filename}:{code.co_firstlineno} does not match its text: "
                "the file was changed on disk since it was loaded, or the code was made by a program"
            )
        # Equal candidates mean the same; positions, where Python keeps columns, tell which one it was.
        return max(same, key=lambda pair: _shared_positions(pair[1], code))[0]


_files: dict[str, SourceFile] = {}


def source_file(filename: str, module_globals: dict[str, Any]) -> SourceFile:
    """The file as ``linecache`` shows it now; parsed again only when its text has changed."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        raise SourceUnavailable(f"no source file: there is no text for {filename}")
    known = _files.get(filename)
    if known is None or known.lines != tuple(lines):
        known = _files[filename] = SourceFile(filename, lines)
    return known


def _parse(text: str, filename: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SourceUnavailable(f"{filename} cannot be parsed: {error}") from error


def _functions(tree: ast.Module) -> Iterator[FunctionSite]:
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, class_name = pending.pop()
        if isinstance(node, FunctionNode):
            yield FunctionSite(node, class_name)
        body_class = node.name if isinstance(node, ast.ClassDef) else class_name
        for child in ast.iter_child_nodes(node):
            # Bases and decorators of a class stand outside its body.
            pending.append((child, body_class if isinstance(child, ast.stmt) else class_name))


def _compiled_again(site: FunctionSite, code: types.CodeType) -> types.CodeType:
    """``site`` compiled alone, with the free variables of ``code`` around it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = _alone(site, code.co_freevars)
            outermost = compile(module, code.co_filename, "exec", future_flags(code), dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        where = f"{code.co_filename}:{site.first_line}"
        raise SourceUnavailable(f"{site.name} at {where} cannot be compiled: {error}") from error
    within = inner_code(outermost, "scope")
    return inner_code(within if site.class_name is None else inner_code(within, site.class_name), site.name)


def _alone(site: FunctionSite, free: tuple[str, ...]) -> ast.Module:
    """A module with nothing but the function, in a scope that binds ``free`` and a class of the right name."""
    if site.class_name is not None:
        around = f"class {site.class_name}: pass"
    elif isinstance(site.node, ast.Lambda) or site.name in free:
        around = "pass"
    else:
        around = f"global {site.name}"  # A function of a module finds itself among the globals.
    module = ast.parse(f"def scope({', '.join(free)}):\n {around}")
    holder: Any = module.body[0]
    if site.class_name is not None:
        holder = holder.body[0]
    holder.body.append(_without_outer_parts(site.node))
    return module


def _without_outer_parts(node: FunctionNode) -> ast.stmt:
    """The function as a statement that begins at the same line, without what is evaluated outside of it."""
    bare: Any = copy.copy(node)
    bare.args = copy.copy(node.args)
    bare.args.defaults = []
    bare.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Expr(bare), node)
    bare.decorator_list = [ast.copy_location(ast.Constant(None), first) for first in node.decorator_list[:1]]
    bare.returns = None
    bare.type_params = []
    return bare


def _same_program(candidate: types.CodeType, code: types.CodeType) -> bool:
    if _comparable(candidate) == _comparable(code):
        return True
    # pytest compiles a test module with its assert statements expanded: more names, the rest unchanged.
    names = _names(code)
    expanded = any(name.startswith("@py") for name in names)
    return expanded and inspect.getargs(candidate) == inspect.getargs(code) and _names(candidate) <= names


def _comparable(code: types.CodeType) -> types.CodeType:
    """``code`` without its place: positions, nesting, and the qualified names of what it defines."""
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            constants.append(_comparable(constant))
        elif isinstance(constant, str):
            constants.append(constant.rpartition(".<locals>.")[2])
        else:
            constants.append(constant)
    flags = code.co_flags & ~inspect.CO_NESTED
    return code.replace(
        co_consts=tuple(constants), co_flags=flags, co_filename="", co_firstlineno=1, co_linetable=b""
    )


def _names(code: types.CodeType) -> frozenset[str]:
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return frozenset(names)


def _shared_positions(candidate: types.CodeType, code: types.CodeType) -> int:
    """How many instructions stand at the same line and column in both."""
    if sys.version_info < (3, 11):
        return 0
    return sum(one == other for one, other in zip(candidate.co_positions(), code.co_positions()))
