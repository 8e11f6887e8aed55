"""Stateful random operations: drawn as eager would draw them wherever a seed makes their stream visible.

    tf.random.set_seed(42)
    x = tf.nn.dropout(x, 0.5)   -->   the dropout of the graph, with the uniform numbers that eager draws

A random operation of a graph has a stream of its own, which is not eager's and starts again with every new graph. So each
gets a twin beside it, and when the graph is finished everything that reads the operation is made to read the twin. What
TensorFlow builds around the operation (shifts, masks, gradients) stays in the graph. Without any seed the operations stay as they are.

Under a global seed the twin is the stateless operation that gives the same numbers, with the seeds that eager would give
(`imp2tf.seed_stream`). Where the graph cannot know the seeds, since Python that it calls may draw too or the function sets a seed, a host
call asks for them. To run the operation eagerly would cost more: eager makes a kernel for each seed. A host call runs it nevertheless
where there is no stateless operation, or where it has a seed of its own (eager then goes on with the numbers of its last run).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from imp2tf.errors import ForeignCall, fall_back
from imp2tf.exceptions import frames_of_op, innermost
from imp2tf.seed_stream import draws_as_eager, next_seed
from imp2tf.session import Session
from imp2tf.sources import Code, Source
from imp2tf.tf_compat import DEFAULT_GRAPH_SEED, function_bodies, global_seed, redirect, stop_watching, watch_operations

__all__ = ["RANDOM_OPS", "draw_eagerly", "read_draws", "readable"]

RANDOM_OPS = frozenset({
    "AllCandidateSampler", "FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler", "LogUniformCandidateSampler",
    "Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "RandomShuffle",
    "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2",
    "ThreadUnsafeUnigramCandidateSampler", "TruncatedNormal", "UniformCandidateSampler",
})
RANDOM_DATASETS = frozenset({
    "AnonymousRandomSeedGenerator", "AnonymousSeedGenerator", "RandomDataset", "RandomDatasetV2", "ShuffleAndRepeatDataset",
    "ShuffleAndRepeatDatasetV2", "ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3",
})
STATELESS = {
    "RandomStandardNormal": "StatelessRandomNormalV2", "RandomUniform": "StatelessRandomUniformV2",
    "RandomUniformInt": "StatelessRandomUniformIntV2", "TruncatedNormal": "StatelessTruncatedNormalV2",
}
PHILOX = 1  # the algorithm of the stateful operations


class GlobalSeed(Source):
    """The road to the seed of `tf.random.set_seed`."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalSeed)

    def __hash__(self) -> int:
        return hash(GlobalSeed)

    def __str__(self) -> str:
        return "the global random seed"

    def fetch(self, args: Sequence[Any]) -> Any:
        return global_seed()

    def expression(self, code: Code) -> str:
        return f"{code.constant(global_seed)}()"


def draw_eagerly(session: Session, graph: Any) -> None:
    """Watch a graph under construction: a host call is made beside each random operation whose stream shows."""
    if session.embedded:
        return
    graph.seed = None  # so that an operation carries only a seed that the program gives it; the run gives the others

    def beside(op: Any) -> None:
        if session.seeded or _own_seeds(op) != (0, 0):
            session.draws.setdefault(id(graph), []).append((op, _twin(session, op)))
        else:
            _stays_random(session)

    watch_operations(graph, RANDOM_OPS, beside)


def read_draws(session: Session, graph: Any) -> None:
    """In a finished graph, make everything that reads a random operation read its host call."""
    if session.embedded:
        return
    stop_watching(graph)
    for op in graph.get_operations():
        _check_hidden(session, op)
    for op, outputs in session.draws.pop(id(graph), []):
        for old, new in zip(op.outputs, outputs):
            redirect(old, new, list(old.consumers()))


