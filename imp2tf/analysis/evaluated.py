"""What of a node is evaluated where the node stands.

def g(x=a, *, y: b = c): return d      -->   a, c, b        (d is evaluated in calls of g)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import gast

from imp2tf.analysis.walking import children

FunctionDefNode: TypeAlias = gast.FunctionDef | gast.AsyncFunctionDef
FunctionNode: TypeAlias = gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda
ComprehensionNode: TypeAlias = gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp


def parameters(arguments: gast.arguments) -> list[gast.Name]:
    """Every parameter of a signature, in the order of the code object's variables."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [star for star in (arguments.vararg, arguments.kwarg) if star is not None]


def signature_annotations(function: FunctionDefNode) -> list[gast.expr]:
    """The annotations of a signature."""
    of_parameters = [parameter.annotation for parameter in parameters(function.args)]
    return [annotation for annotation in [*of_parameters, function.returns] if annotation is not None]


def outer_parts(node: FunctionNode | gast.ClassDef) -> list[gast.AST]:
    """What a definition evaluates at once, in order, apart from annotations and the body of a class."""
    if isinstance(node, gast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    return defaults if isinstance(node, gast.Lambda) else [*node.decorator_list, *defaults]


def evaluated_here(nodes: Iterable[gast.AST]) -> Iterator[gast.AST]:
    """``nodes`` and all below that runs in their own function, so no bodies of definitions or generators."""
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        yield node
        below = _of_definition(node) if node.__class__ in _DEFINING else children(node)
        below.reverse()
        pending.extend(below)


_DEFINING = frozenset({gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef, gast.GeneratorExp})


def _of_definition(node: gast.AST) -> list[gast.AST]:
    """What a definition or a generator expression evaluates where it stands."""
    if isinstance(node, FunctionDefNode):
        return [*outer_parts(node), *signature_annotations(node)]
    return [node.generators[0].iter] if isinstance(node, gast.GeneratorExp) else outer_parts(node)
