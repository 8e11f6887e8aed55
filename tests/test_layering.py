"""Imports point one way: down the list of layers below, never up and never in a circle."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.project_modules import imported_names, module_paths, syntax_tree

# Lowest first. A module may import from its own layer and from those above it in this list.
# Every module stands in exactly one layer; place a new one here on purpose. "*" is for folders made to grow.
LAYERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "base",
        (
            "errors", "options", "logs", "collecting", "stance", "disabled", "trials", "tf_compat", "tf_compat.*", "tf_probes",
            "eager_tensors", "quick_graphs", "quick_operations", "namespace", "purity", "disk_cache",
        ),
    ),
    (
        "reading programs",
        ("source", "source_file", "trees", "mangling", "quote", "analysis", "analysis.*", "inversion", "rewrite", "targets", "conversion"),
    ),
    (
        "values and the heap",
        (
            "values", "kinds", "layer_calls", "places", "remembered", "sources", "relaxations", "outside", "session", "foreknown",
            "recording_tapes", "lifting", "heap", "object_keys", "tracebacks", "links", "arrays", "results", "reach", "seed_stream",
        ),
    ),
    ("the lattice", ("snapshots", "specs", "compound_specs", "growable", "tables", "join", "sharing")),
    (
        "regions of the graph",
        (
            "placement", "recipes", "element_recipes", "plan", "effects", "ordering", "inspection", "exceptions", "random_ops",
            "connectivity", "aliases", "unrecorded", "parted", "appended", "junctions", "choices", "records", "states", "paths", "courses",
            "region", "looping", "rolling", "exits", "xla", "xla.*", "speculation",
        ),
    ),
    (
        "what operators share",
        (
            "alternatives", "python_numbers", "arithmetic", "array_items", "object_fields", "attributes", "attribute_writes", "calls",
            "constants", "container_cursors", "container_items", "container_methods", "containers", "copies", "cursors", "deferred_calls",
            "dict_views", "elements", "endless", "exit_stacks",
            "fallible", "first_items", "forcing", "foreign", "format_fields", "generated_methods",
            "generators",
            "growable_items", "iterables", "iteration", "lengths", "loops", "lowering", "managers", "module_attributes", "opaque",
            "operations", "operator_methods", "in_place", "own_arrays", "picking", "plain_functions", "refusals",
            "runs", "searches", "stacked_lists", "state_lists", "substitution", "table_items",
            "texts", "try_state", "user_iterators",
        ),
    ),
    ("features", ("converters", "converters.*")),
    (
        "running",
        (
            "accounts", "structures", "parameters", "input_signature", "guards", "profile", "kept_profiles", "spreading", "taped",
            "undoing", "graph", "trace", "verify", "tracing", "dispatch", "embedding", "report",
        ),
    ),
    (
        "front ends",
        ("__init__", "__main__", "api", "converted_function", "distribution", "keras", "keras.*", "export", "export_*", "check"),
    ),
)  # fmt: skip

REGISTRY = "imp2tf.converters"

# Front ends may import late, so that a command loads only what it needs. Elsewhere it would hide a circle.
MAY_IMPORT_LATE = "front ends"


def layers_of(module: str) -> list[int]:
    """The positions in LAYERS of the layers that name ``module``."""
    short = module.removeprefix("imp2tf").removeprefix(".") or "__init__"
    return [
        position
        for position, (_, patterns) in enumerate(LAYERS)
        for pattern in patterns
        if fnmatchcase(short, pattern)
    ]


def layer_of(module: str) -> int:
    """The position of the layer of a module; the test that asks fails if the module has none."""
    found = layers_of(module)
    if not found:
        pytest.fail(f"{module} is in no layer", pytrace=False)
    return found[0]


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements of a tree, also those inside functions."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def own_imports(node: ast.Import | ast.ImportFrom, module: str) -> list[str]:
    """The modules of this project that an import statement names."""
    found = (_nearest_module(name) for name in imported_names(node, module))
    return [name for name in found if name]


def _nearest_module(name: str) -> str | None:
    while name and name not in module_paths():
        name = name.rpartition(".")[0]
    return name or None


MODULES = pytest.mark.parametrize("module", module_paths())


@MODULES
def test_module_stands_in_exactly_one_layer(module: str) -> None:
    names = [LAYERS[position][0] for position in layers_of(module)]
    assert len(names) == 1, f"{module} is in the layers {names}: place it in exactly one, in {__file__}"


@MODULES
def test_imports_do_not_point_up(module: str) -> None:
    upward = [
        f"line {node.lineno}: {LAYERS[layer_of(module)][0]} imports {target} of {LAYERS[layer_of(target)][0]}"
        for node in import_statements(syntax_tree(module_paths()[module]))
        for target in own_imports(node, module)
        if layer_of(target) > layer_of(module)
    ]
    assert not upward, "what the lower layer needs from above is passed down as a value: " + "; ".join(upward)


@MODULES
def test_converters_do_not_import_each_other(module: str) -> None:
    if not module.startswith(f"{REGISTRY}."):
        return
    siblings = [
        f"line {node.lineno}: {target}"
        for node in import_statements(syntax_tree(module_paths()[module]))
        for target in own_imports(node, module)
        if target.startswith(REGISTRY)
    ]
    assert not siblings, "what two converters share sits one layer down: " + "; ".join(siblings)


@MODULES
def test_no_import_is_hidden_in_a_function(module: str) -> None:
    if LAYERS[layer_of(module)][0] == MAY_IMPORT_LATE:
        return
    tree = syntax_tree(module_paths()[module])
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    hidden = {
        f"line {node.lineno}: {target}"
        for function in functions
        for node in import_statements(function)
        for target in own_imports(node, module)
    }
    assert not hidden, "move these to the top of the module: " + "; ".join(sorted(hidden))


def test_no_circle_of_imports() -> None:
    graph = {
        module: {
            target
            for node in import_statements(syntax_tree(path))
            for target in own_imports(node, module)
            if target != module
        }
        for module, path in module_paths().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("modules import each other in a circle: " + " <- ".join(error.args[1]))