def readable(tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """What a graph returns, so that a host call can stand for a random operation among it."""
    return [tf.identity(tensor) if tensor.op.type in RANDOM_OPS else tensor for tensor in tensors]


def _own_seeds(op: Any) -> tuple[int, int]:
    return op.get_attr("seed"), op.get_attr("seed2")


def _stays_random(session: Session) -> None:
    """A native operation serves as long as no global seed is set."""
    session.counts["native_random"] += 1
    session.guard(GlobalSeed(), "literal", None)


def _check_hidden(session: Session, op: Any) -> None:
    """Random numbers drawn by a dataset, or by a function that library code made a graph of, cannot be drawn by a host call."""
    if session.seeded and op.type in RANDOM_DATASETS:
        _cannot_draw(op, "a dataset draws random numbers under a global seed")
    if op in session.region_ops:
        return
    for node in (node for body in function_bodies(op) for node in body.node_def):
        if session.seeded and node.op in RANDOM_DATASETS:
            _cannot_draw(op, "a dataset draws random numbers under a global seed")
        if node.op in RANDOM_OPS:
            if session.seeded or node.attr["seed"].i or node.attr["seed2"].i:
                _cannot_draw(op, "seeded random numbers are drawn in a function that TensorFlow calls")
            _stays_random(session)


def _cannot_draw(op: Any, reason: str) -> NoReturn:
    fall_back(ForeignCall, reason, location=innermost(frames_of_op(op)))


# ------------------------------------------------------------------------------------------------ one operation
def _twin(session: Session, op: Any) -> list[tf.Tensor]:
    """The outputs of what stands for a random operation."""
    if _own_seeds(op) != (0, 0):
        return _drawn(session, op)
    is_categorical = op.type == "Multinomial" and op.inputs[0].shape[:1] == [1]
    is_stateless = is_categorical or op.type in STATELESS
    if not session.draws_inside and not (is_stateless and draws_as_eager()):
        return _drawn(session, op)
    key, counter = next_seed(session) if session.draws_inside else _seeds_of_host(session, op)
    if is_categorical:
        drawn = _categorical(op.inputs[0], op.inputs[1], key, counter, op.get_attr("output_dtype"))
        drawn.set_shape(op.outputs[0].shape)
        return [drawn]
    if not is_stateless:
        return _drawn(session, op, key, counter)
    inputs = dict(zip((one.name for one in op.op_def.input_arg), op.inputs))
    dtype = {} if "minval" in inputs else {"dtype": op.get_attr("dtype")}
    drawn = getattr(tf.raw_ops, STATELESS[op.type])(**inputs, **dtype, key=key, counter=counter, alg=PHILOX)
    drawn.set_shape(op.outputs[0].shape)
    return [drawn]


def _key_and_counter(seed: int, op_seed: int) -> tuple[Any, Any]:
    """Where the numbers of an operation with these seeds begin."""
    return np.array([seed], np.uint64), np.array([0, op_seed], np.uint64)


def _categorical(logits: tf.Tensor, count: tf.Tensor, key: Any, counter: Any, dtype: tf.DType) -> tf.Tensor:
    """Samples of one categorical distribution, as the operation draws them: by inversion, in double precision.

    For several distributions the numbers depend on how the operation shares the work among threads.
    """
    logits = tf.cast(logits[0], tf.float64)
    finite = tf.math.is_finite(logits)
    greatest = tf.reduce_max(tf.where(finite, logits, logits.dtype.min))
    sums = tf.cumsum(tf.where(finite, tf.exp(logits - greatest), 0.0))
    samples = tf.raw_ops.StatelessRandomUniformV2(
        shape=tf.reshape(count, [1]), key=key, counter=counter, alg=PHILOX, dtype=tf.float64)
    return tf.expand_dims(tf.searchsorted(sums, samples * sums[-1], "right", dtype), 0)


def _categorical_array(logits: Any, count: Any, key: Any, counter: Any, dtype: tf.DType) -> Any:
    """The same for arrays, by NumPy."""
    wide = logits[0].astype(np.float64)
    finite = np.isfinite(wide)
    greatest = wide[finite].max(initial=np.finfo(np.float64).min)
    sums = np.cumsum(np.where(finite, np.exp(wide - greatest), 0.0))
    samples = tf.raw_ops.StatelessRandomUniformV2(shape=[count], key=key, counter=counter, alg=PHILOX, dtype=tf.float64).numpy()
    return np.searchsorted(sums, samples * sums[-1], "right").astype(dtype.as_numpy_dtype)[np.newaxis]


def _seeds_of_host(session: Session, op: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """The global seed and the operation's, as the key and the counter from which it counts: a host call asks TensorFlow for them."""
    run, frames = session.run, frames_of_op(op)

    def seeds() -> tuple[Any, Any]:
        run.count_host_call()
        with run.stopping(frames, list):
            seed, op_seed = tf.compat.v1.get_seed(None)
        if seed is None:  # the function sets one later
            seed, op_seed = np.random.SeedSequence().generate_state(2)
        return _key_and_counter(seed, op_seed)

    key, counter = _called(session, op, seeds, [], [tf.uint64, tf.uint64])
    key.set_shape([1])
    counter.set_shape([2])
    return key, counter


def _called(
    session: Session, op: Any, function: Callable[..., Any], inputs: Sequence[tf.Tensor], dtypes: list[tf.DType],
) -> list[tf.Tensor]:
    """The results of a host call that does what a random operation needs of Python."""
    outputs = tf.numpy_function(session.callback(function), inputs, dtypes)
    session.outside.unrepeatable = "random numbers are drawn"
    session.python_calls.append(("random numbers are drawn by Python", innermost(frames_of_op(op))))
    return outputs if isinstance(outputs, list) else [outputs]


def _drawn(session: Session, op: Any, *seeds: tf.Tensor) -> list[tf.Tensor]:
    """The host call that stands for a random operation: its outputs. `seeds` are those of the run, where it knows them."""
    inputs = [*map(tf.stop_gradient, op.inputs), *seeds]
    outputs = _called(session, op, _eager_twin(session, op), inputs, [tensor.dtype for tensor in op.outputs])
    if op.type == "RandomGamma":
        outputs = [_gamma_sample(op.inputs[0], op.inputs[1], outputs[0])]
    for old, new in zip(op.outputs, outputs):
        new.set_shape(old.shape)
    return outputs


def _eager_twin(session: Session, op: Any) -> Callable[..., Any]:
    """A function of arrays that runs a random operation as eager would."""
    function = getattr(tf.raw_ops, op.type)
    names = [one.name for one in op.op_def.input_arg]
    attributes = _attributes(op)
    seed, op_seed = _own_seeds(op)
    of_raw_op = seed not in (0, DEFAULT_GRAPH_SEED)
    run, frames = session.run, frames_of_op(op)
    by_inversion = op.type == "Multinomial" and (seed, op_seed) == (0, 0) and draws_as_eager()

    def draw(*arrays: Any) -> Any:
        run.count_host_call()
        with run.stopping(frames, list):
            known = [int(one[-1]) for one in arrays[len(names):]]
            seeds = known or ((seed, op_seed) if of_raw_op else tf.compat.v1.get_seed(op_seed if seed else None))
            if by_inversion and len(arrays[0]) == 1 and seeds[0] is not None:
                return _categorical_array(arrays[0], arrays[1], *_key_and_counter(*seeds), attributes["output_dtype"])
            found = function(**dict(zip(names, arrays)), **attributes, seed=seeds[0] or 0, seed2=seeds[1] or 0)
            return [one.numpy() for one in found] if isinstance(found, (list, tuple)) else found.numpy()

    return draw


def _attributes(op: Any) -> dict[str, Any]:
    """The attributes of an operation that its inputs do not imply, but for the seeds."""
    implied = {name for one in op.op_def.input_arg for name in (one.type_attr, one.number_attr, one.type_list_attr)}
    names = {one.name for one in op.op_def.attr} - implied - {"seed", "seed2"}
    return {name: op.get_attr(name) for name in names}


def _gamma_sample(shape: tf.Tensor, alpha: tf.Tensor, sample: tf.Tensor) -> tf.Tensor:
    """The sample of a gamma distribution, which TensorFlow differentiates by `alpha`."""

    @tf.custom_gradient
    def of_alpha(alpha: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            slope = tf.raw_ops.RandomGammaGrad(alpha=alpha, sample=sample)
            return tf.reduce_sum(upstream * slope, axis=tf.range(tf.size(shape)))

        return tf.identity(sample), gradient

    return of_alpha(alpha)
