"""One module per Python feature: its rewrite and, beside it, its run-time operator.

`CONVERTERS` is the registry. The driver (`imp2tf.rewrite`) walks a function once and hands each node to the converter that
lowers its kind, so the order below does not matter; it follows the language reference.
"""
if __name__ != "imp2tf.converters":
    raise ImportError("import this package as imp2tf.converters (run: pip install -e .)")

from imp2tf.converters import (
    assignment,
    binary,
    boolean,
    calls_,
    compare,
    comprehensions,
    copying,
    custom_gradients,
    dataclasses_,
    dispatching,
    for_,
    formatting,
    functions,
    generators,
    heaps,
    if_,
    imports,
    introspection,
    iteration_builtins,
    jumps,
    literals,
    managers,
    match_,
    math_,
    module_scopes,
    names,
    number_builtins,
    operator_module,
    print_,
    raise_,
    random_,
    reductions,
    shuffling,
    standard_library,
    subscripts,
    tapes,
    tensor_arrays,
    tf_control_flow,
    try_,
    warnings_,
    while_,
    with_,
)

from imp2tf.conversion import register_converters

CONVERTERS = (
    names.Names,                           # x
    names.Declarations,                    # global x, nonlocal x
    literals.Displays,                     # [a], (a,), {a}, {a: b}
    formatting.FormattedStrings,           # f'{x}'
    subscripts.Attributes,                 # o.name
    subscripts.Subscripts,                 # x[i]
    subscripts.Slices,                     # x[a:b]
    calls_.Calls,                          # f(x), super()
    binary.BinaryOperators,                # a + b
    binary.UnaryOperators,                 # -a, not a
    compare.Comparisons,                   # a < b < c, a in b, a is b
    boolean.BooleanOperators,              # a and b
    boolean.ConditionalExpressions,        # a if c else b
    comprehensions.Comprehensions,         # [f(v) for v in xs]
    comprehensions.GeneratorExpressions,   # (f(v) for v in xs)
    functions.Lambdas,                     # lambda v: v
    functions.FunctionDefinitions,         # def g(): ...
    functions.Classes,                     # class C: ...
    imports.Imports,                       # from m import a
    assignment.Assignments,                # a = b
    assignment.AugmentedAssignments,       # a += b
    assignment.Walrus,                     # (a := b)
    assignment.Deletions,                  # del a
    if_.Ifs,                               # if
    match_.Matches,                        # match: before all others, it becomes ifs
    while_.WhileLoops,                     # while
    for_.ForLoops,                         # for
    jumps.Returns,                         # return
    jumps.Jumps,                           # break, continue
    raise_.Raises,                         # raise
    raise_.Asserts,                        # assert
    try_.Tries,                            # try
    try_.GroupTries,                       # try: ... except* ...
    with_.Withs,                           # with
)

register_converters(CONVERTERS)

__all__ = [
    "CONVERTERS",
    "copying",
    "custom_gradients",
    "dataclasses_",
    "dispatching",
    "generators",
    "heaps",
    "introspection",
    "iteration_builtins",
    "managers",
    "math_",
    "module_scopes",
    "number_builtins",
    "operator_module",
    "print_",
    "random_",
    "reductions",
    "shuffling",
    "standard_library",
    "tapes",
    "tensor_arrays",
    "tf_control_flow",
    "warnings_",
]
