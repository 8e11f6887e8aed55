"""Trees go between the parser and gast as gast's own visitors take them."""
from __future__ import annotations

import ast
from pathlib import Path

import gast
import pytest

import imp2tf
from imp2tf import converters
from imp2tf.trees import to_gast, to_python

FILES = [path for module in (imp2tf, converters) for path in sorted(Path(str(module.__file__)).parent.glob("*.py"))]
SYNTAX = '''
def f(a, /, b: int = 1, *c, d, e=2, **g) -> str:
    try:
        async def h(): return [x async for x in y if await x]
    except (A, B) as error:
        del a[1:2, ...], b.c
    except C:
        raise D from None
    else:
        lambda x, *y: (yield x)
    with a as (b, c), d: pass
    match a:
        case {"x": 1, **rest} if rest: global G
        case [_, *others] | [_, _, *others]: pass
        case K(1, z=None): nonlocal_ = f"{a!r:>{b}}" "text"
    while not a < b <= c and (d := e or -g): a @= b
    return {**a, 1: 2}, {1, 2}, *c, 1j, ...
'''


def _dump(tree: ast.AST) -> str:
    return str(ast.dump(tree, include_attributes=True))


@pytest.mark.parametrize("text", [SYNTAX, *FILES[::7]], ids=lambda one: getattr(one, "name", "syntax"))
def test_trees_are_those_of_gast(text: str | Path) -> None:
    tree = ast.parse(text.read_text(encoding="utf-8") if isinstance(text, Path) else text)
    before, expected = _dump(tree), gast.ast_to_gast(tree)
    found = to_gast(tree)
    assert _dump(tree) == before
    assert gast.dump(found, include_attributes=True) == gast.dump(expected, include_attributes=True)
    again = to_python(found)
    assert _dump(again) == _dump(ast.fix_missing_locations(gast.gast_to_ast(expected)))
    compile(again, "again", "exec")


def test_missing_positions_are_those_around() -> None:
    tree = to_gast(ast.parse("\n\nx = f(1)"))
    call = tree.body[0].value
    call.args.append(gast.BinOp(gast.Constant(1, None), gast.Add(), gast.Name("y", gast.Load(), None, None)))
    added = to_python(tree).body[0].value.args[1]
    assert (added.lineno, added.col_offset, added.right.lineno, added.right.end_col_offset) == (3, 4, 3, 8)


def test_a_node_may_stand_in_two_places() -> None:
    tree = to_gast(ast.parse("x = a + b"))
    tree.body.append(tree.body[0])
    names = {"a": 1, "b": 2}
    exec(compile(to_python(tree), "twice", "exec"), names)
    assert names["x"] == 3
