"""The project's own modules, found as files and read as syntax trees: nothing is imported."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Import package -> the folder that holds it. The longer name first: it wins.
PACKAGES = {"imp2tf.converters": ROOT / "converters", "imp2tf": ROOT / "imp2tf"}


@cache
def module_paths() -> dict[str, Path]:
    """The file of every module of the library, by import name."""
    return {
        _import_name(package, folder, path): path
        for package, folder in PACKAGES.items()
        for path in sorted(folder.rglob("*.py"))
    }


def _import_name(package: str, folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join((package, *parts))


@cache
def syntax_tree(path: Path) -> ast.Module:
    """The parsed source of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported_names(node: ast.Import | ast.ImportFrom, module: str) -> list[str]:
    """The absolute dotted names that an import statement in ``module`` asks for.

    ``from a.b import c`` gives ``a.b.c``: whether ``c`` is a module or a thing in ``a.b`` is for the caller.
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    origin = _absolute(node, module)
    return [f"{origin}.{alias.name}" for alias in node.names]


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module or ""
    is_package = module_paths()[module].name == "__init__.py"
    parts = module.split(".")
    parent = parts[: len(parts) - node.level + is_package]
    return ".".join([*parent, *([node.module] if node.module else [])])
