"""The core of a twin with loops for turns that repeat: XLA compiles one turn instead of all of them, and runs the faster for it."""
from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

import tensorflow as tf

from imp2tf.tf_compat import copied_operation
from imp2tf.xla.checks import CHECKS
from imp2tf.xla.items import Item, item_of, placed_item, runs_of
from imp2tf.xla.repeats import Carried, Inner, Place, Plan, Repeat, Result, Same, Scanned, Source
from imp2tf.xla.rules import OF_SHAPES, REGIONS, is_static

__all__ = ["Rolling"]

Known = dict[str, tf.Tensor]  # tensors of the first graph by name, and what stands for them
Region = Callable[[Sequence[tf.Operation], Known], list[tf.Tensor]]


class Rolling:
    """Puts the steps of a plan into the graph that is being built.

    Args:
      plan: the steps.
      known: what stands for the tensors that the steps read from others.
      region: puts in branches and loops of the first graph; gives their checks.
    """

    def __init__(self, plan: Plan, known: Known, region: Region) -> None:
        self.values, self._steps, self._known, self._region = plan.values, plan.steps, known, region
        self._loops: dict[str, _Loop] = {}
        self._bases: dict[Hashable, Callable[[], tf.Tensor]] = {}  # by the keys of items

    def put(self, wanted: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Put all in, so that the wanted tensors are known. Gives the checks."""
        uses = _uses(self._steps, [self.values.place(tensor) for tensor in wanted], self.values.place)
        flags: list[tf.Tensor] = []
        for step in self._steps:
            if isinstance(step, Repeat):
                loop = _Loop(self, step, uses)
                flags.append(loop.holds)
                self._loops.update(dict.fromkeys(step.where, loop))
            else:
                flags.extend(self._put(step))
        for tensor in wanted:
            self._known[tensor.name] = self.tensor(tensor)
        return flags

    def _put(self, op: tf.Operation) -> list[tf.Tensor]:
        if op.type in REGIONS:
            self._known.update((one.name, self.tensor(one)) for one in op.inputs if one.op.type != "Const")
            return self._region([op], self._known)
        if op.type == "Pack":
            stack, backward = self.stacked(list(op.inputs))
            axis = op.get_attr("axis") % op.outputs[0].shape.rank
            self._known[op.outputs[0].name] = _moved(tf.reverse(stack, [0]) if backward else stack, axis)
            return []
        outputs, flags = _made(op, self._summed(op) if op.type == "AddN" else [self.tensor(one) for one in op.inputs])
        self._known.update((original.name, one) for original, one in zip(op.outputs, outputs))
        return flags

    def _summed(self, op: tf.Operation) -> list[tf.Tensor]:
        """The operands of a sum; for those that are one result of all turns of a loop their sum."""
        sums: dict[tuple[_Loop, Result], tf.Tensor] = {}
        rest: list[tf.Tensor] = []
        for one in op.inputs:
            found = self._result_of(self.values.place(one))
            if found is not None and found[1] in found[0].sums:
                sums[found] = found[0].sums[found[1]]
            else:
                rest.append(one)
        runs = runs_of([placed_item(self.values.original(one)) for one in rest])
        return [*sums.values(), *(self._placed(rest[one.first:one.first + one.length], one.item, one.backward) for one in runs)]

    def _placed(self, tensors: Sequence[tf.Tensor], lowest: Item | None, backward: bool) -> tf.Tensor:
        """The sum of tensors each of which is zero but for one item."""
        if lowest is None:
            return self.tensor(tensors[0])
        given = [self.values.original(one).op.inputs[-1] for one in tensors]
        stack, is_reversed = self.stacked(given[::-1] if backward else given)
        stack = _moved(tf.reverse(stack, [0]) if is_reversed else stack, lowest.axis)
        behind = tensors[0].shape[lowest.axis] - lowest.position - len(tensors)
        return tf.pad(stack, [(lowest.position, behind) if axis == lowest.axis else (0, 0) for axis in range(stack.shape.rank)])

    def _result_of(self, place: Place) -> tuple[_Loop, Result] | None:
        loop = self._loops.get(place[0])
        return None if loop is None else (loop, (loop.repeat.where[place[0]][1], place[1]))

    def tensor(self, original: tf.Tensor) -> tf.Tensor:
        """What stands for a tensor of the first graph."""
        name, result = self.values.place(original)
        known = f"{name}:{result}"
        if known not in self._known:
            if name in self._loops:
                loop, (turn, number) = self._loops[name], self._loops[name].repeat.where[name]
                self._known[known] = loop.result(turn, (number, result))
            else:
                self._known[known] = tf.constant(tf.get_static_value(original), original.dtype)
        return self._known[known]

    def stacked(self, tensors: Sequence[tf.Tensor]) -> tuple[tf.Tensor, bool]:
        """Tensors one above the other, and whether the last one is first."""
        runs = list(runs_of(list(map(self._item, tensors))))
        if all(one.item is None for one in runs):
            return tf.stack(list(map(self.tensor, tensors))), False
        parts = [self._part(one.item, one.length) if one.item is not None else tf.expand_dims(self.tensor(tensors[one.first]), 0)
                 for one in runs]
        if len(parts) == 1:
            return parts[0], runs[0].backward
        return tf.concat([tf.reverse(part, [0]) if one.backward else part for part, one in zip(parts, runs)], 0), False

    def _item(self, tensor: tf.Tensor) -> Item | None:
        """Results of the turns of a loop are items of what the loop gives, too."""
        place = self.values.place(tensor)
        found = self._result_of(place)
        if found is not None:
            loop, result = found
            if result not in loop.stacks:
                return None
            item: Item | None = Item((id(loop), result), 0, loop.repeat.where[place[0]][0])
            base: Callable[[], tf.Tensor] = functools.partial(loop.stacks.__getitem__, result)
        else:
            original = self.values.original(tensor)
            item = item_of(original, self.values.place)
            base = functools.partial(self.tensor, original.op.inputs[0] if item is not None else original)
        if item is not None:
            self._bases[item.key] = base
        return item

    def _part(self, lowest: Item, length: int) -> tf.Tensor:
        """So many items, one above the other, from the lowest position on."""
        base = self._bases[lowest.key]()
        if lowest.axis:
            base = tf.transpose(base, [lowest.axis, *(one for one in range(base.shape.rank) if one != lowest.axis)])
        return base if length == base.shape[0] else base[lowest.position:lowest.position + length]


def _moved(stack: tf.Tensor, axis: int) -> tf.Tensor:
    """A tensor whose first axis is made that one."""
    return stack if axis == 0 else tf.transpose(stack, [*range(1, axis + 1), 0, *range(axis + 1, stack.shape.rank)])


def _made(op: tf.Operation, inputs: list[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """An operation on other inputs: its results, and its checks."""
    if op.type in ("Assert", "NoOp"):
        return [], CHECKS["Assert"](op, inputs[:1], []) if op.type == "Assert" else []
    if op.type == "AddN":
        return [tf.add_n(inputs)], []
    outputs = list(copied_operation(op, inputs).outputs)
    for original, one in zip(op.outputs, outputs):
        one.set_shape(original.shape)
    return outputs, CHECKS[op.type](op, inputs, outputs) if op.type in CHECKS else []


# ------------------------------------------------------------------------------------------------ what is needed of loops
class _Uses:
    """What others read of the results of turns."""

    def __init__(self) -> None:
        self.single: defaultdict[int, dict[Result, set[int]]] = defaultdict(dict)  # by repeat: results, and in which turns
        self.summed: defaultdict[int, set[Result]] = defaultdict(set)  # results that are only added up, those of all turns


def _uses(steps: Sequence[tf.Operation | Repeat], wanted: Iterable[Place], place_of: Callable[[tf.Tensor], Place]) -> _Uses:
    where = {name: one for one in steps if isinstance(one, Repeat) for name in one.where}
    uses, sums = _Uses(), Counter[tuple[int, Result]]()

    def add(places: Iterable[Place], adds_up: bool = False) -> None:
        found = [(where[name], *where[name].where[name], result) for name, result in places if name in where]
        whole = Counter((id(repeat), (number, result)) for repeat, _, number, result in found) if adds_up else {}
        for repeat, turn, number, result in found:
            key = id(repeat), (number, result)
            if whole.get(key) == len(repeat.turns):
                sums[key] += 1
            else:
                uses.single[key[0]].setdefault(key[1], set()).add(turn)

    for step in steps:
        if isinstance(step, Repeat):
            for source in (one for read in step.sources.values() for one in read):
                add(map(place_of, _read_outside(source)))
        else:
            add(map(place_of, step.inputs), step.type == "AddN")
    add(wanted)
    for repeat, result in sums:
        if result not in uses.single[repeat]:
            uses.summed[repeat].add(result)
    return uses


def _read_outside(source: Source) -> Sequence[tf.Tensor]:
    match source:
        case Scanned(_, tensors):
            return tensors
        case Carried(_, tensor) | Same(tensor):
            return [tensor]
    return []


# ------------------------------------------------------------------------------------------------ a loop
class _Loop:
    """Turns as a loop of the graph.

    Attributes:
      holds: whether the checks hold in all turns.
      stacks: results of all turns, one above the other.
      sums: results of all turns, added up.
    """

    def __init__(self, rolling: Rolling, repeat: Repeat, uses: _Uses) -> None:
        self.repeat, self._rolling = repeat, rolling
        read = [one for sources in repeat.sources.values() for one in sources]
        self._carried = {one.result: one.first for one in read if isinstance(one, Carried)}
        self._scanned = {one.places: rolling.stacked(one.tensors) for one in read if isinstance(one, Scanned)}
        last = len(repeat.turns) - 1
        self._kept = [one for one, turns in uses.single[id(repeat)].items() if one not in self._carried or turns != {last}]
        self._added = sorted(uses.summed[id(repeat)])
        self._run()

    def result(self, turn: int, result: Result) -> tf.Tensor:
        """A result of one turn."""
        if result in self.stacks:
            return self.stacks[result][turn]
        return self._last[result]

    def _run(self) -> None:
        turns, model, rolling = len(self.repeat.turns), self.repeat.turns[1], self._rolling
        scanned = {places: (tf.TensorArray(one.dtype, turns, element_shape=one.shape[1:]).unstack(one), backward)
                   for places, (one, backward) in self._scanned.items()}

        def turn(i: tf.Tensor, holds: tf.Tensor, carried: list[tf.Tensor], added: list[tf.Tensor],
                 kept: list[tf.TensorArray]) -> tuple[object, ...]:
            read = {places: one.read(turns - 1 - i if backward else i) for places, (one, backward) in scanned.items()}
            done, flags = _Body(rolling, dict(zip(self._carried, carried)), read).turn(self.repeat)
            return (i + 1, tf.reduce_all(tf.stack([holds, *flags])) if flags else holds, [done[one] for one in self._carried],
                    [one + done[result] for one, result in zip(added, self._added)],
                    [one.write(i, done[result]) for one, result in zip(kept, self._kept)])

        added, kept = ([model[k].outputs[result] for k, result in those] for those in (self._added, self._kept))
        _, self.holds, *found = tf.while_loop(lambda i, *_: i < turns, turn, (
            tf.constant(0), tf.constant(True), list(map(rolling.tensor, self._carried.values())),
            [tf.zeros(one.shape, one.dtype) for one in added],
            [tf.TensorArray(one.dtype, turns, element_shape=one.shape) for one in kept]), maximum_iterations=turns)
        self._last = dict(zip(self._carried, found[0]))
        self.sums = dict(zip(self._added, found[1]))
        self.stacks = {result: one.stack() for result, one in zip(self._kept, found[2])}


class _Body:
    """One turn, in the body of the loop."""

    def __init__(self, rolling: Rolling, carried: dict[Result, tf.Tensor], scanned: dict[tuple[Place, ...], tf.Tensor]) -> None:
        self._rolling, self._carried, self._scanned = rolling, carried, scanned
        self._static: Known = {}
        self._done: dict[Result, tf.Tensor] = {}

    def turn(self, repeat: Repeat) -> tuple[dict[Result, tf.Tensor], list[tf.Tensor]]:
        """Do what every turn does: its results, and its checks."""
        flags: list[tf.Tensor] = []
        for k, read in repeat.sources.items():
            outputs, checks = _made(repeat.turns[1][k], list(map(self._read, read)))
            self._done.update(((k, place), one) for place, one in enumerate(outputs))
            flags.extend(checks)
        return self._done, flags

    def _read(self, source: Source) -> tf.Tensor:
        match source:
            case Inner(result):
                return self._done[result]
            case Carried(result, _):
                return self._carried[result]
            case Scanned(places, _):
                return self._scanned[places]
            case Same(tensor):
                return self._same(tensor)

    def _same(self, tensor: tf.Tensor) -> tf.Tensor:
        """A tensor from outside; what XLA may have to know is computed inside once more."""
        if not is_static(tensor):
            return self._rolling.tensor(tensor)
        if tensor.name not in self._static:
            if tensor.op.type == "Const" or tensor.op.type in OF_SHAPES:
                self._static[tensor.name] = tf.constant(tf.get_static_value(tensor), tensor.dtype)
            else:
                outputs, _ = _made(tensor.op, list(map(self._same, tensor.op.inputs)))
                self._static.update((original.name, one) for original, one in zip(tensor.op.outputs, outputs))
        return self._static[tensor.name]
