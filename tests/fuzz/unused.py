"""An operation that fails and whose result nobody uses: eager raises, a graph of TensorFlow does not run it.

That is TensorFlow's own, so such a program does not count. It is told from a fault by a twin that prints all that the failing
statement computes: what is printed is computed, so the twin has to raise as eager does.
"""
from __future__ import annotations

import ast

from tests.fuzz.programs import Program
from tests.harness.world import CallRecord, Record

__all__ = ["skipped_failures", "twin"]

PRINTING = '''

def _printed(value):
    print("computed", value)
    return value
'''
COMPUTED = (ast.BinOp, ast.Call, ast.Subscript, ast.UnaryOp, ast.Compare)


def skipped_failures(eager: Record, other: Record) -> list[int]:
    """The lines of operations that fail in eager, where the other world goes on; the worlds part there, so only the first counts."""
    for one, two in zip(eager.calls, other.calls):
        if one.raised and one.raised.of_operation and not two.raised:
            return list(one.raised.user_lines[-1:])
        if _part(one, two):
            break
    return []


def _part(one: CallRecord, two: CallRecord) -> bool:
    return bool(one.raised) is not bool(two.raised)


def twin(program: Program, line: int) -> Program | None:
    """The program with a statement that prints all it computes."""
    tree = ast.parse(program.text)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    if not statements:
        return None
    for statement in statements:
        _Printing(line).visit(statement)
    return Program(program.seed, ast.unparse(ast.fix_missing_locations(tree)) + PRINTING, program.grad)


class _Printing(ast.NodeTransformer):
    """Puts the printing call around the expressions of one line that compute something."""

    def __init__(self, line: int) -> None:
        self.line = line

    def visit(self, node: ast.AST) -> ast.AST:
        """Inner expressions first."""
        if isinstance(node, ast.Lambda) or isinstance(node, ast.stmt) and node.lineno != self.line:
            return node
        for name, value in ast.iter_fields(node):
            if name != "func":
                setattr(node, name, [self.visit(one) if isinstance(one, ast.AST) else one for one in value]
                        if isinstance(value, list) else self.visit(value) if isinstance(value, ast.AST) else value)
        if isinstance(node, COMPUTED) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return ast.copy_location(ast.Call(ast.Name("_printed", ast.Load()), [node], []), node)
        return node

