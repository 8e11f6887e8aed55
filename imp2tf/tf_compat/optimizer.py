"""The options of a call for TensorFlow's optimizer of graphs, under which it computes what the graph says."""
from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import switches
from imp2tf.tf_compat.eager import operations_are_watched
from imp2tf.tf_compat.private import FuncGraph
from imp2tf.tf_compat.private import context as _context


@functools.lru_cache(maxsize=64)
def without_optimizer(config: bytes) -> bytes:
    """The options of a call, without TensorFlow's optimizer of graphs."""
    options = tf.compat.v1.ConfigProto.FromString(config)
    options.graph_options.rewrite_options.disable_meta_optimizer = True
    return bytes(options.SerializeToString(deterministic=True))


LONG = (
    "arithmetic_optimization", "auto_mixed_precision", "common_subgraph_elimination", "constant_folding", "debug_stripper",
    "function_optimization", "implementation_selector", "layout_optimizer", "loop_optimization", "pin_to_host_optimization", "remapping",
    "scoped_allocator_optimization", "shape_optimization",
)


@functools.lru_cache(maxsize=64)
def only_tidied(config: bytes) -> bytes:
    """The options of a call whose graph loses what nobody needs, and edges that others imply; the rest of the optimizer is left out.

    That makes a first run no longer, since there is less to make ready. It is most of what the optimizer gains where there are branches and
    loops.
    """
    options = tf.compat.v1.ConfigProto.FromString(config)
    rewriting = options.graph_options.rewrite_options
    rewriting.meta_optimizer_iterations = rewriting.ONE
    rewriting.disable_tfg_optimizer = True
    rewriting.memory_optimization = rewriting.NO_MEM_OPT
    for name in LONG:
        setattr(rewriting, name, rewriting.OFF)
    return bytes(options.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=64)
def optimised_once(config: bytes, with_blocks: bool) -> bytes:
    """The options of a call whose graph is optimised in one round, if the program does not say how many: a second one finds little."""
    options = tf.compat.v1.ConfigProto.FromString(_without_sums(config) if with_blocks else config)
    rewriting = options.graph_options.rewrite_options
    if rewriting.meta_optimizer_iterations == 0:
        rewriting.meta_optimizer_iterations = 1
    return bytes(options.SerializeToString(deterministic=True))


@functools.lru_cache(maxsize=64)
def _without_sums(config: bytes) -> bytes:
    """The options of a call of a graph with branches or loops, in which the optimizer does sums wrong.

    Of ``x + (x + 0.0)`` it leaves an empty tensor (seen with TensorFlow 2.21).
    """
    options = tf.compat.v1.ConfigProto.FromString(config)
    options.graph_options.rewrite_options.arithmetic_optimization = options.graph_options.rewrite_options.OFF
    return bytes(options.SerializeToString(deterministic=True))


BLOCKS = frozenset({"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase"})
_have_blocks: weakref.WeakKeyDictionary[FuncGraph, bool] = weakref.WeakKeyDictionary()


def has_blocks(graph: FuncGraph) -> bool:
    """Whether a finished graph has branches or loops."""
    found = _have_blocks.get(graph)
    if found is None:
        found = _have_blocks[graph] = any(op.type in BLOCKS for op in graph.get_operations())
    return found


_unread: weakref.WeakSet[FuncGraph] = weakref.WeakSet()
_fragile: weakref.WeakSet[FuncGraph] = weakref.WeakSet()


def keep_unread(graph: FuncGraph, inside: bool) -> None:
    """There is what has to run although nobody reads it: in a call on the calling thread it would not.

    If it is `inside` of branches or loops, the optimizer takes it out: it knows what has to run of the outermost graph only.
    """
    _unread.add(graph)
    if inside:
        _fragile.add(graph)


def has_unread(graph: FuncGraph) -> bool:
    """Whether a graph has operations that have to run although nobody reads what they give."""
    return graph in _unread


def config_for(graph: FuncGraph, config: bytes, quick: bool) -> bytes:
    """The options of a call of a finished graph, optimised or ready soon."""
    if graph in _fragile:
        return without_optimizer(config)
    return only_tidied(config) if quick else optimised_once(config, has_blocks(graph))


@contextlib.contextmanager
def careful(graph: FuncGraph) -> Iterator[None]:
    """TensorFlow's own call of a graph, with options under which it computes what it says.

    Where somebody watches operations, the optimizer is left out: it makes ``-x`` of ``0 - x``, which imp2tf's own first calls do not do.
    """
    watched = operations_are_watched()
    if not switches.PRIVATE_CALLS or not (watched or has_blocks(graph)):
        yield
        return
    context = _context.context()
    before = context.function_call_options
    context.function_call_options = _careful_options(before.executor_type, before.config_proto_serialized, watched or graph in _fragile)
    try:
        yield
    finally:
        context.function_call_options = before


@functools.lru_cache(maxsize=64)
def _careful_options(executor: str | None, config: bytes, as_it_is: bool) -> Any:
    options = tf.compat.v1.ConfigProto.FromString(without_optimizer(config) if as_it_is else _without_sums(config))
    return _context.FunctionCallOptions(executor_type=executor, config_proto=options)


SUMS = frozenset({"Add", "AddV2", "AddN", "Mul"})
DONE = ("_grappler_ArithmeticOptimizer_AddOpsRewriteStage", "_grappler_ArithmeticOptimizer_MinimizeBroadcasts")


def keep_sums(graph: FuncGraph) -> None:
    """Tell the optimizer that it has been over the sums of a branch or loop: where calls are TensorFlow's own, it would do some wrong."""
    done = tf.compat.v1.AttrValue(b=True)
    for op in graph.get_operations():
        if op.type in SUMS:
            for name in DONE:
                op._set_attr(name, done)
