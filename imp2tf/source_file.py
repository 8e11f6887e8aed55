"""A parsed source file, and which function in it a code object was compiled from.

The file is parsed whole, so positions are the user's own and enclosing classes are seen. A function is
looked up by the first line and the name of its code object; then each candidate is compiled again and
compared with the loaded code. That tells apart the lambdas of one line, and notices a file that was edited
after it was loaded.
"""

from __future__ import annotations
import __future__ as future_features

import ast
import contextlib
import copy
import inspect
import linecache
import sys
import threading
import types
import warnings
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
    """One function in a file, the class whose body holds it, and what to compile before it, as text."""

    node: FunctionNode
    class_name: str | None
    module_context: str

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
    """The functions of one version of a file."""

    def __init__(self, filename: str, lines: list[str]) -> None:
        self.filename = filename
        self.lines = tuple(lines)
        self._found: dict[int, tuple[types.CodeType, FunctionSite]] = {}  # equal code may stand in two places
        with _compiling(filename):
            self._tree = ast.parse("".join(lines), filename)
        self._context = "\n".join(_module_context(self._tree))

    def find(self, code: types.CodeType) -> FunctionSite:
        """The function ``code`` was compiled from."""
        if id(code) not in self._found:
            self._found[id(code)] = code, self._match(code, True) or self._match(code, False) or self._mismatch(code)
        return self._found[id(code)][1]

    def _match(self, code: types.CodeType, reaching: bool) -> FunctionSite | None:
        """The function whose code is the same; with `reaching`, only nodes that reach over its first line are looked into."""
        functions = _functions(self._tree, self._context, code.co_firstlineno if reaching else None)
        sites = [site for site in functions if site.first_line == code.co_firstlineno and site.name == code.co_name]
        same = [(site, again) for site in sorted(sites, key=lambda site: site.column) if (again := _same_code(site, code)) is not None]
        # Equal candidates mean the same; positions, where Python keeps columns, tell which one it was.
        return max(same, key=lambda pair: _shared_positions(pair[1], code))[0] if same else None

    def _mismatch(self, code: types.CodeType) -> FunctionSite:
        raise SourceUnavailable(
            f"{code.co_name} at {self.filename}:{code.co_firstlineno} does not match its text: "
            "the file was changed on disk since it was loaded, or the code was made by a program"
        )


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


_silence = threading.Lock()


@contextlib.contextmanager
def _compiling(what: str) -> Iterator[None]:
    """Make what Python refuses ``SourceUnavailable``, and do not repeat what it warned of at loading."""
    with _silence, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (SyntaxError, ValueError, RecursionError) as error:
            raise SourceUnavailable(f"{what} cannot be parsed: {error}") from error


def _functions(tree: ast.Module, module_context: str, line: int | None) -> Iterator[FunctionSite]:
    """The functions of a module: all, or those in nodes that reach over a line."""
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, class_name = pending.pop()
        if isinstance(node, FunctionNode):
            yield FunctionSite(node, class_name, module_context)
        body_class = node.name if isinstance(node, ast.ClassDef) else class_name
        for child in ast.iter_child_nodes(node):
            # Bases and decorators of a class stand outside its body.
            if line is None or _reaches(child, line):
                pending.append((child, body_class if isinstance(child, ast.stmt) else class_name))


def _reaches(node: Any, line: int) -> bool:
    """Whether a node with its decorators reaches over a line; nodes without a place may."""
    begin = getattr(node, "lineno", None)
    if begin is None:
        return True
    decorators = getattr(node, "decorator_list", None)
    return bool((decorators[0].lineno if decorators else begin) <= line <= node.end_lineno)


def _module_context(tree: ast.Module) -> Iterator[str]:
    """What the compiler looks at in a module when it compiles a function, as statements.

    It uses other instructions to call a method of a module that is imported, and to call ``super`` where the
    module itself uses that name.
    """
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.alias) and node.name != "*":
            yield f"import {node.asname or node.name.partition('.')[0]}"
        elif isinstance(node, ast.Name) and node.id == "super":
            yield "super"
        if not isinstance(node, FunctionNode | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))


def _same_code(site: FunctionSite, code: types.CodeType) -> types.CodeType | None:
    """What ``site`` compiles to, if that is what ``code`` does."""
    return next((again for again in _compiled_again(site, code) if _same_program(again, code)), None)


def _compiled_again(site: FunctionSite, code: types.CodeType) -> Iterator[types.CodeType]:
    """``site`` compiled alone, with the free variables of ``code`` around it.

    First as part of its module, then without: a notebook compiles each statement by itself.
    """
    for context in (site.module_context, ""):
        with _compiling(f"{site.name} at {code.co_filename}:{site.first_line}"):
            module = _alone(site, context, code.co_freevars)
            inner = compile(module, code.co_filename, "exec", future_flags(code), dont_inherit=True)
        for name in ("scope", site.class_name, site.name):
            if name is not None:
                inner = inner_code(inner, name)
        yield inner


def _alone(site: FunctionSite, context: str, free: tuple[str, ...]) -> ast.Module:
    """``context`` and the function, in a scope that binds ``free`` and a class of the right name.

    What the scope itself defines is global unless it is free.
    """
    own = site.name if site.class_name is None else site.class_name
    declared = "pass" if own in free or own == "<lambda>" else f"global {own}"
    holder = "" if site.class_name is None else f" class {own}: pass\n"
    module = ast.parse(f"{context}\ndef scope({', '.join(free)}):\n {declared}\n{holder}")
    innermost: Any = module.body[-1]
    if holder:
        innermost = innermost.body[-1]
    innermost.body.append(_without_outer_parts(site.node))
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
