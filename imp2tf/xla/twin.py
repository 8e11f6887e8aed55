"""A second graph for the same calls: the parts of the first one, the core compiled by XLA and watched by checks.

    before ── core (XLA) ── do all checks hold? ── yes ── after, with all effects
                                               └── no ── an error that says MISSED: the first graph makes the call
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from imp2tf.tf_compat import FuncGraph, compiled_copy, copy_handle_data
from imp2tf.xla.checks import CHECKS
from imp2tf.xla.parts import Parts, in_order, is_pure, parts_of, read_by
from imp2tf.xla.repeats import planned
from imp2tf.xla.rolled import Rolling
from imp2tf.xla.rules import LOOPS, OPAQUE, REGIONS, bodies_of, is_static, needs_checks, weight_of

__all__ = ["MISSED", "Builder", "Twin", "twin_of"]

SCOPE = "imp2tf_core"
MISSED = "XLA computes otherwise what occurs in this call"  # nothing has been done by then
Known = dict[str, tf.Tensor]  # tensors of the first graph by name, and what stands for them


@dataclasses.dataclass(frozen=True)
class Twin:
    """Concrete functions of flat tensors: all of it, and for trying the core what it is computed from, it compiled, and it as before."""

    whole: Any
    inputs: Any
    compiled: Any
    plain: Any
    opaque: list[int]  # those inputs of the core that are variables


def twin_of(graph: FuncGraph) -> Builder | None:
    """What makes the twin of a graph, None if XLA must not or need not compute anything of it."""
    parts = parts_of(graph)
    return None if parts is None else Builder(graph, parts)


class Builder:
    """Puts the operations of one graph into others."""

    def __init__(self, graph: FuncGraph, parts: Parts) -> None:
        self.graph, self.parts = graph, parts
        self.wanted, self.given = self._border()
        self.checks = any(map(needs_checks, parts.core))
        self.plan = planned(self._with_static(parts.core))

    @property
    def weight(self) -> int:
        """How many operations XLA has to compile, roughly."""
        return sum(map(weight_of, self.parts.core)) if self.plan is None else self.plan.weight

    def _border(self) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The tensors that the core is computed from, and those of it that others need."""
        inside = {op.name for op in self.parts.core}
        core = self._with_static(self.parts.core)
        names = inside | {op.name for op in core}
        wanted = {one.name: one for op in core for one in read_by(op) if one.op.name not in names and one.op.type != "Const"}
        needed = [one for op in self.parts.after for one in op.inputs] + list(self.graph.outputs)
        given = {one.name: one for one in needed if one.op.name in inside}
        return list(wanted.values()), list(given.values())

    def _with_static(self, ops: Iterable[tf.Operation]) -> list[tf.Operation]:
        """Some operations and, before them, what computes shapes and the like for them."""
        found: dict[str, tf.Operation] = {}

        def add(op: tf.Operation) -> None:
            if op.name not in found:
                for one in read_by(op):
                    if one.op.type not in ("Const", "Placeholder") and is_static(one):
                        add(one.op)
                found[op.name] = op

        for op in ops:
            add(op)
        return list(found.values())

    def twin(self) -> Twin:
        """Trace all functions."""
        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in self.wanted]
        plain, core = (tf.function(one, autograph=False).get_concrete_function(*specs) for one in (self._core, self._rolled_core))
        compiled = compiled_copy(core)
        called = tf.function(lambda *args: _flat(compiled(*args)), autograph=False).get_concrete_function(*specs)
        inputs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in self.graph.inputs]
        whole = tf.function(lambda *args: self._whole(compiled, args), autograph=False).get_concrete_function(*inputs)
        first = tf.function(self._first, autograph=False).get_concrete_function(*inputs)
        return Twin(whole, first, called, plain, [i for i, one in enumerate(self.wanted) if one.dtype in OPAQUE])

    def _first(self, *args: tf.Tensor) -> list[tf.Tensor]:
        """Compute the tensors that the core needs."""
        known = self._fed(self.graph.inputs, args)
        self._import(self.parts.before, known)
        return [known[one.name] for one in self.wanted]

    def _core(self, *args: tf.Tensor) -> list[tf.Tensor]:
        """Compute whether all checks hold, and the tensors that the rest needs."""
        known = self._fed(self.wanted, args)
        holds = _all(self._place(self._with_static(self.parts.core), known))
        return [holds, *(known[one.name] for one in self.given)]

    def _rolled_core(self, *args: tf.Tensor) -> list[tf.Tensor]:
        """The same, with loops for turns that repeat."""
        if self.plan is None:
            return self._core(*args)
        known = self._fed(self.wanted, args)
        holds = _all(Rolling(self.plan, known, self._place).put(self.given))
        return [holds, *(known[one.name] for one in self.given)]

    def _whole(self, core: Callable[..., Any], args: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        known = self._fed(self.graph.inputs, args)
        self._import(self.parts.before, known)
        with tf.name_scope(SCOPE):
            holds, *results = _flat(core(*(known[one.name] for one in self.wanted)))
            checked = [tf.raw_ops.Assert(condition=holds, data=[MISSED])] if self.checks else []
            with tf.control_dependencies([op for op in checked if op is not None] + [holds, *results]):
                anchor = tf.identity(holds)
        known.update(zip((one.name for one in self.given), results))
        self._import(self.parts.after, known, anchor)
        return [self._found(one, known) for one in self.graph.outputs]

    def _fed(self, originals: Sequence[tf.Tensor], args: Sequence[tf.Tensor]) -> Known:
        for original, arg in zip(originals, args, strict=True):
            if original.dtype in OPAQUE:
                copy_handle_data(original, arg)
        return {original.name: arg for original, arg in zip(originals, args)}

    def _found(self, tensor: tf.Tensor, known: Known) -> tf.Tensor:
        if tensor.name not in known and tensor.op.type == "Const":
            known[tensor.name] = tf.constant(tf.get_static_value(tensor), tensor.dtype)
        return known[tensor.name]

    # -------------------------------------------------------------------------------------- the core
    def _place(self, ops: Sequence[tf.Operation], known: Known) -> list[tf.Tensor]:
        """Put operations into the core; gives their checks."""
        plain: list[tf.Operation] = []
        flags: list[tf.Tensor] = []
        for op in ops:
            if op.type in REGIONS and needs_checks(op):
                self._import(plain, known)
                plain = []
                flags.append(self._region(op, known))
            elif op.type not in ("Assert", "NoOp"):
                plain.append(op)
        self._import(plain, known)
        for op in ops:
            if op.type in CHECKS:
                inputs = [self._found(one, known) for one in read_by(op)]
                flags.extend(CHECKS[op.type](op, inputs, [known[one.name] for one in op.outputs]))
        return flags

    def _region(self, op: tf.Operation, known: Known) -> tf.Tensor:
        """A branch or loop, made anew so that it tells whether the checks inside it hold."""
        inputs = [self._found(one, known) for one in op.inputs]
        holds, *results = self._loop(op, inputs) if op.type in LOOPS else self._branch(op, inputs)
        known.update((one.name, result) for one, result in zip(op.outputs, results))
        return holds

    def _branch(self, op: tf.Operation, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        then, other = bodies_of(op.graph, op)
        return list(tf.cond(inputs[0], lambda: self._inside(then, inputs[1:]), lambda: self._inside(other, inputs[1:])))

    def _loop(self, op: tf.Operation, inputs: list[tf.Tensor]) -> list[tf.Tensor]:
        """A loop that ends when a check does not hold. Variables of the program are no variables of the loop."""
        test, body = bodies_of(op.graph, op)
        carried = [place for place, one in enumerate(inputs) if one.dtype != tf.resource]

        def all_of(turned: Sequence[tf.Tensor]) -> list[tf.Tensor]:
            now = dict(zip(carried, turned))
            return [now.get(place, one) for place, one in enumerate(inputs)]

        def goes_on(holds: tf.Tensor, *turned: tf.Tensor) -> tf.Tensor:
            return holds & self._inside(test, all_of(turned))[1]

        def turn(holds: tf.Tensor, *turned: tf.Tensor) -> list[tf.Tensor]:
            flag, *results = self._inside(body, all_of(turned))
            return [holds & flag, *(results[place] for place in carried)]

        holds, *turned = tf.while_loop(goes_on, turn, [tf.constant(True), *(inputs[place] for place in carried)])
        return [holds, *all_of(turned)]

    def _inside(self, body: FuncGraph, args: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        known = self._fed(body.inputs, args)
        flags = self._place(in_order(body), known)
        return [_all(flags), *(self._found(one, known) for one in body.outputs)]

    # -------------------------------------------------------------------------------------- any part
    def _import(self, ops: Sequence[tf.Operation], known: Known, anchor: tf.Tensor | None = None) -> None:
        """Copy operations as they are; what has effects waits for the anchor."""
        if not ops:
            return
        names = {op.name for op in ops}
        read = {one.name: one for op in ops for one in op.inputs if one.op.name not in names}
        constants = {one.op.name: one.op for name, one in read.items() if name not in known}
        graph_def = tf.compat.v1.GraphDef()
        for op in (*constants.values(), *ops):
            graph_def.node.append(_copied(op, names, anchor is not None))
        feeds: dict[str, tf.Tensor] = {name: _here(known[name]) for name in read if name in known}
        if anchor is not None and any("^" + SCOPE in node.input for node in graph_def.node):
            feeds["^" + SCOPE] = anchor
        wanted = [one for op in ops for one in op.outputs]
        for original, copy in zip(wanted, tf.graph_util.import_graph_def(graph_def, feeds, [one.name for one in wanted], name="")):
            if not copy.shape.is_fully_defined():
                copy.set_shape(original.shape)  # of branches and loops, functions would have to be looked into
            known[original.name] = copy


def _copied(op: tf.Operation, names: set[str], anchored: bool) -> Any:
    """The definition of an operation for another graph, in which there are others by these names."""
    node = op.node_def
    node.attr.pop("_class", None)
    if not anchored:
        node.device = ""
    waits = [name for name in node.input if name.startswith("^")]
    kept = [name for name in waits if name[1:] in names]
    if anchored and (len(kept) < len(waits) or not is_pure(op)):
        kept.append("^" + SCOPE)
    data = [name for name in node.input if not name.startswith("^")]
    del node.input[:]
    node.input.extend(data + kept)
    return node


def _here(tensor: tf.Tensor) -> tf.Tensor:
    """A tensor in the graph that is being built."""
    graph = tf.compat.v1.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def _all(flags: Sequence[tf.Tensor]) -> tf.Tensor:
    return tf.reduce_all(tf.stack(list(flags))) if flags else tf.constant(True)


def _flat(results: Any) -> list[tf.Tensor]:
    return list(results) if isinstance(results, (list, tuple)) else [results]
